"""The verdict of a soak over planted samples: each leak turns it, and a run without one passes."""

import json

import pytest

from rigs.soak.__main__ import told
from rigs.soak.fit import Verdict
from rigs.soak.verdict import ALL, faults, judge, read

END = {"acknowledged": 9, "transactions": 9, "consumed": 9, "visits": 9, "reloads": 59}
END |= {"crashes": [], "workers_ended": 0, "failed": {"c": {"INVALID_TIMESTAMP": 7}}}
PROCESSES = ("supervisor", "worker 1", "worker 2")


def lines(end=(), **leaks):
    """The lines of an hour. `leaks` are what a series gains in an hour, by the name's last word."""
    out = [{"kind": "restart", "at_s": 600.0}, {"kind": "reload", "at_s": 60.0}]
    for at_s in range(10, 3600, 10):
        hours = at_s / 3600
        sample = {"records": 160.0 * at_s, "bad records": 1.6 * at_s, "CPU seconds": 0.1 * at_s}
        sample |= {"tasks": 47 + leaks.get("tasks", 0) * hours, "connections": 12}
        for name in PROCESSES:
            sample[f"{name} own MiB"] = 36 + leaks.get("own", 0) * hours
            sample[f"{name} resident MiB"] = 56
            sample[f"{name} PSS MiB"] = 40
            sample[f"{name} descriptors"] = 30 + int(leaks.get("descriptors", 0) * hours)
        out.append({"kind": "sample", "at_s": at_s, **sample})
    out.append({"kind": "end", "at_s": 3600.0, **END, **dict(end)})
    return [json.dumps(each) for each in out]


def test_a_run_that_leaks_nothing_passes(tmp_path):
    samples = tmp_path / "soak.jsonl"
    samples.write_text("\n".join(lines()))
    assert told(samples) == 0


@pytest.mark.parametrize(
    ("leak", "amount", "series"),
    [
        ("own", 2.0, "worker 1 own MiB"),
        ("descriptors", 4.0, ALL),
        ("tasks", 4.0, "tasks"),
    ],
)
def test_a_leak_is_found_and_ends_the_run_with_status_1(tmp_path, leak, amount, series):
    samples = tmp_path / "soak.jsonl"
    samples.write_text("\n".join(lines(**{leak: amount})))
    assert told(samples) == 1
    judged = judge(read(samples.read_text().splitlines()))
    assert judged[series].verdict is Verdict.GROWS
    assert judged[series].line.growth == pytest.approx(amount * 2 / 3 * (3 if series == ALL else 1), rel=0.15)


@pytest.mark.parametrize(
    ("end", "text"),
    [
        ({"crashes": ["orders_crashed"]}, "orders_crashed"),
        ({"workers_ended": 1}, "1 workers ended"),
        ({"consumed": 0}, "no consumed"),
        ({"transactions": 0}, "no transactions"),
        ({"failed": {"c": {"_MSG_TIMED_OUT": 7}}}, "7 records of c"),
    ],
)
def test_a_run_in_which_something_failed_is_none(tmp_path, end, text):
    samples = tmp_path / "soak.jsonl"
    samples.write_text("\n".join(lines(end)))
    assert told(samples) == 1
    [found] = faults(read(samples.read_text().splitlines()))
    assert text in found


def test_a_run_without_bad_records_is_none():
    record = read(line.replace('"bad records"', '"other"') for line in lines())
    record.series["bad records"] = [(at_s, 0.0) for at_s, _ in record.series["records"]]
    assert "0.0% of the records were bad" in faults(record)


def test_a_sample_without_one_of_the_processes_has_no_sum():
    text = lines()
    short = json.loads(text[10])
    del short["worker 2 descriptors"]
    record = read([*text[:10], json.dumps(short), *text[11:]])
    assert len(record.series[ALL]) == len(record.series["tasks"]) - 1
