"""Days before those of a run that are written again, because lines of them came late or no run wrote them."""

import shutil
from datetime import timedelta

import pytest

from spark_reports.log import late_days
from spark_reports.log.compact import compact
from spark_reports.log.read import Source
from spark_reports.log.store import Table
from tests.full_only import variations
from tests.spark_reports.day import DAY_MS, FRIDAY, MIDNIGHT_MS, MINUTE_MS
from tests.spark_reports.logs import counters, heartbeat, write

ONE_DAY = timedelta(days=1)
NAME = "decisions-{:%Y%m%d}T{}Z-{}.jsonl".format


def at_ms(day):
    return MIDNIGHT_MS + (day - FRIDAY).days * DAY_MS


@pytest.fixture
def written(spark, tmp_path):
    """Writes a day, or the days from `first` on, to the table, and then the days before them that are to be
    written: these days."""
    table = Table(str(tmp_path / "table"))

    def write_day(inputs, day, left_over=(), *, first=None):
        source = Source([str(inputs)], first or day, day)
        done = compact(spark, source, table)
        late = sorted(late_days.days(spark, source, table, done.lines_before, left_over))
        for other in late:
            compact(spark, Source([str(inputs)], other, other), table)
        return late

    return write_day


def kept(spark, tmp_path, boot):
    stored = spark.read.parquet(str(tmp_path / "table")).where(f"boot = '{boot}'").collect()
    return sorted(row["seq"] for row in stored)


def test_days_that_no_run_wrote_are_made_up_for(spark, written, tmp_path):
    """A machine was off for four days. The first run makes up for no day before its own."""
    for number in range(-1, 7):
        day = FRIDAY + number * ONE_DAY
        write(tmp_path / "in" / NAME(day, "000000", "a"), counters(number + 1, at_ms(day)))
    assert written(tmp_path / "in", FRIDAY) == []
    last = FRIDAY + 5 * ONE_DAY
    assert written(tmp_path / "in", last) == [FRIDAY + n * ONE_DAY for n in range(1, 5)]
    missing = [FRIDAY + 2 * ONE_DAY, last - 2 * ONE_DAY]  # a killed run had not come to them
    for day in missing:
        shutil.rmtree(tmp_path / "table" / f"event_date={day}")
    assert written(tmp_path / "in", last) == missing
    assert kept(spark, tmp_path, "b") == [*range(1, 7)]


def test_a_late_file_is_found_though_its_lines_of_the_next_day_are_in_the_table(spark, written, tmp_path):
    """A file of Friday's was delivered twice, and the copy is deleted. Fewer lines come late, in a file with
    lines of both days: their number alone shows nothing."""
    folder = tmp_path / "in"
    for place in (folder, folder / "again"):
        write(place / NAME(FRIDAY, "000000", "a"), counters(0), heartbeat(1))
    assert written(folder, FRIDAY) == []
    (folder / "again" / NAME(FRIDAY, "000000", "a")).unlink()
    own = {"proxy": "qx", "boot": "q"}
    late = [counters(0, **own), heartbeat(1, at_ms(FRIDAY + ONE_DAY), **own)]
    write(folder / NAME(FRIDAY, "230000", "q"), *late)
    assert written(folder, FRIDAY + ONE_DAY) == [FRIDAY]
    assert kept(spark, tmp_path, "q") == [0, 1]


def test_lines_of_the_day_before_in_files_of_the_day_are_found_by_their_number(spark, written, tmp_path):
    """A proxy wrote the last counters of Friday hours later, to a file that it had opened on Saturday."""
    saturday = FRIDAY + ONE_DAY
    write(tmp_path / "in" / NAME(FRIDAY, "000000", "a"), counters(0, boot="a"))
    assert written(tmp_path / "in", FRIDAY) == []
    late = [counters(1, boot="a"), counters(2, at_ms(saturday), boot="a")]
    write(tmp_path / "in" / NAME(saturday, "030000", "a"), *late)
    assert written(tmp_path / "in", saturday) == [FRIDAY]
    assert kept(spark, tmp_path, "a") == [0, 1, 2]
    assert written(tmp_path / "in", saturday) == []


FORMS = {
    "folders": (NAME, "{date}"),
    "globs": (NAME, "{date}/px/*.jsonl"),
    "one glob": (NAME, "*/px/*.jsonl"),
    "names without a day": ("{1}{2}.jsonl".format, "{date}/*/*.jsonl"),
}


@pytest.mark.parametrize(
    "form",
    variations(
        "globs by day are those of names without a day, and other tests have inputs without {date}",
        FORMS,
        but=["folders", "names without a day"],
    ),
)
def test_files_that_come_days_late_lie_in_the_folder_of_their_day(spark, written, tmp_path, form):
    """A shipper was down. Its files hold lines of the day on which they were opened, and of the next."""
    name, inputs = FORMS[form]
    days = [FRIDAY - number * ONE_DAY for number in (5, 4, 3, 0)]
    for number, day in enumerate(days):
        folder = tmp_path / str(day) / "px"
        write(folder / name(day, "000000", "a"), heartbeat(number, at_ms(day), boot="b0"))
    inputs = tmp_path / inputs
    assert written(inputs, days[2], first=days[0]) == []
    late = [counters(0, at_ms(days[1]), boot="b9"), counters(1, at_ms(days[2]), boot="b9")]
    write(tmp_path / str(days[1]) / "px" / name(days[1], "230000", "b"), *late)
    assert written(inputs, FRIDAY) == days[1:3]
    assert kept(spark, tmp_path, "b9") == [0, 1]


@pytest.mark.parametrize(
    ("name", "inputs", "nights"),
    [(NAME, "", 2), ("{1}{2}.jsonl".format, "{date}/*.jsonl", 1)],
    ids=["names", "a sink's folders"],
)
def test_late_files_of_a_day_hold_the_last_interval_of_the_day_before(
    spark, written, tmp_path, name, inputs, nights
):
    """It ends at midnight, and its lines open a file. Nothing came on Saturday. One file comes on Sunday, and
    one on Monday."""
    friday, saturday, sunday, monday = (FRIDAY + number * ONE_DAY for number in range(4))
    for number, day in enumerate((friday, sunday, monday)):
        write(tmp_path / "in" / str(day) / name(day, "120000", "a"), counters(number, at_ms(day), boot="a"))
    inputs = tmp_path / "in" / inputs
    assert written(inputs, friday) == []
    for boot, run_on in (("b1", sunday), ("b2", monday))[:nights]:
        own = {"boot": boot}
        lines = [counters(0, at_ms(saturday) - MINUTE_MS, **own), counters(1, at_ms(saturday), **own)]
        write(tmp_path / "in" / str(saturday) / name(saturday, "000000", boot), *lines)
        assert written(inputs, run_on) == [friday, saturday]
        assert kept(spark, tmp_path, boot) == [0, 1]


def test_the_day_before_a_left_over_one_may_lack_lines_in_files_that_the_table_names(
    spark, written, tmp_path
):
    """The run of Saturday was killed when it had written the table, before it looked for late lines."""
    saturday, sunday = FRIDAY + ONE_DAY, FRIDAY + 2 * ONE_DAY
    write(tmp_path / "in" / NAME(FRIDAY, "000000", "a"), counters(0, boot="a"))
    assert written(tmp_path / "in", FRIDAY) == []
    lines = [counters(1, at_ms(saturday) - MINUTE_MS, boot="a"), counters(2, at_ms(saturday), boot="a")]
    write(tmp_path / "in" / NAME(saturday, "000000", "a"), *lines)
    compact(spark, Source([str(tmp_path / "in")], saturday, saturday), Table(str(tmp_path / "table")))
    write(tmp_path / "in" / NAME(sunday, "000000", "a"), counters(3, at_ms(sunday), boot="a"))
    assert written(tmp_path / "in", sunday, [saturday]) == [FRIDAY]
    assert kept(spark, tmp_path, "a") == [0, 1, 2, 3]
