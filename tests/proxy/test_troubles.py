"""Problems that metrics show are warnings for people, too."""

import pytest

from tests.config.files import SMALLEST, config_of
from tsproxy.proxy.admin import live
from tsproxy.proxy.admin.report import Report
from tsproxy.proxy.admin.troubles import troubles
from tsproxy.proxy.metrics.catalogue import (
    CERTIFICATE_EXPIRY,
    CERTIFICATES_LAST_RELOAD_SUCCESSFUL,
    CONFIG_LAST_RELOAD_SUCCESSFUL,
    ENFORCEMENT_SUSPENDED,
    SESSIONS_STORED,
)
from tsproxy.proxy.metrics.registry import Metrics
from tsproxy.proxy.metrics.results import RecentResult
from tsproxy.proxy.metrics.totals import families_now

ROWS = [
    (CONFIG_LAST_RELOAD_SUCCESSFUL, (), 1, 0, "an older one is in force (config_not_reloaded)"),
    (ENFORCEMENT_SUSPENDED, (), 0, 1, "nothing is enforced: this proxy's clock"),
    (SESSIONS_STORED, (), 0, 1, "OpenSSL keeps sessions of TLS 1.2"),
    (CERTIFICATE_EXPIRY, ("listeners.public.tls.certificate",), 60, -60, "has expired"),
    (
        CERTIFICATES_LAST_RELOAD_SUCCESSFUL,
        ("upstream.tls",),
        1,
        0,
        "the files of upstream.tls cannot be used",
    ),
]


@pytest.mark.parametrize(("row", "labels", "well", "ill", "text"), ROWS)
def test_a_metric_that_shows_a_problem_is_a_warning(row, labels, well, ill, text):
    metrics = Metrics()
    gauge = row.gauge(metrics.registry)
    own = gauge.labels(*labels) if labels else gauge

    def shown():
        return troubles(Report((), families_now(metrics.families())))

    own.set(well)
    assert shown() == []
    own.set(ill)
    [sentence] = shown()
    assert text in sentence


@pytest.mark.parametrize(
    ("key", "result"),
    [
        ("certificate", "handshake_failed"),
        ("client_ca", "certificate_rejected"),
        ("client_crl", "certificate_rejected"),
    ],
)
@pytest.mark.parametrize(("left_s", "is_known"), [(-1, True), (60, False)])
def test_a_certificate_that_is_over_is_the_cause_of_failed_handshakes(key, result, left_s, is_known):
    """Java's clients say `certificate unknown`."""
    metrics, setting = Metrics(), f"listeners.public.tls.{key}"
    CERTIFICATE_EXPIRY.gauge(metrics.registry).labels(setting).set(left_s)
    rows = [RecentResult(name, "", result, 9, "alert certificate unknown") for name in ("public", "publi")]
    report = Report((), families_now(metrics.families()), lately=tuple(rows))
    said = {
        name: next(s for s in troubles(report) if f"listener {name} " in s) for name in ("public", "publi")
    }
    assert (f"fail: a certificate of {setting} has expired. Renew it" in said["public"]) is is_known
    assert ("alert certificate unknown" in said["public"]) is not is_known
    assert "alert certificate unknown" in said["publi"]


def test_the_page_begins_with_what_clients_suffer():
    failing = RecentResult("public", "2", "broker_unreachable", 9, "name not known")
    report = Report((), families_now(Metrics().families()), lately=(failing,), warnings=("disk full",))
    head = live.page(config_of(SMALLEST), report).partition("</h1>")[0]
    assert "9 of 9 new clients of listener public fail: broker 2 cannot be reached (name not known)" in head
