"""A certificate authority for tests, and the PEM files that it signs.

Keys are P-256: they are quick to make, and Java, OpenSSL and librdkafka know them. No key has a passphrase,
so the files are only for tests. The extensions are those of RFC 5280 (4.2.1, 5.2): from Python 3.13 on,
a default context needs them. The module needs the package `cryptography`.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from time import time_ns
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tsproxy.testing.client_options import Identity

LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1")

_SIGNS_HANDSHAKES: Final = (0,)
_SIGNS_OTHERS: Final = (5, 6)
"""Bits of KeyUsage: digitalSignature; keyCertSign and cRLSign (RFC 5280, 4.2.1.3)."""
_END_ENTITY: Final = x509.BasicConstraints(ca=False, path_length=None)
_USES: Final = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)
_YESTERDAY: Final = timedelta(days=-1)
_TWO_DAYS: Final = timedelta(days=2)


class CertificateAuthority:
    """Writes signed certificates to `folder`. Others trust them if they trust `certificate`."""

    def __init__(self, folder: Path, name: str = "tsproxy test authority") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.certificate = folder / "ca.pem"
        limits = x509.BasicConstraints(ca=True, path_length=0)
        builder = self._builder(self._name, self._key.public_key(), _YESTERDAY, _TWO_DAYS, limits)
        self.certificate.write_bytes(self._signed(builder))

    def issue(
        self,
        name: str,
        hosts: Sequence[str] = LOOPBACK_HOSTS,
        *,
        starts: timedelta = _YESTERDAY,
        lasts: timedelta = _TWO_DAYS,
    ) -> Identity:
        """A new key and certificate with the common name `name`, for servers and clients.

        `hosts` are DNS names (also `*.kafka.test`) or addresses. `starts` counts from now, so
        `starts=timedelta(days=-3)` gives a certificate that has expired. The files' names begin with `name`.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = self._builder(subject, key.public_key(), starts, lasts)
        if hosts:
            names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        certificate_pem = self._signed(builder.add_extension(x509.ExtendedKeyUsage(_USES), critical=False))
        key_pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        identity = Identity(*(self._folder / f"{name}{kind}" for kind in ("-cert.pem", "-key.pem", ".pem")))
        identity.certificate.write_bytes(certificate_pem)
        identity.key.write_bytes(key_pem)
        identity.keystore.write_bytes(key_pem + certificate_pem)
        return identity

    def revocations(
        self, *revoked: Identity, starts: timedelta = _YESTERDAY, lasts: timedelta = _TWO_DAYS
    ) -> bytes:
        """A list of revoked certificates as PEM (CRL, RFC 5280) that contains these identities."""
        start = datetime.now(UTC) + starts
        builder = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(self._name)
            .last_update(start)
            .next_update(start + lasts)
            .add_extension(self._key_id(), critical=False)
            .add_extension(x509.CRLNumber(time_ns()), critical=False)
        )
        for identity in revoked:
            certificate = x509.load_pem_x509_certificate(identity.certificate.read_bytes())
            one = x509.RevokedCertificateBuilder().serial_number(certificate.serial_number)
            builder = builder.add_revoked_certificate(one.revocation_date(start).build())
        return builder.sign(self._key, SHA256()).public_bytes(Encoding.PEM)

    def _builder(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePublicKey,
        starts: timedelta,
        lasts: timedelta,
        limits: x509.BasicConstraints = _END_ENTITY,
    ) -> x509.CertificateBuilder:
        start, uses = datetime.now(UTC) + starts, _SIGNS_OTHERS if limits.ca else _SIGNS_HANDSHAKES
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(start)
            .not_valid_after(start + lasts)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(self._key_id(), critical=False)
            .add_extension(limits, critical=True)
            .add_extension(x509.KeyUsage(*(bit in uses for bit in range(9))), critical=True)
        )

    def _key_id(self) -> x509.AuthorityKeyIdentifier:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())

    def _signed(self, builder: x509.CertificateBuilder) -> bytes:
        return builder.sign(self._key, SHA256()).public_bytes(Encoding.PEM)


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)
