"""`make lint` counts the lines of each package."""

import subprocess

import pytest

from deploy.lines import main

LIMITS = '[tool.tsproxy.lines]\ntests = 2\ntsproxy = 1\n"tsproxy/wire" = 2\n'


def lines_of(folder, files):
    """The exit status for a repository with files of so many lines."""
    subprocess.run(["git", "init", "-q", folder], check=True)
    (folder / "pyproject.toml").write_text(LIMITS)
    for name, lines in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x\n" * lines)
        subprocess.run(["git", "add", "-f", name], cwd=folder, check=True)
    return main(folder)


@pytest.mark.parametrize(
    ("name", "package", "limit"),
    [
        ("tsproxy/wire/crc/_native.pyx", "tsproxy/wire", 2),
        ("tsproxy/cli.py", "tsproxy", 1),
        ("tests/wire/rows.yaml", "tests", 2),
        ("setup.py", "elsewhere", 0),
    ],
)
def test_a_package_with_one_line_too_many_is_named_with_its_limit(tmp_path, capsys, name, package, limit):
    assert lines_of(tmp_path, {name: limit}) == 0
    assert lines_of(tmp_path, {name: limit + 1}) == 1
    told = capsys.readouterr().out
    assert told.startswith(f"{package} has {limit + 1} lines, and may have {limit} ([tool.tsproxy.lines]).\n")


@pytest.mark.parametrize(
    "name", ["tests/node/package-lock.json", "tests/decisions/golden/v1.json", "docs/a.json", "tests/a.md"]
)
def test_locks_kept_output_and_documents_do_not_count(tmp_path, name):
    assert lines_of(tmp_path, {name: 9}) == 0
