"""Scripts of idempotent and transactional producers, drawn at random: each straight and through the proxy.

Every answer must be equal, and so must the two logs. `INTENDED` has the differences that verdicts.md names. A
script ends at one of these.
"""

import struct
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Final

from rigs.differential.batches import Batch, Record, write_batch
from rigs.differential.lines import Direct, Line, Proxied, now_ms
from rigs.differential.requests import request_frame
from rigs.differential.stored import stored_batches
from tsproxy.model.verdict import TopicLimits
from tsproxy.model.view import View
from tsproxy.wire import primitives as put

FIND_COORDINATOR, INIT_PRODUCER_ID, ADD_PARTITIONS, END_TXN = 10, 22, 24, 26
_TRANSACTIONAL_BIT, _CONTROL_BIT = 0x10, 0x20
_RETRIABLE: Final = frozenset({14, 15, 16, 51})
"""The coordinator loads, or has not written the last transaction's markers yet."""
DAY_MS: Final = 86_400_000

KINDS: Final = {"3": ("idempotent", "added"), "4": ("idempotent", "added", "implicit")}
"""The kinds of script by the broker's major version. `added`: AddPartitionsToTxn before the first batch.
`implicit`: the broker adds the partition at the first batch (transactions of version 2, KIP-890)."""
_Told = list[tuple[str, int, int]]
"""(step, the code straight from the broker, the code through the proxy)."""
INTENDED: Final[dict[str, Callable[[_Told], bool]]] = {
    "state of a transaction": lambda told: (
        told[-1][0] in ("bad", "mixed") and told[-1][2] == 32 and told[-1][1] in (19, 47, 48, 49, 105)
    ),
    "commit of a transaction whose only batch the proxy rejected": lambda told: told[-1] == ("commit", 0, 48),
    "a batch in a transaction, behind a rejected one with a lower sequence number": lambda told: (
        told[-1] == ("good", 45, 0) and any(each[1:] == (32, 32) for each in told)
    ),
}


@dataclass(slots=True)
class Tally:
    codes: Counter[int] = field(default_factory=Counter)
    apart: dict[int, str] = field(default_factory=dict)
    """The scripts in which an answer differed, and why."""
    unexplained: list[tuple[int, str]] = field(default_factory=list)
    stored: int = 0


@dataclass(slots=True)
class Side:
    """One producer: its way to the broker, and what the broker has told it."""

    line: Line
    topic: str
    kind: str
    name: str
    producer_id: int = -1
    epoch: int = -1
    next_sequence: int = 0
    last_sequence: int = 0
    is_added: bool = False

    def take(self, step: str, sequence: str, number: int) -> int:
        """The error code of one step. `sequence` is which number its batch has."""
        until_s = time.monotonic() + 10
        while (code := self._code(step, sequence, number)) in _RETRIABLE and time.monotonic() < until_s:
            time.sleep(0.02)
        return code

    def _code(self, step: str, sequence: str, number: int) -> int:
        if step == "init":
            body = put.string(self._transactional_id, is_flexible=False) + struct.pack(">i", 60_000)
            code, self.producer_id, self.epoch = self._ask(INIT_PRODUCER_ID, 1, body, ">hqh")
            self.next_sequence, self.is_added = 0, False
            return int(code)
        if step in ("commit", "abort"):
            return self._end(is_commit=step == "commit")
        if self.kind == "added" and not self.is_added and (code := self._add()):
            return code
        return self._produce(step, sequence, number)

    @property
    def _transactional_id(self) -> str | None:
        return None if self.kind == "idempotent" else self.name

    def _add(self) -> int:
        topic = put.string(self.topic, is_flexible=False)
        body = self._who(False) + struct.pack(">i", 1) + topic + struct.pack(">ii", 1, 0)
        answer = self._answer(ADD_PARTITIONS, 0, body)
        (code,) = struct.unpack(">h", answer[-2:])
        self.is_added = code == 0
        return int(code)

    def _end(self, *, is_commit: bool) -> int:
        self.is_added = False
        if self.kind != "implicit":
            return int(self._ask(END_TXN, 0, self._who(False) + bytes([is_commit]), ">h")[0])
        body = self._who(True) + bytes([is_commit]) + put.EMPTY_TAGS
        code, producer_id, epoch = struct.unpack_from(">hqh", self._answer(END_TXN, 5, body), 9)
        if code == 0:
            self.producer_id, self.epoch, self.next_sequence = producer_id, epoch, 0
        return int(code)

    def _who(self, is_flexible: bool) -> bytes:
        return put.string(self.name, is_flexible) + struct.pack(">qh", self.producer_id, self.epoch)

    def _produce(self, step: str, sequence: str, number: int) -> int:
        now, transactional_id = now_ms(), self._transactional_id
        ages = {"good": (0,), "bad": (DAY_MS * 9,), "mixed": (0, DAY_MS * 9)}[step]
        first = {"next": self.next_sequence, "last": self.last_sequence, "gap": self.next_sequence + 7}[
            sequence
        ]
        batch = Batch(
            tuple(Record(now - age, key=b"%d" % number) for age in ages),
            attributes=_TRANSACTIONAL_BIT if transactional_id else 0,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=first,
        )
        version = 12 if self.kind == "implicit" else 9
        sent = [(self.topic, 0, write_batch(batch))]
        (answered,) = self.line.told(version, sent, -1, transactional_id=transactional_id).values()
        if answered.error_code == 0 and sequence == "next":
            self.last_sequence, self.next_sequence = first, first + len(ages)
        return int(answered.error_code)

    def _ask(self, key: int, version: int, body: bytes, facts: str) -> tuple[int, ...]:
        """The fields behind the throttle time."""
        return struct.unpack_from(facts, self._answer(key, version, body), 8)

    def _answer(self, key: int, version: int, body: bytes) -> bytes:
        (payload,) = self.line.ask([request_frame(key, version, body)])
        assert payload is not None, f"closed upon API {key}"
        return bytes(payload)


def steps(draws: Random, kind: str) -> Iterator[tuple[str, str]]:
    """(the step, which sequence number its batch has)."""
    yield "init", "next"
    ends = [] if kind == "idempotent" else ["commit", "abort", "commit"]
    for _ in range(draws.randint(3, 9)):
        step = draws.choice(["good", "good", "good", "bad", "bad", "mixed", "init", *ends])
        yield step, draws.choice(["next"] * 6 + ["last", "gap"])
    if ends:
        yield "init", "next"  # it aborts what is open


def run(address: tuple[str, int], topics: tuple[str, str], scripts: int, kinds: tuple[str, ...]) -> Tally:
    """So many scripts, straight to the first topic and through the proxy to the second, then both logs."""
    view = View(topics={topics[1]: TopicLimits(before_max_ms=DAY_MS)})
    lines, tally = (Direct(address), Proxied(address, view)), Tally()
    _wait_for_coordinator(lines[0])
    scripts_of: tuple[dict[int, int], dict[int, int]] = ({}, {})
    for script in range(scripts):
        draws = Random(f"transactions/{script}")
        kind = draws.choice(kinds)
        sides = [
            Side(line, topic, kind, f"{topic}-{script}") for line, topic in zip(lines, topics, strict=True)
        ]
        told: _Told = []
        for step, sequence in steps(draws, kind):
            direct, proxied = (side.take(step, sequence, script) for side in sides)
            told.append((step, direct, proxied))
            tally.codes[direct] += 1
            for known, side in zip(scripts_of, sides, strict=True):
                known[side.producer_id] = script
            if direct != proxied:
                tally.apart[script] = next((name for name, fits in INTENDED.items() if fits(told)), "none")
                if tally.apart[script] == "none":
                    tally.unexplained.append((script, f"{kind}: {told}"))
                break
    logs = [_log(lines[0], topic, known) for topic, known in zip(topics, scripts_of, strict=True)]
    for script in range(scripts):
        if script not in tally.apart and logs[0][script] != logs[1][script]:
            tally.unexplained.append((script, f"stored {logs[0][script]} and {logs[1][script]}"))
    tally.stored = sum(map(len, logs[0].values()))
    for line in lines:
        line.close()
    return tally


def _wait_for_coordinator(line: Direct) -> None:
    """The first question makes the coordinator's topic."""
    asked = request_frame(FIND_COORDINATOR, 1, put.string("any", is_flexible=False) + b"\x01")
    for _ in range(600):
        (payload,) = line.ask([asked])
        if payload is not None and struct.unpack_from(">h", payload, 8) == (0,):
            return
        time.sleep(0.1)
    raise TimeoutError("no transaction coordinator")


def _log(line: Direct, topic: str, scripts: dict[int, int]) -> dict[int, list[bytes]]:
    """The batches and markers of each script: attributes, sequence number, count and records.

    A marker behind no batch is left out: a broker adds the partition of a batch that it then rejects.
    """
    found: dict[int, list[bytes]] = defaultdict(list)
    for each in stored_batches(line, topic, 0, is_stamped=False):
        (producer_id,) = struct.unpack_from(">q", each.comparable, 31)
        entries, shown = found[scripts[producer_id]], each.comparable[9:11] + each.comparable[41:]
        if not shown[1] & _CONTROL_BIT or (entries and not entries[-1][1] & _CONTROL_BIT):
            entries.append(shown)
    return found
