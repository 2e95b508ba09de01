"""The faults of a log are named; test_second_read.py has a log without a fault."""

import json

import pytest

from spark_reports.cli import main
from tests.spark_reports.day import MIDNIGHT_MS
from tests.spark_reports.logs import MINUTE_MS, counters, heartbeat, line, write


@pytest.fixture
def examine(spark, tmp_path, capsys):
    def ask(*lines, raw=""):
        path = write(tmp_path / "a.jsonl", *lines, raw=raw)
        code = main(["doctor", "--input", str(path), "--date", "2026-11-20"])
        return code, capsys.readouterr().out

    return ask


def a_life(*seqs):
    lines = [
        line(0, kind="start"),
        heartbeat(1),
        heartbeat(2, MIDNIGHT_MS + MINUTE_MS),
        line(3, kind="stop", at_ms=MIDNIGHT_MS + 2 * MINUTE_MS),
    ]
    return [lines[seq] for seq in seqs or range(4)]


def test_all_faults_of_a_log_are_named_with_exit_code_3(examine):
    """Each process has one of them."""
    lives = (a_life(0, 2, 3), a_life(0, 1, 2), [*a_life(), counters(4, v=2)])
    lines = [each | {"boot": f"b{number}"} for number, life in enumerate(lives) for each in life]
    code, output = examine(*lines, raw='\x1b]0;owned\x07\n{"ts":"2026-11-2')
    assert code == 3
    for said in (
        "lost line 1, between",
        "stopped reporting after",
        "2 unusable lines, not one JSON object",
        r"a.jsonl: not_json: \x1b]0;owned\x07",
        "written by a newer tsproxy: update spark_reports",
    ):
        assert said in output


def test_a_log_of_garbage_says_that_nothing_can_be_used(examine):
    code, output = examine(raw="garbage\n")
    assert code == 3
    assert "No line of these days can be used." in output


def test_a_file_that_was_cut_is_named_and_can_be_read_as_far_as_it_goes(spark, tmp_path, capsys):
    """A shipper died in the middle of a .gz. The delivered lines are used, and the missing ones are named."""
    path = tmp_path / "a.jsonl.gz"
    lines = [*a_life(0, 1), *(counters(seq) for seq in range(2, 2_000))]
    write(path, *lines)
    path.write_bytes(path.read_bytes()[:-1_000])
    stop = write(tmp_path / "b.jsonl", line(2_000, kind="stop", at_ms=MIDNIGHT_MS + MINUTE_MS))
    asked = ["doctor", "--date", "2026-11-20", "--input", str(path), str(stop)]
    assert main(asked) == 1
    output = capsys.readouterr().err
    assert "a.jsonl.gz" in output
    assert "--skip-damaged-files" in output
    assert output.count("\n") == 1
    assert main([*asked, "--skip-damaged-files", "--json"]) == 3
    [gap] = json.loads(capsys.readouterr().out)["gaps"]
    assert 2 < gap["seq_first"] <= gap["seq_last"] == 1_999
