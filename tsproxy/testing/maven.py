"""Jars from Maven Central, or from the mirror of it that Maven's settings name.

`jgo` reads the POMs and decides which versions belong together, by Maven's rules. Here each file is fetched,
compared with its SHA-1, and counted for whoever waits.
"""

import hashlib
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import requests
from jgo.constants import MAVEN_CENTRAL_URL
from jgo.maven import Artifact, MavenContext, PythonResolver
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from tsproxy.model.words import many
from tsproxy.testing.jars import Dependency, JarsError
from tsproxy.testing.progress import Shown
from tsproxy.testing.unfinished import unfinished

_CENTRAL: Final = "central"
"""Maven's own name of the repository."""
_AT_ONCE: Final = 6
_TIMEOUT_S: Final = 30
"""Without a byte for so long, a request is tried again."""
_RETRIES: Final = Retry(total=4, backoff_factor=0.5, status_forcelist=(429, 500, 502, 503, 504))
_HINT: Final = "A mirror of `central` is named in Maven's ~/.m2/settings.xml; its password may be in ~/.netrc"
_RUN_TIME: Final = ("compile", "runtime")


def fetch(dependencies: Sequence[Dependency], folder: Path, repository: Path) -> None:
    """Puts the jars of `dependencies` into `folder`. Files that were fetched before are in `repository`.

    A revision in `dependencies` wins over those that others ask for, as in a project of Maven. Raises
    JarsError.
    """
    url = mirror() or MAVEN_CENTRAL_URL
    with _Downloads(url) as downloads:
        context = MavenContext(downloads, repository, local_repos=[], remote_repos={_CENTRAL: url})
        try:
            artifacts = _artifacts(context, dependencies)
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                for jar in pool.map(Artifact.resolve, artifacts):
                    (folder / jar.name).hardlink_to(jar)
        except (OSError, RuntimeError, ValueError, KeyError, ET.ParseError) as error:
            raise JarsError(f"{_without_password(str(error))}. {_HINT}") from error


def _without_password(text: str) -> str:
    return re.sub(r"//[^/@\s]*@", "//", text)


def _artifacts(context: MavenContext, dependencies: Sequence[Dependency]) -> list[Artifact]:
    named = {
        each: context.create_dependency(f"{each.organisation}:{each.name}:{each.revision}")
        for each in dependencies
    }
    chosen = {(each.groupId, each.artifactId): each.artifact for each in named.values()}
    if transitive := [named[each] for each in dependencies if each.transitive]:
        for needed in context.resolver.resolve(transitive)[1]:
            if needed.scope in _RUN_TIME and not needed.optional:
                chosen.setdefault((needed.groupId, needed.artifactId), needed.artifact)
    return [*chosen.values()]


class _Downloads(PythonResolver):
    """Fetches each file whole or not at all, over connections that are kept."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url.rstrip("/")
        self._session = requests.Session()
        self._session.mount(self._url, HTTPAdapter(pool_maxsize=_AT_ONCE, max_retries=_RETRIES))
        self._shown = Shown()
        self._jars = 0
        self._bytes = 0

    def __enter__(self) -> "_Downloads":
        return self

    def __exit__(self, *_: object) -> None:
        self._shown.clear()
        self._session.close()

    def download(self, artifact: Artifact) -> Path:
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
        if answer.status_code != requests.codes.ok:
            raise JarsError(f"{name}: HTTP status {answer.status_code}")
        return answer.content


def _with_its_parents_version(pom: bytes) -> bytes:
    """jgo leaves `${project.parent.version}` as it is; the POMs of Janino and of AWS need it."""
    found = re.search(rb"<parent>.*?<version>([^<]*)</version>.*?</parent>", pom, re.DOTALL)
    return pom.replace(b"${project.parent.version}", found[1]) if found else pom


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
    for each in root.iterfind("{*}mirrors/{*}mirror"):
        of = (each.findtext("{*}mirrorOf") or "").replace(" ", "").split(",")
        address = (each.findtext("{*}url") or "").strip()
        if address and f"!{_CENTRAL}" not in of and {_CENTRAL, "*", "external:*"} & {*of}:
            yield re.sub(r"\$\{env\.(\w+)\}", lambda name: os.environ.get(name[1], ""), address)
