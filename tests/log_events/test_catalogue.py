"""The catalogue of log events, and the code that writes them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documents.tables import rows_of
from tests.log_events.checked import UnknownFieldError, check_log
from tsproxy.clock import Clock
from tsproxy.log_events import catalogue
from tsproxy.log_events.catalogue import BY_NAME, CLIENT_REJECTED, DRAIN_STARTED, Level, LogEvent
from tsproxy.proxy.notes import Notes
from tsproxy.session.effects import WarningName

ROOT = Path(__file__).parents[2]
CODE = {
    path: ast.parse(path.read_text(encoding="utf-8"))
    for package in ("tsproxy/proxy", "tsproxy/cluster", "tsproxy/session")
    for path in sorted((ROOT / package).rglob("*.py"))
}
BY_CONSTANT = {name.upper(): row for name, row in BY_NAME.items()}


def calls() -> Iterator[tuple[Path, ast.Call, str]]:
    """All calls, with the name of what is called."""
    for path, tree in CODE.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                yield path, node, getattr(node.func, "attr", None) or getattr(node.func, "id", "")


NOTED = {
    argument.value: [key.value for key in call.args[1].keys]
    for _, call, name in calls()
    if name == "Note" and isinstance(call.args[1], ast.Dict)
    for argument in call.args[:1]
}
"""The events that a session notes with facts at the place, and the names of these facts."""


def test_each_row_is_a_constant_of_its_own_name():
    constants = {name: row for name, row in vars(catalogue).items() if isinstance(row, LogEvent)}
    assert constants == BY_CONSTANT
    for row in BY_NAME.values():
        assert re.fullmatch(r"[a-z]+(_[a-z]+)+", row.name), row
        assert len(set(row.fields)) == len(row.fields), row


def test_the_page_has_each_event_once_with_its_level():
    """Most lines that need nobody, and most bugs, are in a list; all others have a row."""
    rows = rows_of("reference/log-events.md", "event", "level", "meaning, and what to do")
    page = (ROOT / "docs" / "reference" / "log-events.md").read_text(encoding="utf-8")
    nobody, bugs = (
        re.findall(r"`(\w+)`", page[page.index(begin) :].partition("\n\n")[0])
        for begin in ("These lines need nobody:", "Please report these bugs")
    )
    listed = [(f"`{name}`", BY_NAME[name].level) for name in nobody + bugs]
    assert sorted([*listed, *((event, level) for event, level, _ in rows)]) == sorted(
        (f"`{row.name}`", row.level) for row in BY_NAME.values()
    )
    assert {BY_NAME[name].level for name in nobody} <= {Level.DEBUG, Level.INFO}
    assert all(name.endswith("_crashed") for name in bugs)
    assert [event for event, _, meaning in rows if not meaning.endswith((".", "`"))] == []


def test_each_event_is_written_somewhere_and_is_imported_by_its_name():
    imported = {
        alias.name
        for tree in CODE.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "tsproxy.log_events.catalogue"
        for alias in node.names
    }
    by_sessions = {*map(str, WarningName), "client_rejected", "frame_cut_short"}
    assert {row.name for constant, row in BY_CONSTANT.items() if constant not in imported} == by_sessions


def test_events_that_a_session_names_are_in_the_catalogue():
    """The core knows no logger: it names an event as text."""
    texts = [call.args[0] for _, call, name in calls() if name == "Note"]
    assert all(isinstance(text, ast.Constant) and text.value in BY_NAME for text in texts)
    assert set(WarningName) <= BY_NAME.keys()
    for event, facts in NOTED.items():
        assert set(facts) <= set(BY_NAME[event].fields), event


def test_a_call_names_only_fields_of_its_event():
    found = [
        f"{path.name}:{call.lineno}: {keyword.arg}"
        for path, call, name in calls()
        if (row := BY_CONSTANT.get(name)) is not None
        for keyword in call.keywords
        if keyword.arg is not None and keyword.arg not in row.fields
    ]
    assert found == []


def test_nothing_else_writes_to_the_log():
    """The server hands the logger to `Notes`, and `logging` writes what libraries say."""
    found = {
        path.name
        for path, tree in CODE.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Import) and any(each.name == "structlog" for each in node.names)
    }
    assert found == {"server.py", "logging.py"}


def test_a_line_with_another_field_fails_a_test():
    with pytest.raises(UnknownFieldError, match="drain_started has no field"):
        DRAIN_STARTED(clients=1, reason="x")
    with pytest.raises(UnknownFieldError, match="client_rejected has no field"):
        Notes(None, Clock()).write("192.0.2.1", CLIENT_REJECTED, {"value": "x"})
    line = {"timestamp": "t", "level": "info", "event": "drain_started", "worker": 1, "clients": 1}
    check_log([line, {"event": "not_json", "text": "Traceback"}])
    with pytest.raises(UnknownFieldError, match="drain_started has no field"):
        check_log([line | {"reason": "x"}])
