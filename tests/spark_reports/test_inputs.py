"""A log in folders by day: only the folders of the wanted days are looked at."""

import json
import shutil
from datetime import timedelta

import pytest

from spark_reports.cli import main
from tests.spark_reports.day import DAY_MS, FRIDAY, MIDNIGHT_MS
from tests.spark_reports.logs import counters, heartbeat, write


@pytest.fixture
def lake(tmp_path):
    """A folder for each of ten days, and in it one for the proxy. Counters have 10 records each."""
    for number in range(-7, 3):
        day, at_ms = FRIDAY + timedelta(days=number), MIDNIGHT_MS + number * DAY_MS
        lines = [counters(2 * number + 20, at_ms), heartbeat(2 * number + 21, at_ms)]
        write(tmp_path / str(day) / "px" / f"decisions-{day:%Y%m%d}T000000Z-px.jsonl", *lines)
    return tmp_path / "{date}"


def test_a_report_looks_at_the_folders_of_its_day_and_of_the_days_beside_it_and_at_no_other(
    spark, lake, tmp_path
):
    """A neighbour that does not exist is no mistake: tomorrow's folder is not there yet. In each other folder
    is a file of the day, which nobody may find."""
    shutil.rmtree(tmp_path / "2026-11-21")
    for folder in tmp_path.glob("2026-*"):
        if folder.name not in ("2026-11-19", "2026-11-20"):
            name = f"decisions-20261120T000000Z-{folder.name}.jsonl"
            write(folder / name, counters(0, boot=folder.name))
    write(tmp_path / "2026-11-19" / "px" / "decisions-20261119T235900Z-px.jsonl", counters(99))
    options = ["--input", str(lake), "--date", "2026-11-20", "--output", str(tmp_path / "out"), "--quiet"]
    assert main(["daily", *options]) == 0
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["totals"]["records_accepted"] == 20
    assert report["log"]["files"] == 3


def test_a_file_a_folder_and_globs_are_read_as_what_they_are_whatever_their_names(spark, tmp_path):
    """A file that is named is read, also beside others, and so is each that a glob matches, beside folders,
    too. A folder is read with all below it."""
    saved = write(tmp_path / "saved.log", counters(0, boot="saved"))
    folder = tmp_path / "saved.json"
    for number, place in enumerate((folder, folder / "px", tmp_path / "px-1", tmp_path / "px-2")):
        write(place / "decisions-20261120T000000Z-px.jsonl", counters(0, boot=str(number)))
    write(tmp_path / "date=2026-11-20" / "1795131900-e5b7.log", counters(0, boot="vector"))
    for name in ("sub{a,b}/decisions-20261120T000000Z-px.jsonl", "[1]"):
        write(tmp_path / "both" / name, counters(0, boot=name))
    inputs = [folder, saved, *(tmp_path / name for name in ("px-*", "date=2026-11-20/*", "both/*"))]
    output = tmp_path / "out"
    options = ["--date", "2026-11-20", "--output", str(output), "--format", "json", "--quiet"]
    assert main(["daily", "--input", *map(str, inputs), *options]) == 0
    assert json.loads((output / "report.json").read_text())["totals"]["records_judged"] == 80


@pytest.mark.parametrize("folder", ["{date}", "empty"])
def test_days_without_lines_are_exit_code_1_in_a_sentence_that_names_the_path(
    spark, lake, tmp_path, capsys, folder
):
    (tmp_path / "empty").mkdir()
    options = ["--input", str(tmp_path / folder), "--output", str(tmp_path / "out"), "--date", "2026-12-24"]
    assert main(["daily", *options]) == 1
    error = capsys.readouterr().err
    assert f"no decision log lines of 2026-12-24 under {tmp_path / folder}: " in error
    assert error.count("\n") == 1
    assert not list((tmp_path / "out").glob("*"))


def test_a_placeholder_in_the_path_of_a_table_is_exit_code_2(spark, tmp_path, capsys):
    asked = ["daily", "--input-format", "parquet", "--input", "lake/{date}"]
    assert main([*asked, "--output", str(tmp_path / "out")]) == 2
    assert "a table, which holds all its days: leave {date} out" in capsys.readouterr().err
