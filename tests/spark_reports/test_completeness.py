"""Each way of losing lines, and the sentences of the report about it."""

from dataclasses import replace
from datetime import date

import pytest

from spark_reports.log import read
from spark_reports.log.completeness import State, completeness
from tests.spark_reports import both_ways
from tests.spark_reports.day import DAY_MS, HOUR_MS, MIDNIGHT_MS
from tests.spark_reports.logs import MINUTE_MS, heartbeat, line, write

FRIDAY = date(2026, 11, 20)
NEXT_MORNING_MS = MIDNIGHT_MS + DAY_MS + 5 * HOUR_MS


def a_boot(minutes=range(3), start_ms=MIDNIGHT_MS + 10 * HOUR_MS, ends=True, **fields):
    """Start, one heartbeat a minute, stop."""
    lines = [line(0, at_ms=start_ms, kind="start", **fields)]
    lines += [heartbeat(n + 1, start_ms + minute * MINUTE_MS, **fields) for n, minute in enumerate(minutes)]
    if ends:
        lines.append(line(len(lines), at_ms=start_ms + len(minutes) * MINUTE_MS, kind="stop", **fields))
    return lines


@pytest.fixture
def proof(spark, tmp_path):
    """The completeness of Friday in a log of these lines."""

    def prove(*lines, now_ms=NEXT_MORNING_MS):
        source = read.Source([str(write(tmp_path / "a.jsonl", *lines))], FRIDAY, FRIDAY)
        evidence = replace(both_ways.evidence(spark, source), files=[])
        return completeness(evidence, FRIDAY, FRIDAY, now_ms)

    return prove


def test_a_boot_that_covers_the_day_is_complete(proof):
    found = proof(*a_boot(range(1440), MIDNIGHT_MS))
    assert (found.state, found.is_complete, found.unheard) == (State.COMPLETE, True, [])
    assert found.sentence == "Log complete: 1,440 of 1,440 minutes from 1 proxy, no line missing."


def test_a_log_of_a_part_of_the_day_is_complete_only_for_that_part(proof):
    found = proof(*a_boot())
    assert (found.state, found.is_complete) == (State.COMPLETE_IN_PART, False)
    assert found.sentence == (
        "Log complete only for 10:00 to 10:03 UTC: 3 of 3 minutes from 1 proxy, no line missing. "
        "Nothing is known of other times."
    )


def test_a_log_is_complete_only_for_the_times_at_which_each_proxy_was_heard(proof):
    """px-3 has a whole day. Nobody knows if px-1 and px-2 were down, or if some of their logs is missing."""
    lines = [
        *a_boot(range(600), MIDNIGHT_MS, proxy="px-1", boot="1"),
        *a_boot(range(600), MIDNIGHT_MS + 14 * HOUR_MS, proxy="px-1", boot="2"),
        *a_boot(range(300), MIDNIGHT_MS + 15_000, proxy="px-2", boot="3"),
        *a_boot(range(1440), MIDNIGHT_MS, proxy="px-3", boot="4"),
    ]
    assert "only for 00:00 to 05:00:15 UTC: " in proof(*lines).sentence
    others = [each for each in lines if each["proxy"] != "px-2"]
    assert "only for 00:00 to 10:00 and 14:00 to 24:00 UTC: " in proof(*others).sentence
    early = a_boot(range(60), MIDNIGHT_MS, proxy="px-0", boot="0")
    late = a_boot(range(60), MIDNIGHT_MS + 23 * HOUR_MS, proxy="px-9", boot="9")
    assert "only for the times at which each proxy was heard: " in proof(*early, *late).sentence


def test_a_restart_of_a_minute_leaves_the_day_complete(proof):
    """A boot of a second shows an interval of a second. Patience is three of the proxy's longest."""
    noon_ms = MIDNIGHT_MS + 12 * HOUR_MS
    short = [
        line(0, at_ms=noon_ms + 30_000, kind="start", boot="short"),
        heartbeat(1, noon_ms + 30_000, 1_000, boot="short"),
        line(2, at_ms=noon_ms + 31_000, kind="stop", boot="short"),
    ]
    before = a_boot(range(720), MIDNIGHT_MS, boot="before")
    after = a_boot(range(718), noon_ms + 2 * MINUTE_MS, boot="after")
    found = proof(*before, *short, *after)
    assert (found.state, found.unheard) == (State.COMPLETE, [])


def test_a_proxy_of_a_second_is_not_called_silent_after_three(proof):
    start_ms = MIDNIGHT_MS + 10 * HOUR_MS
    lines = [line(0, at_ms=start_ms, kind="start"), heartbeat(1, start_ms, 1_000)]
    assert proof(*lines, now_ms=start_ms + 100_000).silent == []
    assert len(proof(*lines, now_ms=start_ms + 200_000).silent) == 1


@pytest.mark.parametrize(
    "spoilt",
    [
        {"ts": "yesterday"},
        {"ts": "2026-11-21T09:00:00.000Z", "v": 2},
        {
            "event": "heartbeat",
            "seq_first": 4,
            "interval_start": "2026-11-21T09:00:00.000Z",
            "interval_ms": -1,
        },
        {"event": "counters", "interval_start": "2026-11-21T09:00:00.000Z", "interval_ms": 60_000},
    ],
    ids=["no instant", "a newer version", "a heartbeat", "counters without counts"],
)
def test_a_line_that_is_set_aside_hides_no_killed_process(proof, spoilt):
    """Its day may be wrong, so it does not prove that the process ran on after the day."""
    killed = a_boot(ends=False)
    found = proof(*killed, line(4) | spoilt)
    assert [boot["last_ts"] for boot in found.silent] == [killed[-1]["ts"]]
    assert (found.lost_lines, found.missing_intervals) == (0, 0)


def test_a_line_that_is_set_aside_hides_no_missing_beginning(proof):
    lines = a_boot(range(10), MIDNIGHT_MS + 10 * HOUR_MS)
    found = proof(*lines[3:], lines[0] | {"ts": "20"})
    assert (found.headless, found.state) == (1, State.INCOMPLETE)


def test_a_heartbeat_that_is_set_aside_covers_nothing(proof):
    """An interval of three hundred years would cover everything after it."""
    lines = a_boot(range(10), MIDNIGHT_MS + 10 * HOUR_MS)
    lines[5] |= {"interval_ms": 10**13}
    found = proof(*lines)
    assert (found.intervals, found.missing_intervals, found.lost_lines) == (9, 1, 0)
    assert found.unheard[-1]["from_ts"] == "2026-11-20T10:10:00.000Z"


def test_a_lost_line_has_the_times_of_the_usable_lines_around_it(proof):
    lines = a_boot(range(10))
    lines[3] |= {"ts": "yesterday"}
    [gap] = proof(*lines[:4], *lines[5:]).gaps
    assert (gap["seq_first"], gap["after_ts"], gap["before_ts"]) == (4, lines[2]["ts"], lines[5]["ts"])


def lacks_nothing(found):
    """True if nothing is missing of the times at which the proxies were heard."""
    return found.state is not State.INCOMPLETE


def test_a_missing_number_is_a_lost_line(proof):
    lines = a_boot(range(10))
    found = proof(*lines[:4], *lines[6:])
    assert (found.lost_lines, found.missing_intervals) == (2, 2)
    assert "2 lines lost" in found.sentence
    assert "lower bound" in found.sentence


def test_lines_in_any_order_and_twice_are_no_loss(proof):
    lines = a_boot()
    assert lacks_nothing(proof(*reversed(lines), *lines))


def test_a_line_of_friday_numbered_after_one_of_saturday_is_no_loss(proof):
    """A decision has the time at which its batch was judged, and is written when its outcome is known."""
    midnight_ms = MIDNIGHT_MS + DAY_MS
    lines = a_boot(range(1440), MIDNIGHT_MS, ends=False)
    late = [
        line(len(lines), "decision", midnight_ms + 5),
        line(len(lines) + 1, "decision", midnight_ms - 5),
        heartbeat(len(lines) + 2, midnight_ms),
    ]
    assert proof(*lines, *late).is_complete


def test_a_boot_killed_at_noon_is_named(proof):
    found = proof(*a_boot(ends=False))
    assert (len(found.silent), found.lost_lines) == (1, 0)
    assert "1 proxy process stopped reporting" in found.sentence


def test_a_boot_killed_before_its_first_heartbeat_is_named(proof):
    assert proof(*a_boot(range(0), ends=False)).silent != []


def test_a_boot_that_is_alive_now_is_not_called_dead(proof):
    start_ms = MIDNIGHT_MS + 10 * HOUR_MS
    assert lacks_nothing(proof(*a_boot(ends=False), now_ms=start_ms + 4 * MINUTE_MS))


def test_a_day_that_goes_on_is_complete_up_to_the_last_heartbeats_and_no_further(proof):
    """Half a minute after its heartbeat, a process may have been killed, and may have counted more."""
    noon_ms = MIDNIGHT_MS + 12 * HOUR_MS
    runs_on = a_boot(range(720), MIDNIGHT_MS, ends=False)
    found = proof(*runs_on, now_ms=noon_ms + 30_000)
    assert found.state is State.COMPLETE
    assert found.sentence.startswith("Log complete for 00:00 to 12:00 UTC: ")
    killed = a_boot(range(718), MIDNIGHT_MS, ends=False, proxy="px-2", boot="killed")
    assert proof(*runs_on, *killed, now_ms=noon_ms + 30_000).complete_for == "00:00 to 11:58 UTC"
    stopped = a_boot(range(718), MIDNIGHT_MS, proxy="px-2", boot="stopped")
    began = line(0, at_ms=noon_ms + 25_000, kind="start", proxy="px-2", boot="began")
    assert proof(*stopped, began, now_ms=noon_ms + 30_000).complete_for == "00:00 to 11:59:25 UTC"


def test_a_boot_that_goes_on_is_not_called_dead_where_the_log_ends_with_the_day(proof):
    """A table that was written for one day has no line of the next one."""
    lines = a_boot(range(1440), MIDNIGHT_MS, ends=False)
    assert proof(*lines).is_complete
    assert len(proof(*lines[:-1]).silent) == 1


def test_a_boot_killed_in_the_last_interval_of_the_day_is_named(proof):
    """Its last heartbeat ends at 23:59. The batches after that are in no total, whatever lines came later."""
    lines = a_boot(range(1439), MIDNIGHT_MS, ends=False)
    example = line(len(lines), "decision", MIDNIGHT_MS + DAY_MS - 20_000)
    found = proof(*lines, example)
    assert found.state is State.INCOMPLETE
    [boot] = found.silent
    assert (boot["last_ts"], boot["counted_to_ts"]) == (
        "2026-11-20T23:59:40.000Z",
        "2026-11-20T23:59:00.000Z",
    )


def test_a_boot_killed_before_its_first_heartbeat_has_counted_nothing(proof):
    [boot] = proof(*a_boot(range(0), ends=False)).silent
    assert boot["counted_to_ts"] is None


def test_what_came_before_the_first_line_heard_is_unknown_and_no_number(proof):
    """A proxy was up for weeks when the shipping of its log began."""
    lines = a_boot(range(10), MIDNIGHT_MS + 10 * HOUR_MS)
    heard = [each | {"seq": each["seq"] + 8_000_000} for each in lines[1:]]
    found = proof(*heard)
    assert (found.lost_lines, found.gaps, found.headless) == (0, [], 1)
    assert not found.is_complete
    assert "1 proxy process not heard from the beginning" in found.sentence
    assert found.unheard[0]["from_ts"] == "2026-11-20T00:00:00.000Z"
    assert found.unheard[0]["to_ts"] == "2026-11-20T10:00:00.000Z"


def test_a_boot_that_goes_on_after_midnight_covers_the_day_to_its_end(proof):
    lines = a_boot(range(1440), MIDNIGHT_MS, ends=False)
    whole = [*lines, heartbeat(len(lines), MIDNIGHT_MS + DAY_MS)]
    assert proof(*whole).is_complete
    found = proof(*[each for each in whole if each["seq"] < 1400 or each["seq"] == len(lines)])
    assert found.missing_intervals == 41


def test_a_boot_that_began_before_the_day_must_cover_it_from_midnight(proof):
    yesterday_ms = MIDNIGHT_MS - 2 * MINUTE_MS
    lines = a_boot(range(10), yesterday_ms)
    assert lacks_nothing(proof(*lines))
    found = proof(*lines[0:2], *lines[5:])
    assert (found.lost_lines, found.missing_intervals) == (3, 2)


def test_two_proxies_are_proved_one_by_one(proof):
    found = proof(*a_boot(), *a_boot(ends=False, proxy="px-2", boot="c"))
    assert (found.proxies, found.boots, len(found.silent)) == (2, 2, 1)


def test_one_proxy_restarted_is_one_proxy(proof):
    found = proof(*a_boot(), *a_boot(start_ms=MIDNIGHT_MS + 11 * HOUR_MS, boot="c"))
    assert (found.proxies, found.boots) == (1, 2)
    assert lacks_nothing(found)


def test_the_proxys_own_counts_are_passed_on(proof):
    lines = a_boot(range(2))
    lines[1] |= {"decisions_suppressed": 3, "batches_folded": 1, "lines_dropped": 1}
    lines[2] |= {"decisions_suppressed": 4, "lines_dropped": 5}
    found = proof(*lines)
    assert (found.decisions_suppressed, found.batches_folded, found.lines_dropped) == (7, 1, 5)
