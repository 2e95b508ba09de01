"""Every command and option as Markdown, from the parsers that read them, for docs/reference/commands.md."""

import argparse
from collections.abc import Iterator

from spark_reports.cli import parser as reports
from tsproxy.cli import parser as proxy


def reference() -> str:
    return "\n\n".join(part for parser in (proxy(), reports()) for part in _parts(parser)) + "\n"


def _parts(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The part of the command, then those of its subcommands."""
    below = next((each for each in parser._actions if isinstance(each, argparse._SubParsersAction)), None)
    if below is None:
        yield "\n\n".join(_command(parser))
        return
    purposes = {each.dest: each.help for each in below._choices_actions}
    rows = [f"| [`{each.prog}`](#{_anchor(each.prog)}) | {purposes[name]} |" for name, each in _of(below)]
    level = "###" if " " in parser.prog else "##"
    yield "\n".join([f"{level} {parser.prog}", "", "| command | what it does |", "| --- | --- |", *rows])
    for _, each in _of(below):
        yield from _parts(each)


def _of(
    below: "argparse._SubParsersAction[argparse.ArgumentParser]",
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    return iter(below.choices.items())


def _anchor(heading: str) -> str:
    return heading.replace(" ", "-")


def _command(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield f"### {parser.prog}"
    if parser.description:
        yield " ".join(parser.description.split())
    actions = [each for each in parser._actions if not isinstance(each, argparse._HelpAction)]
    formatter = parser._get_formatter()
    rows = [f"| {_invocation(formatter, each)} | {_meaning(parser, each)} |" for each in actions]
    if rows:
        yield "\n".join(["| option | meaning |", "| --- | --- |", *rows])
    if parser.epilog:
        yield f"```text\n{parser.epilog.strip()}\n```"


def _invocation(formatter: argparse.HelpFormatter, action: argparse.Action) -> str:
    names = ", ".join(action.option_strings)
    value = "" if action.nargs == 0 else formatter._format_args(action, action.dest.upper())
    text = f"{names} {value}".strip().replace("|", "\\|")
    return f"`{text}`{' (must be given)' if action.required and names else ''}"


def _meaning(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    assert action.help, f"{parser.prog}: {action.dest} has no help, and every option needs one"
    shown = argparse.HelpFormatter(parser.prog)._expand_help(action)
    return " ".join(shown.split()).replace("|", "\\|")
