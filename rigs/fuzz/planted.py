"""The target `secrets`: a client logs in and produces, and the proxy tells nothing of what is secret.

The bytes of the input say who logs in how, what is then produced, and which bytes of the login arrive
otherwise than they were meant. A configuration with secrets is damaged in the same way.
"""

from collections.abc import Iterator
from random import Random
from typing import Final

import orjson

from tests.config.files import config_of
from tests.planted import traces
from tests.session import logins as sasl
from tests.session.conversation import NOW_MS, PEER, Session
from tests.session.messages import ALL_VERSIONS, produce, request
from tests.wire.batches import CODECS, batch, record
from tsproxy.config import ConfigError
from tsproxy.decisions import DecisionLog
from tsproxy.decisions.totals import Totals
from tsproxy.session.effects import Effect, Emit, Judge, SendToBroker

PLANTED: Final = {
    "password": sasl.SECRET,
    "token": sasl.DASHED,
    "key": b"planted-key-of-a-record",
    "value": b"planted-value-of-a-record",
    "header": b"planted-header-of-a-record",
    "jaas": "planted-word-of-a-jaas-line",
    "admin token": "planted-token-of-the-admin-port",
    "salt": "planted-salt-of-the-names",
    "key password": "planted-word-for-a-private-key",
}
GOOD, BAD = NOW_MS, 0
_EXCHANGES: Final = tuple(sasl.EXCHANGES.values())
_CONFIGURATION: Final = f"""\
upstream:
  bootstrap_servers: [kafka-1:9092]
  admin:
    sasl: {{ mechanism: PLAIN, username: me, password: "{sasl.SECRET.decode()}" }}
listeners:
  - bind: 127.0.0.1:9192
    tls: {{ certificate: a.pem, key: a.key, key_password: {PLANTED["key password"]} }}
admin:
  bind: 0.0.0.0:9464
  token: {PLANTED["admin token"]}
decisions:
  privacy: {{ addresses: hash, salt: {PLANTED["salt"]} }}
"""
_JAAS: Final = f"""\
sasl.jaas.config: 'org.example.PlainLoginModule required username="me" password="{PLANTED["jaas"]}";'
"""
"""A line of Kafka's own files, which is no key here."""


def secrets(data: bytes) -> None:
    """Nothing that is told of a login, of records or of a configuration has a secret in it, in any form."""
    choice, kind = data[:1] or b"\0", data[1:2] or b"\0"
    damage = data[2:]
    if choice[0] % 4 == 0:
        text = _CONFIGURATION + (_JAAS if kind[0] % 2 else "")
        told: object = _configured(_damaged(text.encode(), damage))
    else:
        told = _conversed(choice[0], kind[0], damage)
    assert not (found := traces(told, PLANTED)), found


def seeds() -> Iterator[bytes]:
    """Each exchange in SaslAuthenticate and in raw tokens, whole and damaged; any version and codec."""
    random = Random(20)
    for kind in random.sample(range(2 * len(_EXCHANGES)), 2 * len(_EXCHANGES)):
        for damaged in (0, 3, 6):
            yield bytes([random.randrange(256), kind]) + random.randbytes(damaged)


def _damaged(whole: bytes, damage: bytes) -> bytes:
    """Each three bytes of `damage`: a place, and the byte that stands there in place of another."""
    changed = bytearray(whole)
    for place in range(0, len(damage) - 2, 3):
        changed[int.from_bytes(damage[place : place + 2], "big") % len(changed)] = damage[place + 2]
    return bytes(changed)


def _configured(text: bytes) -> str:
    """All that is said of a file: its problems, or the configuration as it is shown."""
    try:
        return repr(config_of(text.decode("utf-8", "replace")))
    except ConfigError as error:
        return f"{error} {error.problems}"


def _conversed(choice: int, kind: int, damage: bytes) -> list[object]:
    """The effects of a whole conversation but for what goes to the broker, and lines of the decision log."""
    exchange = _EXCHANGES[kind // 2 % len(_EXCHANGES)]
    shake, *tokens = sasl.login(*exchange, sasl.RAW if kind % 2 == 0 else 1)
    session = Session(PEER, sasl.locked(), uses_fast_path=bool(choice & 64))
    effects: list[Effect] = []
    for sent, said in (shake, *((_damaged(sent, damage), said) for sent, said in tokens)):
        effects += session.client_bytes(sent, NOW_MS)
        effects += session.broker_bytes(said, NOW_MS)
    for partitions in ((BAD,), (GOOD, BAD)):
        effects += session.client_bytes(_produced(choice, partitions), NOW_MS)
    effects += session.client_bytes(request(9999), NOW_MS) + session.client_lost()
    return _told(session, effects)


def _produced(choice: int, times_ms: tuple[int, ...]) -> bytes:
    header = (b"planted", PLANTED["header"])
    records = [record(0, n, PLANTED["key"], PLANTED["value"], [header]) for n in range(2)]
    codec = list(CODECS.values())[choice % len(CODECS)]
    partitions = {n: batch([at_ms, at_ms], codec, records=records) for n, at_ms in enumerate(times_ms)}
    return produce({"t": partitions}, ALL_VERSIONS[choice // 4 % len(ALL_VERSIONS)])


def _told(session: Session, effects: list[Effect]) -> list[object]:
    log, told = DecisionLog("proxy", "boot", NOW_MS), []
    waiting = list(effects)
    while waiting:
        match waiting.pop(0):
            case SendToBroker():
                pass
            case Judge(job):
                waiting += session.judged(job(), NOW_MS)
            case Emit(outcome) as effect:
                told += [effect, *map(orjson.dumps, log.book(Totals.of(outcome)))]
            case effect:
                told.append(effect)
    return [*told, *map(orjson.dumps, log.stop(NOW_MS))]
