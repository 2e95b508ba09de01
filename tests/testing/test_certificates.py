"""Certificates for tests hold where RFC 5280 is checked strictly, as by default from Python 3.13 on."""

import ssl
import subprocess
from contextlib import nullcontext
from datetime import timedelta

import pytest
from cryptography import x509

from tsproxy.testing.certificates import CertificateAuthority
from tsproxy.testing.client_options import client_context

HOST = "b1.kafka.test"
KEYS = {"SubjectKeyIdentifier": False, "AuthorityKeyIdentifier": False, "KeyUsage": True}
ASKED_FOR = {
    "authority": KEYS | {"BasicConstraints": True},
    "end entity": KEYS
    | {"BasicConstraints": True, "ExtendedKeyUsage": False, "SubjectAlternativeName": False},
    "list": {"AuthorityKeyIdentifier": False, "CRLNumber": False},
}
"""Extensions by RFC 5280 (4.2.1, 5.2), and whether they are critical."""
ISSUED = {"names": {"hosts": ("*.kafka.test", "127.0.0.1")}, "no name": {"hosts": ()}}


def strict(purpose, authority, identity, crl):
    """A context that checks the other side strictly, and looks it up in the list."""
    context = ssl.SSLContext(purpose)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_CRL_CHECK_LEAF
    context.load_verify_locations(authority.certificate)
    context.load_verify_locations(crl)
    context.load_cert_chain(identity.certificate, identity.key)
    return context


def shake_hands(client, server, host=None):
    """The certificate that the client has accepted. Raises SSLCertVerificationError."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server, server_hostname=host)
    theirs = server.wrap_bio(to_server, to_client, server_side=True)
    for end in (ours, theirs) * 3:
        try:
            end.do_handshake()
        except ssl.SSLWantReadError:
            continue
    return ours.getpeercert()


def shake_hands_strictly(authority, crl, client, server):
    ends = (ssl.PROTOCOL_TLS_CLIENT, client), (ssl.PROTOCOL_TLS_SERVER, server)
    return shake_hands(*(strict(purpose, authority, identity, crl) for purpose, identity in ends))


@pytest.fixture
def authority(tmp_path):
    return CertificateAuthority(tmp_path)


@pytest.fixture
def crl(authority, tmp_path):
    file = tmp_path / "revoked.pem"
    file.write_bytes(authority.revocations(authority.issue("revoked")))
    return file


@pytest.mark.parametrize("options", ISSUED.values(), ids=ISSUED)
def test_both_sides_accept_each_other_when_they_check_strictly(authority, crl, options):
    identity = authority.issue("strict", **options)
    assert shake_hands_strictly(authority, crl, identity, identity)


def test_a_strict_check_finds_a_revoked_certificate_in_the_list(authority, crl):
    revoked = authority.issue("revoked")
    crl.write_bytes(authority.revocations(revoked))
    with pytest.raises(ssl.SSLCertVerificationError, match="certificate revoked"):
        shake_hands_strictly(authority, crl, authority.issue("client"), revoked)


@pytest.mark.parametrize(
    ("issue", "host", "trouble"),
    [
        ({}, "localhost", None),
        ({}, "127.0.0.1", None),
        ({}, "kafka.test", "Hostname mismatch"),
        ({"hosts": ["*.kafka.test"]}, HOST, None),
        ({"hosts": [HOST]}, HOST, None),
        ({"hosts": [HOST]}, "b2.kafka.test", "Hostname mismatch"),
        ({"starts": timedelta(days=-3)}, "localhost", "certificate has expired"),
    ],
)
def test_a_client_as_strict_as_a_new_python_checks_names_and_days(authority, issue, host, trouble):
    identity = authority.issue("server", **issue)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(identity.certificate, identity.key)
    client = client_context(authority.certificate)
    client.verify_flags |= ssl.VERIFY_X509_STRICT

    with pytest.raises(ssl.SSLCertVerificationError, match=trouble) if trouble else nullcontext():
        assert shake_hands(client, server, host)


@pytest.mark.parametrize("purpose", ["sslserver", "sslclient"])
def test_the_command_openssl_finds_nothing_either(authority, crl, purpose):
    identity = authority.issue("checked", (HOST,))
    command = ["openssl", "verify", "-x509_strict", "-crl_check", "-policy_check", "-purpose", purpose]
    command += ["-CAfile", authority.certificate, "-CRLfile", crl, identity.certificate]

    ended = subprocess.run(command, capture_output=True, text=True)

    assert (ended.returncode, ended.stdout) == (0, f"{identity.certificate}: OK\n"), ended.stderr


@pytest.mark.parametrize("what", ASKED_FOR)
def test_each_has_the_extensions_of_rfc_5280(authority, crl, what):
    """Nobody who verifies misses some of them: OpenSSL reads no number of a list."""
    read, file = {
        "authority": (x509.load_pem_x509_certificate, authority.certificate),
        "end entity": (x509.load_pem_x509_certificate, authority.issue("read").certificate),
        "list": (x509.load_pem_x509_crl, crl),
    }[what]

    found = read(file.read_bytes()).extensions

    assert {type(each.value).__name__: each.critical for each in found} == ASKED_FOR[what]


def test_a_later_list_has_a_higher_number(authority):
    lists = [x509.load_pem_x509_crl(authority.revocations()).extensions for _ in range(2)]

    first, second = (each.get_extension_for_class(x509.CRLNumber).value.crl_number for each in lists)
    assert first < second
