"""The page of tsproxy.testing: its commands are run, and its examples are a test suite that passes."""

import re
import shlex
import sys
from inspect import signature
from pathlib import Path

import pytest
from _pytest.fixtures import FixtureFunctionDefinition

from tests.kit.commands import output_of
from tsproxy.testing import fixtures
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

PAGE = (Path(__file__).parents[2] / "tsproxy" / "testing" / "README.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^```(?:python|toml)\n# (\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
PYTHON = (sys.executable, "-m")
COMMANDS = re.findall(r"^python -m (tsproxy\.testing\.[^#\n]+)", PAGE, re.MULTILINE)


def test_every_example_names_its_file():
    assert PAGE.count("\n```python\n") + PAGE.count("\n```toml\n") == len(FILES)
    assert {"pyproject.toml", "test_orders.py"} < set(FILES)
    assert "conftest.py" not in FILES, "the fixtures of the examples come with the plug-in"


def test_every_fixture_of_the_plug_in_is_in_the_table():
    section = PAGE.partition("## Fixtures for pytest\n")[2].partition("\n## ")[0]
    shipped = {name for name, each in vars(fixtures).items() if isinstance(each, FixtureFunctionDefinition)}

    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == shipped


THREE_BROKERS = "two_brokers_serve_while_the_third_is_down"


@pytest.mark.broker
@pytest.mark.parametrize(
    ("option", "count"),
    [
        (("-k", f"not {THREE_BROKERS}"), PAGE.count("def test_") - 1),
        pytest.param(
            ("-k", THREE_BROKERS), 1, marks=pytest.mark.full_only("tests/e2e/cluster has three brokers")
        ),
    ],
    ids=["with one broker", "with three"],
)
def test_the_examples_pass(option: tuple[str, ...], count: int, tmp_path: Path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    printed = output_of(*PYTHON, "pytest", "-p", "no:cacheprovider", *option, cwd=tmp_path)
    assert f"{count} passed" in printed


@pytest.mark.broker
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_runs(command: str, tmp_path: Path):
    assert output_of(*PYTHON, *shlex.split(command), cwd=tmp_path)


def test_every_argument_and_method_of_the_tables_exists():
    """The tables of `KafkaCluster` and `RunningProxy` are complete, and name nothing that is not there."""
    for kind in (KafkaCluster, RunningProxy):
        section = re.search(rf"^## [^\n]*{kind.__name__}\n(.*?)^## ", PAGE, re.MULTILINE | re.DOTALL)
        assert section is not None
        cells = "".join(re.findall(r"^\| (`[^|]*`) \|", section[1], re.MULTILINE))
        quoted = re.findall(r"`([^`]+)`", cells)
        named = {name.removeprefix("await ").partition("(")[0] for name in quoted}
        arguments = set(signature(kind).parameters)
        public = {name for name in vars(kind) if not name.startswith("_")}
        attributes = {"log"} if kind is RunningProxy else set()
        assert named == arguments | public | attributes
