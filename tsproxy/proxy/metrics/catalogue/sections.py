"""The catalogue in the order of docs/metrics.md."""

from collections.abc import Mapping
from typing import Final

from tsproxy.proxy.metrics.catalogue import state, traffic
from tsproxy.proxy.metrics.described import Described

SECTIONS: Final[Mapping[str, tuple[Described, ...]]] = {
    "Batches and records": (
        traffic.BATCHES,
        traffic.RECORDS,
        traffic.BAD_RECORDS,
        traffic.TOPIC_BAD_RECORDS,
        traffic.TOPIC_RECORDS,
        traffic.TOPIC_OUT_OF_ORDER_RECORDS,
        traffic.CANDIDATE_BAD_RECORDS,
        traffic.AUDITED_BAD_RECORDS,
        traffic.RECORDS_UNREAD,
        traffic.TIMESTAMP_DRIFT,
        traffic.RULE_HITS,
        traffic.RULE_BAD_RECORDS,
        traffic.RULE_FAILURES,
        traffic.WAIVER_EXPIRY,
    ),
    "Latency and CPU": (
        traffic.REQUEST_SECONDS,
        traffic.UPSTREAM_SECONDS,
        traffic.EVENT_LOOP_LAG,
    ),
    "Connections and limits": (
        traffic.CONNECTIONS,
        traffic.SESSIONS_CLOSED,
        traffic.TLS_HANDSHAKES_FAILED,
        traffic.SASL_FAILURES,
        traffic.LIMITS,
        traffic.BUFFERED_BYTES,
        traffic.BYTES,
        traffic.THROTTLE_SECONDS,
        traffic.TOPIC_NAME_WAITS,
    ),
    "Brokers": (
        traffic.UPSTREAM_UP,
        traffic.BROKERS,
        traffic.BROKERS_NOT_SERVED,
        traffic.ADDRESS_UNMAPPED,
    ),
    "Decision log and dead letters": (
        state.DECISIONS,
        state.DECISIONS_DROPPED,
        state.DECISION_LOG_WRITABLE,
        state.DECISION_FILES_DELETED,
        state.DECISION_TOPIC_UP,
        state.DECISION_TOPIC_SENT,
        state.DEAD_LETTERS,
        state.DEAD_LETTERS_LOST,
        state.DEAD_LETTERS_WAITING,
        state.DEAD_LETTERS_UP,
    ),
    "The clock": (
        state.CLOCK_SUSPECTED,
        state.CLOCK_OFFSET,
        state.CLOCK_STEPS,
        state.ENFORCEMENT_SUSPENDED,
    ),
    "Configuration and certificates": (
        state.CONFIG_RELOAD,
        state.CONFIG_LAST_RELOAD_SUCCESSFUL,
        state.CONFIG_LAST_RELOAD_SUCCESS,
        state.CERTIFICATE_EXPIRY,
    ),
    "The process and its workers": (
        state.WORKER_READY,
        state.WORKER_RESTARTS,
        state.BUILD_INFO,
        state.TASKS,
        state.PROCESS_CPU,
        state.PROCESS_RESIDENT_MEMORY,
        state.PROCESS_VIRTUAL_MEMORY,
        state.PROCESS_OPEN_FDS,
        state.PROCESS_MAX_FDS,
        state.PROCESS_START_TIME,
    ),
}

ALL: Final = {row.name: row for rows in SECTIONS.values() for row in rows}
"""Metrics by name."""
