"""Explains Spark's errors in one line, with what the user can do. Plain text, no Spark."""

import re
from collections.abc import Sequence
from typing import Final

_WHAT_TO_DO: Final = (
    (
        "Permission denied",
        "Give the user of this process the right to read it: files of the decision log are readable by the "
        "proxy's user and its group.",
    ),
    ("Mkdirs failed|mkdir of", "The user of this process may not write there."),
    (
        "FAILED_READ_FILE",
        "The file was cut, or is not what its name or --input-format says. Copy it again, or skip the parts "
        "that cannot be read by --skip-damaged-files: their lines are then reported as lost.",
    ),
    (
        "data source: kafka",
        "Start it by spark-submit with --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0, or "
        "whichever version of Spark it is.",
    ),
    (
        "No FileSystem for scheme|FileSystem not found",
        "This Spark does not have that file system: start it by spark-submit with its package "
        "(org.apache.hadoop:hadoop-aws for s3a).",
    ),
)
"""A regular expression for Spark's text, and the advice. The first match counts."""

_NOISE: Final = re.compile(r"\s*SQLSTATE: \w+|\[[A-Z][A-Z0-9_.]+\]\s*|^([a-z]\w*\.)+[A-Z]\w*: ")
"""Names of errors and of Java's classes. They do not help in a sentence."""

_CAUSE: Final = re.compile(r"^(?:Caused by)?: (.+)$", re.MULTILINE)
_CHARS: Final = 300
"""Most characters of one cause: it may hold the long name of a temporary file."""


def explained(said: Sequence[str], more: str = "") -> str:
    """One line from the texts of a failure and of its causes, with advice, else `more`.

    A failure in Python code that Spark called holds a traceback; then only its causes are shown.
    """
    everything = "\n".join(said)
    causes = [
        text for each in said for text in (_CAUSE.findall(each) if "Traceback (most" in each else [each])
    ]
    lines = dict.fromkeys(_in_a_line(cause) for cause in causes or said)
    advice = next((advice for pattern, advice in _WHAT_TO_DO if re.search(pattern, everything)), more)
    line = ": ".join(text.removesuffix(".") for text in lines)
    return f"{line}. {advice}" if advice else line


def _in_a_line(text: str) -> str:
    line = _NOISE.sub("", text.strip().partition("\n")[0]).strip()
    return line if len(line) <= _CHARS else f"{line[:_CHARS]}…"
