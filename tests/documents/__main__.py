"""`python -m tests.documents PAGE`: follows a page, word for word."""

import os
import re
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.documents import network
from tests.documents.follow import StepError, follow
from tests.documents.page import PageError, steps
from tsproxy.testing.jars import fetch_kafka_jars, fetch_tools
from tsproxy.testing.kafka_cluster import DEFAULT_VERSION

README = Path(__file__).parents[2] / "README.md"
CLUSTER = """\
```console
kafka$ python -m tsproxy.testing
Kafka 4.4.0 serves at 127.0.0.1:9092
…
```
"""
"""The reader of README has a cluster already."""


def main(arguments: list[str]) -> int:
    """Returns 0, 1 if a step fails, or 2 for a wrong command line."""
    if len(arguments) != 1 or not Path(arguments[0]).is_file():
        print("usage: python -m tests.documents PAGE.md", file=sys.stderr)
        return 2
    page = Path(arguments[0]).resolve()
    text = page.read_text(encoding="utf-8")
    if page == README:
        text = CLUSTER + text
    for version in _kafka_versions(text):  # before nothing can be fetched any more
        fetch_kafka_jars(version)
        fetch_tools(version)
    network.enter("tests.documents", arguments)
    # As after `. .venv/bin/activate`.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: the terminals are closed
    # A shell's background job ignores Ctrl-C, and so would each command that the page starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    started = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="tsproxy-page-") as scratch:
            folder = Path(scratch, page.stem)
            folder.mkdir()
            done = follow(steps(text), folder)
    except (PageError, StepError) as error:
        print(f"{arguments[0]}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 1
    print(f"{arguments[0]}: {done} steps in {time.monotonic() - started:.0f} s, all as the page says")
    return 0


def _kafka_versions(text: str) -> set[str]:
    """The versions of Kafka that a page starts."""
    if "python -m tsproxy.testing" not in text:
        return set()
    return {DEFAULT_VERSION, *re.findall(r"tsproxy\.testing .*--version (\S+)", text)}


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
