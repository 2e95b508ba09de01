"""Each way of losing lines, and the sentences of the report about it: one query reads all logs (`many`)."""

from dataclasses import replace

import pytest

from spark_reports.log.completeness import State, quality
from tests.spark_reports.day import DAY_MS, HOUR_MS, MIDNIGHT_MS
from tests.spark_reports.logs import MINUTE_MS, heartbeat, line
from tests.spark_reports.many import FRIDAY, LOGS

TEN_MS = MIDNIGHT_MS + 10 * HOUR_MS
NOON_MS = MIDNIGHT_MS + 12 * HOUR_MS
NEXT_MS = MIDNIGHT_MS + DAY_MS
COMPLETE, IN_PART, INCOMPLETE = State.COMPLETE, State.COMPLETE_IN_PART, State.INCOMPLETE
MIDNIGHT, NEXT = "2026-11-20T00:00:00.000Z", "2026-11-21T00:00:00.000Z"
LISTS = {
    "silent": lambda boot: boot["proxy"],
    "last": lambda boot: boot["last_ts"],
    "counted_to": lambda boot: boot["counted_to_ts"],
    "unheard": lambda span: (span["from_ts"], span["to_ts"]),
    "gaps": lambda gap: (gap["seq_first"], gap["seq_last"], gap["after_ts"], gap["before_ts"]),
}
"""A row has this of each member of a list."""
CASES = {}


def case(name, lines, facts, *says, now_ms=NEXT_MS + 5 * HOUR_MS):
    """A row: the proof of the log of these lines has these facts, and its sentence these texts."""
    CASES[name] = (LOGS.add(*lines), now_ms, says, facts)


def a_boot(minutes=range(3), start_ms=TEN_MS, ends=True, **fields):
    """Start, one heartbeat a minute, stop."""
    lines = [line(0, at_ms=start_ms, kind="start", **fields)]
    lines += [heartbeat(n + 1, start_ms + minute * MINUTE_MS, **fields) for n, minute in enumerate(minutes)]
    if ends:
        lines.append(line(len(lines), at_ms=start_ms + len(minutes) * MINUTE_MS, kind="stop", **fields))
    return lines


ALL_DAY = a_boot(range(1440), MIDNIGHT_MS)
case(
    "a boot that covers the day is complete",
    ALL_DAY,
    {"state": COMPLETE, "is_complete": True, "unheard": []},
    "Log complete: 1,440 of 1,440 minutes from 1 proxy, no line missing.",
)
# A report made at once went on to the time at which it was made.
for when, made_ms in (("", NEXT_MS + HOUR_MS), (", at once", TEN_MS + 3 * MINUTE_MS + 30_000)):
    case(
        f"a log of a part of the day is complete only for that part{when}",
        a_boot(),
        {"state": IN_PART, "is_complete": False},
        "Log complete only for 10:00 to 10:03 UTC: 3 of 3 minutes from 1 proxy, no line missing. "
        "Nothing is known of other times.",
        now_ms=made_ms,
    )

# px-3 has a whole day. Nobody knows if px-1 and px-2 were down, or if some of their logs is missing.
TWO_PROXIES = [
    *a_boot(range(600), MIDNIGHT_MS, proxy="px-1", boot="1"),
    *a_boot(range(600), MIDNIGHT_MS + 14 * HOUR_MS, proxy="px-1", boot="2"),
    *a_boot(range(1440), MIDNIGHT_MS, proxy="px-3", boot="4"),
]
THIRD = a_boot(range(300), MIDNIGHT_MS + 15_000, proxy="px-2", boot="3")
FIRST_HOUR = a_boot(range(60), MIDNIGHT_MS, proxy="px-0", boot="0")
LAST_HOUR = a_boot(range(60), MIDNIGHT_MS + 23 * HOUR_MS, proxy="px-9", boot="9")
case("times of three proxies", [*TWO_PROXIES, *THIRD], {}, "only for 00:00 to 05:00:15 UTC: ")
case("times of two proxies", TWO_PROXIES, {}, "only for 00:00 to 10:00 and 14:00 to 24:00 UTC: ")
case("no time of all", FIRST_HOUR + LAST_HOUR, {}, "only for the times at which each proxy was heard: ")

# A boot of a second shows an interval of a second. Patience is three of the proxy's longest.
SHORT = {"boot": "short"}
RESTARTED = [
    *a_boot(range(720), MIDNIGHT_MS, boot="before"),
    line(0, at_ms=NOON_MS + 30_000, kind="start", **SHORT),
    heartbeat(1, NOON_MS + 30_000, 1_000, **SHORT),
    line(2, at_ms=NOON_MS + 31_000, kind="stop", **SHORT),
    *a_boot(range(718), NOON_MS + 2 * MINUTE_MS, boot="after"),
]
OF_A_SECOND = [line(0, at_ms=TEN_MS, kind="start"), heartbeat(1, TEN_MS, 1_000)]
case("a restart of a minute leaves the day complete", RESTARTED, {"state": COMPLETE, "unheard": []})
case(
    "a proxy of a second is not called silent after three",
    OF_A_SECOND,
    {"silent": []},
    now_ms=TEN_MS + 100_000,
)
case("a proxy of a second is called silent later", OF_A_SECOND, {"silent": ["px"]}, now_ms=TEN_MS + 200_000)

# The day of a line that is set aside may be wrong, so it does not prove that the process ran on.
KILLED = a_boot(ends=False)
NEXT_NINE = "2026-11-21T09:00:00.000Z"
for what, spoilt in {
    "no instant": {"ts": "yesterday"},
    "a newer version": {"ts": NEXT_NINE, "v": 2},
    "a heartbeat": {"event": "heartbeat", "seq_first": 4, "interval_start": NEXT_NINE, "interval_ms": -1},
    "counters without counts": {"event": "counters", "interval_start": NEXT_NINE, "interval_ms": 60_000},
}.items():
    case(
        f"a line that is set aside hides no killed process: {what}",
        [*KILLED, line(4) | spoilt],
        {"last": [KILLED[-1]["ts"]], "lost_lines": 0, "missing_intervals": 0},
    )
TEN = a_boot(range(10))
HEADLESS = [*TEN[3:], TEN[0] | {"ts": "20"}]
case(
    "a line that is set aside hides no missing beginning",
    HEADLESS,
    {"state": INCOMPLETE},
    "1 proxy process not heard from the beginning",
)
case(
    "a heartbeat that is set aside covers nothing, and none of the three hundred years that it claims",
    [*TEN[:5], TEN[5] | {"interval_ms": 10**13}, *TEN[6:]],
    {
        "intervals": 9,
        "missing_intervals": 1,
        "lost_lines": 0,
        "unheard": [(MIDNIGHT, "2026-11-20T10:00:00.000Z"), ("2026-11-20T10:10:00.000Z", NEXT)],
    },
)
case(
    "a lost line has the times of the usable lines around it",
    [*TEN[:3], TEN[3] | {"ts": "yesterday"}, *TEN[5:]],
    {"gaps": [(4, 4, TEN[2]["ts"], TEN[5]["ts"])]},
)
LOST = {"lost_lines": 2, "missing_intervals": 2}
case("a missing number is a lost line", [*TEN[:4], *TEN[6:]], LOST, "2 lines lost", "lower bound")
case("lines in any order and twice are no loss", [*reversed(a_boot()), *a_boot()], {"state": IN_PART})

# A decision has the time at which its batch was judged, and is written when its outcome is known.
GOES_ON = a_boot(range(1440), MIDNIGHT_MS, ends=False)
NUMBERED_LATE = [
    *GOES_ON,
    line(len(GOES_ON), "decision", NEXT_MS + 5),
    line(len(GOES_ON) + 1, "decision", NEXT_MS - 5),
    heartbeat(len(GOES_ON) + 2, NEXT_MS),
]
case("a line of Friday numbered after one of Saturday is no loss", NUMBERED_LATE, {"is_complete": True})

case(
    "a killed boot is named", KILLED, {"silent": ["px"], "lost_lines": 0}, "1 proxy process stopped reporting"
)
case("a boot that is alive now is not called dead", KILLED, {"state": IN_PART}, now_ms=TEN_MS + 4 * MINUTE_MS)
case("a boot killed before its first heartbeat has counted nothing", KILLED[:1], {"counted_to": [None]})

# Half a minute after its heartbeat, a process may have been killed, and may have counted more.
OTHER = {"proxy": "px-2", "boot": "c"}
UNTIL_NOON = a_boot(range(720), MIDNIGHT_MS, ends=False)
KILLED_BESIDE = [*UNTIL_NOON, *a_boot(range(718), MIDNIGHT_MS, ends=False, **OTHER)]
BEGAN = line(0, at_ms=NOON_MS + 25_000, kind="start", proxy="px-2", boot="began")
NEW_BESIDE = [*UNTIL_NOON, *a_boot(range(718), MIDNIGHT_MS, **OTHER), BEGAN]
for name, lines, says, facts in (
    ("a day that goes on", UNTIL_NOON, ["Log complete for 00:00 to 12:00 UTC: "], {"state": COMPLETE}),
    ("beside one that was killed", KILLED_BESIDE, ["Log complete for 00:00 to 11:58 UTC: "], {}),
    ("beside one that began", NEW_BESIDE, ["Log complete for 00:00 to 11:59:25 UTC: "], {}),
):
    case(f"{name} is complete up to the last heartbeats", lines, facts, *says, now_ms=NOON_MS + 30_000)

# A table that was written for one day has no line of the next one.
case("a boot is not called dead where the log ends with the day", GOES_ON, {"is_complete": True})
case("a boot is called dead where it ends a minute earlier", GOES_ON[:-1], {"silent": ["px"]})
WITHOUT_THE_LAST = "Log complete for 00:00 to 23:59 UTC: 1,439 of 1,439 minutes"
MADE, MADE_MS = {"state": COMPLETE, "silent": []}, NEXT_MS + MINUTE_MS
case(
    "a minute after midnight, the last heartbeat has not come",
    GOES_ON[:-1],
    MADE,
    WITHOUT_THE_LAST,
    now_ms=MADE_MS,
)
case("a minute after midnight, it has come", GOES_ON, MADE, "Log complete: 1,440 of", now_ms=MADE_MS)
case(
    "a boot killed in the last minute is named, since later batches are in no total",
    [*GOES_ON[:-1], line(len(GOES_ON) - 1, "decision", NEXT_MS - 20_000)],
    {"state": INCOMPLETE, "last": ["2026-11-20T23:59:40.000Z"], "counted_to": ["2026-11-20T23:59:00.000Z"]},
)
case(
    "a proxy was up for weeks when its log was first shipped: what it wrote before is unknown, and no number",
    [beat | {"seq": beat["seq"] + 8_000_000} for beat in TEN[1:]],
    {
        "lost_lines": 0,
        "gaps": [],
        "is_complete": False,
        "unheard": [(MIDNIGHT, "2026-11-20T10:00:00.000Z"), ("2026-11-20T10:10:00.000Z", NEXT)],
    },
    "1 proxy process not heard from the beginning",
)
TOMORROW = heartbeat(len(GOES_ON), NEXT_MS)
case("a boot that goes on after midnight covers the day", [*GOES_ON, TOMORROW], {"is_complete": True})
case("a boot with a gap before midnight does not", [*GOES_ON[:1400], TOMORROW], {"missing_intervals": 41})
YESTERDAY = a_boot(range(10), MIDNIGHT_MS - 2 * MINUTE_MS)
WITH_A_GAP = [*YESTERDAY[:2], *YESTERDAY[5:]]
case("a boot that began before the day covers it from midnight", YESTERDAY, {"state": IN_PART})
case("a boot with a gap at midnight does not", WITH_A_GAP, {"lost_lines": 3, "missing_intervals": 2})

# A day of its files is lost. Its numbers show that it ran.
BEFORE = a_boot(range(2), MIDNIGHT_MS - 2 * MINUTE_MS, ends=False, **OTHER)
case(
    "a process that is heard before the day and after it is missed on the day",
    [*ALL_DAY, *BEFORE, heartbeat(1443, NEXT_MS, seq_first=1443, **OTHER)],
    {
        "proxies": 2,
        "lost_lines": 1440,
        "missing_intervals": 1440,
        "unheard": [(MIDNIGHT, NEXT)],
        "gaps": [(3, 1442, MIDNIGHT, "2026-11-21T00:01:00.000Z")],
    },
)
HOURS_BEFORE = heartbeat(1, MIDNIGHT_MS - 5 * HOUR_MS, **OTHER)
case(
    "a process that was heard five hours before the day and after it is missed",
    [*ALL_DAY, HOURS_BEFORE, heartbeat(2000, NEXT_MS, seq_first=1990, **OTHER)],
    {"proxies": 2, "lost_lines": 1988, "state": INCOMPLETE},
)
OVER_THE_DAY = heartbeat(2, MIDNIGHT_MS - MINUTE_MS, DAY_MS + MINUTE_MS, seq_first=2, **OTHER)
case(
    "a process whose clock went over the day lacks nothing",
    [*ALL_DAY, *BEFORE[:-1], OVER_THE_DAY, heartbeat(3, NEXT_MS, seq_first=3, **OTHER)],
    {"state": COMPLETE},
)

# For the day before, it is not silent. If it ended earlier, it is.
STOPPED = line(3, at_ms=MIDNIGHT_MS - 1, kind="stop", **OTHER)
BESIDE = {"state": INCOMPLETE, "silent": ["px-2"], "counted_to": [MIDNIGHT]}
case("a process that is heard until the day begins and did not stop is missed", ALL_DAY + BEFORE, BESIDE)
case("a process that stopped before is not", [*ALL_DAY, *BEFORE, STOPPED], {"proxies": 1, "state": COMPLETE})
case("a process that was killed before is not", ALL_DAY + BEFORE[:-1], {"proxies": 1, "state": COMPLETE})
case(
    "a process whose first interval of today goes on is not missed",
    [*UNTIL_NOON[:41], heartbeat(9, MIDNIGHT_MS - HOUR_MS, interval_ms=HOUR_MS, **OTHER)],
    {"proxies": 2, "silent": []},
    "Log complete for no time yet: ",
    now_ms=MIDNIGHT_MS + 40 * MINUTE_MS,
)
TWO = [*a_boot(), *a_boot(ends=False, **OTHER)]
AGAIN = [*a_boot(), *a_boot(start_ms=MIDNIGHT_MS + 11 * HOUR_MS, boot="c")]
case("two proxies are proved one by one", TWO, {"proxies": 2, "boots": 2, "silent": ["px-2"]})
case("one proxy restarted is one proxy", AGAIN, {"proxies": 1, "boots": 2, "state": IN_PART})

# A heartbeat counts the lines that were dropped since its process began.
START, FIRST, SECOND, STOP = a_boot(range(2))
case(
    "the proxy's counts are added up",
    [
        *(START, STOP),
        FIRST | {"decisions_suppressed": 3, "batches_folded": 1, "lines_dropped": 1},
        SECOND | {"decisions_suppressed": 4, "lines_dropped": 5},
    ],
    {"decisions_suppressed": 7, "batches_folded": 1, "lines_dropped": 5},
)
case(
    "the proxy's counts are those of the day",
    [
        heartbeat(8, MIDNIGHT_MS - MINUTE_MS, lines_dropped=5, decisions_suppressed=3, batches_folded=2),
        heartbeat(9, MIDNIGHT_MS, lines_dropped=5, decisions_suppressed=4),
        heartbeat(10, MIDNIGHT_MS + MINUTE_MS, lines_dropped=7),
    ],
    {"decisions_suppressed": 4, "batches_folded": 0, "lines_dropped": 2},
)


@pytest.mark.parametrize("name", CASES)
def test_the_proof_of_a_log_says_what_is_missing_and_nothing_else(spark, tmp_path_factory, name):
    log, now_ms, says, facts = CASES[name]
    evidence = LOGS.evidence(spark, tmp_path_factory, log)
    proof = quality(replace(evidence, files=[]), FRIDAY, FRIDAY, now_ms)
    for text in says:
        assert text in proof["sentence"]
    for fact, value in facts.items():
        known = proof["silent" if fact in ("last", "counted_to") else fact]
        assert ([*map(LISTS[fact], known)] if fact in LISTS else known) == value, (fact, proof)
