"""Fetches jars and what they depend on, once per machine.

A list of `Dependency` pins a set of jars. Each set has a folder, named after the set and a digest of the
list: `$XDG_CACHE_HOME/tsproxy/kafka-4.4.0-1a2b3c4d/`. A folder is complete as soon as it exists, and it never
changes. So a broker of one checkout keeps its jars when another checkout has a new list.

They come from Maven Central, or from the mirror of it that Maven's settings name. `jgo` reads the POMs and
decides which versions belong together, by Maven's rules. Each file is fetched here, compared with its SHA-1,
and counted for whoever waits. `python -m tsproxy.testing.jars 4.4.0 3.9.1` fetches the brokers' jars ahead of
time.
"""

import fcntl
import hashlib
import os
import re
import shutil
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, TextIO

from tsproxy.model.words import many

if TYPE_CHECKING:  # only who fetches needs jgo
    from jgo.maven import Artifact, MavenContext

_LOG4J: Final = "2.25.5"
_JANINO: Final = "3.1.12"
_TOOLS_OF: Final = {"4.4.0": "4.3.1"}
"""Releases whose command line tools are not in Maven Central, with the release whose tools they get. Some of
these tools only run with the other jars of their own release (`fetch_tools`)."""
_CENTRAL: Final = "central"
"""Maven's own name of the repository."""
_AT_ONCE: Final = 6
_TIMEOUT_S: Final = 30
"""Without a byte for so long, a request is tried again."""
_RETRIES: Final = 4
_TRIED_AGAIN: Final = (429, 500, 502, 503, 504)
"""HTTP status codes."""
_HINT: Final = "A mirror of `central` is named in Maven's ~/.m2/settings.xml; its password may be in ~/.netrc"
_RUN_TIME: Final = ("compile", "runtime")


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
    """Puts the jars of `dependencies` into `folder`. Files that were fetched before are in `repository`. A
    revision in `dependencies` wins over those that others ask for, as in a project of Maven."""
    try:
        from jgo.constants import MAVEN_CENTRAL_URL
        from jgo.maven import Artifact, MavenContext, PythonResolver

        url = mirror() or MAVEN_CENTRAL_URL
        with _Downloads(url) as downloads:
            resolver = PythonResolver()
            resolver.download = downloads.download  # type: ignore[method-assign]  # the one that fetches
            context = MavenContext(resolver, repository, local_repos=[], remote_repos={_CENTRAL: url})
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                for jar in pool.map(Artifact.resolve, _artifacts(context, dependencies)):
                    (folder / jar.name).hardlink_to(jar)
    except ImportError as error:
        raise JarsError(f"{error}. It is needed to fetch jars: pip install jgo requests") from error
    except (OSError, RuntimeError, ValueError, KeyError, ET.ParseError) as error:
        text = f"{_without_password(str(error))}. {_HINT}"
        raise JarsError(f"the jars of {name} could not be fetched: {text}") from error


@contextmanager
def _only_one_process(lock: Path) -> Iterator[None]:
    """Holds the file lock. The system releases it if this process dies."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _without_password(text: str) -> str:
    return re.sub(r"//[^/@\s]*@", "//", text)


def _artifacts(context: "MavenContext", dependencies: Sequence[Dependency]) -> "list[Artifact]":
    named = {
        jar: context.create_dependency(f"{jar.organisation}:{jar.name}:{jar.revision}")
        for jar in dependencies
    }
    chosen = {(artifact.groupId, artifact.artifactId): artifact.artifact for artifact in named.values()}
    if transitive := [named[dependency] for dependency in dependencies if dependency.transitive]:
        for needed in context.resolver.resolve(transitive)[1]:
            if needed.scope in _RUN_TIME and not needed.optional:
                chosen.setdefault((needed.groupId, needed.artifactId), needed.artifact)
    return [*chosen.values()]


class _Downloads:
    """Fetches each file whole or not at all, over connections that are kept."""

    def __init__(self, url: str) -> None:
        import requests
        from requests.adapters import HTTPAdapter
        from urllib3.util import Retry

        retries = Retry(total=_RETRIES, backoff_factor=0.5, status_forcelist=_TRIED_AGAIN)
        self._url = url.rstrip("/")
        self._session = requests.Session()
        self._session.mount(self._url, HTTPAdapter(pool_maxsize=_AT_ONCE, max_retries=retries))
        self._shown = Shown()
        self._jars = 0
        self._bytes = 0

    def __enter__(self) -> "_Downloads":
        return self

    def __exit__(self, *_: object) -> None:
        self._shown.clear()
        self._session.close()

    def download(self, artifact: "Artifact") -> Path:
        """The file of `artifact` in the local repository. Raises JarsError or OSError."""
        name = f"{artifact.component.path_prefix.as_posix()}/{artifact.filename}"
        content = self._get(name)
        told = self._get(f"{name}.sha1").decode().split()[0]
        if hashlib.sha1(content, usedforsecurity=False).hexdigest() != told:
            raise JarsError(f"{name} has another SHA-1 than the repository says, {told}")
        if artifact.packaging == "pom":
            content = _with_its_parents_version(content)
        path = artifact.cached_path
        assert path is not None
        path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished(path) as draft:
            draft.write_bytes(content)
            draft.rename(path)
        self._jars += artifact.packaging == "jar"
        self._bytes += len(content)
        self._shown.show(f"{many(self._jars, 'jar')}, {self._bytes / 1e6:.0f} MB")
        return path

    def _get(self, name: str) -> bytes:
        answer = self._session.get(f"{self._url}/{name}", timeout=_TIMEOUT_S)
        if not answer.ok:
            raise JarsError(f"{name}: HTTP status {answer.status_code}")
        return answer.content


def _with_its_parents_version(pom: bytes) -> bytes:
    """jgo leaves `${project.parent.version}` as it is; the POMs of Janino and of AWS need it."""
    parent = re.search(rb"<parent>.*?<version>([^<]*)</version>.*?</parent>", pom, re.DOTALL)
    return pom.replace(b"${project.parent.version}", parent[1]) if parent else pom


_PRINT_INTERVAL_S: Final = 5.0
"""The time between two lines where output is no terminal."""
_TERMINAL_INTERVAL_S: Final = 0.2


class Shown:
    """The text about something that takes long: on a terminal in one line, elsewhere every few seconds."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._is_terminal = self._stream.isatty()
        self._began_s = time.monotonic()
        self._next_s = self._began_s + (0 if self._is_terminal else _PRINT_INTERVAL_S)

    @property
    def passed_s(self) -> float:
        return time.monotonic() - self._began_s

    def show(self, said: str) -> None:
        """Shows `said` and the seconds that have passed, if it is time."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        self._next_s = now_s + (_TERMINAL_INTERVAL_S if self._is_terminal else _PRINT_INTERVAL_S)
        begin, end = ("\r\x1b[K", "") if self._is_terminal else ("", "\n")
        text = f"{begin}  {said}{', ' if said else ''}{now_s - self._began_s:.0f} s"
        print(text, end=end, file=self._stream, flush=True)

    def clear(self) -> None:
        """Removes the line from a terminal."""
        if self._is_terminal:
            print("\r\x1b[K", end="", file=self._stream, flush=True)


LASTS_S: Final = 3_600
"""Nothing takes so long to make: it is of a process that was killed."""


@contextmanager
def unfinished(place: Path) -> Iterator[Path]:
    """A path beside `place` for something that is not whole yet. The caller makes it, and renames it to
    `place`. At the end it is removed, unless it was renamed, and so are the old ones of killed processes."""
    draft = place.with_name(f".{place.name}.{os.getpid()}.draft")
    try:
        yield draft
    finally:
        _remove(draft)
        for old in place.parent.glob(".*.draft"):
            with suppress(FileNotFoundError):
                if time.time() - old.lstat().st_mtime > LASTS_S:
                    _remove(old)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def mirror() -> str | None:
    """The address of the mirror that Maven's settings.xml names for Maven Central, or None.

    The user's file is read before that of the installation, as Maven does. Raises JarsError for a file that
    is no XML.
    """
    folders = [Path.home() / ".m2"]
    if "MAVEN_HOME" in os.environ:
        folders.append(Path(os.environ["MAVEN_HOME"], "conf"))
    files = [folder / "settings.xml" for folder in folders]
    return next((address for file in files if file.is_file() for address in _mirrors(file)), None)


def _mirrors(settings: Path) -> Iterator[str]:
    try:
        root = ET.parse(settings).getroot()  # noqa: S314 - the user's own file
    except ET.ParseError as error:
        raise JarsError(f"{settings} is no XML: {error}") from error
    for entry in root.iterfind("{*}mirrors/{*}mirror"):
        of = (entry.findtext("{*}mirrorOf") or "").replace(" ", "").split(",")
        address = (entry.findtext("{*}url") or "").strip()
        if address and f"!{_CENTRAL}" not in of and {_CENTRAL, "*", "external:*"} & {*of}:
            yield re.sub(r"\$\{env\.(\w+)\}", lambda name: os.environ.get(name[1], ""), address)


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
