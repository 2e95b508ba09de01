"""Metrics of the decision log, dead letters, the clock, the configuration and the process."""

from typing import Final

from tsproxy.proxy.metrics.described import (
    FROM_START,
    Joined,
    counter_row,
    gauge_row,
)

_DEAD_LETTERS: Final = "from the start, with `dead_letters`"
_WORKERS: Final = "from the start, with `workers` above 1"

# -- Decision log and dead letters -------------------------------------------------------------------

DECISIONS: Final = counter_row(
    "tsproxy_decisions",
    (),
    "lines",
    "Lines written to the decision log",
    FROM_START,
    "No increase for several intervals: nothing is logged, not even heartbeats.",
)
DECISIONS_DROPPED: Final = counter_row(
    "tsproxy_decisions_dropped",
    (),
    "lines",
    "Lines that did not reach the decision log",
    FROM_START,
    "Alert on any increase: the disk is full or slow. Reports will say that they are incomplete.",
)
DECISION_LOG_WRITABLE: Final = gauge_row(
    "tsproxy_decision_log_writable",
    (),
    "0 or 1",
    "1 while lines reach the files of the decision log",
    FROM_START,
    "Alert on 0: the disk is full, or the folder cannot be written.",
    Joined.LOWEST,
)
DECISION_FILES_DELETED: Final = counter_row(
    "tsproxy_decision_files_deleted",
    (),
    "files",
    "Files of the decision log that were deleted because of age or size",
    FROM_START,
    "Make sure that reports are made before files are deleted (`decisions.retention`).",
)
DECISION_TOPIC_UP: Final = gauge_row(
    "tsproxy_decision_topic_up",
    (),
    "0 or 1",
    "1 while the decision log's topic accepts lines",
    "from the start, with `decisions.topic`",
    "Alert on 0: the files keep the lines that the topic misses, for as long as `decisions.retention`.",
    Joined.LOWEST,
)
DECISION_TOPIC_SENT: Final = counter_row(
    "tsproxy_decision_topic_sent",
    (),
    "lines",
    "Lines that the decision log's topic has accepted",
    "from the start, with `decisions.topic`",
    "Should grow with `tsproxy_decisions_total`.",
)
DEAD_LETTERS: Final = counter_row(
    "tsproxy_dead_letters",
    (),
    "records",
    "Dead letters that their topic has accepted",
    _DEAD_LETTERS,
    "The copies of rejected records.",
)
DEAD_LETTERS_LOST: Final = counter_row(
    "tsproxy_dead_letters_lost",
    ("reason",),
    "records",
    "Rejected records without a dead letter",
    _DEAD_LETTERS,
    "[policy.md](policy.md#dead-letters) explains each reason.",
)
DEAD_LETTERS_WAITING: Final = gauge_row(
    "tsproxy_dead_letters_waiting",
    (),
    "records",
    "Rejected records that wait to be copied to the dead letter topic",
    _DEAD_LETTERS,
    "Grows: the topic is slow or does not accept them. Only a limited number waits, the rest is lost.",
    Joined.SUM,
)
DEAD_LETTERS_UP: Final = gauge_row(
    "tsproxy_dead_letters_up",
    (),
    "0 or 1",
    "1 while the dead letter topic accepts dead letters",
    _DEAD_LETTERS,
    "Alert on 0: `dead_letters_failed` in the log says why.",
    Joined.LOWEST,
)

# -- The clock ---------------------------------------------------------------------------------------

CLOCK_SUSPECTED: Final = gauge_row(
    "tsproxy_clock_suspected",
    ("by",),
    "0 or 1",
    "1 while the operating system's kernel, the brokers or nearly all clients contradict the proxy's clock",
    FROM_START,
    'Alert on 1 with `by="brokers"`: check NTP on this machine. A slow clock rejects good records '
    "([policy.md](policy.md#the-proxys-clock)).",
    Joined.HIGHEST,
)
CLOCK_OFFSET: Final = gauge_row(
    "tsproxy_clock_offset_seconds",
    ("broker",),
    "seconds",
    "The proxy's clock minus a broker's",
    "when the broker's clock has been measured",
    "All brokers differ: this machine's clock is wrong. One differs: that broker's clock is wrong. Without "
    "[`clock.probe`](policy.md#the-proxys-clock) exact to a few seconds.",
    Joined.FARTHEST,
)
CLOCK_STEPS: Final = counter_row(
    "tsproxy_clock_steps",
    (),
    "steps",
    "How often the wall clock was set by a quarter of a second or more",
    FROM_START,
    "Once after a boot is normal. Again and again: two programs set the clock.",
)
ENFORCEMENT_SUSPENDED: Final = gauge_row(
    "tsproxy_enforcement_suspended",
    (),
    "0 or 1",
    "1 while nothing is enforced because of the clock",
    FROM_START,
    "Alert on 1: correct this machine's clock (`clock.when_beyond: audit`).",
    Joined.HIGHEST,
)

# -- Configuration and certificates ------------------------------------------------------------------

CONFIG_RELOAD: Final = counter_row(
    "tsproxy_config_reload",
    ("result",),
    "reloads",
    "Reloads of the configuration by result: taken or rejected",
    FROM_START,
    "`rejected`: the log names every problem, and the old configuration stays in force.",
)
CONFIG_LAST_RELOAD_SUCCESSFUL: Final = gauge_row(
    "tsproxy_config_last_reload_successful",
    (),
    "0 or 1",
    "1 if the last reload was taken, or there was none",
    FROM_START,
    "Alert on 0: the file differs from the configuration in force.",
    Joined.SUM,
)
CONFIG_LAST_RELOAD_SUCCESS: Final = gauge_row(
    "tsproxy_config_last_reload_success_timestamp_seconds",
    (),
    "seconds since 1970",
    "When the configuration in force was taken, in seconds since 1970",
    FROM_START,
    "Compare with the time of your last change.",
    Joined.SUM,
)
CERTIFICATE_EXPIRY: Final = gauge_row(
    "tsproxy_certificate_expiry_seconds",
    ("setting",),
    "seconds",
    "Seconds until the certificates of a file expire; below 0 since they have expired",
    "from the start for each certificate file of the configuration",
    "Alert below a week: renew the files. No restart is needed.",
    Joined.LOWEST,
)

# -- The process and its workers ---------------------------------------------------------------------

WORKER_READY: Final = gauge_row(
    "tsproxy_worker_ready",
    ("worker",),
    "0 or 1",
    "1 while the worker is ready",
    _WORKERS,
    "0 for more than some seconds: `/readyz` and the log say why.",
    Joined.SUM,
)
WORKER_RESTARTS: Final = counter_row(
    "tsproxy_worker_restarts",
    ("worker",),
    "restarts",
    "How often a worker was started again",
    _WORKERS,
    "Alert on an increase: `worker_ended` in the log says how it ended. `worker_hangs` before it means "
    "that the supervisor killed it.",
)
BUILD_INFO: Final = gauge_row(
    "tsproxy_build_info", ("version", "python"), "1", "Always 1", FROM_START, "The versions.", Joined.HIGHEST
)
TASKS: Final = gauge_row(
    "tsproxy_tasks",
    (),
    "tasks",
    "Tasks of the event loop",
    FROM_START,
    "With workers: of the supervisor and all workers. It follows the number of connections. Grows while"
    " `tsproxy_connections` does not: report it.",
    Joined.SUM,
)
PROCESS_CPU: Final = counter_row(
    "process_cpu_seconds",
    (),
    "seconds",
    "Total user and system CPU time spent in seconds.",
    FROM_START,
    "Linux. With workers: of the supervisor and all workers, including those that have ended. A rate near"
    " the number of workers: add workers.",
)
PROCESS_RESIDENT_MEMORY: Final = gauge_row(
    "process_resident_memory_bytes",
    (),
    "bytes",
    "Resident memory size in bytes.",
    FROM_START,
    "Linux. See [capacity](operations.md#capacity). With workers: of the supervisor and all workers.",
    Joined.SUM,
)
PROCESS_VIRTUAL_MEMORY: Final = gauge_row(
    "process_virtual_memory_bytes",
    (),
    "bytes",
    "Virtual memory size in bytes.",
    FROM_START,
    "Linux. Not the memory that the process uses.",
    Joined.SUM,
)
PROCESS_OPEN_FDS: Final = gauge_row(
    "process_open_fds",
    (),
    "descriptors",
    "Number of open file descriptors.",
    FROM_START,
    "Linux. Near `process_max_fds`: see [capacity](operations.md#capacity).",
    Joined.HIGHEST,
)
PROCESS_MAX_FDS: Final = gauge_row(
    "process_max_fds",
    (),
    "descriptors",
    "Maximum number of open file descriptors.",
    FROM_START,
    "Linux. Each process has this limit for itself.",
    Joined.LOWEST,
)
PROCESS_START_TIME: Final = gauge_row(
    "process_start_time_seconds",
    (),
    "seconds since 1970",
    "Start time of the process since unix epoch in seconds.",
    FROM_START,
    "Linux. With workers: of the supervisor. A new value: the proxy was started again, and counters began"
    " at 0.",
    Joined.LOWEST,
)
