"""The faults of a log are named, and a sound log is called sound."""

import json

import pytest

from spark_reports.cli import main
from tests.spark_reports.day import MIDNIGHT_MS
from tests.spark_reports.logs import MINUTE_MS, counters, heartbeat, line, write


@pytest.fixture
def examine(spark, tmp_path, capsys):
    def ask(*lines, raw="", options=()):
        path = write(tmp_path / "a.jsonl", *lines, raw=raw)
        code = main(["doctor", "--input", str(path), "--date", "2026-11-20", *options])
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


def test_a_sound_log_is_exit_code_0(examine):
    code, output = examine(*a_life())
    assert code == 0
    assert output.startswith(
        "Log complete only for 00:00 to 00:02 UTC: 2 of 2 minutes from 1 proxy, no line missing."
    )


@pytest.mark.parametrize(
    ("lines", "raw", "says"),
    [
        (a_life(0, 2, 3), "", "lost line 1, between"),
        (a_life(0, 1, 2), "", "stopped reporting after"),
        (a_life(), '{"ts":"2026-11-2', "1 unusable line, not one JSON object"),
        (a_life(), "\x1b]0;owned\x07", r"a.jsonl: not_json: \x1b]0;owned\x07"),
        ([*a_life(), counters(4, v=2)], "", "written by a newer tsproxy: update spark_reports"),
        ([], "garbage\n", "No line of these days can be used."),
    ],
)
def test_faults_of_a_log_are_named_with_exit_code_3(examine, lines, raw, says):
    code, output = examine(*lines, raw=raw)
    assert code == 3
    assert says in output


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


def test_faults_of_a_log_are_printed_as_json(examine):
    code, output = examine(*a_life(0, 2, 3), options=["--json"])
    assert (code, json.loads(output)["gaps"][0]["seq_first"]) == (3, 1)
