"""The means that need a network of one's own: other names, an address that moves, packets that are lost."""

import asyncio
import os
import shutil
import socket
import subprocess
from contextlib import contextmanager

from tests.documents import network

_OWN = "TSPROXY_AVAILABILITY_NETWORK"


def enter(arguments):
    """Starts the program again in a network of its own; returns in it. Without the right to make one, it
    returns as well, and `is_own` is false."""
    network.enter("rigs.availability", arguments)
    if _may_filter():
        os.environ[_OWN] = "1"


def is_own():
    return _OWN in os.environ


def _may_filter():
    """Whether rules can be set, in a network that has nothing but loopback: no other program meets them."""
    if len(socket.if_nameindex()) != 1 or shutil.which("iptables") is None:
        return False
    return subprocess.run(["iptables", "-S"], capture_output=True, check=False).returncode == 0


@contextmanager
def names(folder, addresses):
    """Names that resolve to these addresses, for every process that starts meanwhile."""
    file = folder / "hosts"
    lines = [f"{address} {name}" for name, each in addresses.items() for address in each]
    file.write_text("127.0.0.1 localhost\n" + "\n".join(lines) + "\n")
    subprocess.run(["mount", "--bind", file, "/etc/hosts"], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "/etc/hosts"], check=True)


async def redirect(front, host):
    """Connections to `front` go to this host from now on, and nothing else is in their way."""
    await forget()
    await _iptables("-t", "nat", "-A", "OUTPUT", "-d", front, "-j", "DNAT", "--to-destination", host)


async def reset(host, first, last):
    """Connections that this host had at these ports are answered as by a machine that knows none of them."""
    to_host = ("INPUT", "-p", "tcp", "-d", host, "--dport", f"{first}:{last}")
    from_host = ("INPUT", "-p", "tcp", "-s", host, "--sport", f"{first}:{last}")
    await _iptables("-A", *from_host, "--tcp-flags", "RST", "RST", "-j", "ACCEPT")
    await _iptables("-A", *from_host, "-j", "DROP")
    await _iptables("-A", *to_host, "-j", "REJECT", "--reject-with", "tcp-reset")


async def lose(host):
    """No packet reaches this host, and none comes from it. They are lost on their way: a packet that the
    sender's own machine drops counts for it as not sent, and its timeouts of TCP do not begin."""
    await _iptables("-A", "INPUT", "-d", host, "-j", "DROP")
    await _iptables("-A", "INPUT", "-s", host, "-j", "DROP")


async def forget():
    """Nothing is redirected and nothing is lost."""
    await _iptables("-F")
    await _iptables("-t", "nat", "-F")


async def _iptables(*words):
    process = await asyncio.create_subprocess_exec("iptables", "-w", *words)
    assert await process.wait() == 0, words
