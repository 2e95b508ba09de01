"""The files of a new cluster's folders: Kafka's storage tool is the oracle, and mostly not needed."""

from pathlib import Path

import pytest

from tests.full_only import variations
from tsproxy.testing.formatting import format_nodes
from tsproxy.testing.jars import fetch_kafka_jars
from tsproxy.testing.kafka_node import KafkaNode, Runtime
from tsproxy.testing.server_properties import ClientSecurity, NodePorts, server_properties


@pytest.fixture
def nodes(tmp_path):
    """Three that are not formatted yet, of a version that is nowhere: a Java for them would fail."""
    runtime = Runtime(tmp_path, "64m", 0)
    return [KafkaNode(n, NodePorts(n, 10 + n, 20 + n), tmp_path / f"node-{n}", runtime) for n in (1, 2, 3)]


def named(node):
    lines = (node.data / "meta.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if not line.startswith("#"))


def files(folder):
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}


async def test_nodes_begin_with_what_an_earlier_cluster_left_under_names_of_their_own(nodes, tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "bootstrap.checkpoint").write_bytes(b"versions of features")

    await format_nodes(nodes, {1: "a=1\n", 2: "a=2\n", 3: "a=3\n"}, (), kept)

    assert [node.properties_path.read_text() for node in nodes] == ["a=1\n", "a=2\n", "a=3\n"]
    assert {(node.data / "bootstrap.checkpoint").read_bytes() for node in nodes} == {b"versions of features"}
    names = [named(node) for node in nodes]
    assert [each["node.id"] for each in names] == ["1", "2", "3"]
    assert len({each["cluster.id"] for each in names}) == 1
    assert len({each["directory.id"] for each in names}) == 3


@pytest.mark.broker
@pytest.mark.parametrize(
    "version", variations("an older release", ["4.4.0", "4.3.1", "3.9.1"], but=["4.4.0"])
)
async def test_it_is_what_the_storage_tool_itself_writes(version, tmp_path):
    runtime = Runtime(fetch_kafka_jars(version), "128m", 0)
    ports = {n: NodePorts(n, 10 + n, 20 + n) for n in (1, 2)}
    nodes = [KafkaNode(n, ports[n], tmp_path / f"node-{n}", runtime) for n in ports]
    texts = {
        n.node_id: server_properties(n.node_id, ports, ClientSecurity("PLAINTEXT"), n.data) for n in nodes
    }
    kept = tmp_path / "kept"

    await format_nodes(nodes, texts, (), kept)

    by_tool, by_us = nodes
    assert files(by_us.data) == files(by_tool.data)
    assert named(by_tool).keys() == named(by_us).keys()
    assert named(by_tool)["cluster.id"] == named(by_us)["cluster.id"]
    checkpoint = files(by_tool.data) - {Path("meta.properties")}
    assert files(kept) == checkpoint
    for path in checkpoint:
        assert {(folder / path).read_bytes() for folder in (kept, by_us.data)} == {
            (by_tool.data / path).read_bytes()
        }
