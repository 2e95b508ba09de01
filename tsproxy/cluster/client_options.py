"""`security_options`: the security settings of the proxy's own connections, as aiokafka's arguments."""

import ssl
from typing import Any, assert_never

from tsproxy.cluster.tokens import token_provider
from tsproxy.config.settings import (
    ClientCredentials,
    Kerberos,
    MskIam,
    Password,
    Sasl,
    SaslMechanism,
    TokenFile,
)

_BEARER = "OAUTHBEARER"


def security_options(tls: ssl.SSLContext | None, sasl: Sasl | None) -> dict[str, Any]:
    """The arguments that every aiokafka client accepts: protocol, TLS, mechanism and credentials."""
    protocol = ("SASL_" if sasl else "") + ("SSL" if tls else "PLAINTEXT")
    return {"security_protocol": protocol, "ssl_context": tls, **(_credentials(sasl) if sasl else {})}


def wire_mechanism(sasl: Sasl | None) -> str:
    """The mechanism that a broker must offer for this login. Without a login it is PLAIN, the most usual
    mechanism."""
    if sasl is None:
        return SaslMechanism.PLAIN.value
    # MSK takes its signed requests as bearer tokens.
    return _BEARER if sasl.brings_token else sasl.mechanism.value


def _credentials(sasl: Sasl) -> dict[str, Any]:
    match sasl.credentials:
        case Password(username, password):
            return {
                "sasl_mechanism": sasl.mechanism.value,
                "sasl_plain_username": username,
                "sasl_plain_password": password.reveal(),
            }
        case TokenFile() | ClientCredentials() | MskIam() as source:
            return {
                "sasl_mechanism": wire_mechanism(sasl),
                "sasl_oauth_token_provider": token_provider(source),
            }
        case Kerberos(service_name):
            return {"sasl_mechanism": sasl.mechanism.value, "sasl_kerberos_service_name": service_name}
        case _:
            assert_never(sasl.credentials)
