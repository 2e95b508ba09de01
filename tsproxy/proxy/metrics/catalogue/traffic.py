"""Metrics of batches, requests, connections and brokers."""

from typing import Final

from tsproxy.proxy.metrics.described import (
    FROM_START,
    Joined,
    counter_row,
    gauge_row,
    histogram_row,
)
from tsproxy.session.effects import SessionCounter

_FIRST: Final = "with the first one"

# -- Batches and records -----------------------------------------------------------------------------

BATCHES: Final = counter_row(
    "tsproxy_batches",
    ("listener", "verdict", "reason"),
    "batches",
    "Record batches by outcome",
    _FIRST,
    "Each repetition of a request counts ([decision-log.md](decision-log.md#verdicts)).",
)
RECORDS: Final = counter_row(
    "tsproxy_records",
    ("listener", "verdict", "reason"),
    "records",
    "Records by the outcome of their batch",
    _FIRST,
    "Alert on more `rejected` than usual, and find the client in `/decisions/top`. `broker_rejected`: "
    "rejected by the broker alone; `reason` says why. `unconfirmed`: acks=0, a connection that ended "
    "before the answer, or (with a reason) an error after which some clients send again and others do "
    "not.",
)
BAD_RECORDS: Final = counter_row(
    "tsproxy_bad_records",
    ("reason", "unit"),
    "records",
    "Records that were themselves at fault, by reason and by the unit that their timestamps seem to have",
    _FIRST,
    "A `unit` names the mistake: that producer multiplies or divides by the wrong factor "
    "([policy.md](policy.md#wrong-time-units)).",
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
    _FIRST,
    "No increase for days: it is safe to enforce the candidate. By default `too_far_ahead` is what Kafka "
    "4 would reject, and `too_old` is more than ten years behind, which nothing rejects "
    "([policy.md](policy.md#candidate-limits)).",
)
AUDITED_BAD_RECORDS: Final = counter_row(
    "tsproxy_audited_bad_records",
    ("reason", "unit"),
    "records",
    "Forwarded records that a rule in audit mode or under a waiver would reject",
    _FIRST,
    "No increase for days: it is safe to set the rule to `enforce`.",
)
RECORDS_UNREAD: Final = counter_row(
    "tsproxy_records_unread",
    ("listener",),
    "records",
    "Records of compressed batches of which only the header was judged",
    _FIRST,
    "With `inspect.compressed: adaptive`. Divided by `tsproxy_records_total` it is the share that nobody "
    "but the broker has read.",
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
WAIVER_EXPIRY: Final = gauge_row(
    "tsproxy_waiver_expiry_seconds",
    ("waiver",),
    "seconds",
    "Seconds until a waiver ends; below 0 since it has ended",
    "from the start for each waiver of the file",
    "Low: talk to its owner, who is named in the file.",
    Joined.LOWEST,
)

# -- Latency and CPU ---------------------------------------------------------------------------------

REQUEST_SECONDS: Final = histogram_row(
    "tsproxy_request_seconds",
    ("api",),
    "seconds",
    "Time that a request and its answer spent in the proxy (a sample)",
    _FIRST,
    "p99 above 10 ms: the CPU core is full (add workers), or large compressed batches are judged.",
)
UPSTREAM_SECONDS: Final = histogram_row(
    "tsproxy_upstream_seconds",
    ("api",),
    "seconds",
    "Time from a forwarded request to the broker's whole answer (the same sample)",
    _FIRST,
    "Grows: the brokers are slow, not the proxy. Fetch waits by design.",
)
EVENT_LOOP_LAG: Final = histogram_row(
    "tsproxy_event_loop_lag_seconds",
    (),
    "seconds",
    "How late the event loop ran scheduled work, measured four times a second",
    FROM_START,
    "p99 above 10 ms: the CPU core is full. Single delays above 1 s: report them.",
)

# -- Connections and limits --------------------------------------------------------------------------

CONNECTIONS: Final = gauge_row(
    "tsproxy_connections",
    ("listener", "state"),
    "connections",
    "Open client connections by state",
    _FIRST,
    "`connecting` stays above 0: brokers do not accept connections.",
    Joined.SUM,
)
SESSIONS_CLOSED: Final = counter_row(
    "tsproxy_sessions_closed",
    ("listener", "reason"),
    "connections",
    "Connections that ended, by reason",
    _FIRST,
    "Alert on `internal_error`, and report it. `peer_closed` is the normal end. `upstream_unavailable`: a"
    " broker is down. `bad_frame`, `not_kafka`: something else speaks there, often TLS to a plain port. "
    "`sasl_failed`: [failed logins](operations.md#failed-logins).",
)
TLS_HANDSHAKES_FAILED: Final = counter_row(
    "tsproxy_tls_handshakes_failed",
    ("listener",),
    "handshakes",
    "TLS handshakes with clients that failed",
    _FIRST,
    "The log says why: an unknown authority, an old version, plain text.",
)
SASL_FAILURES: Final = counter_row(
    "tsproxy_sasl_failures",
    ("listener", "mechanism"),
    "logins",
    "Logins of clients that brokers rejected, by mechanism",
    _FIRST,
    "`sasl_failed` in the log has the client's address. Brokers cannot know it: they see the proxy's. A "
    "mechanism that is not well known counts as `other`.",
)
LIMITS: Final = counter_row(
    "tsproxy_limits",
    ("limit",),
    "connections",
    "Connections rejected or closed because of a limit of the proxy",
    FROM_START,
    "The label is the key below `limits` in the configuration. The log names client and size. Raise the "
    "limit only if the client is right.",
)
BUFFERED_BYTES: Final = gauge_row(
    "tsproxy_buffered_bytes",
    (),
    "bytes",
    "Bytes held for all connections together",
    FROM_START,
    "Near `limits.buffered`: slow brokers or stalled clients.",
    Joined.SUM,
)
BYTES: Final = counter_row(
    "tsproxy_bytes",
    ("direction",),
    "bytes",
    "Bytes received, by sender",
    FROM_START,
    "The traffic: `from_client` or `from_broker`.",
)
THROTTLE_SECONDS: Final = counter_row(
    "tsproxy_throttle_seconds",
    (),
    "seconds",
    "Time for which clients were throttled because of rejections",
    FROM_START,
    "Increases: see [throttling](operations.md#throttling-producers-that-do-not-stop); `/decisions/top` "
    "names the clients.",
)
TOPIC_NAME_WAITS: Final = counter_row(
    f"tsproxy_{SessionCounter.TOPIC_NAME_WAITS}",
    (),
    "requests",
    "Requests that waited for the name of a topic that they name by id",
    FROM_START,
    "Each new topic causes one for each connection or so (Produce 13). Many: brokers answer the proxy's own "
    "connection late, or clients name ids that no topic has.",
)

# -- Brokers -----------------------------------------------------------------------------------------

UPSTREAM_UP: Final = gauge_row(
    "tsproxy_upstream_up",
    (),
    "0 or 1",
    "1 while the proxy's own connection works",
    FROM_START,
    "Alert on 0 for some minutes: `upstream_unreachable` in the log says why.",
    Joined.LOWEST,
)
BROKERS: Final = gauge_row(
    "tsproxy_brokers",
    ("listener",),
    "brokers",
    "Brokers of the cluster that a listener serves",
    "when the cluster has answered for the first time",
    "Lower than the number of brokers: see `tsproxy_brokers_not_served`.",
    Joined.LOWEST,
)
BROKERS_NOT_SERVED: Final = gauge_row(
    "tsproxy_brokers_not_served",
    ("listener",),
    "brokers",
    "Brokers of the cluster that a listener cannot serve: each of them keeps all its clients out",
    "when the cluster has answered for the first time",
    "Alert above 0. `broker_not_served` in the log says why ([ports](operations.md#ports)).",
    Joined.HIGHEST,
)
ADDRESS_UNMAPPED: Final = counter_row(
    "tsproxy_address_unmapped",
    (),
    "answers",
    "Answers that named a broker which the proxy cannot serve; the connection was closed",
    FROM_START,
    "Alert on any increase: no client bypasses the proxy, but these clients get no answer. "
    "`listeners[].brokers.count` is too small or `first_id` is not the lowest id (`broker_not_served` says "
    "which), or a port is taken.",
)
