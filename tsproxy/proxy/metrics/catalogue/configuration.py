"""Metrics of the configuration and of certificates."""

from typing import Final

from tsproxy.proxy.metrics.described import FROM_START, Joined, counter_row, gauge_row

TITLE: Final = "Configuration and certificates"

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
CERTIFICATES_LAST_RELOAD_SUCCESSFUL: Final = gauge_row(
    "tsproxy_certificates_last_reload_successful",
    ("section",),
    "0 or 1",
    "1 if the files of a `tls` section could be used when they last changed",
    "from the start for each `tls` section of the configuration",
    "Alert on 0: the files on disk cannot be used, and the old ones are in force until they expire.",
    Joined.LOWEST,
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
