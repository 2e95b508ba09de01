"""The finding about this machine's clock, by which the proxy judges timestamps: one line, and nothing is
written."""

import asyncio
from collections.abc import Sequence
from typing import Final

from tsproxy.clock import Clock
from tsproxy.config.settings import Config
from tsproxy.config.values import duration_text
from tsproxy.doctor.cluster import Node
from tsproxy.doctor.findings import Check, Finding
from tsproxy.proxy.clock_check.listening import newest_stamps
from tsproxy.proxy.clock_check.monitor import RETRY_DELAY_S
from tsproxy.proxy.clock_check.offsets import Offset, middle
from tsproxy.proxy.clock_check.stamps import Stamps

CLOCK: Final = Check("clock")


async def examine(
    config: Config, nodes: Sequence[Node], stamped_topics: Sequence[str], clock: Clock
) -> Finding:
    """Compares the clock with the times that brokers write between two looks."""
    connections = {node.node_id: node.connection for node in nodes if node.connection is not None}
    stamps = Stamps()
    stamps.record(*await newest_stamps(connections, stamped_topics, clock))
    await asyncio.sleep(RETRY_DELAY_S)
    stamps.record(*await newest_stamps(connections, stamped_topics, clock))
    return by_offset(config.clock.max_offset_ms, middle(stamps.offsets(clock.monotonic_ms())))


def by_offset(max_offset_ms: int, offset: Offset | None) -> Finding:
    if offset is None:
        return CLOCK.skipped(
            "brokers wrote nothing with their own time meanwhile, so their clocks are not known"
        )
    side = "behind" if offset.ms < 0 else "ahead of"
    text = (
        f"this machine's clock is {abs(offset.ms) / 1000:,.1f} s {side} the brokers' (known to "
        f"{offset.error_ms / 1000:,.1f} s; clock.max_offset is {duration_text(max_offset_ms)})"
    )
    if offset.is_surely_beyond(max_offset_ms):
        return CLOCK.problem(text, "compare `date -u` here and on the brokers, and fix the time service")
    return CLOCK.ok(text)
