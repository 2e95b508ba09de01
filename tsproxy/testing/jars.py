"""Fetches jars and what they depend on, once per machine, with the resolver that pyspark ships.

A list of `Dependency` pins a set of jars. Each set has a folder, named after the set and a digest of the
list: `$XDG_CACHE_HOME/tsproxy/kafka-4.4.0-1a2b3c4d/`. A folder is complete as soon as it exists, and it never
changes. So a broker of one checkout keeps its jars when another checkout has a new list.

TSPROXY_IVY_SETTINGS names an ivysettings.xml for machines that fetch through a mirror.
`python -m tsproxy.testing.jars 4.4.0 3.9.1` fetches the brokers' jars ahead of time.
"""

import fcntl
import hashlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.sax.saxutils import quoteattr

from tsproxy.testing.java import JavaError, find_java
from tsproxy.testing.progress import followed
from tsproxy.testing.unfinished import unfinished

SETTINGS_VARIABLE: Final = "TSPROXY_IVY_SETTINGS"
_LOG4J: Final = "2.25.4"
_TOOLS_OF: Final = {"4.4.0": "4.3.1"}
"""Releases whose command line tools are not in Maven Central, with the release whose tools they get. Some of
these tools only run with the other jars of their own release (`fetch_tools`)."""
_FETCH_TIMEOUT_S: Final = 900
_TRIES: Final = 2
"""Downloads fail now and then. A second try continues with the files that the first one has cached."""


class JarsError(RuntimeError):
    """Jars could not be fetched; the text ends with the resolver's last lines."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """One pinned artifact. With `transitive`, its dependencies are fetched, too."""

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
        Dependency(kafka, "kafka-tools-api", tools, transitive=False),
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


def fetch_jars(name: str, dependencies: Sequence[Dependency]) -> Path:
    """The folder that holds the jars of `dependencies`, and nothing else that ends in .jar.

    Blocks while they are fetched: about half a minute on a fast line. The next time it returns at once. Any
    number of processes may call it at once; one of them fetches. Raises JarsError or JavaError.
    """
    ivy_xml = _ivy_xml(name, dependencies)
    digest = hashlib.sha256(ivy_xml.encode()).hexdigest()[:8]
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
                (fetched / "ivy.xml").write_text(ivy_xml)
                _run_ivy(name, fetched, cache / "ivy")
                fetched.rename(folder)
    return folder


def fetch_newest(name: str, dependencies: Sequence[Dependency], folder: Path) -> None:
    """Fetch jars into `folder`, which exists and is empty. A revision may be `latest.release`.

    Only the resolver's own cache is kept for the next time: another revision may be the newest then. Raises
    JarsError or JavaError.
    """
    (folder / "ivy.xml").write_text(_ivy_xml(name, dependencies))
    cache = _cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    with _only_one_process(cache / "lock"):
        _run_ivy(name, folder, cache / "ivy")


def pyspark_jars() -> Path:
    """The folder of jars inside the installed pyspark, found without importing it."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise JarsError("pyspark is not installed, and its resolver fetches the jars: pip install pyspark")
    return Path(spec.submodule_search_locations[0], "jars")


def _cache_folder() -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root, "tsproxy")


def _ivy_xml(name: str, dependencies: Sequence[Dependency]) -> str:
    lines = "".join(
        f"    <dependency org={quoteattr(d.organisation)} name={quoteattr(d.name)} "
        f'rev={quoteattr(d.revision)} transitive="{str(d.transitive).lower()}"/>\n'
        for d in dependencies
    )
    return (
        f'<ivy-module version="2.0">\n  <info organisation="tsproxy" module={quoteattr(name)}/>\n'
        '  <configurations><conf name="default"/></configurations>\n'
        '  <dependencies defaultconf="default->runtime(default),master(default)">\n'
        f"{lines}  </dependencies>\n</ivy-module>\n"
    )


def _run_ivy(name: str, folder: Path, ivy_cache: Path) -> None:
    """Fetches the jars that ivy.xml in `folder` names, or raises JarsError."""
    command: list[str | Path] = [
        find_java().executable,
        *("-jar", _ivy_jar(), "-ivy", folder / "ivy.xml", "-cache", ivy_cache),
        # Artifacts of type `bundle` are jars as well; Ivy fetches them only if they are named.
        *("-types", "jar", "bundle"),
        *("-retrieve", folder / "[artifact]-[revision](-[classifier]).[ext]"),
    ]
    settings = os.environ.get(SETTINGS_VARIABLE)
    if settings:
        command += ["-settings", settings]
    for _ in range(_TRIES):
        try:
            status, lines = followed(command, _SoFar(), _FETCH_TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            raise JarsError(f"fetching the jars of {name} took over {_FETCH_TIMEOUT_S} s") from error
        if status == 0:
            return
    tail = "\n".join(lines[-30:])
    hint = f"{SETTINGS_VARIABLE} is {settings}" if settings else f"behind a mirror, set {SETTINGS_VARIABLE}"
    raise JarsError(f"the jars of {name} could not be fetched ({hint}); the resolver's last lines:\n{tail}")


class _SoFar:
    """The jars that the resolver says it has downloaded."""

    def __init__(self) -> None:
        self._jars = 0

    def __call__(self, line: str) -> str:
        self._jars += line.lstrip().startswith("[SUCCESSFUL ]") and ".jar" in line
        return f"{self._jars} jars"


def _ivy_jar() -> Path:
    found = sorted(pyspark_jars().glob("ivy-*.jar"))
    if not found:
        raise JarsError(f"this pyspark ships no Ivy: no ivy-*.jar in {pyspark_jars()}")
    return found[-1]


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
    except (JarsError, JavaError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
