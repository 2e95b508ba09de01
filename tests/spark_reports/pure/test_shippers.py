"""A line that a shipper changed shows which shipper it may have been, in the forms of `fixed/shipped`."""

import json
from pathlib import Path

import pytest

from spark_reports.commands import shippers
from tests.spark_reports.logs import counters
from tests.spark_reports.test_second_read import FORMS, SHIPPED

RSYSLOG, JOURNALD, DOCKER = "rsyslog", "journald", "Docker, CRI"
CONFLUENT, AIVEN = "Kafka Connect, Confluent's sink", "Kafka Connect, Aiven's sink"
FIT = {
    "aiven-envelope": [AIVEN],
    "aiven-envelope-of-strings": [AIVEN],
    "confluent-json-of-strings": [CONFLUENT],
    "confluent-json-of-bytes": [CONFLUENT],
    "cri": [DOCKER],
    "docker-json-file": [DOCKER],
    "filebeat-json": ["Filebeat"],
    "fluent-bit-file": ["Fluent Bit"],
    "fluent-bit-json-lines": ["Fluent Bit"],
    "journald-json": [JOURNALD],
    "journald-short": [RSYSLOG, JOURNALD],
    "logcli-jsonl": ["Promtail, Alloy"],
    "logstash-json-lines": ["Logstash"],
    "otel-file-json": ["OpenTelemetry Collector"],
    "promtail-pack": ["Promtail, Alloy"],
    "rsyslog-default": [RSYSLOG],
    "rsyslog-jsonf": [RSYSLOG],
    "vector-json": ["Vector"],
}
PAGE = Path(__file__).parents[3] / "docs" / "guide" / "ship-the-log.md"
BEGINNING = 300
"""The characters of a changed line that are kept."""


def fitting(text):
    return [shipper.name for shipper in shippers.that_fit(text[:BEGINNING])]


@pytest.mark.parametrize("form", FORMS)
def test_each_form_fits_its_shipper_and_no_other(form):
    """A line that is as the proxy wrote it fits none."""
    content = (SHIPPED / f"{form}.ndjson").read_bytes()
    text = content.split(b"\n")[0].decode("utf-8", "replace")
    assert fitting(text) == FIT.get(form, [])


def test_the_page_has_each_shipper_with_its_option():
    page = PAGE.read_text(encoding="utf-8")
    for shipper in shippers.SHIPPERS:
        assert f"\n| {shipper.name} | {shipper.whole_with} | " in page


@pytest.mark.parametrize("packed", ["(gzip) ", "(zstandard) "])
def test_a_line_of_a_packed_file_fits_as_it_is_in_the_file(packed):
    assert fitting(f"{packed}eyJ0cyI6") == [AIVEN]
    assert fitting(f"{packed}{json.dumps(counters(1))}") == []


def test_a_client_id_fits_nothing():
    line = json.dumps(counters(1, client_id='"@version":"1","__CURSOR":"MESSAGE"'), separators=(",", ":"))
    assert fitting(line) == []
