"""Which process gets which tests, in which order they start, and what each tells."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import shared_brokers, sharing
from tests.proxy.running import rejects
from tests.proxy.world import until


@pytest.mark.parametrize(
    ("test", "unit"),
    [
        ("tests/wire/test_frames.py::test_one[a::b]", "tests/wire/test_frames.py"),
        ("tests/e2e/cluster/test_clocks.py::test_one", "tests/e2e/cluster/"),
        ("tests/spark_reports/test_read.py::test_one", "tests/spark_reports/"),
        ("tests/spark_reports/test_store.py::test_one", "with Spark: tables, and reports on real brokers"),
        ("tests/e2e/test_seconds.py::test_one", "with Spark: tables, and reports on real brokers"),
        ("tests/spark_reports/test_submit.py::test_one", "tests/spark_reports/test_submit.py"),
        ("tests/spark_reports/pure/test_words.py::test_one", "tests/spark_reports/pure/test_words.py"),
    ],
)
def test_a_unit_is_a_file_or_all_tests_that_share_something_expensive(test, unit):
    assert sharing.unit_of(test) == unit


def test_the_longest_units_start_first_and_the_others_keep_their_order(tmp_path, monkeypatch):
    table = tmp_path / "durations.json"
    table.write_text('{"tests/c.py": 9, "tests/spark_reports/": 90}')
    monkeypatch.setattr(sharing, "TABLE", table)
    names = [
        "tests/b.py::1",
        "tests/a.py::1",
        "tests/c.py::1",
        "tests/spark_reports/d.py::1",
        "tests/c.py::2",
    ]
    items = [SimpleNamespace(nodeid=name) for name in names]

    sharing.pytest_collection_modifyitems(items)

    order = [
        "tests/spark_reports/d.py::1",
        "tests/c.py::1",
        "tests/c.py::2",
        "tests/b.py::1",
        "tests/a.py::1",
    ]
    assert [item.nodeid for item in items] == order


def test_a_second_spark_session_is_refused():
    item = SimpleNamespace(nodeid="tests/e2e/test_new.py::test_one", fixturenames=["spark"])
    with pytest.raises(pytest.UsageError, match=r"test_new.py::test_one .* TOGETHER"):
        sharing.pytest_collection_modifyitems([item])


@pytest.mark.broker
async def test_all_processes_of_a_run_share_a_broker_which_ends_with_the_run():
    with shared_brokers.folder_of_a_run() as folder:
        process = SimpleNamespace(workerinput={shared_brokers.KEY: str(folder)})
        async with shared_brokers.attached(process, "4.4.0") as kafka:
            await kafka.create_topic("orders")
        async with shared_brokers.attached(process, "4.4.0") as same:
            assert await same.end_offsets("orders") == {0: 0}
            with pytest.raises(RuntimeError, match="not running"):
                await same.stop_node(1)
    node = same.node(1)
    await until(lambda: not node.folder.exists() and rejects(node.host, node.port))


def test_a_run_of_one_process_has_brokers_of_its_own():
    assert shared_brokers.attached(SimpleNamespace(), "4.4.0") is None


ODD = r"""
import logging, warnings
NAME = b"app-\xff".decode("utf-8", "surrogateescape")

def test_that_logs():
    logging.getLogger("odd").warning(NAME)

def test_that_warns():
    warnings.warn(NAME)

def test_that_fails():
    raise ValueError(NAME)
"""
OTHER_ENDS = pytest.mark.full_only("a run of three processes each; below, a broken run names its error")
SECOND_SPARK = """
def test_that_asks(spark):
    pass
"""
BROKEN = """
def pytest_runtest_logfinish(nodeid):
    if "breaks" in nodeid:
        raise SystemError("the plug-in is broken")
"""


def shared_run(folder):
    (folder / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "2", "-p", "tests.sharing", "--rootdir", folder, folder],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )


@OTHER_ENDS
def test_a_test_whose_text_is_no_unicode_is_told(tmp_path):
    (tmp_path / "test_odd.py").write_text(ODD)
    run = shared_run(tmp_path)
    assert "1 failed, 2 passed" in run.stdout
    assert r"ValueError: app-\udcff" in run.stdout
    assert run.returncode == pytest.ExitCode.TESTS_FAILED


@OTHER_ENDS
def test_what_ends_all_processes_is_told(tmp_path):
    (tmp_path / "test_second.py").write_text(SECOND_SPARK)
    run = shared_run(tmp_path)
    assert "ERROR: test_second.py::test_that_asks asks for Spark: add its file to TOGETHER" in run.stderr
    assert run.returncode == pytest.ExitCode.INTERNAL_ERROR


def test_a_broken_run_ends_with_its_first_error_and_the_tests_that_did_not_run(tmp_path):
    (tmp_path / "conftest.py").write_text(BROKEN)
    (tmp_path / "test_few.py").write_text("def test_breaks(): pass\ndef test_after(): pass\n")
    run = shared_run(tmp_path)
    assert run.returncode == pytest.ExitCode.INTERNAL_ERROR
    end = run.stdout.partition("The first internal error:")[2]
    assert "the plug-in is broken" in end
    assert "test_few.py::test_after" in end
