"""A log in folders by day: only the folders of the wanted days are looked at."""

import json
from datetime import date, timedelta

import pytest

from spark_reports.cli import main
from tests.spark_reports.day import DAY_MS, MIDNIGHT_MS
from tests.spark_reports.logs import counters, heartbeat, write

FRIDAY = date(2026, 11, 20)


@pytest.fixture
def lake(tmp_path):
    """A folder for each of ten days, and in it one for the proxy. Counters have 10 records each."""
    for number in range(-7, 3):
        day, at_ms = FRIDAY + timedelta(days=number), MIDNIGHT_MS + number * DAY_MS
        lines = [counters(2 * number + 20, at_ms), heartbeat(2 * number + 21, at_ms)]
        write(folder_of(tmp_path, day) / f"decisions-{day:%Y%m%d}T000000Z-px.jsonl", *lines)
    return tmp_path / "{date}"


def folder_of(tmp_path, day):
    return tmp_path / str(day) / "px"


def misfile(tmp_path, day, days):
    """Put a file of `day` into the folder of each day that is none of `days`. Who lists them, finds it."""
    at_ms = MIDNIGHT_MS + (day - FRIDAY).days * DAY_MS
    for folder in tmp_path.glob("2026-*"):
        if date.fromisoformat(folder.name) not in days:
            name = f"decisions-{day:%Y%m%d}T000000Z-{folder.name}.jsonl"
            write(folder / name, counters(0, at_ms, boot=folder.name))


def days_around(before, after):
    return [FRIDAY + timedelta(days=number) for number in range(-before, after + 1)]


def test_a_report_looks_at_the_folders_of_its_day_and_of_the_days_beside_it_and_at_no_other(
    spark, lake, tmp_path
):
    """A neighbour that does not exist is no mistake: tomorrow's folder is not there yet."""
    misfile(tmp_path, FRIDAY, days_around(1, 1))
    (folder_of(tmp_path, FRIDAY + timedelta(days=1)) / "decisions-20261121T000000Z-px.jsonl").unlink()
    (folder_of(tmp_path, FRIDAY + timedelta(days=1))).rmdir()
    (tmp_path / "2026-11-21").rmdir()
    write(
        folder_of(tmp_path, FRIDAY - timedelta(days=1)) / "decisions-20261119T235900Z-px.jsonl", counters(99)
    )
    options = ["--input", str(lake), "--date", "2026-11-20", "--output", str(tmp_path / "out"), "--quiet"]
    assert main(["daily", *options]) == 0
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["totals"]["records_accepted"] == 20
    assert report["log"]["files"] == 3


def test_a_file_a_folder_and_globs_are_read_as_what_they_are_whatever_their_names(spark, tmp_path):
    """A file that is named is read, also beside others, and so is each that a glob matches. A folder is read
    with all below it."""
    saved = write(tmp_path / "saved.log", counters(0, boot="saved"))
    folder = tmp_path / "saved.json"
    for number, place in enumerate((folder, folder / "px", tmp_path / "px-1", tmp_path / "px-2")):
        write(place / "decisions-20261120T000000Z-px.jsonl", counters(0, boot=str(number)))
    write(tmp_path / "date=2026-11-20" / "1795131900-e5b7.log", counters(0, boot="vector"))
    inputs = [folder, saved, tmp_path / "px-*", tmp_path / "date=2026-11-20" / "*"]
    output = tmp_path / "out"
    options = ["--date", "2026-11-20", "--output", str(output), "--format", "json", "--quiet"]
    assert main(["daily", "--input", *map(str, inputs), *options]) == 0
    assert json.loads((output / "report.json").read_text())["totals"]["records_judged"] == 60


def test_days_without_a_folder_are_exit_code_1_in_a_sentence_that_names_the_path(
    spark, lake, tmp_path, capsys
):
    options = ["--input", str(lake), "--output", str(tmp_path / "out"), "--date", "2026-12-24"]
    assert main(["daily", *options]) == 1
    error = capsys.readouterr().err
    assert "no decision log lines of 2026-12-24" in error
    assert str(lake) in error
    assert error.count("\n") == 1


def test_a_placeholder_in_the_path_of_a_table_is_exit_code_2(spark, tmp_path, capsys):
    asked = ["daily", "--input-format", "parquet", "--input", "lake/{date}"]
    assert main([*asked, "--output", str(tmp_path / "out")]) == 2
    assert "a table, which holds all its days: leave {date} out" in capsys.readouterr().err


def test_a_backfill_names_the_days_without_a_folder(spark, lake, tmp_path, capsys):
    options = ["--input", str(lake), "--store", str(tmp_path / "out"), "--format", "json"]
    assert main(["daily", *options, "--date", "2026-11-22..2026-11-26"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("spark_reports: no decision log lines of 2026-11-23 to 2026-11-26 under ")
    assert [path.name for path in (tmp_path / "out" / "reports").glob("2026-*")] == ["2026-11-22"]
