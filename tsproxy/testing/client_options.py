"""Options to connect to a cluster, or to a proxy in front of it, for each client library."""

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Identity:
    """A certificate and its private key; `keystore` contains both, as Java expects it."""

    certificate: Path
    key: Path
    keystore: Path


@dataclass(frozen=True, slots=True)
class Login:
    """A SASL user; the mechanism is one of PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512."""

    user: str
    password: str
    mechanism: str = "PLAIN"


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """All that a client needs to connect.

    `dataclasses.replace(options, bootstrap_servers=...)` sends the same client through a proxy.
    `replace(options, identity=None)` makes a client without a certificate.
    """

    bootstrap_servers: str
    protocol: str = "PLAINTEXT"
    ca: Path | None = None
    identity: Identity | None = None
    login: Login | None = None

    def aiokafka(self) -> dict[str, Any]:
        """Keyword arguments for aiokafka's clients."""
        options: dict[str, Any] = {
            "bootstrap_servers": self.bootstrap_servers,
            "security_protocol": self.protocol,
        }
        if self.ca is not None:
            options["ssl_context"] = client_context(self.ca, self.identity)
        if self.login is not None:
            options |= {
                "sasl_mechanism": self.login.mechanism,
                "sasl_plain_username": self.login.user,
                "sasl_plain_password": self.login.password,
            }
        return options

    def librdkafka(self) -> dict[str, str]:
        """Properties for confluent-kafka and everything else built on librdkafka."""
        options = {"bootstrap.servers": self.bootstrap_servers, "security.protocol": self.protocol}
        if self.ca is not None:
            options["ssl.ca.location"] = str(self.ca)
        if self.identity is not None:
            options |= {
                "ssl.certificate.location": str(self.identity.certificate),
                "ssl.key.location": str(self.identity.key),
            }
        if self.login is not None:
            options |= {
                "sasl.mechanism": self.login.mechanism,
                "sasl.username": self.login.user,
                "sasl.password": self.login.password,
            }
        return options

    def java(self) -> dict[str, str]:
        """Properties for Kafka's own Java clients and tools."""
        options = {"bootstrap.servers": self.bootstrap_servers, "security.protocol": self.protocol}
        if self.ca is not None:
            options |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.ca)}
        if self.identity is not None:
            options |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(self.identity.keystore)}
        if self.login is not None:
            kind = "plain.Plain" if self.login.mechanism == "PLAIN" else "scram.Scram"
            options |= {
                "sasl.mechanism": self.login.mechanism,
                "sasl.jaas.config": (
                    f"org.apache.kafka.common.security.{kind}LoginModule required "
                    f'username="{self.login.user}" password="{self.login.password}";'
                ),
            }
        return options


def client_context(ca: Path, identity: Identity | None = None) -> ssl.SSLContext:
    """A client's TLS context that trusts `ca`, checks host names, and sends `identity` if there is one."""
    context = ssl.create_default_context(cafile=ca)
    if identity is not None:
        context.load_cert_chain(identity.certificate, identity.key)
    return context
