"""Functions that read the user's name from a SASL token, as strictly as the broker does. They return None if
the broker might read another name.

Source: `PlainSaslServer`, `ScramMessages.ClientFirstMessage`, `ScramExtensions`, `ScramFormatter.username`,
`OAuthBearerClientInitialResponse` and the two validators of tokens (`OAuthBearerUnsecuredJws`,
`ValidatorAccessTokenValidator`; `BrokerJwtValidator` since 4.1). A name that is read here counts only after
the broker has accepted the token.

The readers search for the parts that they need, and never split a token into an unknown number of parts. A
token may be as large as a frame before authentication, and the cost of reading it must grow only with its
size.
"""

import base64
import json
import re
from typing import Final

MAX_CLAIMS_BYTES: Final = 1 << 16
"""The maximum size of a JWT's encoded claims. No name is read from larger claims, because that would take
too long."""

_SCRAM_FIRST: Final = re.compile(
    rb"n,(?:a=(?P<authzid>[^\x00,\x80-\xff]++))?,"
    rb"(?:m=[^\x00,\x80-\xff]++,)?"
    rb"n=(?P<name>[^\x00,\x80-\xff]++),"
    rb"r=[\x21-\x2b\x2d-\x7e]++"
    rb"(?P<extensions>(?:,[A-Za-z]++=[^\x00,\x80-\xff]++)*+)"
)
_TOKEN_AUTH: Final = b",tokenauth="

_BEARER_INITIAL: Final = re.compile(
    rb"n,(?:a=(?P<authzid>[^\x00,\x80-\xff]++))?,(?P<pairs>\x01(?:[A-Za-z]++=[\t\n\r -~]++\x01)++)\x01"
)
_AUTH: Final = b"\x01auth="
_BEARER: Final = re.compile(rb"[Bb][Ee][Aa][Rr][Ee][Rr] ++([-_.a-zA-Z0-9]++)")

_JAVA_BLANKS: Final = "".join(map(chr, range(0x21)))
"""The characters that Java's `String.trim` removes."""


def plain_name(token: bytes) -> str | None:
    """The name in a PLAIN token (RFC 4616), `authzid NUL authcid NUL passwd`. The authzid is empty or the
    name."""
    if token.count(b"\x00") != 2:
        return None
    authzid, _, rest = token.partition(b"\x00")
    name, _, password = rest.partition(b"\x00")
    if not name or not password or authzid not in (b"", name):
        return None
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        return None


def scram_name(token: bytes) -> str | None:
    """The name in the client's first SCRAM message (RFC 5802). None for a delegation token (KIP-48): the
    message contains the token's id in place of a name, and only the broker knows the token's owner."""
    message = _SCRAM_FIRST.fullmatch(token)
    if message is None or _is_delegation_token(message["extensions"]):
        return None
    name = _unescaped(message["name"])
    authzid = message["authzid"]
    if name is None or (authzid is not None and authzid != name):
        return None
    return name.decode("ascii")


def _is_delegation_token(extensions: bytes) -> bool:
    """True for a delegation token, as in `ScramExtensions.tokenAuthenticated`: if a key comes twice, its last
    value counts."""
    _, marker, after = extensions.rpartition(_TOKEN_AUTH)
    return bool(marker) and after.partition(b",")[0].lower() == b"true"


def _unescaped(name: bytes) -> bytes | None:
    """The name without escapes, as in `ScramFormatter.username`: `=2C` is a comma, and `=3D` an equals sign.
    None if the name contains any other equals sign."""
    if name.count(b"=") != name.count(b"=2C") + name.count(b"=3D"):
        return None
    return name.replace(b"=2C", b",").replace(b"=3D", b"=")


def bearer_name(token: bytes, claim: str = "sub") -> str | None:
    """The name in an OAUTHBEARER token (RFC 7628): the JWT's value of `claim`, from which brokers take the
    name (`sasl.oauthbearer.sub.claim.name`)."""
    initial = _BEARER_INITIAL.fullmatch(token)
    if initial is None:
        return None
    # If a key comes twice, the broker uses the last value. An earlier value may be somebody else's token.
    _, marker, after = initial["pairs"].rpartition(_AUTH)
    auth = _BEARER.fullmatch(after.partition(b"\x01")[0]) if marker else None
    name = _subject(auth[1], claim) if auth is not None else None
    authzid = initial["authzid"]
    if name is None or (authzid is not None and authzid.decode("ascii") != name):
        return None  # the broker requires that the authzid is the name, so it has read another name
    return name


def _subject(jwt: bytes, claim: str) -> str | None:
    """The value of `claim` in a JWT. None also if Kafka's validators read the value differently: if there are
    blanks around the value, or if a claim comes twice."""
    if jwt.count(b".") != 2:
        return None
    claims = jwt.split(b".")[1]
    if len(claims) > MAX_CLAIMS_BYTES:
        return None
    try:
        text = base64.urlsafe_b64decode(claims + b"===").decode("utf-8")
        read = json.loads(text, object_pairs_hook=_each_once)
        subject = read.get(claim) if isinstance(read, dict) else None
        if not isinstance(subject, str) or not subject or subject != subject.strip(_JAVA_BLANKS):
            return None
        subject.encode("utf-8")
    except (ValueError, RecursionError):  # not base64, UTF-8 or JSON; nested too deep; half a surrogate pair
        return None
    return subject


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key that comes twice")
    return members
