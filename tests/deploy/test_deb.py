"""The package for Debian: installed in a clean root, started there as the unit says, upgraded, removed."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.release.agreement import Commit, version_of
from deploy.release.debian import build_deb
from tests.deploy.commands import ROOT
from tests.deploy.go_tools import needs_tools
from tests.deploy.images import Image, needs_root
from tests.deploy.pods import ProxyInContainer, assert_judges
from tests.deploy.test_images import started_plainly
from tests.deploy.test_systemd import read_unit
from tests.kit.commands import CACHE, output_of
from tests.test_wheel import install

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
SUITES = {"3.11": "bookworm", "3.13": "trixie"}
pytestmark = [
    needs_tools,
    needs_root,
    pytest.mark.broker,  # one test does, and `make` asks for Java in all
    pytest.mark.timeout(3_600),
    pytest.mark.skipif(PYTHON not in SUITES, reason=f"no release of Debian has Python {PYTHON}"),
]
UNIT = "usr/lib/systemd/system/tsproxy.service"
CONFIGURATION = "etc/tsproxy/tsproxy.yaml"


@pytest.fixture(scope="module")
def deb(tmp_path_factory):
    """The package of this checkout."""
    folder, made = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("deb")
    output_of("make", "-C", str(ROOT), ".venv/release/stamp")
    install(folder)
    [wheel] = folder.glob("*.whl")
    shutil.copy(wheel, made)
    return build_deb(ROOT, made, Commit("of no importance", 1_700_000_000, version_of(ROOT)), folder)


@pytest.fixture
def root(deb, tmp_path):
    """A Debian with what the package depends on, and nothing else."""
    [depends] = re.findall(
        r"^Depends: (.*)$", output_of("dpkg-deb", "--info", str(deb)).replace("\n ", "\n"), re.M
    )
    wanted = [each.split()[0] for each in depends.split(", ")]
    packed = CACHE / "tools" / f"debian-{SUITES[PYTHON]}-{'-'.join(wanted)}.tar"
    if not packed.exists():
        packed.parent.mkdir(parents=True, exist_ok=True)
        made = packed.with_suffix(".unfinished.tar")
        output_of(
            "mmdebstrap", "--variant=minbase", f"--include={','.join(wanted)}", SUITES[PYTHON], str(made)
        )
        made.rename(packed)
    folder = tmp_path / "root"
    folder.mkdir()
    output_of("tar", "--extract", "--file", str(packed), "--directory", str(folder), "--exclude=./dev/*")
    return folder


def inside(root, *command, status=0):
    """The output of a command in the root."""
    done = subprocess.run(["chroot", root, *command], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def installed(root, deb):
    shutil.copy(deb, root / "tmp")
    return inside(root, "dpkg", "--install", f"/tmp/{deb.name}")


def of_the_next_version(deb, folder):
    """The same package with a higher version and another default configuration."""
    unpacked = folder / "unpacked"
    output_of("dpkg-deb", "--raw-extract", str(deb), str(unpacked))
    control = unpacked / "DEBIAN" / "control"
    control.write_text(control.read_text().replace("+py", ".1+py"))
    with (unpacked / CONFIGURATION).open("a") as file:
        file.write("# a new comment\n")
    higher = folder / deb.name.replace("+py", ".1+py")
    output_of("dpkg-deb", "--root-owner-group", "-Znone", "--build", str(unpacked), str(higher))
    return higher


@pytest.mark.broker
async def test_the_package_installs_in_a_clean_root_and_serves_as_the_unit_says(
    kafka_440, topic, root, deb, tmp_path
):
    await kafka_440.create_topic(topic)
    installed(root, deb)
    assert inside(root, "tsproxy", "--version") == f"tsproxy {version_of(ROOT)}\n"
    assert ": ok, " in inside(root, "tsproxy", "check", f"/{CONFIGURATION}")
    libraries = [f"/{each.relative_to(root)}" for each in (root / "opt/tsproxy").rglob("*.so")]
    assert libraries
    assert "not found" not in inside(root, "ldd", *libraries)

    service = read_unit(root / UNIT)["Service"]
    [user], [command] = service["User"], service["ExecStart"]
    uid, gid = (inside(root, "id", option, user).strip() for option in ("-u", "-g"))
    [state] = service["StateDirectory"]
    program, run, *flags = shlex.split(command)
    container = started_plainly(
        Image(root, {"Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"], "User": f"{uid}:{gid}"}),
        tmp_path,
        *flags[flags.index("--log-format") :],
        *("--upstream", kafka_440.bootstrap_servers, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"),
        *("--decisions", f"/var/lib/{state}/decisions"),
        command=[program, run],
        volume=f"/var/lib/{state}",
    )
    async with ProxyInContainer(container) as proxy:
        await assert_judges(proxy, topic)
    assert {line["event"] for line in proxy.log} & {"native_code_missing", "not_json"} == set()


def test_systemd_finds_nothing_to_say_about_the_installed_units(root, deb):
    installed(root, deb)
    assert inside(root, "systemd-analyze", "verify", "tsproxy.service") == ""
    text = (ROOT / "docs" / "guide" / "security.md").read_text()
    [documented] = re.findall(r"exposure of \*\*(\d\.\d)\*\*", text)
    threshold = f"--threshold={round(float(documented) * 10)}"
    inside(root, "systemd-analyze", "security", "--offline=true", threshold, "tsproxy.service")


def test_upgrade_and_removal_keep_the_configuration_and_the_decision_log(root, deb, tmp_path):
    installed(root, deb)
    own = (root / CONFIGURATION).read_text().replace("kafka-1.example.com", "kafka-7.example.com")
    (root / CONFIGURATION).write_text(own)
    log = root / "var/lib/tsproxy/decisions/decisions-1.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text("a line\n")

    asked = asked_of_systemd(root)
    told = inside_upgrade(root, of_the_next_version(deb, tmp_path))
    # A start has no end while the cluster does not answer, and dpkg would wait for it.
    assert asked.read_text().splitlines()[-1] == "--no-block try-restart tsproxy.service"
    shutil.rmtree(root / "run/systemd/system")
    assert "conffile" in told.lower() or "configuration file" in told.lower()
    assert (root / CONFIGURATION).read_text() == own
    assert ".1+py" in inside(root, "dpkg-query", "--show", "tsproxy")
    assert inside(root, "tsproxy", "--version").startswith("tsproxy ")

    inside(root, "dpkg", "--remove", "tsproxy")
    assert not (root / "opt/tsproxy").exists()
    assert not (root / "usr/bin/tsproxy").exists()
    assert (root / CONFIGURATION).read_text() == own
    assert log.read_text() == "a line\n"

    told = inside(root, "dpkg", "--purge", "tsproxy")
    assert "the decision log stays in /var/lib/tsproxy" in told
    assert not (root / "etc/tsproxy").exists()
    assert log.read_text() == "a line\n"


def asked_of_systemd(root):
    """The file of all that the package's scripts ask of a systemd from now on."""
    (root / "run/systemd/system").mkdir(parents=True)
    program = root / "usr/bin/systemctl"
    program.unlink()
    program.write_text('#!/bin/sh\necho "$*" >> /asked\n')
    program.chmod(0o755)
    return root / "asked"


def inside_upgrade(root, deb):
    """Nobody answers dpkg's question about the changed file: it keeps the operator's."""
    shutil.copy(deb, root / "tmp")
    return inside(root, "dpkg", "--force-confold", "--install", f"/tmp/{deb.name}")


def test_the_package_holds_nothing_of_the_machine_that_built_it(deb, tmp_path):
    """Apart from debug information in the native code, which a release leaves out (`environment_of`)."""
    output_of("dpkg-deb", "--extract", str(deb), str(tmp_path))
    here = str(Path(sys.prefix)).encode()
    assert [
        each
        for each in tmp_path.rglob("*")
        if each.is_file() and not each.is_symlink() and each.suffix != ".so" and here in each.read_bytes()
    ] == []
    assert not list(tmp_path.rglob("__pycache__"))
