"""A certificate's subject is spelled as Java spells it, since Kafka's principals are."""

import contextlib
import re
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import NameAttribute, RelativeDistinguishedName
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from tests.proxy.test_x509_names import BMP, OID, PRINTABLE, SEQUENCE, SET, T61, UTF8, certificate_of, der
from tsproxy.model.principals import MappingRule
from tsproxy.proxy.connections.client_handshake import _principal
from tsproxy.tls.x509 import read_certificate, read_pem
from tsproxy.wire.primitives import DecodeError

START, END = datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC), datetime(2055, 6, 7, 8, 9, 10, tzinfo=UTC)


def signed(*parts, until=END):
    """A certificate for a name of these parts: attributes, or sets of them."""
    key = ec.generate_private_key(ec.SECP256R1())
    sets = [
        part if isinstance(part, RelativeDistinguishedName) else RelativeDistinguishedName([part])
        for part in parts
    ]
    name = x509.Name(sets)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(7).not_valid_before(START).not_valid_after(until)
    return builder.sign(key, SHA256()).public_bytes(Encoding.DER)


CN, O, OU, C = (  # noqa: E741  # X.500's own letters
    NameOID.COMMON_NAME,
    NameOID.ORGANIZATION_NAME,
    NameOID.ORGANIZATIONAL_UNIT_NAME,
    NameOID.COUNTRY_NAME,
)

# The names that `X500Principal.getName()` of OpenJDK 17 gives for the same certificates.
JAVA = [
    (
        [
            NameAttribute(C, "DE"),
            NameAttribute(NameOID.STATE_OR_PROVINCE_NAME, "Hesse"),
            NameAttribute(O, "Ex, Inc. + Co"),
            NameAttribute(OU, 'a"b\\c<d>;#e=f'),
            NameAttribute(CN, "kafka client"),
        ],
        'CN=kafka client,OU=a\\"b\\\\c\\<d\\>\\;\\#e\\=f,O=Ex\\, Inc. \\+ Co,ST=Hesse,C=DE',
    ),
    ([NameAttribute(CN, " lead and trail ")], "CN=\\ lead and trail\\ "),
    (
        [NameAttribute(CN, "Zoë ☃"), NameAttribute(NameOID.EMAIL_ADDRESS, "a@b.c")],
        "1.2.840.113549.1.9.1=#16056140622e63,CN=Zoë ☃",
    ),
    (
        [
            NameAttribute(NameOID.DOMAIN_COMPONENT, "org"),
            NameAttribute(NameOID.DOMAIN_COMPONENT, "example"),
            NameAttribute(NameOID.USER_ID, "u1"),
            NameAttribute(NameOID.SERIAL_NUMBER, "77"),
            NameAttribute(NameOID.TITLE, "Dr"),
            NameAttribute(NameOID.STREET_ADDRESS, "st 1"),
            NameAttribute(NameOID.LOCALITY_NAME, "X"),
            NameAttribute(NameOID.POSTAL_CODE, "1"),
        ],
        "2.5.4.17=#0c0131,L=X,STREET=st 1,2.5.4.12=#0c024472,2.5.4.5=#13023737,UID=u1,DC=example,DC=org",
    ),
    ([NameAttribute(CN, "#hash first")], "CN=\\#hash first"),
    ([NameAttribute(CN, "a'b(c)/d:e?f*g_h@i~")], "CN=a'b(c)/d:e?f*g_h@i~"),
    (
        [
            RelativeDistinguishedName([NameAttribute(CN, "multi"), NameAttribute(NameOID.USER_ID, "zz")]),
            NameAttribute(O, "o"),
        ],
        "O=o,CN=multi+UID=zz",
    ),
    ([], ""),
]


@pytest.mark.parametrize(("parts", "said"), JAVA, ids=[said[:30] for _, said in JAVA])
def test_a_subject_is_told_in_javas_words(parts, said):
    assert read_certificate(signed(*parts)).subject == said


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
        found = read_certificate(signed(NameAttribute(CN, "x"), until=until))
        assert (found.not_before_s, found.not_after_s) == (START.timestamp(), until.timestamp())


def test_a_pem_file_is_read_with_what_stands_between_its_certificates(certificates):
    first, second = certificates.issue("pem-1"), certificates.issue("pem-2")
    pem = b"notes\n" + first.keystore.read_bytes() + b"\nmore\n" + second.certificate.read_bytes()

    assert [each.subject for each in read_pem(pem)] == ["CN=pem-1", "CN=pem-2"]


def test_a_certificate_that_is_cut_anywhere_is_an_error_of_the_peers():
    whole = signed(NameAttribute(CN, "x"))
    for end in range(len(whole)):
        with pytest.raises(DecodeError):
            read_certificate(whole[:end])


@given(st.data())
def test_whatever_comes_is_a_certificate_or_an_error_of_the_peers(data):
    body = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(DecodeError):
        read_certificate(bytes(body))


@given(st.binary(max_size=200))
def test_garbage_is_an_error_of_the_peers(garbage):
    with contextlib.suppress(DecodeError):
        read_certificate(garbage)


WHOLE = signed(NameAttribute(C, "DE"), NameAttribute(CN, "somebody"))
