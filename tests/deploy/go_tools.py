"""Tools of others that Go builds from their modules, once, in the user's cache. The versions are pinned here.

They take Go, and minutes of CPU: tests that need one run with `make test-deploy` only (`tests/markers.py`).
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.kit.commands import made_once, output_of

needs_tools = pytest.mark.go_tools


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
        return str(made_once(f"tools/{self.name}-{self.version}", self._build) / self.name)

    def run(self, *arguments: object) -> str:
        """The tool's output on both streams. Fails where the tool does."""
        return output_of(self.command(), *arguments)

    def output(self, *arguments: object) -> str:
        """The tool's result alone, without its messages. Fails where the tool does."""
        command = [self.command(), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _build(self, folder: Path) -> None:
        install = ("go", "install", f"-tags={self.tags}", f"{self.package}@{self.version}")
        output_of(*install, env=os.environ | {"GOBIN": str(folder)})


PROMTOOL = GoTool("github.com/prometheus/prometheus/cmd/promtool", "v0.316.0", tags="remove_all_sd")
"""Prometheus 3.16, without service discovery in clouds, which no test needs."""
HELM = GoTool("helm.sh/helm/v4/cmd/helm", "v4.3.1")
KUBECONFORM = GoTool("github.com/yannh/kubeconform/cmd/kubeconform", "v0.8.0")
COMPOSE_SPEC = GoTool("github.com/compose-spec/compose-go/v2/cmd", "v2.16.2")
