"""The configuration as frozen and typed classes, and the declaration of each key.

A key is one line on the class that holds its value. To add a key, add such a line. The classes are in
`upstream`, `listeners`, `decisions`, `limits`, `admin` and `root`. Rules, waivers and the limits of one
connection are classes of `tsproxy.model`; `policy` and `limits` declare their keys, by field.
"""

from tsproxy.config.settings.admin import AdminSettings
from tsproxy.config.settings.decisions import Decisions, Retention, TopicSettings
from tsproxy.config.settings.limits import ConnectionLimits
from tsproxy.config.settings.listeners import (
    AddressesInConfigs,
    BrokerHosts,
    BrokerPorts,
    ClientAuth,
    Listener,
    ListenerTls,
    ProxyProtocol,
    ProxyProtocolVersion,
    ServerTls,
)
from tsproxy.config.settings.root import (
    ClockProbe,
    ClockSettings,
    Config,
    DeadLetterSettings,
    LogLevel,
    WhenBeyond,
)
from tsproxy.config.settings.upstream import (
    ClientCredentials,
    Credentials,
    Kerberos,
    MskIam,
    Password,
    Sasl,
    SaslMechanism,
    TlsVersion,
    TokenFile,
    Upstream,
    UpstreamTls,
)
from tsproxy.config.values import Secret
from tsproxy.model.addresses import Address

__all__ = [
    "Address",
    "AddressesInConfigs",
    "AdminSettings",
    "BrokerHosts",
    "BrokerPorts",
    "ClientAuth",
    "ClientCredentials",
    "ClockProbe",
    "ClockSettings",
    "Config",
    "ConnectionLimits",
    "Credentials",
    "DeadLetterSettings",
    "Decisions",
    "Kerberos",
    "Listener",
    "ListenerTls",
    "LogLevel",
    "MskIam",
    "Password",
    "ProxyProtocol",
    "ProxyProtocolVersion",
    "Retention",
    "Sasl",
    "SaslMechanism",
    "Secret",
    "ServerTls",
    "TlsVersion",
    "TokenFile",
    "TopicSettings",
    "Upstream",
    "UpstreamTls",
    "WhenBeyond",
]
