"""All metrics of the admin port. Code makes metrics from these rows only.

docs/reference/metrics.md says what each means, when its series appear, and what to do with it.
"""

from typing import Final

from tsproxy.proxy.metrics.described import Described, Joined, counter_row, gauge_row, histogram_row
from tsproxy.session.effects import SessionCounter

# Batches and records
BATCHES: Final = counter_row(
    "tsproxy_batches_total", "Record batches by outcome", ("listener", "verdict", "reason")
)
RECORDS: Final = counter_row(
    "tsproxy_records_total", "Records by the outcome of their batch", ("listener", "verdict", "reason")
)
BAD_RECORDS: Final = counter_row(
    "tsproxy_bad_records_total",
    "Records that were themselves at fault, by reason and by the unit that their timestamps seem to have",
    ("reason", "unit"),
)
TOPIC_BAD_RECORDS: Final = counter_row(
    "tsproxy_topic_bad_records_total",
    "Records that were themselves at fault, by topic",
    ("topic",),
)
TOPIC_RECORDS: Final = counter_row(
    "tsproxy_topic_records_total",
    "Records that brokers have accepted, by topic",
    ("topic",),
)
CANDIDATE_BAD_RECORDS: Final = counter_row(
    "tsproxy_candidate_bad_records_total",
    "Forwarded records that the candidate limits would reject",
    ("reason", "unit"),
)
AUDITED_BAD_RECORDS: Final = counter_row(
    "tsproxy_audited_bad_records_total",
    "Forwarded records that a rule in audit mode or under a waiver would reject",
    ("reason", "unit"),
)
RECORDS_UNREAD: Final = counter_row(
    "tsproxy_records_unread_total",
    "Records of compressed batches of which only the header was judged",
    ("listener",),
)
RECORDS_LIMITS_UNKNOWN: Final = counter_row(
    "tsproxy_records_limits_unknown_total",
    "Records that were judged while the limits of their topic were not known",
    ("listener",),
)
TIMESTAMP_DRIFT: Final = histogram_row(
    "tsproxy_timestamp_drift_seconds",
    "Timestamp minus clock of each batch's newest and oldest record",
    ("of",),
)
CLIENTS_REFUSED_BY_KAFKA_4: Final = gauge_row(
    "tsproxy_clients_refused_by_kafka_4",
    "Clients (client id and principal) since the start that use versions which Kafka 4 does not take",
    joined=Joined.DISTINCT,
)
RULE_HITS: Final = counter_row(
    "tsproxy_rule_hits_total",
    "Batches that a rule rejected, repaired, or would have rejected",
    ("rule", "mode"),
)
RULE_BAD_RECORDS: Final = counter_row(
    "tsproxy_rule_bad_records_total", "Records at fault in batches that a rule hit", ("rule", "mode")
)
RULE_FAILURES: Final = counter_row("tsproxy_rule_failures_total", "Batches for which a custom rule failed")
RULE_SECONDS: Final = histogram_row(
    "tsproxy_rule_seconds", "Time that a custom rule takes for a batch", ("rule",)
)
WAIVER_EXPIRY: Final = gauge_row(
    "tsproxy_waiver_expiry_seconds",
    "Seconds until a waiver ends; below 0 since it has ended",
    ("waiver",),
    joined=Joined.LOWEST,
)

# Latency and CPU
REQUEST_SECONDS: Final = histogram_row(
    "tsproxy_request_seconds", "Time that a request and its answer spent in the proxy (a sample)", ("api",)
)
UPSTREAM_SECONDS: Final = histogram_row(
    "tsproxy_upstream_seconds",
    "Time from a forwarded request to the broker's whole answer (the same sample)",
    ("api",),
)
BROKER_CONNECT_SECONDS: Final = histogram_row(
    "tsproxy_broker_connect_seconds",
    "Time to connect to a broker for a client, by its node id (or `bootstrap`), with the TLS handshake",
    ("broker",),
)
BROKER_PRODUCE_SECONDS: Final = histogram_row(
    "tsproxy_broker_produce_seconds",
    "Time from a forwarded Produce request to the broker's whole answer, by broker (the same sample)",
    ("broker",),
)
EVENT_LOOP_LAG: Final = histogram_row(
    "tsproxy_event_loop_lag_seconds",
    "How late the event loop ran scheduled work, measured four times a second",
)
LOOP_HELD: Final = histogram_row(
    "tsproxy_loop_held_seconds",
    "CPU time of each step of one client's connection that took the event loop more than 0.1 s",
    ("api",),
)

# Connections and limits
CONNECTIONS: Final = gauge_row(
    "tsproxy_connections", "Open client connections by state", ("listener", "state"), joined=Joined.SUM
)
SESSIONS_CLOSED: Final = counter_row(
    "tsproxy_sessions_closed_total", "Connections that ended, by reason", ("listener", "reason")
)
BROKER_CONNECTIONS: Final = gauge_row(
    "tsproxy_broker_connections",
    "Open connections of clients, by the broker's node id (or `bootstrap`) to which they lead",
    ("listener", "broker"),
    joined=Joined.SUM,
)
CLIENT_CONNECTIONS: Final = counter_row(
    "tsproxy_client_connections_total",
    "New connections of clients, by the broker's node id (or `bootstrap`) and by how they fared",
    ("listener", "broker", "result"),
)
TLS_HANDSHAKES_FAILED: Final = counter_row(
    "tsproxy_tls_handshakes_failed_total", "TLS handshakes with clients that failed", ("listener",)
)
SASL_FAILURES: Final = counter_row(
    "tsproxy_sasl_failures_total",
    "Logins of clients that brokers rejected, by mechanism",
    ("listener", "mechanism"),
)
LIMITS: Final = counter_row(
    "tsproxy_limits_total", "Connections rejected or closed because of a limit of the proxy", ("limit",)
)
BUFFERED_BYTES: Final = gauge_row(
    "tsproxy_buffered_bytes", "Bytes held for all connections together", joined=Joined.SUM
)
BUFFERED_RATIO: Final = gauge_row(
    "tsproxy_buffered_ratio",
    "Bytes held for connections, as a part of a process's share of limits.buffered",
    joined=Joined.HIGHEST,
)
MEMORY_USED_RATIO: Final = gauge_row(
    "tsproxy_memory_used_ratio",
    "Memory of a process, as a part of its share of limits.memory",
    joined=Joined.HIGHEST,
)
MEMORY_MARK: Final = gauge_row(
    "tsproxy_memory_mark",
    "The mark that a process's memory has reached, 0 to 3: from 1 on, no more clients are accepted",
    joined=Joined.HIGHEST,
)
BYTES: Final = counter_row("tsproxy_bytes_total", "Bytes received, by sender", ("direction",))
THROTTLE_SECONDS: Final = counter_row(
    "tsproxy_throttle_seconds_total", "Time for which clients were throttled because of rejections"
)
SESSION_EVENTS: Final = {
    SessionCounter.TOPIC_NAME_WAITS: counter_row(
        "tsproxy_topic_name_waits_total", "Requests that waited for the name of a topic that they name by id"
    ),
    SessionCounter.TOPIC_LIMITS_WAITS: counter_row(
        "tsproxy_topic_limits_waits_total", "Requests that waited for the limits of a topic"
    ),
    SessionCounter.ADDRESS_UNMAPPED: counter_row(
        "tsproxy_address_unmapped_total",
        "Answers from which a broker was left out, because no port here leads to it",
    ),
}

# Brokers
UPSTREAM_UP: Final = gauge_row(
    "tsproxy_upstream_up", "1 while brokers are known and one can be reached", joined=Joined.LOWEST
)
OWN_LOGIN_UP: Final = gauge_row(
    "tsproxy_own_login_up",
    "0 if the proxy's own connection failed the last time, although a broker answers",
    joined=Joined.LOWEST,
)
CLUSTER_CHANGED: Final = gauge_row(
    "tsproxy_cluster_changed", "1 for an hour from when another cluster answered", joined=Joined.HIGHEST
)
BROKERS: Final = gauge_row(
    "tsproxy_brokers", "Brokers of the cluster that a listener serves", ("listener",), joined=Joined.LOWEST
)
BROKERS_NOT_SERVED: Final = gauge_row(
    "tsproxy_brokers_not_served",
    "Brokers of the cluster that a listener cannot serve: its clients cannot reach their partitions",
    ("listener",),
    joined=Joined.HIGHEST,
)
BROKER_NAMES_UNRESOLVED: Final = gauge_row(
    "tsproxy_broker_names_unresolved", "Brokers for whose names no name server answers", joined=Joined.HIGHEST
)
BROKERS_HANGING: Final = gauge_row(
    "tsproxy_brokers_hanging",
    "Brokers that keep connected clients waiting and do not answer the proxy either, now or in the last two "
    "minutes",
    joined=Joined.HIGHEST,
)
BROKERS_LIMITS_UNKNOWN: Final = gauge_row(
    "tsproxy_brokers_limits_unknown",
    "Brokers that have not told the proxy their limits, because it cannot reach them",
    joined=Joined.HIGHEST,
)
TOPICS_UNREADABLE: Final = gauge_row(
    "tsproxy_topics_unreadable",
    "Topics that producers write to and whose limits the proxy may not read, or does not understand",
    joined=Joined.HIGHEST,
)

# Decision log and dead letters
DECISIONS: Final = counter_row("tsproxy_decisions_total", "Lines written to the decision log")
DECISIONS_DROPPED: Final = counter_row(
    "tsproxy_decisions_dropped_total", "Lines that did not reach the decision log"
)
DECISION_LOG_WRITABLE: Final = gauge_row(
    "tsproxy_decision_log_writable", "1 while lines reach the files of the decision log", joined=Joined.LOWEST
)
DECISION_LOG_WRITE_SECONDS: Final = gauge_row(
    "tsproxy_decision_log_write_seconds",
    "Time that the last line took to reach the decision log's file",
    joined=Joined.HIGHEST,
)
DECISION_FILES_DELETED: Final = counter_row(
    "tsproxy_decision_files_deleted_total",
    "Files of the decision log that were deleted because of age or size",
)
DECISION_TOPIC_UP: Final = gauge_row(
    "tsproxy_decision_topic_up", "1 while the decision log's topic accepts lines", joined=Joined.LOWEST
)
DECISION_TOPIC_SENT: Final = counter_row(
    "tsproxy_decision_topic_sent_total", "Lines that the decision log's topic has accepted"
)
DEAD_LETTERS: Final = counter_row("tsproxy_dead_letters_total", "Dead letters that their topic has accepted")
DEAD_LETTERS_LOST: Final = counter_row(
    "tsproxy_dead_letters_lost_total", "Rejected records without a dead letter", ("reason",)
)
DEAD_LETTERS_WAITING: Final = gauge_row(
    "tsproxy_dead_letters_waiting",
    "Rejected records that wait to be copied to the dead letter topic",
    joined=Joined.SUM,
)
DEAD_LETTERS_UP: Final = gauge_row(
    "tsproxy_dead_letters_up", "1 while the dead letter topic accepts dead letters", joined=Joined.LOWEST
)

# The clock
CLOCK_SUSPECTED: Final = gauge_row(
    "tsproxy_clock_suspected",
    "1 while the operating system's kernel, the brokers, or a step that no broker confirms contradict the "
    "proxy's clock",
    ("by",),
    joined=Joined.HIGHEST,
)
CLOCK_OFFSET: Final = gauge_row(
    "tsproxy_clock_offset_seconds", "The proxy's clock minus a broker's", ("broker",), joined=Joined.FARTHEST
)
CLOCK_OFFSET_MARGIN: Final = gauge_row(
    "tsproxy_clock_offset_margin_seconds",
    "How far the offset to that broker may be from the truth, in both directions",
    ("broker",),
    joined=Joined.HIGHEST,
)
CLOCK_STEPS: Final = counter_row(
    "tsproxy_clock_steps_total", "How often the wall clock was set by a quarter of a second or more"
)
ENFORCEMENT_SUSPENDED: Final = gauge_row(
    "tsproxy_enforcement_suspended", "1 while nothing is enforced because of the clock", joined=Joined.HIGHEST
)

# Configuration and certificates
CONFIG_RELOAD: Final = counter_row(
    "tsproxy_config_reload_total", "Reloads of the configuration by result: taken or rejected", ("result",)
)
CONFIG_LAST_RELOAD_SUCCESSFUL: Final = gauge_row(
    "tsproxy_config_last_reload_successful",
    "1 if the last reload was taken, or there was none",
    joined=Joined.SUM,
)
CONFIG_LAST_RELOAD_SUCCESS: Final = gauge_row(
    "tsproxy_config_last_reload_success_timestamp_seconds",
    "When the configuration in force was taken, in seconds since 1970",
    joined=Joined.SUM,
)
CONFIG_INFO: Final = gauge_row(
    "tsproxy_config_info",
    "Always 1. The hash of the configuration, without secrets, paths, `listeners`, `admin` and `decisions`",
    ("sha256",),
    joined=Joined.HIGHEST,
)
POLICY_MODE: Final = gauge_row(
    "tsproxy_policy_mode",
    "Always 1, with the mode in force (`policy.mode`)",
    ("mode",),
    joined=Joined.HIGHEST,
)
ENFORCEMENT_ENDED: Final = gauge_row(
    "tsproxy_enforcement_ended_timestamp_seconds",
    "When a reload ended what was enforced, or a part of it, in seconds since 1970",
    ("mode", "enforced"),
    joined=Joined.HIGHEST,
)
CERTIFICATES_LAST_RELOAD_SUCCESSFUL: Final = gauge_row(
    "tsproxy_certificates_last_reload_successful",
    "1 if the files of a `tls` section could be used when they were last tried",
    ("section",),
    joined=Joined.LOWEST,
)
SESSIONS_STORED: Final = gauge_row(
    "tsproxy_tls_sessions_stored",
    "1 if OpenSSL keeps sessions of TLS 1.2 in memory, since the proxy could not turn that off",
    joined=Joined.HIGHEST,
)
CERTIFICATE_EXPIRY: Final = gauge_row(
    "tsproxy_certificate_expiry_seconds",
    "Seconds until the certificates of a file expire; below 0 since they have expired",
    ("setting",),
    joined=Joined.LOWEST,
)

# The process and its workers
WORKER_READY: Final = gauge_row(
    "tsproxy_worker_ready", "1 while the worker is ready", ("worker",), joined=Joined.SUM
)
WORKER_RESTARTS: Final = counter_row(
    "tsproxy_worker_restarts_total", "How often a worker was started again", ("worker",)
)
BUILD_INFO: Final = gauge_row("tsproxy_build_info", "Always 1", ("version", "python"), joined=Joined.HIGHEST)
TASKS: Final = gauge_row("tsproxy_tasks", "Tasks of the event loop", joined=Joined.SUM)
PROCESS_CPU: Final = counter_row(
    "process_cpu_seconds_total", "Total user and system CPU time spent in seconds."
)
PROCESS_RESIDENT_MEMORY: Final = gauge_row(
    "process_resident_memory_bytes", "Resident memory size in bytes.", joined=Joined.SUM
)
PROCESS_VIRTUAL_MEMORY: Final = gauge_row(
    "process_virtual_memory_bytes", "Virtual memory size in bytes.", joined=Joined.SUM
)
PROCESS_OPEN_FDS: Final = gauge_row(
    "process_open_fds", "Number of open file descriptors.", joined=Joined.HIGHEST
)
PROCESS_MAX_FDS: Final = gauge_row(
    "process_max_fds", "Maximum number of open file descriptors.", joined=Joined.LOWEST
)
PROCESS_START_TIME: Final = gauge_row(
    "process_start_time_seconds",
    "Start time of the process since unix epoch in seconds.",
    joined=Joined.LOWEST,
)

ALL: Final = {
    row.name: row for row in (*globals().values(), *SESSION_EVENTS.values()) if isinstance(row, Described)
}
"""Metrics by name."""
