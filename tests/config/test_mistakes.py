"""Every mistake in the tables of both mistakes.md is made here, and its message is what stands there."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.config.files import SMALLEST
from tsproxy.cli import main
from tsproxy.config import ConfigError, load
from tsproxy.config.document import parse_yaml
from tsproxy.config.notices import notices

TABLES = (Path(__file__).parent / "mistakes.md").read_text(encoding="utf-8")
PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "mistakes.md").read_text(encoding="utf-8")
FILE = "tsproxy.yaml"
NOW_MS = 1_796_083_200_000
SUBJECTS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", TABLES, re.M | re.S))


def rows(subject):
    """(what is written, what is said of it) of a subject's table."""
    return rows_of(SUBJECTS[subject])


def rows_of(page):
    """The same of all tables of a page."""
    cells = re.findall(r"^\| (`.*`) \| (`.*`) \|$", page.replace("\\|", "\0"), re.M)
    return [tuple(_plain(cell) for cell in row) for row in cells]


def _plain(cell):
    inner = cell[3:-3] if cell.startswith("`` ") else cell[1:-1]
    return inner.replace("\0", "|")


def said_of(line):
    """The errors of a file with this line under three right ones, each without its place."""
    try:
        others = SMALLEST.replace("upstream:", "#", 1) if line.startswith("upstream:") else SMALLEST
        config = load(parse_yaml(f"{others}{line}\n", FILE), {})
        said = [f"{each.place}: {each.key}: notice: {each.text}" for each in notices(config, NOW_MS)]
    except ConfigError as error:
        said = [str(problem) for problem in error.problems]
    return [each.removeprefix(f"{FILE}:4: ") for each in said]


BY_COMMAND = {"Certificates", "Commands"}
FILES = [row for subject in SUBJECTS if subject not in BY_COMMAND for row in rows(subject)] + rows_of(PAGE)


@pytest.mark.parametrize(("line", "told"), FILES, ids=[line for line, _ in FILES])
def test_a_file_with_a_mistake_is_told_what_the_page_says(line, told):
    assert said_of(line) == [told]


@pytest.mark.parametrize(("command", "told"), rows("Commands"))
def test_a_command_with_a_mistake_is_told_what_the_page_says(command, told, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path(FILE).write_text(SMALLEST)
    try:
        status = main(command.split()[1:])
    except SystemExit as ended:
        status = ended.code
    assert status == 2
    assert capsys.readouterr().err.splitlines()[-1] == told


@pytest.mark.parametrize(("line", "told"), rows("Certificates"))
def test_a_mistake_about_certificates_is_told_as_the_page_says(
    line, told, certificates, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    identity = certificates.issue("mistaken")
    Path("server.pem").write_bytes(identity.certificate.read_bytes())
    Path("server.key").write_bytes(identity.key.read_bytes())
    Path(FILE).write_text(f"{SMALLEST}{line}\n")

    assert main(["check", FILE]) == 2
    assert capsys.readouterr().err == f"{FILE}:4: {told}\n"


TOGETHER = {
    "Modes and candidate limits": {"Modes", "Candidate limits"},
    "Limits and rules": {"Limits", "Which rule decides"},
    "Missing, zero and negative timestamps": {
        "Missing, zero and negative timestamps",
        "Timestamps before 1970",
    },
    "Internal topics": set(),
    "Units and key names": set(),
    "Listeners": set(),
    "Certificates": set(),
    "Brokers": set(),
    "The decision log": set(),
    "The admin port": set(),
    "Shutdown and logging": set(),
    "Commands": {"tsproxy explain: why a record is rejected"},
}
"""The sections of policy.md, or of another page, that one table is about."""


def test_a_mistake_stands_once():
    assert len(rows_of(PAGE)) > 8
    assert [row for row, count in Counter([*rows_of(TABLES), *rows_of(PAGE)]).items() if count > 1] == []


def test_every_subject_of_the_policy_has_its_mistakes():
    policy = Path(__file__).parents[2] / "docs" / "guide" / "policy.md"
    sections = set(re.findall(r"^## (.+)$", policy.read_text(encoding="utf-8"), re.M))
    assert set().union(*(TOGETHER.get(subject, {subject}) for subject in SUBJECTS)) == sections
    assert all(rows(subject) for subject in SUBJECTS)


RIGHT = (
    "policy: { limits_from: stricter, defaults: { message.timestamp.after.max.ms: 10m } }",
    "policy: { rules: [{ name: all }, { name: own, match: { topics: ['*-changelog'] } }] }",
    "policy: { rules: [{ name: a, on_violation: stamp, keep_original_time: yes }] }",
    "policy: { mode: audit, rules: [{ name: a, on_violation: repair }] }",
    "policy: { rules: [{ name: a, match: { principals: ['User:a'] }, message.timestamp.before.max.ms: 30d },"
    " { name: b, message.timestamp.before.max.ms: 1h }] }",
    "policy: { rules: [{ name: a, match: { principals: ['User:etl'] }, mode: 'off' }] }",
    "policy: { mode: audit, rules: [{ name: a, match: { principals: ['User:etl'] }, zero: reject }] }",
    "policy: { limits_from: config, defaults: { message.timestamp.before.max.ms: 1d },"
    " rules: [{ name: a, match: { principals: ['User:etl'] }, message.timestamp.before.max.ms: 30d }] }",
    "decisions: { rotate: { every: 24h } }",
    "policy: { rules: [{ name: a, message.timestamp.before.max.ms: 604800000 }] }",
    "policy: { rules: [{ name: a, match: { topics: ['orders-*', 'shop.eu', 'shop[.]*', '/a.*/'] } }] }",
    r"policy: { rules: [{ name: a, match: { principals: ['User:CN=Doe\, John', 'User:*'] } }] }",
    "policy: { rules: [{ name: a, match: { principals: ['User:CN=etl,*', '/User:a{1,2}/'] } }] }",
    "policy: { rules: [{ name: a, match: { client_ids: ['a[,]b', '/a{1,2}/'] } }] }",
    "policy: { rules: [{ name: a, match: { client_software: ['apache-kafka-java/4.*'] } }] }",
    "upstream: { bootstrap_servers: [a:1], tls: {}, "
    "admin: { sasl: { mechanism: PLAIN, username: u, password: p } } }",
    "    proxy_protocol: { from: [10.0.0.0/8, '2001:db8::/32'] }",
    "    tls: { certificate: c.pem, key: k.pem, client_ca: a.pem, client_auth: requested, "
    "principal_mapping: [DEFAULT] }",
    "admin: { tls: { certificate: c.pem, key: k.pem, client_ca: a.pem } }",
    "admin: { bind: off, tls: { certificate: c.pem, key: k.pem, client_ca: a.pem, client_auth: requested } }",
    "admin: { token: 3f1c9a }",
    "admin: { bind: localhost:9464, token: 3f1c9a }",
    "admin: { bind: '[::1]:9464', token: 3f1c9a }",
)


@pytest.mark.parametrize("line", RIGHT)
def test_a_right_file_is_told_nothing(line):
    assert said_of(line) == []
