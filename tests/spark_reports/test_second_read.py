"""The log as shippers leave it: each line is read if that is certain, and said to have been changed.

`fixed/shipped/whole.ndjson` is four lines of a real proxy. The other files there hold the same lines as each
shipper wrote them, or writes them by its documentation (docs/guide/ship-the-log.md). One query reads all.
"""

import gzip
import json
from collections import defaultdict
from contextlib import ExitStack
from datetime import date
from pathlib import Path

import pytest
import zstandard

from spark_reports.cli import main
from spark_reports.log import frames, log_reader, read, second_read
from spark_reports.log.compact import compact
from spark_reports.log.completeness import quality
from spark_reports.log.store import Table
from tests.spark_reports import collected
from tests.spark_reports.day import DAY_MS, FRIDAY, MIDNIGHT_MS
from tests.spark_reports.logs import MINUTE_MS, counters, heartbeat, line, text_of

SHIPPED = Path(__file__).parent / "fixed" / "shipped"
FORMS = {
    # file: how it was made
    "whole": "by rsyslog 8.2302 (%msg%), journalctl 252 (cat), Fluent Bit 5.1 (template), Aiven (CSV, none)",
    "aiven-no-envelope": "writer of Aiven's sink 0.12: JSONL, JsonConverter, envelope=false",
    "confluent-json": "JsonFormat's lines of code with Kafka's JsonConverter 3.9.2",
    "jq-1.6": "jq 1.6 and Node.js: bad_ts becomes 9223372036854776000",
    "firehose": "documentation: records are joined without a newline",
    "aiven-default": "writer of Aiven's sink 0.12: gzip without .gz, each value in base64",
    "aiven-gzip": "the same with encoding=none",
    "aiven-envelope": "the same: JSONL, JsonConverter",
    "aiven-envelope-of-strings": "the same: JSONL, StringConverter",
    "confluent-json-of-strings": "JsonFormat's lines of code with Kafka's StringConverter 3.9.2",
    "confluent-json-of-bytes": "the same with Kafka's ByteArrayConverter: each line is base64",
    "cri": "documentation: the files of containerd and CRI-O",
    "docker-json-file": "Docker's driver json-file, 28.5.2",
    "filebeat-json": "documentation: Filebeat's codec json",
    "fluent-bit-file": "Fluent Bit 5.1, output file",
    "fluent-bit-json-lines": "Fluent Bit 5.1, output stdout, format json_lines",
    "journald-json": "journalctl 252 -o json",
    "journald-short": "journalctl 252 -o short",
    "logcli-jsonl": "documentation: logcli --output=jsonl",
    "logstash-json-lines": "documentation: Logstash's codec json_lines; two fields hold the line",
    "otel-file-json": "OpenTelemetry Collector 0.165, filelog and file: all lines in one",
    "promtail-pack": "documentation: Promtail's stage pack",
    "rsyslog-default": "rsyslog 8.2302, omfile's default template",
    "rsyslog-jsonf": "rsyslog 8.2302, a template with option.jsonf",
    "vector-json": "documentation: Vector's codec json",
}
UNCHANGED = {"whole", "aiven-no-envelope", "confluent-json"}
GLUED = "firehose"
"""Lines without line feeds between them: Spark reads the first one of a row. The others are lost lines."""
FAR = 9_223_372_036_854_775_807


def a_line(**fields):
    return json.dumps(counters(1, **fields), separators=(",", ":"))


LINE = a_line()
JQ = a_line(drift_max_ms=FAR, bad_records=0).replace(str(FAR), "9223372036854776000")
READ = {
    "a double": LINE.replace('"records":10', '"records":10.0'),
    "an exponent": LINE.replace('"records":10', '"records":1.0e1'),
    "a number as a text": LINE.replace('"records":10', '"records":"10"'),
    "histogram of doubles": LINE.replace("[-4,1,10]", "[-4.0,1.0,1E1]"),
    "jq 1.6": JQ,
    "beyond all": JQ.replace("9223372036854776000", "1.7976931348623157e+308"),
    "a zone": LINE.replace("2026-11-20T00:01:00.000Z", "2026-11-20t05:31:00.000000000+05:30"),
    "a space, no fraction": LINE.replace("2026-11-20T00:01:00.000Z", "2026-11-20 00:01:00z"),
    "without ts": LINE.replace('"ts":"2026-11-20T00:01:00.000Z",', ""),
    "an object": json.dumps({"time": 1, "event": json.loads(LINE)}),
    "Elastic's original": json.dumps({"message": "other", "event": {"original": LINE}}),
    "in an array": json.dumps([{"message": LINE}]),
    "an array of doubles": f"[{LINE.replace(':10,', ':10.0,')}]",
    "the last of a JSON array": json.dumps({"value": json.loads(LINE)}) + ",",
    "CSV": '"' + LINE.replace('"', '""') + '"',
    "RFC 5424": "<134>1 2026-11-20T00:00:01Z host tsproxy 12 - - " + LINE,
    "RFC 3164": "<134>Nov  2 00:00:01 host tsproxy[12]: " + LINE,
    "CRLF and a mark": "\ufeff" + json.dumps({"msg": LINE + "\r\n"}) + "\r",
    "gzip": gzip.compress(LINE.encode()) + gzip.compress(b"\n" + b"\n"),
    "zstandard": zstandard.compress(LINE.encode() + b"\n"),
    "UTF-16": (json.dumps({"log": LINE}) + "\n").encode("utf-16"),
}
TYPED = {"a type": '"ten"', "a fraction": "1.5", "an object": "{}", "a truth": "true"}
STRANGERS = {
    "a client id": json.dumps({"event": "client_rejected", "client_id": LINE}),
    "a text in a text": json.dumps({"log": json.dumps({"level": "info", "message": LINE})}),
    "apostrophes": json.dumps({"message": LINE.replace('"', "'")}),
    "behind other words": f"Nov 20 00:00:01 host nginx: GET {LINE}",
    "half a line": json.dumps({"log": LINE[:200], "stream": "stdout"}),
}
"""Texts that a client may have chosen, and a line that a shipper cut: they are no lines of the log."""
UNREAD = {
    **{
        name: (LINE.replace('"records":10', f'"records":{value}'), "bad_type")
        for name, value in TYPED.items()
    },
    **{name: (text, "no_identity") for name, text in STRANGERS.items()},
    "behind other words": (STRANGERS["behind other words"], "not_json"),
    "torn": (LINE[:200], "not_json"),
    "a bomb": (gzip.compress(bytes(1 << 20)) * 200, "not_json"),
}


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
    source = read.Source([str(folder / "*.jsonl")], FRIDAY, date(2026, 11, 29))
    by_name = defaultdict(list)
    with ExitStack() as stack:
        first = frames.kept(stack, read.marked_lines(spark, source))
        for row in frames.rows(second_read.marked_lines(spark, source, first)):
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


@pytest.mark.parametrize("form", sorted(FORMS.keys() - {GLUED}))
def test_what_a_shipper_delivered_is_the_log(rows, form):
    assert {row["problem"] for row in rows[form]} == {None}
    assert facts(rows[form]) == facts(rows["whole"])
    assert {row["raw"] is None for row in rows[form]} == {form in UNCHANGED} or form == "jq-1.6"
    assert facts(rows[GLUED]) == facts(rows["whole"])[:1]


@pytest.mark.parametrize("form", READ)
def test_a_changed_line_is_read_and_its_first_form_is_kept(rows, form):
    [row] = rows[form]
    assert (row["problem"], row["seq"], row["records"], row["ahead"]) == (None, 1, 10, [[-4, 1, 10]])
    assert (row["ts"], row["day"]) == ("2026-11-20T00:01:00.000Z", "2026-11-20")
    assert row["drift_max_ms"] == (FAR if form in ("jq 1.6", "beyond all") else None)
    assert row["raw"]


@pytest.mark.parametrize("form", UNREAD)
def test_a_text_that_may_be_a_stranger_s_is_no_line(rows, form):
    """Who chooses a client id would else write into the report."""
    [row] = rows[f"unread {form}"]
    assert (row["problem"], bool(row["raw"])) == (UNREAD[form][1], True)


def test_a_plain_file_of_the_name_of_a_packed_one_is_read_as_it_is(spark, tmp_path):
    for boot, packed in (("packed", gzip.compress), ("plain", bytes)):
        (tmp_path / boot).mkdir()
        (tmp_path / boot / "part-0.jsonl").write_bytes(packed(text_of([counters(0, boot=boot)]).encode()))
    found = collected.rows(spark, read.Source([f"{tmp_path}/*/*.jsonl"], FRIDAY, FRIDAY))
    assert sorted((row["boot"], row["problem"]) for row in found) == [("packed", None), ("plain", None)]


def test_a_wrapped_day_is_read_whole_and_doctor_shows_a_line_as_it_came(spark, tmp_path, capsys):
    """From a table, which may be written again, and which then has the lines as they were read."""
    life = [line(0, kind="start"), counters(1, verdict="rejected", error_code=32), heartbeat(2)]
    life += [line(3, kind="stop", at_ms=MIDNIGHT_MS + MINUTE_MS)]
    log = tmp_path / "decisions-20261120T000000Z-px.jsonl"
    log.write_text("".join(json.dumps({"message": each}) + "\n" for each in text_of(life).splitlines()))
    asked = ["--date", "2026-11-20", "--input"]
    assert main(["doctor", *asked, str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "no line missing" in told
    assert "4 lines changed on the way" in told
    assert f'{log.name}: {{"message": ' in told
    assert "    Vector: leave the line whole with `encoding.codec: text` in the sink." in told
    table = str(tmp_path / "lines")
    for _ in range(2):
        compact(spark, read.Source([str(tmp_path)], FRIDAY, FRIDAY), Table(table))
    with log_reader.lines(spark, read.Source([table], FRIDAY, FRIDAY, is_table=True)) as kept:
        log = quality(kept.evidence(), FRIDAY, FRIDAY, MIDNIGHT_MS + DAY_MS)
        assert [row["records"] for row in frames.rows(kept.frame) if row["verdict"] == "rejected"] == [10]
    assert (log["changed_lines"], log["lines_unusable"], log["state"]) == (4, 0, "complete_in_part")
