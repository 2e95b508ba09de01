"""The loop: draw requests, send each on both ways, compare answers, and at the end what was stored."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from types import MappingProxyType
from typing import Final

from rigs.differential import generator
from rigs.differential.comparison import Answer, Exchange, Window, comparable
from rigs.differential.generator import Part, Probe
from rigs.differential.intended import claimed_by
from rigs.differential.lines import Direct, Proxied, now_ms
from rigs.differential.requests import (
    NO_IDS,
    Answers,
    TopicIds,
    metadata_frame,
    produce_frame,
    read_answers,
    read_ids,
    request_frame,
)
from rigs.differential.stored import stored_batches
from rigs.differential.topics import PARTITIONS, Topic
from tsproxy.model.kafka import ErrorCode, TimestampType
from tsproxy.model.outcome import Outcome, VerdictName
from tsproxy.model.view import View
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.wire import k18_api_versions
from tsproxy.wire.k00_produce import TOPIC_IDS_FROM

PIPELINED: Final = 24
"""Requests on their way at once; answers to fewer bytes than socket buffers hold."""


@dataclass(slots=True)
class Tally:
    """The results of a run. `unexplained` has (probe number, exchange) of each difference that is not
    intended. `stored_differing` has (probe number, part, stored directly, stored through the proxy)."""

    batches: int = 0
    requests: int = 0
    stored: int = 0
    seconds: float = 0.0
    codes: Counter[int] = field(default_factory=Counter)
    intended: Counter[str] = field(default_factory=Counter)
    unexplained: list[tuple[int, Exchange]] = field(default_factory=list)
    stored_differing: list[tuple[int, Part, bytes, bytes]] = field(default_factory=list)
    forwarded: list[Outcome] = field(default_factory=list)
    """Batches that the broker rejected for their times, though the limits were known here."""


Side = str
SIDES: Final[tuple[Side, Side]] = ("direct", "proxied")

_Accepted = dict[int, tuple[int, Part]]
"""Base offset -> (probe number, part) of what one side was told is stored."""


class Comparison:
    """A run against one broker. `probes` are sent in order; `tally` says what came of them."""

    def __init__(self, broker_version: str, address: tuple[str, int], topics: Sequence[Topic]) -> None:
        self.tally = Tally()
        self._broker_version = broker_version
        self._topics = topics
        self._direct = Direct(address)
        self._versions = produce_versions(self._direct)
        names = [topic_of(side, topic) for topic in topics for side in SIDES]
        self._ids = topic_ids(self._direct, names) if self._versions[-1] >= TOPIC_IDS_FROM else NO_IDS
        self._proxied = Proxied(address, self._view())
        self._accepted: dict[tuple[Side, str, int], _Accepted] = {
            (side, topic.config, partition): {}
            for side in SIDES
            for topic in topics
            for partition in range(PARTITIONS)
        }

    def close(self) -> None:
        self._direct.close()
        self._proxied.close()

    def _view(self) -> View:
        return View(
            topics=MappingProxyType({topic.proxied: topic.limits for topic in self._topics}),
            topic_names={topic_id: name for name, topic_id in self._ids.items()},
            produce_versions=(self._versions[0], self._versions[-1]),
        )

    def change(self, topic: Topic) -> None:
        """The settings of this topic were altered."""
        self._topics = [topic if each.config == topic.config else each for each in self._topics]
        self._proxied.see(self._view())

    def run(self, seed: str, batches: int, first: int = 0) -> int:
        """At least `batches` batches more, request by request from number `first` on. Returns the next
        number."""
        started = time.monotonic()
        numbers = count(first)
        enough = self.tally.batches + batches
        while self.tally.batches < enough:
            moment = now_ms()
            self._exchange(
                [
                    generator.draw(seed, number, self._topics, self._versions, moment)
                    for number in islice(numbers, PIPELINED)
                ]
            )
        self.tally.seconds += time.monotonic() - started
        return next(numbers)

    def finish(self) -> None:
        """Compare what was stored, and find what was forwarded though forbidden."""
        started = time.monotonic()
        self.tally.forwarded = [
            outcome
            for outcome in self._proxied.outcomes
            if outcome.verdict is VerdictName.BROKER_REJECTED
            and outcome.error_code == ErrorCode.INVALID_TIMESTAMP
        ]
        self._compare_stored()
        self.tally.seconds += time.monotonic() - started

    def _exchange(self, probes: Sequence[Probe]) -> None:
        start_ms = now_ms()
        payloads = {
            "direct": self._direct.ask([self._frame(probe, "direct") for probe in probes]),
            "proxied": self._proxied.ask([self._frame(probe, "proxied") for probe in probes]),
        }
        window = Window(start_ms, now_ms())
        for at, probe in enumerate(probes):
            found = {
                side: None if payload is None else read_answers(probe.version, payload, self._ids)
                for side, all_payloads in payloads.items()
                for payload in (all_payloads[at],)
            }
            self.tally.requests += 1
            for part in probe.parts:
                self.tally.batches += 1
                answers = {
                    side: self._answer(side, part, found[side], probe.number, window) for side in SIDES
                }
                self._judge(
                    probe.number,
                    Exchange(
                        self._broker_version,
                        probe.version,
                        part,
                        answers["direct"],
                        answers["proxied"],
                        probe.parts,
                    ),
                )

    def _answer(
        self, side: Side, part: Part, answers: Answers | None, number: int, window: Window
    ) -> Answer | None:
        if answers is None:
            return None
        topic = topic_of(side, part.topic)
        answer = answers[topic, part.partition]
        if answer.error_code == ErrorCode.NONE and answer.base_offset >= 0:
            accepted = self._accepted[side, part.topic.config, part.partition]
            assert answer.base_offset not in accepted, "two batches were told one offset"
            accepted[answer.base_offset] = (number, part)
        return comparable(answer, topic, part.topic.limits, window)

    def _judge(self, number: int, exchange: Exchange) -> None:
        if exchange.proxied is not None:
            self.tally.codes[exchange.proxied.error_code] += 1
        if not exchange.differing():
            return
        name = claimed_by(exchange)
        if name is None:
            self.tally.unexplained.append((number, exchange))
        else:
            self.tally.intended[name] += 1

    def _compare_stored(self) -> None:
        """Compare the stored bytes of batches that both sides accepted."""
        for topic in self._topics:
            for partition in range(PARTITIONS):
                logs = {side: self._log(side, topic, partition) for side in SIDES}
                for number in logs["direct"].keys() & logs["proxied"].keys():
                    self.tally.stored += 1
                    part, direct, proxied = *logs["direct"][number], logs["proxied"][number][1]
                    if direct != proxied:
                        self.tally.stored_differing.append((number, part, direct, proxied))

    def _log(self, side: Side, topic: Topic, partition: int) -> dict[int, tuple[Part, bytes]]:
        """Probe number -> its part, and what was stored of it, comparable."""
        is_stamped = topic.limits.timestamp_type is TimestampType.LOG_APPEND_TIME
        accepted = self._accepted[side, topic.config, partition]
        stored = list(stored_batches(self._direct, topic_of(side, topic), partition, is_stamped))
        assert [batch.base_offset for batch in stored] == sorted(accepted), (
            f"{topic_of(side, topic)}-{partition}: other batches lie there than were confirmed"
        )
        return {
            number: (part, batch.comparable)
            for batch in stored
            for number, part in (accepted[batch.base_offset],)
        }

    def _frame(self, probe: Probe, side: Side) -> bytes:
        sent = [(topic_of(side, part.topic), part.partition, part.records) for part in probe.parts]
        return produce_frame(probe.version, probe.acks, sent, probe.transactional_id, probe.number, self._ids)


def topic_of(side: Side, topic: Topic) -> str:
    return topic.direct if side == "direct" else topic.proxied


def topic_ids(line: Direct, names: Sequence[str]) -> TopicIds:
    """The ids of the topics that exist. Brokers before 3.1 do not tell them."""
    (payload,) = line.ask([metadata_frame(names)])
    assert payload is not None
    return read_ids(payload)


def produce_versions(line: Direct) -> range:
    """The versions of Produce that the broker takes."""
    (payload,) = line.ask([request_frame(18, 0, b"")])
    offers = None if payload is None else k18_api_versions.read_offers(0, payload[4:])
    assert offers is not None
    oldest, newest = k18_api_versions.produce_versions(offers)
    return range(oldest, newest + 1)


def id_of(kafka: KafkaCluster, topic: str) -> bytes:
    """The id of a topic that exists, whoever may see it."""
    node = kafka.node(1)
    with Direct((node.host, node.internal_port)) as line:
        return topic_ids(line, [topic])[topic]
