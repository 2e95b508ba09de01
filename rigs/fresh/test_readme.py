"""The rig runs what stands in README."""

from rigs.fresh.readme import commands, packages


def test_the_lines_of_readme_are_found():
    assert commands() == ["make demo", "make test"]
    assert {"git", "make", "python3-dev", "python3-venv"} < {*packages()}
