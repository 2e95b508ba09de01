"""The rules for timestamps, as configured (`Policy`) and as they hold for one topic of one client.

`Policy` has the configuration's own shape: rules, waivers, a candidate. Matching it against a topic and a
peer gives a `TopicPolicy` (`policy.resolve`), which is all that a verdict depends on. So matching costs once
for each topic and connection, and never for a batch.

Sources: KIP-32 (one difference for both sides), KIP-937 (two limits; the first draft's constant),
KIP-1030 (one hour ahead by default), KIP-228 (-1, zero and negative times).
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network
from typing import Final

from tsproxy.model.custom_rule import CustomRule
from tsproxy.model.verdict import TopicLimits

HOUR_MS: Final = 3_600_000

FAR_BEHIND_MS: Final = 3_650 * 24 * HOUR_MS
"""Ten years: so far behind the clock a time is more likely a mistake, such as seconds for milliseconds, than
a time. A preset that is the candidate counts what lies beyond it where the limits in force allow any."""

TOPIC_LIMITS: Final = "topic-limits"
"""The name under which a topic's own configuration, or the file's defaults, decides."""
CANDIDATE: Final = "candidate"
"""The name under which the candidate limits decide."""
INTERNAL_TOPICS: Final = "internal-topics"
"""The name under which internal topics are left alone."""


class Mode(StrEnum):
    """The reaction to bad timestamps: reject them, only count them, or ignore them."""

    ENFORCE = "enforce"
    AUDIT = "audit"
    OFF = "off"


class LimitsFrom(StrEnum):
    """The source of a topic's limits."""

    BROKER = "broker"
    CONFIG = "config"
    STRICTER = "stricter"


class Preset(StrEnum):
    """Ready-made limits."""

    KAFKA_4 = "kafka-4"
    """The topic's limits as a 4.x broker computes them (KIP-1030)."""
    KIP_937_DRAFT = "kip-937-draft"
    """The first draft of KIP-937: nothing more than an hour ahead, rejected in that draft's own words."""


class Choice(StrEnum):
    """The reaction to a timestamp that brokers accept and an operator may not want."""

    ACCEPT = "accept"
    REJECT = "reject"
    STAMP = "stamp"
    """It becomes the proxy's clock; for records without a time only."""


class OnViolation(StrEnum):
    """The reaction to a batch with bad timestamps."""

    REJECT = "reject"
    REPAIR = "repair"
    """Convert unit mistakes, and reject all others."""
    STAMP = "stamp"
    """Replace bad timestamps with the proxy's clock."""


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """A limit that is given: `max_ms` None for unlimited. (No TimeLimit at all: not given.)"""

    max_ms: int | None


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A glob (`orders-*`) or a regular expression between slashes, and what was written.

    A name of more than `most_characters`, where they are given, does not fit.
    """

    text: str
    regex: re.Pattern[str]
    most_characters: int | None = None

    def fits(self, name: str | None) -> bool:
        if name is None or (self.most_characters is not None and len(name) > self.most_characters):
            return False
        return self.regex.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class Match:
    """The clients and topics of a rule: all fields that are not empty must fit, each by any of its
    patterns."""

    topics: tuple[NamePattern, ...] = ()
    client_ids: tuple[NamePattern, ...] = ()
    principals: tuple[NamePattern, ...] = ()
    addresses: tuple[IPv4Network | IPv6Network, ...] = ()
    client_software: tuple[NamePattern, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """The settings of a rule, the defaults or the candidate; None is left to the next level."""

    mode: Mode | None = None
    preset: Preset | None = None
    before: TimeLimit | None = None
    after: TimeLimit | None = None
    no_timestamp: Choice | None = None
    zero: Choice | None = None
    negative: Choice | None = None
    extended_timestamps: bool | None = None
    on_violation: OnViolation | None = None
    keep_original_time: bool | None = None
    keep_both_times: bool | None = None
    dead_letters: bool | None = None
    custom_rules: tuple[CustomRule, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """`place` is its position in the file, for explanations."""

    name: str
    match: Match
    settings: RuleSettings
    place: str = ""


@dataclass(frozen=True, slots=True)
class Waiver:
    """Batches that it matches are only counted, up to (and not including) `until_ms`; then it has no
    effect."""

    name: str
    match: Match
    until_ms: int
    owner: str
    reason: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class Policy:
    """The whole policy. The first of `rules` that fits holds; `defaults` fill what it leaves open."""

    mode: Mode = Mode.ENFORCE
    limits_from: LimitsFrom = LimitsFrom.BROKER
    clock_tolerance_ms: int = 0
    defaults: RuleSettings = RuleSettings()
    candidate: RuleSettings | None = None
    rules: tuple[Rule, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    names_unit: bool = False
    """The error text names the unit that a rejected timestamp seems to be in."""
    is_suspended: bool = False
    """True while nothing is to be enforced, because the clock is not one to judge by."""

    @property
    def is_off(self) -> bool:
        """True where nothing is judged for anybody."""
        modes = {rule.settings.mode or self.mode for rule in self.rules}
        return modes | {self.mode} == {Mode.OFF}

    @property
    def has_dead_letters(self) -> bool:
        """True where somebody's rejected records are to be copied."""
        return any(
            settings.dead_letters for settings in (self.defaults, *(rule.settings for rule in self.rules))
        )

    @property
    def follows_stream_time(self) -> bool:
        """True where that is so for some topic of some client."""
        return any(custom.follows_stream_time for rule in self.rules for custom in rule.settings.custom_rules)

    @property
    def asks_broker(self) -> bool:
        """True where the limits of topics are to be read from the brokers."""
        return not self.is_off and self.limits_from is not LimitsFrom.CONFIG


@dataclass(frozen=True, slots=True)
class TopicPolicy:
    """The rules for the records of one client for one topic.

    `limits` are in force, None where none are known: the range is then left to the broker. `candidate`
    is judged beside them and never enforced, None where there is none, or where it forbids no more.
    It holds until the clock shows `until_ms` (None: until something is configured anew).
    """

    mode: Mode = Mode.ENFORCE
    limits: TopicLimits | None = None
    candidate: TopicLimits | None = None
    no_timestamp: Choice = Choice.ACCEPT
    zero: Choice = Choice.ACCEPT
    negative: Choice = Choice.ACCEPT
    extended_timestamps: bool = False
    """A batch with bit 6 set is read as KIP-228 would have had it, and is forwarded without the bit."""
    on_violation: OnViolation = OnViolation.REJECT
    keep_original_time: bool = False
    """A repaired record gets a header with the time that it came with."""
    keep_both_times: bool = False
    """Every accepted record gets a header with the time at which it arrived."""
    dead_letters: bool = False
    """The culprits of a rejected batch are copied to the dead letter topic."""
    speaks_as_draft: bool = False
    """Error texts are those of KIP-937's first draft."""
    names_unit: bool = False
    custom_rules: tuple[CustomRule, ...] = ()
    """They are asked in turn about batches that everything else accepts."""
    rule: str = TOPIC_LIMITS
    waiver: str | None = None
    until_ms: int | None = None
    is_known: bool = True
    """False where the topic's own limits are not known yet."""

    @property
    def rejects_special_timestamps(self) -> bool:
        """True where -1, zero or negative times are rejected whatever the bounds."""
        return Choice.REJECT in (self.no_timestamp, self.zero, self.negative)

    @property
    def needs_only_range(self) -> bool:
        """True where a record can be wrong only for a timestamp outside `limits`, and is rejected in a
        broker's words. (Custom rules come after that: they have a check of their own.)"""
        if self.limits is None or self.limits.is_compacted or self.rejects_special_timestamps:
            return False
        return not (self.speaks_as_draft or self.names_unit)

    @property
    def follows_stream_time(self) -> bool:
        """True where one of its rules is to be told the newest time of each partition."""
        return any(custom.follows_stream_time for custom in self.custom_rules)

    @property
    def rewrites(self) -> bool:
        """True where a batch may leave otherwise than it came."""
        return self.rewrites_any or (self.mode is Mode.ENFORCE and self.extended_timestamps)

    @property
    def rewrites_any(self) -> bool:
        """True where that may become of a batch with nothing odd in its header."""
        return self.mode is Mode.ENFORCE and (
            self.keep_both_times
            or self.no_timestamp is Choice.STAMP
            or self.on_violation is not OnViolation.REJECT
        )


NO_POLICY: Final = Policy()
"""The topics' own limits, enforced, and nothing else."""
NO_TOPIC_POLICY: Final = TopicPolicy()
