"""The command line of a Java process that starts quickly, uses little memory, and logs to standard error."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tsproxy.testing.jars import fetch_compiler
from tsproxy.testing.java import find_java

_LOG_CONFIGURATION: Final = Path(__file__).with_name("log4j2.xml")
_QUICK_START: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_SILENT: Final = ("-Xlog:disable", "-Xlog:all=error:stderr")
"""The virtual machine logs only errors, to standard error. Otherwise the output would contain messages about
archives."""


def archive_of(jars: Path) -> Path:
    """The path of the class archive for a folder of jars and the Java in use (`class_archive.py`)."""
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
