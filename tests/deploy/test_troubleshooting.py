"""docs/troubleshooting.md has one row for each event of the proxy's log, and no other rows."""

import ast
import re
from collections import Counter
from collections.abc import Iterator

from tests.deploy.commands import ROOT
from tsproxy.proxy.connections import client_handshake, relay
from tsproxy.session.effects import WarningName

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
LEVELS = {"debug", "info", "warning", "error"}
WRITERS = LEVELS | {"note", "_warn", "_log_once", "Note", "Trouble"}
"""The functions and classes whose first texts are events."""
NAME = re.compile(r"[a-z]+(_[a-z]+)+")

MADE_OF_PARTS = {
    "proxy_{what}": {"proxy_starting", "proxy_started", "proxy_stopped"},
    "{kind}_fits_no_topic": {"rule_fits_no_topic", "waiver_fits_no_topic"},
}
"""Events that the code puts together, by how it does that."""

OF_CONSTANTS = {
    client_handshake.PRINCIPAL_NOT_MAPPED,
    client_handshake.PROXY_HEADER_REJECTED,
    client_handshake.TLS_HANDSHAKE_FAILED,
    relay.UPSTREAM_UNAVAILABLE,
    *(name.value for name in WarningName),
}


def texts(node: ast.expr) -> Iterator[str]:
    """The texts that an expression may be; a text with parts has their names in braces."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from texts(node.body)
        yield from texts(node.orelse)
    elif isinstance(node, ast.JoinedStr):
        yield "".join(
            each.value if isinstance(each, ast.Constant) else f"{{{ast.unparse(each.value)}}}"  # type: ignore[attr-defined]
            for each in node.values
        )


def written_in(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", None) or getattr(node.func, "id", None)
            if name in WRITERS:
                for argument in node.args[: 2 if name == "Trouble" else 1]:
                    yield from texts(argument)
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "event":
            yield from texts(node.value)


def events() -> set[str]:
    found = set(OF_CONSTANTS)
    for package in ("proxy", "session", "cluster"):
        for file in (ROOT / "tsproxy" / package).rglob("*.py"):
            for text in written_in(ast.parse(file.read_text(encoding="utf-8"))):
                if text in MADE_OF_PARTS:
                    found |= MADE_OF_PARTS[text]
                elif NAME.fullmatch(text):
                    found.add(text)
    return found


def rows() -> list[tuple[str, ...]]:
    cells = [line.strip("|").split(" | ") for line in PAGE.splitlines() if line.startswith("| `")]
    return [tuple(cell.strip(" `") for cell in row) for row in cells if len(row) == 4]


def test_every_event_has_its_row_and_every_row_its_event():
    named = Counter(row[0] for row in rows())
    assert set(named) == events()
    assert max(named.values()) == 1


def test_every_row_has_a_level_and_says_what_happened_and_what_to_do():
    for event, level, cause, remedy in rows():
        assert level in LEVELS, event
        assert cause.endswith("."), event
        assert remedy, event


def test_the_search_sees_texts_of_every_kind():
    source = (
        'log.error("a_b", x=1)\nlog.info(f"c_{d}")\nevent = "e_f" if x else "g_h"\nTrouble("i_j", "k_l")\n'
    )
    assert list(written_in(ast.parse(source))) == ["e_f", "g_h", "a_b", "c_{d}", "i_j", "k_l"]
