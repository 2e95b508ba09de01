"""Events of the start, the end and the process itself."""

from typing import Final

from tsproxy.log_events.event import error, info, warning

TITLE: Final = "Start and stop"

PROXY_STARTING: Final = info(
    "proxy_starting",
    ("upstream", "listeners", "admin", "decisions", "mode", "workers"),
    "The proxy has read its configuration and asks the cluster for its brokers.",
    "Nothing. If `proxy_started` does not follow, see `upstream_unreachable`.",
)
PROXY_STARTED: Final = info(
    "proxy_started",
    ("brokers", "listeners", "admin", "decisions", "mode", "workers"),
    "Clients may connect. `brokers` has the port of each broker.",
)
DRAIN_DELAYED: Final = info(
    "drain_delayed",
    ("delay_ms", "advice"),
    "SIGTERM came. The ports stay open for `limits.drain_delay`, and `/readyz` returns 503.",
    "Nothing. Another SIGTERM ends the delay.",
)
DRAIN_STARTED: Final = info(
    "drain_started",
    ("clients", "timeout_ms"),
    "No new connections. The proxy waits for answers, for at most `limits.drain_timeout`.",
)
PROXY_STOPPED: Final = info(
    "proxy_stopped",
    ("clients_cut",),
    "The end. `clients_cut` connections had missing answers.",
    "If `clients_cut` is often above 0, raise `limits.drain_timeout`.",
)
JUDGES_NOT_ENDED: Final = warning(
    "judges_not_ended",
    ("advice",),
    "A thread that judges an expensive request did not end in time. It ends with the process.",
    "Nothing, unless the process does not end.",
)
DECISION_LOG_NOT_FINISHED: Final = error(
    "decision_log_not_finished",
    ("directory",),
    "The last lines could not be written at the end, so the report names a gap.",
    "Look at the disk and the folder of `decisions.directory`.",
)
FILE_DESCRIPTORS_FEW: Final = warning(
    "file_descriptors_few",
    ("granted", "needed", "connections", "advice"),
    "The system allows fewer open files than `limits.connections` needs.",
    "Raise `LimitNOFILE` (systemd) or `ulimit -n`, or lower `limits.connections`.",
)
ACCEPTING_PAUSED: Final = error(
    "accepting_paused",
    ("address", "error", "retry_s"),
    "No file descriptor is left. The port accepts nothing for a second.",
    "As above. Look at `tsproxy_connections`.",
)
LIBRARY_COMPLAINED: Final = warning(
    "library_complained",
    ("library", "text", "error", "frames"),
    "A library wrote a line to its own log. If `level` is error, the library says so.",
    "Read `text`. Report it if clients are not served.",
)
