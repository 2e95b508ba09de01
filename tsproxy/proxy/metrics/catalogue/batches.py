"""Metrics of the outcomes of batches and records."""

from typing import Final

from tsproxy.proxy.metrics.described import (
    FROM_START,
    WITH_THE_FIRST,
    Joined,
    counter_row,
    gauge_row,
    histogram_row,
)

TITLE: Final = "Batches and records"

BATCHES: Final = counter_row(
    "tsproxy_batches",
    ("listener", "verdict", "reason"),
    "batches",
    "Record batches by outcome",
    WITH_THE_FIRST,
    "Each repetition of a request counts ([decision-log.md](decision-log.md#verdicts)).",
)
RECORDS: Final = counter_row(
    "tsproxy_records",
    ("listener", "verdict", "reason"),
    "records",
    "Records by the outcome of their batch",
    WITH_THE_FIRST,
    "Alert on more `rejected` than usual, and find the client in `/decisions/top`. `broker_rejected`: "
    "rejected by the broker alone; `reason` says why. `sent_again`: an error after which clients send the "
    "records again by themselves, such as `concurrent_transactions`; nothing was lost. `unconfirmed`: "
    "acks=0, a connection that ended before the answer, or (with a reason) an error after which some "
    "clients send again and others do not.",
)
BAD_RECORDS: Final = counter_row(
    "tsproxy_bad_records",
    ("reason", "unit"),
    "records",
    "Records that were themselves at fault, by reason and by the unit that their timestamps seem to have",
    WITH_THE_FIRST,
    "A `unit` names the mistake: that producer multiplies or divides by the wrong factor "
    "([policy.md](../guide/policy.md#wrong-time-units)).",
)
TOPIC_BAD_RECORDS: Final = counter_row(
    "tsproxy_topic_bad_records",
    ("topic",),
    "records",
    "Records that were themselves at fault, by topic; the topics with most of them",
    "`other` from the start; a topic with its first one",
    "Alert on the increase of a topic, not on its value.",
)
TOPIC_RECORDS: Final = counter_row(
    "tsproxy_topic_records",
    ("topic",),
    "records",
    "Records that brokers have accepted, by topic; the 50 busiest topics of each process",
    "`other` from the start; a topic when it is among the busiest, with the records since then",
    "`tsproxy_topic_bad_records_total` divided by the sum of both is a topic's share of bad records.",
)
TOPIC_OUT_OF_ORDER_RECORDS: Final = counter_row(
    "tsproxy_topic_out_of_order_records",
    ("topic",),
    "records",
    "Accepted records older than one before them in their partition, if a rule has max_jump_ahead; the "
    "topics with most of them",
    "`other` from the start; a topic with its first one",
    "Compare `out_of_order_max_ms` in the decision log with the time that your stream's windows wait.",
)
CANDIDATE_BAD_RECORDS: Final = counter_row(
    "tsproxy_candidate_bad_records",
    ("reason", "unit"),
    "records",
    "Forwarded records that the candidate limits would reject",
    WITH_THE_FIRST,
    "No increase for days: it is safe to enforce the candidate. By default `too_far_ahead` is what Kafka "
    "4 would reject, and `too_old` is more than ten years behind, which nothing rejects "
    "([policy.md](../guide/policy.md#candidate-limits)).",
)
AUDITED_BAD_RECORDS: Final = counter_row(
    "tsproxy_audited_bad_records",
    ("reason", "unit"),
    "records",
    "Forwarded records that a rule in audit mode or under a waiver would reject",
    WITH_THE_FIRST,
    "No increase for days: it is safe to set the rule to `enforce`.",
)
RECORDS_UNREAD: Final = counter_row(
    "tsproxy_records_unread",
    ("listener",),
    "records",
    "Records of compressed batches of which only the header was judged",
    WITH_THE_FIRST,
    "See `inspect.compressed`. Divided by `tsproxy_records_total` it is the share that nobody "
    "but the broker has read.",
)
RECORDS_LIMITS_UNKNOWN: Final = counter_row(
    "tsproxy_records_limits_unknown",
    ("listener",),
    "records",
    "Records that were judged while the limits of their topic were not known",
    WITH_THE_FIRST,
    "Only the broker applied the topic's limits, and no candidate counted the records. A few for topics that "
    "were just created are normal. If it grows steadily, look for `topic_limits_denied` and "
    "`broker_unreachable` in the log.",
)
TIMESTAMP_DRIFT: Final = histogram_row(
    "tsproxy_timestamp_drift_seconds",
    ("of",),
    "seconds",
    "Timestamp minus clock of each batch's newest and oldest record",
    FROM_START,
    "Grows above 0: a producer's clock is wrong. Far below 0: old data, check whether the limits fit. "
    "There is no `_sum` and no `_count`, because values may be negative.",
)
RULE_HITS: Final = counter_row(
    "tsproxy_rule_hits",
    ("rule", "mode"),
    "batches",
    "Batches that a rule rejected, repaired, or would have rejected",
    "from the start for each rule of the file that is not `off`; others with the first one",
    "Always 0: the rule may match nobody, see `tsproxy explain`.",
)
RULE_BAD_RECORDS: Final = counter_row(
    "tsproxy_rule_bad_records",
    ("rule", "mode"),
    "records",
    "Records at fault in batches that a rule hit",
    "from the start for each rule of the file that is not `off`; others with the first one",
    "Compare with `tsproxy_rule_hits_total`: few bad records in many batches means that good records are "
    "rejected with bad ones.",
)
RULE_FAILURES: Final = counter_row(
    "tsproxy_rule_failures",
    (),
    "batches",
    "Batches for which a custom rule failed",
    FROM_START,
    "Alert on any increase. They were handled as the rule's `fail` says; the log names the rule and the "
    "line of code.",
)
RULE_SECONDS: Final = histogram_row(
    "tsproxy_rule_seconds",
    ("rule",),
    "seconds",
    "Time that a custom rule takes for a batch",
    WITH_THE_FIRST,
    "More than a millisecond delays all clients of the process: the log says `rule_slow`. Make the rule "
    "faster, or give it `bounds` ([policy.md](../guide/policy.md#custom-rules)).",
)
WAIVER_EXPIRY: Final = gauge_row(
    "tsproxy_waiver_expiry_seconds",
    ("waiver",),
    "seconds",
    "Seconds until a waiver ends; below 0 since it has ended",
    "from the start for each waiver of the file",
    "Low: talk to its owner, who is named in the file.",
    Joined.LOWEST,
)
