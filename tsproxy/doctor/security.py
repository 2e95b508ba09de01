"""Findings about TLS, SASL and certificates: toward the brokers, and toward clients."""

import ssl
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tsproxy.cluster.client_options import wire_mechanism
from tsproxy.config.settings import Config, ListenerTls
from tsproxy.config.values import instant_text
from tsproxy.doctor.cluster import Node, Seen, Server
from tsproxy.doctor.commands import admin_arguments
from tsproxy.doctor.findings import Check, Finding, few
from tsproxy.doctor.ports import told_hosts
from tsproxy.model.addresses import Address
from tsproxy.model.words import many
from tsproxy.tls.contexts import server_context
from tsproxy.tls.x509 import Signed, read_certificate
from tsproxy.wire.primitives import DecodeError

SECURITY: Final = Check("security")
DAY_S: Final = 86_400.0
WARNED_EARLY_S: Final = 30 * DAY_S
_TLS_PROTOCOLS: Final = ("SSL", "SASL_SSL")
_MOST_STEPS: Final = 10


def to_brokers(config: Config, seen: Seen, now_ms: int) -> Iterator[Finding]:
    """TLS and SASL of the proxy's own connection, as the bootstrap servers answered."""
    connected = [each for each in seen.servers if each.is_connected]
    for server in connected:
        if server.certificate is not None:
            yield from _brokers_certificate(server, server.certificate, now_ms)
    if connected:
        yield from _login(config, connected)


def _brokers_certificate(server: Server, der: bytes, now_ms: int) -> Iterator[Finding]:
    try:
        certificate = read_certificate(der)
    except DecodeError:  # OpenSSL has accepted the certificate, so only its end is unknown
        yield SECURITY.skipped(f"{server.address}: the end of the broker's certificate cannot be read")
        return
    yield _end_of(
        f"{server.address}: TLS with the broker's certificate ({certificate.subject})", certificate, now_ms
    )


def _end_of(what: str, certificate: Signed, now_ms: int) -> Finding:
    left_s = certificate.not_after_s - now_ms / 1000
    life_s = certificate.not_after_s - certificate.not_before_s
    text = f"{what}, valid until {instant_text(round(certificate.not_after_s * 1000))}"
    if left_s < min(WARNED_EARLY_S, life_s / 4):
        advice = "renew it at the brokers; when it has expired, neither the proxy nor its clients can connect"
        return SECURITY.warning(f"{text}, {many(max(0, int(left_s // DAY_S)), 'day')} from now", advice)
    return SECURITY.ok(text)


def _login(config: Config, connected: Sequence[Server]) -> Iterator[Finding]:
    sasl = config.upstream.sasl
    for server in connected:
        if sasl is None:
            yield _without_login(server)
        elif server.mechanisms is None:
            yield SECURITY.problem(
                f"{server.address}: this listener has no SASL, and upstream.admin.sasl is set",
                "remove upstream.admin.sasl, or name a listener that has SASL",
            )
        elif (needed := wire_mechanism(sasl)) not in server.mechanisms:
            yield SECURITY.problem(
                f"{server.address}: the broker does not accept {needed} "
                f"(it accepts {', '.join(server.mechanisms) or 'nothing'})",
                "set upstream.admin.sasl.mechanism to one of these, or enable it there "
                "(sasl.enabled.mechanisms)",
            )
        elif server.error is not None:
            yield SECURITY.problem(
                f"{server.error} (login of {sasl.user} by {sasl.mechanism.value})",
                "check name and password (upstream.admin.sasl); with SCRAM, look for the user on the brokers",
                f"kafka-configs.sh {admin_arguments(config)} --describe --entity-type users",
            )
        else:
            yield SECURITY.ok(f"{server.address}: {sasl.user} logs in by {sasl.mechanism.value}")


def _without_login(server: Server) -> Finding:
    if server.mechanisms is not None:
        return SECURITY.problem(
            f"{server.address}: this listener requires a login by SASL ({', '.join(server.mechanisms)})",
            "set upstream.admin.sasl: { mechanism: …, username: …, password: … }",
        )
    return SECURITY.ok(f"{server.address}: this listener requires no login by SASL")


def other_listeners(config: Config, nodes: Sequence[Node]) -> Iterator[Finding]:
    """Whether brokers also have a listener with TLS, while this proxy uses plain text."""
    if config.upstream.tls is not None:
        return
    known = [node for node in nodes if node.settings is not None]
    offered = {each: node.node_id for node in known for each in tls_listeners(node.settings or {})}
    if offered:
        yield SECURITY.warning(
            f"records go to brokers in plain text, and brokers also have TLS: {few([*offered])}",
            "use that listener: upstream.bootstrap_servers, and upstream.tls: { ca: … }",
        )
    elif known:
        yield SECURITY.ok("records go to brokers in plain text; no broker advertises a listener with TLS")
    else:
        yield SECURITY.ok(
            "records go to brokers in plain text; brokers may also have TLS, which only a user who may read "
            "their configuration can see"
        )


def tls_listeners(settings: Mapping[str, str | None]) -> list[str]:
    """The advertised listeners with TLS, such as `SASL_SSL://kafka-1:9094`."""
    mapped = dict(
        each.strip().split(":", 1)
        for each in (settings.get("listener.security.protocol.map") or "").split(",")
        if ":" in each
    )
    found = []
    for each in (settings.get("advertised.listeners") or "").split(","):
        name, separator, _ = each.strip().partition("://")
        if separator and mapped.get(name, name).upper() in _TLS_PROTOCOLS:
            found.append(each.strip())
    return found


def to_clients(config: Config, brokers: Mapping[int, Address]) -> Iterator[Finding]:
    """Whether each listener's certificate is valid for the advertised names. The notices about the
    configuration report when certificates end."""
    for listener in config.listeners:
        if listener.tls is None:
            continue
        hosts = told_hosts(listener, brokers)
        missing = [host for host in hosts if not names_host(listener.tls, host)]
        if missing:
            yield SECURITY.problem(
                f"listener {listener.name}: {listener.tls.certificate} is not valid for {few(missing)}",
                "clients check that name: get a certificate with it (subjectAltName; a wildcard such as "
                "*.kafka.example.com does for all brokers)",
            )
        else:
            yield SECURITY.ok(f"listener {listener.name}: its certificate is valid for {few(hosts)}")


def names_host(tls: ListenerTls, host: str) -> bool:
    """True if a client that trusts the certificate accepts it for this host. OpenSSL decides, in a handshake
    in memory. An expired certificate still has its names."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    client.load_verify_locations(tls.certificate)
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server, server_hostname=host)
    theirs = server_context(tls).wrap_bio(to_server, to_client, server_side=True)
    for _ in range(_MOST_STEPS):
        for side in (ours, theirs):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError as error:
                return error.verify_code not in _OTHER_NAME
            except ssl.SSLError:  # the server wants a certificate of the client: ours was accepted before
                return True
            if side is ours:
                return True
    return True


_OTHER_NAME: Final = (62, 64)
"""X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH."""
