"""Each way of losing lines, and the sentences of the report about it.

The log of a test stands before it: one query reads all of them (`many`).
"""

from dataclasses import replace
from datetime import date

import pytest

from spark_reports.log.completeness import State, completeness
from tests.spark_reports.day import DAY_MS, HOUR_MS, MIDNIGHT_MS
from tests.spark_reports.logs import MINUTE_MS, heartbeat, line
from tests.spark_reports.many import Logs

FRIDAY = date(2026, 11, 20)
TEN_MS = MIDNIGHT_MS + 10 * HOUR_MS
NOON_MS = MIDNIGHT_MS + 12 * HOUR_MS
NEXT_MORNING_MS = MIDNIGHT_MS + DAY_MS + 5 * HOUR_MS
LOGS = Logs(FRIDAY)


def a_boot(minutes=range(3), start_ms=TEN_MS, ends=True, **fields):
    """Start, one heartbeat a minute, stop."""
    lines = [line(0, at_ms=start_ms, kind="start", **fields)]
    lines += [heartbeat(n + 1, start_ms + minute * MINUTE_MS, **fields) for n, minute in enumerate(minutes)]
    if ends:
        lines.append(line(len(lines), at_ms=start_ms + len(minutes) * MINUTE_MS, kind="stop", **fields))
    return lines


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("logs")


@pytest.fixture
def proof(spark, folder):
    """The completeness of Friday in one of the logs."""

    def prove(log, now_ms=NEXT_MORNING_MS):
        evidence = replace(LOGS.evidence(spark, folder, log), files=[])
        return completeness(evidence, FRIDAY, FRIDAY, now_ms)

    return prove


WHOLE_DAY = LOGS.add(*a_boot(range(1440), MIDNIGHT_MS))
THREE_MINUTES = LOGS.add(*a_boot())


def test_a_boot_that_covers_the_day_is_complete(proof):
    found = proof(WHOLE_DAY)
    assert (found.state, found.is_complete, found.unheard) == (State.COMPLETE, True, [])
    assert found.sentence == "Log complete: 1,440 of 1,440 minutes from 1 proxy, no line missing."


@pytest.mark.parametrize("now_ms", [NEXT_MORNING_MS, TEN_MS + 3 * MINUTE_MS + 30_000], ids=["", "at once"])
def test_a_log_of_a_part_of_the_day_is_complete_only_for_that_part(proof, now_ms):
    """A report made at once went on to the time at which it was made."""
    found = proof(THREE_MINUTES, now_ms)
    assert (found.state, found.is_complete) == (State.COMPLETE_IN_PART, False)
    assert found.sentence == (
        "Log complete only for 10:00 to 10:03 UTC: 3 of 3 minutes from 1 proxy, no line missing. "
        "Nothing is known of other times."
    )


THREE_PROXIES = [
    *a_boot(range(600), MIDNIGHT_MS, proxy="px-1", boot="1"),
    *a_boot(range(600), MIDNIGHT_MS + 14 * HOUR_MS, proxy="px-1", boot="2"),
    *a_boot(range(300), MIDNIGHT_MS + 15_000, proxy="px-2", boot="3"),
    *a_boot(range(1440), MIDNIGHT_MS, proxy="px-3", boot="4"),
]
HEARD_IN_PARTS = {
    "00:00 to 05:00:15 UTC": LOGS.add(*THREE_PROXIES),
    "00:00 to 10:00 and 14:00 to 24:00 UTC": LOGS.add(
        *[each for each in THREE_PROXIES if each["proxy"] != "px-2"]
    ),
    "the times at which each proxy was heard": LOGS.add(
        *a_boot(range(60), MIDNIGHT_MS, proxy="px-0", boot="0"),
        *a_boot(range(60), MIDNIGHT_MS + 23 * HOUR_MS, proxy="px-9", boot="9"),
    ),
}


@pytest.mark.parametrize(("times", "log"), HEARD_IN_PARTS.items(), ids=HEARD_IN_PARTS)
def test_a_log_is_complete_only_for_the_times_at_which_each_proxy_was_heard(proof, times, log):
    """px-3 has a whole day. Nobody knows if px-1 and px-2 were down, or if some of their logs is missing."""
    assert f"only for {times}: " in proof(log).sentence


RESTARTED = LOGS.add(
    *a_boot(range(720), MIDNIGHT_MS, boot="before"),
    line(0, at_ms=NOON_MS + 30_000, kind="start", boot="short"),
    heartbeat(1, NOON_MS + 30_000, 1_000, boot="short"),
    line(2, at_ms=NOON_MS + 31_000, kind="stop", boot="short"),
    *a_boot(range(718), NOON_MS + 2 * MINUTE_MS, boot="after"),
)


def test_a_restart_of_a_minute_leaves_the_day_complete(proof):
    """A boot of a second shows an interval of a second. Patience is three of the proxy's longest."""
    found = proof(RESTARTED)
    assert (found.state, found.unheard) == (State.COMPLETE, [])


ONE_SECOND = LOGS.add(line(0, at_ms=TEN_MS, kind="start"), heartbeat(1, TEN_MS, 1_000))


def test_a_proxy_of_a_second_is_not_called_silent_after_three(proof):
    assert proof(ONE_SECOND, now_ms=TEN_MS + 100_000).silent == []
    assert len(proof(ONE_SECOND, now_ms=TEN_MS + 200_000).silent) == 1


KILLED = a_boot(ends=False)
SPOILT = {
    "no instant": {"ts": "yesterday"},
    "a newer version": {"ts": "2026-11-21T09:00:00.000Z", "v": 2},
    "a heartbeat": {
        "event": "heartbeat",
        "seq_first": 4,
        "interval_start": "2026-11-21T09:00:00.000Z",
        "interval_ms": -1,
    },
    "counters without counts": {
        "event": "counters",
        "interval_start": "2026-11-21T09:00:00.000Z",
        "interval_ms": 60_000,
    },
}
KILLED_THEN_SPOILT = [LOGS.add(*KILLED, line(4) | spoilt) for spoilt in SPOILT.values()]


@pytest.mark.parametrize("log", KILLED_THEN_SPOILT, ids=SPOILT)
def test_a_line_that_is_set_aside_hides_no_killed_process(proof, log):
    """Its day may be wrong, so it does not prove that the process ran on after the day."""
    found = proof(log)
    assert [boot["last_ts"] for boot in found.silent] == [KILLED[-1]["ts"]]
    assert (found.lost_lines, found.missing_intervals) == (0, 0)


TEN_MINUTES = a_boot(range(10))
WITHOUT_BEGINNING = LOGS.add(*TEN_MINUTES[3:], TEN_MINUTES[0] | {"ts": "20"})


def test_a_line_that_is_set_aside_hides_no_missing_beginning(proof):
    found = proof(WITHOUT_BEGINNING)
    assert (found.headless, found.state) == (1, State.INCOMPLETE)


ABSURD_HEARTBEAT = LOGS.add(*TEN_MINUTES[:5], TEN_MINUTES[5] | {"interval_ms": 10**13}, *TEN_MINUTES[6:])


def test_a_heartbeat_that_is_set_aside_covers_nothing(proof):
    """An interval of three hundred years would cover everything after it."""
    found = proof(ABSURD_HEARTBEAT)
    assert (found.intervals, found.missing_intervals, found.lost_lines) == (9, 1, 0)
    assert found.unheard[-1]["from_ts"] == "2026-11-20T10:10:00.000Z"


GAP_AFTER_SPOILT = LOGS.add(*TEN_MINUTES[:3], TEN_MINUTES[3] | {"ts": "yesterday"}, *TEN_MINUTES[5:])


def test_a_lost_line_has_the_times_of_the_usable_lines_around_it(proof):
    [gap] = proof(GAP_AFTER_SPOILT).gaps
    around = (TEN_MINUTES[2]["ts"], TEN_MINUTES[5]["ts"])
    assert (gap["seq_first"], gap["after_ts"], gap["before_ts"]) == (4, *around)


def lacks_nothing(found):
    """True if nothing is missing of the times at which the proxies were heard."""
    return found.state is not State.INCOMPLETE


TWO_LINES_LOST = LOGS.add(*TEN_MINUTES[:4], *TEN_MINUTES[6:])


def test_a_missing_number_is_a_lost_line(proof):
    found = proof(TWO_LINES_LOST)
    assert (found.lost_lines, found.missing_intervals) == (2, 2)
    assert "2 lines lost" in found.sentence
    assert "lower bound" in found.sentence


IN_DISORDER = LOGS.add(*reversed(a_boot()), *a_boot())


def test_lines_in_any_order_and_twice_are_no_loss(proof):
    assert lacks_nothing(proof(IN_DISORDER))


MIDNIGHT_AFTER_MS = MIDNIGHT_MS + DAY_MS
GOES_ON = a_boot(range(1440), MIDNIGHT_MS, ends=False)
NUMBERED_LATE = LOGS.add(
    *GOES_ON,
    line(len(GOES_ON), "decision", MIDNIGHT_AFTER_MS + 5),
    line(len(GOES_ON) + 1, "decision", MIDNIGHT_AFTER_MS - 5),
    heartbeat(len(GOES_ON) + 2, MIDNIGHT_AFTER_MS),
)


def test_a_line_of_friday_numbered_after_one_of_saturday_is_no_loss(proof):
    """A decision has the time at which its batch was judged, and is written when its outcome is known."""
    assert proof(NUMBERED_LATE).is_complete


KILLED_AT_TEN = LOGS.add(*KILLED)


def test_a_boot_killed_at_noon_is_named(proof):
    found = proof(KILLED_AT_TEN)
    assert (len(found.silent), found.lost_lines) == (1, 0)
    assert "1 proxy process stopped reporting" in found.sentence


def test_a_boot_that_is_alive_now_is_not_called_dead(proof):
    assert lacks_nothing(proof(KILLED_AT_TEN, now_ms=TEN_MS + 4 * MINUTE_MS))


KILLED_AT_ONCE = LOGS.add(*a_boot(range(0), ends=False))


def test_a_boot_killed_before_its_first_heartbeat_is_named_and_has_counted_nothing(proof):
    [boot] = proof(KILLED_AT_ONCE).silent
    assert boot["counted_to_ts"] is None


RUNS_ON = a_boot(range(720), MIDNIGHT_MS, ends=False)
RUNNING = LOGS.add(*RUNS_ON)
BESIDE_A_KILLED_ONE = LOGS.add(
    *RUNS_ON, *a_boot(range(718), MIDNIGHT_MS, ends=False, proxy="px-2", boot="killed")
)
BESIDE_A_NEW_ONE = LOGS.add(
    *RUNS_ON,
    *a_boot(range(718), MIDNIGHT_MS, proxy="px-2", boot="stopped"),
    line(0, at_ms=NOON_MS + 25_000, kind="start", proxy="px-2", boot="began"),
)


def test_a_day_that_goes_on_is_complete_up_to_the_last_heartbeats_and_no_further(proof):
    """Half a minute after its heartbeat, a process may have been killed, and may have counted more."""
    now_ms = NOON_MS + 30_000
    found = proof(RUNNING, now_ms=now_ms)
    assert found.state is State.COMPLETE
    assert found.sentence.startswith("Log complete for 00:00 to 12:00 UTC: ")
    assert proof(BESIDE_A_KILLED_ONE, now_ms=now_ms).complete_for == "00:00 to 11:58 UTC"
    assert proof(BESIDE_A_NEW_ONE, now_ms=now_ms).complete_for == "00:00 to 11:59:25 UTC"


ENDS_WITH_THE_DAY = LOGS.add(*GOES_ON)
ENDS_BEFORE_THE_DAY = LOGS.add(*GOES_ON[:-1])


def test_a_boot_that_goes_on_is_not_called_dead_where_the_log_ends_with_the_day(proof):
    """A table that was written for one day has no line of the next one."""
    assert proof(ENDS_WITH_THE_DAY).is_complete
    assert len(proof(ENDS_BEFORE_THE_DAY).silent) == 1


def test_a_day_whose_last_heartbeats_have_not_come_is_complete_up_to_those_that_have(proof):
    """The report is made a minute after midnight."""
    now_ms = MIDNIGHT_AFTER_MS + MINUTE_MS
    found = proof(ENDS_BEFORE_THE_DAY, now_ms=now_ms)
    assert (found.state, found.silent) == (State.COMPLETE, [])
    assert found.sentence.startswith("Log complete for 00:00 to 23:59 UTC: 1,439 of 1,439 minutes")
    assert proof(ENDS_WITH_THE_DAY, now_ms=now_ms).sentence.startswith("Log complete: 1,440 of")


KILLED_IN_THE_LAST_MINUTE = LOGS.add(
    *GOES_ON[:-1], line(len(GOES_ON) - 1, "decision", MIDNIGHT_AFTER_MS - 20_000)
)


def test_a_boot_killed_in_the_last_interval_of_the_day_is_named(proof):
    """Its last heartbeat ends at 23:59. The batches after that are in no total, whatever lines came later."""
    found = proof(KILLED_IN_THE_LAST_MINUTE)
    assert found.state is State.INCOMPLETE
    [boot] = found.silent
    assert (boot["last_ts"], boot["counted_to_ts"]) == (
        "2026-11-20T23:59:40.000Z",
        "2026-11-20T23:59:00.000Z",
    )


UP_FOR_WEEKS = LOGS.add(*[each | {"seq": each["seq"] + 8_000_000} for each in TEN_MINUTES[1:]])


def test_what_came_before_the_first_line_heard_is_unknown_and_no_number(proof):
    """A proxy was up for weeks when the shipping of its log began."""
    found = proof(UP_FOR_WEEKS)
    assert (found.lost_lines, found.gaps, found.headless) == (0, [], 1)
    assert not found.is_complete
    assert "1 proxy process not heard from the beginning" in found.sentence
    assert found.unheard[0]["from_ts"] == "2026-11-20T00:00:00.000Z"
    assert found.unheard[0]["to_ts"] == "2026-11-20T10:00:00.000Z"


TOMORROW = heartbeat(len(GOES_ON), MIDNIGHT_AFTER_MS)
OVER_MIDNIGHT = LOGS.add(*GOES_ON, TOMORROW)
OVER_MIDNIGHT_WITH_A_GAP = LOGS.add(*GOES_ON[:1400], TOMORROW)


def test_a_boot_that_goes_on_after_midnight_covers_the_day_to_its_end(proof):
    assert proof(OVER_MIDNIGHT).is_complete
    assert proof(OVER_MIDNIGHT_WITH_A_GAP).missing_intervals == 41


FROM_YESTERDAY = a_boot(range(10), MIDNIGHT_MS - 2 * MINUTE_MS)
OVER_THE_MIDNIGHT_BEFORE = LOGS.add(*FROM_YESTERDAY)
WITH_A_GAP_AT_MIDNIGHT = LOGS.add(*FROM_YESTERDAY[0:2], *FROM_YESTERDAY[5:])


def test_a_boot_that_began_before_the_day_must_cover_it_from_midnight(proof):
    assert lacks_nothing(proof(OVER_THE_MIDNIGHT_BEFORE))
    found = proof(WITH_A_GAP_AT_MIDNIGHT)
    assert (found.lost_lines, found.missing_intervals) == (3, 2)


ALL_DAY = a_boot(range(1440), MIDNIGHT_MS)
TWO_MINUTES_BEFORE = a_boot(range(2), MIDNIGHT_MS - 2 * MINUTE_MS, ends=False, proxy="px-2", boot="c")
NOTHING_OF_THE_DAY = LOGS.add(
    *ALL_DAY,
    *TWO_MINUTES_BEFORE,
    heartbeat(1443, MIDNIGHT_AFTER_MS, seq_first=1443, proxy="px-2", boot="c"),
)
WITHOUT_THE_LAST_HOURS_BEFORE = LOGS.add(
    *ALL_DAY,
    heartbeat(1, MIDNIGHT_MS - 5 * HOUR_MS, proxy="px-2", boot="c"),
    heartbeat(2000, MIDNIGHT_AFTER_MS, seq_first=1990, proxy="px-2", boot="c"),
)
CLOCK_OVER_THE_DAY = LOGS.add(
    *ALL_DAY,
    *TWO_MINUTES_BEFORE[:-1],
    heartbeat(2, MIDNIGHT_MS - MINUTE_MS, DAY_MS + MINUTE_MS, seq_first=2, proxy="px-2", boot="c"),
    heartbeat(3, MIDNIGHT_AFTER_MS, seq_first=3, proxy="px-2", boot="c"),
)


def test_a_process_that_is_heard_before_the_day_and_after_it_is_missed_on_the_day(proof):
    """A day of its files is lost. Its numbers show that it ran."""
    found = proof(NOTHING_OF_THE_DAY)
    assert (found.proxies, found.lost_lines, found.missing_intervals) == (2, 1440, 1440)
    [gap] = found.gaps
    assert (gap["seq_first"], gap["seq_last"], gap["after_ts"]) == (3, 1442, "2026-11-20T00:00:00.000Z")
    assert [span["to_ts"] for span in found.unheard] == ["2026-11-21T00:00:00.000Z"]
    found = proof(WITHOUT_THE_LAST_HOURS_BEFORE)
    assert (found.proxies, found.lost_lines, found.state) == (2, 1988, State.INCOMPLETE)
    assert lacks_nothing(proof(CLOCK_OVER_THE_DAY))


BESIDE_IT_KILLED_AT_MIDNIGHT = LOGS.add(*ALL_DAY, *TWO_MINUTES_BEFORE)
BESIDE_IT_STOPPED_BEFORE = LOGS.add(
    *ALL_DAY,
    *TWO_MINUTES_BEFORE,
    line(3, at_ms=MIDNIGHT_MS - 1, kind="stop", proxy="px-2", boot="c"),
)
BESIDE_IT_KILLED_BEFORE = LOGS.add(*ALL_DAY, *TWO_MINUTES_BEFORE[:-1])


def test_a_process_that_is_heard_until_the_day_begins_and_did_not_stop_is_missed(proof):
    """For the day before, it is not silent. If it ended earlier, it is."""
    found = proof(BESIDE_IT_KILLED_AT_MIDNIGHT)
    assert found.state is State.INCOMPLETE
    [boot] = found.silent
    assert (boot["proxy"], boot["counted_to_ts"]) == ("px-2", "2026-11-20T00:00:00.000Z")
    for log in (BESIDE_IT_STOPPED_BEFORE, BESIDE_IT_KILLED_BEFORE):
        assert (proof(log).proxies, proof(log).state) == (1, State.COMPLETE)


EVERY_HOUR = {"interval_ms": HOUR_MS, "proxy": "px-2", "boot": "c"}
BESIDE_ONE_OF_HOURS = LOGS.add(*RUNS_ON[:41], heartbeat(9, MIDNIGHT_MS - HOUR_MS, **EVERY_HOUR))


def test_a_process_whose_first_interval_of_today_goes_on_is_not_missed(proof):
    found = proof(BESIDE_ONE_OF_HOURS, now_ms=MIDNIGHT_MS + 40 * MINUTE_MS)
    assert (found.proxies, found.silent) == (2, [])
    assert found.sentence.startswith("Log complete for no time yet: ")


TWO_PROXIES = LOGS.add(*a_boot(), *a_boot(ends=False, proxy="px-2", boot="c"))


def test_two_proxies_are_proved_one_by_one(proof):
    found = proof(TWO_PROXIES)
    assert (found.proxies, found.boots, len(found.silent)) == (2, 2, 1)


TWO_BOOTS = LOGS.add(*a_boot(), *a_boot(start_ms=MIDNIGHT_MS + 11 * HOUR_MS, boot="c"))


def test_one_proxy_restarted_is_one_proxy(proof):
    found = proof(TWO_BOOTS)
    assert (found.proxies, found.boots) == (1, 2)
    assert lacks_nothing(found)


START, FIRST, SECOND, STOP = a_boot(range(2))
DROPPED = LOGS.add(
    START,
    FIRST | {"decisions_suppressed": 3, "batches_folded": 1, "lines_dropped": 1},
    SECOND | {"decisions_suppressed": 4, "lines_dropped": 5},
    STOP,
)


DROPPED_BEFORE = LOGS.add(
    heartbeat(8, MIDNIGHT_MS - MINUTE_MS, lines_dropped=5, decisions_suppressed=3, batches_folded=2),
    heartbeat(9, MIDNIGHT_MS, lines_dropped=5, decisions_suppressed=4),
    heartbeat(10, MIDNIGHT_MS + MINUTE_MS, lines_dropped=7),
)


def test_the_proxys_own_counts_are_those_of_the_day(proof):
    """A heartbeat counts the lines that were dropped since its process began."""
    for log, expected in ((DROPPED, (7, 1, 5)), (DROPPED_BEFORE, (4, 0, 2))):
        found = proof(log)
        assert (found.decisions_suppressed, found.batches_folded, found.lines_dropped) == expected
