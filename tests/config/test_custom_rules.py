"""Rules found among the entry points: what is asked of one before a batch is ever shown to it."""

import pytest

from tsproxy.config.build_policy import RuleError, load_rule


class Rule:
    def culprits(self, timestamps_ms, context):
        return ()


class Dates(Rule):
    reason = "wrong date"


class Broken:
    def __init__(self):
        raise OSError("no such table")


class Unpicklable(Rule):
    def __init__(self):
        self.later = lambda: None


class Nothing:
    pass


def install(folder, monkeypatch, name):
    metadata = folder / "mine-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[tsproxy.rules]\nmine = {__name__}:{name}\n")
    monkeypatch.syspath_prepend(folder)


def test_a_rule_that_is_one_is_made(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, "Rule")
    assert isinstance(load_rule("mine"), Rule)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Dates", "has the reason 'wrong date'; must be one of too_far_ahead, too_old, "),
        ("Broken", "cannot be loaded: OSError: no such table"),
        ("Absent", "cannot be loaded: AttributeError"),
        ("Unpicklable", "cannot be handed to workers"),
        ("Nothing", r"has no method culprits\(timestamps_ms, context\)"),
    ],
)
def test_one_that_cannot_be_used_is_named_with_what_is_wrong(tmp_path, monkeypatch, name, says):
    install(tmp_path, monkeypatch, name)
    with pytest.raises(RuleError, match=rf"^tests\.config\.test_custom_rules:{name} {says}"):
        load_rule("mine")
