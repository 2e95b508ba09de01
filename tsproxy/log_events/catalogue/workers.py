"""Events of workers and their supervisor."""

from typing import Final

from tsproxy.log_events.event import crashed, error, info

TITLE: Final = "Workers"

WORKER_STARTED: Final = info("worker_started", ("pid",), "A worker accepts clients.")
WORKER_STOPPED: Final = info("worker_stopped", ("clients_cut",), "A worker has drained and ended.")
WORKER_ENDED: Final = error(
    "worker_ended",
    ("worker", "error", "restart_in_ms"),
    "A worker ended by itself. It is started again after `restart_in_ms`.",
    "Read the lines before it. Status -9 often means that the system had no memory left.",
)
WORKER_HANGS: Final = error(
    "worker_hangs",
    ("worker", "pid", "advice"),
    "A worker did not answer several questions in a row, and did not just wait for a core. It is killed and "
    "started again.",
    "Report it with the lines before it.",
)
WORKER_KILLED: Final = error(
    "worker_killed",
    ("worker", "advice"),
    "A worker did not end in time and was killed. The counts of its last interval are lost, and the report "
    "says so.",
    "Raise `limits.drain_timeout` if it happens at every stop.",
)
WORKER_NOT_RELOADED: Final = error(
    "worker_not_reloaded",
    ("worker", "waited_s", "advice"),
    "A worker did not answer in time. It runs by the old configuration until it answers again, and then by "
    "the new one.",
    "Look for `worker_hangs` of the same worker.",
)
WORKER_WATCH_CRASHED: Final = crashed(
    "worker_watch_crashed",
    "An error in our code while the supervisor looked at its workers. The next look is a second later.",
)
SUPERVISOR_LOST: Final = error(
    "supervisor_lost",
    ("advice",),
    "The supervisor was killed. This worker drains and ends.",
    "Let the service manager start the proxy again.",
)
ORDERS_CRASHED: Final = error(
    "orders_crashed",
    ("error", "frames"),
    "An error in our code, or no memory, while this worker obeyed the supervisor. It drains and ends, and "
    "the supervisor starts another one.",
    "`MemoryError`: give the machine more memory, or set `limits.buffered` lower. Report any other error.",
)
