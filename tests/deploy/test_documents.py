"""README, CONTRIBUTING and the pages name commands, make targets and files: all of them exist."""

import re
import shlex
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from deploy.site.links import PARTS
from spark_reports.cli import parser as reports
from tests.deploy.commands import ROOT, help_of
from tsproxy.cli import parser as proxy
from tsproxy.config.tree import KEYS

PARSERS = {"tsproxy": proxy, "spark_reports": reports}
DOCUMENTS = ("README.md", "CONTRIBUTING.md")
PAGES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))
TEXTS = {name: (ROOT / name).read_text() for name in (*DOCUMENTS, *PAGES)}
CODE = re.compile(r"^ *```\w*\n(.*?)^ *```$|^ {4}(\S[^\n]*)|`([^`\n]+)`", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:\w*\$ )?(?:[A-Z_]+=\S+ )?((?:tsproxy|spark_reports) [a-z][^|;>#]*)")
COMMANDS = sorted(
    {
        command
        for text in TEXTS.values()
        for code in CODE.findall(text.replace("\\\n", " "))
        for line in "".join(code).splitlines()
        for command in COMMAND.findall(line.strip())
    }
)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_a_page_is_read_by_the_program(command: str):
    program, name, *words = shlex.split(re.sub(r"[\[\]'…]", "", command))
    known = help_of(program, name)
    options = [word.partition("=")[0] for word in words if word.startswith("--")]
    assert [option for option in options if f"{option} " not in known] == []
    with suppress(SystemExit):  # a value such as DAY, or a part of a command
        assert PARSERS[program]().parse_known_args([name, *words])[1] == []


def test_every_make_target_in_the_documents_exists():
    named = {target for text in TEXTS.values() for target in re.findall(r"(?:`|^)make ([a-z-]+)", text, re.M)}
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert named
    assert named <= targets


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_that_a_document_names_is_there(document: str):
    quoted = set(re.findall(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|md|toml|lock|yaml))`", TEXTS[document]))
    missing = {path for path in quoted if not any(exists(path))}
    assert missing == set()


def exists(path: str) -> list[Path]:
    """Files of the checkout whose path ends so: documents leave out what the reader knows."""
    roots = ("", "tsproxy", "tsproxy/policy", "spark_reports", *(f"docs/{part}" for part in PARTS), "deploy")
    return [ROOT / root / path for root in roots if (ROOT / root / path).exists()]


def test_the_decision_log_of_the_quick_start_is_ignored_by_git():
    [folder] = [key.default for key in KEYS if key.path == "decisions.directory"]
    assert f"{folder}/" in (ROOT / ".gitignore").read_text().splitlines()


def test_each_way_to_two_proxies_says_which_name_a_proxy_advertises():
    """With a name of its own, clients bootstrap through the balancer, and then go past it."""
    part = (
        TEXTS["docs/guide/high-availability.md"]
        .partition("## Ways to two proxies\n")[2]
        .partition("\n## ")[0]
    )
    ways = re.split(r"^\*\*", part, flags=re.M)[1:]
    assert len(ways) == 5
    assert [way for way in ways if "advertised_host" not in way and "#ports-of-the-brokers" not in way] == []


def test_the_load_balancers_checks_reach_the_admin_port_of_the_same_page_and_see_the_drain():
    page = TEXTS["docs/guide/high-availability.md"]
    options = re.search(r"default-server check port (\d+) inter (\d+)s fall (\d+)", page)
    assert options
    port, every_s, times = map(int, options.groups())
    admin, limits = (re.search(rf"^{section}:\n(?: .*\n)+", page, re.M) for section in ("admin", "limits"))
    assert admin
    assert limits
    address = yaml.safe_load(admin[0])["admin"]["bind"]
    assert address == f"0.0.0.0:{port}"
    delay = yaml.safe_load(limits[0])["limits"]["drain_delay"]
    assert int(delay.removesuffix("s")) > every_s * times
