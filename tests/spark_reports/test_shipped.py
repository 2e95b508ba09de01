"""One log in the forms in which shippers deliver it (docs/guide/ship-the-log.md).

`whole.ndjson` is four lines of a real proxy. The other files hold the same lines as each shipper wrote them,
or writes them by its documentation.
"""

from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from spark_reports.log import frames, read

SHIPPED = Path(__file__).parent / "fixed" / "shipped"
LINES = 4

FORMS = {
    # file: (usable lines of the first reading, how it was made); test_second_read.py has the second
    "whole": (
        4,
        "by rsyslog 8.2302 (%msg%), journalctl 252 (cat), Fluent Bit 5.1 (template), Aiven (CSV, none)",
    ),
    "aiven-no-envelope": (4, "writer of Aiven's sink 0.12: JSONL, JsonConverter, envelope=false"),
    "confluent-json": (4, "JsonFormat's lines of code with Kafka's JsonConverter 3.9.2"),
    "jq-1.6": (3, "jq 1.6 and Node.js: bad_ts becomes 9223372036854776000"),
    "firehose": (1, "documentation: records are joined without a newline"),
    "aiven-default": (0, "writer of Aiven's sink 0.12: gzip without .gz, each value in base64"),
    "aiven-gzip": (0, "the same with encoding=none"),
    "aiven-envelope": (0, "the same: JSONL, JsonConverter"),
    "aiven-envelope-of-strings": (0, "the same: JSONL, StringConverter"),
    "confluent-json-of-strings": (0, "JsonFormat's lines of code with Kafka's StringConverter 3.9.2"),
    "confluent-json-of-bytes": (0, "the same with Kafka's ByteArrayConverter: each line is base64"),
    "cri": (0, "documentation: the files of containerd and CRI-O"),
    "docker-json-file": (0, "Docker's driver json-file, 28.5.2"),
    "filebeat-json": (0, "documentation: Filebeat's codec json"),
    "fluent-bit-file": (0, "Fluent Bit 5.1, output file"),
    "fluent-bit-json-lines": (0, "Fluent Bit 5.1, output stdout, format json_lines"),
    "journald-json": (0, "journalctl 252 -o json"),
    "journald-short": (0, "journalctl 252 -o short"),
    "logcli-jsonl": (0, "documentation: logcli --output=jsonl"),
    "logstash-json-lines": (0, "documentation: Logstash's codec json_lines; two fields hold the line"),
    "otel-file-json": (0, "OpenTelemetry Collector 0.165, filelog and file: all lines in one"),
    "promtail-pack": (0, "documentation: Promtail's stage pack"),
    "rsyslog-default": (0, "rsyslog 8.2302, omfile's default template"),
    "rsyslog-jsonf": (0, "rsyslog 8.2302, a template with option.jsonf"),
    "vector-json": (0, "documentation: Vector's codec json"),
}


@pytest.fixture(scope="module")
def delivered(spark):
    """The lines as they were delivered: as copies of each other, they would count once."""
    day = date(2026, 11, 29)
    names = [str(SHIPPED / f"{name}.ndjson") for name in FORMS]
    return frames.rows(read.marked_lines(spark, read.Source(names, day, day)))


def test_each_form_has_a_file():
    assert {path.stem for path in SHIPPED.iterdir()} == {*FORMS}


def test_usable_lines_of_each_form(delivered):
    found = Counter(row["file"].removesuffix(".ndjson") for row in delivered if row["problem"] is None)
    assert {name: found[name] for name in FORMS} == {name: usable for name, (usable, _) in FORMS.items()}


def test_a_form_that_cannot_be_read_leaves_unusable_lines(delivered):
    """But for lines without a newline between them: only the numbers of the lines show the loss."""
    bad = {row["file"].removesuffix(".ndjson") for row in delivered if row["problem"] is not None}
    assert bad == {name for name, (usable, _) in FORMS.items() if usable < LINES} - {"firehose"}
