"""Conversations between a client, a session and a broker, drawn from a seed: mostly right, often odd.

A `Scene` makes requests and, from what the session sent on, the broker's answers. Everything follows
from its `random.Random`, so a seed is a whole conversation.
"""

from dataclasses import dataclass, field, replace
from random import Random

from tests.session.conversation import DAY_MS, HOUR_MS, NOW_MS, id_of
from tests.session.messages import (
    API_VERSIONS,
    FETCH,
    HEARTBEAT,
    PRODUCE,
    Entries,
    frame,
    produce_entries,
    request,
)
from tests.wire.batches import CODECS, batch, wrap
from tests.wire.fetched import any_body
from tsproxy.model.custom_rule import CustomRule
from tsproxy.model.kafka import LONG_MAX, LONG_MIN, TimestampType
from tsproxy.model.policy import (
    Choice,
    LimitsFrom,
    Match,
    Mode,
    Policy,
    Rule,
    RuleSettings,
    TimeLimit,
    Waiver,
)
from tsproxy.model.produce import (
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from tsproxy.model.verdict import RecordError, TopicLimits
from tsproxy.model.view import Endpoint, SessionLimits, View
from tsproxy.wire import k00_produce, k01_k78_fetch
from tsproxy.wire.apis import APIS
from tsproxy.wire.headers import read_request_header

TOPICS = ("t", "u", "v", "unknown")
LIMITS = (
    TopicLimits(before_max_ms=DAY_MS, after_max_ms=HOUR_MS),
    TopicLimits(before_max_ms=DAY_MS, after_max_ms=HOUR_MS, max_decompressed_message_bytes=16),
    TopicLimits(after_max_ms=0),
    TopicLimits(before_max_ms=0),
    TopicLimits(before_max_ms=LONG_MAX - 1, after_max_ms=LONG_MAX - 1),
    TopicLimits(),
    TopicLimits(TimestampType.LOG_APPEND_TIME, before_max_ms=5, after_max_ms=5),
)
OFFSETS_MS = (0, 0, 0, -1, 1, -50, 900, -DAY_MS, -DAY_MS - 1, HOUR_MS, HOUR_MS + 1, 40 * DAY_MS)
EDGES_MS = (-1, -1, -2, 0, LONG_MIN, LONG_MIN + NOW_MS, LONG_MIN + NOW_MS + 1, LONG_MAX, NOW_MS * 1000)
BELOW_ZERO = (-1, -1, -2, -5, 0)
"""-1 is no time, but where a broker's maximum begins."""
WRONG_CLOCKS = (
    lambda time_ms: time_ms + 2 * HOUR_MS,
    lambda time_ms: time_ms - 2 * DAY_MS,
    lambda time_ms: time_ms // 1000,
    lambda time_ms: time_ms * 1000,
    lambda time_ms: time_ms * 1_000_000,
    lambda time_ms: time_ms + HOUR_MS,
    lambda _: 0,
)
"""All ways in which a client's times are wrong."""
ODD_HEADERS = (
    {"attributes": 0x08},
    {"attributes": 0x10},
    {"attributes": 0x20},
    {"attributes": 0x40},
    {"attributes": -0x8000},
    {"base_offset": 1},
    {"last_offset_delta": 7},
    {"records_count": 0},
    {"records_count": 2},
    {"records_count": -1},
    {"max_timestamp": 5},
    {"producer_id": 7, "producer_epoch": 1, "base_sequence": 0},
    {"producer_id": 7, "producer_epoch": 1, "base_sequence": -1},
    {"length": 40},
    {"length": 4000},
    {"length": -1},
    {"magic": 1},
    {"magic": 3},
    {"crc": 0},
)


class RejectsOdd:
    """A rule that no bounds can say."""

    def culprits(self, timestamps_ms, context):
        return [(index, "odd") for index, time_ms in enumerate(timestamps_ms) if time_ms % 2 and time_ms > 0]


class BoundedOdd:
    """The same, but for times within a second of the clock."""

    def culprits(self, timestamps_ms, context):
        found = RejectsOdd().culprits(timestamps_ms, context)
        return [(index, text) for index, text in found if abs(timestamps_ms[index] - context.now_ms) > 1000]

    def bounds(self):
        return 1000, 1000


POLICIES = (
    *[Policy()] * 9,
    Policy(mode=Mode.OFF),
    Policy(mode=Mode.AUDIT),
    Policy(candidate=RuleSettings(after=TimeLimit(0))),
    Policy(candidate=RuleSettings(before=TimeLimit(10**6)), limits_from=LimitsFrom.CONFIG),
    Policy(defaults=RuleSettings(no_timestamp=Choice.REJECT)),
    Policy(defaults=RuleSettings(zero=Choice.REJECT, negative=Choice.REJECT)),
    Policy(defaults=RuleSettings(extended_timestamps=True)),
    Policy(rules=(Rule("own", Match(), RuleSettings(after=TimeLimit(1000))),)),
    Policy(rules=(Rule("own", Match(), RuleSettings(custom_rules=(CustomRule("odd", RejectsOdd()),))),)),
    Policy(rules=(Rule("own", Match(), RuleSettings(custom_rules=(CustomRule("odd", BoundedOdd()),))),)),
    Policy(waivers=(Waiver("w", Match(), NOW_MS + 1, "owner", "reason"),)),
    *[
        Policy(defaults=settings, waivers=(Waiver("ends", Match(), NOW_MS + 50, "owner", "reason"),))
        for settings in (RuleSettings(), RuleSettings(keep_both_times=True), RuleSettings(zero=Choice.REJECT))
    ],
)
"""Limits that the native code's two bounds can express, and limits that they cannot."""


@dataclass
class Scene:
    random: Random
    now_ms: int = NOW_MS
    client_id: str | None = "app"
    transactional_id: str | None = None
    _correlation_id: int = 0
    _unread: bytes = b""
    answers: bytearray = field(default_factory=bytearray)
    """The answers that the broker still owes."""

    def __post_init__(self) -> None:
        # Drawn beside the conversation, which a seed so keeps as it was before clocks were wrong.
        aside = Random()
        aside.setstate(self.random.getstate())
        self._aside = Random(aside.getrandbits(64))
        self._ids = Random(aside.getrandbits(64))
        self.names_ids = self._ids.random() < 0.2
        self.wrong_clocks = self._aside.sample(WRONG_CLOCKS, self._aside.choice([0, 0, 1, 3]))
        self._oddness = self.random.choice([0.05, 0.3, 1.0])
        if self.wrong_clocks and self._aside.randrange(4):
            self._oddness = 0.02

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def oddly(self, percent: int) -> bool:
        """As `chance`, but rarer in most conversations: what is odd mostly ends one."""
        return self.random.random() * 100 < percent * self._oddness

    def view(self) -> View:
        pick = self.random
        return View(
            endpoints={1: Endpoint("proxy.example", 9193)},
            topics={topic: pick.choice(LIMITS[: 1 + pick.randrange(len(LIMITS))]) for topic in TOPICS[:3]},
            limits=SessionLimits(
                in_flight_requests=pick.choice([1, 3, 1000, 1000]),
                produce_frame=pick.choice([600, 100_000, 100_000]),
                other_frame=pick.choice([100, 100_000, 100_000]),
                records_per_batch=pick.choice([3, 1_000_000, 1_000_000]),
            ),
            policy=pick.choice(POLICIES),
            broker_needs_sasl=self.chance(2),
            topic_names={id_of(topic): topic for topic in TOPICS[: self._ids.choice([*[3] * 9, 2])]},
        )

    # -- The client ---------------------------------------------------------------------------------

    def request(self) -> bytes:
        self._correlation_id += 1
        if self.chance(5):
            self.client_id = self.random.choice(["app", None, "", "other"])
        if self.chance(3):
            self.transactional_id = self.random.choice([None, "tx", ""])
        is_produce = self.chance(75)
        if self.wrong_clocks and self._aside.randrange(20):
            is_produce = True  # a rejection's turn is now while nothing else is in flight
        whole = self._produce() if is_produce else self._other()
        return self._damaged(whole) if self.oddly(4) else whole

    def _produce(self) -> bytes:
        topics = self.random.sample(TOPICS[:3], self.random.choice([1, 1, 1, 2, 3]))
        if self.oddly(2):
            topics.append("unknown")
        partitions = self.random.choice([1, 1, 2, 5])
        is_wrong = self.wrong_clocks and self._aside.randrange(30)
        self._wrong = self._aside.choice(self.wrong_clocks) if is_wrong else None
        if is_wrong and self._aside.randrange(4):
            topics, partitions = topics[:1], min(2, partitions)
        if self.oddly(2):
            partitions = self.random.choice([0, 70])
        entries = [(topic, [(index, self._batch()) for index in range(partitions)]) for topic in topics]
        version = self.random.choice([3, 4, 5, 7, 8, 9, 9, 10, 11, 12, 12]) if not self.oddly(3) else 2
        if self.names_ids and version > 2:
            version = 13
        return produce_entries(
            self._named_again(entries),
            version=version,
            acks=self.random.choice([-1, -1, 1]) if not self.oddly(4) else self.random.choice([0, 2, -2]),
            correlation_id=self._correlation_id,
            client_id=self.client_id,
            transactional_id=self.transactional_id,
        )

    def _named_again(self, entries: Entries) -> Entries:
        """Mostly as they are; else a topic or a partition is named twice, or partitions in another order.

        Drawn aside, as wrong clocks are.
        """
        aside, odd = self._aside, self._aside.random()
        name, partitions = aside.choice(entries)
        if odd < 0.01 * self._oddness and partitions:
            partitions.insert(aside.randint(0, len(partitions)), aside.choice(partitions))
        elif odd < 0.02 * self._oddness and partitions:
            entries.append((name, [aside.choice(partitions)]))
        elif odd < 0.04:
            entries.append((name, [(100 + index, data) for index, data in partitions]))
        elif odd < 0.1:
            aside.shuffle(partitions)
        return entries

    def _batch(self) -> bytes | None:
        pick = self.random
        times = [self.now_ms + pick.choice((0, 0, -1, 1, -50)) for _ in range(pick.choice([1, 1, 2, 5, 40]))]
        if self._wrong is not None:
            times = [self._wrong(each) for each in times]
        if self.oddly(12):
            times[pick.randrange(len(times))] = self.now_ms + pick.choice(OFFSETS_MS)
        if self.oddly(6):
            times[pick.randrange(len(times))] = pick.choice(EDGES_MS)
        if self.chance(1):
            times = [-1] * len(times)
        header = {}
        if self.transactional_id is not None and self.chance(80):
            header = {"attributes": 0x10, "producer_id": 7, "producer_epoch": 1, "base_sequence": 0}
        if header and self._aside.random() < 0.1:
            header["producer_id"] = self._aside.choice([8, 7, -1])
            header["producer_epoch"] = self._aside.choice([1, 2])
        if self.oddly(4):
            header |= pick.choice(ODD_HEADERS)
        if self._aside.random() < 0.03:
            times = [self._aside.choice(BELOW_ZERO) for _ in times]
            highest = max((each for each in times if each != -1), default=-1)
            header["max_timestamp"] = self._aside.choice([highest, -1, max(-1, *times)])
        codec = pick.choice(list(CODECS.values())) if self.chance(20) else 0
        made = batch([wrap(t) for t in times], codec, value=bytes(pick.choice([0, 1, 60, 70, 300])), **header)
        if self.oddly(3):
            made = pick.choice(
                [made + b"\x00", made[:-1], made * 2, b"", made[:60], self._damaged(made), None]
            )
        return made

    def _other(self) -> bytes:
        api_key = self.random.choice([HEARTBEAT, HEARTBEAT, FETCH, FETCH, 2, 8, 26])
        if self.oddly(3):
            api_key = self.random.choice([*APIS, 67, 99, 127, 300, -1])
        newest = APIS[api_key].max_version if api_key in APIS else 0
        version = (
            self.random.randint(0, newest) if not self.oddly(2) else self.random.choice([-1, newest + 1])
        )
        body = self.random.randbytes(self.random.choice([0, 5, 40, 200]))
        return request(api_key, version, body, self._correlation_id, self.client_id)

    def _damaged(self, data: bytes) -> bytes:
        """One byte is another one, a frame's size mostly left alone."""
        if not data:
            return data
        at = self.random.randrange(0 if self.chance(10) else min(4, len(data) - 1), len(data))
        return data[:at] + self.random.randbytes(1) + data[at + 1 :]

    # -- The broker ---------------------------------------------------------------------------------

    def broker_reads(self, data: bytes) -> None:
        """Answer all requests that stand whole in what the session sent on."""
        self._unread += data
        while len(self._unread) >= 4:
            end = 4 + int.from_bytes(self._unread[:4], "big")
            if len(self._unread) < end:
                break
            self._answer(self._unread[4:end])
            self._unread = self._unread[end:]

    def _answer(self, payload: bytes) -> None:
        header = read_request_header(payload)
        correlation_id = header.correlation_id if not self.oddly(1) else 12345
        head = correlation_id.to_bytes(4, "big", signed=True)
        if APIS[header.api_key].is_flexible(header.api_version) and header.api_key != API_VERSIONS:
            head += b"\x00" if not self.oddly(2) else b"\x01\x05\x01x"
        if header.api_key != PRODUCE:
            body = self.random.randbytes(self.random.choice([0, 1, 30, 500]))
            layout = k01_k78_fetch.layout_of(header.api_key, header.api_version)
            if layout is not None and not self.oddly(3):
                body = any_body(self._aside, layout)
            self.answers += frame(head + body)
            return
        asked = k00_produce.read_request(header.api_version, payload[header.body_start :])
        if asked.acks == 0:
            return
        said = self._said(header.api_version, asked)
        whole = frame(head + k00_produce.write_response(header.api_version, said))
        if self.oddly(2):
            whole = self._damaged(whole)
        if self.oddly(1):
            whole = frame(whole[4:] + b"\x00")
        self.answers += whole

    def _said(self, version: int, asked: k00_produce.ProduceRequest) -> ProduceResponse:
        named: dict[tuple[str, bytes | None], dict[int, PartitionProduceResponse]] = {}
        for topic in asked.topics:
            for partition in topic.partitions:
                answers = PartitionProduceResponse(partition.index, base_offset=self.random.randrange(1000))
                named.setdefault((topic.name, topic.topic_id), {})[partition.index] = answers
        topics = [
            TopicProduceResponse(name, tuple(answers.values()), topic_id=topic_id)
            for (name, topic_id), answers in named.items()
        ]
        if topics and self.oddly(20):
            topics = self._odd_answer(topics, version)
        if self.chance(15):
            self.random.shuffle(topics)
        nodes = None
        if version >= 10 and self.oddly(4):
            node_id = 1 if self.chance(80) else 2
            nodes = (NodeEndpoint(node_id, "broker.internal", 9092, None, b"\x00"),)
        return ProduceResponse(tuple(topics), self.random.choice([0, 0, 250]), nodes)

    def _odd_answer(self, topics: list[TopicProduceResponse], version: int) -> list[TopicProduceResponse]:
        at = self.random.randrange(len(topics))
        answers = list(topics[at].partitions)
        where = self.random.randrange(len(answers)) if answers else 0
        odd = self.random.choice(
            ["shuffle", "shuffle", "reject", "other code", "text", "drop", "twice", "tags"]
        )
        if odd == "shuffle" or not answers:
            self.random.shuffle(answers)
        elif odd == "reject":
            errors = (RecordError(0, "Timestamp 5 of message with offset 0 is out of range."),)
            answers[where] = replace(answers[where], error_code=32, record_errors=errors, error_message="no")
        elif odd == "other code":
            answers[where] = replace(answers[where], error_code=self.random.choice([2, 6, 10, 87]))
        elif odd == "text":
            answers[where] = replace(answers[where], error_message="hello")
        elif odd == "drop":
            del answers[where]
        elif odd == "twice":
            answers.append(answers[where])
        elif version >= 9:
            answers[where] = replace(answers[where], tags=b"\x01\x05\x01x")
        topics[at] = replace(topics[at], partitions=tuple(answers))
        return topics
