"""The bytes before Kafka's protocol: a load balancer's header, and a TLS handshake (`Greeting`).

The subject of a certificate has any bytes, so certificates are written in DER here. One authority signs them.
"""

import ssl
import struct
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from rigs.cost.genes import cluster_value, value
from rigs.cost.names import name
from tests.proxy.test_x509_names import der
from tsproxy.proxy.connections.proxy_protocol import SIGNATURE
from tsproxy.testing.certificates import CertificateAuthority
from tsproxy.testing.identity import Identity

LOAD_BALANCER, STRANGER = "192.0.2.1", "198.51.100.7"
"""The listener trusts headers of the first one alone."""

_SEQUENCE, _SET, _OID, _INTEGER, _BITS, _TIME = 0x30, 0x31, 0x06, 0x02, 0x03, 0x17
_ECDSA_WITH_SHA256 = bytes.fromhex("300a06082a8648ce3d040302")
_ATTRIBUTES = {"CN": "550403", "OU": "55040b", "UID": "0992268993f22c640101", "odd": "2b" + "ff" * 30 + "01"}
_TEXTS = {"UTF-8": 0x0C, "printable": 0x13, "universal": 0x1C, "bits": _BITS}


@dataclass(frozen=True, slots=True)
class Greeting:
    """One new connection. `part` has the genes of a part `connect`. `number` is another one for each."""

    part: Mapping[str, Any]
    number: int
    has_header: bool
    has_tls: bool

    @classmethod
    def of(cls, part: Mapping[str, Any], cluster: Mapping[str, Any], number: int) -> "Greeting":
        return cls(part, number, cluster_value(cluster, "load_balancer"), cluster_value(cluster, "tls"))

    @property
    def address(self) -> str:
        """The address that the connection comes from."""
        if value(self.part, "from") == "stranger":
            return STRANGER
        if self.has_header or value(self.part, "from") == "one":
            return LOAD_BALANCER
        return f"10.{self.number >> 16 & 255}.{self.number >> 8 & 255}.{self.number & 255}"

    @property
    def others_stay(self) -> bool:
        """True if the client keeps its connection before this one."""
        return bool(value(self.part, "others_stay"))

    @property
    def leaves(self) -> bool:
        """True if the client closes when it has no more to say. Else it waits."""
        return not value(self.part, "waits")

    def client(self) -> "Client":
        return Client(self)

    def header(self) -> bytes:
        """The header of the PROXY protocol."""
        v6 = value(self.part, "header") == "v6"
        size = value(self.part, "header_size")
        source = struct.pack(">I", 0x0A000000 + self.number).rjust(16 if v6 else 4, b"\x20")
        body = source + source + struct.pack(">HH", 50_000, 9_192) + bytes(size)
        match value(self.part, "header"):
            case "right" | "v6":
                return _header(0x21, 0x21 if v6 else 0x11, body)
            case "local":
                return _header(0x20, 0x00, bytes(size))
            case "unix":
                return _header(0x21, 0x31, bytes(216))
            case "short":
                return _header(0x21, 0x11, b"")
            case "version 1":
                return b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n" + bytes(size)
            case "noise":
                return bytes(range(256)) * (size // 256 + 1)
        return b""


def _header(version: int, family: int, body: bytes) -> bytes:
    return SIGNATURE + bytes([version, family]) + struct.pack(">H", len(body)) + body


class Client:
    """The client's half of one greeting."""

    def __init__(self, greeting: Greeting) -> None:
        self._header = greeting.header() if greeting.has_header else b""
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls: ssl.SSLObject | None = None
        if greeting.has_tls:
            context = _context(_subject_of(greeting.part, greeting.number))
            host = value(greeting.part, "server_name")
            self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host or None)

    def says(self, heard: bytes) -> bytes:
        """Its next bytes, after it has heard these; empty if it only waits."""
        if self._header:
            header, self._header = self._header, b""
            return header
        if self._tls is not None:
            self._incoming.write(heard)
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLError:
                self._tls = None
        return self._outgoing.read()


# -- Certificates -------------------------------------------------------------------------------------


class _Files:
    """The authority, the proxy's identity and the key of all clients, in a folder that ends with the
    process."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tsproxy-cost-")
        self.folder = Path(self._folder.name)
        self.authority = CertificateAuthority(self.folder)
        self.proxy: Identity = self.authority.issue("proxy")
        self.key = ec.generate_private_key(ec.SECP256R1())


@cache
def files() -> _Files:
    return _Files()


def _subject_of(part: Mapping[str, Any], number: int) -> bytes | None:
    """The subject of a client's certificate, in DER; None without a certificate."""
    if not value(part, "certificate"):
        return None
    tag, oid = _TEXTS[value(part, "text")], bytes.fromhex(_ATTRIBUTES[value(part, "attribute")])
    differs = number if value(part, "certificates_vary") else 0
    pairs = []
    for n in range(value(part, "attributes")):
        text = name(value(part, "letters"), min(value(part, "size"), 8_000), n + 1_000 * differs)
        pairs.append(der(_SEQUENCE, der(_OID, oid) + der(tag, text)))
    if value(part, "together"):
        return der(_SEQUENCE, der(_SET, b"".join(pairs)))
    return der(_SEQUENCE, b"".join(der(_SET, pair) for pair in pairs))


@lru_cache(maxsize=300)
def _context(subject: bytes | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if subject is not None:
        path = files().folder / "client.pem"
        path.write_bytes(_identity(subject))
        try:
            context.load_cert_chain(path)
        except ssl.SSLError:  # OpenSSL rejects the subject. It would do so in the proxy, too
            return _context(None)
    return context


def _identity(subject: bytes) -> bytes:
    """A certificate and its key, as PEM."""
    authority, key = files().authority, files().key
    issuer = authority._name.public_bytes()
    times = der(_SEQUENCE, der(_TIME, b"200101000000Z") + der(_TIME, b"490101000000Z"))
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    signed = der(_SEQUENCE, der(_INTEGER, b"\x07") + _ECDSA_WITH_SHA256 + issuer + times + subject + public)
    signature = authority._key.sign(signed, ec.ECDSA(SHA256()))
    made = der(_SEQUENCE, signed + _ECDSA_WITH_SHA256 + der(_BITS, b"\0" + signature))
    pem = ssl.DER_cert_to_PEM_cert(made).encode()
    return pem + key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
