"""Produce 13 before a real broker: a topic is named by an id that no topic has (KIP-516)."""

from tests.attacks.attacker import answer_to, port_of
from tests.e2e.test_policy import now_ms
from tests.session.messages import produce
from tests.wire.batches import batch
from tsproxy.testing.proxy import RunningProxy


async def test_an_id_that_no_topic_has_is_answered_as_by_the_broker(kafka_440):
    """UNKNOWN_TOPIC_ID (100), byte for byte."""
    asked = produce({"nobody's topic": {0: batch([now_ms()])}}, version=13)
    direct = await answer_to(int(kafka_440.bootstrap_servers.rpartition(":")[2]), asked)
    async with RunningProxy(kafka_440.bootstrap_servers) as proxy:
        through = await answer_to(port_of(proxy), asked)
    assert through == direct
    assert b"\x00\x64" in through
    (line,) = [line for line in proxy.decisions() if line["event"] == "counters"]
    assert line["topic"].startswith("id:")
    facts = {"verdict": "rejected", "reason": "unknown_topic_id", "error_code": 100, "is_final": False}
    assert line.items() >= facts.items()
