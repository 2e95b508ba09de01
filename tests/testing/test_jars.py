"""Fetching jars, with a stand-in for Java that does what the resolver's command line asks for.

The real resolver has fetched whatever the tests beside this one run.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tsproxy.testing.jars import SETTINGS_VARIABLE, Dependency, JarsError, fetch_jars

PINNED = [
    Dependency("org.example", "thing", "1.0"),
    Dependency("org.example", "other", "2.0", transitive=False),
]

STAND_IN = """#!/bin/sh
if [ "$1" = -version ]; then echo 'openjdk version "17.0.1"' >&2; exit 0; fi
echo "$@" >> "{log}"
while [ $# -gt 1 ]; do
  if [ "$1" = -retrieve ]; then folder=$(dirname "$2"); fi
  shift
done
if [ -e "{broken}" ]; then
  {repair}
  echo ':: org.example#thing;1.0: not found'; exit 1
fi
sleep {takes_s}
cp "$folder/ivy.xml" "$folder/thing-1.0.jar"
"""


class Machine:
    """A machine with an empty cache and a stand-in for Java; `runs` are the resolver's command lines."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._log = folder / "log"
        self._broken = folder / "broken"
        self._java = folder / "home" / "bin" / "java"
        self._java.parent.mkdir(parents=True)
        self._install()

    def _install(self, repair: str = ":", takes_s: float = 0) -> None:
        text = STAND_IN.format(log=self._log, broken=self._broken, repair=repair, takes_s=takes_s)
        self._java.write_text(text)
        self._java.chmod(0o755)

    def break_down(self, *, times: int | None = None) -> None:
        """The resolver fails: always, or once."""
        self._broken.touch()
        self._install(repair=f'rm "{self._broken}"' if times == 1 else ":")

    def slow_down(self) -> None:
        """Long enough for everybody to ask before the first has an answer."""
        self._install(takes_s=0.5)

    @property
    def runs(self) -> list[str]:
        return self._log.read_text().splitlines() if self._log.exists() else []


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(SETTINGS_VARIABLE, raising=False)
    return Machine(tmp_path)


def test_jars_are_fetched_into_the_users_cache(machine):
    folder = fetch_jars("things-1", PINNED)
    assert folder.parent == machine.folder / "cache" / "tsproxy"
    assert [jar.name for jar in folder.glob("*.jar")] == ["thing-1.0.jar"]


def test_the_resolver_is_asked_for_the_pinned_list(machine):
    asked = (fetch_jars("things-1", PINNED) / "ivy.xml").read_text()
    assert '<dependency org="org.example" name="thing" rev="1.0" transitive="true"/>' in asked
    assert '<dependency org="org.example" name="other" rev="2.0" transitive="false"/>' in asked


def test_what_is_there_is_not_fetched_again(machine):
    assert fetch_jars("things-1", PINNED) == fetch_jars("things-1", PINNED)
    assert len(machine.runs) == 1


def test_another_pinned_list_gets_a_folder_of_its_own_and_leaves_the_old_one_alone(machine):
    old = fetch_jars("things-1", PINNED)
    new = fetch_jars("things-1", PINNED[:1])
    assert old != new
    assert list(old.glob("*.jar"))


def test_two_processes_that_ask_at_once_fetch_once(machine):
    machine.slow_down()
    ask = (
        "from tsproxy.testing.jars import Dependency, fetch_jars\n"
        "print(fetch_jars('things-1', [Dependency('org.example', 'thing', '1.0')]))"
    )
    asking = [
        subprocess.Popen([sys.executable, "-c", ask], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for _ in range(4)
    ]
    answers = {process.communicate()[0] for process in asking}
    assert len(answers) == 1
    assert len(machine.runs) == 1


def test_a_mirrors_settings_are_handed_to_the_resolver(machine, monkeypatch):
    monkeypatch.setenv(SETTINGS_VARIABLE, "/etc/ivysettings.xml")
    fetch_jars("things-1", PINNED)
    assert "-settings /etc/ivysettings.xml" in machine.runs[0]


def test_a_registry_that_stumbles_once_is_asked_again(machine):
    machine.break_down(times=1)
    assert list(fetch_jars("things-1", PINNED).glob("*.jar"))
    assert len(machine.runs) == 2


def test_a_failed_fetch_tells_what_the_resolver_said_and_leaves_nothing_half_done(machine):
    machine.break_down()
    with pytest.raises(JarsError, match=r"(?s)things-1 .*TSPROXY_IVY_SETTINGS.*thing;1\.0: not found"):
        fetch_jars("things-1", PINNED)
    assert [path.name for path in (machine.folder / "cache" / "tsproxy").iterdir()] == ["lock"]
