"""Metrics of the configuration and of certificates."""

from typing import Final

from tsproxy.proxy.metrics.described import FROM_START, Joined, counter_row, gauge_row

TITLE: Final = "Configuration and certificates"

CONFIG_RELOAD: Final = counter_row(
    "tsproxy_config_reload_total",
    "reloads",
    "Reloads of the configuration by result: taken or rejected",
    "`rejected`: the log names every problem, and the old configuration stays in force.",
    ("result",),
    appear=FROM_START,
)
CONFIG_LAST_RELOAD_SUCCESSFUL: Final = gauge_row(
    "tsproxy_config_last_reload_successful",
    "0 or 1",
    "1 if the last reload was taken, or there was none",
    "Alert on 0: the file differs from the configuration in force.",
    joined=Joined.SUM,
)
CONFIG_LAST_RELOAD_SUCCESS: Final = gauge_row(
    "tsproxy_config_last_reload_success_timestamp_seconds",
    "seconds since 1970",
    "When the configuration in force was taken, in seconds since 1970",
    "Compare with the time of your last change.",
    joined=Joined.SUM,
)
CERTIFICATES_LAST_RELOAD_SUCCESSFUL: Final = gauge_row(
    "tsproxy_certificates_last_reload_successful",
    "0 or 1",
    "1 if the files of a `tls` section could be used when they last changed",
    "Alert on 0: the files on disk cannot be used, and the old ones are in force until they expire.",
    ("section",),
    appear="from the start for each `tls` section of the configuration",
    joined=Joined.LOWEST,
)
CERTIFICATE_EXPIRY: Final = gauge_row(
    "tsproxy_certificate_expiry_seconds",
    "seconds",
    "Seconds until the certificates of a file expire; below 0 since they have expired",
    "Alert below a week: renew the files. No restart is needed.",
    ("setting",),
    appear="from the start for each certificate file of the configuration",
    joined=Joined.LOWEST,
)
