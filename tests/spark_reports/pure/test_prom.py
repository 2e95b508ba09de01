"""report.prom, read by Prometheus's own reader of OpenMetrics."""

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as text_format

from spark_reports.render import prom
from spark_reports.report import gates
from spark_reports.report.headline import rejected_records
from tests.spark_reports import reports


def read(report, families_of=openmetrics):
    """(name, labels) -> value."""
    families = families_of(prom.render(report))
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


@pytest.mark.parametrize("report", [reports.fixed(), reports.empty()], ids=["fixed", "empty"])
def test_each_measure_of_a_gate_is_a_metric_with_the_same_value(report):
    found = read(report)
    for name, measure in gates.MEASURES.items():
        assert found[f"tsproxy_report_{name}", ()] == float(measure(report))


def test_readers_of_the_older_text_format_read_the_same():
    """node_exporter and the Pushgateway read that format."""
    assert read(reports.fixed(), text_format) == read(reports.fixed())


def test_records_are_counted_by_outcome_and_topic():
    report = reports.fixed()
    found = read(report)
    for outcome in ("accepted", "repaired", "rejected", "broker_rejected", "unconfirmed"):
        whole = found["tsproxy_report_records", (("outcome", outcome),)]
        assert whole == report["totals"][f"records_{outcome}"]
        topics = [(("outcome", outcome), ("topic", topic["topic"])) for topic in report["topics"]]
        assert whole == sum(found["tsproxy_report_topic_records", labels] for labels in topics)


def test_rejected_records_are_counted_by_cause_and_team_so_that_an_alert_can_go_to_the_team():
    report = reports.complete()
    found = read(report)
    rejected = rejected_records(report["totals"])
    for name in ("cause_records", "team_rejected_records"):
        assert rejected == sum(
            value for (each, _), value in found.items() if each == f"tsproxy_report_{name}"
        )
    assert found["tsproxy_report_team_rejected_records", (("team", "Payments"),)] == 228_708
    assert found["tsproxy_report_team_would_reject_records", (("team", ""),)] == 960


def test_of_many_teams_the_worst_hundred_and_no_owner_have_series():
    report = reports.complete()
    row, nobody = report["owners"]["teams"][0], report["owners"]["teams"][-1] | {"rejected_records": 7}
    report["owners"]["teams"] = [*(row | {"team": f"T{n}"} for n in range(1_000)), nobody]
    found = read(report)
    assert sum(name.endswith("team_rejected_records") for name, _ in found) == 101
    assert found["tsproxy_report_team_rejected_records", (("team", ""),)] == 7


def test_exactly_one_state_of_the_log_is_1():
    report = reports.fixed()
    report["log"]["state"] = "complete_in_part"
    states = {
        labels[0][1]: value for (name, labels), value in read(report).items() if name.endswith("log_state")
    }
    assert states == {"complete": 0, "complete_in_part": 1, "incomplete": 0}
