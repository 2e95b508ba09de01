"""The log as shippers leave it: each line is read if that is certain, and said to have been changed.

One query reads all forms. The lines of each have a boot of their own.
"""

import base64
import gzip
import json
from datetime import date

import pytest
import zstandard

from spark_reports.cli import main
from spark_reports.log.read import Source
from tests.spark_reports import collected
from tests.spark_reports.day import MIDNIGHT_MS
from tests.spark_reports.logs import MINUTE_MS, counters, heartbeat, line, text_of
from tests.spark_reports.test_shipped import FORMS, SHIPPED

REAL = {name: (SHIPPED / f"{name}.ndjson").read_bytes() for name in FORMS}
BOOT = b"1a224aa3"
UNCHANGED = {"whole", "aiven-no-envelope", "confluent-json"}
GLUED = {"firehose"}
"""Lines without line feeds between them: Spark reads the first one of a row. The others are lost lines."""
FAR = 9_223_372_036_854_775_807


def renamed(content, boot):
    """The same lines of another boot, whose name is as long."""
    if content.startswith(b"\x1f\x8b"):
        return gzip.compress(renamed(gzip.decompress(content), boot))
    if content.lstrip(b'"').startswith(b"eyJ"):
        texts = [base64.b64decode(text.strip(b'"')).replace(BOOT, boot) for text in content.splitlines()]
        quote = content[:1].strip(b"e")
        return b"".join(quote + base64.b64encode(text) + quote + b"\n" for text in texts)
    return content.replace(BOOT, boot)


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
    """Returns the rows of a form by its name."""
    folder = tmp_path_factory.mktemp("shipped")
    own = {name: f"x{number:07}".encode() for number, name in enumerate(REAL)}
    files = {name: renamed(content, own[name]) for name, content in REAL.items()}
    made = {**READ, **{f"unread {name}": text for name, (text, _) in UNREAD.items()}}
    for number, (name, text) in enumerate(made.items()):
        content = text if isinstance(text, bytes) else text.encode() + b"\n"
        old, new = b'"boot":"b"', b'"boot":"%d"' % number
        if name == "gzip":
            content = gzip.compress(gzip.decompress(content).replace(old, new))
        elif name == "zstandard":
            content = zstandard.compress(zstandard.decompress(content).replace(old, new))
        elif name == "UTF-16":
            content = content.decode("utf-16").replace('\\"b\\"', f'\\"{number}\\"').encode("utf-16")
        else:
            for quote in (b'"', b'\\"', b'""', b"'"):
                name_of = b"boot%s:%sb%s" % (quote, quote, quote)
                content = content.replace(name_of, b"boot%s:%s%d%s" % (quote, quote, number, quote))
            content = content.replace(b'"boot": "b"', b'"boot": "%d"' % number)
        files[name] = content
    for number, content in enumerate(files.values()):
        (folder / f"{number}.jsonl").write_bytes(content)
    by_name = {f"{number}.jsonl": name for number, name in enumerate(files)}
    first, last = date(2026, 11, 20), date(2026, 11, 29)
    found = {name: [] for name in files}
    for row in collected.rows(spark, Source([str(folder / "*.jsonl")], first, last)):
        found[by_name[row["file"]]].append(row)
    return found


def facts(some):
    """The facts of lines that no shipper may change."""
    kept = (
        "proxy",
        "seq",
        "event",
        "kind",
        "ts",
        "topic",
        "client_id",
        "verdict",
        "records",
        "ahead",
        "drift_max_ms",
    )
    return sorted([tuple(map(str, (row[name] for name in kept))) for row in some])


@pytest.mark.parametrize("form", sorted(REAL.keys() - GLUED))
def test_what_a_shipper_delivered_is_the_log(rows, form):
    assert {row["problem"] for row in rows[form]} == {None}
    assert facts(rows[form]) == facts(rows["whole"])
    assert {row["raw"] is None for row in rows[form]} == {form in UNCHANGED} or form == "jq-1.6"


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


def test_a_wrapped_day_is_reported_whole_and_doctor_shows_a_line_as_it_came(spark, tmp_path, capsys):
    """Also from a table, which `compact` may write again."""
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
    for _ in range(2):
        assert main(["compact", *asked, str(tmp_path), "--output", str(tmp_path / "lines")]) == 0
    capsys.readouterr()
    for place in ([str(tmp_path)], [str(tmp_path / "lines"), "--input-format", "parquet"]):
        assert main(["daily", *asked, *place, "--output", str(tmp_path / "out"), "--json"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert (report["totals"]["records_rejected"], report["log"]["lines_unusable"]) == (10, 0)
        assert report["log"]["changed_lines"] == 4
