"""TLS contexts from PEM files, and helpful texts for failed handshakes.

The contexts allow TLS 1.2 and newer. OpenSSL's own configuration chooses the cipher suites of TLS 1.3, since
Python can set them only from 3.15 on. Connections to brokers check the host name, as Kafka's own clients do.
The operator has to solve a problem with a file, so it is a `ConfigError` that names the section.
"""

import contextlib
import ssl
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tsproxy.config.problems import ConfigError, FileProblem, Problem
from tsproxy.config.settings import ClientAuth, Config, ServerTls, TlsVersion, UpstreamTls
from tsproxy.config.values import SecretError
from tsproxy.tls.sessions import why_not

if TYPE_CHECKING:
    from typing_extensions import Buffer  # collections.abc has it from Python 3.12 on


class TlsConnection(ssl.SSLObject):
    """A TLS connection. `asked_host` is the host name that a client has requested (SNI), in lower case.

    It avoids an OpenSSL error at the end of each read. Both event loops read a connection until it raises
    `SSLWantReadError`. The `ssl` module takes longer to make that error than to decrypt a small request,
    because it formats a text with OpenSSL's numbers. The call to OpenSSL is useless if no new byte has
    arrived and OpenSSL holds no decrypted rest.
    """

    asked_host: str | None = None

    incoming: ssl.MemoryBIO
    """Encrypted bytes that have arrived and that OpenSSL has not read yet. The loop puts them there."""

    _sslobj: Any
    """OpenSSL's connection, which ssl.SSLObject wraps. It is called directly to save a call."""

    def read(self, len: int = 1024, buffer: "Buffer | None" = None) -> Any:  # bytes, or the number of bytes
        """See `ssl.SSLObject.read`."""
        incoming, connection = self.incoming, self._sslobj
        if not incoming.pending and not connection.pending() and not incoming.eof:
            raise ssl.SSLWantReadError
        return connection.read(len) if buffer is None else connection.read(len, buffer)


class TlsContext(ssl.SSLContext):
    """A context that makes each connection a `TlsConnection`. Everything else is unchanged."""

    sslobject_class = TlsConnection

    def wrap_bio(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *args: Any, **named: Any) -> Any:
        connection = super().wrap_bio(incoming, outgoing, *args, **named)
        assert isinstance(connection, TlsConnection)
        connection.incoming = incoming
        return connection


HANDSHAKE_S: Final = 10.0
"""How long a handshake may take before the connection is closed."""

STORED: Final = (
    "OpenSSL keeps sessions of TLS 1.2 in memory, with clients' certificates, and this Python does not let "
    "the proxy turn that off"
)
STORED_ADVICE: Final = 'say min_version: "1.3", or use a Python that the proxy is tested with'

CurrentTls = Callable[[], ssl.SSLContext]
"""Returns the context for the next connection. Existing connections keep theirs."""

_VERSIONS: Final = {TlsVersion.V1_2: ssl.TLSVersion.TLSv1_2, TlsVersion.V1_3: ssl.TLSVersion.TLSv1_3}

_VERIFY: Final = {
    ClientAuth.REQUIRED: ssl.CERT_REQUIRED,
    ClientAuth.REQUESTED: ssl.CERT_OPTIONAL,
    ClientAuth.NONE: ssl.CERT_NONE,
}

_NO_TLS: Final = "the other side does not speak TLS here: plain on a TLS port, or the reverse"
_OLD_TLS: Final = "the other side offers older versions of TLS only (min_version)"
_NONE_SHOWN: Final = "PEER_DID_NOT_RETURN_A_CERTIFICATE"
_HINTS: Final = {
    "HTTP_REQUEST": "an HTTP request came to a port that speaks Kafka over TLS",
    "WRONG_VERSION_NUMBER": _NO_TLS,
    "RECORD_LAYER_FAILURE": _NO_TLS,
    "PACKET_LENGTH_TOO_LONG": _NO_TLS,
    "UNSUPPORTED_PROTOCOL": _OLD_TLS,
    "NO_PROTOCOLS_AVAILABLE": _OLD_TLS,
    "TLSV1_ALERT_PROTOCOL_VERSION": "the other side offers other versions of TLS (min_version)",
    _NONE_SHOWN: "the client showed no certificate, and this listener requires one",
    "TLSV1_ALERT_UNKNOWN_CA": "the other side does not trust the authority of our certificate",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "the other side does not accept our certificate",
    "SSLV3_ALERT_BAD_CERTIFICATE": "the other side does not accept our certificate (its name, often)",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "the other side requires a certificate of ours",
}
"""OpenSSL's name of a peer's error -> its usual cause."""


_CERTIFICATE: Final = b"-----BEGIN CERTIFICATE-----"
_KEY: Final = b"PRIVATE KEY-----"
_DER: Final = b"\x30"
"""The tag of a SEQUENCE, with which certificates and keys begin if they have no PEM around them."""


def _remember_host(handshake: ssl.SSLObject, host: str | None, _: ssl.SSLContext) -> None:
    assert isinstance(handshake, TlsConnection), "TlsContext makes no others"
    handshake.asked_host = host.lower() if host else None


def server_context(tls: ServerTls) -> ssl.SSLContext:
    """The context for connections that others open, still with OpenSSL's store of sessions (`tls.sessions`).
    Raises ConfigError for an unusable file."""
    context = TlsContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS[tls.min_version]
    _choose_ciphers(context, tls.ciphers, tls.place)
    _load_chain(context, tls, tls.certificate, tls.key)
    if tls.client_ca is not None:
        _trust(context, tls.client_ca, f"{tls.place}.client_ca")
    if tls.client_crl is not None:
        _load_revocations(context, tls.client_crl, f"{tls.place}.client_crl")
    context.verify_mode = _VERIFY[tls.client_auth]
    if tls.client_auth is not ClientAuth.NONE:
        # OpenSSL checks the dates, the authorities and the revocation list in a whole handshake only.
        context.num_tickets, context.options = 0, context.options | ssl.OP_NO_TICKET
    context.sni_callback = _remember_host
    return context


def upstream_context(tls: UpstreamTls) -> ssl.SSLContext:
    """The context for connections to brokers, which checks host names. Raises ConfigError for an unusable
    file."""
    context = TlsContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = _VERSIONS[tls.min_version]
    _choose_ciphers(context, tls.ciphers, tls.place)
    _trust(context, tls.ca, f"{tls.place}.ca")
    if tls.certificate is not None and tls.key is not None:
        _load_chain(context, tls, tls.certificate, tls.key)
    return context


def trust(context: ssl.SSLContext, ca: Path | None) -> None:
    """Trust each certificate of a PEM file, or of the system. Raises OSError (ssl.SSLError).

    Each one is enough, also an authority that another one has signed, as in Java's trust stores (RFC 5280,
    6.1.1 d): brokers that trust the issuing authority alone accept its clients. The certificate of a client
    stands for that client and signs nobody. Its dates, and whether it was revoked, are checked as always.
    """
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if ca is None:
        context.load_default_certs()
    else:
        context.load_verify_locations(ca)


def check_files(config: Config) -> None:
    """Read every certificate and key that the configuration names. Raises ConfigError with all problems."""
    problems: list[Problem] = []
    servers = [*(listener.tls for listener in config.listeners), config.admin.tls]
    contexts = [partial(server_context, tls) for tls in servers if tls]
    if config.upstream.tls:
        contexts.append(partial(upstream_context, config.upstream.tls))
    for context in contexts:
        try:
            context()
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(*problems)


def stored_sessions(config: Config) -> list[Problem]:
    """A problem for each section whose clients may fill OpenSSL's store of sessions; none if it can be turned
    off, which a process of its own tries."""
    servers = [*(listener.tls for listener in config.listeners), config.admin.tls]
    storing = [tls.place for tls in servers if tls and tls.min_version is TlsVersion.V1_2]
    why = why_not() if storing else None
    text = f"{STORED} ({why}): {STORED_ADVICE}"
    return [Problem("", f"{place}.min_version", text) for place in storing if why]


def rejects_their_certificate(error: BaseException) -> bool:
    """True if a handshake failed because the other side's certificate was rejected, or missing."""
    return isinstance(error, ssl.SSLCertVerificationError) or getattr(error, "reason", None) == _NONE_SHOWN


def handshake_text(error: BaseException) -> str:
    """One line that says why a handshake failed, with a hint if the cause is a usual one."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the other side's certificate was rejected: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        hint = _HINTS.get(error.reason or "")
        reason = (error.reason or "TLS error").lower().replace("_", " ")
        return f"{hint} ({reason})" if hint else reason
    if isinstance(error, TimeoutError):
        return f"no TLS handshake within {HANDSHAKE_S:g} s: does the other side speak TLS?"
    return "the other side closed the connection during the TLS handshake: does it speak TLS?"


def _load_chain(context: ssl.SSLContext, tls: ServerTls | UpstreamTls, certificate: Path, key: Path) -> None:
    password, place = tls.key_password, tls.place
    _check_readable(certificate, f"{place}.certificate")
    _check_readable(key, f"{place}.key")
    is_encrypted = False

    def passphrase() -> str:  # called for encrypted keys only; without this function OpenSSL would prompt
        nonlocal is_encrypted
        is_encrypted = True
        if password is None:
            raise _EncryptedKeyError
        return password.reveal()

    try:
        context.load_cert_chain(certificate, key, password=passphrase)
    except _EncryptedKeyError:
        text = f"{key} is encrypted: give its passphrase as key_password, or a key without one"
        raise ConfigError(FileProblem("", f"{place}.key", text)) from None
    except SecretError as error:
        raise ConfigError(FileProblem("", f"{place}.key_password_file", str(error))) from None
    except (ssl.SSLError, ValueError) as error:  # ValueError: a passphrase longer than OpenSSL allows
        if getattr(error, "reason", None) == "KEY_VALUES_MISMATCH":
            text = f"{key} is not the private key of the first certificate in {certificate}"
        elif is_encrypted:
            text = f"{key} cannot be decrypted with this passphrase"
            raise ConfigError(FileProblem("", f"{place}.key_password", text)) from None
        else:
            text = _pair_text(certificate, key)
        raise ConfigError(FileProblem("", place, text)) from None


def _pair_text(certificate: Path, key: Path) -> str:
    """The problem with a certificate and a key that OpenSSL rejects without a reason."""
    first, second = certificate.read_bytes(), key.read_bytes()
    if _KEY in first and _CERTIFICATE not in first and _CERTIFICATE in second and _KEY not in second:
        return f"are exchanged: certificate is {certificate}, a private key, and key is {key}, a certificate"
    if _CERTIFICATE not in first:
        return f"{certificate} holds no certificate: {_in_pem(first, 'x509', 'CERTIFICATE')}"
    if _KEY not in second:
        return f"{key} holds no private key: {_in_pem(second, 'pkey', 'PRIVATE KEY')}"
    return f"{certificate} and {key} must be PEM files: a certificate with its chain, and its key"


def _in_pem(data: bytes, command: str, label: str) -> str:
    if data.startswith(_DER):
        return f"it looks like DER; openssl {command} -inform der -in FILE -out FILE.pem makes PEM of it"
    return f"in a PEM file a line says -----BEGIN {label}-----"


def _trust(context: ssl.SSLContext, ca: Path | None, place: str) -> None:
    if ca is not None:
        _check_readable(ca, place)
    try:
        trust(context, ca)
    except ssl.SSLError:
        text = f"{ca} must be a PEM file with at least one certificate of an authority"
        raise ConfigError(FileProblem("", place, text)) from None


def _load_revocations(context: ssl.SSLContext, crl: Path, place: str) -> None:
    """Load a revocation list. From now on client certificates must not be on their authority's list, and a
    current list must exist."""
    _check_readable(crl, place)
    before = context.cert_store_stats()
    with contextlib.suppress(ssl.SSLError):
        context.load_verify_locations(crl)
    now = context.cert_store_stats()
    if now["crl"] == before["crl"] or now["x509"] != before["x509"]:
        text = f"{crl} must be a PEM file with lists of revoked certificates (X509 CRL), and nothing else"
        raise ConfigError(FileProblem("", place, text))
    context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF


def _choose_ciphers(context: ssl.SSLContext, ciphers: str | None, place: str) -> None:
    if ciphers is None:
        return
    try:
        context.set_ciphers(ciphers)
    except ssl.SSLError:
        text = (
            f"{ciphers!r} names no cipher suite of TLS 1.2 that OpenSSL has; must be a list as in "
            "`openssl ciphers -v`, such as ECDHE+AESGCM:ECDHE+CHACHA20"
        )
        raise ConfigError(Problem("", f"{place}.ciphers", text)) from None


def _check_readable(file: Path, place: str) -> None:
    try:
        with file.open("rb"):
            pass
    except OSError as error:
        raise ConfigError(FileProblem("", place, f"{file} cannot be read: {error.strerror}")) from None


class _EncryptedKeyError(Exception):
    """The key is encrypted, and the configuration has no passphrase."""
