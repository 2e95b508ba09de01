"""Reads the subject and the validity of a certificate, and of a list of revoked certificates (CRL).

Source: RFC 5280 (the first fields of TBSCertificate and TBSCertList), RFC 2253 (names as text), and Java's
`X500Principal.getName()`: Kafka's principals have its spelling. An update of Java has changed it for some
names, and nobody knows which Java brokers have, so such a name has two spellings. Nothing is verified here.
TLS verifies a certificate before it is read here.
"""

import math
import re
from base64 import b64decode
from binascii import Error
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from tsproxy.wire.primitives import DecodeError

_INTEGER: Final = 0x02
_OID: Final = 0x06
_UTC_TIME: Final = 0x17
_SEQUENCE: Final = 0x30
_SET: Final = 0x31
_VERSION: Final = 0xA0
_BMP: Final = 0x1E
_CHARSETS: Final = {0x0C: "utf-8", **dict.fromkeys((0x13, 0x14, 0x16, 0x1B), "latin-1"), _BMP: "utf-16-be"}
"""How Java reads UTF8, Printable, T61, IA5, General and BMP strings (`AVA.java` of 17.0.19, 21.0.13 and
25.0.3; 17.0.15 reads all of them as UTF-8). Other values are written as hex, Universal strings among them."""

_KEYWORDS: Final = {
    b"\x55\x04\x03": "CN",
    b"\x55\x04\x06": "C",
    b"\x55\x04\x07": "L",
    b"\x55\x04\x08": "ST",
    b"\x55\x04\x09": "STREET",
    b"\x55\x04\x0a": "O",
    b"\x55\x04\x0b": "OU",
    bytes.fromhex("0992268993f22c640101"): "UID",
    bytes.fromhex("0992268993f22c640119"): "DC",
}
"""The attributes that have names in RFC 2253, by their encoded object identifiers (2.5.4.3 and so on,
0.9.2342.19200300.100.1.1). All others are written as numbers."""

_PLAIN: Final = re.compile(rb'[^\x00-\x20\x7f-\xff,=+<>#;"\\]+')
"""Text of which each character stands for itself."""
_ESCAPED: Final = str.maketrans({character: f"\\{character}" for character in ',=+<>#;"\\'} | {"\0": "\\00"})
_ESCAPED_SPACES: Final = str.maketrans({character: f"\\{character}" for character in " \r"})
_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_REPLACED: Final = "\ufffd".encode()
"""Java replaces an encoded surrogate by one character, where Python takes one for each byte."""
_OUTER_SPACES: Final = re.compile(r"^[ \r]+|[ \r]+$")
_PEM: Final = re.compile(rb"-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----", re.DOTALL)
_CRL_PEM: Final = re.compile(rb"-----BEGIN X509 CRL-----(.+?)-----END X509 CRL-----", re.DOTALL)
_GENERALIZED_TIME: Final = 0x18


@dataclass(frozen=True, slots=True)
class Signed:
    """A certificate or a list of revoked certificates (CRL).

    `spellings` has the subject as today's Java spells it, the most specific part first, and as Java did
    before if that differs. For a CRL it is the issuer. A CRL is valid from thisUpdate to nextUpdate, or for
    ever without nextUpdate. Times are in seconds since 1970.
    """

    spellings: tuple[str, ...]
    not_before_s: float
    not_after_s: float

    @property
    def subject(self) -> str:
        return self.spellings[0]


_Value = tuple[int, bytes, bytes]
"""One DER value: its tag, its contents, and the unchanged bytes of both. A subject has hundreds of them, and
the event loop reads it at each handshake, so they are no objects of a class."""


def read_certificate(der: bytes) -> Signed:
    """The certificate's subject and validity. Raises DecodeError if `der` is no certificate."""
    fields = [value for value in _values(_signed(der)) if value[0] != _VERSION]
    if len(fields) < 5 or fields[0][0] != _INTEGER:
        raise DecodeError("not a certificate")
    # serialNumber, signature, issuer, validity, subject
    times = [_time_s(value) for value in _values(_content(fields[3], _SEQUENCE))]
    if len(times) != 2:
        raise DecodeError("a certificate without a time")
    return Signed(_name(_content(fields[4], _SEQUENCE)), *times)


def read_pem(pem: bytes) -> list[Signed]:
    """All certificates of a PEM file, in their order. Raises DecodeError."""
    return [read_certificate(_base64(block[1])) for block in _PEM.finditer(pem)]


def read_crls(pem: bytes) -> list[Signed]:
    """All lists of revoked certificates of a PEM file, in their order. Raises DecodeError."""
    return [_read_crl(_base64(block[1])) for block in _CRL_PEM.finditer(pem)]


def _base64(text: bytes) -> bytes:
    try:
        return b64decode(text)
    except Error:
        raise DecodeError("not base64") from None


def _read_crl(der: bytes) -> Signed:
    fields = [value for value in _values(_signed(der)) if value[0] != _INTEGER]
    # signature, issuer, thisUpdate, nextUpdate
    times = [_time_s(value) for value in fields[2:4] if value[0] in (_UTC_TIME, _GENERALIZED_TIME)]
    if not times:
        raise DecodeError("a list of revoked certificates without a time")
    return Signed(_name(_content(fields[1], _SEQUENCE)), times[0], times[1] if len(times) > 1 else math.inf)


def _signed(der: bytes) -> bytes:
    """The part of a certificate, or of a list of revoked certificates, that its authority has signed."""
    whole = b"".join(_content(value, _SEQUENCE) for value in _values(der, most=1))
    return b"".join(_content(value, _SEQUENCE) for value in _values(whole, most=1))


def _content(value: _Value, tag: int) -> bytes:
    if value[0] != tag:
        raise DecodeError("not a certificate")
    return value[1]


def _values(data: bytes, most: int | None = None) -> list[_Value]:
    """The consecutive values in `data`, at most `most`. Raises DecodeError."""
    values: list[_Value] = []
    start, whole = 0, len(data)
    while start < whole and len(values) != most:
        if start + 2 > whole:
            raise DecodeError("a DER value without a length")
        size, begin = data[start + 1], start + 2
        if size & 0x80:
            count = size & 0x7F
            size = int.from_bytes(data[begin : begin + count], "big")
            if not 1 <= count <= 4 or begin + count > whole:
                raise DecodeError("a DER length that is none")
            begin += count
        end = begin + size
        if end > whole:
            raise DecodeError("a DER value that is cut short")
        values.append((data[start], data[begin:end], data[start:end]))
        start = end
    return values


def _time_s(value: _Value) -> float:
    """Seconds since 1970. UTCTime has a year of two digits: 50 to 49 mean 1950 to 2049 (RFC 5280,
    4.1.2.5.1)."""
    tag, content, _ = value
    text = content.decode("ascii", "replace")
    if tag == _UTC_TIME:
        text = ("19" if text >= "50" else "20") + text
    try:
        return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise DecodeError("a certificate's time that is none") from None


def _name(content: bytes) -> tuple[str, ...]:
    sets = [[_attribute(pair) for pair in _values(_content(value, _SET))] for value in _values(content)]
    spelled = (",".join("+".join(pair[java] for pair in rdn) for rdn in reversed(sets)) for java in (0, 1))
    return tuple(dict.fromkeys(spelled))


def _attribute(pair: _Value) -> tuple[str, str]:
    """The attribute in the spelling of today's Java, and in the former one."""
    values = _values(_content(pair, _SEQUENCE))
    if len(values) != 2:
        raise DecodeError("a name's attribute that is none")
    oid, (tag, value, whole) = _content(values[0], _OID), values[1]
    keyword = _KEYWORDS.get(oid)
    if keyword is None or tag not in _CHARSETS:
        spelled = f"{keyword or _dotted(oid)}=#{whole.hex()}"
        return spelled, spelled
    if tag != _BMP and _PLAIN.fullmatch(value):
        spelled = f"{keyword}={value.decode()}"
        return spelled, spelled
    before = _SURROGATE.sub(_REPLACED, value).decode("utf-8", "replace")
    try:
        now = before if _CHARSETS[tag] == "utf-8" else value.decode(_CHARSETS[tag])
    except UnicodeDecodeError:
        raise DecodeError("a BMPString that is none") from None
    spelled = f"{keyword}={_escaped(now)}"
    return spelled, spelled if now == before else f"{keyword}={_escaped(before)}"


def _escaped(text: str) -> str:
    escaped = text.translate(_ESCAPED)
    return _OUTER_SPACES.sub(lambda spaces: spaces[0].translate(_ESCAPED_SPACES), escaped)


def _dotted(content: bytes) -> str:
    numbers, number = [], 0
    for byte in content:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(number)
            number = 0
    if not numbers:
        raise DecodeError("an object identifier without numbers")
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, [first, numbers[0] - 40 * first, *numbers[1:]]))
