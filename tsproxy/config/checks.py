"""Checks between keys of several sections. Each appends to `problems`, and skips sections with problems."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import combinations

from tsproxy.config.parsed import Parsed
from tsproxy.config.problems import Problem
from tsproxy.config.settings import Listener
from tsproxy.config.values import ports_text
from tsproxy.model.addresses import Address, ip_or_none, is_any
from tsproxy.model.policy import Policy, Rule, Waiver
from tsproxy.model.words import noun


def _at(root: Parsed, path: str) -> Parsed | None:
    value: object = root
    for name in path.split("."):
        value = value[name] if isinstance(value, Parsed) else None
    return value if isinstance(value, Parsed) else None


def check_dead_letters(root: Parsed, policy: Policy | None, problems: list[Problem]) -> None:
    """Check that dead letters have a topic and a rule that fills it. If either is missing, an operator would
    notice only when copies are needed. The topic must not be that of the decision log."""
    section: Parsed | None = root["dead_letters"]
    if policy is None or (section is not None and not section.is_sound):
        return
    if section is None:
        places = [rule.place for rule in policy.rules if rule.settings.dead_letters]
        if policy.defaults.dead_letters:
            places.insert(0, root["policy"]["defaults"].where)
        text = "needs dead_letters.topic, which says where copies go"
        problems += [Problem("", f"{place}.dead_letters", text) for place in places]
        return
    if not policy.has_dead_letters:
        text = "no rule asks for copies: say dead_letters: yes in one, or in policy.defaults"
        problems.append(section.problem(text))
    decisions = _at(root, "decisions.topic")
    if decisions is not None and decisions["name"] == section["topic"]:
        problems.append(section.problem("is decisions.topic.name as well; give them a topic each", "topic"))


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
            problems.append(probe.problem(f"is {path} as well; give it a topic of its own", "topic"))


def check_names(
    kind: str,
    named: Iterable[Listener | Rule | Waiver],
    problems: list[Problem],
    reserved: Collection[str] = (),
) -> None:
    """Check that no two of `named` have the same name, and that none has a reserved name."""
    places: dict[str, str] = {}
    for entry in named:
        if entry.name in reserved:
            text = f"{entry.name!r} is tsproxy's own; take another"
            problems.append(Problem("", f"{entry.place}.name", text))
        elif entry.name in places:
            text = f"the name {entry.name!r} is taken by {places[entry.name]}; each {kind} needs its own"
            problems.append(Problem("", f"{entry.place}.name", text))
        places.setdefault(entry.name, entry.place)


@dataclass(frozen=True, slots=True)
class _Claim:
    """The ports that one key takes on a host. `section` is the place of the section with that key."""

    host: str
    ports: range
    place: str
    section: str

    def overlaps(self, other: "_Claim") -> bool:
        if not _may_be_one_address(self.host, other.host):
            return False
        return max(self.ports.start, other.ports.start) < min(self.ports.stop, other.ports.stop)


def _may_be_one_address(one: str, other: str) -> bool:
    """True if both hosts may be the same address. IPv4 and IPv6 have separate ports: `::` accepts no IPv4
    connection here. Only the system knows whether a name resolves to IPv4 or to IPv6."""
    addresses = [ip_or_none(one), ip_or_none(other)]
    if None not in addresses and len({address.version for address in addresses if address}) == 2:
        return False
    return one == other or is_any(one) or is_any(other)


def check_ports(listeners: Iterable[Listener], admin: Parsed | None, problems: list[Problem]) -> None:
    """Check that no two keys make the proxy listen on the same port."""
    claims = [
        _Claim(listener.bind.host, ports, f"{listener.place}.{key}", listener.place)
        for listener in listeners
        for key, ports in listener.ports()
    ]
    bind: Address | None = admin["bind"] if admin else None
    if admin and bind and bind.port:
        place = f"{admin.where}.bind"
        claims.append(_Claim(bind.host, range(bind.port, bind.port + 1), place, place))
    reported = set()
    for one, other in combinations(claims, 2):
        # Two listeners at the same address overlap in all their ports: one report is enough.
        if one.overlaps(other) and (one.section, other.section) not in reported:
            reported.add((one.section, other.section))
            ports = noun(len(one.ports), "port")
            text = f"takes {ports} of {one.place}: {ports_text(one.ports)}; give one of them other ports"
            problems.append(Problem("", other.place, text))
