"""Nights of `daily --store` without Spark: stand-ins write the table and the reports."""

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import nullcontext
from datetime import date
from pathlib import Path
from unittest.mock import Mock

import pytest
from pyspark.errors import PySparkException

from spark_reports.cli import main
from spark_reports.commands import day_by_day, spark_run
from spark_reports.errors import FailedError, NothingToReportError
from spark_reports.log import compact, folders, late_days
from spark_reports.log.compact import Compacted
from spark_reports.log.period import days_between
from spark_reports.log.store import Table
from spark_reports.render import teams as render
from spark_reports.report import teams
from spark_reports.report.rollup import TABLES
from spark_reports.report.sums import require_one_cluster
from tests.spark_reports import reports
from tsproxy.model.exits import FAILED, MISTAKEN, OK


class Killed(BaseException):
    """The end of a process that nobody expects."""


class Nights:
    """A store, and the nights that write it."""

    def __init__(self, store):
        self.store = store
        self.made = []
        self.during = {}
        """Called in the middle of a day's report, by day."""

    def run(self, days, *more):
        """A night: its exit code, and the days whose reports it began, each with whether it is checked."""
        self.made.clear()
        (self.store / "in").mkdir(exist_ok=True)
        asked = ("daily", "--date", days, "--input", str(self.store / "in"), "--store", str(self.store))
        return main([*asked, *more]), [*self.made]

    def compact(self, _spark, source, table, **_options):
        for day in days_between(source.first, source.last):
            write(Path(table.name) / f"event_date={day}" / "part-0")
        return Compacted(2, 0, {}, 0)

    def reported(self, _days, day, *, is_checked):
        self.made.append((str(day), is_checked))
        for name in TABLES:
            folder = self.store / "rollup" / name / f"event_date={day}"
            shutil.rmtree(folder, ignore_errors=True)  # as Spark does before it moves the new one there
            self.during.pop(str(day), lambda: None)()
            write(folder / "part-0")
        write(self.store / "rollup" / "days" / f"{day}.json", "{}")
        return OK

    @property
    def unmade(self):
        return json.loads((self.store / "reports" / "unmade.json").read_text())


def write(path, text=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def delete(_spark, folder):
    path = Path(folder)
    path.unlink() if path.is_file() else shutil.rmtree(path, ignore_errors=True)


def matches(_spark, glob):
    """Also of a glob with one pair of braces, which Python's do not know."""
    head, _, rest = glob.partition("{")
    choices, _, tail = rest.partition("}")
    globs = [f"{head}{choice}{tail}" for choice in choices.split(",")]
    return [Java(path) for each in globs for path in Path("/").glob(each.lstrip("/"))]


def changed_ms(_spark, folder):
    return max((path.stat().st_mtime * 1000 for path in Path(folder).rglob("*") if path.is_file()), default=0)


def killed():
    raise Killed


@pytest.fixture
def nights(tmp_path, monkeypatch):
    made = Nights(tmp_path)
    names = lambda _, folder: sorted(each.name for each in Path(folder).glob("*"))  # noqa: E731
    monkeypatch.setattr(folders, "names", names)
    monkeypatch.setattr(folders, "matches", matches)
    monkeypatch.setattr(folders, "delete", delete)
    monkeypatch.setattr(folders, "changed_ms", changed_ms)
    monkeypatch.setattr(spark_run, "spark_session", lambda *_, **__: nullcontext())
    monkeypatch.setattr(compact, "compact", made.compact)
    monkeypatch.setattr(late_days, "days", lambda *_: set())
    monkeypatch.setattr(day_by_day.Days, "reported", lambda *given, **more: made.reported(*given, **more))
    return made


class Java:
    """A file as Hadoop lists it, and its path."""

    def __init__(self, path):
        self.path = path

    def getPath(self):  # noqa: N802  # Java's name
        return self

    def getParent(self):  # noqa: N802
        return Java(self.path.parent)

    def getName(self):  # noqa: N802
        return self.path.name

    def toString(self):  # noqa: N802
        return str(self.path)


def test_two_runs_do_not_write_a_store_at_once_and_the_one_at_work_goes_on(nights, capsys):
    """Each replaced a day of the other: its numbers were doubled, and the notes of the other were lost."""
    other = []
    nights.during["2026-11-20"] = lambda: other.append(main(backfill))
    backfill = ["daily", "--date", "2026-10-01", "--input", str(nights.store), "--store", str(nights.store)]
    assert nights.run("2026-11-20") == (OK, [("2026-11-20", True)])
    assert other == [FAILED]
    places = [nights.store / name for name in ("lines", "reports", "rollup")]
    text = f"spark_reports: {places[0]}: another run writes there: run this one after it\n"
    assert capsys.readouterr().err == text
    for place in places:  # each alone may be shared by runs of other stores
        another = ["daily", "--input", str(nights.store), "--output", str(place)]
        nights.during["2026-11-20"] = lambda another=another: other.append(main(another))
        nights.run("2026-11-20")
        assert other.pop() == FAILED
    assert main(backfill) == OK


def test_a_run_that_was_killed_stops_no_later_one(nights):
    program = (
        "import os, signal; from spark_reports.report.files import alone\n"
        f"with alone([{str(nights.store / 'lines')!r}]): os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -9
    assert nights.run("2026-11-20") == (OK, [("2026-11-20", True)])


def test_a_run_removes_the_notes_of_no_other_run(nights):
    """On an object store nothing keeps two runs apart. The one that began later was killed."""
    notes = nights.store / "reports" / "unmade.json"
    nights.during["2026-11-20"] = lambda: notes.write_text('["2026-10-01", "2026-11-20"]')
    nights.run("2026-11-20")
    assert nights.unmade == {"2026-10-01": True}
    assert nights.run("2026-11-21")[1][0] == ("2026-10-01", True)
    assert nights.unmade == {}


@pytest.mark.parametrize("day", ["2026-11-19", "2026-11-20"], ids=["the day before", "the day"])
def test_the_next_night_makes_the_report_in_which_a_run_was_killed(nights, day):
    """Its partition of the rollup was gone for ever. The gates of the day before have been checked."""
    nights.run("2026-11-19")
    nights.during[day] = killed
    with pytest.raises(Killed):
        nights.run("2026-11-20")
    checked = {"2026-11-20", "2026-11-21"}
    made = [(each, each in checked) for each in ("2026-11-19", "2026-11-20", "2026-11-21")]
    assert nights.unmade == {"2026-11-19": False, "2026-11-20": True}
    assert nights.run("2026-11-21") == (OK, made)
    assert nights.unmade == {}
    for name in TABLES:
        days = [path.name for path in (nights.store / "rollup" / name).glob("*/*")]
        assert len(days) == len(made)
    assert nights.run("2026-11-22")[1] == [("2026-11-21", False), ("2026-11-22", True)]


def test_a_night_makes_up_for_one_that_did_not_run_also_if_it_is_killed_in_between(
    nights, monkeypatch, capsys
):
    """The machine was off in the second night. The third one writes the lines of both days, and is killed
    before their reports are made: the table does not lack them any more. Nobody has checked the second."""
    nights.run("2026-11-19")
    monkeypatch.setattr(late_days, "days", lambda *_: {date(2026, 11, 20)} if nights.during else set())
    nights.during["2026-11-20"] = killed
    with pytest.raises(Killed):
        nights.run("2026-11-21")
    assert "No run had written 2026-11-20, which was written now." in capsys.readouterr().out
    assert nights.made == [("2026-11-20", True)]
    assert nights.unmade == {"2026-11-20": True, "2026-11-21": True}
    assert nights.run("2026-11-21") == (OK, [("2026-11-20", True), ("2026-11-21", True)])
    assert "No run had written" not in capsys.readouterr().out
    assert nights.unmade == {}


@pytest.mark.parametrize(
    ("nights_of", "why"),
    [
        (["2099-01-25"], "2099-01-25 is not over"),
        (["2026-11-28"], "no day between 2026-10-20 and 2026-11-28 has a report, so a clock may be wrong"),
        (["2026-11-27", "2026-11-28"], "no day between 2026-10-20 and 2026-11-27 has a report, so a clock"),
    ],
)
def test_a_clock_that_is_ahead_removes_nothing(nights, capsys, nights_of, why):
    """The lines of a proxy whose clock was ahead emptied the store. A wrong clock lasts more than a night."""
    nights.run("2026-10-18..2026-10-20")
    for night in nights_of:
        assert nights.run(night, "--keep", "32d", "--quiet")[0] == OK
    assert why in capsys.readouterr().err.splitlines()[-1]
    assert len(list((nights.store / "lines").glob("event_date=*"))) == 3 + len(nights_of)


def test_days_nearly_in_a_row_are_removed(nights, capsys):
    nights.run("2026-10-18..2026-10-20")
    nights.run("2026-11-10")
    assert nights.run("2026-11-20", "--keep", "32d")[0] == OK
    printed = capsys.readouterr()
    assert printed.out.endswith("Removed 1 day before 2026-10-19.\n")
    assert printed.err == ""
    left = sorted(path.name[-5:] for path in (nights.store / "lines").glob("event_date=*"))
    assert left == ["10-19", "10-20", "11-10", "11-20"]


def test_a_second_copy_of_a_day_is_removed(nights, capsys):
    """Spark reads no table that has one: each later night ended with an error."""
    nights.run("2026-11-20")
    copy = nights.store / "lines" / "event_date=2026-11-20" / "event_date=2026-11-20"
    write(copy / "part-1")
    assert nights.run("2026-11-21")[0] == OK
    assert not copy.exists()
    assert "A second copy of 2026-11-20 was removed: two runs had " in capsys.readouterr().out


NAMES = [f"part-{task}-{str(write) * 8}-0000-4000-8000-000000000000.c000.zstd.parquet" for write, task in
         ((1, "00000"), (1, "00001"), (2, "00000"))]  # fmt: skip


@pytest.mark.parametrize(
    ("others", "left"),
    [
        ([NAMES[1]], NAMES[:2]),
        ([f"event_date=2026-11-20/{NAMES[2]}"], NAMES[:1]),
        ([NAMES[2]], [NAMES[0], NAMES[2]]),
    ],
    ids=["no other write", "a folder is moved", "an object store moves files"],
)
def test_a_write_that_met_another_one_fails(nights, others, left):
    """The frame writes as Spark does while another run has put the day there."""
    table, frame = Table(str(nights.store / "hours")), Mock()
    day = Path(table.name) / "event_date=2026-11-20"
    rows = frame.write.mode().partitionBy().option()
    rows.parquet = rows.option().parquet = lambda _: [write(day / name) for name in (NAMES[0], *others)]
    fails = pytest.raises(FailedError, match="another run wrote 2026-11-20 to")
    with fails if left != NAMES[:2] else nullcontext():
        table.replace_days(frame, [date(2026, 11, 19), date(2026, 11, 20)])
    assert sorted(path.name for path in day.iterdir()) == left


def test_a_backfill_names_the_days_without_lines(nights, monkeypatch, capsys):
    day, reported = date(2026, 11, 22), nights.reported
    found = lambda *asked, **more: reported(*asked, **more) if asked[1] == day else None  # noqa: E731
    monkeypatch.setattr(day_by_day.Days, "reported", found)
    assert nights.run("2026-11-22..2026-11-26") == (FAILED, [("2026-11-22", True)])
    told = "spark_reports: no decision log lines of 2026-11-23 to 2026-11-26 under "
    assert capsys.readouterr().err.startswith(told)


def nothing_usable():
    raise NothingToReportError("nothing of it can be used")


def test_a_restated_day_without_a_usable_line_fails_its_night_and_is_not_made_again(
    nights, monkeypatch, capsys
):
    """Its lines came a second time, and differ. The report that was made before says that the log is
    complete."""
    nights.run("2026-11-19..2026-11-20")
    monkeypatch.setattr(late_days, "days", lambda *_: {date(2026, 11, 19)})
    nights.during["2026-11-19"] = nothing_usable
    made = [("2026-11-19", False), ("2026-11-20", False), ("2026-11-21", True)]
    assert nights.run("2026-11-21") == (FAILED, made)
    printed = capsys.readouterr()
    assert "Lines came late for 2026-11-19, which was written now." in printed.out
    assert printed.err == "spark_reports: 2026-11-19: nothing of it can be used\n"
    assert nights.unmade == {}


def two_clusters():
    require_one_cluster([{"cluster": "OLD", "last_cluster": "NEW"}])


def overflow():
    raise PySparkException("[ARITHMETIC_OVERFLOW] long overflow")


@pytest.mark.parametrize(
    ("error", "said"), [(two_clusters, "the log is of 2 clusters"), (overflow, "A sum does not fit")]
)
def test_a_day_that_cannot_be_reported_stops_no_other_day(nights, capsys, error, said):
    """The proxies were moved to another cluster at noon: the lines of this day never change."""
    moved, after = "2026-11-20", ["2026-11-21", "2026-11-22"]
    nights.run("2026-11-19")
    for day in (moved, *after):
        nights.during[moved] = error
        code, begun = nights.run(day)
        assert (code, begun[-1]) == (FAILED, (day, True))
        [told] = capsys.readouterr().err.splitlines()
        assert told.startswith(f"spark_reports: {moved}: ")
        assert said in told
        assert nights.unmade == {moved: True}


def test_a_day_of_two_clusters_is_made_by_its_cluster_and_the_next_nights_need_no_option(nights):
    nights.during["2026-11-20"] = two_clusters
    assert nights.run("2026-11-20")[0] == FAILED
    assert nights.run("2026-11-20", "--cluster", "NEW")[0] == OK
    nights.during["2026-11-20"] = two_clusters
    assert nights.run("2026-11-21")[0] == OK
    assert nights.unmade == {}


def test_a_day_that_cannot_be_reported_keeps_no_older_day(nights):
    nights.run("2026-10-18")
    nights.during["2026-11-19"] = two_clusters
    nights.run("2026-11-19")
    nights.during["2026-11-19"] = two_clusters
    nights.run("2026-11-18")
    nights.during["2026-11-19"] = two_clusters
    assert nights.run("2026-11-20", "--keep", "32d")[0] == FAILED
    assert not (nights.store / "lines" / "event_date=2026-10-18").exists()


def test_old_staging_folders_are_removed_before_a_write(nights):
    """Nothing else removes the lines that a killed run left there. An object store knows no time of a folder,
    and another run may be at work there."""
    table = Table(str(nights.store / "hours"))
    for name, age_s in (("killed", 2 * 86_400), ("at-work", 60), ("begun", None)):
        folder = Path(table.name) / f".spark-staging-{name}" / "event_date=2026-11-20"
        folder.mkdir(parents=True)
        if age_s is not None:
            write(folder / "part-0")
            os.utime(folder / "part-0", (time.time() - age_s,) * 2)
    table.replace_days(Mock(), [])
    left = {path.name for path in Path(table.name).iterdir()}
    assert left == {".spark-staging-at-work", ".spark-staging-begun"}


def test_names_that_are_no_days_are_left_alone(nights):
    nights.run("2026-10-20")
    nights.run("2026-11-19")
    for name in ("lines/event_date=2026-13-45/part-0", "lines/2026-10-01/x", "rollup/days/2026-10-01"):
        write(nights.store / name)
    write(nights.store / "rollup" / "days" / "2026-13-45.json")
    assert nights.run("2026-11-25", "--keep", "32d") == (OK, [("2026-11-25", True)])
    left = {path.name for path in (nights.store / "rollup" / "days").iterdir()}
    assert left == {"2026-11-19.json", "2026-11-25.json", "2026-10-01", "2026-13-45.json"}
    assert len(list((nights.store / "lines").iterdir())) == 5  # with _places.txt


def test_a_team_that_nobody_writes_any_more_is_removed_with_its_last_day(nights):
    """latest.json has the addresses of its clients. A folder that is no team's is not touched."""
    nights.run("2026-10-18..2026-10-20")
    nights.run("2026-11-19")
    place = nights.store / "reports" / "teams"
    report = reports.complete()
    [team] = [each for each in report["owners"]["teams"] if each["team"] == "Payments"]
    for name, day in (("left", "2026-10-18"), ("here", "2026-10-19"), ("odd", "2026-10-18")):
        of_day = report | {"first_day": day, "last_day": day}
        for file, text in render.files(of_day, team, teams.latest(of_day, team, None, day)).items():
            write(place / name / file, text)
    write(place / "odd" / "notes.txt")
    for name in ("2026-09-01.html", "2026-10-1.html"):
        write(place / "here" / name)
        write(place / "notes" / name)
    write(place / "damaged" / "latest.json", "{")
    assert nights.run("2026-11-20", "--keep", "32d")[0] == OK
    assert {path.name: sorted(each.name for each in path.iterdir()) for path in place.iterdir()} == {
        "here": ["2026-10-1.html", "2026-10-19.html", "feed.xml", "index.html", "latest.json"],
        "odd": ["notes.txt"],
        "notes": ["2026-09-01.html", "2026-10-1.html"],
        "damaged": ["latest.json"],
    }


@pytest.mark.parametrize("option", ["--output", "--rollup"])
def test_a_store_is_of_one_folder_of_reports_and_of_one_rollup(nights, capsys, monkeypatch, option):
    """Two clusters had one store: a day that the run of one made up for was never made for the other."""
    monkeypatch.chdir(nights.store)
    name = {"--output": "reports", "--rollup": "rollup"}[option]
    with monkeypatch.context() as patched:
        patched.setattr(compact, "compact", Mock(side_effect=FailedError))
        assert nights.run("2026-11-20", option, "typo")[0] == FAILED
    assert nights.run("2026-11-20")[0] == OK
    for place, code in ((nights.store.parent / "b", MISTAKEN), (name, OK), (f"{nights.store}/{name}/", OK)):
        assert nights.run("2026-11-21", option, str(place))[0] == code
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith(f"spark_reports: {nights.store} is written for --output reports --rollup rollup (")
    assert f"{option} ../b" in told
    (nights.store / "lines" / "_places.txt").unlink()
    assert nights.run("2026-11-21", option, str(nights.store.parent / "b"))[0] == OK
