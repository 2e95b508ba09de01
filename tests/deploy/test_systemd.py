"""The systemd unit: parsed by systemd itself where it is installed, and read as a file everywhere."""

import asyncio
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from tests.attacks.hostile_broker import HostileBroker
from tests.deploy.commands import DEPLOY, ROOT, assert_is_known, installed
from tests.in_process import run_command
from tests.kit.commands import output_of
from tests.kit.namespaces import FIRST_PROCESS, needs_namespaces
from tests.proxy.running import page
from tsproxy.config.values import bind_address
from tsproxy.model.addresses import Address

UNIT = DEPLOY / "tsproxy.service"

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed"
)


def read_unit(path: Path) -> dict[str, dict[str, list[str]]]:
    """Section -> key -> values; a key may stand several times."""
    unit: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    section = ""
    for line in path.read_text().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            key, equals, value = line.partition("=")
            assert equals, line
            unit[section][key].append(value)
    return unit


SERVICE = read_unit(UNIT)["Service"]


@pytest.fixture
def unit_that_would_start(tmp_path: Path) -> Path:
    """The unit with the command of this installation: systemd checks that it can be executed."""
    copy = tmp_path / UNIT.name
    command = shlex.split(SERVICE["ExecStart"][0])[0]
    copy.write_text(UNIT.read_text().replace(f"ExecStart={command}", f"ExecStart={installed('tsproxy')}"))
    return copy


@needs_systemd
def test_systemd_finds_nothing_to_say_about_the_unit(unit_that_would_start: Path):
    assert output_of("systemd-analyze", "verify", str(unit_that_would_start)) == ""


@needs_systemd
def test_systemd_deems_the_unit_as_well_confined_as_the_documents_say(unit_that_would_start: Path):
    """The scale ends at 10; a service without any confinement has 9.6."""
    (documented,) = re.findall(
        r"exposure of \*\*(\d\.\d)\*\*", (ROOT / "docs" / "guide" / "security.md").read_text()
    )
    threshold = f"--threshold={round(float(documented) * 10)}"
    output_of("systemd-analyze", "security", "--offline=true", threshold, unit_that_would_start)


@needs_systemd
def test_the_documents_name_all_that_systemd_still_finds_open(unit_that_would_start: Path):
    told = output_of(
        "systemd-analyze", "security", "--offline=true", "--json=short", str(unit_that_would_start)
    )
    exposed = {each["name"].split("=")[0] for each in json.loads(told) if float(each.get("exposure") or 0)}
    section = (
        (ROOT / "docs" / "guide" / "security.md")
        .read_text()
        .partition("## Least privilege\n")[2]
        .partition("\n## ")[0]
    )
    named = set(re.findall(r"`(\w+)=?`", section))
    assert exposed
    assert exposed <= named


def members_of(group: str) -> set[str]:
    """The system calls of a group of systemd's, or this one."""
    if not group.startswith("@"):
        return {group}
    lines = output_of("systemd-analyze", "syscall-filter", group).splitlines()[1:]
    names = {line.strip() for line in lines} - {""}
    return set().union(*(members_of(name) for name in names if not name.startswith("#")))


@contextlib.asynccontextmanager
async def started_by(words: Sequence[object], folder: Path) -> AsyncIterator[Address]:
    """A proxy that is the one child of the command `words`; yields the address of its admin port."""
    file = folder / "tsproxy.yaml"
    async with HostileBroker(1, honest=10**9, honesty=1.0) as broker:
        file.write_text(
            f"upstream: {{ bootstrap_servers: ['127.0.0.1:{broker.port}'] }}\n"
            "listeners: [{ bind: '127.0.0.1:0', brokers: { ports_from: 0 } }]\n"
            f"admin: {{ bind: '127.0.0.1:0' }}\ndecisions: {{ directory: {folder / 'decisions'} }}\n"
        )
        run = (installed("tsproxy"), "run", "--config", file, "--log-format=json")
        proxy = await asyncio.create_subprocess_exec(*words, *run, stderr=asyncio.subprocess.PIPE)
        assert proxy.stderr
        while b'"proxy_started"' not in (line := await proxy.stderr.readline()):
            assert line
        try:
            yield bind_address(json.loads(line)["admin"])
        finally:
            [pid] = output_of("pgrep", "--parent", proxy.pid).split()
            os.kill(int(pid), signal.SIGTERM)
            await proxy.communicate()


@needs_systemd
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace: apt-get install strace")
async def test_the_unit_allows_every_system_call_that_a_proxy_makes(tmp_path: Path):
    """A call that is denied fails in silence: the kernel's clock could not be asked."""
    allowed: set[str] = set()
    for words in SERVICE["SystemCallFilter"]:
        named = set().union(*map(members_of, words.removeprefix("~").split()))
        allowed = allowed - named if words.startswith("~") else allowed | named
    if SERVICE["ProtectClock"] != ["no"]:
        allowed -= members_of("@clock")
    calls = tmp_path / "calls"
    others = "trace=!" + ",".join(f"?{call}" for call in sorted(allowed))
    strace = ("strace", "-f", "--seccomp-bpf", "-o", calls, "-e", others, "-e", "signal=none")
    async with started_by(strace, tmp_path):
        pass
    assert set(re.findall(r"^\d+ +(\w+)\(", calls.read_text(), re.M)) == set()


@needs_namespaces
async def test_a_proxy_that_sees_as_much_of_proc_as_the_unit_lets_it_knows_its_memory(tmp_path: Path):
    """Without /proc/stat no metric `process_*` is there."""
    options = [
        f"hidepid={SERVICE['ProtectProc'][0]}",
        *(f"subset={of}" for of in SERVICE.get("ProcSubset", [])),
    ]
    script = f'mount -t proc -o {",".join(options)} proc /proc && exec "$@"'
    async with started_by((*FIRST_PROCESS, "sh", "-c", script, "sh"), tmp_path) as admin:
        _, metrics = await page(admin, "/metrics")
        _, ready = await page(admin, "/readyz?verbose")
    assert re.search(r"^process_resident_memory_bytes \d", metrics, re.M)
    assert re.search(r"^tsproxy_memory_used_ratio 0\.\d*[1-9]", metrics, re.M)
    assert "limits.memory" not in ready


@needs_systemd
def test_systemd_finds_nothing_to_say_about_the_nightly_reports(tmp_path: Path):
    for name in ("tsproxy-reports.timer", "tsproxy-reports.service"):
        text = (DEPLOY / name).read_text()
        (tmp_path / name).write_text(text.replace("/opt/tsproxy/bin/spark_reports", sys.executable))
    units = [str(tmp_path / name) for name in ("tsproxy-reports.timer", "tsproxy-reports.service")]
    assert output_of("systemd-analyze", "verify", *units) == ""


def test_the_command_exists():
    (command,) = SERVICE["ExecStart"]
    assert_is_known(shlex.split(command))


def test_a_key_can_be_given_to_the_units_group_for_good():
    """A user that systemd makes for each start has no group that a renewed key could belong to."""
    [user, group] = SERVICE["User"] + SERVICE["Group"]
    assert (DEPLOY / "sysusers.conf").read_text().split()[:3] == ["u", user, "-"]
    assert group == user
    assert "DynamicUser" not in SERVICE
    assert f"owner root, group `{group}` and mode 0640" in (ROOT / "docs/guide/operations.md").read_text()
    assert SERVICE["StateDirectory"] == ["tsproxy"]
    assert SERVICE["CapabilityBoundingSet"] == [""]


def test_the_documents_run_nothing_that_opens_the_state_to_others():
    """systemd sets the mode of the folder at each start, also of a passing unit, and 0755 by default."""
    page = (ROOT / "docs/guide/operations.md").read_text().replace("\\\n", "")
    [run] = re.findall("^systemd-run .*", page, re.M)
    for key in ("StateDirectory", "StateDirectoryMode", "EnvironmentFile"):
        assert f"--property={key}={SERVICE[key][0]} " in run


def test_the_configuration_keeps_its_state_where_the_unit_lets_it_write():
    assert "directory: /var/lib/tsproxy/" in (DEPLOY / "tsproxy.yaml").read_text()
    assert SERVICE["ProtectSystem"] == ["strict"]


def test_a_wrong_configuration_is_not_tried_again():
    """Exit code 2 is usage or configuration. Anything else is tried again for ever: a renewal may last."""
    unit = read_unit(UNIT)["Unit"]
    assert SERVICE["Restart"] == ["on-failure"]
    assert SERVICE["RestartPreventExitStatus"] == ["2"]
    assert (SERVICE["RestartSec"], unit["StartLimitIntervalSec"]) == (["2s"], ["0"])


def test_the_unit_hides_no_file_that_the_metrics_need():
    """`pid` hides /proc/stat."""
    assert SERVICE.get("ProcSubset", ["all"]) == ["all"]


def test_a_worker_that_the_kernel_kills_for_memory_does_not_end_the_unit():
    """systemd stops the whole unit by default. The supervisor replaces a worker."""
    assert SERVICE["OOMPolicy"] == ["continue"]


def test_the_unit_waits_for_the_network_and_for_the_clock_that_records_are_judged_by():
    unit = read_unit(UNIT)["Unit"]
    assert unit["Wants"] == unit["After"] == ["network-online.target time-sync.target"]


def test_there_is_time_to_drain():
    (stop,) = SERVICE["TimeoutStopSec"]
    assert int(stop.removesuffix("s")) > 30


def test_the_configuration_that_comes_along_has_no_problem():
    assert ": ok, " in run_command("tsproxy", "check", DEPLOY / "tsproxy.yaml").stdout


def test_systemd_is_told_when_clients_are_let_in_and_reloads_by_signal():
    """However long the cluster takes to answer: a proxy that waits for it has not failed."""
    assert SERVICE["Type"] == ["notify"]
    assert SERVICE["TimeoutStartSec"] == ["infinity"]
    assert SERVICE["ExecReload"] == ['/bin/sh -c "kill -HUP $MAINPID"']
