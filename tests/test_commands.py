"""A command that does not exist: the one that was meant, and status 2."""

import pytest

from tests.in_process import run_command


@pytest.mark.parametrize(
    ("word", "says"),
    [
        (
            "chekc",
            "tsproxy: error: chekc: unknown command; did you mean 'check'? Allowed here: doctor, run, ",
        ),
        ("docter", "docter: unknown command; did you mean 'doctor'? "),
        ("xyzzy", "xyzzy: unknown command; Allowed here: doctor, "),
    ],
)
def test_a_misspelt_command_is_answered_with_the_one_that_was_meant(word, says):
    result = run_command("tsproxy", word, "tsproxy.yaml")

    assert result.returncode == 2
    assert says in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("words", [[], ["--help"], ["--version"], ["check", "--help"]])
def test_other_command_lines_are_read_as_before(words):
    result = run_command("tsproxy", *words)

    assert result.returncode == (0 if words else 2)
    assert "unknown command" not in result.stderr
