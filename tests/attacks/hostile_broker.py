"""A broker that speaks the protocol badly on purpose: `HostileBroker`.

It is an adversary, and imitates no broker. Its answers to clients and to the proxy itself are valid by
Kafka's schemas, or damaged in one of the ways of `DAMAGES`, by seed. The first answers to the proxy itself
may be honest, so that the proxy starts.
"""

import struct
from collections import Counter
from random import Random

from tests.attacks.any_message import HOSTS, body_of, is_flexible
from tests.kit.broker import HOST, Question, ScriptedBroker
from tests.session.messages import API_VERSIONS, METADATA
from tests.wire.batches import unsigned
from tsproxy.wire.apis import APIS

DESCRIBE_CONFIGS = 32
OWN = b"tsproxy"
"""The client id of the proxy's own connections."""
LONG_HOST = b"h" * 32_000
MANY = 20_000
ENDLESS_BYTES = 16 << 20


def honest_versions(version: int) -> bytes:
    """The body of ApiVersions: every API that the proxy knows."""
    offered = [struct.pack(">hhh", key, 0, api.max_version) for key, api in sorted(APIS.items())]
    if version >= 3:
        return b"\x00\x00" + unsigned(len(offered) + 1) + b"".join(o + b"\x00" for o in offered) + bytes(5)
    return struct.pack(">hi", 0, len(offered)) + b"".join(offered) + (bytes(4) if version else b"")


def metadata(version: int, brokers) -> bytes:
    """The body of Metadata 0 to 8 with these (node id, host, port), and one topic."""
    told = struct.pack(">i", 0) if version >= 3 else b""
    told += struct.pack(">i", len(brokers))
    for node_id, host, port in brokers:
        told += struct.pack(">ih", node_id, len(host)) + host + struct.pack(">i", port)
        told += struct.pack(">h", -1) if version >= 1 else b""
    told += struct.pack(">hs", 1, b"c") if version >= 2 else b""
    told += struct.pack(">i", 1) if version >= 1 else b""
    told += struct.pack(">ihh", 1, 0, 1) + b"t" + (b"\x00" if version >= 1 else b"")
    told += struct.pack(">ihii", 1, 0, 0, 1) + (struct.pack(">i", 0) if version >= 7 else b"")
    told += struct.pack(">iiii", 1, 1, 1, 1) + (struct.pack(">i", 0) if version >= 5 else b"")
    told += struct.pack(">ii", 0, 0) if version >= 8 else b""
    return told


class HostileBroker(ScriptedBroker):
    """`honest` requests of the proxy itself are answered well, all others as the seed says. It keeps to
    `answers` in any case."""

    def __init__(self, seed: int, *, honest: int = 40, honesty: float = 0.3, answers=None) -> None:
        super().__init__(answers, self._any_answer, hosts=(HOST, *map(bytes.decode, HOSTS[:2])))
        self.draws = Random(seed)
        self.did: Counter[str] = Counter()
        self.honest, self._honesty = honest, honesty
        self._held: dict[int, bytes] = {}

    def _any_answer(self, question: Question) -> bytes | None:
        is_own, answer = question.client_id == OWN, self.honest_answer(question)
        if is_own and self.honest > 0:
            self.honest -= 1
            self.did["honest"] += 1
            return answer
        # The proxy asks nothing more of a broker that does not tell its versions.
        honesty = 0.9 if is_own and question.api_key == API_VERSIONS else self._honesty
        name = self.draws.choice(list(DAMAGES)) if self.draws.random() > honesty else "valid"
        self.did[f"{name}, own" if is_own else name] += 1
        if name == "out of order" and question.connection not in self._held:
            self._held[question.connection] = answer
            return b""
        told = answer if name == "valid" else DAMAGES[name](self, answer, question)
        return told and told + self._held.pop(question.connection, b"")

    def honest_answer(self, question: Question) -> bytes:
        key, version = question.api_key, question.api_version
        is_own = question.client_id == OWN
        if key == API_VERSIONS:
            return question.answer(honest_versions(version))
        if key == METADATA and is_own and version <= 5:
            return question.answer(
                metadata(version, [(1, HOST.encode(), self.port), (2, HOSTS[0], self.port)])
            )
        if key == DESCRIBE_CONFIGS and is_own:
            return question.answer(struct.pack(">iihhbh", 0, 1, 0, -1, 2, 1) + b"t" + struct.pack(">i", 0))
        return question.answer(body_of(key, "response", version, self.draws, self.port))


def _random_bytes(broker, answer, *_):
    return broker.draws.randbytes(broker.draws.choice((3, 20, 500, 5_000)))


def _flipped(broker, answer, *_):
    data = bytearray(answer)
    for _ in range(broker.draws.choice((1, 1, 3, 20))):
        data[broker.draws.randrange(4, len(data))] = broker.draws.choice((0, 1, 0x7F, 0x80, 0xFF))
    return bytes(data)


def _cut(broker, answer, *_):
    """A shorter frame, whose size says so."""
    payload = answer[4 : broker.draws.randrange(4, len(answer))]
    return struct.pack(">i", len(payload)) + payload


def _more(broker, answer, *_):
    payload = answer[4:] + broker.draws.randbytes(broker.draws.choice((1, 8, 300)))
    return struct.pack(">i", len(payload)) + payload


def _wrong_correlation_id(broker, answer, *_):
    return answer[:4] + struct.pack(">i", broker.draws.choice((-1, 0, 7, 2**31 - 1))) + answer[8:]


def _announced(broker, answer, *_):
    size = broker.draws.choice((-1, -(2**31), 0, 1, 3, 2**31 - 1, 200 << 20, 70 << 20))
    return struct.pack(">i", size) + answer[4:]


def _twice(broker, answer, *_):
    return answer + answer


def _other_version(broker, answer, question):
    other = broker.draws.randint(0, APIS[question.api_key].max_version)
    return question.answer(body_of(question.api_key, "response", other, broker.draws, broker.port))


def _other_api(broker, answer, question):
    other = broker.draws.choice(list(APIS))
    return question.answer(body_of(other, "response", APIS[other].max_version, broker.draws, broker.port))


def _many(broker, answer, question):
    """Arrays that announce very much, in few bytes, or endless brokers."""
    key, version = question.api_key, question.api_version
    if key == METADATA and version <= 8:
        brokers = [(node, HOSTS[node % 3], broker.port) for node in range(MANY)]
        return question.answer(metadata(version, brokers))
    many = b"\xff\xff\xff\xff\x07" if is_flexible(key, "response", version) else b"\x7f\xff\xff\xff"
    return question.answer(many * 20)


def _odd_hosts(broker, answer, question):
    if question.api_key != METADATA or question.api_version > 8:
        return answer
    draws = broker.draws
    hosts = (LONG_HOST, b"", b"a..b", b"\xff\xfe", b"::1", b"127.66.0.9", b"x\r\ny", b"\x00")
    ports = (-1, 0, 65_536, 2**31 - 1, broker.port)
    nodes = (-1, 1, 2, 3, 2**31 - 1, -(2**31))
    brokers = [(draws.choice(nodes), draws.choice(hosts), draws.choice(ports)) for _ in range(5)]
    return question.answer(metadata(question.api_version, brokers))


def _endless(broker, answer, *_):
    return struct.pack(">i", 2**31 - 1) + answer[4:] + bytes(broker.draws.choice((1 << 20, ENDLESS_BYTES)))


DAMAGES = {
    "random bytes": _random_bytes,
    "flipped": _flipped,
    "cut": _cut,
    "more": _more,
    "wrong correlation id": _wrong_correlation_id,
    "announced": _announced,
    "twice": _twice,
    "other version": _other_version,
    "other api": _other_api,
    "many": _many,
    "odd hosts": _odd_hosts,
    "endless": _endless,
    "closes": lambda *_: None,
    "silence": lambda *_: b"",
    "out of order": lambda broker, answer, *_: answer,
}
