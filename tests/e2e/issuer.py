"""An issuer of tokens: OAuth 2 client credentials, and the keys that Kafka's validator checks by."""

import base64
import json
import os
import threading
import time
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote_plus

import pytest
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from tests.kit.admin import AUTHORIZER
from tsproxy.testing.kafka_cluster import KafkaCluster

LISTENER = "listener.name.clients"
BEARER = f"{LISTENER}.oauthbearer"
HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
ISSUER = "https://issuer.test"
AUDIENCE = "kafka"


class Issuer:
    """`clients` are ids with their secrets. Serves on a free port for as long as a `with` lasts.

    Tokens last an hour. The issuer may name a shorter time, so that clients ask again soon, and still no
    token expires on the way to the broker.
    """

    def __init__(self, clients, expires_in_s=3600):
        self.asked = []
        """(client id, the form that it sent) of each request for a token."""
        self._clients = clients
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._expires_in_s = expires_in_s
        self._address = ("127.0.0.1", 0)

    def __enter__(self):
        self.open()
        return self

    def __exit__(self, *_):
        self.close()

    def open(self):
        self._server = ThreadingHTTPServer(self._address, self._handler())
        self._address = self._server.server_address
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        """Nobody answers at its address, until it is opened again."""
        self._server.shutdown()
        self._server.server_close()

    @contextmanager
    def rejecting(self, client_id):
        """A function from whose call on this client gets no token, until the block ends."""
        secret = self._clients[client_id]
        try:
            yield lambda: self._clients.pop(client_id)
        finally:
            self._clients[client_id] = secret

    def token(self, subject):
        return self.signed({"sub": subject}).decode()

    def signed(self, claims):
        """A JWT with these claims, as a dict or as the text of JSON."""
        now, text = int(time.time()), claims if isinstance(claims, str) else json.dumps(claims)
        text = text[:-1] + f',"iss":"{ISSUER}","aud":"{AUDIENCE}","iat":{now},"exp":{now + 3600}}}'
        signed = _dashed(b'{"alg":"RS256","typ":"JWT","kid":"one"}') + b"." + _dashed(text.encode())
        return signed + b"." + _dashed(self._key.sign(signed, padding.PKCS1v15(), SHA256()))

    def keys(self):
        numbers = self._key.public_key().public_numbers()
        key = {"kty": "RSA", "kid": "one", "alg": "RS256", "use": "sig", "n": _number(numbers.n)}
        return json.dumps({"keys": [{**key, "e": _number(numbers.e)}]})

    def _handler(self):
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                form = self.rfile.read(int(self.headers["Content-Length"])).decode()
                scheme, _, pair = self.headers["Authorization"].partition(" ")
                encoded = base64.b64decode(pair).decode().partition(":")
                client_id, secret = unquote_plus(encoded[0]), unquote_plus(encoded[2])
                issuer.asked.append((client_id, parse_qs(form)))
                if scheme != "Basic" or issuer._clients.get(client_id) != secret:
                    self._answer(401, {"error": "invalid_client", "error_description": "planted-description"})
                    return
                self._answer(
                    200,
                    {
                        "access_token": issuer.token(client_id),
                        "token_type": "Bearer",
                        "expires_in": issuer._expires_in_s,
                    },
                )

            def _answer(self, status, body):
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                """Nothing is told of requests."""

        return Handler


def _dashed(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _number(value):
    return _dashed(value.to_bytes((value.bit_length() + 7) // 8, "big")).decode()


@contextmanager
def validated(issuer, folder):
    """The properties of a broker that checks tokens of `issuer` as in production, while it starts.

    Its validator reads the issuer's keys from a file (KIP-768), which must be allowed to the virtual machine
    (since 3.9.1)."""
    keys = folder / "jwks.json"
    keys.write_text(issuer.keys())
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={keys.as_uri()}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_TOOL_OPTIONS", f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} {allowed}".strip())
        yield {
            f"{LISTENER}.sasl.enabled.mechanisms": "OAUTHBEARER,SCRAM-SHA-512",
            f"{BEARER}.sasl.jaas.config": f"{MODULE} required;",
            f"{BEARER}.sasl.server.callback.handler.class": HANDLER,
            f"{BEARER}.sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
            # A 4.4 broker does not start without these two.
            f"{BEARER}.sasl.oauthbearer.expected.audience": AUDIENCE,
            f"{BEARER}.sasl.oauthbearer.expected.issuer": ISSUER,
        }


@asynccontextmanager
async def cluster_for_tokens(issuer, folder, session_ms):
    """A broker that ends a session by a token of `issuer` after `session_ms`. alice logs in by SCRAM.
    `orders` has a limit of a minute."""
    with validated(issuer, folder) as properties:
        properties |= {
            f"{BEARER}.connections.max.reauth.ms": str(session_ms),
            # Nobody but the proxy may read how topics are configured, and only by this name.
            **AUTHORIZER,
            "super.users": "User:tsproxy;User:alice;User:ANONYMOUS",
        }
        async with KafkaCluster(
            security="SASL_PLAINTEXT", users={"alice": "of-alice"}, properties=properties
        ) as it:
            await it.create_topic("orders", config={"message.timestamp.before.max.ms": "60000"})
            yield it
