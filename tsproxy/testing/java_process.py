"""The command line of a Java process that starts quickly, keeps small, and logs as the kit wants."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tsproxy.testing.java import find_java

_LOG_CONFIGURATION: Final = Path(__file__).with_name("log4j2.xml")
_QUICK_START: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")


def java_command(
    class_path: Sequence[Path], heap: str, main_class: str, *arguments: str | Path
) -> list[str | Path]:
    """Runs `main_class` from jars, with at most `heap` ("256m"); its log goes to standard error.

    An entry of the class path may end in `*` for all jars of a folder.
    """
    return [
        find_java().executable,
        f"-Xmx{heap}",
        *_QUICK_START,
        f"-Dlog4j2.configurationFile={_LOG_CONFIGURATION.as_uri()}",
        *("-cp", ":".join(map(str, class_path))),
        main_class,
        *arguments,
    ]
