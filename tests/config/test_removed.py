"""A removed key, option or command answers with what to do instead, and status 2: one table of all."""

import pytest

from spark_reports import cli as spark_reports
from tests.config.files import SMALLEST, file_with
from tests.in_process import run_command
from tsproxy.commands import removed as commands
from tsproxy.config.removed import REMOVED
from tsproxy.config.tree import KEYS

FILE = "tsproxy.yaml"


def rows():
    """(command line, text of the configuration, name of what was removed in the answer, advice)."""
    for path, advice in REMOVED.items():
        name = path.replace("[]", "[0]")
        yield ["tsproxy", "check", FILE], file_with(path, "1"), name, advice
        if "[]" not in path:
            yield ["tsproxy", "run", "--config", FILE, "--set", f"{path}=1"], SMALLEST, name, advice
    for program, removed in (("tsproxy", commands.REMOVED), ("spark_reports", spark_reports.REMOVED)):
        for words, advice in removed.items():
            yield [program, *words.split()], SMALLEST, words, advice


ROWS = [*rows()]


@pytest.mark.parametrize(
    ("words", "text", "name", "advice"), ROWS, ids=[f"{words[0]} {name}" for words, _, name, _ in ROWS]
)
def test_what_was_removed_answers_with_what_to_do_instead(words, text, name, advice, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / FILE).write_text(text)

    result = run_command(*words)

    assert result.returncode == 2
    assert f": {name}: was removed: {advice}\n" in result.stderr
    assert "Traceback" not in result.stderr


def test_no_key_that_is_read_is_called_removed():
    assert REMOVED.keys().isdisjoint(key.path for key in KEYS)


def test_an_option_is_found_with_its_value_too(monkeypatch):
    monkeypatch.setattr(spark_reports, "REMOVED", {"daily --lines": "count them"})

    result = run_command("spark_reports", "daily", "--date", "2026-11-20", "--lines=5")

    assert result.returncode == 2
    assert "spark_reports: error: daily --lines: was removed: count them\n" in result.stderr
