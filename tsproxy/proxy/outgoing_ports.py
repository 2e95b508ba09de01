"""The port range that this system uses for outgoing connections, from /proc (Linux, ip-sysctl.rst)."""

from pathlib import Path
from typing import Final

from tsproxy.config.port_notices import OutgoingPorts

_FOLDER: Final = Path("/proc/sys/net/ipv4")
_DEFAULT: Final = range(32_768, 61_000)
"""Linux's default. Other systems begin at 49152 (RFC 6335), which is inside this range."""


def known_outgoing_ports(folder: Path = _FOLDER) -> OutgoingPorts | None:
    """The system's range, or None if it is unknown (another system, `ProcSubset=pid`)."""
    try:
        first, last = map(int, (folder / "ip_local_port_range").read_text().split())
        reserved = (folder / "ip_local_reserved_ports").read_text().strip()
    except (OSError, ValueError):
        return None
    runs = [run.partition("-") for run in reserved.split(",") if run]
    return OutgoingPorts(
        range(first, last + 1), tuple(range(int(one), int(other or one) + 1) for one, _, other in runs)
    )


def outgoing_ports() -> OutgoingPorts:
    return known_outgoing_ports() or OutgoingPorts(_DEFAULT)
