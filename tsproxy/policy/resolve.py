"""The settings of a policy for one topic of one client: `resolve`.

The first rule that matches, in the order of the file, holds. The rules for a client are found once for each
client (`ClientPolicy`), and then one of these once for each topic and connection (`session.policies`). So a
thousand rules cost little, and a long name is tried once.

**Long names.** Kafka allows a client id of 32,767 bytes. Rules see its first NAME_CHARS characters, and so
they do of a library's name. So a client with a longer id gets the rules of the client with that beginning. It
gains nothing: it could have sent the beginning alone. In particular, it cannot make itself fit fewer
patterns by adding characters. (If a longer id matched no pattern, it would leave a stricter rule for `*` or
`app-*`.) A principal is proven, so all of it is compared. No topic has a name that Kafka does not allow, so
no pattern for topics fits such a name, and none is tried.
"""

from collections.abc import Iterable
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address
from operator import attrgetter
from typing import Any, Final

from tsproxy.model.addresses import any_contains, canonical
from tsproxy.model.kafka import INT_MAX, LONG_MAX, TOPICS_OF_BROKERS, TimestampType, is_topic_name
from tsproxy.model.names import NAME_CHARS
from tsproxy.model.outcome import Peer
from tsproxy.model.policy import (
    DEFAULT_CANDIDATE,
    FAR_BEHIND_MS,
    INTERNAL_TOPICS,
    PRESETS,
    SETTINGS,
    TOPIC_LIMITS,
    Inspect,
    LimitsFrom,
    Match,
    Mode,
    NamePattern,
    Policy,
    Preset,
    Rule,
    RuleSettings,
    TopicPolicy,
    Waiver,
)
from tsproxy.model.verdict import TopicLimits
from tsproxy.policy.strictness import is_wider

_values: Final = attrgetter(*SETTINGS)

_NO_SETTINGS: Final = RuleSettings()
"""The settings of a topic without a rule. Shared: creating them per topic cost 8% of `resolve`."""

_NO_LIMITS: Final = TopicLimits(max_message_bytes=INT_MAX)
"""The limits of a topic whose configuration is not known. The broker then checks sizes."""

_INTERNAL_STARTS: Final = ("__", "mm2-offset-syncs.", "mm2-offsets.", "mm2-configs.", "mm2-status.")
_INTERNAL_ENDS: Final = ("-changelog", "-repartition", ".checkpoints.internal", ".heartbeats")
_INTERNAL_NAMES: Final = frozenset({"heartbeats"})


def is_internal(name: str) -> bool:
    """True for topics that Kafka, Kafka Streams and MirrorMaker write for themselves. Their timestamps are
    old, or the application's own, and a rejection would stop a whole application (KAFKA-4907, KAFKA-5344)."""
    return name.startswith(_INTERNAL_STARTS) or name.endswith(_INTERNAL_ENDS) or name in _INTERNAL_NAMES


class ClientPolicy:
    """The policy for one client: the rules and waivers that fit the client, in the order of the file."""

    __slots__ = ("_policy", "_rules", "_waivers")

    def __init__(self, policy: Policy, peer: Peer) -> None:
        self._policy = policy
        address = canonical(peer.client_address)
        self._rules = tuple(rule for rule in policy.rules if _fits_client(rule.match, peer, address))
        self._waivers = tuple(
            waiver for waiver in policy.waivers if _fits_client(waiver.match, peer, address)
        )

    def first_rule(self, topic: str) -> Rule | None:
        return _first_that_fits(self._rules, topic)

    def active_waiver(self, topic: str, now_ms: int) -> Waiver | None:
        is_name = is_topic_name(topic)
        for waiver in self._waivers:
            patterns = waiver.match.topics
            if now_ms < waiver.until_ms and (not patterns or (is_name and _any_fits(patterns, topic))):
                return waiver
        return None

    def resolve(
        self, topic: str, known: TopicLimits | None, on_kafka_4: TopicLimits | None, now_ms: int
    ) -> TopicPolicy:
        """The policy for one topic. `known` are the topic's own limits, None if no broker has described it
        yet. `on_kafka_4` are the same limits as a 4.x broker would compute them."""
        policy, rule = self._policy, self.first_rule(topic)
        is_known = known is not None or not policy.asks_broker
        if topic in TOPICS_OF_BROKERS:
            return _of_brokers(policy, rule)
        if rule is None and is_internal(topic):
            return TopicPolicy(mode=Mode.OFF, limits=known, rule=INTERNAL_TOPICS, is_known=is_known)
        settings, defaults = rule.settings if rule else _NO_SETTINGS, policy.defaults
        name = rule.name if rule else TOPIC_LIMITS
        mode = settings.mode or policy.mode
        if mode is Mode.OFF:
            return TopicPolicy(mode=mode, limits=known, rule=name, is_known=is_known)
        waiver = self.active_waiver(topic, now_ms)
        limits = _limits(policy, settings, known, on_kafka_4)
        is_own = known is not None and policy.asks_broker
        if known is not None and known.timestamp_type is TimestampType.LOG_APPEND_TIME:
            settings, defaults = _for_brokers_time(settings), _for_brokers_time(defaults)
        resolved = TopicPolicy(
            mode=Mode.AUDIT if waiver or policy.is_suspended else mode,
            limits=limits,
            file_limits=_file_limits(policy, settings, limits, on_kafka_4, is_own=is_own),
            candidate=_candidate(policy, limits, on_kafka_4) if is_known else None,
            **_settings(settings, defaults),
            speaks_as_draft=settings.preset is Preset.KIP_937_DRAFT,
            names_unit=policy.names_unit,
            help=policy.help,
            rule=name,
            waiver=waiver.name if waiver else None,
            until_ms=waiver.until_ms if waiver else None,
            is_known=is_known,
        )
        if resolved.inspect_compressed in (None, Inspect.AUTO):
            return replace(resolved, inspect_compressed=_inspected(policy, known, resolved))
        return resolved


def resolve(
    policy: Policy,
    peer: Peer,
    topic: str,
    known: TopicLimits | None,
    on_kafka_4: TopicLimits | None,
    now_ms: int,
) -> TopicPolicy:
    """The policy for one topic of one client, if only one topic matters."""
    return ClientPolicy(policy, peer).resolve(topic, known, on_kafka_4, now_ms)


def _of_brokers(policy: Policy, rule: Rule | None) -> TopicPolicy:
    """The policy for a topic that only brokers write. Nothing but the mode matters. A waiver allows
    timestamps, not topics, and a wrong clock does not matter either."""
    mode = (rule.settings.mode if rule else None) or policy.mode
    return TopicPolicy(mode=mode, rule=rule.name if rule else INTERNAL_TOPICS, only_brokers_write=True)


def _settings(settings: RuleSettings, defaults: RuleSettings) -> dict[str, Any]:
    levels = zip(_values(settings), _values(defaults), strict=True)
    values = [below if value is None else value for value, below in levels]
    return dict(zip(SETTINGS, values, strict=True))


def _for_brokers_time(settings: RuleSettings) -> RuleSettings:
    """The settings for a topic whose brokers replace every timestamp with their own."""
    return RuleSettings(
        dead_letters=settings.dead_letters,
        extended_timestamps=settings.extended_timestamps,  # bit 6 must be cleared even then
        inspect_compressed=settings.inspect_compressed,
    )


def may_fit_topic(rule: Rule, topic: str) -> bool:
    """True if the rule may fit this topic for some client."""
    return _first_that_fits((rule,), topic) is not None


def _first_that_fits(rules: Iterable[Rule], topic: str) -> Rule | None:
    """The first rule that may fit the topic for some client. A rule fits an internal topic only if the text
    of a matching pattern is an internal name (`__*`, `*-changelog`). So `*` does not fit internal topics by
    accident.

    There may be hundreds of rules for each new topic of each connection.
    """
    is_name, is_own = is_topic_name(topic), is_internal(topic)
    for rule in rules:
        patterns = rule.match.topics
        fits = not patterns or (is_name and _any_fits(patterns, topic))
        if fits and (not is_own or _names(rule.match, topic)):
            return rule
    return None


def _fits_client(match: Match, peer: Peer, address: IPv4Address | IPv6Address | None) -> bool:
    """True if `match` may fit this client for some topic. `address` is the client's, `canonical`."""
    return (
        (not match.client_ids or _any_fits(match.client_ids, _claimed(peer.client_id)))
        and (not match.principals or _any_fits(match.principals, peer.principal))
        and (not match.client_software or _any_fits(match.client_software, _claimed(peer.client_software)))
        and (not match.addresses or any_contains(match.addresses, address))
    )


def _claimed(name: str | None) -> str | None:
    """The part of a name that rules see, if a client may choose the name freely."""
    return None if name is None else name[:NAME_CHARS]


def _any_fits(patterns: tuple[NamePattern, ...], name: str | None) -> bool:
    for pattern in patterns:  # noqa: SIM110 (`any` makes a generator, which costs more than most patterns)
        if pattern.fits(name):
            return True
    return False


def _names(match: Match, topic: str) -> bool:
    return any(is_internal(p.text.strip("/")) and p.fits(topic) for p in match.topics)


def _limits(
    policy: Policy, settings: RuleSettings, known: TopicLimits | None, on_kafka_4: TopicLimits | None
) -> TopicLimits | None:
    """The rule's own limits, else those of `limits_from`, plus the clock tolerance."""
    match policy.limits_from:
        case LimitsFrom.CONFIG:
            below: TopicLimits | None = _bounded(_NO_LIMITS, policy.defaults)
        case LimitsFrom.BROKER:
            below = known
        case LimitsFrom.STRICTER:
            below = _stricter(known or _NO_LIMITS, policy.defaults)
    limits = _preset(settings.preset, below, on_kafka_4)
    if settings.before or settings.after:  # a rule's own limit holds even if the topic's are not known yet
        limits = _bounded(limits or _NO_LIMITS, settings)
    return _widened(limits, policy.clock_tolerance_ms)


def _file_limits(
    policy: Policy,
    settings: RuleSettings,
    limits: TopicLimits | None,
    on_kafka_4: TopicLimits | None,
    *,
    is_own: bool,
) -> TopicLimits | None:
    """The part of `limits` that holds without an answer about the topic. `is_own`: there was an answer."""
    if is_own:
        return _limits(policy, settings, None, on_kafka_4)
    if policy.asks_broker and settings.preset is Preset.KAFKA_4:
        return _limits(policy, replace(settings, preset=None), None, None)
    return limits


def _inspected(policy: Policy, known: TopicLimits | None, resolved: TopicPolicy) -> Inspect:
    """AUTO, or ALL if every compressed batch must be read with `auto`.

    A broker reads every record. So all batches are read only where the proxy would say something that the
    broker does not: its limits are stricter than the broker's, a candidate was asked for, or its error texts
    are its own. The candidate of a file that names none counts only what is read.
    """
    limits = resolved.limits
    has_own_candidate = policy.candidate not in (None, DEFAULT_CANDIDATE)
    if known is None or limits is None or has_own_candidate or not resolved.speaks_as_broker:
        return Inspect.ALL
    # A broker's arithmetic wraps, so it accepts some times that the operator's `before` does not, and no
    # header shows that there is none.
    is_older_rejected = limits.is_before_own and limits.before_max_ms is not None
    is_newer_rejected = is_wider(known.after_max_ms, limits.after_max_ms)
    return Inspect.ALL if is_older_rejected or is_newer_rejected else Inspect.AUTO


def _candidate(
    policy: Policy, limits: TopicLimits | None, on_kafka_4: TopicLimits | None
) -> TopicLimits | None:
    """The candidate limits; None if they would reject nothing that the limits in force accept."""
    settings = policy.candidate
    if settings is None or limits is None:
        return None
    preset = _preset(settings.preset, limits, on_kafka_4) or limits
    if settings.preset is not None and limits.before_max_ms is None:
        # Presets do not limit old records. If an operator has set a limit, it holds, however long it is.
        preset = replace(preset, before_max_ms=_least(preset.before_max_ms, FAR_BEHIND_MS))
    candidate = _widened(_bounded(preset, settings), policy.clock_tolerance_ms)
    if candidate is None or not candidate.is_limited:
        return None
    is_older_rejected = is_wider(limits.before_max_ms, candidate.before_max_ms)
    is_newer_rejected = is_wider(limits.after_max_ms, candidate.after_max_ms)
    return candidate if is_older_rejected or is_newer_rejected else None


def _preset(
    preset: Preset | None, below: TopicLimits | None, on_kafka_4: TopicLimits | None
) -> TopicLimits | None:
    match preset:
        case None:
            return below
        case Preset.KAFKA_4:
            # Without an answer, the preset assumes that neither topic nor broker has set a limit.
            return on_kafka_4 or _bounded(below or _NO_LIMITS, PRESETS[preset], is_own=False)
        case Preset.KIP_937_DRAFT:
            return _bounded(below or _NO_LIMITS, PRESETS[preset], is_own=False)


def _bounded(limits: TopicLimits, settings: RuleSettings, *, is_own: bool = True) -> TopicLimits:
    """The limits, replaced by the limits of `settings` where these are given. `is_own`: the operator has set
    them. A preset has none: it computes as brokers do."""
    if settings.before:
        limits = replace(limits, before_max_ms=settings.before.max_ms, is_before_own=is_own)
    if settings.after:
        limits = replace(limits, after_max_ms=settings.after.max_ms, is_after_own=is_own)
    return limits


def _stricter(limits: TopicLimits, settings: RuleSettings) -> TopicLimits:
    ours = _bounded(_NO_LIMITS, settings)
    return replace(
        limits,
        before_max_ms=_least(limits.before_max_ms, ours.before_max_ms),
        after_max_ms=_least(limits.after_max_ms, ours.after_max_ms),
        is_before_own=not is_wider(ours.before_max_ms, limits.before_max_ms),
        is_after_own=not is_wider(ours.after_max_ms, limits.after_max_ms),
    )


def _least(one_ms: int | None, other_ms: int | None) -> int | None:
    return min((limit_ms for limit_ms in (one_ms, other_ms) if limit_ms is not None), default=None)


def _widened(limits: TopicLimits | None, tolerance_ms: int) -> TopicLimits | None:
    if limits is None or not tolerance_ms:
        return limits
    return replace(
        limits,
        before_max_ms=_wider(limits.before_max_ms, tolerance_ms),
        after_max_ms=_wider(limits.after_max_ms, tolerance_ms),
    )


def _wider(bound_ms: int | None, tolerance_ms: int) -> int | None:
    """The limit plus the tolerance. None (unlimited) if the sum is Long.MAX or more, as in Kafka: a topic's
    own limit may be just below it."""
    return None if bound_ms is None or bound_ms + tolerance_ms >= LONG_MAX else bound_ms + tolerance_ms
