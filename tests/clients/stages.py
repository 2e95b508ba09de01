"""The stages: which brokers, which security toward clients, who plays where, and whether a broker restarts.

On a whole stage the proxy speaks to brokers as clients speak to the proxy. A sample stage saves clusters:
several listeners of one proxy, secured differently, in front of brokers that are secured one way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tests.clients.families import Family, chosen
from tests.full_only import IS_FULL
from tsproxy.testing.client_options import ClientOptions, Login

USER, PASSWORD = "alice", "wonder-land"


@dataclass(frozen=True)
class Security:
    """The settings that both ends of a connection share. `protocol` in Kafka's words."""

    name: str
    protocol: str
    has_certificates: bool = False
    mechanism: str | None = None

    @property
    def has_tls(self):
        return self.protocol.endswith("SSL")

    def __str__(self):
        return self.name


PLAIN = Security("plain", "PLAINTEXT")
TLS = Security("tls", "SSL")
MTLS = Security("mtls", "SSL", has_certificates=True)
SASL_PLAIN = Security("sasl_plaintext", "SASL_PLAINTEXT", mechanism="SCRAM-SHA-256")
SASL_TLS = Security("sasl_ssl", "SASL_SSL", mechanism="PLAIN")
SECURITIES = (PLAIN, TLS, MTLS, SASL_PLAIN, SASL_TLS)


@dataclass(frozen=True, eq=False)
class Stage:
    version: str
    upstream: Security
    cast: Mapping[Security, Sequence[Family]]
    """Who plays, by the listener that they use."""
    nodes: int = 3
    restarts: bool = True

    @property
    def roles(self):
        return [Role(self, security, family) for security, cast in self.cast.items() for family in cast]


@dataclass(frozen=True)
class Role:
    """One client on one stage."""

    stage: Stage
    security: Security
    family: Family

    def __str__(self):
        return f"{self.stage.version}-{self.security}-{self.family}"

    @property
    def topic(self):
        return f"{self.security}.{self.family}"


def _one(number):
    """Another family each time, for a sample."""
    families = chosen("4.4.0")
    return [families[number % len(families)]]


SAMPLE = (
    Stage("4.4.0", PLAIN, {PLAIN: chosen("4.4.0"), TLS: _one(2), MTLS: _one(3)}, nodes=2, restarts=False),
    Stage("4.4.0", SASL_TLS, {SASL_PLAIN: _one(4), SASL_TLS: _one(2)}, nodes=1, restarts=False),
)

WHOLE = tuple(
    Stage(version, security, {security: chosen(version)})
    for version in ("4.4.0", "3.9.1")
    for security in SECURITIES
)

STAGES = WHOLE if IS_FULL else SAMPLE
ROLES = [role for stage in STAGES for role in stage.roles]


def cluster_arguments(stage, authority):
    """The arguments of `KafkaCluster`."""
    security = stage.upstream
    # The name that brokers say of themselves: a client that is told it has been told too much.
    arguments = {"version": stage.version, "nodes": stage.nodes, "security": security.protocol}
    arguments["advertised_host"] = "localhost"
    if security.has_tls:
        arguments |= {"authority": authority, "mutual_tls": security.has_certificates}
    if security.mechanism:
        arguments["users"] = {USER: PASSWORD}
    return arguments


def proxy_config(stage, kafka, authority):
    """The proxy's configuration file, as a value."""
    security = stage.upstream
    upstream = {"bootstrap_servers": kafka.bootstrap_servers.split(",")}
    if security.has_tls:
        upstream["tls"] = {"ca": str(authority.certificate)}
    if security.has_certificates:
        upstream["tls"] |= _files(authority.issue("tsproxy"))
    if security.mechanism:
        login = {"mechanism": "SCRAM-SHA-512", "username": USER, "password": PASSWORD}
        upstream["admin"] = {"sasl": login}
    listeners = [_listener(each, authority) for each in stage.cast]
    return {"upstream": upstream, "listeners": listeners}


def _listener(security, authority):
    listener = {"name": security.name, "bind": "127.0.0.1:0", "brokers": {"ports_from": 0, "count": 10}}
    if security.has_tls:
        listener["tls"] = _files(authority.issue(f"proxy-{security}"))
    if security.has_certificates:
        listener["tls"]["client_ca"] = str(authority.certificate)
    return listener


def client_options(role, servers, authority):
    """How the role's client connects to the proxy's listener; its certificate is its own."""
    security = role.security
    options = ClientOptions(servers, security.protocol)
    if security.has_tls:
        options = replace(options, ca=authority.certificate)
    if security.has_certificates:
        options = replace(options, identity=authority.issue(f"client-{role.family}"))
    if security.mechanism:
        options = replace(options, login=Login(USER, PASSWORD, security.mechanism))
    return options


def _files(identity):
    return {"certificate": str(identity.certificate), "key": str(identity.key)}
