"""The names in the first tokens of logins: a session is asked, and a broker (`tests/e2e/test_principals.py`).

Source: `ScramMessages.ClientFirstMessage`, `ScramExtensions`, `Utils.parseMap`,
`ScramFormatter.username`, `PlainSaslServer`, `OAuthBearerClientInitialResponse`, `SaslServerAuthenticator`.
"""

import json
import time

from tests.session.logins import initial, jwt

PASSWORD = b"password-of-mallory"
LASTS = b'"exp":%d' % (time.time() + 3_600)
"""The claim that brokers ask of each token, before they look at a name."""


def unsecured(claims):
    """A JWT without a signature, which Kafka's default validator takes; `claims` are a dict or text."""
    text = claims if isinstance(claims, bytes) else json.dumps(claims).encode()
    return jwt(text.replace(b"}", b"," + LASTS + b"}") if text != b"{}" else text, b"")


SCRAM = {
    b"not a first message": None,
    b"n,,n=mallory,r=abc": "mallory",
    b"n,a=mallory,n=mallory,r=abc": "mallory",
    b"n,a=a=2Cb,n=a=2Cb,r=abc": None,  # the broker compares it as it came
    b"n,a=admin,n=mallory,r=abc": None,
    b"n,,m=ext,n=mallory,r=abc": "mallory",
    b"n,,n=a=2Cb=3Dc,r=abc": "a,b=c",
    b"n,,n=a=3D2Cb,r=abc": "a=2Cb",
    b"n,,n=a=2cb,r=abc": None,
    b"n,,n=a=,r=abc": None,
    b"n,,n=a=3,r=abc": None,
    b"n,,n=al ice,r=abc": "al ice",
    b"n,,n=al\nice,r=abc": "al\nice",
    b"n,,n=mallory,r=abc,ext=x=y": "mallory",
    b"n,,n=mallory,r=abc,n=admin": "mallory",
    b"n,,n=mallory,r=abc,TOKENAUTH=true": "mallory",
    b"n,,n=mallory,r=abc,tokenauth=false": "mallory",
    b"n,,n=mallory,r=abc,tokenauth=yes": "mallory",
    b"n,,n=mallory,r=abc,tokenauth=true": None,
    b"n,,n=mallory,r=abc,tokenauth=TRUE": None,
    b"n,,n=mallory,r=abc,tokenauth=true,tokenauth=false": "mallory",
    b"n,,n=mallory,r=abc,tokenauth=false,tokenauth=tRue": None,
    b"n,,n=mallory,r=abc,tokenauth=true,x=tokenauth=false": None,
    b"n,,n=mallory,r=abc,xtokenauth=true": "mallory",
    b"n,,n=mallory,r=abc,tokenauth=true ": "mallory",  # `Boolean.parseBoolean` knows no blanks
    b"n,,n=tokenauth=true,r=abc": None,
    b"n,,n=mallory,r=tokenauth=true": "mallory",
    b"n,,n=mallory,r=abc,": None,
    b"n,,n=mallory,r=abc,tokenauth=": None,
    b"n,,n=mallory,r=abc,=true": None,
    b"n,,n=mallory,r=abc,e1=true": None,
    b"n,,n=mallory,r=": None,
    b"n,,n=,r=abc": None,
    b"n,,n=mallory": None,
    b"n,,r=abc,n=mallory": None,
    b"y,,n=mallory,r=abc": None,
    b"p=tls-unique,,n=mallory,r=abc": None,
    b"n=mallory,r=abc": None,
    b"n,,n=mal\x00lory,r=abc": None,
    b"n,,n=mallor\xc3\xa9,r=abc": None,
    b"n,,n=mallory,r=a c": None,
    b"n,,n=mallory,r=abc\n": None,
    b"": None,
}
PLAIN = {
    b"\x00mallory\x00" + PASSWORD: "mallory",
    b"mallory\x00mallory\x00" + PASSWORD: "mallory",
    b"admin\x00mallory\x00" + PASSWORD: None,
    b"\x00mallory\x00" + PASSWORD + b"\x00": None,
    b"\x00mallory\x00": None,
    b"\x00\x00" + PASSWORD: None,
    b"\x00\x00mallory\x00" + PASSWORD: None,
    b"mallory\x00" + PASSWORD: None,
    "\x00Älice\x00secret".encode(): "Älice",
    b"\x00mal\xfflory\x00" + PASSWORD: None,
    b"\x00mal\xed\xa0\x80lory\x00" + PASSWORD: None,
}

OWN, ADMINS = unsecured({"sub": "mallory"}), unsecured({"sub": "admin"})
BEARER = {
    initial(OWN): "mallory",
    initial(OWN, b"n,a=mallory,"): "mallory",
    initial(OWN, b"n,a=admin,"): None,  # another claim would tell whom the broker takes it for
    initial(OWN).replace(b"Bearer ", b"bEARER   "): "mallory",
    initial(OWN).replace(b"Bearer ", b"Bearer\t"): None,
    initial(OWN).replace(b"Bearer ", b"Basic "): None,
    initial(OWN).replace(b"auth", b"Auth"): None,
    initial(OWN, tail=b""): None,
    initial(OWN, b"n,"): None,
    initial(OWN, b"y,,"): None,
    initial(OWN, b""): None,
    initial(OWN, tail=b"traceId=1\x01\x01"): "mallory",
    initial(OWN, tail=b"trace-id=1\x01\x01"): None,
    initial(OWN, tail=b"traceId=\x01\x01"): None,
    initial(OWN, tail=b"traceId=\xc3\xa9\x01\x01"): None,
    initial(ADMINS, tail=b"auth=Bearer " + OWN + b"\x01\x01"): "mallory",
    initial(ADMINS, tail=b"auth=Bearer " + OWN + b"\x01\x01").replace(b"auth", b"AUTH", 1): "mallory",
    initial(OWN, tail=b"auth=nothing\x01\x01"): None,
    initial(OWN + b"="): None,
    initial(OWN + b".more"): None,
    initial(OWN.rpartition(b".")[0]): None,
    initial(b"opaque"): None,
    initial(unsecured({"sub": ""})): None,
    initial(unsecured({"sub": "!alice!"})): "!alice!",  # the first character that is no blank of Java's
    initial(unsecured({"sub": ["mallory"]})): None,
    initial(unsecured({"sub": "älice"})): "älice",
    initial(unsecured(b'{"\\u0073ub":"mallory"}')): "mallory",
    initial(unsecured(b'{"sub":"\xff"}')): None,
    initial(jwt('{"sub":"mallory"}'.encode("utf-16"))): None,
    initial(jwt(b'["sub"]')): None,
    initial(unsecured({"scope": "x"})): None,
    initial(jwt(b"[" * 40_000)): None,
    initial(jwt(b"")): None,
    initial(b"e30.A."): None,
}
NAMES = {"PLAIN": PLAIN, "SCRAM-SHA-256": SCRAM, "SCRAM-SHA-512": SCRAM, "OAUTHBEARER": BEARER}
"""Token -> whom brokers and the session take its client for. By None brokers reject the login."""

BEHIND_A_MARK = initial(unsecured(b"\xef\xbb\xbf" + b'{"sub":"mallory"}'))
"""The name stands behind a byte order mark. Brokers before 4.0 reject the login."""

BY_BROKERS_ALONE = {
    initial(unsecured({"sub": " mallory"})): " mallory",  # one of Kafka's validators trims it
    initial(unsecured({"sub": "mallory\n"})): None,
    initial(unsecured({"sub": True})): None,
    initial(unsecured({"sub": None})): None,
    initial(unsecured(b'{"sub":"admin","sub":"mallory"}')): "mallory",
    initial(unsecured(b'{"sub":"admin","\\u0073ub":"mallory"}')): "mallory",
    initial(unsecured(b'{"sub":"mallory"}{"sub":"admin"}')): "mallory",
    initial(unsecured(b'{"sub":"\\ud800"}')): None,
    BEHIND_A_MARK: "mallory",
    initial(unsecured({"sub": "mallory", "padding": "x" * 100_000})): "mallory",
}
"""Tokens of OAUTHBEARER by which the session names nobody. None: brokers read a name that no user has."""
