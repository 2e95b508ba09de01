"""A connection that speaks frame by frame, and the exchanges of each SASL mechanism."""

import asyncio
import base64
import contextlib
import hashlib
import hmac
import itertools
import json
import struct
import time

from tests.session.messages import METADATA, SASL_AUTHENTICATE, SASL_HANDSHAKE, produce, request
from tests.wire.batches import batch
from tsproxy.wire import k00_produce

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_HEADER_BYTES = 4
"""The size of the header of an answer below the flexible versions: the correlation id."""


def unsecured_token(name, lasts_s=3600, **claims):
    """A JWT without a signature, which Kafka's default validator takes (for tests, as it says)."""
    now = int(time.time())
    claims = {"sub": name, "iat": now, "exp": now + lasts_s, **claims}
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()) for part in ({"alg": "none"}, claims))
    return b".".join(part.rstrip(b"=") for part in (*parts, b""))


async def plain(user, password):
    yield b"\0" + user.encode() + b"\0" + password.encode()


async def bearer(token):
    challenge = yield b"n,,\x01auth=Bearer " + token + b"\x01\x01"
    if challenge:  # RFC 7628: it says why the token will not do, and wants an answer before the error
        yield b"\x01"


def scram_first(name, extensions=""):
    """The client's first message. `extensions` is such as `,tokenauth=true`."""
    return f"n,,n={name},r=fyko-d2lbbFgONRv9qkxdawL{extensions}"


def scram_signed(first):
    """The texts that a broker may sign of this message (`ClientFirstMessage.clientFirstMessageBare`).

    They have the last value of each extension, in the order of a map of Java's: it differs between processes.
    """
    parts = first.split(",")[2:]
    name, nonce, *extensions = parts[1:] if first.startswith("n,,m=") else parts
    values = dict(extension.split("=", 1) for extension in extensions)
    written = (f"{key}={value}" for key, value in values.items())
    return [",".join((name, nonce, *order)) for order in itertools.permutations(written)]


async def scram(mechanism, name, password, *, first="", signed="", behind=""):
    """`first`: the first message, if it is an odd one, and `signed` the text that the broker signs of it.
    `behind`: extensions of the last message, such as `,n=admin`, which nobody signs."""
    first = first or scram_first(name)
    digest = HASHES[mechanism]
    challenge = (yield first.encode("latin-1")).decode()
    facts = dict(piece.split("=", 1) for piece in challenge.split(","))
    salt, iterations = base64.b64decode(facts["s"]), int(facts["i"])
    salted = hashlib.pbkdf2_hmac(digest, password.encode(), salt, iterations)
    key = _mac(digest, salted, "Client Key")
    bare = f"c=biws,r={facts['r']}"
    signature = _mac(
        digest, hashlib.new(digest, key).digest(), f"{signed or scram_signed(first)[0]},{challenge},{bare}"
    )
    proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()
    yield f"{bare}{behind},p={proof}".encode()


def _mac(digest, key, text):
    return hmac.digest(key, text.encode(), digest)


class RawClient:
    """One connection, which closes with an `async with`."""

    def __init__(self, reader, writer):
        self._reader = reader
        self._writer = writer

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        self.close()

    @property
    def port(self):
        """Its own, by which the proxy's log names it."""
        return self.fact("sockname")[1]

    async def ask(self, api_key, version=0, body=b""):
        """An answer's body. Only versions that are not flexible. IncompleteReadError: closed instead."""
        return (await self.frame(request(api_key, version, body)))[_HEADER_BYTES:]

    async def frame(self, sent):
        """One frame there, and the payload of one back."""
        self._writer.write(sent)
        return await self.read()

    async def write(self, data):
        """A piece, which the system sends at once."""
        self._writer.write(data)
        await self._writer.drain()
        await asyncio.sleep(0)

    async def read(self):
        """The payload of the next frame."""
        size = struct.unpack(">i", await self._reader.readexactly(4))[0]
        return await self._reader.readexactly(size)

    async def handshake(self, mechanism, version=1):
        """(error code, the mechanisms that the broker knows)."""
        body = struct.pack(">h", len(mechanism)) + mechanism.encode()
        answer = await self.ask(SASL_HANDSHAKE, version, body)
        error_code, count = struct.unpack_from(">hi", answer)
        names, at = [], 6
        for _ in range(count):
            (length,) = struct.unpack_from(">h", answer, at)
            names.append(answer[at + 2 : at + 2 + length].decode())
            at += 2 + length
        return error_code, names

    async def authenticate(self, exchange):
        """(error code, message, session lifetime in ms) of the last step, in SaslAuthenticate v1."""
        token = await anext(exchange)
        while True:
            body = struct.pack(">i", len(token)) + token
            answer = await self.ask(SASL_AUTHENTICATE, 1, body)
            error_code, length = struct.unpack_from(">hh", answer)
            at = 4 + max(length, 0)
            message = answer[4:at].decode()
            (size,) = struct.unpack_from(">i", answer, at)
            (lifetime_ms,) = struct.unpack_from(">q", answer, at + 4 + max(size, 0))
            if error_code != 0:
                return error_code, message, lifetime_ms
            try:
                token = await exchange.asend(answer[at + 4 : at + 4 + size])
            except StopAsyncIteration:
                return error_code, message, lifetime_ms

    async def authenticate_raw(self, exchange):
        """The same without headers, after handshake v0."""
        token = await anext(exchange)
        while True:
            answer = await self.frame(struct.pack(">i", len(token)) + token)
            try:
                token = await exchange.asend(answer)
            except StopAsyncIteration:
                return

    async def is_served(self):
        """True where a request is answered as only an accepted peer's is."""
        return len(await self.ask(METADATA, 1, struct.pack(">i", 0))) > 0

    def send(self, data):
        """Bytes that leave when they can."""
        self._writer.write(data)

    async def gets(self, size):
        """So many bytes as they come. IncompleteReadError: closed instead."""
        return await self._reader.readexactly(size)

    async def rest(self):
        """All bytes until the other side closes; nothing if it breaks off."""
        try:
            return await self._reader.read()
        except ConnectionError:
            return b""

    async def is_closed(self):
        """True once the other side has closed."""
        return await self._reader.read(1) == b""

    def ends(self):
        """Nothing more is sent."""
        self._writer.write_eof()

    async def start_tls(self, context):
        await self._writer.start_tls(context, server_hostname="localhost")

    def fact(self, name):
        """A fact that asyncio knows of the connection."""
        return self._writer.get_extra_info(name)

    def close(self):
        self._writer.close()


async def produced(client, topic, timestamp_ms):
    """The error code of one record."""
    answer = await client.frame(produce({topic: {0: batch([timestamp_ms])}}, version=8))
    return k00_produce.read_response(8, answer[_HEADER_BYTES:]).topics[0].partitions[0].error_code


async def connect(address, **options):
    """A connection to `host:port`, or to an Address. `options` are those of asyncio."""
    if options.get("ssl"):
        options.setdefault("server_hostname", "localhost")
    host, _, port = str(address).rpartition(":")
    return RawClient(*await asyncio.open_connection(host.strip("[]"), int(port), **options))


@contextlib.asynccontextmanager
async def connections(address, count):
    """So many of them, which close with the block."""
    async with contextlib.AsyncExitStack() as stack:
        yield [await stack.enter_async_context(await connect(address)) for _ in range(count)]
