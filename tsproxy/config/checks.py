"""Checks between keys of several sections. Each appends to `problems`, and skips what is not sound."""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import combinations
from typing import Final

from tsproxy.config.parsed import Parsed
from tsproxy.config.problems import Problem
from tsproxy.config.settings import BrokerPorts, BrokersFrom, Listener, WhenBeyond
from tsproxy.config.values import ports_text
from tsproxy.model.addresses import Address
from tsproxy.model.policy import LimitsFrom, Policy

_KEY: Final = "upstream.brokers_from"

_NEEDS_OWN_CONNECTION: Final = (
    "upstream.admin.sasl",
    "decisions.topic",
    "dead_letters",
    "clock.probe",
)
"""Sections for which the proxy reads or writes something itself."""


def check_brokers_from(root: Parsed, problems: list[Problem]) -> None:
    """A proxy without a connection of its own cannot do all that others can."""
    upstream, policy = root["upstream"], root["policy"]
    if not isinstance(upstream, Parsed) or not upstream.is_sound or not isinstance(policy, Parsed):
        return
    given: bool | None = upstream["clients_use_sasl"]
    place = f"{upstream.path}.clients_use_sasl"
    if upstream["brokers_from"] is BrokersFrom.OWN_CONNECTION:
        if given is not None:
            text = (
                f"goes with {_KEY}: clients alone; with a connection of its own the proxy knows: leave it out"
            )
            problems.append(Problem(upstream.place, place, text))
        return
    if given is None:
        text = f"is missing: with {_KEY}: clients nothing else tells whether clients are accepted by SASL"
        problems.append(Problem(upstream.place, place, text))
    if policy["limits_from"] is not LimitsFrom.CONFIG:
        text = f"must be config: with {_KEY}: clients the proxy asks no broker for the limits of topics"
        problems.append(Problem(policy.place, f"{policy.path}.limits_from", text))
    for path in _NEEDS_OWN_CONNECTION:
        section = _at(root, path)
        if section is not None:
            text = f"needs a connection of the proxy's own: leave it out, or say {_KEY}: own_connection"
            problems.append(Problem(section.place, path, text))
    clock = root["clock"]
    if isinstance(clock, Parsed) and clock.is_sound and clock["when_beyond"] is not WhenBeyond.WARN:
        text = f"must be warn: with {_KEY}: clients nothing is known of the brokers' clocks"
        problems.append(Problem(clock.place, f"{clock.path}.when_beyond", text))


def _at(root: Parsed, path: str) -> Parsed | None:
    found: object = root
    for name in path.split("."):
        found = found[name] if isinstance(found, Parsed) else None
    return found if isinstance(found, Parsed) else None


def check_dead_letters(root: Parsed, policy: Policy | None, problems: list[Problem]) -> None:
    """A topic without a rule that fills it, or a rule without the topic, would be noticed only when records
    are missed."""
    section: Parsed | None = root["dead_letters"]
    if policy is None or (section is not None and not section.is_sound):
        return
    if section is None:
        asking = [rule.place for rule in policy.rules if rule.settings.dead_letters]
        if policy.defaults.dead_letters:
            asking.insert(0, root["policy"]["defaults"].where)
        text = "needs dead_letters.topic, which says where copies go"
        problems += [Problem("", f"{place}.dead_letters", text) for place in asking]
        return
    if not policy.has_dead_letters:
        text = "no rule asks for copies: say dead_letters: yes in one, or in policy.defaults"
        problems.append(Problem(section.place, section.path, text))
    decisions = root["decisions"]
    if (
        isinstance(decisions, Parsed)
        and decisions["topic"]
        and decisions["topic"]["name"] == section["topic"]
    ):
        text = "is decisions.topic.name as well; give them a topic each"
        problems.append(Problem(section.place, f"{section.path}.topic", text))


def check_clock(root: Parsed, problems: list[Problem]) -> None:
    clock, decisions, dead_letters = root["clock"], root["decisions"], root["dead_letters"]
    if not (isinstance(clock, Parsed) and clock.is_sound and isinstance(decisions, Parsed)):
        return
    probe: Parsed | None = clock["probe"]
    if probe is None:
        return
    others = {
        "decisions.topic.name": decisions["topic"] and decisions["topic"]["name"],
        "dead_letters.topic": dead_letters and dead_letters["topic"],
    }
    for path, name in others.items():
        if name == probe["topic"]:
            text = f"is {path} as well; give it a topic of its own"
            problems.append(Problem(probe.place, f"{probe.path}.topic", text))


def check_names(listeners: Iterable[Listener], problems: list[Problem]) -> None:
    seen: dict[str, str] = {}
    for listener in listeners:
        if listener.name in seen:
            text = (
                f"the name {listener.name!r} is taken by {seen[listener.name]}; each listener needs its own"
            )
            problems.append(Problem("", f"{listener.place}.name", text))
        seen.setdefault(listener.name, listener.place)


@dataclass(frozen=True, slots=True)
class _Claim:
    """Ports that one key takes on a host; `section` is the place of the section with that key."""

    host: str
    ports: range
    place: str
    section: str

    def overlaps(self, other: "_Claim") -> bool:
        if not _may_be_one_address(self.host, other.host):
            return False
        return max(self.ports.start, other.ports.start) < min(self.ports.stop, other.ports.stop)


def _may_be_one_address(one: str, other: str) -> bool:
    """IPv4 and IPv6 have separate ports: `::` takes no IPv4 connection here. Only the
    system knows which of them a name resolves to."""
    addresses = [_address(one), _address(other)]
    if None not in addresses and len({each.version for each in addresses if each}) == 2:
        return False
    return one == other or any(each is not None and each.is_unspecified for each in addresses)


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def check_ports(listeners: Iterable[Listener], admin: Parsed | None, problems: list[Problem]) -> None:
    """No two of them may listen on the same port."""
    claims = []
    for listener in listeners:
        host, port, brokers = listener.bind.host, listener.bind.port, listener.brokers
        if port:
            claims.append(_Claim(host, range(port, port + 1), f"{listener.place}.bind", listener.place))
        if isinstance(brokers, BrokerPorts) and brokers.ports_from:
            ports = range(brokers.ports_from, brokers.ports_from + brokers.count)
            claims.append(_Claim(host, ports, f"{listener.place}.brokers", listener.place))
    bind: Address | None = admin["bind"] if admin else None
    if admin and bind and bind.port:
        place = f"{admin.where}.bind"
        claims.append(_Claim(bind.host, range(bind.port, bind.port + 1), place, place))
    reported = set()
    for one, other in combinations(claims, 2):
        # Two listeners at the same address overlap in all their ports: one report is enough.
        if one.overlaps(other) and (one.section, other.section) not in reported:
            reported.add((one.section, other.section))
            text = f"takes port(s) of {one.place}: {ports_text(one.ports)}; give one of them other ports"
            problems.append(Problem("", other.place, text))
