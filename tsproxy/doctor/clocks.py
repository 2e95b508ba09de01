"""Findings about this machine's clock, by which the proxy judges timestamps. Nothing is written."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from tsproxy.clock import Clock
from tsproxy.config.settings import Config
from tsproxy.config.values import duration_text
from tsproxy.doctor.cluster import Node
from tsproxy.doctor.findings import Check, Finding, Grade
from tsproxy.proxy.clock_check.listening import newest_stamps
from tsproxy.proxy.clock_check.monitor import LISTEN_AGAIN_S
from tsproxy.proxy.clock_check.offsets import Offset, middle
from tsproxy.proxy.clock_check.stamps import Look, Newest, Stamps
from tsproxy.proxy.clock_check.system_clock import is_synchronised

CLOCK: Final = Check("clock")
_SYNCHRONISE: Final = "start a time service (chrony, systemd-timesyncd); for a container, on its host"
_COMPARE: Final = "compare `date -u` here and on the brokers, then repair time synchronization"


async def examine(
    config: Config,
    nodes: Sequence[Node],
    stamped_topics: Sequence[str],
    clock: Clock,
    kernel_is_synchronised: Callable[[], bool | None] = is_synchronised,
) -> list[Finding]:
    connections = {node.node_id: node.connection for node in nodes if node.connection is not None}
    stamps = Stamps()
    first = await newest_stamps(connections, stamped_topics, clock)
    stamps.record(*first)
    if first[1]:
        await asyncio.sleep(LISTEN_AGAIN_S)
        stamps.record(*await newest_stamps(connections, stamped_topics, clock))
    offset = middle(stamps.offsets(clock.monotonic_ms()))
    found = by_brokers(config.clock.max_offset_ms, first, offset)
    return [by_kernel(kernel_is_synchronised(), found), found]


def by_kernel(is_synchronised: bool | None, brokers: Finding) -> Finding:
    """The finding from the kernel. `brokers` is the one from the brokers' clocks: if these agree with ours,
    something keeps it right, whether the kernel knows it or not."""
    if is_synchronised is None:
        return CLOCK.skipped("this system does not say whether its clock is synchronized")
    if is_synchronised:
        return CLOCK.ok("the kernel says that this machine's clock is synchronized")
    text = "the kernel says that nothing synchronizes this machine's clock"
    if brokers.grade is Grade.OK:
        return CLOCK.ok(f"{text}, and the brokers' clocks agree with it")
    return CLOCK.warning(text, _SYNCHRONISE, "timedatectl set-ntp true")


def by_brokers(max_offset_ms: int, first: tuple[Look, Sequence[Newest]], offset: Offset | None) -> Finding:
    """The finding from the times that brokers wrote between two queries, or else from the newest time that
    any broker has written."""
    if offset is not None:
        return _by_offset(max_offset_ms, offset)
    look, newest = first
    ahead_ms = max((each.timestamp_ms for each in newest), default=0) - look.wall_ms
    if newest and ahead_ms > max_offset_ms:
        return CLOCK.problem(
            f"a broker has written a time that is {_seconds(ahead_ms)} ahead of this machine's clock: this "
            "clock is slow, and a slow clock rejects good records, or a broker's clock was fast then",
            _COMPARE,
        )
    return CLOCK.skipped(
        "brokers have written nothing with their own time in the last seconds, so the offset to their "
        "clocks is not known; the running proxy goes on looking (tsproxy_clock_offset_seconds)"
    )


def _by_offset(max_offset_ms: int, offset: Offset) -> Finding:
    side = "behind" if offset.ms < 0 else "ahead of"
    exact = f"to {_seconds(offset.error_ms)}"
    if offset.is_surely_beyond(max_offset_ms):
        return CLOCK.problem(
            f"this machine's clock is {_seconds(abs(offset.ms))} {side} the brokers' (known {exact}; "
            f"clock.max_offset is {duration_text(max_offset_ms)})",
            _COMPARE,
        )
    return CLOCK.ok(
        f"this machine's clock is {_seconds(abs(offset.ms))} {side} the brokers' (known {exact}, within "
        f"clock.max_offset {duration_text(max_offset_ms)} as far as that shows)"
    )


def _seconds(ms: float) -> str:
    return f"{ms / 1000:,.1f} s"
