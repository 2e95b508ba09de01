"""Problems that exist while clients are served, or should be: one sentence for each of them (`troubles`).

`/readyz?verbose` and the live page show the same sentences. Clients that are not served come first.
"""

from collections.abc import Iterator
from typing import Final

from tsproxy.config.enforced import NOTHING
from tsproxy.decisions.text import instant
from tsproxy.proxy.admin.report import Report
from tsproxy.proxy.metrics.results import Failure, Result, failures
from tsproxy.proxy.metrics.totals import rows
from tsproxy.tls.contexts import STORED

_EXPIRY: Final = "tsproxy_certificate_expiry_seconds"

_READ_BY: Final = {
    Result.HANDSHAKE_FAILED.label: ("certificate",),
    Result.CERTIFICATE_REJECTED.label: ("client_ca", "client_crl"),
}
"""The settings whose files decide whether a client is content, and whether the proxy is."""


def troubles(report: Report) -> list[str]:
    """The most serious problem first."""
    failing = (failure.sentence(_known_cause(failure, report)) for failure in failures(report.lately))
    return [*failing, *report.warnings, *_of_metrics(report)]


def _known_cause(failure: Failure, report: Report) -> str:
    """The cause of failed handshakes, if the proxy knows it better than the other side. Java's clients call a
    certificate that has expired an unknown one."""
    settings = [f"listeners.{failure.listener}.tls.{name}" for name in _READ_BY.get(failure.result, ())]
    for labels, left_s in rows(report.families, _EXPIRY):
        if left_s <= 0 and labels["setting"] in settings:
            return (
                f"a certificate of {labels['setting']} has expired. Renew it; the proxy reads the new file "
                "by itself."
            )
    return ""


def _of_metrics(report: Report) -> Iterator[str]:
    """The problems that metrics show. With workers, the supervisor alone reads the configuration."""
    families = report.families
    if any(value for _, value in rows(families, "tsproxy_enforcement_suspended")):
        yield "nothing is enforced: this proxy's clock is too far from the brokers' (clock.max_offset)"
    for labels, ended_s in rows(families, "tsproxy_enforcement_ended_timestamp_seconds"):
        enforced, since = labels["enforced"], instant(int(ended_s * 1000))
        left = "nothing is enforced" if enforced == NOTHING else f"less is enforced (only {enforced})"
        yield f"{left} since a reload at {since}; policy.mode is {labels['mode']}"
    if any(value == 0 for _, value in rows(families, "tsproxy_config_last_reload_successful")):
        yield "the configuration file was rejected: an older one is in force (config_not_reloaded)"
    if any(value for _, value in rows(families, "tsproxy_tls_sessions_stored")):
        yield f"{STORED} (tls_sessions_stored)"
    for labels, left_s in rows(families, _EXPIRY):
        if left_s <= 0:
            yield f"a certificate of {labels['setting']} has expired: clients or brokers reject it"
    for labels, value in rows(families, "tsproxy_certificates_last_reload_successful"):
        if value == 0:
            yield f"the files of {labels['section']} cannot be used, and the old ones are in force"
