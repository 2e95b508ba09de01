"""The watch would see a client that goes past the proxy."""

import socket
import subprocess
import sys

import pytest

from tests.clients.connections import Watch

CONNECT = (
    "import socket, sys; s = socket.create_connection((sys.argv[1], int(sys.argv[2]))); sys.stdin.read()"
)


@pytest.mark.parametrize("host", ["127.0.0.1", "::ffff:127.0.0.1"])
def test_a_process_with_a_connection_to_a_watched_port_is_seen(host):
    """Java connects by IPv6 sockets, and they stand in another table."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with Watch([port]) as watch, Watch([port + 1]) as another:
            command = [sys.executable, "-c", CONNECT, host, str(port)]
            with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
                watch.follow("client", process.pid)
                another.follow("client", process.pid)

                watch.seen_one.wait(20)
                process.communicate()

    assert watch.seen == {("client", port)}
    assert another.seen == set()
