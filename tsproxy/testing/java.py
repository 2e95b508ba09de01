"""Finds the Java for Kafka and Spark: in JAVA_HOME, else on PATH. Writes the command line of a Java process
that starts quickly, uses little memory, and logs to standard error.

`python -m tsproxy.testing.java` prints its path, or one sentence about what to install and exits with 1. The
module uses only the standard library, because make asks it before it installs or downloads anything.
"""

import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tsproxy.testing.jars import fetch_compiler

OLDEST_MAJOR: Final = 17
"""Kafka 4's brokers and Spark 4 do not run on older versions."""

_VERSION: Final = re.compile(r'version "((?:1\.)?(\d+)[^"]*)"')
_WHAT_TO_DO: Final = (
    f"install Java {OLDEST_MAJOR} or newer (Debian and Ubuntu: apt-get install default-jre-headless; "
    "Fedora: dnf install java-latest-openjdk-headless) and see that JAVA_HOME or PATH leads to it."
)


class JavaError(RuntimeError):
    """No usable Java; the text is one sentence for the user."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that is new enough: its executable, its major version, and its whole version ("17.0.15")."""

    executable: Path
    major: int
    version: str


def find_java() -> Java:
    """The Java to use. Raises JavaError if there is none, or only one older than OLDEST_MAJOR.

    A JAVA_HOME without Java is an error, too: Spark uses only JAVA_HOME, so another Java would not help it.
    """
    executable = _executable()
    version = _VERSION.search(_version_text(executable))
    if version is None:
        raise JavaError(f"{executable} does not tell its version: {_WHAT_TO_DO}")
    major = int(version[2])
    if major < OLDEST_MAJOR:
        raise JavaError(f"{executable} is Java {major}, which is too old: {_WHAT_TO_DO}")
    return Java(executable, major, version[1])


@functools.cache  # it is called for every Java process that starts
def _version_text(executable: Path) -> str:
    """The output of `java -version`; empty if that fails."""
    # A real Java answers within a second; the stub of macOS fails with a message of its own.
    answer = subprocess.run([executable, "-version"], capture_output=True, text=True, check=False)  # noqa: S603 - the user's own Java
    return answer.stderr + answer.stdout if answer.returncode == 0 else ""


def _executable() -> Path:
    home = os.environ.get("JAVA_HOME")
    if home:
        executable = Path(home, "bin", "java")
        if not os.access(executable, os.X_OK):
            raise JavaError(f"JAVA_HOME is {home}, where there is no bin/java: {_WHAT_TO_DO}")
        return executable
    path = shutil.which("java")
    if path is None:
        raise JavaError(f"There is no Java on this machine: {_WHAT_TO_DO}")
    return Path(path)


_LOG_CONFIGURATION: Final = Path(__file__).with_name("log4j2.xml")
_QUICK_START: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_SILENT: Final = ("-Xlog:disable", "-Xlog:all=error:stderr")
"""The virtual machine logs only errors, to standard error. Otherwise the output would contain messages about
archives."""


def archive_of(jars: Path) -> Path:
    """The path of the class archive for a folder of jars and the Java in use (`formatting.py`)."""
    return jars.with_name(f"{jars.name}-java-{find_java().version}.jsa")


def java_command(
    class_path: Sequence[Path],
    heap: str,
    main_class: str,
    *arguments: str | Path,
    options: Sequence[str] = (),
) -> list[str | Path]:
    """The command that runs `main_class` from jars, with at most `heap` ("256m"); its log goes to standard
    error.

    An entry of the class path may end in `*` for all jars of a folder. `options` are for the virtual machine.
    """
    archive = archive_of(class_path[0].parent)
    return [
        find_java().executable,
        f"-Xmx{heap}",
        *_QUICK_START,
        *_SILENT,
        *([f"-XX:SharedArchiveFile={archive}"] if archive.exists() else ()),
        *options,
        f"-Dlog4j2.configurationFile={_LOG_CONFIGURATION.as_uri()}",
        *("-cp", ":".join(map(str, class_path))),
        main_class,
        *arguments,
    ]


def source_command(class_path: Sequence[Path], heap: str, source: Path, *arguments: str) -> list[str | Path]:
    """The command that compiles the Java class in `source` and runs it. A Java runtime is enough.

    The class is named after its file. Raises JarsError if the compiler can't be fetched.
    """
    class_path = [*class_path, fetch_compiler() / "*"]
    compiler = "org.codehaus.janino.SimpleCompiler"
    return java_command(class_path, heap, compiler, source, source.stem, *arguments)


def main() -> int:
    """Prints the Java that was found. Returns 0, or 1 if it is not usable."""
    try:
        java = find_java()
    except JavaError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{java.executable} (Java {java.major})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
