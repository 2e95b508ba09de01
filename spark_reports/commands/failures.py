"""One line for each of Spark's errors, with advice for the user. Plain text, no Spark."""

import re
from collections.abc import Sequence
from typing import Final

_ADVICE: Final = (
    (
        "Permission denied",
        "Give the user of this process the right to read it: files of the decision log are readable by the "
        "proxy's user and its group.",
    ),
    ("Mkdirs failed|mkdir of", "The user of this process may not write there."),
    (
        "FAILED_READ_FILE",
        "The file was cut, or is not what its name or --input-format says. Copy it again, or skip the parts "
        "that cannot be read by --skip-damaged-files: the log is then incomplete and names them.",
    ),
    (
        "No FileSystem for scheme|FileSystem not found",
        "This Spark does not have that file system: start it by spark-submit with its package "
        "(org.apache.hadoop:hadoop-aws for s3a).",
    ),
    (
        "ARITHMETIC_OVERFLOW",
        "A sum does not fit into 64 bits, so no proxy wrote all of these lines.",
    ),
)
"""Regular expressions for Spark's text, each with its advice. The first match counts."""

_NOISE: Final = re.compile(
    r"\s*SQLSTATE: \w+|\[[A-Z][A-Z0-9_.]+\]\s*|^([a-z]\w*\.)+[A-Z]\w*: "
    r"|\s*(Use '?try_\w+|If necessary,? set).*"
)
"""Names of errors and of Java's classes, which do not help in a sentence, and Spark's advice to
authors of queries: to let them return NULL, or to switch off the check that found the error."""

_CHARS: Final = 300
"""The most characters of one cause: it may hold the long name of a temporary file."""


def explained(texts: Sequence[str]) -> str:
    """One line from the texts of a failure and of its causes, with advice."""
    lines = dict.fromkeys(map(_in_a_line, texts))
    whole = "\n".join(texts)
    advice = next((advice for pattern, advice in _ADVICE if re.search(pattern, whole)), "")
    line = ": ".join(text.removesuffix(".") for text in lines)
    return f"{line}. {advice}" if advice else line


def _in_a_line(text: str) -> str:
    line = _NOISE.sub("", text.strip().partition("\n")[0]).strip()
    return line if len(line) <= _CHARS else f"{line[:_CHARS]}…"
