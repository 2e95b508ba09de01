"""Random subjects of certificates, spelled by the proxy and by a real JDK: a client must not get another's
name."""

import random
import subprocess
from base64 import b64decode, b64encode
from pathlib import Path

import pytest

from tests.full_only import IS_FULL
from tsproxy.testing.java import find_java
from tsproxy.tls.x509 import read_certificate
from tsproxy.wire.primitives import DecodeError

pytestmark = pytest.mark.broker  # Java

PROGRAM = Path(__file__).with_name("Names.java")
SEED, NAMES = 2026, 4_000 if IS_FULL else 1_000

INTEGER, BIT_STRING, OCTETS, NULL, OID, UTC_TIME, SEQUENCE, SET = 2, 3, 4, 5, 6, 0x17, 0x30, 0x31
UTF8, NUMERIC, PRINTABLE, T61, IA5, VISIBLE, GENERAL, UNIVERSAL, BMP = 12, 18, 19, 20, 22, 26, 27, 28, 30
STRINGS = (UTF8, NUMERIC, PRINTABLE, T61, IA5, VISIBLE, GENERAL, UNIVERSAL, BMP)
OTHERS = (INTEGER, OCTETS, BIT_STRING, UTC_TIME, SEQUENCE)
ENCODINGS = {UNIVERSAL: "utf-32-be", BMP: "utf-16-be", T61: "latin-1"}

KEYWORDS = [bytes([0x55, 4, last]) for last in (3, 6, 7, 8, 9, 10, 11)]
KEYWORDS += [bytes.fromhex("0992268993f22c6401") + bytes([last]) for last in (1, 25)]
NUMBERS = [bytes([0x55, 4, last]) for last in (4, 5, 12, 13, 17, 42, 46)]
NUMBERS += [bytes.fromhex("2a864886f70d010901"), bytes([0x2B, 6, 1]), bytes([0x88, 0x37, 3])]

TEXTS = [
    "a",
    "kafka client",
    " x ",
    "\rx\r",
    "#a",
    'a"b\\c<d>;e=f,g+h',
    "a'b(c)/d:e?f*g_h@i~",
    "Zoë",
    "☃",
    "😀",
    "\0",
    "\t\n\x7f",
    "",
    "é" * 70,
]
DAMAGED = [
    b"\xff",
    b"\xc3",
    b"\xe2\x98",
    b"\xf0\x9f\x98",
    b"\xed\xa0\x80",
    b"\xed\xbf",
    b"\xed\xb0a",
    b"\xf5",
    b"\xe0\x80",
    b"\xf0\x80\x80",
    b"\xf1\x80",
    b"\xe1\x80\xe1",
    b"\xc0\x80",
    b"\xf4\x90\x80\x80",
    b"\x80" * 3,
]


def der(tag, content):
    size = len(content)
    if size < 128:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content


def value(rng):
    tag = rng.choice(STRINGS if rng.random() < 0.9 else OTHERS)
    text = "".join(rng.choice(TEXTS) for _ in range(rng.randrange(3)))
    content = text.encode(ENCODINGS.get(tag, "utf-8"), "replace")
    if tag == SEQUENCE:
        return der(SEQUENCE, der(INTEGER, b"\x01"))
    if rng.random() < 0.3:
        content = rng.choice([content + rng.choice(DAMAGED) + b"a", rng.randbytes(rng.randrange(9))])
    return der(tag, content)


def name(rng):
    """The DER of a name: mostly one attribute in each of few sets."""
    sets = []
    for _ in range(rng.randrange(4)):
        pairs = [
            der(SEQUENCE, der(OID, rng.choice(KEYWORDS if rng.random() < 0.8 else NUMBERS)) + value(rng))
            for _ in range(1 if rng.random() < 0.9 else 2)
        ]
        sets.append(der(SET, b"".join(pairs)))
    return der(SEQUENCE, b"".join(sets))


def spelled_by_java(names):
    command = [find_java().executable, "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", PROGRAM]
    told = b"\n".join(map(b64encode, names)) + b"\n"
    out = subprocess.run(command, input=told, capture_output=True, check=True).stdout
    return [None if line == b"-" else b64decode(line).decode() for line in out.splitlines()]


def certificate_of(name_der):
    """A certificate with this subject, as far as it is read."""
    times = der(UTC_TIME, b"200102030405Z") * 2
    fields = der(INTEGER, b"\x07") + der(SEQUENCE, b"") * 2 + der(SEQUENCE, times) + name_der
    return der(SEQUENCE, der(SEQUENCE, fields))


def spellings(name_der):
    """The proxy's; None for a BMPString that is none, of which Java replaces more or less."""
    try:
        return read_certificate(certificate_of(name_der)).spellings
    except DecodeError:
        return None


def test_subjects_have_the_names_that_java_gives_them():
    """This Java's reading of a T61 string tells whether it spells as today's, or as former ones did."""
    rng = random.Random(SEED)
    telling = der(SEQUENCE, der(SET, der(SEQUENCE, der(OID, KEYWORDS[0]) + der(T61, b"\xe9"))))
    names = [telling, *(name(rng) for _ in range(NAMES))]
    spelled = spelled_by_java(names)
    which = 0 if spelled[0] == "CN=é" else -1
    both = [
        (each.hex(), ours[which], javas)
        for each, javas in zip(names, spelled, strict=True)
        if javas is not None and (ours := spellings(each)) is not None
    ]
    assert len(both) > NAMES * 0.8
    assert [(der_hex, ours, javas) for der_hex, ours, javas in both if ours != javas] == []
