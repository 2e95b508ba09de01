"""The ways in which clients reach several proxies of one cluster.

Each proxy has an address of its own, and all have the same port numbers. `FRONT` is the address of whatever
stands in front of them.
"""

import asyncio
import re
import shutil
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from rigs.availability import network
from tests.clients.stages import PLAIN, TLS

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "high-availability.md"
PROXIES = ("127.0.0.11", "127.0.0.12", "127.0.0.13")
FRONT = "127.0.0.10"
NAME = "kafka.test"
NODES = (1, 2, 3)
_BROKER_NAME = "b{node_id}." + NAME
_PORTS = len(NODES) + 2


@dataclass(frozen=True)
class Ports:
    """The same at each proxy, and at haproxy: `first` for bootstrap, then one for each broker, then admin."""

    first: int

    @property
    def brokers(self):
        return {node_id: self.first + node_id for node_id in NODES}

    @property
    def admin(self):
        return self.first + _PORTS - 1

    @classmethod
    def count(cls):
        return _PORTS


class Form:
    """`name` is the page's. `front` is entered before the first proxy starts."""

    name: str
    security = PLAIN
    drain_delay_s = 0
    needs_network = False

    def __init__(self, ports):
        self.ports = ports

    def __str__(self):
        return self.name

    def bootstrap(self):
        return f"{FRONT}:{self.ports.first}"

    def advertised(self, host):  # one form needs the proxy's own address
        """The host that a proxy names to its clients."""
        return FRONT

    def brokers(self):
        return {"ports_from": self.ports.first + 1, "first_id": 1, "count": len(NODES)}

    @asynccontextmanager
    async def front(self, folder):
        yield

    async def is_missed(self, host):
        """The front finds by itself that this proxy is gone."""


class Addresses(Form):
    """The bootstrap list names every proxy, and each proxy names itself."""

    name = "addresses in bootstrap"

    def bootstrap(self):
        return ",".join(f"{host}:{self.ports.first}" for host in PROXIES)

    def advertised(self, host):
        return host


class OneName(Form):
    """One name with the address of every proxy, which each proxy names to its clients."""

    name = "one name, an address for each"
    needs_network = True

    def bootstrap(self):
        return f"{NAME}:{self.ports.first}"

    def advertised(self, host):
        return NAME

    @asynccontextmanager
    async def front(self, folder):
        with network.names(folder, {NAME: PROXIES}):
            yield


class Virtual(Form):
    """A virtual address, as keepalived has it: the proxy that serves has it, and the next one takes it."""

    name = "virtual address"
    needs_network = True
    MISSED_AFTER_S = 3
    """keepalived's default: three advertisements of a second."""

    @asynccontextmanager
    async def front(self, folder):
        self._at = PROXIES[0]
        await network.redirect(FRONT, self._at)
        try:
            yield
        finally:
            await network.forget()

    async def is_missed(self, host):
        if host == self._at:
            await asyncio.sleep(self.MISSED_AFTER_S)
            self._at = next(each for each in PROXIES if each != host)
            await network.redirect(FRONT, self._at)
            await network.reset(host, self.ports.first, self.ports.admin - 1)


class Balancer(Form):
    """haproxy with a port for each broker. It asks `/readyz` each second."""

    name = "haproxy, a port for each broker"
    drain_delay_s = 3
    """More than the two checks after which haproxy sends no more clients."""

    def routes(self):
        return [self.ports.first, *self.ports.brokers.values()]

    @asynccontextmanager
    async def front(self, folder):
        file = folder / "haproxy.cfg"
        file.write_text(_haproxy(self.routes(), self.ports.admin))
        with (folder / "haproxy.log").open("wb") as log:
            process = await asyncio.create_subprocess_exec("haproxy", "-db", "-f", file, stderr=log)
        try:
            yield
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


class ByHostName(Balancer):
    """haproxy with one port. TLS goes through it, and the host name says which broker is meant (SNI)."""

    name = "haproxy, one port, host names (SNI)"
    security = TLS
    needs_network = True

    def bootstrap(self):
        return f"{NAME}:{self.ports.first}"

    def advertised(self, host):
        return NAME

    def brokers(self):
        return {"host": _BROKER_NAME}

    def routes(self):
        return [self.ports.first]

    @property
    def names(self):
        """Every name that clients are told."""
        return [NAME, *(_BROKER_NAME.format(node_id=node_id) for node_id in NODES)]

    @asynccontextmanager
    async def front(self, folder):
        with network.names(folder, {name: [FRONT] for name in self.names}):
            async with super().front(folder):
                yield


FORMS = (Addresses, OneName, Virtual, Balancer, ByHostName)


def playable():
    """The forms that this machine can play here."""
    forms = FORMS if network.is_own() else [form for form in FORMS if not form.needs_network]
    return [form for form in forms if not issubclass(form, Balancer) or shutil.which("haproxy")]


_ROUTE = """\
listen port-{port}
  bind {front}:{port}
{servers}
"""
_SERVER = "  server {number} {host}:{port} {options}"


def _haproxy(ports, admin):
    """The configuration of the page, with the ports of here."""
    page = PAGE.read_text(encoding="utf-8")
    defaults = re.search(r"^defaults\n(?: .*\n)+", page, re.M)[0]
    options = re.search(r"^  server proxy-1 \S+ (.*)$", page, re.M)[1]
    routes = [
        _ROUTE.format(
            port=port,
            front=FRONT,
            servers="\n".join(
                _SERVER.format(number=f"proxy-{number}", host=host, port=port, options=options)
                for number, host in enumerate(PROXIES, 1)
            ),
        )
        for port in ports
    ]
    return "".join([defaults.replace("9464", str(admin)), *routes])
