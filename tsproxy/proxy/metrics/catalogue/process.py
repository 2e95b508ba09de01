"""Metrics of the process and its workers."""

from typing import Final

from tsproxy.proxy.metrics.described import FROM_START, Joined, counter_row, gauge_row

TITLE: Final = "The process and its workers"

_WORKERS: Final = "from the start, with `workers` above 1"

WORKER_READY: Final = gauge_row(
    "tsproxy_worker_ready",
    "0 or 1",
    "1 while the worker is ready",
    "0 for more than some seconds: `/readyz` and the log say why.",
    ("worker",),
    appear=_WORKERS,
    joined=Joined.SUM,
)
WORKER_RESTARTS: Final = counter_row(
    "tsproxy_worker_restarts_total",
    "restarts",
    "How often a worker was started again",
    "Alert on an increase: `worker_ended` in the log says how it ended. `worker_hangs` before it means "
    "that the supervisor killed it.",
    ("worker",),
    appear=_WORKERS,
)
BUILD_INFO: Final = gauge_row(
    "tsproxy_build_info",
    "1",
    "Always 1",
    "The versions.",
    ("version", "python"),
    appear=FROM_START,
    joined=Joined.HIGHEST,
)
TASKS: Final = gauge_row(
    "tsproxy_tasks",
    "tasks",
    "Tasks of the event loop",
    "With workers: of the supervisor and all workers. It follows the number of connections. Grows while"
    " `tsproxy_connections` does not: report it.",
    joined=Joined.SUM,
)
PROCESS_CPU: Final = counter_row(
    "process_cpu_seconds_total",
    "seconds",
    "Total user and system CPU time spent in seconds.",
    "Linux. With workers: of the supervisor and all workers, including those that have ended. A rate near"
    " the number of workers: add workers.",
)
PROCESS_RESIDENT_MEMORY: Final = gauge_row(
    "process_resident_memory_bytes",
    "bytes",
    "Resident memory size in bytes.",
    "Linux. See [capacity](../guide/operations.md#capacity). With workers: of the supervisor "
    "and all workers.",
    joined=Joined.SUM,
)
PROCESS_VIRTUAL_MEMORY: Final = gauge_row(
    "process_virtual_memory_bytes",
    "bytes",
    "Virtual memory size in bytes.",
    "Linux. Not the memory that the process uses.",
    joined=Joined.SUM,
)
PROCESS_OPEN_FDS: Final = gauge_row(
    "process_open_fds",
    "descriptors",
    "Number of open file descriptors.",
    "Linux. Near `process_max_fds`: see [capacity](../guide/operations.md#capacity).",
    joined=Joined.HIGHEST,
)
PROCESS_MAX_FDS: Final = gauge_row(
    "process_max_fds",
    "descriptors",
    "Maximum number of open file descriptors.",
    "Linux. Each process has this limit for itself.",
    joined=Joined.LOWEST,
)
PROCESS_START_TIME: Final = gauge_row(
    "process_start_time_seconds",
    "seconds since 1970",
    "Start time of the process since unix epoch in seconds.",
    "Linux. With workers: of the supervisor. A new value: the proxy was started again, and counters began"
    " at 0.",
    joined=Joined.LOWEST,
)
