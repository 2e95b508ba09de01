"""Names that a client chose: of topics, of itself."""

import pytest

from tests.attacks.attacker import answer_to, far_ahead, metric, port_of, produce
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.model.kafka import is_topic_name
from tsproxy.testing.proxy import RunningProxy

REJECTED = 'tsproxy_batches_total{listener="default",reason="too_far_ahead",verdict="rejected"}'

STRANGE_TOPICS = [b"\xff\xfe", b"\xed\xa0\x80", b"a\x00b", b"x" * 32767, b"", b"..", "ö".encode()]


async def test_a_topic_name_that_is_no_utf_8_does_not_keep_the_proxy_from_learning_other_topics(
    kafka_440, topic
):
    """One such request once stopped all that the proxy learns of its cluster, until it was restarted."""
    await kafka_440.create_topic(topic)
    async with RunningProxy(kafka_440.bootstrap_servers) as proxy:
        for name in STRANGE_TOPICS:
            assert await answer_to(port_of(proxy), produce(name, far_ahead(Clock()))) is not None, name

        async def is_judged_here():
            await answer_to(port_of(proxy), produce(topic.encode(), far_ahead(Clock())))
            return await metric(proxy, REJECTED) > 0

        await until(is_judged_here, "the limits of a new topic are known")
    assert not [line for line in proxy.log if line["event"].endswith("_crashed")]


TOPICS = ["orders", "a", "...", "A-b_c.9", "x" * 249]
NO_TOPICS = ["", ".", "..", "x" * 250, "a b", "ö", "a\n", "\udcff", "a/b"]


@pytest.mark.parametrize("name", [*TOPICS, *NO_TOPICS])
def test_what_a_topic_may_be_called(name):
    assert is_topic_name(name) is (name in TOPICS)
