"""The rules for timestamps: as configured (`Policy`), and for one topic of one client (`TopicPolicy`).

`Policy` has the shape of the configuration: rules, waivers, a candidate. `policy.resolve` matches it against
a topic and a client and returns a `TopicPolicy`. A verdict depends on no other part of the policy. So
matching is done once for each topic and connection, and never for a batch.

Sources: KIP-32 (one difference for both sides), KIP-937 (two limits; the first draft's constant), KIP-1030
(one hour ahead by default), KIP-228 (-1, zero and negative timestamps).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network
from typing import Final, Protocol

from tsproxy.model.custom_rule import CustomRule
from tsproxy.model.verdict import TopicLimits

HOUR_MS: Final = 3_600_000

FAR_BEHIND_MS: Final = 3_650 * 24 * HOUR_MS
"""Ten years. A timestamp that is older is probably a mistake, such as seconds instead of milliseconds. If the
limits in force allow any age, a candidate with a preset counts the records that are older."""

TOPIC_LIMITS: Final = "topic-limits"
"""The rule's name in the decision log if a topic's own configuration, or the file's defaults, decide."""
CANDIDATE: Final = "candidate"
"""The rule's name if the candidate limits decide."""
INTERNAL_TOPICS: Final = "internal-topics"
"""The rule's name if no rule names an internal topic: its timestamps are not judged."""


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
    """The first draft of KIP-937: at most an hour ahead, rejected in the words of that draft."""


class Choice(StrEnum):
    """The reaction to a special timestamp, which an operator may reject even if the limits allow it."""

    ACCEPT = "accept"
    REJECT = "reject"
    STAMP = "stamp"
    """Replace it with the proxy's clock. This is only for records without a timestamp."""


class OnViolation(StrEnum):
    """The reaction to a batch with bad timestamps."""

    REJECT = "reject"
    REPAIR = "repair"
    """Convert unit mistakes, and reject all others."""
    STAMP = "stamp"
    """Replace bad timestamps with the proxy's clock."""


REPAIRING: Final = (OnViolation.REPAIR, OnViolation.STAMP)
"""The reactions that change a batch instead of rejecting it."""


class Inspect(StrEnum):
    """The compressed batches that are read."""

    ALL = "all"
    AUTO = "auto"
    """`adaptive` for a topic whose brokers reject all that the proxy would reject, else `all`. Only in the
    first case has a TopicPolicy this value."""
    ADAPTIVE = "adaptive"
    """All batches, until a hundred in a row were in order. Then one batch of a hundred is read, and the
    others are judged by their header."""


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """A limit that is given. `max_ms` is None if it is unlimited. A limit that is not given is no
    TimeLimit."""

    max_ms: int | None


class NameRegex(Protocol):
    """A compiled pattern, such as `re.Pattern[str]`."""

    def fullmatch(self, name: str, /) -> object | None:
        """Something if the whole name fits, None if it does not."""


_WILD: Final = re.compile(r"[*?\[]")
"""The signs of a glob that fits more than one name."""


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A glob (`orders-*`) or a regular expression between slashes. `text` is the pattern as it was written. A
    name with more than `most_characters` does not fit; None allows any length.
    """

    text: str
    regex: NameRegex
    most_characters: int | None = None

    @property
    def steps(self) -> int:
        """The most steps that one try takes. A step is about a fifth of a microsecond."""
        if self.most_characters is not None:
            return -(-self.most_characters // 10)
        return 7 if _WILD.search(self.text) else 1

    def fits(self, name: str | None) -> bool:
        if name is None or (self.most_characters is not None and len(name) > self.most_characters):
            return False
        return self.regex.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class Match:
    """The clients and topics of a rule. All fields that are not empty must fit. A field fits if any of its
    patterns fits."""

    topics: tuple[NamePattern, ...] = ()
    client_ids: tuple[NamePattern, ...] = ()
    principals: tuple[NamePattern, ...] = ()
    addresses: tuple[IPv4Network | IPv6Network, ...] = ()
    client_software: tuple[NamePattern, ...] = ()

    @property
    def topic_steps(self) -> int:
        return 1 + sum(pattern.steps for pattern in self.topics)

    @property
    def client_steps(self) -> int:
        patterns = (*self.client_ids, *self.principals, *self.client_software)
        return 1 + len(self.addresses) + sum(pattern.steps for pattern in patterns)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that a rule and the policy for a topic have in common. `policy.resolve` copies them.

    If a setting of a rule is None, that of the defaults holds. If this is None too, the proxy does what a
    broker does. A setting that rejects records is a `Choice`. A `bool` setting changes or copies records.
    """

    dead_letters: bool | None = None
    """The culprits of a rejected batch are copied to the dead letter topic."""
    keep_both_times: bool | None = None
    """Every accepted record gets a header with the time at which it arrived. Batches that are not read, or
    cannot be rewritten, are not rejected for it: the header is a convenience."""
    no_timestamp: Choice | None = None
    zero: Choice | None = None
    negative: Choice | None = None
    on_violation: OnViolation | None = None
    keep_original_time: bool | None = None
    """A repaired record gets a header with its original timestamp."""
    extended_timestamps: bool | None = None
    """A batch with bit 6 is read as KIP-228 proposed, and is forwarded without the bit."""
    inspect_compressed: Inspect | None = None
    """None is `auto`. In a TopicPolicy it is `all` or `adaptive`."""
    custom_rules: tuple[CustomRule, ...] = ()
    """The custom rules judge, one after the other, the batches that all other checks accept."""


SETTINGS: Final = tuple(setting.name for setting in fields(Settings))
"""The names of these settings."""


@dataclass(frozen=True, slots=True)
class RuleSettings(Settings):
    """The settings of a rule, of the defaults or of the candidate."""

    mode: Mode | None = None
    preset: Preset | None = None
    before: TimeLimit | None = None
    after: TimeLimit | None = None


_HOUR_AHEAD: Final = RuleSettings(before=TimeLimit(None), after=TimeLimit(HOUR_MS))
PRESETS: Final[Mapping[Preset, RuleSettings]] = {
    Preset.KAFKA_4: _HOUR_AHEAD,
    Preset.KIP_937_DRAFT: _HOUR_AHEAD,
}
"""The limits of each preset for a topic that has none of its own."""

DEFAULT_CANDIDATE: Final = RuleSettings(preset=Preset.KAFKA_4)
"""The candidate of a file that names none."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the policy. `place` is the rule's position in the file, for explanations."""

    name: str
    match: Match
    settings: RuleSettings
    place: str = ""


@dataclass(frozen=True, slots=True)
class Waiver:
    """Matching batches are only counted before `until_ms`. From then on the waiver has no effect."""

    name: str
    match: Match
    until_ms: int
    owner: str
    reason: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class Policy:
    """The whole policy. The first of `rules` that fits holds. `defaults` are for settings that this rule
    leaves open."""

    mode: Mode = Mode.ENFORCE
    limits_from: LimitsFrom = LimitsFrom.BROKER
    clock_tolerance_ms: int = 0
    defaults: RuleSettings = RuleSettings()
    candidate: RuleSettings | None = None
    rules: tuple[Rule, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    names_unit: bool = False
    """The error text names the probable unit of a rejected timestamp."""
    help: str | None = None
    """The operator's own end of each error text that names a culprit."""
    is_suspended: bool = False
    """True while nothing is enforced, because the clock may be wrong."""
    is_off: bool = field(init=False, repr=False, compare=False)
    """True if no batch of any client is judged."""
    client_steps: int = field(init=False, repr=False, compare=False)
    """The most steps that it takes to find the rules for a client (`NamePattern.steps`)."""
    topic_steps: int = field(init=False, repr=False, compare=False)
    """The most steps that it then takes to find the rule for one topic."""

    def __post_init__(self) -> None:
        """Every request asks for these facts, so they must not take a walk over all rules each time."""
        matches = [rule.match for rule in self.rules] + [waiver.match for waiver in self.waivers]
        modes = {rule.settings.mode or self.mode for rule in self.rules} | {self.mode}
        computed = {
            "is_off": modes == {Mode.OFF},
            "client_steps": sum(match.client_steps for match in matches),
            "topic_steps": sum(match.topic_steps for match in matches),
        }
        for name, value in computed.items():
            object.__setattr__(self, name, value)

    @property
    def has_dead_letters(self) -> bool:
        """True if the rejected records of some topic of some client are copied."""
        return any(
            settings.dead_letters for settings in (self.defaults, *(rule.settings for rule in self.rules))
        )

    @property
    def asks_broker(self) -> bool:
        """True if the limits of topics are read from the brokers."""
        return not self.is_off and self.limits_from is not LimitsFrom.CONFIG


@dataclass(frozen=True, slots=True)
class TopicPolicy(Settings):
    """The rules for the records of one client for one topic.

    `limits` are the limits in force. If they are None, they are not known, and the broker judges the range.
    `file_limits` are those that hold if nobody knows whether the topic has still the same ones: the limits of
    rules, defaults and presets. The limits in `candidate` are judged as well, but never enforced. `candidate`
    is None if the policy has none, or if it would reject nothing that `limits` allow. The policy holds until
    the clock shows `until_ms`, or, if that is None, until the next reload.
    """

    mode: Mode = Mode.ENFORCE
    limits: TopicLimits | None = None
    file_limits: TopicLimits | None = None
    candidate: TopicLimits | None = None
    speaks_as_draft: bool = False
    """Error texts are those of KIP-937's first draft."""
    names_unit: bool = False
    help: str | None = None
    rule: str = TOPIC_LIMITS
    waiver: str | None = None
    until_ms: int | None = None
    is_known: bool = True
    """False if the topic's own limits are not known yet."""
    only_brokers_write: bool = False
    """True for a topic that only brokers write (`TOPICS_OF_BROKERS`): every batch of a client is rejected."""

    @property
    def rejects_special_timestamps(self) -> bool:
        """True if -1, zero or negative timestamps are rejected whatever the limits."""
        return Choice.REJECT in (self.no_timestamp, self.zero, self.negative)

    @property
    def needs_only_range(self) -> bool:
        """True if only a timestamp outside `limits` can make a record a culprit, and the text is the
        broker's. Custom rules do not count, since their check comes after the check of the range."""
        if self.limits is None or self.limits.is_compacted or self.rejects_special_timestamps:
            return False
        return self.speaks_as_broker

    @property
    def speaks_as_broker(self) -> bool:
        """True if the error texts are a broker's to the letter."""
        return not (self.speaks_as_draft or self.names_unit or self.help)

    def helped(self, text: str) -> str:
        """The text for the owner of a culprit, with the operator's end."""
        return f"{text.removesuffix('.')}. {self.help}" if self.help else text

    @property
    def rewrites(self) -> bool:
        """True if a batch may be changed before it is forwarded."""
        return self.rewrites_any or (self.mode is Mode.ENFORCE and self.extended_timestamps is True)

    @property
    def rewrites_any(self) -> bool:
        """True if even a batch with a usual header may be changed."""
        return self.mode is Mode.ENFORCE and (
            self.keep_both_times or self.no_timestamp is Choice.STAMP or self.on_violation in REPAIRING
        )


NO_POLICY: Final = Policy()
"""The topics' own limits are enforced, and nothing else."""
NO_TOPIC_POLICY: Final = TopicPolicy()
