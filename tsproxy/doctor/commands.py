"""The commands of Kafka's own tools that findings name, for this cluster and the proxy's user.

The functions are pure, except that they may read the proxy's own certificate, which names that user.
"""

import shlex

from tsproxy.config.settings import Config, Password
from tsproxy.tls.x509 import read_pem
from tsproxy.wire.primitives import DecodeError


def grant(config: Config, operation: str, topic: str | None) -> str:
    """The command that grants an operation on a topic (`*`: on every topic), or on the cluster (None)."""
    resource = "--cluster" if topic is None else f"--topic {shlex.quote(topic)}"
    return (
        f"kafka-acls.sh {admin_arguments(config)} --add --allow-principal {shlex.quote(principal(config))} "
        f"--operation {operation} {resource}"
    )


def admin_arguments(config: Config) -> str:
    """The options with which Kafka's tools reach the cluster. An administrator's login is in a file that only
    the administrator has."""
    arguments = f"--bootstrap-server {config.upstream.bootstrap_servers[0]}"
    if config.upstream.tls is not None or config.upstream.sasl is not None:
        arguments += " --command-config admin.properties"
    return arguments


def principal(config: Config) -> str:
    """The proxy's principal at the brokers, by Kafka's default rules; `User:…` if only the brokers know
    it."""
    sasl, tls = config.upstream.sasl, config.upstream.tls
    if sasl is not None:
        return f"User:{sasl.credentials.username}" if isinstance(sasl.credentials, Password) else "User:…"
    if tls is None or tls.certificate is None:
        return "User:ANONYMOUS"
    try:
        return f"User:{read_pem(tls.certificate.read_bytes())[0].subject}"
    except (OSError, DecodeError, IndexError):
        return "User:…"


def alter(config: Config, topic: str, key: str, value_ms: int) -> str:
    """The command that sets a limit on a topic."""
    return (
        f"kafka-configs.sh {admin_arguments(config)} --alter --entity-type topics "
        f"--entity-name {shlex.quote(topic)} --add-config {key}={value_ms}"
    )
