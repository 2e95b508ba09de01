"""The commands `python -m tsproxy.testing` and `python -m tsproxy.testing.tools`."""

import asyncio
import signal
import subprocess
import sys
import zipfile

import pytest

from tsproxy.testing.__main__ import main
from tsproxy.testing.jars import fetch_tools
from tsproxy.testing.kafka_cluster import DEFAULT_VERSION, KafkaCluster
from tsproxy.testing.ports import free_ports
from tsproxy.testing.tools import CLASSES, write_tools


def started(port: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tsproxy.testing", "--port", str(port), "--property", "num.partitions=3"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.broker
def test_a_broker_runs_until_ctrl_c_and_kafkas_tools_reach_it(tmp_path):
    (port,) = free_ports(1)
    bootstrap = f"127.0.0.1:{port}"
    with started(port) as broker:
        try:
            assert broker.stdout is not None
            assert broker.stdout.readline() == f"Kafka {DEFAULT_VERSION} serves at {bootstrap}\n"
            write_tools(tmp_path)
            topics = (tmp_path / "kafka-topics.sh", "--bootstrap-server", bootstrap)
            made = subprocess.run([*topics, "--create", "--topic", "orders"], capture_output=True, text=True)
            assert (made.stdout, made.stderr) == ("Created topic orders.\n", "")
            described = subprocess.run([*topics, "--describe"], capture_output=True, text=True)
            assert "PartitionCount: 3" in described.stdout
            with started(port) as second:
                assert second.wait() == 1
                assert second.stderr is not None
                assert second.stderr.read() == (
                    f"port {port} of 127.0.0.1 is in use: stop that program, or choose another port\n"
                )
        finally:
            broker.send_signal(signal.SIGINT)
        assert broker.wait() == 0
        assert broker.stdout.read() == "Ctrl-C stops it and deletes its data.\nstopped\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--user", "alice"], "'alice' has no name before a ':'"),
        (["--property", "=x"], "'=x' has no name before a '='"),
        (["--security", "SASL_SSL"], "--security SASL_SSL needs --certificates FOLDER"),
        (["--property", "log.dirs=data"], "log.dirs cannot be set: the data has a temporary folder"),
        (["--nodes", "0"], "--nodes 0: must be 1 or more"),
        (["--port", "99999"], "--port 99999: must be from 1 to 65535: each broker has a port"),
        (["--port", "65535", "--nodes", "2"], "--port 65535: must be from 1 to 65534: each broker has a"),
        (["--version", "abc"], "--version abc: must be three numbers, such as"),
        (
            ["--security", "SSL", "--certificates", __file__],
            f"--certificates {__file__}: must be a folder to write to: File exists",
        ),
        (["--security", "TLS"], "TLS is none of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
    ],
)
def test_a_wrong_command_line_is_named(capsys, arguments, says):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert says in capsys.readouterr().err


@pytest.mark.broker  # the jars
def test_every_tool_exists():
    jars = fetch_tools(DEFAULT_VERSION)
    found = {name for jar in jars.glob("kafka*.jar") for name in zipfile.ZipFile(jar).namelist()}
    assert {f"{each.replace('.', '/')}.class" for each in CLASSES.values()} <= found


@pytest.mark.broker
@pytest.mark.full_only("starts two brokers; the command above has a broker at the port that was chosen")
async def test_brokers_have_the_ports_after_the_first():
    first, second = free_ports(2)
    async with KafkaCluster(nodes=2, port=first) as kafka:
        assert kafka.bootstrap_servers == f"127.0.0.1:{first},127.0.0.1:{second}"
        await asyncio.open_connection("127.0.0.1", second)
