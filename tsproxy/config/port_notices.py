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
        return ports_text(self.usual)

    def some_of(self, ports: range) -> bool:
        """True if an outgoing connection may get one of these ports."""
        shared = range(max(ports.start, self.usual.start), min(ports.stop, self.usual.stop))
        return any(all(port not in each for each in self.reserved) for port in shared)


def port_notices(config: Config, outgoing: OutgoingPorts | None) -> tuple[Problem, ...]:
    """One notice about all ports in the system's range; none if that is unknown (`outgoing` is None)."""
    claims = [each for each in _claims(config) if outgoing and outgoing.some_of(each[2])]
    if not claims:
        return ()
    place, key, _ = claims[0]
    text = (
        f"the proxy's ports ({', '.join(ports_text(ports) for _, _, ports in claims)}) are in this machine's "
        f"range for outgoing connections ({outgoing}), so one of those may take a port first; choose ports "
        f"outside that range, or add {','.join(_sysctl(ports) for _, _, ports in claims)} to the sysctl "
        "net.ipv4.ip_local_reserved_ports"
    )
    return (Problem(place, key, text),)


def _claims(config: Config) -> Iterator[tuple[str, str, range]]:
    """Place, key and ports of each key that makes the proxy listen."""
    for parsed, listener in zip(config.parsed["listeners"], config.listeners, strict=True):
        for key, ports in listener.ports():
            yield parsed.place, f"{parsed.path}.{key}", ports
    if config.admin.bind is not None and (port := config.admin.bind.port):
        admin = config.parsed["admin"]
        yield admin.place, f"{admin.path}.bind", range(port, port + 1)


def _sysctl(ports: range) -> str:
    return str(ports.start) if len(ports) == 1 else f"{ports.start}-{ports.stop - 1}"
