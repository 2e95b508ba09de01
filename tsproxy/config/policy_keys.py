"""The part of the table of keys that says what is wanted of timestamps: `policy`."""

from typing import Final

from tsproxy.config.kinds import (
    BOUND,
    CANDIDATE_PRESET,
    CHOICE,
    CHOICE_OR_STAMP,
    CIDR,
    ENTRY_POINT,
    FAIL,
    INSTANT,
    LIMITS_FROM,
    MODE,
    NAME,
    ON_VIOLATION,
    PATTERN,
    PRESET,
    PRINCIPAL_PATTERN,
    TEXT,
    TOLERANCE,
    TOPIC_PATTERN,
    YES_OR_NO,
    Key,
    OptionalSection,
)


def _live(path: str, kind: object, meaning: str, **more: object) -> Key:
    return Key(path, kind, meaning, is_live=True, **more)  # type: ignore[arg-type]  # passed through


_BEFORE: Final = "message.timestamp.before.max.ms"
_AFTER: Final = "message.timestamp.after.max.ms"
_DIFFERENCE: Final = "message.timestamp.difference.max.ms"


def _match(section: str, whose: str) -> tuple[Key, ...]:
    """Whom a rule or waiver is for; all that are given must fit."""
    return (
        _live(f"{section}.match.topics", TOPIC_PATTERN, f"Topics {whose}.", is_list=True),
        _live(f"{section}.match.client_ids", PATTERN, f"Client ids {whose}.", is_list=True),
        _live(
            f"{section}.match.principals",
            PRINCIPAL_PATTERN,
            f"Principals {whose} (`User:etl`).",
            is_list=True,
        ),
        _live(f"{section}.match.addresses", CIDR, f"Clients' addresses {whose}.", is_list=True),
        _live(
            f"{section}.match.client_software",
            PATTERN,
            f"Clients' libraries {whose}, as `name/version` (KIP-511).",
            is_list=True,
        ),
    )


def _values(section: str, otherwise: str) -> tuple[Key, ...]:
    """What is done about times that brokers take."""
    return (
        _live(
            f"{section}.no_timestamp",
            CHOICE_OR_STAMP,
            "Records without a timestamp (-1); `stamp` gives them the proxy's clock; " + f"{otherwise}.",
        ),
        _live(f"{section}.zero", CHOICE, f"Records whose timestamp is 0; {otherwise}."),
        _live(f"{section}.negative", CHOICE, f"Records whose timestamp is below -1; {otherwise}."),
        _live(
            f"{section}.extended_timestamps",
            YES_OR_NO,
            "Whether a batch with attribute bit 6 set is read as KIP-228 would have had it: -1 a time, "
            "Long.MIN_VALUE none. It goes on in brokers' own reading.",
        ),
    )


def _rewriting(section: str, otherwise: str) -> tuple[Key, ...]:
    """What may be changed of a batch."""
    return (
        _live(
            f"{section}.on_violation",
            ON_VIOLATION,
            "Records with times that are not allowed: `reject` rejects their batch, `repair` converts what "
            "is plainly another unit and rejects the rest, `stamp` gives them the proxy's clock; "
            + f"{otherwise}.",
        ),
        _live(
            f"{section}.keep_original_time",
            YES_OR_NO,
            "Whether a repaired or stamped record gets a header `tsproxy-original-timestamp`.",
        ),
        _live(
            f"{section}.keep_both_times",
            YES_OR_NO,
            "Whether every accepted record gets a header `tsproxy-arrival-timestamp`.",
        ),
    )


def _dead_letters(section: str, otherwise: str) -> Key:
    return _live(
        f"{section}.dead_letters",
        YES_OR_NO,
        "Whether of a batch that is rejected the records at fault are copied to `dead_letters.topic`; "
        + f"{otherwise}.",
    )


POLICY_KEYS: Final = (
    _live(
        "policy.mode",
        MODE,
        "`enforce` rejects bad batches, `audit` counts what it would reject and forwards it untouched, `off` "
        "judges nothing. A rule may have its own.",
        default="enforce",
    ),
    _live(
        "policy.limits_from",
        LIMITS_FROM,
        "`broker`: each topic's own limits; `config`: `policy.defaults` for every topic, where the proxy "
        "may not read how topics are configured; `stricter`: of both the narrower, side by side.",
        default="broker",
    ),
    _live(
        "policy.clock_tolerance",
        TOLERANCE,
        "Every limit is this much wider, for clocks that are not quite together.",
        default="0ms",
    ),
    _live(
        "policy.name_unit",
        YES_OR_NO,
        "Whether the text that a client gets says which unit its time seems to be in.",
        default="no",
    ),
    _live(
        f"policy.defaults.{_BEFORE}",
        BOUND,
        "How far a record may lie behind the clock, with `limits_from: config` or `stricter`; without it "
        "unlimited.",
    ),
    _live(
        f"policy.defaults.{_AFTER}",
        BOUND,
        "How far a record may lie ahead of the clock, with `limits_from: config` or `stricter`; without it "
        "`1h`.",
    ),
    _live(
        f"policy.defaults.{_DIFFERENCE}",
        BOUND,
        "Both of them at once (KIP-32); deprecated, as KIP-937 says.",
    ),
    *_values("policy.defaults", "without it they are accepted"),
    *_rewriting("policy.defaults", "without it `reject`"),
    _dead_letters("policy.defaults", "without it `no`"),
    _live(
        "policy.candidate.preset",
        CANDIDATE_PRESET,
        "Limits judged beside those in force and never enforced: what they would reject is counted. "
        "`kafka-4`: the topic's limits as a 4.x broker computes them.",
        default="kafka-4",
    ),
    _live(
        f"policy.candidate.{_BEFORE}",
        BOUND,
        "The candidate's own limit behind the clock; with a preset and without it `3650d` where records may "
        "be of any age: what looks like a mistake is counted.",
    ),
    _live(f"policy.candidate.{_AFTER}", BOUND, "The candidate's own limit ahead of the clock."),
    _live(f"policy.candidate.{_DIFFERENCE}", BOUND, "Both of them at once; deprecated."),
    _live("policy.rules[].name", NAME, "Names the rule in the decision log.", is_required=True),
    *_match("policy.rules[]", "that the rule is for"),
    _live("policy.rules[].mode", MODE, "The rule's own mode; without it `policy.mode`."),
    _live(
        "policy.rules[].preset",
        PRESET,
        "`kafka-4`: the topic's limits as a 4.x broker computes them; `kip-937-draft`: at most an hour "
        "ahead, rejected in the words of KIP-937's first draft.",
    ),
    _live(f"policy.rules[].{_BEFORE}", BOUND, "The rule's own limit behind the clock."),
    _live(f"policy.rules[].{_AFTER}", BOUND, "The rule's own limit ahead of the clock."),
    _live(f"policy.rules[].{_DIFFERENCE}", BOUND, "Both of them at once; deprecated."),
    *_values("policy.rules[]", "without it `policy.defaults`"),
    *_rewriting("policy.rules[]", "without it `policy.defaults`"),
    _dead_letters("policy.rules[]", "without it `policy.defaults`"),
    _live(
        "policy.rules[].max_jump_ahead",
        TOLERANCE,
        "How far a record may lie ahead of the newest one before it in its partition, and of the time passed "
        "since (stream time); asked about what all else lets pass.",
    ),
    _live(
        "policy.rules[].rule",
        ENTRY_POINT,
        "A rule of your own, by its name in the entry point group `tsproxy.rules`; asked about what all else "
        "lets pass.",
    ),
    _live(
        "policy.rules[].fail",
        FAIL,
        "What becomes of a batch about which `rule` could not answer; without it `closed`: it is rejected.",
    ),
    _live("policy.waivers[].name", NAME, "Names the waiver in the decision log.", is_required=True),
    *_match("policy.waivers[]", "that are let pass"),
    _live(
        "policy.waivers[].until",
        INSTANT,
        "When it ends; from then on it is inert.",
        is_required=True,
    ),
    _live("policy.waivers[].owner", TEXT, "Who answers for it.", is_required=True),
    _live("policy.waivers[].reason", TEXT, "Why it is there.", is_required=True),
)

POLICY_OPTIONAL: Final = (
    OptionalSection("policy.rules[]", "The first rule that fits is taken, in this order.", is_live=True),
    OptionalSection(
        "policy.waivers[]",
        "What these match is judged and counted, and forwarded whatever is found, until they end.",
        is_live=True,
    ),
)
