"""`upstream`: the brokers, and how the proxy connects to them."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

from tsproxy.config.keys import Key, Keys, keys_for, keys_of, live, name_of, section
from tsproxy.config.kinds import ADDRESS, CIPHERS, DURATION, NAME, PATH, SECRET, TEXT, URL, choice
from tsproxy.config.values import Secret
from tsproxy.model.addresses import Address


class TlsVersion(StrEnum):
    """The oldest version of TLS that is allowed."""

    V1_2 = "1.2"
    V1_3 = "1.3"


class SaslMechanism(StrEnum):
    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"
    OAUTHBEARER = "OAUTHBEARER"
    AWS_MSK_IAM = "AWS_MSK_IAM"
    GSSAPI = "GSSAPI"


@dataclass(frozen=True, slots=True)
class Password:
    """A user and a password, for PLAIN and SCRAM."""

    username: str = live(TEXT, "User name, for PLAIN and SCRAM.")
    password: Secret = live(SECRET, "Password, for PLAIN and SCRAM.")


@dataclass(frozen=True, slots=True)
class TokenFile:
    """For OAUTHBEARER: a file that another program keeps up to date. It is read at every login."""

    path: Path = live(
        PATH, "OAUTHBEARER: a file with the token. It is read at every login.", path="token_file"
    )


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """For OAUTHBEARER: tokens from an endpoint (RFC 6749, section 4.4). Without `ca`, the system's
    authorities are trusted."""

    endpoint: str = live(
        URL,
        "OAUTHBEARER: the issuer's token endpoint (grant type `client_credentials`).",
        path="token_endpoint",
    )
    client_id: str = live(TEXT, "The proxy's client id at the issuer.")
    client_secret: Secret = live(SECRET, "The secret of that client id.")
    scope: str | None = live(TEXT, "The scope to request, if the issuer needs one.", default=None)
    ca: Path | None = live(
        PATH,
        "PEM file of the authorities that the issuer is checked against; without it the system's.",
        path="token_endpoint_ca",
        default=None,
    )


@dataclass(frozen=True, slots=True)
class MskIam:
    """For AWS_MSK_IAM: credentials as AWS's own tools find them, or from `profile` or `role_arn`."""

    region: str = live(TEXT, "AWS_MSK_IAM: the cluster's region.")
    profile: str | None = live(
        TEXT,
        "AWS_MSK_IAM: a profile of AWS's configuration; without it the default credentials.",
        default=None,
    )
    role_arn: str | None = live(TEXT, "AWS_MSK_IAM: a role to assume.", default=None)


@dataclass(frozen=True, slots=True)
class Kerberos:
    """For GSSAPI: tickets as MIT Kerberos finds them (KRB5_CLIENT_KTNAME, a credential cache)."""

    service_name: str = live(
        NAME,
        "GSSAPI: the service part of the brokers' principals; without it `kafka`.",
        default=None,
        otherwise="kafka",
    )


Credentials = Password | TokenFile | ClientCredentials | MskIam | Kerberos


@dataclass(frozen=True, slots=True)
class Sasl:
    """How the proxy's own connection authenticates."""

    mechanism: SaslMechanism
    credentials: Credentials

    @property
    def brings_token(self) -> bool:
        """True if it logs in with a token that another program or service has made."""
        return isinstance(self.credentials, TokenFile | ClientCredentials | MskIam)

    @property
    def user(self) -> str:
        """The user, in words for operators."""
        match self.credentials:
            case Password(username=name):
                return f"the user {name!r}"
            case ClientCredentials(client_id=name):
                return f"the client {name!r}"
            case _:
                return f"the principal that authenticates by {self.mechanism.value}"


def _sasl_keys() -> Keys:
    """The key of the mechanism, and the keys of all kinds of credentials. The mechanism decides which of them
    must be given (`build_sasl`)."""
    mechanism = live(choice(SaslMechanism), "SASL mechanism of the proxy's own connection.")
    keys = dict(keys_for(Sasl, {"mechanism": mechanism}))
    for kind in (Password, TokenFile, ClientCredentials, MskIam, Kerberos):
        for name, key in keys_of(kind).items():
            assert isinstance(key, Key)
            keys[name_of(name, key)] = replace(key, is_required=False)
    return keys


_SASL_KEYS: Final = _sasl_keys()


@dataclass(frozen=True, slots=True)
class UpstreamTls:
    """TLS of connections to brokers: PEM files and settings. Without `ca`, the system's authorities are
    trusted. `ciphers` are OpenSSL's names; with None OpenSSL chooses. `place` is the section's place in the
    file."""

    ca: Path | None = live(
        PATH,
        "PEM file of the authorities that brokers are checked against; without it the system's.",
        default=None,
    )
    certificate: Path | None = live(
        PATH, "PEM file of the certificate shown to brokers (mutual TLS), with `key`.", default=None
    )
    key: Path | None = live(PATH, "PEM file of that certificate's private key.", default=None)
    key_password: Secret | None = live(SECRET, "The passphrase of an encrypted `key`.", default=None)
    min_version: TlsVersion = live(choice(TlsVersion), "The oldest version of TLS to speak.", default="1.2")
    ciphers: str | None = live(TEXT, CIPHERS, default=None)
    place: str = field(compare=False, default="", kw_only=True)


@dataclass(frozen=True, slots=True)
class Upstream:
    bootstrap_servers: tuple[Address, ...] = live(
        ADDRESS, "Bootstrap servers; the other brokers are discovered.", many=True
    )
    tls: UpstreamTls | None = section(
        UpstreamTls, optional="Connections to brokers use TLS if this section is present, even as `{}`."
    )
    bearer_claim: str = live(
        TEXT,
        "The claim of OAUTHBEARER tokens that brokers use as the principal: their "
        "`sasl.oauthbearer.sub.claim.name`.",
        default="sub",
    )
    refresh_ms: int = live(
        DURATION,
        "How often brokers and the limits of all topics in use are read again.",
        path="admin.refresh",
        default="30s",
    )
    sasl: Sasl | None = section(
        Sasl,
        _SASL_KEYS,
        path="admin.sasl",
        optional="How the proxy's own connection authenticates. Clients use their own credentials.",
    )
