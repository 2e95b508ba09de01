"""Certificates are read, or are an error of the peer's. The spelling of subjects: `test_x509_names.py`."""

import contextlib
import re
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from tests.proxy.test_x509_names import BMP, OID, PRINTABLE, SEQUENCE, SET, T61, UTF8, certificate_of, der
from tsproxy.model.principals import MappingRule
from tsproxy.proxy.connections.client_handshake import _principal
from tsproxy.tls.x509 import read_certificate, read_pem
from tsproxy.wire.primitives import DecodeError

START, END = datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC), datetime(2055, 6, 7, 8, 9, 10, tzinfo=UTC)


def signed(until=END):
    """A real certificate of CN=x."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "x")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(7).not_valid_before(START).not_valid_after(until)
    return builder.sign(key, SHA256()).public_bytes(Encoding.DER)


WHOLE = signed()

# An attribute's value, and its spellings by OpenJDK 25.0.3 and 17.0.15, if they are two.
VALUES = [
    ((UTF8, "Zoë".encode()), ["Zoë"]),
    ((T61, b"Zoe"), ["Zoe"]),
    ((T61, b"Zo\xeb"), ["Zoë", "Zo\ufffd"]),
    ((PRINTABLE, "Zoë".encode()), ["Zo\xc3\xab", "Zoë"]),
    ((BMP, b""), [""]),
    ((BMP, b"admi"), ["\u6164\u6d69", "admi"]),
]


@pytest.mark.parametrize(("value", "texts"), VALUES)
def test_a_client_whose_name_depends_on_javas_version_is_taken_for_nobody(value, texts):
    """By OpenJDK 17.0.15, an authority's client \u6164\u6d69 is admi."""
    pairs = [der(SEQUENCE, der(OID, b"\x55\x04\x0a") + der(PRINTABLE, b"org"))]
    pairs.append(der(SEQUENCE, der(OID, b"\x55\x04\x03") + der(*value)))
    shown = certificate_of(der(SEQUENCE, b"".join(der(SET, pair) for pair in pairs)))

    def principal(*rules):
        mapping = [MappingRule.parse(rule) for rule in rules]
        listener = SimpleNamespace(tls=SimpleNamespace(principal_mapping=mapping))
        return _principal(SimpleNamespace(getpeercert=lambda binary_form: shown), listener)

    assert read_certificate(shown).spellings == tuple(f"CN={text},O=org" for text in texts)
    assert principal() == (f"User:CN={texts[0]},O=org" if len(texts) == 1 else None)
    assert principal("RULE:.*O=(.*)/$1/") == "User:org"
    if len(texts) == 2:
        for text in texts:
            with pytest.raises(DecodeError, match="no rule of"):
                principal(f"RULE:CN={re.escape(text)},.*/x/")


def test_both_spellings_of_a_time_are_read():
    """RFC 5280: UTCTime up to 2049, GeneralizedTime from 2050 on."""
    early = datetime(2049, 12, 31, 23, 59, 59, tzinfo=UTC)
    for until in (early, END):
        found = read_certificate(signed(until))
        assert found.subject == "CN=x"
        assert (found.not_before_s, found.not_after_s) == (START.timestamp(), until.timestamp())


def test_a_pem_file_is_read_with_what_stands_between_its_certificates(certificates):
    first, second = certificates.issue("pem-1"), certificates.issue("pem-2")
    pem = b"notes\n" + first.keystore.read_bytes() + b"\nmore\n" + second.certificate.read_bytes()

    assert [each.subject for each in read_pem(pem)] == ["CN=pem-1", "CN=pem-2"]


def test_a_certificate_that_is_cut_anywhere_is_an_error_of_the_peers():
    for end in range(len(WHOLE)):
        with pytest.raises(DecodeError):
            read_certificate(WHOLE[:end])


@given(st.data())
def test_whatever_comes_is_a_certificate_or_an_error_of_the_peers(data):
    body = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(DecodeError):
        read_certificate(bytes(body))
