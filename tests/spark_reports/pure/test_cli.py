"""The command without Spark: mistakes in arguments, help, output."""

import os
import subprocess
import sys

import pytest

import tsproxy
from spark_reports.cli import main
from spark_reports.commands import publishing, spark_run
from spark_reports.errors import SparkUnavailableError
from spark_reports.report.kept_days import NO_ROLLUP
from tests.spark_reports.pure import test_stored

DAILY = ("daily", "--input", ".")
WEEK = (*DAILY, "--date", "2026-11-01..2026-11-08")
NO_DAY = "{date} stands for a day such as 2026-11-20"
NO_ADDRESS = "is not an address such as https://reports.example.com"
OF_TEAM = ("--rollup", ".", "--owners", "topics.toml", "--team", "A")
MISTAKES = [
    (["daily", "--date", "2026-02-30"], "not a day"),
    (["daily", "--date", "2026-11-20..2026-11-01"], "not a period"),
    (["daily", "--date", "2020-01-01..2026-11-20"], "not a period of 1 to 366 days"),
    (["report", "--date", "2026-11-01..2026-11-02"], "is not one day"),
    (["night", "--store", "x"], "night: was removed: daily --input PATH --store DIR does it, with the table"),
    (["compact", "--output", "x"], "compact: was removed: daily --store DIR writes the table, DIR/lines"),
    (["daily", "--each"], "daily --each: was removed: --store DIR makes the report of each day"),
    (["daily", "--date", "0001-01-01"], "outside of the years 1970 to 9998"),
    (["doctor", "--date", "9999-12-31"], "outside of the years 1970 to 9998"),
    (["trend", "--date", "1969-12-31..1970-01-01"], "outside of the years 1970 to 9998"),
    (["what-if", "--date", "2020-01-01..2026-11-20"], "not a period of 1 to 366 days"),
    (["daily", "--format", "pdf"], "'pdf' is none of html, json, csv, prom"),
    (["daily", "--top", "0"], "not a number from 1"),
    (["daily", "--fail-on", "much"], "is not MEASURE>NUMBER"),
    (["weekly"], "weekly: unknown command; "),
    (["dialy"], "dialy: unknown command; did you mean 'daily'? Allowed here: daily, gate, doctor, "),
    ([], "required"),
    # Places and days that do not go together.
    (WEEK, "daily needs --store, or --output for one report alone"),
    ([*WEEK, "--output", "o", "--keep", "400d"], "--keep needs --store, from which it removes days"),
    (
        [*WEEK, "--output", "o"],
        "a report has up to 7 days, and 2026-11-01..2026-11-08 is more: give --store",
    ),
    (
        [*WEEK, "--store", "s", "--json"],
        "--store reads the log itself and prints a line for each day: leave --json",
    ),
    ([*WEEK, "--store", "s", "--input-format", "parquet"], "leave --json and --input-format out"),
    # Paths of this machine: it took 15 to 38 s, and the text was Java's.
    (["daily", "--input", "gone", "--output", "out"], "gone does not exist"),
    (["daily", "--input", "gone", "--output", "out", "--input-format", "parquet"], "gone does not exist"),
    ([*DAILY, "gone", "--store", "out"], "gone does not exist"),
    (["doctor", "--input", "gone"], "gone does not exist"),
    (["trend", "--rollup", "."], f"./producers does not exist. {NO_ROLLUP}"),
    (["what-if", "--rollup", "."], f"./producers does not exist. {NO_ROLLUP}"),
    (["report", "--output", "out"], "report needs --rollup, of which it is made"),
    (
        ["report", "--output", "s3a://b/out", "--rollup", "r"],
        "s3a://b/out: must be on this machine; only the rollup may ",
    ),
    (
        ["report", "--output", "out", "--rollup", "r", "--cluster", "c"],
        "--cluster: a rollup is of one cluster",
    ),
    (["report", "--output", "out", "--rollup", "r"], "r/hours does not exist. `daily` writes it"),
    # Files of owners. Clients alone answer no question about a team that has topics.
    ([*DAILY, "--output", "o", "--owners", "wrong.toml"], "must have at least one table [[owners]]"),
    ([*DAILY, "--output", "o", "--owners", "none.toml"], "No such file"),
    *(([command, *OF_TEAM], "owners[0] of --owners has topics") for command in ("trend", "what-if")),
    # A placeholder that is none, and an address that is none.
    *(
        ([command, "--input", f"lake/{place}/"], NO_DAY)
        for command in ("daily", "doctor")
        for place in ("{day}", "{Date}", "{}", "{date:}", "{date:%d}", "{date:%s}")
    ),
    *(
        ([*DAILY, "--output", "o", "--address", text], NO_ADDRESS)
        for text in (
            *("javascript:alert(1)", "ftp://x/", "//x/", "https:///", "HTTPS://x/", "https://[x/", "", "x"),
            *("https://x/ a", "https://x/\u202e", 'https://x/"onclick="', "https://x/<b>", "https://{x}/"),
        )
    ),
]


@pytest.mark.parametrize(
    ("arguments", "says"), MISTAKES, ids=lambda given: given if isinstance(given, str) else " ".join(given)
)
def test_a_mistake_is_exit_code_2_in_one_sentence_before_spark_starts(
    arguments, says, tmp_path, monkeypatch, capsys
):
    (tmp_path / "wrong.toml").write_text("owners = 1")
    (tmp_path / "topics.toml").write_text('[[owners]]\nteam = "A"\ntopics = ["a"]\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(spark_run, "spark_session", None)
    try:
        code = main([*arguments])
    except SystemExit as ended:
        code = ended.code
    *usage, told = capsys.readouterr().err.splitlines()
    assert code == 2
    assert says in told
    assert not usage or usage[0].startswith("usage: ")


def test_without_pyarrow_a_report_is_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(publishing, "find_spec", lambda _: None)
    assert main(["daily", "--input", str(tmp_path), "--output", str(tmp_path)]) == 2
    said = "spark_reports: pyarrow is not installed: pip install pyarrow\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    ("command", "example"),
    [
        (["--help"], "spark_reports daily --input s3a://lake/tsproxy --store s3a://lake"),
        (["daily", "--help"], "spark_reports daily --date 2026-11-20 --input"),
        (["gate", "--help"], "spark_reports gate s3a://lake/reports"),
    ],
)
def test_help_has_an_example(command, example, capsys):
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert ended.value.code == 0
    assert example in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "No such file"),
        ("{", "is not JSON"),
        ("[]", "not a report made by spark_reports"),
        ('{"report": "daily", "version": 99}', "version 99"),
        ('{"report": "daily", "version": 2}', "lacks a part of a report: 'first_day'"),
        ('{"report": "daily", "version": 2, "first_day": "", "log": 7}', "lacks a part of a report: 'int'"),
    ],
)
def test_a_gate_of_a_file_that_is_no_report_is_exit_code_1_in_one_sentence(content, says, tmp_path, capsys):
    path = tmp_path / "report.json"
    if content is not None:
        path.write_text(content)
    assert main(["gate", str(path), "--fail-on", "lost_lines>0"]) == 1
    stderr = capsys.readouterr().err
    assert says in stderr
    assert stderr.count("\n") == 1


def answer_of(rollup, client_id):
    """The command that prints this client id."""
    test_stored.write(rollup, own={"client_id": client_id, "principal": None})
    command = [sys.executable, "-m", "spark_reports", "what-if", "--rollup", str(rollup)]
    return [*command, "--date", "2026-11-20", "--after", "1h"]


def test_a_locale_without_the_signs_of_an_answer_still_shows_it(tmp_path):
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(answer_of(tmp_path, "caf\u00e9"), capture_output=True, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"caf?: 40 records" in done.stdout


def test_without_java_one_sentence_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert main(["daily", "--input", str(tmp_path), "--output", str(tmp_path / "out")]) == 1
    assert "Spark needs Java 17 or newer" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "environment", "found"),
    [
        (["--master", "sc://spark.example:15002"], {}, "--master sc://spark.example:15002"),
        ([], {"SPARK_REMOTE": "sc://spark.example"}, "SPARK_REMOTE is set"),
        (["--master", "local[1]"], {"SPARK_CONNECT_MODE_ENABLED": "1"}, "SPARK_CONNECT_MODE_ENABLED is set"),
        ([], {"SPARK_API_MODE": "Connect"}, "SPARK_API_MODE is set"),
    ],
)
def test_spark_connect_is_refused_in_one_sentence(more, environment, found, tmp_path, monkeypatch, capfd):
    """Spark Connect itself would print a traceback or a stack of Java."""
    java = tmp_path / "java"
    java.write_text("")
    java.chmod(0o755)  # it is looked for, and never started
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert main(["daily", "--input", str(tmp_path), "--output", str(tmp_path / "out"), *more]) == 1
    stderr = capfd.readouterr().err
    assert stderr.startswith(f"spark_reports: Spark Connect is not supported ({found}): give a master")
    assert stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("is_terminal", "more", "shown"), [(True, [], True), (True, ["--quiet"], False), (False, [], False)]
)
def test_progress_is_for_a_terminal_and_not_for_a_quiet_command(
    is_terminal, more, shown, tmp_path, monkeypatch
):
    asked = []

    def session(_master, **options):
        asked.append(options["shows_progress"])
        raise SparkUnavailableError

    monkeypatch.setattr(spark_run, "spark_session", session)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    main(["daily", "--input", str(tmp_path), "--output", str(tmp_path / "out"), *more])
    assert asked == [shown]


@pytest.mark.parametrize("chars", [200_000, 1], ids=["more than a pipe holds", "less"])
def test_a_reader_that_closes_the_pipe_gets_no_complaint(chars, tmp_path):
    """As `spark_reports what-if … | head -1` may do."""
    command = [*answer_of(tmp_path, "a" * chars), "--json"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("form", [["--json"], []], ids=["found at once", "found at the end"])
def test_an_output_on_a_full_disk_is_one_sentence(form, tmp_path):
    command = [*answer_of(tmp_path, "a"), *form]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": ""},
        )
    assert (done.returncode, done.stderr) == (1, "spark_reports: [Errno 28] No space left on device\n")


@pytest.mark.parametrize("output", ["file", "file/reports/2026-11-20"])
@pytest.mark.parametrize(
    "command",
    [
        ["daily", "--output"],
        ["daily", "--date", "2026-11-01..2026-11-20", "--store"],
        ["daily", "--output", "out", "--rollup"],
        ["daily", "--store", "lake", "--output"],
    ],
    ids=" ".join,
)
def test_an_output_that_cannot_be_written_is_found_before_spark_starts(command, output, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main([*command, str(tmp_path / output), "--input", str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"spark_reports: {tmp_path / 'file'}: Not a directory\n"


def test_the_version_is_that_of_tsproxy(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"spark_reports of tsproxy {tsproxy.__version__}\n"
