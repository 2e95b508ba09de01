"""Nobody commits the quick start's files by accident."""

from pathlib import Path

from tsproxy.config.tree import KEYS

IGNORED = (Path(__file__).parents[2] / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_the_decision_log_of_the_quick_start_is_ignored():
    [folder] = [key.default for key in KEYS if key.path == "decisions.directory"]
    assert f"{folder}/" in IGNORED
