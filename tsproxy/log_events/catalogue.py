"""All events of the operators' log. Each is a row, which code calls with the facts of a line.

docs/reference/log-events.md says what each means, and what to do about it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import structlog

_log = structlog.get_logger()


class Level(StrEnum):
    """How soon somebody is needed: never (debug, info), in the next days (warning), now (error)."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class LogEvent:
    """`fields` are the facts that a line of this event may have."""

    level: Level
    name: str
    fields: tuple[str, ...]

    def __call__(self, **facts: object) -> None:
        getattr(_log, self.level)(self.name, **facts)


def debug(name: str, *fields: str) -> LogEvent:
    return LogEvent(Level.DEBUG, name, fields)


def info(name: str, *fields: str) -> LogEvent:
    return LogEvent(Level.INFO, name, fields)


def warning(name: str, *fields: str) -> LogEvent:
    return LogEvent(Level.WARNING, name, fields)


def error(name: str, *fields: str) -> LogEvent:
    return LogEvent(Level.ERROR, name, fields)


_CRASHED: Final = ("error", "frames")
"""The fields of an error in our own code."""
_CLIENT: Final = ("listener", "client", "client_port")
_SESSION: Final = (*_CLIENT, "client_id")
"""The fields of a line of a session: the client id is that of its last request after the login."""

# Start and stop
PROXY_STARTING: Final = info(
    "proxy_starting", "upstream", "listeners", "admin", "decisions", "mode", "workers"
)
PROXY_STARTED: Final = info("proxy_started", "brokers", "listeners", "admin", "decisions", "mode", "workers")
DRAIN_DELAYED: Final = info("drain_delayed", "delay_ms", "advice")
DRAIN_STARTED: Final = info("drain_started", "clients", "timeout_ms")
PROXY_STOPPED: Final = info("proxy_stopped", "connections_aborted")
JUDGES_NOT_ENDED: Final = warning("judges_not_ended", "advice")
DECISION_LOG_NOT_FINISHED: Final = error("decision_log_not_finished", "directory")
FILE_DESCRIPTORS_FEW: Final = warning("file_descriptors_few", "granted", "needed", "connections", "advice")
MEMORY_NEARLY_FULL: Final = error("memory_nearly_full", "used", "limit", "step", "advice")
MEMORY_NOT_LIMITED: Final = warning("memory_not_limited", "error", "advice")
MEMORY_FREED: Final = info("memory_freed", "used", "limit")
ACCEPTING_PAUSED: Final = error("accepting_paused", "address", "error", "retry_s")
LOG_LINES_LOST: Final = warning("log_lines_lost", "lines")
LIBRARY_COMPLAINED: Final = warning("library_complained", "library", "text", "error", "frames")

# Workers
WORKER_STARTED: Final = info("worker_started", "pid")
WORKER_STOPPED: Final = info("worker_stopped", "connections_aborted")
WORKER_ENDED: Final = error("worker_ended", "worker", "error", "restart_in_ms")
WORKER_HANGS: Final = error("worker_hangs", "worker", "pid", "advice")
WORKER_KILLED: Final = error("worker_killed", "worker", "advice")
WORKER_NOT_RELOADED: Final = error("worker_not_reloaded", "worker", "waited_s", "advice")
WORKER_WATCH_CRASHED: Final = error("worker_watch_crashed", *_CRASHED)
SUPERVISOR_LOST: Final = error("supervisor_lost", "advice")
ORDERS_CRASHED: Final = error("orders_crashed", *_CRASHED)

# The cluster and its brokers
UPSTREAM_UNREACHABLE: Final = error("upstream_unreachable", "error", "for_s", "advice")
UPSTREAM_REACHED: Final = info("upstream_reached")
OWN_LOGIN_FAILED: Final = error("own_login_failed", "error", "for_s", "advice")
OWN_LOGIN_WORKS: Final = info("own_login_works")
BROKER_LIST_EMPTY: Final = warning("broker_list_empty", "broker", "advice")
UPSTREAM_MAY_BE_PROXY: Final = warning("upstream_may_be_proxy", "listener", "brokers", "advice")
CLUSTER_CHANGED: Final = error("cluster_changed", "text", "advice")
CLUSTER_CONVERSATION_CRASHED: Final = error("cluster_conversation_crashed", *_CRASHED)
BROKER_SERVED: Final = info("broker_served", "listener", "node_id", "address", "upstream")
BROKER_HANGS: Final = error("broker_hangs", "node_id", "address", "error", "advice")
BROKER_ANSWERS: Final = info("broker_answers", "node_id", "address")
BROKER_NOT_SERVED: Final = error("broker_not_served", "listener", "node_id", "error")
BROKERS_NOT_SERVED: Final = error("brokers_not_served", "listener", "node_ids", "errors", "advice")
SERVING_CRASHED: Final = error("serving_crashed", *_CRASHED)
OFFERS_CRASHED: Final = error("offers_crashed", *_CRASHED)
LOOP_COMPLAINED: Final = error("loop_complained", "text", "error", "frames", "not_logged")

# Limits and rules
TOPIC_LIMITS_CHANGED: Final = info("topic_limits_changed", "topic", "old", "new", "learnt_by")
TOPIC_LIMITS_DENIED: Final = warning("topic_limits_denied", "topic", "needs")
TOPIC_LIMITS_NOT_UNDERSTOOD: Final = warning("topic_limits_not_understood", "topic", "error")
BROKER_LIMITS_UNKNOWN: Final = warning("broker_limits_unknown", "node_id", "error", "advice")
BROKER_LIMITS_NOT_UNDERSTOOD: Final = warning("broker_limits_not_understood", "topic", "error")
TOPIC_ID_DENIED: Final = warning("topic_id_denied", "needs", "advice")
TOPIC_NAMES_DENIED: Final = warning("topic_names_denied", "needs", "advice")
WAIVER_ENDS_SOON: Final = warning("waiver_ends_soon", "waiver", "owner", "reason", "hours_left")
WAIVER_ENDED: Final = warning("waiver_ended", "waiver", "owner", "reason", "place")
RULE_FAILED: Final = warning("rule_failed", *_SESSION, "rule", "name", "error", "fail", "topic", "suppressed")
RULE_SLOW: Final = warning("rule_slow", "name", "batches", "mean_ms", "longest_ms")
RECORD_FAR_AHEAD: Final = warning(
    "record_far_ahead",
    *_SESSION,
    "topic",
    "partition",
    "ahead_ms",
    "candidate_after_max_ms",
    "bad_records",
    "unit_guess",
    "suppressed",
)

# Clients
CLIENT_CONNECTED: Final = debug("client_connected", *_CLIENT)
CLIENT_LEFT: Final = debug("client_left", *_CLIENT)
CONNECTION_REJECTED: Final = warning("connection_rejected", *_CLIENT, "limit", "suppressed")
CLIENT_REJECTED: Final = warning("client_rejected", *_SESSION, "reason", "detail", "suppressed")
TLS_HANDSHAKE_FAILED: Final = warning("tls_handshake_failed", *_CLIENT, "error", "suppressed")
PROXY_HEADER_REJECTED: Final = warning("proxy_header_rejected", *_CLIENT, "error", "suppressed")
PRINCIPAL_NOT_MAPPED: Final = warning("principal_not_mapped", *_CLIENT, "error", "suppressed")
BROKER_NAME_NOT_RESOLVED: Final = warning("broker_name_not_resolved", "broker", "tried")
CLIENTS_FAIL: Final = warning(
    "clients_fail", "listener", "broker", "result", "failed", "connections", "error", "advice"
)
SASL_FAILED: Final = warning("sasl_failed", *_SESSION, "mechanism", "error", "suppressed")
FRAME_CUT_SHORT: Final = warning(
    "frame_cut_short", *_SESSION, "received_bytes", "announced_bytes", "suppressed"
)
SESSION_CLOSED: Final = warning("session_closed", *_SESSION, "reason", "text", "suppressed")
LOOP_HELD: Final = warning("loop_held", *_SESSION, "step", "api", "size", "rule", "held_ms", "suppressed")
SESSION_CRASHED: Final = error("session_crashed", *_SESSION, "error", "frames", "suppressed")
CONNECTION_MONITOR_CRASHED: Final = error("connection_monitor_crashed", *_CRASHED)

# The clock
CLOCK_OFFSET_BEYOND: Final = error(
    "clock_offset_beyond", "offset_ms", "error_ms", "max_offset_ms", "enforced", "proven"
)
CLOCK_OFFSET_WITHIN: Final = info(
    "clock_offset_within", "offset_ms", "error_ms", "max_offset_ms", "enforced", "proven"
)
CLOCK_NOT_SYNCHRONISED: Final = info("clock_not_synchronised", "text")
CLOCK_SUSPECTED: Final = warning("clock_suspected", "by", "text")
CLOCK_SUSPICION_ENDED: Final = info("clock_suspicion_ended", "by", "text")
CLOCK_STEPPED: Final = warning("clock_stepped", "by_ms")
BROKER_CLOCK_DIFFERS: Final = warning("broker_clock_differs", "node_id", "offset_ms", "error_ms")
CLOCK_NOT_MEASURED: Final = error("clock_not_measured", "error")
CLOCK_LISTENING_CRASHED: Final = error("clock_listening_crashed", *_CRASHED)

# Configuration and certificates
CONFIG_RELOADED: Final = info("config_reloaded", "changed")
CONFIG_NOT_RELOADED: Final = error("config_not_reloaded", "problems", "advice")
CONFIG_NEEDS_RESTART: Final = warning("config_needs_restart", "keys", "advice")
CONFIG_RELOAD_CRASHED: Final = error("config_reload_crashed", *_CRASHED)
CERTIFICATES_RELOADED: Final = info("certificates_reloaded", "settings")
CERTIFICATES_NOT_RELOADED: Final = warning("certificates_not_reloaded", "problems", "advice")
CERTIFICATES_STILL_NOT_RELOADED: Final = error("certificates_still_not_reloaded", "problems", "advice")
CERTIFICATES_WATCH_CRASHED: Final = error("certificates_watch_crashed", *_CRASHED)
TLS_SESSIONS_STORED: Final = warning("tls_sessions_stored", "error", "advice")
CERTIFICATE_ENDS_SOON: Final = warning("certificate_ends_soon", "setting", "file", "subject", "hours_left")
CERTIFICATE_EXPIRED: Final = error("certificate_expired", "setting", "file", "subject", "hours_ago")
REVOCATIONS_END_SOON: Final = warning("revocations_end_soon", "setting", "file", "subject", "hours_left")
REVOCATIONS_EXPIRED: Final = error("revocations_expired", "setting", "file", "subject", "hours_ago")

# The decision log
DECISION_LOG_STOPPED: Final = error("decision_log_stopped", "error", "lines_lost")
DECISION_LOG_RESUMED: Final = info("decision_log_resumed", "lines_lost")
DECISION_LINES_LOST: Final = error("decision_lines_lost", "lines_lost")
DECISION_LOG_CRASHED: Final = error("decision_log_crashed", *_CRASHED)
DECISION_FILE_RECOVERED: Final = warning("decision_file_recovered", "file", "bytes_kept", "bytes_cut")
DECISION_FILE_NOT_CLOSED: Final = error("decision_file_not_closed", "file", "error")
DECISION_FILE_REMOVED: Final = error("decision_file_removed", "file", "bytes_lost")
DECISION_FILES_DELETED: Final = info("decision_files_deleted", "files", "bytes")
DECISION_FILES_NOT_DELETED: Final = error("decision_files_not_deleted", "directory", "error")
DECISION_STATE_DAMAGED: Final = warning("decision_state_damaged", "file", "advice")
DECISION_TOPIC_FAILED: Final = error("decision_topic_failed", "error", "topic")
DECISION_TOPIC_RESUMED: Final = info("decision_topic_resumed", "topic")
DECISION_NOT_SENT: Final = error("decision_not_sent", "error", "bytes")
DECISIONS_LEFT_UNSENT: Final = warning("decisions_left_unsent", "advice")

# Dead letters
DEAD_LETTERS_FAILED: Final = error("dead_letters_failed", "error", "topic")
DEAD_LETTERS_RESUMED: Final = info("dead_letters_resumed", "topic")
DEAD_LETTERS_LOST: Final = warning("dead_letters_lost", "records", "advice")

BY_NAME: Final[Mapping[str, LogEvent]] = {
    row.name: row for row in [*globals().values()] if isinstance(row, LogEvent)
}
"""All events. `Note` and `Warn` of a session name theirs as text."""
