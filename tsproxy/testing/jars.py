"""Fetches jars and what they depend on, once per machine.

A list of `Dependency` pins a set of jars. Each set has a folder, named after the set and a digest of the
list: `$XDG_CACHE_HOME/tsproxy/kafka-4.4.0-1a2b3c4d/`. A folder is complete as soon as it exists, and it never
changes. So a broker of one checkout keeps its jars when another checkout has a new list.

They come from Maven Central, or from its mirror in Maven's settings (`maven.py`).
`python -m tsproxy.testing.jars 4.4.0 3.9.1` fetches the brokers' jars ahead of time.
"""

import fcntl
import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tsproxy.testing.unfinished import unfinished

_LOG4J: Final = "2.25.5"
_JANINO: Final = "3.1.12"
_TOOLS_OF: Final = {"4.4.0": "4.3.1"}
"""Releases whose command line tools are not in Maven Central, with the release whose tools they get. Some of
these tools only run with the other jars of their own release (`fetch_tools`)."""


class JarsError(RuntimeError):
    """Jars could not be fetched. The text says which, and why."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """One pinned artifact. With `transitive`, what it needs at run time is fetched, too.

    The revision `RELEASE` is the newest one.
    """

    organisation: str
    name: str
    revision: str
    transitive: bool = True


def kafka_dependencies(version: str) -> tuple[Dependency, ...]:
    """The dependencies of a broker of `version` ("4.4.0"), with Kafka's command line tools and Log4j.

    The tools come without their dependencies: Connect, Jetty and Jersey would double the download, and the
    tools of an older release would bring its brokers' jars. Kafka
    brings the SLF4J 1.7 interface without an implementation. Log4j implements it for 3.9 and 4.x, and the
    bridge replaces the Log4j 1 classes that 3.9 still needs.
    """
    kafka, log4j = "org.apache.kafka", "org.apache.logging.log4j"
    tools = _TOOLS_OF.get(version, version)
    return (
        Dependency(kafka, "kafka_2.13", version),
        Dependency(kafka, "kafka-tools", tools, transitive=False),
        Dependency("net.sourceforge.argparse4j", "argparse4j", "0.7.0", transitive=False),
        Dependency(log4j, "log4j-slf4j-impl", _LOG4J, transitive=False),
        Dependency(log4j, "log4j-core", _LOG4J, transitive=False),
        Dependency(log4j, "log4j-api", _LOG4J, transitive=False),
        Dependency(log4j, "log4j-1.2-api", _LOG4J, transitive=False),
    )


def fetch_kafka_jars(version: str) -> Path:
    """The folder with all jars of a broker of `version`. It is fetched if it does not exist."""
    return fetch_jars(f"kafka-{version}", kafka_dependencies(version))


def fetch_tools(version: str) -> Path:
    """The folder with all jars of Kafka's command line tools for a broker of `version`."""
    return fetch_kafka_jars(_TOOLS_OF.get(version, version))


def fetch_compiler() -> Path:
    """The folder with the jars of Janino, which compiles a Java source where only a runtime is installed."""
    parts = [
        Dependency("org.codehaus.janino", name, _JANINO, False) for name in ("janino", "commons-compiler")
    ]
    return fetch_jars("janino", parts)


def fetch_jars(name: str, dependencies: Sequence[Dependency]) -> Path:
    """The folder that holds the jars of `dependencies`, and nothing else that ends in .jar.

    Blocks while they are fetched: about half a minute on a fast line. The next time it returns at once. Any
    number of processes may call it at once; one of them fetches. Raises JarsError.
    """
    digest = hashlib.sha256(repr(tuple(dependencies)).encode()).hexdigest()[:8]
    cache = _cache_folder()
    folder = cache / f"{name}-{digest}"
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with _only_one_process(cache / "lock"):
        if not folder.is_dir():
            print(f"fetching the jars of {name} into {folder} (once)", file=sys.stderr, flush=True)
            with unfinished(folder) as fetched:
                fetched.mkdir()
                _fetch(name, dependencies, fetched, cache / "maven")
                fetched.rename(folder)
    return folder


def fetch_newest(name: str, dependencies: Sequence[Dependency], folder: Path) -> None:
    """Fetches jars into `folder`, which exists and is empty. A revision may be `RELEASE`. Raises JarsError.

    Nothing is kept for the next time: another revision may be the newest then.
    """
    with TemporaryDirectory() as repository:
        _fetch(name, dependencies, folder, Path(repository))


def _cache_folder() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root, "tsproxy")


def _fetch(name: str, dependencies: Sequence[Dependency], folder: Path, repository: Path) -> None:
    try:
        from tsproxy.testing.maven import fetch  # only who fetches needs jgo
    except ImportError as error:
        raise JarsError(f"{error}. It is needed to fetch jars: pip install jgo requests") from error
    try:
        fetch(dependencies, folder, repository)
    except JarsError as error:
        raise JarsError(f"the jars of {name} could not be fetched: {error}") from error


@contextmanager
def _only_one_process(lock: Path) -> Iterator[None]:
    """Holds the file lock. The system releases it if this process dies."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main(versions: Sequence[str]) -> int:
    """Fetches the brokers' jars of each version and prints their folders. Returns 0, or 1 after an error."""
    try:
        for version in versions:
            print(fetch_kafka_jars(version))
    except JarsError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
