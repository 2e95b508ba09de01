"""A release of Kafka, besides its messages: error codes, settings of topics, the code of the verdict."""

import difflib
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tsproxy.testing.java import find_java, source_command

PROGRAM = Path(__file__).with_name("Release.java")

OF_THE_VERDICT = (
    "AbstractLegacyRecordBatch",
    "AbstractRecords",
    "ByteBufferLogInputStream",
    "ByteUtils",
    "Compression",
    "DefaultRecord",
    "DefaultRecordBatch",
    "GzipCompression",
    "LegacyRecord",
    "LogAppendInfo",
    "LogValidator",
    "Lz4BlockInputStream",
    "Lz4Compression",
    "MemoryRecords",
    "ProduceRequest",
    "ProducerAppendInfo",
    "ProducerStateManager",
    "SnappyCompression",
    "UnifiedLog",
    "ZstdCompression",
)
"""The classes that decide about a batch. Their packages change from release to release."""


@dataclass(frozen=True)
class Facts:
    """`errors`: code -> (name, is a RetriableException). `settings`: setting of a topic -> its default."""

    errors: Mapping[int, tuple[str, bool]]
    settings: Mapping[str, str]


@cache
def facts_of(jars: Path) -> Facts:
    """As the classes in this folder have them."""
    command = source_command([jars / "*"], "64m", PROGRAM)
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split(" ", 3) for line in said.splitlines()]
    errors = {int(row[1]): (row[2], row[3] == "true") for row in rows if row[0] == "error"}
    return Facts(errors, {row[1]: " ".join(row[2:]) for row in rows if row[0] == "setting"})


# -- The code of the verdict ------------------------------------------------------------------------


def changed_methods(older: Path, newer: Path) -> Iterator[tuple[str, str]]:
    """(method with its class, what changed) of each method that is not the same.

    Needs the javap of a JDK. A class that only moved to another package is the same.
    """
    for name in OF_THE_VERDICT:
        was, now = _methods(older, name), _methods(newer, name)
        for method in sorted(was.keys() | now.keys()):
            before, after = was.get(method), now.get(method)
            if before is None or after is None:
                yield method, "new" if before is None else "gone"
            elif before != after:
                lines = [line for line in difflib.unified_diff(before, after, n=0) if line[1:2].islower()]
                yield method, f"{sum(line[0] == '-' for line in lines)} instructions are {_count(lines)} now"


def _count(lines: Sequence[str]) -> int:
    return sum(line[0] == "+" for line in lines)


def _methods(jars: Path, name: str) -> Mapping[str, Sequence[str]]:
    """Method -> its instructions and whatever they name, without positions and packages."""
    found: dict[str, list[str]] = {}
    for jar in sorted(jars.glob("kafka*.jar")):
        for entry in zipfile.ZipFile(jar).namelist():
            if re.fullmatch(rf"(\w+/)+{name}(\$\w+)?\.class", entry):
                found |= _read(jar, entry.removesuffix(".class"))
    return found


def _read(jar: Path, class_name: str) -> Mapping[str, list[str]]:
    javap = shutil.which("javap") or str(Path(find_java().executable).with_name("javap"))
    command = [javap, "-p", "-c", "-cp", str(jar), class_name.replace("/", ".")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    short, methods, inside = class_name.rpartition("/")[2], {}, None
    for line in text.splitlines():
        if re.match(r"  \S.*;$", line) and "(" in line:
            key = f"{short}: {_without_packages(line.strip().rstrip(';'))}"
            inside = methods.setdefault(re.sub(r"(lambda\$\w+)\$\d+", r"\1", key), [])
        elif inside is not None and (found := re.match(r"\s+\d+: (\w+)[^/]*(?://\s*(.*))?$", line)):
            word = re.sub(r"_\d$", "", found[1])
            inside.append(_without_packages(f"{word} {found[2] or ''}".strip()))
    return methods


def _without_packages(text: str) -> str:
    """Without packages and the numbers that a compiler gives."""
    return re.sub(r"#\d+:|(?:\w+[./])+(?=[A-Z])", "", text)
