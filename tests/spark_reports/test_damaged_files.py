"""With `--skip-damaged-files`, a damaged file is named, and its log is incomplete."""

import gzip
import json
from datetime import date

import pyarrow
import zstandard

from spark_reports.cli import main
from spark_reports.log.compact import compact
from spark_reports.log.damaged_files import LINE
from spark_reports.log.read import Source
from spark_reports.log.store import Table
from tests.spark_reports.day import DAY_MS, MIDNIGHT_MS
from tests.spark_reports.logs import counters, heartbeat, line, text_of, write


def a_life(proxy):
    """A process of a proxy, from the beginning of the day to its end: nothing is missing."""
    own = {"proxy": proxy, "boot": proxy}
    return [
        line(0, kind="start", **own),
        counters(1, **own),
        heartbeat(2, interval_ms=DAY_MS, **own),
        line(3, kind="stop", at_ms=MIDNIGHT_MS + DAY_MS - 1, **own),
    ]


def cut(path, pack):
    """Write the packed log of a proxy, without its end: nothing of it can be unpacked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pack(text_of(a_life("qx")).encode())[:20])


def test_the_only_file_of_a_proxy_is_named_if_it_is_damaged_by_the_report_and_by_the_table(
    spark, tmp_path, capsys
):
    """No other line says that this proxy exists. A sound file has the same name in another folder."""
    names = [f"decisions-20261120T000000Z-{name}" for name in ("a.jsonl.gz", "b.jsonl.zst")]
    write(tmp_path / "in" / "px" / names[0], *a_life("px"))
    cut(tmp_path / "in" / "q x+é%[1]" / names[0], gzip.compress)
    cut(tmp_path / "in" / "q x+é%[1]" / names[1], zstandard.compress)
    store = tmp_path / "store"
    asked = ["daily", "--date", "2026-11-20", "--skip-damaged-files"]
    assert main([*asked, "--input", str(tmp_path / "in"), "--store", str(store)]) == 3
    assert capsys.readouterr().out.startswith("4 lines, 0 duplicates left out, set aside: 2 not_json.\n")
    asked += ["--input", str(store / "lines"), "--input-format", "parquet"]
    assert main([*asked, "--output", str(tmp_path / "out"), "--json"]) == 3
    log = json.loads(capsys.readouterr().out)["log"]
    assert (log["state"], log["lines_unusable"], log["lost_lines"]) == ("incomplete", 2, 0)
    assert log["quarantined_examples"] == [f"{name}: not_json: {LINE}" for name in names]


def test_a_file_that_spark_cannot_unpack_is_named_and_never_left_out_without_a_word(spark, tmp_path, capsys):
    """Java ended, or nothing of the file was read. Another file has garbage, so a second reading follows."""
    write(tmp_path / "in" / "decisions-20261120T000000Z-px.jsonl", *a_life("px"), raw="garbage\n")
    names = []
    for codec in ("lz4", "snappy"):
        packed = pyarrow.compress(text_of(a_life(codec)).encode(), codec, asbytes=True)
        names.append(f"decisions-20261120T000000Z-qx.jsonl.{codec}")
        (tmp_path / "in" / names[-1]).write_bytes(packed)
    asked = ["daily", "--date", "2026-11-20", "--input", str(tmp_path / "in"), "--json"]
    assert main([*asked, "--output", str(tmp_path / "out")]) == 1
    told = capsys.readouterr().err
    assert any(f"{name} is in a form that Spark does not read: " in told for name in names)
    assert main([*asked, "--output", str(tmp_path / "out"), "--skip-damaged-files"]) == 3
    log = json.loads(capsys.readouterr().out)["log"]
    assert (log["state"], log["files"], log["lines_unusable"]) == ("incomplete", 3, 3)
    assert {f"{name}: not_json: {LINE}" for name in names} < {*log["quarantined_examples"]}


def test_a_damaged_file_of_a_table_is_never_skipped(spark, tmp_path, capsys):
    """It may hold all lines of a day."""
    path = write(tmp_path / "decisions-20261120T000000Z-px.jsonl", *a_life("px"))
    table = str(tmp_path / "table")
    friday = date(2026, 11, 20)
    compact(spark, Source([str(path)], friday, friday), Table(table))
    [stored] = (tmp_path / "table").glob("event_date=*/*.parquet")
    stored.write_bytes(stored.read_bytes()[:-20])
    stored.with_name(f".{stored.name}.crc").unlink()
    asked = ["daily", "--input", table, "--input-format", "parquet", "--date", "2026-11-20"]
    assert main([*asked, "--output", str(tmp_path / "out"), "--skip-damaged-files"]) == 1
    assert stored.name in capsys.readouterr().err
