"""Every command and option as Markdown, from the parsers that read them, for docs/reference/commands.md."""

import argparse
from collections import Counter
from collections.abc import Iterator

from spark_reports.cli import parser as reports
from tsproxy.cli import parser as proxy

Row = tuple[str, str]
"""An option as it is written, and its meaning."""


def reference() -> str:
    return "\n\n".join(part for parser in (proxy(), reports()) for part in _program(parser)) + "\n"


def _program(program: argparse.ArgumentParser) -> Iterator[str]:
    """A table of its commands, their parts, and the options that several of them have in common."""
    (below,) = (each for each in program._actions if isinstance(each, argparse._SubParsersAction))
    purposes = {each.dest: each.help for each in below._choices_actions}
    commands = below.choices.items()
    rows = [f"| [`{each.prog}`](#{_anchor(each.prog)}) | {purposes[name]} |" for name, each in commands]
    yield "\n".join([f"## {program.prog}", "", "| command | what it does |", "| --- | --- |", *rows])
    counts = Counter(row for _, command in commands for row in _rows(command))
    usual = dict(row for row, count in reversed(counts.most_common()) if count > 1)
    common = [row for row in counts if row in usual.items()]
    for name, command in commands:
        if command.description == purposes[name]:
            command.description = None  # the table has said it
        yield "\n\n".join(_command(command, common))
    yield "\n".join([f"### {_common(program)}", "", *_table(common)])


def _common(parser: argparse.ArgumentParser) -> str:
    return f"Common options of {parser.prog.split()[0]}"


def _anchor(heading: str) -> str:
    return heading.replace(" ", "-")


def _command(parser: argparse.ArgumentParser, common: list[Row]) -> Iterator[str]:
    yield f"### {parser.prog}"
    if parser.description:
        yield " ".join(parser.description.split())
    rows = list(_rows(parser))
    if own := [row for row in rows if row not in common]:
        yield "\n".join(_table(own))
    if shared := [_name(row) for row in rows if row in common]:
        heading = _common(parser)
        yield f"Also [common options](#{_anchor(heading.lower())}): {', '.join(shared)}."


def _rows(parser: argparse.ArgumentParser) -> Iterator[Row]:
    formatter = parser._get_formatter()
    for each in parser._actions:
        if not isinstance(each, argparse._HelpAction):
            yield _invocation(formatter, each), _meaning(parser, each)


def _name(row: Row) -> str:
    """The option without its value."""
    return f"`{row[0].strip('`').split('`')[0].split(' ')[0]}`"


def _table(rows: list[Row]) -> list[str]:
    head = ["| option | meaning |", "| --- | --- |"]
    return [*head, *(f"| {invocation} | {meaning} |" for invocation, meaning in rows)]


def _invocation(formatter: argparse.HelpFormatter, action: argparse.Action) -> str:
    names = ", ".join(action.option_strings)
    value = "" if action.nargs == 0 else formatter._format_args(action, action.dest.upper())
    text = f"{names} {value}".strip().replace("|", "\\|")
    return f"`{text}`{' (must be given)' if action.required and names else ''}"


def _meaning(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    assert action.help, f"{parser.prog}: {action.dest} has no help, and every option needs one"
    shown = argparse.HelpFormatter(parser.prog)._expand_help(action)
    return " ".join(shown.split()).replace("|", "\\|")
