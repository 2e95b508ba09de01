"""The topics that producers write to, and the limits that result from brokers' answers about them."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple

from tsproxy.cluster.admin_connection import TopicAnswer
from tsproxy.cluster.limits_of_brokers import (
    Given,
    Overrides,
    Together,
    changes,
    examples,
    given_by,
    overrides_of,
    together,
)
from tsproxy.cluster.topic_limits import topic_limits
from tsproxy.log_events.catalogue import (
    BROKER_LIMITS_NOT_UNDERSTOOD,
    TOPIC_LIMITS_CHANGED,
    TOPIC_LIMITS_DENIED,
    TOPIC_LIMITS_NOT_UNDERSTOOD,
    LogEvent,
)
from tsproxy.model.bounded import A_PLACE, Bounded, Ceiling
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.verdict import TopicLimits

FIRST_RETRY_MS: Final = 250
KNOWN: Final = Ceiling(
    "topics that exist, with their limits",
    most=50_000,
    most_bytes=48 << 20,
    when_full="limits of further topics stay unknown: only brokers judge the range",
    entry_bytes=3 * A_PLACE + 32,  # they are published as a copy, and `_used_ms` has most of them
)
ABSENT: Final = Ceiling(
    "names that clients used, and that no topic has",
    most=1_000,
    most_bytes=1 << 20,
    when_full="the oldest is not asked for again until a client names it",
    entry_bytes=A_PLACE + 160,
)
UNREADABLE: Final = Ceiling(
    "topics whose limits the proxy may not read",
    most=10_000,
    most_bytes=8 << 20,
    when_full="the oldest is asked for again when a client names it",
    entry_bytes=2 * A_PLACE,  # they are published as a copy
)
LOGGED: Final = Ceiling(
    "topics with a problem that was logged",
    most=10_000,
    most_bytes=8 << 20,
    when_full="problems of further topics are not logged",
    entry_bytes=A_PLACE,
)
USED_MS: Final = 10 * 60_000
"""How long the limits of a topic are read again after its last batch. Then the next batch waits for them."""
MAX_LOGGED: Final = 100
"""The most log lines about brokers that differ, and about changes that are published together, since ten
thousand topics may have the same ones."""


class LimitsOf(Mapping[str, TopicLimits]):
    """The limits of topics, by name. Topics with the same settings share their limits, and most topics have
    no settings of their own, so a hundred thousand topics cost one dictionary."""

    __slots__ = ("_limits", "_topics")

    def __init__(self, topics: Mapping[str, Overrides], limits: Mapping[Overrides, TopicLimits]) -> None:
        self._limits = limits
        self._topics = topics

    def __getitem__(self, topic: str) -> TopicLimits:
        return self._limits[self._topics[topic]]

    def __contains__(self, topic: object) -> bool:
        return topic in self._topics and self._topics[topic] in self._limits  # type: ignore[index]  # it is in

    def __iter__(self) -> Iterator[str]:
        return (topic for topic, overrides in self._topics.items() if overrides in self._limits)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LimitsOf):
            return dict(self.items()) == other
        is_same = self._topics is other._topics or self._topics == other._topics
        return is_same and self._limits == other._limits

    def moved_since(self, before: "LimitsOf") -> set[str]:
        """The topics with the same settings as before, and other limits: a broker's values have changed."""
        moved = {key for key, limits in self._limits.items() if before._limits.get(key, limits) != limits}
        return {topic for topic, key in self._topics.items() if key in moved} if moved else set()

    __hash__ = None  # type: ignore[assignment]  # as a dictionary


class _Retry(NamedTuple):
    """When an absent topic is queried again (monotonic ms), and how long it waits for that."""

    due_ms: int
    wait_ms: int


class Topics:
    def __init__(self) -> None:
        self._changed = set[str]()
        """The topics whose own settings have changed since limits were published."""
        self._in_force = LimitsOf({}, {})
        """The limits as they were published last."""
        self.absent = Bounded[str, _Retry](ABSENT)
        """Topics without limits, because they do not exist or their limits cannot be read. Each is queried
        again, later each time, so names that clients invent cost the broker a few queries each."""
        self.unreadable = Bounded[str, None](UNREADABLE)
        """Topics whose limits the proxy may not read, or does not understand, and those whose limits it has
        read since, until they are in force. If limits were known before, they stay in force."""
        self._given = Given({}, frozenset(), frozenset())
        """The values of the broker on whose connection topics are read."""
        self._logged = Bounded[tuple[str, str], None](LOGGED)
        self._overrides = Bounded[str, Overrides](KNOWN)
        self._published: Mapping[str, Overrides] | None = None
        """A copy of `_overrides`, None if `_overrides` has changed since."""
        self._read = set[str]()
        """The topics in `unreadable` that have been read since."""
        self._same: dict[Overrides, Overrides] = {}
        """Each distinct `Overrides` once, so that topics with the same settings share it."""
        self._used_ms: dict[str, int] = {}

    @property
    def has_room(self) -> bool:
        """True if limits of another topic can be kept."""
        return self._overrides.room.takes(KNOWN.entry_bytes)

    def __contains__(self, topic: str) -> bool:
        return topic in self._overrides

    @property
    def names(self) -> list[str]:
        return [*self._overrides, *self.absent]

    def examples(self, read: Sequence[str] = ()) -> tuple[str, ...]:
        """A few topics whose descriptions show all values of a broker that matter. The topics in `read` have
        just been read, and are preferred: another one may be gone. One that may not be read shows nothing.
        """
        denied = self.unreadable.keys() - self._read
        first = [(topic, self._overrides[topic]) for topic in read if topic in self]
        return examples(pair for pair in chain(first, self._overrides.items()) if pair[0] not in denied)

    def used(self, topic: str, now_ms: int) -> None:
        if topic in self._overrides:
            self._used_ms[topic] = now_ms

    def forget_unused(self, now_ms: int) -> None:
        """Forget topics without a batch in a while. Nobody reads their limits again, so they may be old."""
        self._used_ms = {
            topic: at_ms
            for topic, at_ms in self._used_ms.items()
            if now_ms - at_ms < USED_MS and topic in self._overrides
        }
        if len(self._used_ms) < len(self._overrides):
            for topic in [topic for topic in self._overrides if topic not in self._used_ms]:
                self._overrides.pop(topic)
            self._same = {overrides: overrides for overrides in self._overrides.values()}
            self._published = None

    @property
    def absent_due_ms(self) -> int | None:
        """When to query an absent topic again (monotonic ms); None if there is none."""
        return min((retry.due_ms for retry in self.absent.values()), default=None)

    def due_absent(self, now_ms: int, most_ms: int) -> list[str]:
        """The absent topics that are queried now. Each waits twice as long before the next query, `most_ms`
        at most."""
        due = [(topic, retry) for topic, retry in self.absent.items() if retry.due_ms <= now_ms]
        for topic, retry in due:
            wait_ms = min(2 * retry.wait_ms, most_ms)
            self.absent.add(topic, _Retry(now_ms + wait_ms, wait_ms))
        return [topic for topic, _ in due]

    def update(self, answers: Sequence[TopicAnswer], now_ms: int) -> list[str]:
        """Store the answers of one broker, and return the topics whose limits were read. They are readable
        from `settled` on."""
        read = [answer.topic for answer in answers if self._update(answer, now_ms)]
        self._read.difference_update(answer.topic for answer in answers)
        self._read.update(topic for topic in read if topic in self.unreadable)
        self._given = given_by(answers) or self._given
        return read

    def settled(self) -> None:
        """No broker's values are awaited: all limits that were read are published next."""
        for topic in self._read:
            self.unreadable.pop(topic)
        self._read.clear()

    def _update(self, answer: TopicAnswer, now_ms: int) -> bool:
        """Store one topic's answer, or keep the topic for another query. True if its limits were read."""
        if answer.error_code == ErrorCode.NONE:
            try:
                topic_limits(answer.settings)
            except ValueError as error:
                self._log_once(TOPIC_LIMITS_NOT_UNDERSTOOD, answer.topic, error=str(error))
                self._cannot_read(answer.topic)
            else:
                overrides = overrides_of(answer)
                if (before := self._overrides.get(answer.topic)) != overrides:
                    self._changed.update(() if before is None else (answer.topic,))
                    self._overrides.add(answer.topic, self._same.setdefault(overrides, overrides))
                    self._published = None
                if self.absent.pop(answer.topic):  # a producer has named it
                    self.used(answer.topic, now_ms)
                return True
        elif answer.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            # The known limits stay in force: a lost permission must not end enforcement.
            self._log_once(TOPIC_LIMITS_DENIED, answer.topic, needs="DescribeConfigs on the topic")
            self._cannot_read(answer.topic)
        else:
            self.unreadable.pop(answer.topic)
            if answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and answer.topic in self._overrides:
                self._overrides.pop(answer.topic)
                self._published = None
        if answer.topic not in self._overrides and answer.topic not in self.absent:
            self.absent.put(answer.topic, _Retry(now_ms + FIRST_RETRY_MS, FIRST_RETRY_MS))
        return False

    def _cannot_read(self, topic: str) -> None:
        self.unreadable.put(topic, None)

    def limits(
        self, brokers: Mapping[int, Given | None], why: str
    ) -> tuple[Mapping[str, TopicLimits], Mapping[str, TopicLimits]]:
        """The limits in force by topic, and the same as a 4.x broker would compute them. `brokers` has the
        values of each broker by node id, None for a broker without an answer. `why` they were asked is logged
        with each change."""
        if self._published is None:
            self._published = dict(self._overrides)
        limits, on_kafka_4 = dict[Overrides, TopicLimits](), dict[Overrides, TopicLimits]()
        for overrides in self._same:
            if (known := self._together(overrides, brokers)) is not None:
                limits[overrides], on_kafka_4[overrides] = known.limits, known.on_kafka_4
        now = LimitsOf(self._published, limits)
        self._log_changes(now, why)
        return now, LimitsOf(self._published, on_kafka_4)

    def _together(self, overrides: Overrides, brokers: Mapping[int, Given | None]) -> Together | None:
        """The limits, or None if the value of some broker is not understood."""
        try:
            return together(overrides, self._given, brokers)
        except ValueError as error:
            self._log_once(BROKER_LIMITS_NOT_UNDERSTOOD, "", error=str(error))
            return None

    def _log_changes(self, now: LimitsOf, why: str) -> None:
        before, self._in_force = self._in_force, now
        topics, self._changed = self._changed | now.moved_since(before), set()
        pairs = ((topic, before.get(topic), now.get(topic)) for topic in sorted(topics))
        for topic, old, new in islice(((t, old, new) for t, old, new in pairs if old and new), MAX_LOGGED):
            if shown := changes(old, new):
                TOPIC_LIMITS_CHANGED(topic=topic, old=shown[0], new=shown[1], learnt_by=why)

    def _log_once(self, event: LogEvent, topic: str, **facts: object) -> None:
        if (event.name, topic) not in self._logged and self._logged.add((event.name, topic), None):
            event(topic=topic, **facts)
