"""The keys of TLS, toward brokers and toward clients; rows of the table in `keys`."""

from typing import Final

from tsproxy.config.kinds import CLIENT_AUTH, MAPPING_RULE, PATH, SECRET, TEXT, TLS_VERSION, Key

_CIPHERS: Final = (
    "Cipher suites of TLS 1.2, as OpenSSL lists them (`ECDHE+AESGCM:ECDHE+CHACHA20`); without it Python's "
    "choice. Those of TLS 1.3 are OpenSSL's to set."
)

UPSTREAM_TLS_KEYS: Final = (
    Key(
        "upstream.tls.ca",
        PATH,
        "PEM file of the authorities that brokers are checked against; without it the system's.",
        is_live=True,
    ),
    Key(
        "upstream.tls.certificate",
        PATH,
        "PEM file of the certificate shown to brokers (mutual TLS), with `key`.",
        is_live=True,
    ),
    Key("upstream.tls.key", PATH, "PEM file of that certificate's private key.", is_live=True),
    Key("upstream.tls.key_password", SECRET, "The passphrase of an encrypted `key`.", is_live=True),
    Key(
        "upstream.tls.min_version",
        TLS_VERSION,
        "The oldest version of TLS to speak.",
        default="1.2",
        is_live=True,
    ),
    Key(
        "upstream.tls.ciphers",
        TEXT,
        _CIPHERS,
        is_live=True,
    ),
)

LISTENER_TLS_KEYS: Final = (
    Key(
        "listeners[].tls.certificate",
        PATH,
        "PEM file of the certificate shown to clients, with its chain.",
        is_required=True,
        is_live=True,
    ),
    Key("listeners[].tls.key", PATH, "PEM file of its private key.", is_required=True, is_live=True),
    Key("listeners[].tls.key_password", SECRET, "The passphrase of an encrypted `key`.", is_live=True),
    Key(
        "listeners[].tls.min_version",
        TLS_VERSION,
        "The oldest version of TLS to speak.",
        default="1.2",
        is_live=True,
    ),
    Key(
        "listeners[].tls.ciphers",
        TEXT,
        _CIPHERS,
        is_live=True,
    ),
    Key(
        "listeners[].tls.client_ca",
        PATH,
        "PEM file of the authorities that clients' certificates are checked against.",
        is_live=True,
    ),
    Key(
        "listeners[].tls.client_crl",
        PATH,
        "PEM file of lists of revoked certificates (CRL), one for each authority that signs clients' "
        "certificates.",
        is_live=True,
    ),
    Key(
        "listeners[].tls.client_auth",
        CLIENT_AUTH,
        "Whether clients show a certificate; without it `required` where `client_ca` is given, else `none`.",
        is_live=True,
    ),
    Key(
        "listeners[].tls.principal_mapping",
        MAPPING_RULE,
        "How a certificate's subject becomes a principal: Kafka's `ssl.principal.mapping.rules`, a rule an "
        "item; without it the subject as it is.",
        is_list=True,
        is_live=True,
    ),
)
