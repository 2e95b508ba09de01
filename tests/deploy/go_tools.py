"""Tools of others that Go builds from their modules, once, in the user's cache. The versions are pinned here.

They take Go, and minutes of CPU: tests that need one run with `make test-deploy` only (`tests/markers.py`).
"""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

needs_tools = pytest.mark.go_tools
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "tsproxy")


@dataclass(frozen=True)
class GoTool:
    package: str
    version: str
    tags: str = ""

    @property
    def name(self) -> str:
        return self.package.rpartition("/")[2]

    def command(self) -> str:
        """The program's path. The first call builds it."""
        program = CACHE / "tools" / f"{self.name}-{self.version}" / self.name
        if not program.exists():
            _build(self, program)
        return str(program)

    def run(self, *arguments: object) -> str:
        """The tool's output on both streams. Fails where the tool does."""
        done = self._done(arguments)
        return done.stdout + done.stderr

    def output(self, *arguments: object) -> str:
        """The tool's result alone, without its messages. Fails where the tool does."""
        return self._done(arguments).stdout

    def _done(self, arguments: Sequence[object]) -> subprocess.CompletedProcess[str]:
        command = [self.command(), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done


PROMTOOL = GoTool("github.com/prometheus/prometheus/cmd/promtool", "v0.316.0", tags="remove_all_sd")
"""Prometheus 3.16, without service discovery in clouds, which no test needs."""
HELM = GoTool("helm.sh/helm/v4/cmd/helm", "v4.3.1")
KUBECONFORM = GoTool("github.com/yannh/kubeconform/cmd/kubeconform", "v0.8.0")
COMPOSE_SPEC = GoTool("github.com/compose-spec/compose-go/v2/cmd", "v2.16.2")


def _build(tool: GoTool, program: Path) -> None:
    if shutil.which("go") is None:
        raise RuntimeError("go is not installed, and TSPROXY_DEPLOY=tools asks for tools that it builds")
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "tools-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two processes of one run may want it
        if program.exists():
            return
        folder = program.parent.with_name(f"{program.parent.name}.unfinished")
        done = subprocess.run(
            ["go", "install", f"-tags={tool.tags}", f"{tool.package}@{tool.version}"],
            env=os.environ | {"GOBIN": str(folder)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"go install {tool.package} failed:\n{done.stdout[-4000:]}")
        folder.rename(program.parent)
