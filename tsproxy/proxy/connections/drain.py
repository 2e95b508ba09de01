"""Ends all connections gracefully: brokers' missing answers are forwarded, then both sides close."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from tsproxy.proxy.connections.listener import ProxyListener

POLL_S: Final = 0.02
GOODBYE_S: Final = 1.0
"""How long clients that wait for no answer may take to close their end."""


async def drain(proxy_listeners: Sequence[ProxyListener], timeout_s: float, stop_now: asyncio.Event) -> int:
    """Stop accepting, wait for missing answers, close all connections, and cut those that do not close.

    It waits at most `timeout_s`, and not after `stop_now` is set. Returns how many clients were cut while
    they still waited for an answer.
    """
    for proxy_listener in proxy_listeners:
        proxy_listener.stop_accepting()
        await proxy_listener.stop_connecting()
        for relay in list(proxy_listener.relays):
            relay.drain()
    await _wait(lambda: _unsettled(proxy_listeners) > 0, timeout_s, stop_now)
    cut = _unsettled(proxy_listeners)
    if not cut:
        await _wait(
            lambda: any(proxy_listener.relays for proxy_listener in proxy_listeners), GOODBYE_S, stop_now
        )
    for proxy_listener in proxy_listeners:
        for relay in list(proxy_listener.relays):
            relay.abort()
    return cut


async def _wait(lasts: Callable[[], bool], timeout_s: float, stop_now: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    # ASYNC110 asks for an event, but there is none for a transport that has sent everything.
    while lasts() and loop.time() < deadline and not stop_now.is_set():  # noqa: ASYNC110
        await asyncio.sleep(POLL_S)


def _unsettled(proxy_listeners: Sequence[ProxyListener]) -> int:
    return sum(not relay.is_settled for proxy_listener in proxy_listeners for relay in proxy_listener.relays)
