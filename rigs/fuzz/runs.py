"""One target under libFuzzer, in a process of its own: `fuzz`, `merge`, `try_file`."""

import json
import os
import re
import resource
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rigs.fuzz.corpora import found, put, stored, working
from rigs.fuzz.native import build
from rigs.fuzz.native.seeds import NATIVE
from rigs.fuzz.targets import TARGETS


@dataclass(frozen=True, slots=True)
class Run:
    """`said` is what libFuzzer wrote; `costs` is the report of the driver in C."""

    name: str
    said: str
    seconds: float
    costs: dict[str, Any]
    has_failed: bool

    @property
    def inputs(self) -> int:
        counted = re.findall(r"^#(\d+)\s|^stat::number_of_executed_units: (\d+)", self.said, re.M)
        return max((int(one or other) for one, other in counted), default=0)

    @property
    def line(self) -> str:
        branches = re.findall(r" cov: (\d+) ", self.said)
        rate = self.inputs / self.seconds if self.seconds else 0
        reached = branches[-1] if branches else 0
        said = [f"{self.inputs:,} inputs", f"{reached} branches", f"{rate:,.0f}/s of CPU"]
        if self.costs:
            said.append(f"at most {self.costs['edges_a_byte']} edges a byte")
            said.append(f"{self.costs['memory_a_byte']} bytes of memory a byte")
        return f"{self.name}: {', '.join(said)}"


def fuzz(name: str, minutes: float, inputs: int = -1, folder: Path | None = None) -> Run:
    """Runs one target so long, or for so many inputs, and goes on where the last run ended: in `folder`."""
    corpus = folder or working(name)
    put(corpus, _seeds(name))
    with tempfile.TemporaryDirectory() as made:
        report = Path(made) / "report.json"
        options = [
            str(corpus),
            f"-max_total_time={int(60 * minutes)}",
            f"-runs={inputs}",
            f"-max_len={_most_bytes(name)}",
            "-timeout=20",
            "-rss_limit_mb=2048",
            "-print_final_stats=1",
            f"-artifact_prefix=fuzz-{name}-",
        ]
        if name in NATIVE:
            options.append(f"--report={report}")
        before = _cpu_seconds()
        run = _run(name, options)
        costs = json.loads(report.read_text()) if report.exists() else {}
    return Run(name, run.stderr, _cpu_seconds() - before, costs, run.returncode != 0)


def merge(name: str) -> Path:
    """A folder with the smallest inputs that reach what all inputs in the working folder reach."""
    kept = working(name).with_name(f"{name}-kept")
    kept.mkdir(parents=True, exist_ok=True)
    for path in kept.iterdir():
        path.unlink()
    _run(name, ["-merge=1", f"-max_len={_most_bytes(name)}", str(kept), str(working(name))])
    return kept


def try_file(name: str, path: Path) -> int:
    """1 if the target's invariant does not hold for a file's bytes."""
    if name in TARGETS:
        TARGETS[name].check(path.read_bytes())
    elif (run := _run(name, [str(path)])).returncode:
        print(run.stderr, file=sys.stderr)
        return 1
    print(f"{path}: {name} holds")
    return 0


def _run(name: str, options: list[str]) -> "subprocess.CompletedProcess[str]":
    if name in TARGETS:
        command = [sys.executable, "-m", "rigs.fuzz.atheris_run", name]
        environment = os.environ | {"TSPROXY_FUZZ_AGAIN": shlex.join(command)}
    else:
        folder, target = build.built(), name.removeprefix("native-")
        command = [str(folder / "driver"), f"--target=fuzz_{NATIVE[name].module}.{target}"]
        environment = build.environment(folder)
    return subprocess.run(
        [*command, *options], capture_output=True, text=True, errors="replace", check=False, env=environment
    )


def _seeds(name: str) -> list[bytes]:
    target = TARGETS.get(name) or NATIVE[name]
    return [*target.seeds(), *stored(name), *found(name)]


def _most_bytes(name: str) -> int:
    return (TARGETS.get(name) or NATIVE[name]).most_bytes


def _cpu_seconds() -> float:
    """The CPU of all processes that have ended: the machine may be busy with others."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
