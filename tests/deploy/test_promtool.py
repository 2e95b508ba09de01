"""Rules, alerts and the dashboard, read and run by Prometheus's own tool.

Each alert has a world in which one thing is wrong from minute 30 on. It must fire there, and no other alert.
So has each incident: rigs/incidents sees that a real proxy shows the series of its world.
The world in which nothing is wrong must be quiet. `promtool test rules` plays all of them.
"""

from dataclasses import dataclass

import pytest
import yaml

from rigs.incidents.catalogue import INCIDENTS
from tests.deploy.go_tools import PROMTOOL, needs_tools
from tests.deploy.test_monitoring import (
    ALERTS,
    DOCUMENTED,
    PROMETHEUS,
    QUERIES,
    metric_table,
    selected,
)
from tsproxy.proxy.metrics.results import NO_BROKER, Result

pytestmark = needs_tools

MINUTES = 180
"""Minutes of a world; the samples have a minute between them."""
DAY = 1_440
FROM = 30
"""The minute in which the one thing goes wrong."""


def name(metric, **labels):
    """A series of one proxy."""
    found = {"job": "tsproxy", "instance": "a:9464", **labels}
    inside = ",".join(f'{key}="{value}"' for key, value in found.items())
    return f"{metric}{{{inside}}}"


def steady(value):
    return f"{value}x{MINUTES}"


def rising(per_minute, start=0):
    return f"{start}{per_minute:+d}x{MINUTES}"


def then(value, wrong):
    return f"{value}x{FROM - 1} {wrong}x{MINUTES - FROM}"


def from_then(per_minute):
    """A counter that begins to grow."""
    return f"0x{FROM - 1} 0+{per_minute}x{MINUTES - FROM}"


def clients(result, broker):
    return name("tsproxy_client_connections_total", listener="public", broker=broker, result=result)


ONCE_MORE = then(0, 1)
"""A counter that grows by one, and then stays."""

ACCEPTED = name("tsproxy_records_total", listener="public", verdict="accepted", reason="")
REJECTED = name("tsproxy_records_total", listener="public", verdict="rejected", reason="too_old")

OLD_ERRORS = name("tsproxy_sessions_closed_total", listener="old", reason="internal_error")
NEW_ERRORS = name("tsproxy_sessions_closed_total", listener="public", reason="internal_error")
STARTED = name("process_start_time_seconds")
QUEUE_FULL = name("tsproxy_dead_letters_lost_total", reason="queue_full")
RELOADED = name("tsproxy_certificates_last_reload_successful", section="upstream.tls")
EXPIRY = name("tsproxy_certificate_expiry_seconds", setting="listeners[0].tls")
BACKFILL = name("tsproxy_waiver_expiry_seconds", waiver="backfill")
FAST = name("tsproxy_request_seconds_bucket", api="Produce", le="0.001")
ON_TIME = name("tsproxy_event_loop_lag_seconds_bucket", le="0.001")
FAST_AT_3 = name("tsproxy_broker_produce_seconds_bucket", broker="3", le="0.1")

AUDIT = name("tsproxy_enforcement_ended_timestamp_seconds", mode="audit", enforced="nothing")
OTHER_FILE = name("tsproxy_config_info", sha256="0a")
HEALTHY = {
    name("up"): steady(1),
    name("tsproxy_upstream_up"): steady(1),
    name("tsproxy_own_login_up"): steady(1),
    name("tsproxy_cluster_changed"): steady(0),
    name("tsproxy_brokers", listener="public"): steady(3),
    name("tsproxy_brokers_not_served", listener="public"): steady(0),
    name("tsproxy_address_unmapped_total"): steady(0),
    clients("served", "2"): rising(30),
    clients("login_failed", "2"): rising(1),
    clients("handshake_failed", ""): rising(2),
    RELOADED: steady(1),
    name("tsproxy_worker_ready", worker="1"): steady(1),
    name("tsproxy_worker_restarts_total", worker="1"): steady(0),
    name("tsproxy_sessions_closed_total", listener="public", reason="peer_closed"): rising(7),
    OLD_ERRORS: steady(2),
    ACCEPTED: rising(60_000),
    REJECTED: rising(120),
    name("tsproxy_enforcement_suspended"): steady(0),
    name("tsproxy_clock_suspected", by="brokers"): steady(0),
    name("tsproxy_clock_suspected", by="step"): steady(0),
    name("tsproxy_clock_suspected", by="kernel"): steady(1),
    name("tsproxy_rule_failures_total"): steady(0),
    BACKFILL: rising(-60, 864_000),
    name("tsproxy_waiver_expiry_seconds", waiver="over"): rising(-60, -5),
    name("tsproxy_decision_log_writable"): steady(1),
    name("tsproxy_decision_log_write_seconds"): steady(0.001),
    name("tsproxy_decisions_dropped_total"): steady(0),
    name("tsproxy_decision_topic_up"): steady(1),
    name("tsproxy_dead_letters_up"): steady(1),
    QUEUE_FULL: steady(0),
    name("tsproxy_dead_letters_lost_total", reason="whole_batch"): rising(3),
    name("tsproxy_config_last_reload_successful"): steady(1),
    name("tsproxy_config_info", sha256="5e"): steady(1),
    name("tsproxy_config_info", instance="b:9464", sha256="5e"): steady(1),
    name("tsproxy_topics_unreadable"): steady(0),
    name("tsproxy_brokers_limits_unknown"): steady(0),
    EXPIRY: rising(-60, 8_640_000),
    name("tsproxy_limits_total", limit="connections"): steady(0),
    name("tsproxy_limits_total", limit="idle"): rising(2),
    name("tsproxy_buffered_ratio"): steady(0.05),
    name("tsproxy_memory_used_ratio"): steady(0.4),
    name("tsproxy_memory_mark"): steady(0),
    name("process_open_fds"): steady(4_000),
    name("process_max_fds"): steady(65_536),
    STARTED: steady(-86_400),
    FAST: rising(590),
    name("tsproxy_request_seconds_bucket", api="Produce", le="0.1"): rising(600),
    name("tsproxy_request_seconds_bucket", api="Produce", le="+Inf"): rising(600),
    **{
        name("tsproxy_broker_produce_seconds_bucket", broker=broker, le=le): rising(300)
        for broker in "123"
        for le in ("0.1", "1", "+Inf")
    },
    name("tsproxy_broker_names_unresolved"): steady(0),
    name("tsproxy_brokers_hanging"): steady(0),
    ON_TIME: rising(240),
    name("tsproxy_event_loop_lag_seconds_bucket", le="0.1"): rising(240),
    name("tsproxy_event_loop_lag_seconds_bucket", le="+Inf"): rising(240),
    name("tsproxy_report_last_day_timestamp_seconds"): steady(0),
    name("tsproxy_report_log_state", state="incomplete"): steady(0),
    name("tsproxy_report_log_state", state="complete"): steady(1),
}
GONE = "1x29 stale"
NEW = f"_x{FROM - 1} 1x{MINUTES - FROM}"


@dataclass(frozen=True)
class World:
    """Series that differ from HEALTHY, the alert that they cause, and the minute of the look."""

    alert: str
    differs: dict[str, str]
    minute: int = 45
    of: str = ""
    """The incident that the world is of."""


WORLDS = [
    World("TsproxyDown", {name("up"): then(1, 0)}),
    World("TsproxyMissing", {name("up"): GONE}, 100),
    World("TsproxyUpstreamDown", {name("tsproxy_upstream_up"): then(1, 0)}),
    World("TsproxyOwnLoginFailed", {name("tsproxy_own_login_up"): then(1, 0)}),
    World("TsproxyClusterChanged", {name("tsproxy_cluster_changed"): then(0, 1)}),
    World("TsproxyAddressUnmapped", {name("tsproxy_address_unmapped_total"): ONCE_MORE}, 35),
    World("TsproxyWorkerNotReady", {name("tsproxy_worker_ready", worker="1"): then(1, 0)}),
    World("TsproxyInternalError", {NEW_ERRORS: f"_x{FROM} 1x{MINUTES - FROM}"}, 35),
    World("TsproxyRejectionsRising", {REJECTED: f"0+120x90 10800+6000x{MINUTES - 90}"}, 120),
    World("TsproxyEnforcementSuspended", {name("tsproxy_enforcement_suspended"): then(0, 1)}),
    World("TsproxyEnforcementEnded", {AUDIT: f"_x9 {60 * FROM - 86_400}x{MINUTES}"}),
    World("TsproxyProxiesDiffer", {name("tsproxy_config_info", sha256="5e"): GONE, OTHER_FILE: NEW}, 60),
    World("TsproxyLimitsUnread", {name("tsproxy_topics_unreadable"): then(0, 4)}, 46),
    World("TsproxyLimitsUnread", {name("tsproxy_brokers_limits_unknown"): then(0, 1)}, 46),
    World("TsproxyClockSuspected", {name("tsproxy_clock_suspected", by="step"): then(0, 1)}),
    World("TsproxyRuleFailures", {name("tsproxy_rule_failures_total"): ONCE_MORE}, 35),
    World("TsproxyWaiverEndsSoon", {BACKFILL: rising(-60, 172_800 + 60 * FROM)}),
    World("TsproxyDecisionsDropped", {name("tsproxy_decisions_dropped_total"): ONCE_MORE}, 35),
    World("TsproxyDecisionLogSlow", {name("tsproxy_decision_log_write_seconds"): then(0.001, 3)}),
    World("TsproxyDeadLettersDown", {name("tsproxy_dead_letters_up"): then(1, 0)}),
    World("TsproxyDeadLettersLost", {QUEUE_FULL: ONCE_MORE}, 35),
    World("TsproxyClientsFail", {clients("login_failed", "2"): from_then(40)}),
    World("TsproxyClientsFail", {clients("handshake_failed", ""): from_then(90)}),
    World("TsproxyClientsFail", {clients("certificate_rejected", ""): from_then(90)}),
    World("TsproxyCertificatesNotReloaded", {RELOADED: then(1, 0)}),
    World("TsproxyCertificateExpiresSoon", {EXPIRY: rising(-60, 7 * 86_400 + 60 * FROM)}, 100),
    World("TsproxyCertificateExpires", {EXPIRY: then(8_640_000, -5)}),
    World("TsproxyBuffersNearlyFull", {name("tsproxy_buffered_ratio"): then(0.05, 0.9)}),
    World("TsproxyMemoryNearlyFull", {name("tsproxy_memory_mark"): then(0, 1)}),
    World("TsproxyFileDescriptorsFew", {name("process_open_fds"): then(4_000, 60_000)}),
    World("TsproxySlow", {FAST: "0+590x29 17110+300x150"}, 60),
    World("TsproxyEventLoopLate", {ON_TIME: "0+240x29 6960+120x150"}, 60),
    World("TsproxyBrokerSlow", {FAST_AT_3: "0+300x29 8700+200x150"}, 60),
    World(
        "TsproxyBrokerSlow",
        {
            name("tsproxy_broker_produce_seconds_bucket", broker="2", le=le): GONE
            for le in ("0.1", "1", "+Inf")
        }
        | {FAST_AT_3: "0+300x29 8700+200x150"},
        60,
        "one of two",
    ),
    World(
        "TsproxyBrokerSlow",
        {
            name("tsproxy_broker_produce_seconds_bucket", broker=broker, le=le): steady(5)
            for broker in "14"
            for le in ("0.1", "1", "+Inf")
        }
        | {FAST_AT_3: "0+300x29 8700+200x150"},
        60,
        "half of them idle",
    ),
    World("TsproxyReportMissing", {name("tsproxy_report_last_day_timestamp_seconds"): then(0, -54 * 3600)}),
    World("TsproxyReportIncomplete", {name("tsproxy_report_log_state", state="incomplete"): then(0, 1)}),
    World("TsproxyReportDaysMissing", {name("tsproxy_report_days_missing"): then(0, 1)}),
]


def world_of(incident):
    """The world of an incident: the series that a real proxy shows meanwhile."""
    series = incident.series
    ill = from_then(5) if series.ill is None else then(f"{series.well:g}", f"{series.ill:g}")
    return World(incident.alert, {name(series.metric, **series.labels): ill}, of=incident.name)


WORLDS += map(world_of, INCIDENTS.values())


def firing(minute, alerts):
    """The finding that promtool must have at that minute."""
    return {
        "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
        "eval_time": f"{minute}m",
        "exp_samples": [{"labels": f'{{alertname="{each}"}}', "value": 1} for each in sorted(alerts)],
    }


def group(series, looks):
    return {
        "interval": "1m",
        "input_series": [{"series": each, "values": values} for each, values in series.items()],
        "promql_expr_test": looks,
    }


def test(tmp_path, *groups):
    """Let promtool play these worlds. The rules look as often as there are samples."""
    file = tmp_path / "worlds.yaml"
    files = [str(PROMETHEUS / each) for each in ("recording.yaml", "alerts.yaml")]
    file.write_text(
        yaml.safe_dump(
            {"rule_files": files, "evaluation_interval": groups[0]["interval"], "tests": list(groups)}
        )
    )
    return PROMTOOL.run("test", "rules", file)


test.__test__ = False  # type: ignore[attr-defined]  # it is no test itself


def test_the_rules_have_no_mistake_that_prometheus_knows():
    printed = PROMTOOL.run("check", "rules", "--lint=all", *sorted(PROMETHEUS.glob("[ar]*.yaml")))
    assert f"SUCCESS: {len(ALERTS)} rules found" in printed


def test_the_scrape_example_has_no_mistake_that_prometheus_knows():
    PROMTOOL.run("check", "config", PROMETHEUS / "prometheus.yaml")


def test_nothing_fires_while_nothing_is_wrong(tmp_path):
    test(tmp_path, group(HEALTHY, [firing(minute, []) for minute in (20, 60, 120, 175)]))


def test_each_alert_has_its_world():
    assert {world.alert for world in WORLDS} == {rule["alert"] for rule in ALERTS}


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: f"{world.alert} {world.of}".strip())
def test_an_alert_fires_in_its_world_alone_and_not_before(tmp_path, world):
    series = HEALTHY | world.differs
    test(tmp_path, group(series, [firing(FROM - 1, []), firing(world.minute, [world.alert])]))


def test_clusters_with_a_job_each_have_alerts_of_their_own(tmp_path):
    """As two releases of the chart in one namespace. The first has far more records than the second."""
    a, b = (
        {"job": f"tsproxy/streams/{each}", "namespace": "streams", "instance": each} for each in ("a", "b")
    )
    accepted, rejected = (
        {"listener": "public", "verdict": verdict, "reason": reason}
        for verdict, reason in (("accepted", ""), ("rejected", "too_old"))
    )
    series = {
        name("up", **a): steady(1),
        name("up", **b): then(1, 0),
        name("tsproxy_records_total", **accepted, **a): rising(3_000_000),
        name("tsproxy_records_total", **accepted, **b): rising(600),
        name("tsproxy_records_total", **rejected, **b): f"0x90 0+6000x{MINUTES - 90}",
        name("tsproxy_config_info", sha256="0a", **a): steady(1),
        name("tsproxy_config_info", sha256="0b", **b): steady(1),
        name("process_open_fds", **b): then(40, 90),
        name("process_max_fds", **b): steady(100),
    }
    ill = ["TsproxyDown", "TsproxyFileDescriptorsFew"]
    looks = [firing(FROM - 1, []), firing(89, ill), firing(120, [*ill, "TsproxyRejectionsRising"])]
    test(tmp_path, group(series, looks))


def test_that_all_proxies_of_one_of_several_jobs_are_gone_is_noticed_for_an_hour(tmp_path):
    """Its other series are gone, too, so no other alert can say so. It may be meant."""
    series = HEALTHY | {
        name("up", job="tsproxy-b"): GONE,
        name("tsproxy_upstream_up", job="tsproxy-b"): GONE,
    }
    looks = [firing(FROM - 1, []), firing(40, ["TsproxyMissing"]), firing(FROM + 62, [])]
    test(tmp_path, group(series, looks))


def test_an_error_soon_after_a_restart_fires_although_there_were_more_before(tmp_path):
    """A proxy that starts again has no series until its first error."""
    series = HEALTHY | {OLD_ERRORS: "2x29 stale _x3 1x100"}
    test(tmp_path, group(series, [firing(33, []), firing(36, ["TsproxyInternalError"]), firing(60, [])]))


def test_the_first_error_of_a_proxy_that_has_just_started_fires(tmp_path):
    series = HEALTHY | {STARTED: f"-86400x29 stale _x3 {32 * 60}x100"}
    series |= {OLD_ERRORS: "0x29 stale", NEW_ERRORS: "_x36 1x100"}
    test(tmp_path, group(series, [firing(33, []), firing(38, ["TsproxyInternalError"]), firing(60, [])]))


def test_an_old_error_is_no_news_after_a_time_without_scrapes(tmp_path):
    """For 20 minutes Prometheus did not reach a proxy that ran."""
    hidden = "{0}x59 stale _x20 {0}x100"
    series = {
        name("up"): steady(1),
        STARTED: hidden.format(-86_400),
        OLD_ERRORS: hidden.format(1),
    }
    test(tmp_path, group(series, [firing(minute, []) for minute in (59, 81, 85, 94, 97, 110)]))


def test_a_broker_that_is_back_after_six_seconds_pages_nobody(tmp_path):
    """Four clients fail meanwhile. Prometheus scrapes and looks every 15 s."""
    failed = clients("broker_unreachable", "2")
    series = {name("up"): "1x60", clients("served", "2"): "0+1x60", failed: "_x10 4x50"}
    looks = [{**firing(0, []), "eval_time": f"{seconds}s"} for seconds in range(150, 600, 15)]
    for value in ("_x10 4x50", "0x10 4x50"):
        test(tmp_path, {**group(series | {failed: value}, looks), "interval": "15s"})


@pytest.mark.parametrize(
    "result", [each for each in Result if each is not Result.SERVED], ids=lambda result: result.label
)
def test_clients_fail_from_the_share_on_that_the_proxy_itself_reports(tmp_path, result):
    """A share of 100 connections a minute: a bit less, then a bit more."""
    broker = NO_BROKER if result in {Result.HANDSHAKE_FAILED, Result.LIMIT_REACHED} else "2"
    less, more = (round(100 * result.reported_from) + difference for difference in (-4, 4))
    for failed, alerts in ((less, []), (more, ["TsproxyClientsFail"])):
        series = {
            name("up"): steady(1),
            clients("served", "2"): rising(100 - failed),
            clients(result.label, broker): rising(failed),
        }
        test(tmp_path, group(series, [firing(60, alerts)]))


def test_a_share_of_rejections_that_is_usual_does_not_fire(tmp_path):
    test(tmp_path, group(HEALTHY | {REJECTED: rising(6_000)}, [firing(minute, []) for minute in (60, 120)]))


def test_a_quiet_night_makes_no_rise_of_an_unchanged_number_of_rejections(tmp_path):
    """Each day has 18 hours with 60,000 records a minute, then 6 with a client's 40 bad ones alone. In the
    second night it sends 400."""
    rises = DAY + 1_200
    accepted, rejected = [0], [0]
    for minute in range(2 * DAY):
        accepted.append(accepted[-1] + (60_000 if minute % DAY < 1_080 else 0))
        rejected.append(rejected[-1] + (40 if minute < rises else 400))
    series = {
        name("up"): f"1x{2 * DAY}",
        ACCEPTED: " ".join(map(str, accepted)),
        REJECTED: " ".join(map(str, rejected)),
    }
    quiet = [firing(minute, []) for minute in (600, 1_110, 1_300, DAY + 600, DAY + 1_110, rises)]
    test(tmp_path, group(series, [*quiet, firing(rises + 20, ["TsproxyRejectionsRising"])]))


def test_the_first_rejections_ever_fire_although_their_series_is_new(tmp_path):
    """If nothing was ever rejected, only the recording rule's second part makes a usual share."""
    series = HEALTHY | {REJECTED: f"_x90 0+6000x{MINUTES - 90}"}
    test(tmp_path, group(series, [firing(89, []), firing(120, ["TsproxyRejectionsRising"])]))


def test_an_alert_that_should_fire_and_does_not_is_noticed(tmp_path):
    with pytest.raises(AssertionError, match="TsproxyDown"):
        test(tmp_path, group(HEALTHY, [firing(60, ["TsproxyDown"])]))


async def test_no_query_of_the_dashboards_and_documents_is_empty_where_its_series_exist(tmp_path):
    """Two sides with different labels are an empty answer, and no error."""
    table = await metric_table(tmp_path) | {"up": frozenset(), "ALERTS": frozenset()}
    queries = [
        query.replace("$__rate_interval", "5m").replace("$job", "tsproxy").replace("$instance", ".+")
        for _, query in [*QUERIES, *DOCUMENTED]
    ]
    series = {}
    for metric, named in [(metric, {}) for metric in table] + [
        each for query in queries for each in selected(query)
    ]:
        labels = dict.fromkeys(table[metric] - {"le"}, "x") | named
        for more in [{"le": "0.1"}, {"le": "+Inf"}] if "le" in table[metric] else [{}]:
            series[name(metric, **labels, **more)] = "0+1x30"
    looks = [
        {
            "expr": f"count(\n{query}\n) > bool 0",
            "eval_time": "20m",
            "exp_samples": [{"labels": "{}", "value": 1}],
        }
        for query in queries
    ]
    assert DOCUMENTED
    test(tmp_path, group(series, looks))
