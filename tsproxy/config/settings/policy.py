"""`policy`: the keys of rules, waivers and candidate limits, by the fields of `model.policy`."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from tsproxy.config.keys import Keys, keys_for, live, section
from tsproxy.config.kinds import (
    BOUND,
    CIDR,
    ENTRY_POINT,
    HELP,
    INSTANT,
    NAME,
    NOTE,
    PATTERN,
    PRINCIPAL_PATTERN,
    TOLERANCE,
    TOPIC_PATTERN,
    YES_OR_NO,
    choice,
    or_word,
)
from tsproxy.model.custom_rule import OnError
from tsproxy.model.policy import (
    DEFAULT_CANDIDATE,
    Choice,
    Inspect,
    LimitsFrom,
    Match,
    Mode,
    OnViolation,
    Policy,
    Preset,
    Rule,
    RuleSettings,
    Waiver,
)

BEFORE: Final = "message.timestamp.before.max.ms"
AFTER: Final = "message.timestamp.after.max.ms"

_optional: Final = partial(live, default=None)
_ACCEPT_OR_REJECT: Final = choice((Choice.ACCEPT, Choice.REJECT))


def _limits(before: str, after: str) -> Mapping[str, Any]:
    """Kafka's two keys (KIP-937)."""
    return {BEFORE: _optional(BOUND, before), AFTER: _optional(BOUND, after)}


def _match() -> Keys:
    """The keys for the clients and topics of a rule or waiver. All keys that are given must fit."""
    pattern = partial(_optional, many=True)
    return keys_for(
        Match,
        {
            "topics": pattern(TOPIC_PATTERN, "Topics."),
            "client_ids": pattern(PATTERN, "Client ids."),
            "principals": pattern(PRINCIPAL_PATTERN, "Principals (`User:etl`)."),
            "addresses": pattern(CIDR, "Clients' addresses."),
            "client_software": pattern(PATTERN, "Clients' libraries, as `name/version` (KIP-511)."),
        },
    )


def _settings() -> Mapping[str, Any]:
    """The keys that the defaults and every rule have. Each text ends with the value that holds if neither
    has the key."""
    return {
        "no_timestamp": _optional(
            choice(Choice),
            "Records without a timestamp (-1); `stamp` sets the proxy's clock. Default: `accept`.",
        ),
        "zero": _optional(_ACCEPT_OR_REJECT, "Records whose timestamp is 0. Default: `accept`."),
        "negative": _optional(
            _ACCEPT_OR_REJECT,
            "Records whose timestamp is below -1. Default: `accept`.",
        ),
        "extended_timestamps": _optional(
            YES_OR_NO,
            "Whether a batch with attribute bit 6 is read as KIP-228 proposed: -1 is a timestamp, "
            "Long.MIN_VALUE is none.",
        ),
        "on_violation": _optional(
            choice(OnViolation),
            "Timestamps that are not allowed: `repair` converts those plainly in another unit and rejects "
            "the rest, `stamp` sets the proxy's clock. Default: `reject`.",
        ),
        "keep_original_time": _optional(
            YES_OR_NO, "Whether a repaired or stamped record gets a header `tsproxy-original-timestamp`."
        ),
        "keep_both_times": _optional(
            YES_OR_NO,
            "Whether every accepted record that can be rewritten gets a header `tsproxy-arrival-timestamp`.",
        ),
        "dead_letters": _optional(
            YES_OR_NO,
            "Whether the culprits of a rejected batch are copied to `dead_letters.topic`. Default: `no`.",
        ),
        "inspect_compressed": _optional(
            choice(Inspect),
            "Which compressed batches are read: `all`; `adaptive`: a sample, if the producer is in order; "
            "`auto`: `adaptive` where the broker rejects all that the proxy would, else `all`. Default: "
            "`auto`.",
            path="inspect.compressed",
        ),
    }


DEFAULTS: Final = keys_for(
    RuleSettings,
    {
        **_limits(
            "How far a record may lie behind the clock, with `limits_from: config` or `stricter`. Default: "
            "`unlimited`.",
            "The same ahead of the clock. Default: `1h`.",
        ),
        **_settings(),
    },
)

CANDIDATE: Final = keys_for(
    RuleSettings,
    {
        "preset": live(
            or_word(choice(Preset), "none"),
            "Limits that are never enforced: the proxy counts what they would reject.",
            default=str(DEFAULT_CANDIDATE.preset),
        ),
        **_limits(
            "The candidate's own limit behind the clock.",
            "The candidate's own limit ahead of the clock.",
        ),
    },
)

RULE: Final = keys_for(
    RuleSettings,
    {
        "name": live(NAME, "Names the rule in the decision log."),
        "match": section(Match, _match()),
        "mode": _optional(choice(Mode), "The rule's own mode; without it `policy.mode`."),
        "preset": _optional(
            choice(Preset),
            "`kafka-4`: the topic's limits as a 4.x broker computes them; `kip-937-draft`: those of "
            "KIP-937's first draft.",
        ),
        **_limits(
            "The rule's own limit behind the clock.",
            "The rule's own limit ahead of the clock.",
        ),
        **_settings(),
        "rule": _optional(
            ENTRY_POINT,
            "A custom rule, by its name in the entry point group `tsproxy.rules`. It is checked last.",
        ),
        "fail": _optional(
            choice(OnError),
            "Whether a batch is forwarded (`open`) or rejected (`closed`) when `rule` fails; without it "
            "`closed`.",
        ),
    },
)
"""The keys of one rule: its name, its match, and its `RuleSettings`."""

WAIVER: Final = keys_for(
    Waiver,
    {
        "name": live(NAME, "Names the waiver in the decision log."),
        "match": section(Match, _match()),
        "until_ms": live(INSTANT, "When the waiver ends."),
        "owner": live(NOTE, "Who is responsible for it."),
        "reason": live(NOTE, "Why it is needed."),
    },
)

POLICY: Final = keys_for(
    Policy,
    {
        "mode": live(
            choice(Mode),
            "`enforce` rejects bad batches, `audit` counts and forwards them, `off` judges nothing. A rule "
            "may have its own.",
        ),
        "limits_from": live(
            choice(LimitsFrom),
            "`broker`: each topic's own limits; `config`: `policy.defaults` for every topic; `stricter`: the "
            "narrower of both, for each side.",
        ),
        "clock_tolerance_ms": live(TOLERANCE, "Every limit is wider by this much."),
        "names_unit": live(
            YES_OR_NO,
            "Whether the error text names the unit that a timestamp seems to be in.",
            path="name_unit",
        ),
        "help": _optional(
            HELP,
            "The end of each error text that names a bad record, such as the address of a page. It is one "
            "line, and every client sees it.",
        ),
        "defaults": section(RuleSettings, DEFAULTS),
        "candidate": section(RuleSettings, CANDIDATE),
        "rules": section(
            Rule, RULE, many=True, optional="The first rule that fits holds, in this order.", live=True
        ),
        "waivers": section(
            Waiver,
            WAIVER,
            many=True,
            optional="Batches that a waiver matches are judged and counted, but forwarded.",
            live=True,
        ),
    },
)
"""The keys of `policy`. A key without a default here has the default of the class."""
