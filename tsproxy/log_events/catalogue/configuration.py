"""Events of configuration and certificates."""

from typing import Final

from tsproxy.log_events.event import crashed, error, info, warning

TITLE: Final = "Configuration and certificates"

CONFIG_RELOADED: Final = info(
    "config_reloaded", ("changed",), "A new configuration is in force. `changed` names its keys."
)
CONFIG_NOT_RELOADED: Final = error(
    "config_not_reloaded",
    ("problems", "advice"),
    "The new file has mistakes, all in `problems`. The old configuration stays in force.",
    "Correct the file ([mistakes.md](../reference/mistakes.md)); `tsproxy check` shows the same.",
)
CONFIG_NEEDS_RESTART: Final = warning(
    "config_needs_restart",
    ("keys", "advice"),
    "Some changed keys need a restart, and keep their values until then.",
    "Restart the proxy.",
)
CONFIG_NOTICE: Final = warning(
    "config_notice",
    ("place", "key", "text"),
    "The file is valid, but something in it has no effect or is a risk.",
    "Read `text`; `tsproxy check` shows all notices.",
)
CONFIG_NOTICES_LEFT_OUT: Final = warning(
    "config_notices_left_out",
    ("count", "advice"),
    "There are more notices than the log shows.",
    "`tsproxy check` has all of them.",
)
CONFIG_RELOAD_CRASHED: Final = crashed(
    "config_reload_crashed", "An error in our code during a reload. The old configuration stays in force."
)
CERTIFICATES_RELOADED: Final = info(
    "certificates_reloaded", ("settings",), "New certificates are in use for new connections."
)
CERTIFICATES_NOT_RELOADED: Final = warning(
    "certificates_not_reloaded",
    ("problems", "advice"),
    "New certificate files cannot be used. The old ones stay in use. A certificate and its key change in two"
    " steps, so this may be over in a moment.",
    "`problems` says which file and why.",
)
CERTIFICATES_STILL_NOT_RELOADED: Final = error(
    "certificates_still_not_reloaded",
    ("problems", "advice"),
    "The same for more than a minute.",
    "`problems` says which file and why.",
)
CERTIFICATES_WATCH_CRASHED: Final = crashed(
    "certificates_watch_crashed", "An error in our code while the files were checked."
)
CERTIFICATE_ENDS_SOON: Final = warning(
    "certificate_ends_soon",
    ("setting", "file", "subject", "hours_left"),
    "A certificate ends in `hours_left` hours.",
    "Renew it. The proxy reads the new file by itself.",
)
CERTIFICATE_EXPIRED: Final = error(
    "certificate_expired",
    ("setting", "file", "subject", "hours_ago"),
    "A certificate has ended. Clients or brokers reject it.",
    "Renew it now.",
)
REVOCATIONS_END_SOON: Final = warning(
    "revocations_end_soon",
    ("setting", "file", "subject", "hours_left"),
    "A list of revoked certificates ends in `hours_left` hours.",
    "Publish a new one.",
)
REVOCATIONS_EXPIRED: Final = error(
    "revocations_expired",
    ("setting", "file", "subject", "hours_ago"),
    "A list has ended. Clients of that authority are rejected.",
    "Publish a new one now.",
)
