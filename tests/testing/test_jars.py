"""Fetching jars from a small repository of Maven, which Maven's settings name as the mirror.

Maven Central itself has served whatever the tests beside this one run.
"""

import hashlib
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tsproxy.testing import jars
from tsproxy.testing.jars import Dependency, JarsError, fetch_jars, fetch_newest

THING, OTHER = Dependency("org.example", "thing", "1.0"), Dependency("org.example", "other", "2.0")
PARENT = """
<parent><groupId>org.example</groupId><artifactId>parent</artifactId><version>1</version></parent>
<artifactId>{name}</artifactId><version>{version}</version>
"""
PROJECT = "<project><modelVersion>4.0.0</modelVersion>{}</project>"
MANAGING = """
<groupId>org.example</groupId><artifactId>parent</artifactId><version>1</version><packaging>pom</packaging>
<dependencyManagement><dependencies>{}</dependencies></dependencyManagement>
"""
METADATA = """
<metadata><groupId>org.example</groupId><artifactId>thing</artifactId>
<versioning><release>1.1</release><versions><version>1.0</version><version>1.1</version></versions></versioning>
</metadata>
"""
SETTINGS = """
<settings xmlns="urn:settings"><mirrors>
  <mirror><id>elsewhere</id><mirrorOf>snapshots</mirrorOf><url>http://snapshots.invalid</url></mirror>
  <mirror><id>ours</id><mirrorOf>{of}</mirrorOf><url>{url}</url></mirror>
</mirrors></settings>
"""


def dependency(name, version=None, scope=None, is_optional=False):
    """An element of a POM. Without a version, the parent's `dependencyManagement` gives it."""
    parts = f"<groupId>org.example</groupId><artifactId>{name}</artifactId>"
    parts += f"<version>{version}</version>" if version else ""
    parts += f"<scope>{scope}</scope>" if scope else ""
    return f"<dependency>{parts}{'<optional>true</optional>' if is_optional else ''}</dependency>"


class Repository:
    """A repository of a few artifacts, its mirror's settings, and the paths that it was asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.asked, self.broken = folder, [], {}
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self))
        self.url = f"http://127.0.0.1:{self.server.server_port}/jars"
        self.put("parent", "1", "pom", PROJECT.format(MANAGING.format(dependency("deep", "3.0"))))
        needs = [
            dependency("other", "${project.parent.version}.0"),
            dependency("tests", "1.0", "test"),
            dependency("perhaps", "1.0", is_optional=True),
        ]
        for version in ("1.0", "1.1"):
            self.add("thing", version, *needs)
        for version in ("1.0", "2.0"):
            self.add("other", version, dependency("deep", scope="runtime"))
        self.add("deep", "3.0")
        self.put("thing", None, "xml", METADATA)

    def add(self, name: str, version: str, *needs: str) -> None:
        about = PARENT.format(name=name, version=version)
        needed = f"<dependencies>{''.join(needs)}</dependencies>"
        self.put(name, version, "pom", PROJECT.format(about + needed))
        self.put(name, version, "jar", f"{name} {version}")

    def put(self, name: str, version: str | None, kind: str, text: str) -> None:
        folder = self.folder / "jars" / "org" / "example" / name
        file = (
            folder / "maven-metadata.xml"
            if version is None
            else folder / version / f"{name}-{version}.{kind}"
        )
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.with_name(f"{file.name}.sha1").write_text(
            f"{hashlib.sha1(text.encode()).hexdigest()}  {file.name}\n"
        )

    def name_as_mirror(self, home: Path, of: str = "central", url: str | None = None) -> None:
        (home / ".m2").mkdir(parents=True, exist_ok=True)
        (home / ".m2" / "settings.xml").write_text(SETTINGS.format(of=of, url=url or self.url))


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, repository: Repository, *told: object) -> None:
        self._repository = repository
        super().__init__(*told, directory=str(repository.folder))

    def do_GET(self) -> None:
        self._repository.asked.append(self.path)
        if statuses := self._repository.broken.get(self.path.rpartition("/")[2]):
            self.send_error(statuses.pop())
        else:
            super().do_GET()

    def log_message(self, *_: object) -> None:
        """Nothing is said."""


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A machine with an empty cache, whose Maven knows this repository as the mirror of Central."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    repository = Repository(tmp_path / "repository")
    repository.name_as_mirror(tmp_path / "home")
    serving = threading.Thread(target=repository.server.serve_forever, args=(0.01,))
    serving.start()
    yield repository
    repository.server.shutdown()
    serving.join()
    repository.server.server_close()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_set_has_what_its_artifacts_need_at_run_time(repository, tmp_path):
    folder = fetch_jars("things-1", [THING])
    assert folder.parent == tmp_path / "cache" / "tsproxy"
    assert names(folder) == ["deep-3.0.jar", "other-1.0.jar", "thing-1.0.jar"]
    assert (folder / "thing-1.0.jar").read_text() == "thing 1.0"


def test_a_pinned_version_wins(repository):
    assert names(fetch_jars("things-1", [THING, OTHER])) == ["deep-3.0.jar", "other-2.0.jar", "thing-1.0.jar"]
    alone = Dependency("org.example", "other", "2.0", transitive=False)
    assert names(fetch_jars("things-2", [THING, alone]))[1] == "other-2.0.jar"
    assert names(fetch_jars("things-3", [alone])) == ["other-2.0.jar"]


def test_the_newest_release_is_asked_for_each_time(repository, tmp_path):
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        fetch_newest("thing", [Dependency("org.example", "thing", "RELEASE", transitive=False)], folder)
        assert names(folder) == ["thing-1.1.jar"]
    assert sum(path.endswith("maven-metadata.xml") for path in repository.asked) == 2


def test_what_is_there_is_not_fetched_again(repository):
    folder = fetch_jars("things-1", [THING])
    asked = len(repository.asked)
    assert fetch_jars("things-1", [THING]) == folder
    assert len(repository.asked) == asked
    fetch_jars("things-2", [THING, OTHER])
    assert repository.asked.count("/jars/org/example/thing/1.0/thing-1.0.jar") == 1


def test_another_pinned_list_gets_a_folder_of_its_own_and_leaves_the_old_one_alone(repository):
    old = fetch_jars("things-1", [THING])
    new = fetch_jars("things-1", [OTHER])
    assert old != new
    assert names(old)[2:] == ["thing-1.0.jar"]


def test_processes_that_ask_at_once_fetch_once(repository):
    ask = (
        "from tsproxy.testing.jars import Dependency, fetch_jars\n"
        "print(fetch_jars('things-1', [Dependency('org.example', 'thing', '1.0')]))"
    )
    asking = [
        subprocess.Popen([sys.executable, "-c", ask], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for _ in range(3)
    ]
    assert len({process.communicate()[0] for process in asking}) == 1
    assert repository.asked.count("/jars/org/example/thing/1.0/thing-1.0.jar") == 1


def test_a_repository_that_stumbles_is_asked_again(repository):
    repository.broken = {"thing-1.0.jar": [503, 429], "parent-1.pom": [500]}
    assert len(names(fetch_jars("things-1", [THING]))) == 3


@pytest.mark.parametrize("missing", ["thing-1.0.jar", "parent-1.pom"])
def test_a_failed_fetch_says_what_is_missing_and_leaves_nothing_half_done(repository, tmp_path, missing):
    repository.name_as_mirror(tmp_path / "home", url=repository.url.replace("//", "//me:secret@"))
    repository.broken = {missing: [404]}
    with pytest.raises(JarsError, match=rf"jars of things-1 .*{missing}.* 404.*settings\.xml") as failed:
        fetch_jars("things-1", [THING])
    assert "secret" not in str(failed.value)
    assert names(tmp_path / "cache" / "tsproxy") == ["lock", "maven"]
    assert len(names(fetch_jars("things-1", [THING]))) == 3


def test_a_mirror_that_is_away_is_named_without_its_password(repository, tmp_path, monkeypatch):
    monkeypatch.setattr(jars, "_RETRIES", 0)
    repository.name_as_mirror(tmp_path / "home", url="http://me:secret@127.0.0.1:9/jars")
    with pytest.raises(JarsError, match=r"127\.0\.0\.1.*\.netrc") as failed:
        fetch_jars("things-1", [THING])
    assert "secret" not in str(failed.value)


def test_a_file_with_another_sum_is_not_kept(repository, tmp_path):
    (tmp_path / "repository/jars/org/example/thing/1.0/thing-1.0.jar").write_text("something else")
    with pytest.raises(JarsError, match=r"thing-1\.0\.jar has another SHA-1"):
        fetch_jars("things-1", [THING])
    assert not [*(tmp_path / "cache").rglob("thing*.jar")]


@pytest.mark.parametrize(
    ("of", "is_used"), [("*", True), ("external:*,!central", False), ("a, central", True)]
)
def test_only_a_mirror_of_central_is_used(repository, tmp_path, of, is_used):
    repository.name_as_mirror(tmp_path / "home", of=of)
    assert (jars.mirror() == repository.url) is is_used


def test_without_jgo_the_packages_are_named(repository, monkeypatch):
    monkeypatch.setitem(sys.modules, "jgo.maven", None)
    with pytest.raises(JarsError, match="pip install jgo requests"):
        fetch_jars("things-1", [THING])


def test_the_command_says_what_it_could_not_fetch(repository, capsys):
    assert jars.main(["1.0"]) == 1
    assert "kafka_2.13-1.0.pom: HTTP status 404" in capsys.readouterr().err
