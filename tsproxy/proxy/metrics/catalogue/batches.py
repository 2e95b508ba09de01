"""Metrics of the outcomes of batches and records."""

from typing import Final

from tsproxy.proxy.metrics.described import (
    FROM_START,
    Joined,
    counter_row,
    gauge_row,
    histogram_row,
)

TITLE: Final = "Batches and records"

BATCHES: Final = counter_row(
    "tsproxy_batches_total",
    "batches",
    "Record batches by outcome",
    "Each repetition of a request counts ([decision-log.md](decision-log.md#verdicts)).",
    ("listener", "verdict", "reason"),
)
RECORDS: Final = counter_row(
    "tsproxy_records_total",
    "records",
    "Records by the outcome of their batch",
    "Alert on more `rejected` than usual, and find the client in `/decisions/top`. `broker_rejected`: "
    "rejected by the broker alone; `reason` says why. `sent_again`: an error after which clients send the "
    "records again by themselves, such as `concurrent_transactions`; nothing was lost. `unconfirmed`: "
    "acks=0, a connection that ended before the answer, or (with a reason) an error after which some "
    "clients send again and others do not.",
    ("listener", "verdict", "reason"),
)
BAD_RECORDS: Final = counter_row(
    "tsproxy_bad_records_total",
    "records",
    "Records that were themselves at fault, by reason and by the unit that their timestamps seem to have",
    "A `unit` names the mistake: that producer multiplies or divides by the wrong factor "
    "([policy.md](../guide/policy.md#wrong-time-units)).",
    ("reason", "unit"),
)
TOPIC_BAD_RECORDS: Final = counter_row(
    "tsproxy_topic_bad_records_total",
    "records",
    "Records that were themselves at fault, by topic; the topics with most of them",
    "Alert on the increase of a topic, not on its value.",
    ("topic",),
    appear="`other` from the start; a topic with its first one",
)
TOPIC_RECORDS: Final = counter_row(
    "tsproxy_topic_records_total",
    "records",
    "Records that brokers have accepted, by topic; the 50 busiest topics of each process",
    "`tsproxy_topic_bad_records_total` divided by the sum of both is a topic's share of bad records.",
    ("topic",),
    appear="`other` from the start; a topic when it is among the busiest, with the records since then",
)
TOPIC_OUT_OF_ORDER_RECORDS: Final = counter_row(
    "tsproxy_topic_out_of_order_records_total",
    "records",
    "Accepted records older than one before them in their partition, if a rule has max_jump_ahead; the "
    "topics with most of them",
    "Compare `out_of_order_max_ms` in the decision log with the time that your stream's windows wait.",
    ("topic",),
    appear="`other` from the start; a topic with its first one",
)
CANDIDATE_BAD_RECORDS: Final = counter_row(
    "tsproxy_candidate_bad_records_total",
    "records",
    "Forwarded records that the candidate limits would reject",
    "No increase for days: it is safe to enforce the candidate. By default `too_far_ahead` is what Kafka "
    "4 would reject, and `too_old` is more than ten years behind, which nothing rejects "
    "([policy.md](../guide/policy.md#candidate-limits)).",
    ("reason", "unit"),
)
AUDITED_BAD_RECORDS: Final = counter_row(
    "tsproxy_audited_bad_records_total",
    "records",
    "Forwarded records that a rule in audit mode or under a waiver would reject",
    "No increase for days: it is safe to set the rule to `enforce`.",
    ("reason", "unit"),
)
RECORDS_UNREAD: Final = counter_row(
    "tsproxy_records_unread_total",
    "records",
    "Records of compressed batches of which only the header was judged",
    "See `inspect.compressed`. Divided by `tsproxy_records_total` it is the share that nobody "
    "but the broker has read.",
    ("listener",),
)
RECORDS_LIMITS_UNKNOWN: Final = counter_row(
    "tsproxy_records_limits_unknown_total",
    "records",
    "Records that were judged while the limits of their topic were not known",
    "Only the broker applied the topic's limits, and no candidate counted the records. A few for topics that "
    "were just created are normal. If it grows steadily, look for `topic_limits_denied` and "
    "`broker_unreachable` in the log.",
    ("listener",),
)
TIMESTAMP_DRIFT: Final = histogram_row(
    "tsproxy_timestamp_drift_seconds",
    "seconds",
    "Timestamp minus clock of each batch's newest and oldest record",
    "Grows above 0: a producer's clock is wrong. Far below 0: old data, check whether the limits fit. "
    "There is no `_sum` and no `_count`, because values may be negative.",
    ("of",),
    appear=FROM_START,
)
RULE_HITS: Final = counter_row(
    "tsproxy_rule_hits_total",
    "batches",
    "Batches that a rule rejected, repaired, or would have rejected",
    "Always 0: the rule may match nobody, see `tsproxy explain`.",
    ("rule", "mode"),
    appear="from the start for each rule of the file that is not `off`; others with the first one",
)
RULE_BAD_RECORDS: Final = counter_row(
    "tsproxy_rule_bad_records_total",
    "records",
    "Records at fault in batches that a rule hit",
    "Compare with `tsproxy_rule_hits_total`: few bad records in many batches means that good records are "
    "rejected with bad ones.",
    ("rule", "mode"),
    appear="from the start for each rule of the file that is not `off`; others with the first one",
)
RULE_FAILURES: Final = counter_row(
    "tsproxy_rule_failures_total",
    "batches",
    "Batches for which a custom rule failed",
    "Alert on any increase. They were handled as the rule's `fail` says; the log names the rule and the "
    "line of code.",
)
RULE_SECONDS: Final = histogram_row(
    "tsproxy_rule_seconds",
    "seconds",
    "Time that a custom rule takes for a batch",
    "More than a millisecond delays all clients of the process: the log says `rule_slow`. Make the rule "
    "faster, or give it `bounds` ([policy.md](../guide/policy.md#custom-rules)).",
    ("rule",),
)
WAIVER_EXPIRY: Final = gauge_row(
    "tsproxy_waiver_expiry_seconds",
    "seconds",
    "Seconds until a waiver ends; below 0 since it has ended",
    "Low: talk to its owner, who is named in the file.",
    ("waiver",),
    appear="from the start for each waiver of the file",
    joined=Joined.LOWEST,
)
