"""Turns parsed sections into `Config`, and finds mistakes between the keys of one section.

`make` fills most fields from their keys. Only a section whose fields depend on one another has a function
here. A section that already had a problem is not built, all other sections are. So an operator sees all
mistakes at once, but no mistake that only follows from another one.
"""

from typing import TypeVar

from tsproxy.config.build_policy import build_policy
from tsproxy.config.build_sasl import build_sasl
from tsproxy.config.checks import (
    check_clock,
    check_dead_letters,
    check_names,
    check_ports,
)
from tsproxy.config.parsed import Parsed, make
from tsproxy.config.problems import Problem
from tsproxy.config.settings import (
    AdminSettings,
    BrokerHosts,
    BrokerPorts,
    ClientAuth,
    Config,
    ConnectionLimits,
    Listener,
    ListenerTls,
    ServerTls,
    Upstream,
    UpstreamTls,
)
from tsproxy.model.addresses import Address, is_any

Tls = TypeVar("Tls", bound=ServerTls)


def build(root: Parsed, problems: list[Problem]) -> Config | None:
    """The configuration, or None if `problems` is not (or no longer) empty."""
    upstream = _upstream(root["upstream"], problems)
    listeners = [built for parsed in root["listeners"] if (built := _listener(parsed, problems))]
    check_names("listener", listeners, problems)
    check_ports(listeners, root["admin"], problems)
    policy = build_policy(root["policy"], problems)
    check_dead_letters(root, policy, problems)
    check_clock(root, problems)
    admin = _admin(root["admin"], problems)
    if problems or upstream is None or policy is None or admin is None:
        return None
    limits = root["limits"]
    return make(
        Config,
        root,
        upstream=upstream,
        listeners=tuple(listeners),
        policy=policy,
        admin=admin,
        connection_limits=make(ConnectionLimits, limits, follows_system=limits["connections"] is None),
        parsed=root,
    )


def _upstream(parsed: Parsed | None, problems: list[Problem]) -> Upstream | None:
    if parsed is None:
        return None
    tls = _upstream_tls(parsed["tls"], problems) if parsed["tls"] else None
    if not parsed.is_sound:
        return None
    sasl = parsed["admin"]["sasl"]
    return make(Upstream, parsed, tls=tls, sasl=build_sasl(sasl, problems) if sasl else None)


def _upstream_tls(parsed: Parsed, problems: list[Problem]) -> UpstreamTls:
    if parsed.is_sound and (parsed["certificate"] is None) != (parsed["key"] is None):
        problems.append(parsed.problem("needs both certificate and key, or neither"))
    return make(UpstreamTls, parsed)


def _listener(parsed: Parsed, problems: list[Problem]) -> Listener | None:
    if not parsed.is_sound:
        return None
    bind: Address = parsed["bind"]
    advertised_host = parsed["advertised_host"] or bind.host
    if is_any(advertised_host):
        given = f"is {advertised_host}" if parsed["advertised_host"] else f"is missing: bind is {bind}"
        text = f"{given}, which no client can connect to; name the host that clients use"
        problems.append(parsed.problem(text, "advertised_host"))
    return make(
        Listener,
        parsed,
        advertised_host=advertised_host,
        brokers=_brokers(parsed, bind, problems),
        tls=_server_tls(ListenerTls, parsed["tls"], problems),
    )


def _brokers(listener: Parsed, bind: Address, problems: list[Problem]) -> BrokerPorts | BrokerHosts:
    brokers = listener["brokers"]
    hosts: BrokerHosts | None = brokers["host"]
    if hosts is None:
        return _broker_ports(brokers, bind, problems)
    if listener["tls"] is None:
        text = "needs tls: the host name that a client asks for is in the TLS handshake alone"
        problems.append(brokers.problem(text, "host"))
    if brokers["ports_from"] is not None:
        text = "brokers are told apart by host or by port: give host or ports_from, not both"
        problems.append(brokers.problem(text, "host"))
    return hosts


def _broker_ports(parsed: Parsed, bind: Address, problems: list[Problem]) -> BrokerPorts:
    ports_from: int | None = parsed["ports_from"]
    if ports_from is None:
        # If the system chooses the port of `bind`, it also chooses brokers' ports: the next port is unknown.
        ports_from = bind.port + 1 if bind.port else 0
    last, most = ports_from + parsed["count"] - 1, 65536 - ports_from
    if ports_from and last > 65535:
        text = (
            f"ports {ports_from} to {last} go beyond 65535: count may be at most {most}, or ports_from lower"
        )
        problems.append(parsed.problem(text))
    return make(BrokerPorts, parsed, ports_from=ports_from)


def _admin(parsed: Parsed | None, problems: list[Problem]) -> AdminSettings | None:
    if parsed is None or not parsed.is_sound:
        return None
    tls = _server_tls(ServerTls, parsed["tls"], problems)
    is_open = parsed["bind"] is not None and parsed["token"] is None
    if is_open and tls and tls.client_ca and tls.client_auth is not ClientAuth.REQUIRED:
        text = (
            f"{tls.client_auth} lets everybody read, and client_ca protects nothing: set required, or "
            "admin.token, or leave out client_auth and client_ca"
        )
        problems.append(parsed["tls"].problem(text, "client_auth"))
    return make(AdminSettings, parsed, tls=tls)


def _server_tls(make_of: type[Tls], parsed: Parsed | None, problems: list[Problem]) -> Tls | None:
    if parsed is None:
        return None
    client_ca = parsed["client_ca"]
    client_auth = parsed["client_auth"] or (ClientAuth.REQUIRED if client_ca else ClientAuth.NONE)
    if client_auth is not ClientAuth.NONE and client_ca is None:
        text = f"is missing: client_auth {client_auth} needs the authorities to check clients against"
        problems.append(parsed.problem(text, "client_ca"))
    elif parsed["client_crl"] is not None and client_ca is None:
        text = "is missing: client_crl needs the authorities whose certificates it revokes"
        problems.append(parsed.problem(text, "client_ca"))
    return make(make_of, parsed, client_auth=client_auth)
