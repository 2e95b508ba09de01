"""The pages of the admin port, of one process and of several, with hostile client names."""

import asyncio
import json
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from http import HTTPStatus

import pytest
import yaml

from tests.kit.clocks import HandClock
from tests.proxy.decision_log.logs import files_in
from tests.proxy.measured import REJECTED
from tsproxy.config.document import parse_yaml
from tsproxy.config.load import load
from tsproxy.config.settings import AdminSettings, Secret
from tsproxy.decisions import DecisionLog
from tsproxy.decisions.privacy import Privacy, Redaction
from tsproxy.decisions.totals import Totals
from tsproxy.model.kafka import ApiKey
from tsproxy.model.outcome import Culprit, OldRequest, VerdictName
from tsproxy.proxy.admin import live
from tsproxy.proxy.admin.http import AdminHttp
from tsproxy.proxy.admin.pages import pages
from tsproxy.proxy.admin.report import Broker, Report, together
from tsproxy.proxy.decision_log.recorder import DecisionRecorder
from tsproxy.proxy.metrics.offenders import HALF_LIFE_MS, MAX_ROWS, REST, SHOWN, Offenders
from tsproxy.proxy.metrics.registry import Metrics
from tsproxy.proxy.metrics.totals import families_now

CONFIG = load(
    parse_yaml(
        """\
upstream:
  bootstrap_servers: [kafka-1.example.com:9092]
  admin: { sasl: { mechanism: PLAIN, username: proxy, password: "${PASSWORD}" } }
  tls: { certificate: c.pem, key: k.pem, key_password: "${PASSWORD}" }
listeners:
  - bind: 192.0.2.7:9192
    tls:
      certificate: c.pem
      key: k.pem
      principal_mapping: ["RULE:^CN=(.*?),.*$/$1/L", DEFAULT]
limits: { buffered: 3MiB, idle: 90s }
policy:
  clock_tolerance: 250ms
  name_unit: yes
  candidate: { preset: none }
  rules:
    - name: payments
      match: { topics: ["pay-*", "/p[0-9]+/"], addresses: [10.0.0.0/8] }
      mode: audit
      message.timestamp.after.max.ms: unlimited
    - { name: old, match: { topics: [old] }, preset: kafka-4 }
  waivers:
    - name: backfill
      match: { principals: ["User:etl"] }
      until: 2030-12-01T00:00:00.500+01:00
      owner: data
      reason: "OPS-${NUMBER}"
""",
        "tsproxy.yaml",
    ),
    {"PASSWORD": "hunter2", "NUMBER": "1"},
)
NOW_MS = 1_767_225_600_000
HOSTILE = ["<script>alert(1)</script>\"'&", "\udcff\x00\x1b[31m\n", "c" * 32767, "", None]


def rejected(client_id="app", now_ms=NOW_MS, bad_records=1, **facts):
    peer = replace(REJECTED.peer, client_id=client_id)
    return replace(REJECTED, peer=peer, now_ms=now_ms, bad_records=bad_records, **facts)


def names(rows):
    return [row.key.client_id for row in rows]


def offenders_of(*outcomes, privacy=None):
    """The offenders after these outcomes."""
    offenders = Offenders(privacy or Privacy())
    for outcome in outcomes:
        offenders.book(Totals.of(outcome))
    return offenders


# -- Offenders ---------------------------------------------------------------------------------------


def test_the_same_fault_of_the_same_client_is_one_row():
    offenders = offenders_of(
        rejected(bad_records=2, culprits=(Culprit(0, -1), Culprit(1, 77))),
        rejected(now_ms=NOW_MS + 5, bad_records=3, culprits=(Culprit(0, 88),)),
    )

    [row] = offenders.highest(NOW_MS + 5)
    assert (row.batches, row.bad_records) == (2, 5)
    assert (row.first_ms, row.last_ms) == (NOW_MS, NOW_MS + 5)
    assert (row.client_address, row.timestamp_ms) == (REJECTED.peer.client_address, 88)


def test_batches_rejected_without_a_look_are_in_their_row_as_well():
    one = rejected(bad_records=2, culprits=(Culprit(0, 77),))
    offenders = offenders_of(one)
    more = replace(
        Totals.of(one), example=None, batches=20, bad_records=40, culprit_ms=99, last_ms=NOW_MS + 5
    )
    offenders.book(more)

    [row] = offenders.highest(NOW_MS + 5)
    assert (row.batches, row.bad_records, row.last_ms, row.timestamp_ms) == (21, 42, NOW_MS + 5, 99)


def test_who_is_at_it_now_comes_before_who_was_worse_long_ago():
    yesterday = rejected("yesterday", NOW_MS - 100 * HALF_LIFE_MS, bad_records=1_000_000)
    assert names(offenders_of(yesterday, rejected("now")).highest(NOW_MS)) == ["now", "yesterday"]


def test_a_client_that_comes_again_is_no_more_urgent_than_what_it_does_now():
    again = (rejected("again", now_ms, bad_records=4) for now_ms in (NOW_MS - HALF_LIFE_MS, NOW_MS))
    rows = offenders_of(*again, rejected("new", bad_records=7)).highest(NOW_MS)
    assert [(row.key.client_id, row.score) for row in rows] == [("new", 7), ("again", 6)]


def test_the_row_of_all_others_is_nobodys():
    """It would be said of the address of whoever came last."""
    outcomes = (rejected(f"name-{n}", culprits=(Culprit(0, 77),)) for n in range(SHOWN + 2))
    *_, rest = offenders_of(*outcomes).highest(NOW_MS)
    assert (rest.key, rest.batches) == (REST, 2)
    assert (rest.client_address, rest.timestamp_ms) == ("", None)


@pytest.mark.parametrize(
    "outcome",
    [
        rejected(verdict=VerdictName.ACCEPTED),
        rejected(verdict=VerdictName.UNCONFIRMED),
        rejected(verdict=VerdictName.BROKER_REJECTED, is_final=False),
    ],
    ids=["accepted", "unconfirmed", "sent again by itself"],
)
def test_what_is_nobodys_fault_makes_no_row(outcome):
    assert offenders_of(outcome).highest(NOW_MS) == []


def test_a_storm_of_names_hides_nobody_and_loses_no_count():
    offenders = Offenders()
    for n in range(10 * MAX_ROWS):
        offenders.book(Totals.of(rejected("steady", bad_records=10)))
        offenders.book(Totals.of(rejected(f"name-{n}")))

    rows = offenders.highest(NOW_MS)
    assert names(rows)[0] == "steady"
    assert rows[-1].key == REST
    assert sum(row.bad_records for row in rows) == 10 * MAX_ROWS * 11
    assert len(offenders._rows) <= 2 * MAX_ROWS + 1


def test_persons_are_shown_as_in_the_decision_log():
    alice = replace(REJECTED, peer=replace(REJECTED.peer, principal="User:alice"), now_ms=NOW_MS)
    privacy = Privacy(Redaction.DROP, Redaction.HASH, b"salt")

    [row] = offenders_of(alice, privacy=privacy).highest(NOW_MS)
    assert row.client_address == ""
    assert row.key.principal.startswith("~")


# -- Reports -----------------------------------------------------------------------------------------


def report_of(*outcomes, served_at="proxy:9193", not_ready=(), warnings=()):
    metrics = Metrics()
    for outcome in outcomes:
        metrics.book(Totals.of(outcome))
    return Report(
        not_ready=tuple(not_ready),
        families=families_now(metrics.families()),
        now_ms=NOW_MS,
        cluster_id="c1",
        brokers=(Broker("public", 1, "kafka-1:9092", served_at),),
        offenders=tuple(offenders_of(*outcomes).highest(NOW_MS)),
        warnings=tuple(warnings),
    )


def test_a_report_arrives_at_the_supervisor_as_it_left():
    report = report_of(*map(rejected, HOSTILE), not_ready=["the proxy stops"], warnings=["the disk is full"])
    report = replace(report, clients_refused_by_kafka_4=frozenset({("old", None), (None, "User:old")}))

    assert Report.of_line(json.loads(json.dumps(report.as_line()))) == report


def test_two_processes_are_shown_as_one_that_did_the_work_of_both():
    whole = together([report_of(rejected("a"), rejected("b")), report_of(rejected("b"), not_ready=["x"])])

    assert whole.not_ready == ("x",)
    assert {row.key.client_id: row.batches for row in whole.offenders} == {"a": 1, "b": 2}
    assert len(whole.brokers) == 1


def test_a_broker_that_one_process_does_not_serve_is_shown_as_not_served():
    [broker] = together([report_of(served_at=None), report_of()]).brokers

    assert broker.served_at is None


def test_of_a_process_that_has_ended_its_counts_remain_and_its_connections_do_not():
    remains = report_of(rejected(), not_ready=["x"]).remains()

    assert not remains.not_ready
    assert not remains.brokers
    assert names(remains.offenders) == ["app"]
    assert "tsproxy_bad_records" in remains.families
    assert "tsproxy_build_info" not in remains.families


# -- Pages -------------------------------------------------------------------------------------------


class OneProxy:
    config = CONFIG

    def __init__(self, report):
        self._report = report
        self.reports = 0

    def hanging(self):
        return []

    async def not_ready(self):
        return self._report.not_ready

    async def report(self):
        self.reports += 1
        return self._report


async def page(path, report):
    answer = pages(OneProxy(report))[path]()
    return answer if hasattr(answer, "status") else await answer


@pytest.mark.parametrize("path", [*pages(OneProxy(report_of())), "/decisions", "/livez/", "/metrics?x"])
async def test_without_the_token_a_reader_gets_401_or_the_status_of_a_probe_and_makes_no_report(path):
    """Each page that a proxy has: a new one is not open to everybody by mistake."""
    proxy = OneProxy(report_of(not_ready=["node 7 at 10.0.0.7"]))
    server, settings = AdminHttp(pages(proxy)), AdminSettings(token=Secret("planted-token"))
    expected = {
        "/livez": (HTTPStatus.OK, b"OK\n"),
        "/readyz": (HTTPStatus.SERVICE_UNAVAILABLE, b"Service Unavailable\n"),
        "/readyz?verbose": (HTTPStatus.SERVICE_UNAVAILABLE, b"Service Unavailable\n"),
    }.get(path, (HTTPStatus.UNAUTHORIZED, b"Unauthorized\n"))
    for method in ("GET", "HEAD"):
        _, answer = await server.answer(f"{method} {path} HTTP/1.1\r\n\r\n".encode(), settings)
        assert (answer.status, answer.body) == expected
    assert proxy.reports == 0


async def test_many_requests_make_one_report_at_a_time():
    """Between two of them the loop serves clients."""
    proxy, at_once = OneProxy(report_of()), []

    async def slow_report():
        at_once.append(True)
        assert len(at_once) == 1
        await asyncio.sleep(0)
        at_once.pop()
        return report_of()

    proxy.report = slow_report
    made = pages(proxy)
    await asyncio.gather(*(made[path]() for path in ("/", "/metrics", "/brokers", "/decisions/top") * 5))


async def test_what_is_wrong_while_clients_are_served_is_told_to_those_who_ask_and_keeps_nobody_away():
    whole = together(
        [report_of(warnings=["worker 1: the disk is full"]), report_of(warnings=["worker 2: it too"])]
    )
    told = "warning: worker 1: the disk is full\nwarning: worker 2: it too\n"
    worse = report_of(not_ready=["one", "two"], warnings=["three"])

    assert (await page("/readyz", whole)).status == HTTPStatus.OK
    assert (await page("/readyz", worse)).body == b"one\ntwo\n"
    assert (await page("/readyz?verbose", whole)).body.decode() == f"ready\n{told}"
    assert (await page("/readyz?verbose", worse)).status == HTTPStatus.SERVICE_UNAVAILABLE
    assert (await page("/readyz?verbose", worse)).body == b"not ready: one\nnot ready: two\nwarning: three\n"
    assert "2: it too" in (await page("/", whole)).body.decode()


async def test_the_configuration_is_shown_as_a_file_that_reads_the_same_without_its_secrets():
    text = (await page("/config", report_of())).body.decode()

    assert "hunter2" not in text
    shown = load(parse_yaml(text.replace("***", "hunter2"), "shown.yaml"), {})
    assert shown.parsed == CONFIG.parsed
    assert yaml.safe_load(text)["limits"]["idle"] == "90s"


async def test_a_configuration_is_written_once_however_often_it_is_asked_for(monkeypatch):
    """To write one with 300 rules takes 0.2 s, and a request for it has thirty bytes."""
    written = []
    monkeypatch.setattr(
        "tsproxy.proxy.admin.pages.as_yaml", lambda parsed: written.append(parsed) or str(len(written))
    )
    proxy = OneProxy(report_of())
    made = pages(proxy)["/config"]
    assert [each.body for each in await asyncio.gather(*(made() for _ in range(9)))] == [b"1"] * 9
    other = "{upstream: {bootstrap_servers: [other:9092]}, listeners: [{bind: 192.0.2.7:9192}]}"
    proxy.config = load(parse_yaml(other, "other.yaml"), {})
    assert (await made()).body == b"2"
    assert written[0] is not written[1] is proxy.config.parsed


async def test_brokers_and_offenders_are_json_with_the_names_of_the_decision_log():
    report = report_of(*map(rejected, HOSTILE))

    assert json.loads((await page("/brokers", report)).body) == {
        "cluster_id": "c1",
        "brokers": [
            {
                "listener": "public",
                "node_id": 1,
                "upstream": "kafka-1:9092",
                "served_at": "proxy:9193",
                "gone_since": None,
                "port_is_free_after": None,
            }
        ],
    }
    [first, *_] = json.loads((await page("/decisions/top", report)).body)["offenders"]
    assert first["reason"] == "too_far_ahead"
    assert first["last_ts"] == "2026-01-01T00:00:00.000Z"


async def seen(folder, *names):
    """The report of a process with clients of these names, each of which uses three old versions."""
    metrics, clock, log = Metrics(), HandClock(NOW_MS), DecisionLog("proxy", "boot", NOW_MS)
    recorder = DecisionRecorder(log, files_in(folder, clock=clock), metrics, clock, list)
    for name in names:
        peer = replace(REJECTED.peer, client_id=name)
        for api in ApiKey.FETCH, ApiKey.METADATA, ApiKey.PRODUCE:
            recorder.book(OldRequest(peer, api.name, 0))
    await recorder.measure()
    rows, clients = recorder.refused_by_kafka_4(), recorder.clients_refused_by_kafka_4()
    return Report(
        (),
        families_now(metrics.families()),
        refused_by_kafka_4=rows,
        clients_refused_by_kafka_4=clients,
    )


async def test_each_place_counts_all_clients_that_kafka_4_refuses_and_names_up_to_fifty(tmp_path):
    many = await seen(tmp_path, *map(str, range(SHOWN + 9)))
    none, few, other = [await seen(tmp_path, *names) for names in ("", "abc", "cd")]
    ended = together([none, few.remains()])
    for report, count in (
        (none, 0),
        (many, SHOWN + 9),
        (together([few, other]), 4),
        (together([ended, other]), 4),
        (together([together([ended, other]).remains(), many]), SHOWN + 13),
    ):
        metrics = (await page("/metrics", report)).body.decode()
        top = json.loads((await page("/decisions/top", report)).body)
        text = (await page("/", report)).body.decode()
        assert f"\ntsproxy_clients_refused_by_kafka_4 {count:.1f}\n" in metrics
        assert top["clients_refused_by_kafka_4"] == count
        named = Counter(row["client_id"] for row in top["refused_by_kafka_4"])
        assert len(named) == min(count, SHOWN)
        assert {*named.values()} <= {3}
        assert (f"Kafka 4 refuses {count} clients" in text) == (count > 0)
        assert (f"and {count - SHOWN} clients more" in text) == (count > SHOWN)


class Tags(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags, self.links, self.text = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data):
        self.text += data


async def test_no_name_breaks_the_page_and_nothing_comes_from_outside():
    plain, hostile = Tags(), Tags()
    plain.feed((await page("/", report_of(*(rejected(f"n{n}") for n in range(5))))).body.decode())
    answer = await page("/", report_of(*map(rejected, HOSTILE)))
    hostile.feed(answer.body.decode())

    assert hostile.tags == plain.tags
    assert hostile.links == []
    assert "<script>alert(1)</script>\"'&" in hostile.text
    assert len(answer.body) < 60_000
    assert answer.headers == (f"Content-Security-Policy: {live.POLICY}",)
    assert "unsafe" not in live.POLICY
