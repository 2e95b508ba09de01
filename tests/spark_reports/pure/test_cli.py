"""The command without Spark: mistakes in arguments, help, `render`."""

import os
import subprocess
import sys

import pytest

from spark_reports.cli import main
from spark_reports.commands import publishing, spark_run
from spark_reports.exits import SparkUnavailableError
from spark_reports.report.kept_days import NO_ROLLUP
from tests.spark_reports import reports

DAILY = ("daily", "--input", ".")
WEEK = (*DAILY, "--date", "2026-11-01..2026-11-08")
NO_DAY = "{date} stands for a day such as 2026-11-20"
NO_ADDRESS = "is not an address such as https://reports.example.com"
OF_TEAM = ("--rollup", ".", "--owners", "topics.toml", "--team", "A")
NOT_BELOW = "--output out/day must lie in it"
MISTAKES = [
    (["daily", "--date", "2026-02-30"], "not a day"),
    (["daily", "--date", "2026-11-20..2026-11-01"], "not a period"),
    (["daily", "--date", "2020-01-01..2026-11-20"], "not a period of 1 to 366 days"),
    (["report", "--date", "2026-11-01..2026-11-02"], "is not one day"),
    (["night", "--store", "x"], "night: was removed: daily --input PATH --store DIR does it, with the table"),
    (["compact", "--format", "delta"], "compact --format: was removed: it writes Parquet"),
    (["daily", "--each"], "daily --each: was removed: --store DIR makes the report of each day"),
    (["daily", "--date", "0001-01-01"], "outside of the years 1970 to 9998"),
    (["compact", "--date", "9999-12-31"], "outside of the years 1970 to 9998"),
    (["trend", "--date", "1969-12-31..1970-01-01"], "outside of the years 1970 to 9998"),
    (["what-if", "--date", "2020-01-01..2026-11-20"], "not a period of 1 to 366 days"),
    (["daily", "--format", "pdf"], "'pdf' is none of html, json, prom"),
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
    ([*DAILY, "--output", "out/day", "--index", "out"], "--index needs --rollup"),
    *(
        ([*DAILY, "--output", "out/day", "--rollup", "r", "--index", index], NOT_BELOW)
        for index in ("other", "out/day", "s3a://lake/reports")
    ),
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
        for command in ("daily", "compact", "doctor")
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
        (["render", "--help"], "spark_reports render out/report.json"),
    ],
)
def test_help_has_an_example(command, example, capsys):
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert ended.value.code == 0
    assert example in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "starts", "ends"),
    [
        ("html", "<!doctype html>", "</html>\n"),
        ("json", "{", "}\n"),
        ("prom", "# ", "# EOF\n"),
    ],
)
def test_render_makes_each_form_from_a_report(name, starts, ends, tmp_path, capsys):
    assert main(["render", str(reports.FIXED), "--format", name, "-o", str(tmp_path / "made")]) == 0
    made = (tmp_path / "made").read_bytes().decode()
    assert made.startswith(starts)
    assert main(["render", str(reports.FIXED), "--format", name]) == 0
    printed = capsys.readouterr().out
    assert printed.replace("\r", "") == made.replace("\r", "")
    assert made.endswith(ends)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "No such file"),
        ("{", "is not JSON"),
        ("[]", "not a report made by spark_reports"),
        ('{"report": "daily", "version": 99}', "version 99"),
        ('{"report": "daily", "version": 2}', "is not of its form (KeyError: 'totals')"),
        ('{"report": "daily", "version": 2, "first_day": []}', "but is not of its form ("),
    ],
)
def test_render_of_a_file_that_is_no_report_is_exit_code_1_in_one_sentence(content, says, tmp_path, capsys):
    path = tmp_path / "report.json"
    if content is not None:
        path.write_text(content)
    assert main(["render", str(path)]) == 1
    stderr = capsys.readouterr().err
    assert says in stderr
    assert stderr.count("\n") == 1


def test_a_locale_without_the_signs_of_a_summary_still_shows_it():
    command = [sys.executable, "-m", "spark_reports", "render", str(reports.FIXED)]
    done = subprocess.run(command, capture_output=True, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()
    assert b"Divide by 1,000,000" in done.stdout


def test_render_needs_neither_pyspark_nor_java(tmp_path):
    """The renderers need nothing but a report.json."""
    script = (
        "import sys; from spark_reports.cli import main; "
        f"code = main(['render', {str(reports.FIXED)!r}, '-o', {str(tmp_path / 'x')!r}]); "
        "sys.exit(code or any(name.split('.')[0] in ('pyspark', 'py4j') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
    assert (tmp_path / "x").exists()


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


def test_importing_the_package_loads_no_spark():
    script = "import sys, spark_reports, spark_reports.cli; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


@pytest.mark.parametrize("form", ["html", "prom"], ids=["more than a pipe holds", "less"])
def test_a_reader_that_closes_the_pipe_gets_no_complaint(form):
    """As `spark_reports render … | head -1` may do."""
    command = [sys.executable, "-m", "spark_reports", "render", str(reports.FIXED), "--format", form]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("output", ["file", "file/reports/2026-11-20"])
@pytest.mark.parametrize(
    "command",
    [
        ["daily", "--output"],
        ["daily", "--date", "2026-11-01..2026-11-20", "--store"],
        ["daily", "--output", "out", "--rollup"],
        ["compact", "--output"],
        ["daily", "--store", "lake", "--output"],
    ],
    ids=" ".join,
)
def test_an_output_that_cannot_be_written_is_found_before_spark_starts(command, output, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main([*command, str(tmp_path / output), "--input", str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"spark_reports: {tmp_path / 'file'}: Not a directory\n"
