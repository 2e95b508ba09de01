"""Notices about ports that the system may give to outgoing connections: `port_notices`.

The proxy cannot listen on a port that an outgoing connection has. If the proxy does not serve one broker, it
keeps out all clients. The caller reads the system's range.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tsproxy.config.problems import Problem
from tsproxy.config.settings import Config
from tsproxy.config.values import ports_text


@dataclass(frozen=True, slots=True)
class OutgoingPorts:
    """The system takes ports for outgoing connections from `usual`, but never those in `reserved`."""

    usual: range
    reserved: tuple[range, ...] = ()

    def __str__(self) -> str:
        return f"the system takes {ports_text(self.usual)} for those"

    def some_of(self, ports: range) -> bool:
        """True if an outgoing connection may get one of these ports."""
        shared = range(max(ports.start, self.usual.start), min(ports.stop, self.usual.stop))
        return any(all(port not in each for each in self.reserved) for port in shared)


def port_notices(config: Config, outgoing: OutgoingPorts | None) -> tuple[Problem, ...]:
    """Notices that depend on the system; none if the system's range is unknown (`outgoing` is None)."""
    if outgoing is None:
        return ()
    return tuple(
        Problem(place, key, _text(ports, outgoing))
        for place, key, ports in _claims(config)
        if outgoing.some_of(ports)
    )


def _claims(config: Config) -> Iterator[tuple[str, str, range]]:
    """Place, key and ports of each key that makes the proxy listen."""
    for parsed, listener in zip(config.parsed["listeners"], config.listeners, strict=True):
        for key, ports in listener.ports():
            yield parsed.place, f"{parsed.path}.{key}", ports
    if config.admin.bind is not None and (port := config.admin.bind.port):
        admin = config.parsed["admin"]
        yield admin.place, f"{admin.path}.bind", range(port, port + 1)


def _text(ports: range, outgoing: OutgoingPorts) -> str:
    numbers = str(ports.start) if len(ports) == 1 else f"{ports.start}-{ports.stop - 1}"
    return (
        f"an outgoing connection of this machine may have a port of {ports_text(ports)} when the proxy wants "
        f"it ({outgoing}); choose ports outside that range, or add {numbers} to the sysctl "
        "net.ipv4.ip_local_reserved_ports"
    )
