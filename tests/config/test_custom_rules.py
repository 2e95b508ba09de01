"""Rules found among the entry points: what is asked of one before a batch is ever shown to it."""

import asyncio

import pytest

from tests.config.files import SMALLEST
from tests.in_process import run_command
from tsproxy.config.build_policy import RuleError, load_rule
from tsproxy.testing.rules import check_rule


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


class BoundsOfAnAttribute(Rule):
    bounds = (0, 5)


class BoundsOfFloats(Rule):
    def bounds(self):
        return 3600e3, 60.0


class BoundsBelowZero(Rule):
    def bounds(self):
        return None, -1


class OneBound(Rule):
    def bounds(self):
        return (5,)


class Delegates(Rule):
    """Its copy has no `inner` yet when pickle asks it for `__setstate__`."""

    def __init__(self):
        self.inner = []

    def __getattr__(self, name):
        return getattr(self.inner, name)


class Nothing:
    pass


class Panic(BaseException):
    """The error of a panic in Rust is no Exception, either."""


class Raising(Rule):
    step, error = "", None

    def __init__(self):
        self.at("constructor")

    def at(self, step):
        if step == self.step:
            raise self.error

    @property
    def reason(self):
        self.at("reason")
        return "missing"

    @property
    def culprits(self):
        self.at("culprits")
        return super().culprits

    def bounds(self):
        self.at("bounds")
        return 0, None

    def __getstate__(self):
        self.at("dumps")
        return {"a": 1}

    def __setstate__(self, state):
        self.at("loads")


def install(folder, monkeypatch, name, module=__name__):
    metadata = folder / "mine-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[tsproxy.rules]\nmine = {module}:{name}\n")
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
        ("BoundsOfAnAttribute", "cannot be asked for its bounds: TypeError: 'tuple' object is not callable"),
        (
            "BoundsOfFloats",
            r"cannot be asked for its bounds: ValueError: \(3600000\.0, 60\.0\); must be two whole",
        ),
        (
            "BoundsBelowZero",
            r"cannot be asked for its bounds: ValueError: \(None, -1\); must be two whole numbers",
        ),
        ("OneBound", "cannot be asked for its bounds: ValueError: not enough values to unpack"),
        ("Unpicklable", "cannot be handed to workers"),
        ("Delegates", "cannot be handed to workers: RecursionError"),
        ("Nothing", r"has no method culprits\(timestamps_ms, context\)"),
    ],
)
def test_one_that_cannot_be_used_is_named_with_what_is_wrong(tmp_path, monkeypatch, name, says):
    install(tmp_path, monkeypatch, name)
    with pytest.raises(RuleError, match=rf"^tests\.config\.test_custom_rules:{name} {says}"):
        load_rule("mine")
    if "bounds" in says:
        with pytest.raises(AssertionError, match=f"its bounds: {says.partition('bounds: ')[2]}"):
            check_rule(globals()[name]())


@pytest.mark.parametrize(
    "error", [SystemExit(0), Panic(), asyncio.CancelledError(), GeneratorExit()], ids=repr
)
@pytest.mark.parametrize("step", ["constructor", "reason", "culprits", "bounds", "dumps", "loads"])
def test_whatever_its_code_raises_is_its_own_error(tmp_path, monkeypatch, step, error):
    install(tmp_path, monkeypatch, "Raising")
    monkeypatch.setattr(Raising, "step", step)
    monkeypatch.setattr(Raising, "error", error)
    with pytest.raises(RuleError, match=rf":Raising cannot be .*: {type(error).__name__}: "):
        load_rule("mine")
    monkeypatch.setattr(Raising, "error", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        load_rule("mine")


@pytest.mark.parametrize("command", [("check",), ("explain", "--topic=t", "--timestamp=0", "--config")])
def test_a_module_that_calls_exit_is_a_mistake_with_its_place(tmp_path, monkeypatch, command):
    install(tmp_path, monkeypatch, "Rule", module="exits_at_import")
    (tmp_path / "exits_at_import.py").write_text("raise SystemExit(0)\n")
    (file := tmp_path / "tsproxy.yaml").write_text(
        SMALLEST + "policy: { rules: [{ name: a, rule: mine }] }\n"
    )
    ended = run_command("tsproxy", *command, file)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert (
        "tsproxy.yaml:4: policy.rules[0].rule: exits_at_import:Rule cannot be loaded: SystemExit: 0"
        in ended.stderr
    )
