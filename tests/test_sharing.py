"""Which process gets which tests, and in which order they start."""

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
        ("tests/spark_reports/test_store.py::test_one", "tests/spark_reports/ of tables"),
        ("tests/spark_reports/test_stream_kafka.py::test_one", "tests/spark_reports/test_stream_kafka.py"),
        ("tests/e2e/test_seconds.py::test_one", "tests/e2e/ with Spark"),
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
