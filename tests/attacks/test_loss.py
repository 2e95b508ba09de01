"""Nothing lost, nothing twice, nothing forbidden: whoever dies, whatever changes."""

import asyncio

from tests.attacks.attacker import HOST, port_of
from tests.proxy.test_reload import error_code
from tests.proxy.world import until
from tsproxy.testing.proxy import RunningProxy

MINUTE_MS = 60_000


async def test_a_limit_made_tighter_holds_on_a_connection_whose_batches_passed_before(kafka_440, topic):
    """The fast path forwards what it once learned to be acceptable; it must forget in time."""
    await kafka_440.create_topic(topic)
    ahead_ms = 30 * MINUTE_MS
    async with RunningProxy(
        kafka_440.bootstrap_servers, settings={"upstream.admin.refresh": "250ms"}
    ) as proxy:
        connection = await asyncio.open_connection(HOST, port_of(proxy))
        codes = [await error_code(connection, topic, ahead_ms) for _ in range(20)]
        assert codes == [0] * 20
        await kafka_440.alter_topic(topic, {"message.timestamp.after.max.ms": str(MINUTE_MS)})

        async def is_rejected_here():
            await error_code(connection, topic, ahead_ms)
            return any(line.get("verdict") == "rejected" for line in proxy.decisions())

        await until(is_rejected_here, "the proxy knows the new limit")
        codes = [await error_code(connection, topic, ahead_ms) for _ in range(20)]
        assert codes == [32] * 20
        connection[1].close()
