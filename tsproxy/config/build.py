"""Turns parsed sections into settings, and finds what is wrong between keys.

A section that already had a problem is not built, the others are: so a reader sees all mistakes in
one go, and none that only follows from another.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import combinations
from typing import Final

from tsproxy.config.brokers_from import check_brokers_from
from tsproxy.config.build_policy import build_policy
from tsproxy.config.build_sasl import build_sasl
from tsproxy.config.connection_limits import MOST_CONNECTIONS, ConnectionLimits
from tsproxy.config.parsed import Parsed
from tsproxy.config.problems import Problem
from tsproxy.config.settings import (
    Address,
    BrokerHosts,
    BrokerPorts,
    ClientAuth,
    ClockProbe,
    ClockSettings,
    Config,
    DeadLetterSettings,
    Decisions,
    Listener,
    ListenerTls,
    ProxyProtocol,
    Retention,
    TopicSettings,
    Upstream,
    UpstreamTls,
)
from tsproxy.config.values import ports_text
from tsproxy.model.policy import Policy
from tsproxy.model.view import SessionLimits

_ANY_ADDRESS: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104  # recognised here, bound to nowhere


def build(root: Parsed, problems: list[Problem]) -> Config | None:
    """The configuration, or None where `problems` is not (or no longer) empty."""
    upstream = _upstream(root["upstream"], problems)
    listeners = [built for parsed in root["listeners"] if (built := _listener(parsed, problems))]
    admin_bind: Address | None = root["admin"]["bind"] if isinstance(root["admin"], Parsed) else None
    _check_names(listeners, problems)
    admin_place = f"{root['admin'].place}: " if isinstance(root["admin"], Parsed) else ""
    _check_ports(listeners, admin_bind, f"{admin_place}admin.bind", problems)
    policy = build_policy(root["policy"], problems)
    _check_dead_letters(root, policy, problems)
    _check_clock(root, problems)
    check_brokers_from(root, problems)
    if problems or upstream is None or policy is None:
        return None
    limits = root["limits"]
    return Config(
        upstream=upstream,
        listeners=tuple(listeners),
        policy=policy,
        decisions=_decisions(root["decisions"]),
        dead_letters=_dead_letters(root["dead_letters"]),
        clock=_clock(root["clock"]),
        session_limits=_session_limits(limits),
        connection_limits=_connection_limits(limits),
        drain_delay_ms=limits["drain_delay"],
        drain_timeout_ms=limits["drain_timeout"],
        admin_bind=admin_bind,
        admin_hosts=root["admin"]["hosts"],
        workers=root["workers"],
        log_level=root["log"]["level"],
        parsed=root,
    )


def _upstream(parsed: Parsed | None, problems: list[Problem]) -> Upstream | None:
    if parsed is None:
        return None
    tls = _upstream_tls(parsed["tls"], problems) if parsed["tls"] else None
    if not parsed.is_sound:
        return None
    sasl = parsed["admin"]["sasl"]
    return Upstream(
        bootstrap_servers=parsed["bootstrap_servers"],
        tls=tls,
        sasl=build_sasl(sasl, problems) if sasl else None,
        refresh_ms=parsed["admin"]["refresh"],
        brokers_from=parsed["brokers_from"],
        clients_use_sasl=parsed["clients_use_sasl"],
        bearer_claim=parsed["bearer_claim"],
    )


def _upstream_tls(parsed: Parsed, problems: list[Problem]) -> UpstreamTls:
    if parsed.is_sound and (parsed["certificate"] is None) != (parsed["key"] is None):
        problems.append(Problem(parsed.place, parsed.path, "needs both certificate and key, or neither"))
    return UpstreamTls(
        parsed["ca"],
        parsed["certificate"],
        parsed["key"],
        parsed["key_password"],
        parsed["min_version"],
        parsed["ciphers"],
        place=_place(parsed),
    )


def _listener(parsed: Parsed, problems: list[Problem]) -> Listener | None:
    if not parsed.is_sound:
        return None
    bind: Address = parsed["bind"]
    advertised_host = parsed["advertised_host"] or bind.host
    if advertised_host in _ANY_ADDRESS:
        problems.append(
            Problem(
                parsed.place,
                f"{parsed.path}.advertised_host",
                f"is missing: bind is {bind}, which no client can connect to; name the host that clients use",
            )
        )
    return Listener(
        name=parsed["name"],
        bind=bind,
        advertised_host=advertised_host,
        brokers=_brokers(parsed, bind, problems),
        tls=_listener_tls(parsed["tls"], problems) if parsed["tls"] else None,
        proxy_protocol=_proxy_protocol(parsed["proxy_protocol"]),
        addresses_in_configs=parsed["addresses_in_configs"],
        place=_place(parsed),
    )


def _proxy_protocol(parsed: Parsed | None) -> ProxyProtocol | None:
    return ProxyProtocol(parsed["version"], parsed["from"]) if parsed else None


def _brokers(listener: Parsed, bind: Address, problems: list[Problem]) -> BrokerPorts | BrokerHosts:
    brokers = listener["brokers"]
    hosts: BrokerHosts | None = brokers["host"]
    if hosts is None:
        return _broker_ports(brokers, bind, problems)
    place = f"{brokers.path}.host"
    if listener["tls"] is None:
        text = "needs tls: the host name that a client asks for is in the TLS handshake alone"
        problems.append(Problem(brokers.place, place, text))
    if brokers["ports_from"] is not None:
        text = "brokers are told apart by host or by port: give host or ports_from, not both"
        problems.append(Problem(brokers.place, place, text))
    return hosts


def _broker_ports(parsed: Parsed, bind: Address, problems: list[Problem]) -> BrokerPorts:
    given: int | None = parsed["ports_from"]
    # A port chosen by the system has no "port after": then each broker's port is free as well.
    ports_from = given if given is not None else bind.port + 1 if bind.port else 0
    count: int = parsed["count"]
    last = ports_from + count - 1
    if ports_from and last > 65535:
        fits = 65536 - ports_from
        text = (
            f"ports {ports_from} to {last} go beyond 65535: count may be at most {fits}, or ports_from lower"
        )
        problems.append(Problem(parsed.place, parsed.path, text))
    return BrokerPorts(ports_from, count, parsed["first_id"])


def _listener_tls(parsed: Parsed, problems: list[Problem]) -> ListenerTls:
    client_ca = parsed["client_ca"]
    client_auth = parsed["client_auth"] or (ClientAuth.REQUIRED if client_ca else ClientAuth.NONE)
    if client_auth is not ClientAuth.NONE and client_ca is None:
        text = f"is missing: client_auth {client_auth} needs the authorities to check clients against"
        problems.append(Problem(parsed.place, f"{parsed.path}.client_ca", text))
    elif parsed["client_crl"] is not None and client_ca is None:
        text = "is missing: client_crl needs the authorities whose certificates it revokes"
        problems.append(Problem(parsed.place, f"{parsed.path}.client_ca", text))
    return ListenerTls(
        parsed["certificate"],
        parsed["key"],
        client_ca,
        client_auth,
        parsed["key_password"],
        parsed["min_version"],
        parsed["principal_mapping"],
        parsed["client_crl"],
        parsed["ciphers"],
        place=_place(parsed),
    )


def _session_limits(limits: Parsed) -> SessionLimits:
    names = SessionLimits.__dataclass_fields__
    return SessionLimits(**{name: limits[name.removesuffix("_ms")] for name in names})


def _connection_limits(limits: Parsed) -> ConnectionLimits:
    given: int | None = limits["connections"]
    return ConnectionLimits(
        connections=MOST_CONNECTIONS if given is None else given,
        follows_system=given is None,
        connections_per_address=limits["connections_per_address"],
        buffered=limits["buffered"],
        stalled_frame_ms=limits["stalled_frame"],
        idle_ms=limits["idle"],
        handshake_ms=limits["handshake"],
    )


def _decisions(parsed: Parsed) -> Decisions:
    topic = parsed["topic"]
    return Decisions(
        directory=parsed["directory"],
        interval_ms=parsed["interval"],
        rotate_every_ms=parsed["rotate"]["every"],
        rotate_size_bytes=parsed["rotate"]["size"],
        sync_every_ms=parsed["sync"],
        retention=Retention(parsed["retention"]["age"], parsed["retention"]["size"]),
        addresses=parsed["privacy"]["addresses"],
        principals=parsed["privacy"]["principals"],
        salt=parsed["privacy"]["salt"],
        topic=TopicSettings(topic["name"], topic["bootstrap_servers"] or ()) if topic else None,
    )


def _dead_letters(parsed: Parsed | None) -> DeadLetterSettings | None:
    if parsed is None:
        return None
    return DeadLetterSettings(parsed["topic"], parsed["max_in_flight"], parsed["max_records"])


def _check_dead_letters(root: Parsed, policy: Policy | None, problems: list[Problem]) -> None:
    """A topic without a rule that fills it, or a rule without the topic, is a mistake that would show when
    records are missed."""
    section: Parsed | None = root["dead_letters"]
    if policy is None or (section is not None and not section.is_sound):
        return
    if section is None:
        asking = [rule.place for rule in policy.rules if rule.terms.dead_letters]
        if policy.defaults.dead_letters:
            asking.insert(0, _place(root["policy"]["defaults"]))
        text = "needs dead_letters.topic, which says where copies go"
        problems += [Problem("", f"{place}.dead_letters", text) for place in asking]
        return
    if not policy.wants_dead_letters:
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


def _clock(parsed: Parsed) -> ClockSettings:
    probe = parsed["probe"]
    return ClockSettings(
        max_offset_ms=parsed["max_offset"],
        when_beyond=parsed["when_beyond"],
        probe=ClockProbe(probe["topic"], probe["every"]) if probe else None,
    )


def _check_clock(root: Parsed, problems: list[Problem]) -> None:
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


def _place(parsed: Parsed) -> str:
    return f"{parsed.place}: {parsed.path}"


def _check_names(listeners: Iterable[Listener], problems: list[Problem]) -> None:
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
    """Ports that one key takes on a host; `section` is the place of what the key belongs to."""

    host: str
    ports: range
    place: str
    section: str

    def meets(self, other: "_Claim") -> bool:
        if not _may_be_one_address(self.host, other.host):
            return False
        return max(self.ports.start, other.ports.start) < min(self.ports.stop, other.ports.stop)


def _may_be_one_address(one: str, other: str) -> bool:
    """IPv4 and IPv6 have ports of their own: `::` takes no IPv4 connection here. The system
    alone knows to which of them a name leads."""
    addresses = [_address(one), _address(other)]
    if None not in addresses and len({each.version for each in addresses if each}) == 2:
        return False
    return one == other or any(each is not None and each.is_unspecified for each in addresses)


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _check_ports(
    listeners: Iterable[Listener], admin: Address | None, admin_place: str, problems: list[Problem]
) -> None:
    claims = []
    for listener in listeners:
        bind, brokers = listener.bind, listener.brokers
        if bind.port:
            claims.append(
                _Claim(bind.host, range(bind.port, bind.port + 1), f"{listener.place}.bind", listener.place)
            )
        if isinstance(brokers, BrokerPorts) and brokers.ports_from:
            ports = range(brokers.ports_from, brokers.ports_from + brokers.count)
            claims.append(_Claim(bind.host, ports, f"{listener.place}.brokers", listener.place))
    if admin and admin.port:
        claims.append(_Claim(admin.host, range(admin.port, admin.port + 1), admin_place, admin_place))
    told = set()
    for one, other in combinations(claims, 2):
        # Two listeners at the same place meet in all their ports: once is enough to see it.
        if one.meets(other) and (one.section, other.section) not in told:
            told.add((one.section, other.section))
            text = f"takes port(s) of {one.place}: {ports_text(one.ports)}; give one of them other ports"
            problems.append(Problem("", other.place, text))
