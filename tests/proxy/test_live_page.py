"""The live page tells somebody on call whether it is well, who is bad, since when, and what to do."""

import asyncio
import html
import re
from dataclasses import replace

import pytest

from tests.proxy.measured import REJECTED
from tests.proxy.test_admin_pages import CONFIG, HOSTILE, NOW_MS, OneProxy, Tags, rejected, report_of
from tests.spark_reports import browser
from tsproxy.model.addresses import Address
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.outcome import Culprit, VerdictName
from tsproxy.model.policy import CANDIDATE
from tsproxy.model.verdict import Reason, UnitGuess
from tsproxy.proxy.admin import live
from tsproxy.proxy.admin.http import AdminHttp
from tsproxy.proxy.admin.pages import pages
from tsproxy.proxy.admin.senders import LATELY_MS, senders
from tsproxy.proxy.clock_check.offsets import Offset
from tsproxy.proxy.metrics.catalogue import CLOCK_OFFSET, CLOCK_OFFSET_MARGIN
from tsproxy.proxy.metrics.offenders import SHOWN
from tsproxy.proxy.metrics.totals import families_now

MINUTE_MS = 60_000
SECONDS = NOW_MS // 1000


def text_of(report):
    document = Tags()
    document.feed(live.page(CONFIG, report))
    return document.text


def in_seconds(now_ms=NOW_MS, **facts):
    facts = {"reason": Reason.TOO_OLD, "unit_guess": UnitGuess.SECONDS, **facts}
    return rejected("loyalty", now_ms, culprits=(Culprit(0, SECONDS),), **facts)


def in_audit(client_id, **facts):
    return rejected(client_id, verdict=VerdictName.ACCEPTED, would_reject=True, **facts)


UNAUTHORIZED = rejected(
    verdict=VerdictName.BROKER_REJECTED,
    reason=Reason.OTHER,
    unit_guess=None,
    error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    bad_records=38,
)


@pytest.mark.parametrize(
    ("report", "says"),
    [
        (report_of(), "ready Clients are served, no bad timestamps in the last 5 minutes"),
        (
            report_of(rejected("a")),
            "attention Clients are served, 1 producer sent bad timestamps in the last 5 minutes",
        ),
        (
            report_of(rejected("a"), rejected("b"), warnings=["the disk is full"]),
            "attention The disk is full. 2 producers sent bad timestamps in the last 5 minutes",
        ),
        (
            report_of(warnings=["the disk is full", "the clock is wrong", "a file is missing"]),
            "attention The disk is full (and 2 more). No bad timestamps in the last 5 minutes",
        ),
        (
            report_of(rejected("a", NOW_MS - LATELY_MS)),
            "ready Clients are served, no bad timestamps in the last 5 minutes",
        ),
        (
            report_of(rejected("a"), rejected("a", topic="other")),
            "attention Clients are served, 1 producer sent bad timestamps in the last 5 minutes",
        ),
        (
            report_of(*(rejected(f"name-{number}") for number in range(SHOWN + 2))),
            f"attention Clients are served, at least {SHOWN} producers sent bad timestamps in the last 5 "
            "minutes",
        ),
        (
            report_of(*(in_audit(f"name-{number}") for number in range(SHOWN + 2))),
            "ready Clients are served, nothing rejected in the last 5 minutes, "
            f"records of at least {SHOWN} producers only counted",
        ),
        (
            report_of(*(in_audit(f"name-{number}", bad_records=2) for number in range(SHOWN)), rejected()),
            "attention Clients are served, records of at least 1 producer rejected in the last 5 minutes",
        ),
        (
            report_of(
                *(in_audit(f"name-{number}", bad_records=2) for number in range(SHOWN)),
                rejected(verdict=VerdictName.REPAIRED),
            ),
            "attention Clients are served, at least 1 producer sent bad timestamps in the last 5 minutes",
        ),
        (
            report_of(UNAUTHORIZED, rejected("b", reason=Reason.INVALID_CRC)),
            "attention Clients are served, records of 2 producers rejected in the last 5 minutes",
        ),
        (
            report_of(UNAUTHORIZED, rejected("b")),
            "attention Clients are served, 1 producer sent bad timestamps in the last 5 minutes",
        ),
        (report_of(not_ready=["no broker"]), "not ready Clients cannot be served: no broker"),
        (
            report_of(not_ready=["no broker", "the proxy stops"]),
            "not ready Clients cannot be served: no broker (and 1 more)",
        ),
    ],
)
def test_the_first_sentence_says_whether_it_is_well(report, says):
    assert says + "tsproxy" in text_of(report)


@pytest.mark.parametrize(
    ("offsets", "says"),
    [
        ({}, None),
        ({1: Offset(-11_924, 15_800)}, "clock -12 s ± 16 s from brokers'"),
        ({1: Offset(-11_924, 15_800), 2: Offset(-2_000, 900)}, "clock -2,000 ms ± 900 ms from brokers'"),
    ],
)
def test_the_clock_says_what_it_knows_a_number_with_its_margin_or_none(offsets, says):
    """The page said -11,924 ms for a broker on the same machine. It only knew the offset to 16 s."""
    offset, margin = CLOCK_OFFSET.levels(), CLOCK_OFFSET_MARGIN.levels()
    for node_id, each in offsets.items():
        offset.add_metric([str(node_id)], each.ms / 1000)
        margin.add_metric([str(node_id)], each.error_ms / 1000)
    report = report_of()
    text = text_of(replace(report, families={**report.families, **families_now([offset, margin])}))

    assert ("from brokers'" in text) == bool(says)
    assert (says or "") in text


def test_each_producer_has_the_mistake_what_to_do_and_since_when():
    first_ms = NOW_MS - 12 * MINUTE_MS
    text = text_of(report_of(in_seconds(first_ms), in_seconds(NOW_MS - 2 * MINUTE_MS)))

    assert "loyalty to orders" in text
    assert "timestamps are in seconds" in text
    assert "To do: multiply by 1,000: Kafka wants milliseconds since 1970" in text
    assert f"sent {SECONDS}, which is 1970-01-21 10:53:45 UTC; probably meant 2026-01-01 00:00:00 UTC" in text
    assert "since 2025-12-31 23:48 UTC (12m ago), last 2m ago" in text


def test_what_the_broker_rejected_before_the_limits_were_known_is_the_same_row():
    by_broker = in_seconds(
        verdict=VerdictName.BROKER_REJECTED, rule=None, error_code=ErrorCode.INVALID_TIMESTAMP
    )
    outcomes = [in_seconds(), by_broker]

    [sender] = senders(report_of(*outcomes).offenders, NOW_MS)
    assert sender.row.bad_records == 2


def test_what_the_broker_rejected_for_something_else_names_its_error_and_no_bad_record():
    text = text_of(report_of(UNAUTHORIZED))

    assert "the answer was TOPIC_AUTHORIZATION_FAILED" in text
    assert "38 records rejected" in text
    assert "bad record" not in text.partition("Producers with bad or rejected records")[2]


COUNTED = replace(
    REJECTED,
    now_ms=NOW_MS,
    verdict=VerdictName.ACCEPTED,
    would_reject=True,
    rule=CANDIDATE,
    reason=Reason.TOO_OLD,
    unit_guess=None,
)


def test_records_that_are_only_counted_are_no_alarm_and_are_told_apart():
    text = text_of(report_of(COUNTED))

    assert "nothing rejected in the last 5 minutes, records of 1 producer only counted" in text
    assert "far behind, only counted" in text
    assert "an old archive?" in text


def test_records_of_eight_days_ago_that_a_candidate_of_seven_counts_are_not_far_behind():
    """They would be rejected. Only what is older than ten years is a likely mistake."""
    old_ms = NOW_MS - 8 * 24 * 60 * MINUTE_MS
    text = text_of(report_of(replace(COUNTED, culprits=(Culprit(0, old_ms),))))

    assert "counted, not rejected" in text
    assert "far behind" not in text


@pytest.mark.parametrize(
    ("ends", "cards"),
    [
        ({}, ["records accepted: 0, ", "records rejected: 0, "]),
        ({"accepted": 7, "repaired": 3}, ["records accepted: 10, 3 repaired", "records rejected: 0, "]),
        (
            {"accepted": 7, "unconfirmed": 3},
            ["records accepted: 7, ", "records rejected: 0, ", "records unconfirmed: 3, "],
        ),
        (
            {"accepted": 7, "rejected": 1, "broker_rejected": 2},
            ["records accepted: 7, ", "records rejected: 3, 30.0%"],
        ),
        ({"rejected": 10}, ["records accepted: 0, ", "records rejected: 10, 100.0%"]),
        ({"accepted": 1, "rejected": 9_999}, ["records accepted: 1, ", "records rejected: 9,999, >99.9%"]),
        ({"accepted": 9_999, "rejected": 1}, ["records accepted: 9,999, ", "records rejected: 1, <0.1%"]),
    ],
)
def test_the_cards_count_each_record_where_it_ended(ends, cards):
    batches = {verdict: replace(REJECTED.batch, records=records) for verdict, records in ends.items()}
    report = report_of(*(rejected(verdict=VerdictName(end), batch=each) for end, each in batches.items()))
    found = re.findall(r"<dt>(records.*?)</dt><dd>(.*?)</dd><dd>(.*?)</dd>", live.page(CONFIG, report))

    assert [html.unescape("{}: {}, {}".format(*card)) for card in found] == cards


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        (2**63 - 1, "beyond the calendar"),
        (-(2**63), "beyond the calendar"),
        (0, "1970-01-01 00:00:00 UTC"),
        (-62_135_596_800_000, "0001-01-01 00:00:00 UTC"),
        (-62_135_596_800_001, "beyond the calendar"),
        (253_402_300_799_999, "9999-12-31 23:59:59 UTC"),
        (253_402_300_800_000, "beyond the calendar"),
    ],
)
def test_any_timestamp_is_shown_with_its_date_if_it_has_one(sent, says):
    report = report_of(rejected(culprits=(Culprit(0, sent),), unit_guess=None))

    assert f"sent {sent}, which is {says}" in text_of(report)


# -- In a real browser -------------------------------------------------------------------------------

needs_axe = pytest.mark.skipif(
    browser.chromium() is None or browser.axe() is None,
    reason="needs Chromium (apt-get install chromium), and npm, which fetches axe-core",
)
needs_chromium = pytest.mark.skipif(
    browser.chromium() is None, reason="needs Chromium (apt-get install chromium)"
)
LATER = "new Promise(say => setTimeout(() => say(document.body.innerText), 200))"
SIZES = {"wide": (browser.WIDE, "light"), "narrow and dark": (browser.NARROW, "dark")}


def whole_page(*outcomes):
    """Without its script, which would find no proxy to ask."""
    report = report_of(
        *outcomes, in_seconds(), rejected("old", NOW_MS - LATELY_MS), warnings=["the disk is full"]
    )
    page = live.page(CONFIG, report)
    return page.replace(live._SCRIPT, "")


@pytest.mark.slow
@pytest.mark.timeout(1_800)  # the first start of a browser on a busy machine
@needs_axe
@pytest.mark.parametrize("size", SIZES)
def test_axe_core_finds_nothing_wrong(tmp_path, size):
    window, scheme = SIZES[size]
    with browser.started(tmp_path) as tab:
        tab.show(whole_page(), window, scheme=scheme)
        assert tab.complaints() == []


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@needs_chromium
def test_no_name_makes_the_page_wider_than_a_phone(tmp_path):
    page = whole_page(*map(rejected, HOSTILE), rejected("n" * 200, topic="t" * 249))

    with browser.started(tmp_path) as tab:
        tab.show(page, browser.NARROW)
        page_width, window_width = tab.widths()
    assert page_width <= window_width


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@needs_chromium
async def test_the_script_runs_under_the_policy_of_the_page_and_shows_the_next_state(tmp_path):
    class NotReadyAtFirst(OneProxy):
        async def report(self):
            await super().report()
            return report_of(not_ready=["no broker"] if self.reports == 1 else ())

    def shown():
        with browser.started(tmp_path) as tab:
            tab.go(f"http://{address}/")
            while "Clients are served" not in (text := tab.says(LATER)):
                pass
            return text

    server = AdminHttp(pages(NotReadyAtFirst(report_of())))
    address = server.start(Address("127.0.0.1", 0))
    assert "Clients cannot be served" not in await asyncio.to_thread(shown)
    server.stop()
