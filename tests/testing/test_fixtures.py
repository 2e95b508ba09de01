"""The fixtures that other projects get from the plug-in of pytest."""

import re
import subprocess
import sys

ANOTHER_PROJECT = """
import pytest

def note(topic):
    with open("topics", "a") as topics:
        print(topic, file=topics)

class TestOld:
    def test_rejected(self, topic):
        note(topic)

class TestNew:
    def test_rejected(self, topic):
        note(topic)

@pytest.mark.parametrize("unit", ["a/b", "a-b", "a b", "a_b", "x" * 300, "x" * 300 + "y"])
def test_unit(topic, unit):
    note(topic)
"""


def test_no_two_tests_of_a_project_have_one_topic(tmp_path):
    """They share a broker, so a test would meet the records of another one."""
    for folder in ("orders", "payments"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "test_same.py").write_text(ANOTHER_PROJECT)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")

    command = [sys.executable, "-m", "pytest", "-p", "tsproxy.testing.fixtures", "-p", "no:cacheprovider"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    assert ran.returncode == 0, ran.stdout
    topics = (tmp_path / "topics").read_text().splitlines()
    assert (len(topics), len(set(topics))) == (16, 16)
    assert [topic for topic in topics if not re.fullmatch(r"test_same\.test_[\w.-]{1,186}", topic)] == []
