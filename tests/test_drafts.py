"""A process that is killed while it makes a file leaves nothing that nobody removes.

A file that is not whole yet has a name of its own, or no content and no lock. Each maker of such files is
killed here before each of its steps: Python's audit events are the steps. Then the next process begins.
"""

import ast
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from spark_reports.report.files import write_text
from tests.proxy.decision_log.logs import settings_of
from tsproxy.decision_folder import close_abandoned, open_path
from tsproxy.decisions import Redaction
from tsproxy.proxy.decision_log.open_file import OpenFile
from tsproxy.proxy.decision_log.salt import salt_of
from tsproxy.testing.jars import unfinished

ROOT = Path(__file__).parent.parent
MAX_STEPS = 100


def make_salt(folder):
    salt_of(replace(settings_of(folder), addresses=Redaction.HASH))


def write_decisions(folder):
    file = OpenFile(open_path(folder, 0, "proxy-boot", 0))
    file.write(b"{}\n")
    file.close()


def close_decisions(folder):
    list(close_abandoned(folder))


def write_report(folder):
    write_text(folder / "report.html", "a page")


def fetch(folder):
    with unfinished(folder / "jars") as fetched:
        fetched.mkdir()
        (fetched / "a.jar").write_text("a")
        if not (folder / "jars").exists():
            fetched.rename(folder / "jars")


DECISIONS = "decisions-19700101T000000Z-proxy-boot-0000.jsonl"
MAKERS = {
    "salt": (make_salt, make_salt, {".salt"}),
    "decisions": (write_decisions, close_decisions, {DECISIONS}),
    "report": (write_report, write_report, {"report.html"}),
    "jars": (fetch, fetch, {"jars"}),
}
"""(makes, what the next process does, the names that may be there then)."""
HELD = {
    "tsproxy/decision_folder.py": "decisions",
    "tsproxy/proxy/decision_log/open_file.py": "decisions",
    "tsproxy/proxy/decision_log/salt.py": "salt",
    "spark_reports/report/files.py": "report",
    "tsproxy/testing/jars.py": "jars",
    "tsproxy/testing/formatting.py": "jars",
}
"""Each module that gives a file its name when it is whole -> its maker."""


@pytest.mark.filterwarnings("ignore:.*use of fork")  # threads of xdist's hold nothing that the child needs
@pytest.mark.parametrize("name", MAKERS)
def test_who_is_killed_before_any_step_leaves_nothing_that_the_next_one_does_not_remove(name, tmp_path):
    make, begin, expected = MAKERS[name]
    for step in range(MAX_STEPS):
        folder = tmp_path / str(step)
        folder.mkdir()
        was_killed = killed_before(step, make, folder)
        for path in folder.iterdir():
            os.utime(path, (0, 0))  # long ago
        begin(folder)
        assert {path.name for path in folder.iterdir()} <= expected, step
        if not was_killed:
            break
    assert 2 < step < MAX_STEPS - 1


def killed_before(step, make, folder):
    """True if the process was killed; False if it ended before so many steps."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0
    left = step

    def count(event, _arguments):
        nonlocal left
        if event == "open" or event.partition(".")[0] in ("os", "fcntl", "tempfile", "shutil"):
            left -= 1
            if left < 0:
                os._exit(9)

    try:
        sys.addaudithook(count)
        make(folder)
    finally:
        os._exit(0)


def test_each_module_that_names_a_whole_file_is_one_that_is_killed_here():
    found = {
        str(path.relative_to(ROOT))
        for package in ("tsproxy", "spark_reports")
        for path in sorted(Path(ROOT, package).rglob("*.py"))
        if any(names_a_file(node) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert found == set(HELD)
    assert set(HELD.values()) <= set(MAKERS)


def names_a_file(node):
    """Whether this is a call that gives a file its name, or one that makes a name for a file."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    is_path_replace = node.func.attr == "replace" and len(node.args) == 1 and not node.keywords
    return is_path_replace or node.func.attr in ("rename", "hardlink_to", "mkstemp", "NamedTemporaryFile")
