"""Events of limits, rules and waivers."""

from typing import Final

from tsproxy.log_events.event import warning

TITLE: Final = "Limits and rules"

TOPIC_LIMITS_DENIED: Final = warning(
    "topic_limits_denied",
    ("topic", "needs"),
    "The proxy's user may not read the configuration of a topic. Brokers alone judge that topic, and the "
    "decision log has their rejections.",
    "Give the user `DescribeConfigs` on topics: `kafka-acls --add --allow-principal User:tsproxy --operation"
    " DescribeConfigs --topic '*'`",
)
TOPIC_LIMITS_NOT_UNDERSTOOD: Final = warning(
    "topic_limits_not_understood",
    ("topic", "error"),
    "A topic has a limit that is no number.",
    "Correct it on the topic. Report it if the value is right.",
)
TOPIC_LIMITS_DIFFER: Final = warning(
    "topic_limits_differ",
    ("topic", "key", "brokers", "here", "advice"),
    "Brokers have different defaults for a limit that the topic does not set. The loosest one holds here; "
    "leaders reject the rest.",
    "Set the limit on the topic, or give all brokers the same.",
)
BROKER_LIMITS_UNKNOWN: Final = warning(
    "broker_limits_unknown",
    ("node_id", "error", "advice"),
    "A broker does not answer what its defaults are. Limits that topics do not set themselves are left to "
    "brokers.",
    "Look at that broker. `error` says why.",
)
BROKER_LIMITS_NOT_UNDERSTOOD: Final = warning(
    "broker_limits_not_understood",
    ("topic", "error"),
    "A broker's default is no number.",
    "Correct it on the broker.",
)
TOPIC_ID_DENIED: Final = warning(
    "topic_id_denied",
    ("needs", "advice"),
    "A Deny rule hides a topic from the proxy's user that a client names by its id. The client got 100 "
    "(UNKNOWN_TOPIC_ID) and its connection closed. Clients at its address are offered Produce 12 from then "
    "on.",
    "Remove the Deny rule for `Describe`, or nothing: clients go on with names.",
)
TOPIC_NAMES_DENIED: Final = warning(
    "topic_names_denied",
    ("needs", "advice"),
    "The proxy's user may not describe every topic, so it cannot name all topics that clients name by id. "
    "Clients are offered Produce 12. No record is lost.",
    "Give it `Describe` on all topics (`*`) if clients should use Produce 13.",
)
RULE_INEFFECTIVE: Final = warning(
    "rule_ineffective",
    ("rule", "place", "topic", "key", "of_rule", "of_topic", "advice"),
    "A rule allows more than the topic itself. Brokers reject the difference.",
    "Set the topic's limit, or narrow the rule's.",
)
RULE_FITS_NO_TOPIC: Final = warning(
    "rule_fits_no_topic",
    ("rule", "place", "patterns", "topics", "advice"),
    "No topic has a name that fits the rule's `match.topics`.",
    "Compare the patterns with the topics. The proxy sees only topics that its user may describe.",
)
WAIVER_FITS_NO_TOPIC: Final = warning(
    "waiver_fits_no_topic",
    ("waiver", "place", "patterns", "topics", "advice"),
    "The same for a waiver.",
    "The same.",
)
WAIVER_ENDS_SOON: Final = warning(
    "waiver_ends_soon",
    ("waiver", "owner", "reason", "hours_left"),
    "A waiver ends in `hours_left` hours. After that its clients are judged.",
    "Ask its owner, then let it end or give it a later end.",
)
WAIVER_ENDED: Final = warning(
    "waiver_ended",
    ("waiver", "owner", "reason", "place"),
    "A waiver has ended.",
    "Take it out of the configuration.",
)
RULE_FAILED: Final = warning(
    "rule_failed",
    (
        "listener",
        "client",
        "client_port",
        "rule",
        "name",
        "error",
        "fail",
        "topic",
        "client_id",
        "suppressed",
    ),
    "A custom rule raised an error. Its batch was treated as the rule's `fail` says.",
    "Correct the rule; the line names the error and its line of code. `tsproxy_rule_failures_total` counts "
    "them.",
)
RULE_SLOW: Final = warning(
    "rule_slow",
    ("name", "batches", "mean_ms", "longest_ms"),
    "A custom rule took more than a millisecond a batch on average, in the last minute. All clients of the "
    "process wait that long.",
    "Make the rule faster, or give it `bounds` ([policy.md](policy.md#custom-rules)). `tsproxy_rule_seconds`"
    " has the times.",
)
RULE_CODE_CHANGED: Final = warning(
    "rule_code_changed",
    ("name", "file", "advice"),
    "At a reload, the file of a custom rule was not the one that had been loaded. The rule stays as it was.",
    "Restart the proxy to load the new code.",
)
RECORD_FAR_AHEAD: Final = warning(
    "record_far_ahead",
    (
        "listener",
        "client",
        "client_port",
        "topic",
        "partition",
        "client_id",
        "ahead_ms",
        "candidate_after_max_ms",
        "bad_records",
        "unit_guess",
        "suppressed",
    ),
    "A batch was forwarded, and has a record that the candidate limits would reject as too far ahead.",
    "Tell the producer's owner: `unit_guess` names the unit that it seems to use.",
)
