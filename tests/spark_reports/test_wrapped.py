"""The log as shippers leave it: a line in a field of their object is read, and every other form is set aside.

`fixed/shipped/whole.ndjson` is four lines of a real proxy. The other files there hold the same lines as each
shipper wrote them, or writes them by its documentation (docs/guide/ship-the-log.md). One query reads all.
"""

import json
from collections import defaultdict
from contextlib import ExitStack
from datetime import date
from pathlib import Path

import pytest

from spark_reports.cli import main
from spark_reports.log import frames, read
from spark_reports.log.compact import compact
from spark_reports.log.store import Table
from tests.spark_reports.day import MIDNIGHT_MS
from tests.spark_reports.logs import MINUTE_MS, counters, heartbeat, line, text_of

SHIPPED = Path(__file__).parent / "fixed" / "shipped"
WHOLE = {
    # file: how it was made
    "whole": "by rsyslog 8.2302 (%msg%), journalctl 252 (cat), Fluent Bit 5.1 (template), Aiven (CSV, none)",
    "aiven-no-envelope": "writer of Aiven's sink 0.12: JSONL, JsonConverter, envelope=false",
    "confluent-json": "JsonFormat's lines of code with Kafka's JsonConverter 3.9.2",
}
WRAPPED = {
    "aiven-envelope": "writer of Aiven's sink 0.12: JSONL, JsonConverter",
    "aiven-envelope-of-strings": "the same: JSONL, StringConverter",
    "docker-json-file": "Docker's driver json-file, 28.5.2",
    "filebeat-json": "documentation: Filebeat's codec json",
    "fluent-bit-json-lines": "Fluent Bit 5.1, output stdout, format json_lines",
    "logcli-jsonl": "documentation: logcli --output=jsonl",
    "logstash-json-lines": "documentation: Logstash's codec json_lines; two fields hold the line",
    "promtail-pack": "documentation: Promtail's stage pack",
    "rsyslog-jsonf": "rsyslog 8.2302, a template with option.jsonf",
    "vector-json": "documentation: Vector's codec json",
}
SET_ASIDE = {
    "aiven-default": "writer of Aiven's sink 0.12: gzip without .gz, each value in base64",
    "aiven-gzip": "the same with encoding=none",
    "confluent-json-of-strings": "JsonFormat's lines of code with Kafka's StringConverter 3.9.2",
    "confluent-json-of-bytes": "the same with Kafka's ByteArrayConverter: each line is base64",
    "cri": "documentation: the files of containerd and CRI-O",
    "fluent-bit-file": "Fluent Bit 5.1, output file",
    "journald-json": "journalctl 252 -o json",
    "journald-short": "journalctl 252 -o short",
    "otel-file-json": "OpenTelemetry Collector 0.165, filelog and file: all lines in one",
    "rsyslog-default": "rsyslog 8.2302, omfile's default template",
}
IN_PART = {
    "jq-1.6": "jq 1.6 and Node.js: bad_ts becomes 9223372036854776000",
    "firehose": "documentation: records are joined without a newline, the first of a row is read",
}
FORMS = (*WHOLE, *WRAPPED, *SET_ASIDE, *IN_PART)


def a_line(**fields):
    return json.dumps(counters(1, **fields), separators=(",", ":"))


LINE = a_line()
READ = {
    "an object": json.dumps({"time": 1, "event": json.loads(LINE)}),
    "in an array": json.dumps([{"message": LINE}]),
    "CRLF": json.dumps({"msg": LINE + "\r\n"}) + "\r",
    "a stranger's text beside it": json.dumps({"msg": "hello", "log": LINE}),
}
UNREAD = {
    **{
        f"a count that is {value}": (LINE.replace('"records":10', f'"records":{value}'), "bad_type")
        for value in ('"ten"', "1.5", "{}", "true")
    },
    # Texts that a client may have chosen, and a line that a shipper cut.
    "a client id": (json.dumps({"event": "client_rejected", "client_id": LINE}), "no_identity"),
    "a text in a text": (json.dumps({"log": json.dumps({"level": "i", "message": LINE})}), "no_identity"),
    "apostrophes": (json.dumps({"message": LINE.replace('"', "'")}), "no_identity"),
    "apostrophes but for one name": (
        json.dumps({"message": LINE.replace('"', "'").replace("'boot'", '"boot"')}), "not_json"
    ),
    "behind other words": (f"Nov 20 00:00:01 host nginx: GET {LINE}", "not_json"),
    "half a line": (json.dumps({"log": LINE[:200], "stream": "stdout"}), "not_json"),
    "torn": (LINE[:200], "not_json"),
}  # fmt: skip


@pytest.fixture(scope="module")
def rows(spark, tmp_path_factory):
    """The rows of each form by its name, as they were delivered: copies of each other would count once."""
    folder = tmp_path_factory.mktemp("shipped")
    files = {name: (SHIPPED / f"{name}.ndjson").read_bytes() for name in FORMS}
    for name, text in {**READ, **{f"unread {name}": text for name, (text, _) in UNREAD.items()}}.items():
        files[name] = text if isinstance(text, bytes) else text.encode() + b"\n"
    names = {}
    for number, (name, content) in enumerate(files.items()):
        names[f"{number}.jsonl"] = name
        (folder / f"{number}.jsonl").write_bytes(content)
    source = read.Source([str(folder / "*.jsonl")], date(2026, 11, 20), date(2026, 11, 29))
    by_name = defaultdict(list)
    with ExitStack() as stack:
        first = frames.kept(stack, read.marked_lines(spark, source))
        for row in frames.rows(read.with_opened(first)):
            by_name[names[row["file"]]].append(row)
    return by_name


def facts(some):
    """The facts of lines that no shipper may change."""
    names = (
        "proxy",
        "boot",
        "seq",
        "event",
        "kind",
        "ts",
        "topic",
        "client_id",
        "verdict",
        "records",
        "ahead",
    )
    return sorted([tuple(map(str, (row[name] for name in (*names, "drift_max_ms")))) for row in some])


def test_each_form_has_a_file():
    assert {path.stem for path in SHIPPED.iterdir()} == {*FORMS}


@pytest.mark.parametrize("form", [*WHOLE, *WRAPPED])
def test_what_a_shipper_delivered_is_the_log(rows, form):
    assert {row["problem"] for row in rows[form]} == {None}
    assert facts(rows[form]) == facts(rows["whole"])
    assert {row["raw"] is None for row in rows[form]} == {form in WHOLE}


@pytest.mark.parametrize("form", SET_ASIDE)
def test_a_form_that_is_not_read_has_no_usable_line_and_shows_one(rows, form):
    """So its log is incomplete, and names the file."""
    assert {row["problem"] for row in rows[form]} <= {"not_json", "no_identity"}
    assert all(row["raw"] for row in rows[form])


def test_only_the_lines_that_a_tool_spoilt_are_set_aside(rows):
    assert {row["problem"] for row in rows["jq-1.6"]} == {None, "bad_type"}
    assert {*facts(row for row in rows["jq-1.6"] if row["problem"] is None)} < {*facts(rows["whole"])}
    assert facts(rows["firehose"]) == facts(rows["whole"])[:1]


@pytest.mark.parametrize("form", READ)
def test_a_wrapped_line_is_read_and_its_first_form_is_kept(rows, form):
    [row] = rows[form]
    assert (row["problem"], row["seq"], row["records"], row["ahead"]) == (None, 1, 10, [[-4, 1, 10]])
    assert (row["ts"], row["day"]) == ("2026-11-20T00:01:00.000Z", "2026-11-20")
    assert row["raw"]


@pytest.mark.parametrize("form", UNREAD)
def test_a_text_that_may_be_a_stranger_s_is_no_line(rows, form):
    """Who chooses a client id would else write into the report."""
    [row] = rows[f"unread {form}"]
    assert (row["problem"], bool(row["raw"])) == (UNREAD[form][1], True)


def test_a_wrapped_day_is_reported_whole_and_doctor_shows_a_line_as_it_came(spark, tmp_path, capsys):
    """Also from a table, which may be written again."""
    life = [line(0, kind="start"), counters(1, verdict="rejected", error_code=32), heartbeat(2)]
    life += [line(3, kind="stop", at_ms=MIDNIGHT_MS + MINUTE_MS)]
    log = tmp_path / "decisions-20261120T000000Z-px.jsonl"
    log.write_text("".join(json.dumps({"message": each}) + "\n" for each in text_of(life).splitlines()))
    asked = ["--date", "2026-11-20", "--input"]
    assert main(["doctor", *asked, str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "no line missing" in told
    assert "4 lines wrapped by a shipper, and still read" in told
    assert f'{log.name}: {{"message":"{{' in told
    for _ in range(2):
        friday = date(2026, 11, 20)
        compact(spark, read.Source([str(tmp_path)], friday, friday), Table(str(tmp_path / "lines")))
    for place in ([str(tmp_path)], [str(tmp_path / "lines"), "--input-format", "parquet"]):
        assert main(["daily", *asked, *place, "--output", str(tmp_path / "out"), "--json"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert (report["totals"]["records_rejected"], report["log"]["lines_unusable"]) == (10, 0)
        assert report["log"]["changed_lines"] == 4
