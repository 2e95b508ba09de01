"""Options to connect to a cluster, or to a proxy in front of it, for each client library."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tsproxy.testing.identity import Identity, client_context


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
