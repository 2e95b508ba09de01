"""Numbers, times and causes as text."""

import pytest

from spark_reports.report import producers, words
from tests.spark_reports.day import DAY_MS, FRIDAY, HOUR_MS, MIDNIGHT_MS
from tsproxy.decisions.drift import drift_ms
from tsproxy.decisions.fields import FIELDS
from tsproxy.model.verdict import Reason

SECOND_MS = 1_000
YEAR_MS = 31_556_952_000


@pytest.mark.parametrize(
    ("magnitude_ms", "text"),
    [
        (0, "0 ms"),
        (1, "1 ms"),
        (999, "999 ms"),
        (SECOND_MS, "1 s"),
        (1_500, "1 s 500 ms"),
        (15_486, "15 s"),
        (61_000, "1 min 1 s"),
        (2 * HOUR_MS + 60_000, "2 h 1 min"),
        (23 * HOUR_MS, "23 h"),
        (DAY_MS, "1 d"),
        (9 * DAY_MS + HOUR_MS, "9 d 1 h"),
        (365 * DAY_MS, "365 d"),
        (2 * YEAR_MS, "2.0 y"),
        (int(56.89 * YEAR_MS), "56.9 y"),
        (56_889 * YEAR_MS, "56,889 y"),
        (56_889_033 * YEAR_MS, "56.9 million y"),
        (2**63 - 1, "292 million y"),
    ],
)
def test_durations_show_two_units_at_most(magnitude_ms, text):
    assert words.duration(magnitude_ms) == text


@pytest.mark.parametrize(
    ("timestamp_ms", "text"),
    [
        (MIDNIGHT_MS, "on time"),
        (MIDNIGHT_MS + 2 * HOUR_MS, "2 h ahead"),
        (MIDNIGHT_MS - 9 * DAY_MS, "9 d behind"),
        (MIDNIGHT_MS // 1000, "56.8 y behind, in 1970"),
        (MIDNIGHT_MS * 1000, "year 58,855"),
        (MIDNIGHT_MS * 1_000_000, "year 56,887,463"),
        (2**63 - 1, "year 292,278,994"),
        (-(2**63), "292 million y behind"),
    ],
)
def test_drifts_are_durations_until_only_a_year_makes_sense(timestamp_ms, text):
    assert words.drift(drift_ms(timestamp_ms, MIDNIGHT_MS), MIDNIGHT_MS) == text


@pytest.mark.parametrize(
    ("low_ms", "high_ms", "text"),
    [
        (None, None, "–"),
        (HOUR_MS, HOUR_MS, "1 h ahead"),
        (-9 * DAY_MS, -9 * DAY_MS + HOUR_MS, "9 d behind"),
        (-DAY_MS, -SECOND_MS, "1 s to 1 d behind"),
        (SECOND_MS, HOUR_MS, "1 s to 1 h ahead"),
        (-SECOND_MS, 2 * SECOND_MS, "1 s behind to 2 s ahead"),
        (HOUR_MS, MIDNIGHT_MS * 1000, "1 h ahead to year 58,912"),
    ],
)
def test_a_range_of_drifts_is_as_short_as_it_can_be(low_ms, high_ms, text):
    assert words.drift_range(low_ms, high_ms, MIDNIGHT_MS) == text


@pytest.mark.parametrize(
    ("reason", "low_ms", "high_ms", "text"),
    [
        ("too_far_ahead", -3 * DAY_MS, 400 * DAY_MS, "up to 400 d ahead"),
        ("too_old", -9 * DAY_MS, HOUR_MS, "up to 9 d behind"),
        ("negative", -9 * DAY_MS, HOUR_MS, "up to 9 d behind"),
        ("too_far_ahead", HOUR_MS, DAY_MS, "1 h to 1 d ahead"),
        ("jump_ahead", -DAY_MS, HOUR_MS, "1 d behind to 1 h ahead"),
        ("other", -100, 5, "–"),  # MESSAGE_TOO_LARGE and the like have nothing to do with the clock
        ("bad_record", -2_000, -1_900, "–"),
        ("too_far_ahead", 19_790_000, 19_810_000, "always 5.5 h ahead: a time zone?"),
        (None, -DAY_MS, HOUR_MS, "–"),
        ("missing", None, None, "–"),
    ],
)
def test_the_range_of_rejected_records_is_that_of_the_side_that_was_rejected(reason, low_ms, high_ms, text):
    """A batch with records too far ahead may hold old ones, too."""
    why = {"reason": reason, "drift_min_ms": low_ms, "drift_max_ms": high_ms}
    assert words.rejected_range(why, MIDNIGHT_MS) == text


@pytest.mark.parametrize(
    ("time_ms", "read_as_ts", "text"),
    [
        (1_733_747_124_040, None, ", that is 2024-12-09 12:25:24 UTC"),
        (1_795_211_960, "2026-11-20T21:59:20.000Z", ", which reads as 2026-11-20 21:59:20 UTC"),
        (0, None, ", that is 1970-01-01, the zero time of Unix"),
        (-1, None, ", no timestamp"),
        (-2, None, ", before 1970"),
        (2**63 - 2, None, ", in the year 292,278,994"),
        (2**63 - 1, None, ", that is the largest Long of Java"),
        (-(2**63), None, ", that is the smallest Long of Java"),
        (-62_135_596_800_000, None, ", that is 0001-01-01, the zero time of Go and .NET"),
    ],
)
def test_a_raw_timestamp_stands_with_its_date(time_ms, read_as_ts, text):
    assert words.timestamp(time_ms, read_as_ts) == text


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (0, 100, "0%"),
        (0, 0, "0%"),
        (1, 10**6, "<0.1%"),
        (17, 1000, "1.7%"),
        (17, 100, "17%"),
        (996, 1000, "99.6%"),
        (999_999, 10**6, ">99.9%"),
        (5, 5, "100%"),
    ],
)
def test_a_share_never_rounds_something_to_nothing_or_nearly_all_to_all(part, whole, text):
    assert words.share(part, whole) == text


def test_a_name_is_cut_in_the_middle_for_instances_differ_at_its_end():
    names = [f"orders-app-{'0' * 60}-StreamThread-{n}" for n in (1, 2)]
    assert len({words.short(name, 60) for name in names}) == 2
    assert words.short("abcdefghij", 5) == "ab…ij"
    assert [len(words.short(names[0], limit)) for limit in (5, 60, 81)] == [5, 60, 81]


def test_a_number_between_two_bounds_is_one_number_where_they_are_the_same():
    assert words.between(80, 120, 2_120) == "80 to 120 (3.8% to 5.7%)"
    assert words.between(80, 80, 2_120) == "80 (3.8%)"


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_its_advice_and_its_word(reason):
    assert words.advice(reason, None, 32).fix
    assert words.REASON_WORDS[reason]


@pytest.mark.parametrize(
    ("why", "cause"),
    [
        (("too_far_ahead", "nanoseconds", 32), "timestamps are in nanoseconds"),
        # Brokers have no such reason: they call it too old (`LogValidator.java`).
        (("too_old", None, 32, -5), "timestamps are before 1970"),
        (("too_old", None, 32, 5), "timestamps are older than the limit"),
        (("too_old", "seconds", 32, 5), "timestamps are in seconds"),
        (("other", None, 22), "the answer was ILLEGAL_GENERATION (22)"),
        (("other", None, 9_999), "the answer was error 9999"),
        (("bad_record", None, 10), "batches are larger than the topic allows"),
    ],
)
def test_a_cause_is_in_words(why, cause):
    assert words.advice(*why).cause == cause


def test_reasons_and_units_are_those_of_the_decision_log():
    choices = {field.name: set(field.choices) for field in FIELDS if field.choices}
    assert set(words.REASON_WORDS) == choices["reason"]
    assert set(words.UNIT_ADVICE) == choices["unit_guess"]


def test_limits_are_shown_with_the_time_of_each_change():
    limit = {"topic": "t", "timestamp_type": "CreateTime", "before_max_ms": None, "after_max_ms": HOUR_MS}
    changed = limit | {"timestamp_type": "LogAppendTime", "first_ts": "2026-11-20T14:02:00.000Z"}
    text = words.limits_by_topic([limit | {"first_ts": "2026-11-20T00:00:00.000Z"}, changed])
    assert text == {"t": ["unlimited / 1 h", "broker's time from 14:02"]}


def test_a_producer_is_named_with_its_principal_and_without_a_name_is_called_something():
    rows = [(None, "User:a"), ("", None), ("app", None)]
    named = [words.producer({"client_id": name, "principal": principal}) for name, principal in rows]
    assert named == ["(no client id) (User:a)", "(empty client id)", "app"]


@pytest.mark.parametrize(
    ("by_topic", "by_rule", "platform"),
    [
        (True, False, words.TOPIC_REMEDY),
        (False, True, words.RULE_REMEDY),
        (True, True, f"{words.RULE_REMEDY}; {words.TOPIC_REMEDY}"),
    ],
)
def test_the_advice_for_old_records_follows_the_source_of_the_limit_and_its_reader(
    by_topic, by_rule, platform
):
    """The topic's limit changes nothing if a rule rejects, and the producer's owner may not change topics."""
    found = words.advice("too_old", None, 32, by_topic=by_topic, by_rule=by_rule)
    assert found.fix == "a replay or backfill? ask for a waiver, or send no timestamp"
    assert found.platform == platform


def test_a_waiver_that_lets_records_pass_is_not_to_be_asked_for():
    found = words.advice_if_counted("too_old", None, waiver="backfill")
    assert found.fix == "nothing, if the replay is done before the waiver ends"
    assert "waiver" in words.advice_if_counted("too_old", None).fix


def test_records_far_behind_the_clock_are_not_put_down_to_the_topics_limit():
    for is_far, cause in ((True, "are far behind the clock"), (False, "are older than the limit")):
        found = words.advice_if_counted("too_old", None, is_far_behind=is_far)
        assert found.cause == f"timestamps {cause}"


def test_no_owner_of_a_producer_is_told_to_change_a_topic():
    for each in [*words.REASON_ADVICE.values(), *words.ERROR_ADVICE.values(), *words.UNIT_ADVICE.values()]:
        assert "max." not in each.fix


@pytest.mark.parametrize(
    ("week", "first", "text"),
    [
        ([], None, "10:30"),  # without a rollup
        ([None] * 7 + [5], "2026-11-20", "10:30"),  # nothing is known of the days before
        ([None, 0, None, 0, 0, 0, 0, 5], "2026-11-20", "10:30, new (5 of 7 days known)"),
        ([0] * 7 + [5], "2026-11-20", "10:30, new"),
        ([0, 0, 3, 0, 0, 0, 0, 5], "2026-11-20", "10:30"),
        ([0, 0, 0, 1, 2, 3, 4, 5], "2026-11-16", "16 Nov (5 d)"),
        ([0, 0, 0, 1, None, 3, 4, 5], "2026-11-16", "16 Nov (4 d)"),
        ([9, 1, 1, 1, 1, 1, 1, 5], "2026-11-13", "13 Nov (8+ d)"),
        ([None] * 5 + [3, 4, 5], "2026-11-18", "18 Nov (3+ d)"),
        ([9, 0, 0, 0, 0, 0, 4, 5], "2026-11-19", "19 Nov (2 d)"),
    ],
)
def test_since_is_the_first_day_of_the_rejections_without_a_break(week, first, text):
    """It was once the time of day, of a producer that was rejected on each of eight days."""
    report = {"first_day": "2026-11-20", "last_day": "2026-11-20"}
    producer = {"first_ts": "2026-11-20T10:30:00.000Z", "week": week, "since": first}
    assert words.since(report, producer) == text
    own = [{"day": f"2026-11-{13 + n}", "rejected_records": each} for n, each in enumerate(week) if each]
    known = [{"day": f"2026-11-{13 + n}"} for n, each in enumerate(week) if each is not None]
    assert producers.week_of(known, own, FRIDAY) == week
    assert producers.since_of(week, FRIDAY) == first


@pytest.mark.parametrize(
    ("reasons", "is_relay"),
    [
        ([("too_old", "seconds"), ("too_far_ahead", "late")], True),
        ([("too_old", "seconds"), ("too_far_ahead", "seconds")], False),
        ([("too_old", "seconds"), ("other", "batches are larger")], False),
    ],
)
def test_a_client_with_several_mistakes_gets_the_way_to_its_devices(reasons, is_relay):
    counts = {"records": 420, "rejected_records": 20, "collateral_records": 0, "bad_records": 20}
    why = [{"reason": reason, "cause": cause} for reason, cause in reasons]
    assert ("its key or value names the device" in words.good_and_bad(counts | {"reasons": why})) is is_relay
