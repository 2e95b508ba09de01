"""The newest lines of a decision log in words: of every file there is, and as they are written."""

import json
import subprocess
import sys

import pytest

from tests.decisions.lines import whole
from tests.proxy.world import PATIENCE_S
from tsproxy.cli import main
from tsproxy.decisions.fields import EventName
from tsproxy.offline.decision_lines import in_words

DECISION = whole(EventName.DECISION) | {
    "ts": "2026-11-20T11:20:06.158Z",
    "topic": "orders",
    "partition": 3,
    "client_id": "orders-replay",
    "principal": "User:etl",
    "client_address": "10.3.0.11",
    "verdict": "rejected",
    "reason": "too_far_ahead",
    "records": 1_100,
    "bad_records": 3,
    "drift_min_ms": 7_200_000,
    "drift_max_ms": 10_800_000,
    "unit_guess": "microseconds",
    "rule": "topic-limits",
    "suppressed": 0,
}


def at(second, **fields):
    """A line that is no different but for its time and these fields."""
    return {**DECISION, "ts": f"2026-11-20T11:20:{second:02}.000Z", **fields}


def written(folder, name, *lines):
    path = folder / f"decisions-20261120T112000Z-px-{name}"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def tail(capsys, *arguments):
    """Exit code, lines and what was complained about."""
    code = main(["decisions", "tail", *map(str, arguments)])
    output = capsys.readouterr()
    return code, output.out.splitlines(), output.err


def test_a_decision_is_one_sentence():
    assert in_words(DECISION) == (
        "2026-11-20T11:20:06.158Z  rejected  orders-3  orders-replay, User:etl, 10.3.0.11  "
        "3 of 1,100 records too_far_ahead (3 h ahead, unit microseconds), rule topic-limits"
    )


def test_what_is_only_counted_and_what_was_left_out_is_told():
    line = {**DECISION, "would_reject": True, "verdict": "accepted", "waiver": "backfill", "suppressed": 1200}

    assert "  would be rejected  " in in_words(line)
    assert in_words(line).endswith("rule topic-limits, waiver backfill; 1,200 like it were not written")


def test_the_farther_side_is_told():
    assert "(9 days behind" in in_words({**DECISION, "drift_min_ms": -777_600_000, "drift_max_ms": 500})


def test_an_event_that_is_new_is_named():
    assert in_words({"ts": "2030", "event": "weather", "sun": 1}) == "2030  weather"


def test_a_client_cannot_write_to_the_terminal():
    told = in_words({**DECISION, "client_id": "\x1b[2J\r\nrejected  all is well"})

    assert told.isprintable()
    assert r"\x1b[2J\r\n" in told


def test_the_newest_of_all_files_come_in_the_order_of_their_times(tmp_path, capsys):
    written(tmp_path, "b1-0001.jsonl", at(1, client_id="first"), at(4, client_id="fourth"))
    written(tmp_path, "b2-0001.jsonl", at(2, client_id="second"), whole(EventName.HEARTBEAT, ts=at(5)["ts"]))
    written(tmp_path, "b2-0002.jsonl.open", at(3, client_id="third"))

    code, lines, complaint = tail(capsys, tmp_path, "--lines", 3, "--json")

    assert (code, complaint) == (0, "")
    assert [json.loads(line)["client_id"] for line in lines] == ["second", "third", "fourth"]
    assert "heartbeat" in tail(capsys, tmp_path, "--all")[1][-1]


def test_a_line_that_is_not_whole_is_not_shown_and_one_that_is_no_json_is_counted(tmp_path, capsys):
    path = written(tmp_path, "b1-0001.jsonl.open", at(1))
    path.write_text(f"{path.read_text()}nonsense\n[1]\n{{")

    code, lines, complaint = tail(capsys, tmp_path)

    assert (code, len(lines)) == (0, 1)
    first = len(json.dumps(at(1))) + 1
    assert complaint.splitlines() == [
        f"tsproxy: set aside: {path.stem}: the line at byte {first} is no JSON object",
        f"tsproxy: set aside: {path.stem}: the line at byte {first + 9} is no JSON object",
    ]


def test_odd_lines_are_set_aside_named_and_counted_and_the_others_shown(tmp_path, capsys):
    """Each of the first four ended the command with a traceback."""
    start = whole(EventName.LIFECYCLE, kind="start")
    odd = [
        at(1, bad_records="3"),
        {**start, "facts": [1]},
        at(1, records=None),
        at(1, drift_min_ms=[], drift_max_ms="x"),
    ]
    odd += [at(1, v=2), at(1, topic=7), {"event": "decision"}]
    written(tmp_path, "b1-0001.jsonl", at(0, client_id="first"), *odd, at(2, client_id="last"))

    code, lines, complaint = tail(capsys, tmp_path)

    assert code == 0
    assert [line.partition("Z")[2].split()[2] for line in lines] == ["first,", "last,"]
    assert "records must be an int" in complaint
    assert "facts must be an object" in complaint
    assert "records is missing" in complaint
    assert complaint.splitlines()[-1] == "tsproxy: set aside: 2 more lines like these"


def test_a_folder_that_is_not_there_is_a_mistake(tmp_path, capsys):
    code, lines, complaint = tail(capsys, tmp_path / "absent")

    assert (code, lines) == (2, [])
    assert (
        complaint == f"tsproxy: {tmp_path}/absent is not a folder: name the folder of decisions.directory\n"
    )


def test_a_folder_without_a_decision_is_told_of(tmp_path, capsys):
    written(tmp_path, "b1-0001.jsonl", whole(EventName.HEARTBEAT, ts=at(5)["ts"]))

    assert tail(capsys, tmp_path) == (0, [], f"tsproxy: {tmp_path} holds no such lines\n")


def test_a_number_of_lines_that_is_none_is_a_mistake(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["decisions", "tail", "--lines", "-1"])

    assert ended.value.code == 2
    assert "'-1' is not allowed; must be a whole number from 0 to 100000" in capsys.readouterr().err


@pytest.mark.timeout(3 * PATIENCE_S)
def test_what_is_written_later_follows_through_the_end_of_a_file_and_into_the_next(tmp_path):
    first = written(tmp_path, "b1-0001.jsonl.open", at(1, client_id="old"))
    command = [sys.executable, "-m", "tsproxy", "decisions", "tail", "--follow", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as following:
        assert "old" in following.stdout.readline()
        with first.open("a") as file:
            file.write(json.dumps(at(2, client_id="appended")) + "\n")
        assert "appended" in following.stdout.readline()
        closed = first.rename(first.with_suffix(""))
        written(tmp_path, "b1-0002.jsonl.open", at(3, client_id="next file"))
        assert "next file" in following.stdout.readline(), "nothing of the closed file comes twice"
        closed.unlink()
        written(tmp_path, "b2-0001.jsonl.open", at(4, client_id="another boot"))
        assert "another boot" in following.stdout.readline()
        following.send_signal(2)
        assert following.wait() == 0
