"""Findings about logins at the brokers, and about the certificates that clients get."""

import ssl
from collections.abc import Iterator, Mapping
from typing import Final

from tsproxy.cluster.client_options import wire_mechanism
from tsproxy.config.settings import Config, ListenerTls
from tsproxy.doctor.cluster import Seen, Server
from tsproxy.doctor.findings import Check, Finding, few
from tsproxy.doctor.ports import told_hosts
from tsproxy.model.addresses import Address
from tsproxy.tls.contexts import server_context, trust

SECURITY: Final = Check("security")
_MAX_STEPS: Final = 10


def to_brokers(config: Config, seen: Seen) -> Iterator[Finding]:
    """The login of the proxy's own connection, as the bootstrap servers answered."""
    sasl = config.upstream.sasl
    for server in (candidate for candidate in seen.servers if candidate.is_connected):
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


def to_clients(config: Config, brokers: Mapping[int, Address]) -> Iterator[Finding]:
    """Whether clients accept each listener's certificate for the advertised names. The notices about the
    configuration report when certificates end."""
    for listener in config.listeners:
        if listener.tls is None:
            continue
        hosts = told_hosts(listener, brokers)
        rejections = [(host, error) for host in hosts if (error := rejection(listener.tls, host))]
        missing = [host for host, error in rejections if error.verify_code in _OTHER_NAME]
        if missing:
            yield SECURITY.problem(
                f"listener {listener.name}: {listener.tls.certificate} is not valid for {few(missing)}",
                "clients check that name: get a certificate with it (subjectAltName; a wildcard such as "
                "*.kafka.example.com does for all brokers)",
            )
        for reason in sorted({error.verify_message for host, error in rejections if host not in missing}):
            yield SECURITY.problem(
                f"listener {listener.name}: clients do not accept {listener.tls.certificate}: {reason}",
                "get a certificate that is valid now, and for servers (extendedKeyUsage: serverAuth)",
            )
        if not rejections:
            yield SECURITY.ok(f"listener {listener.name}: its certificate is valid for {few(hosts)}")


def rejection(tls: ListenerTls, host: str) -> ssl.SSLCertVerificationError | None:
    """The error by which a client that trusts the certificate does not accept it for this host; None if it
    does. OpenSSL decides, in a handshake in memory."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trust(client, tls.certificate)
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server, server_hostname=host)
    theirs = server_context(tls).wrap_bio(to_server, to_client, server_side=True)
    for _ in range(_MAX_STEPS):
        for side in (ours, theirs):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError as error:
                return error
            except ssl.SSLError:  # the server wants a certificate of the client: ours was accepted before
                return None
            if side is ours:
                return None
    return None


_OTHER_NAME: Final = (62, 64)
"""X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH."""
