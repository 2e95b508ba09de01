"""`tsproxy_event_loop_lag_seconds`: how late the event loop runs a task that is due.

Four times a second a task is due. Its delay is the time that every connection of this process waits for the
loop, because the core is busy or one step took long.
"""

import asyncio
from typing import Final

from tsproxy.proxy.metrics.catalogue import EVENT_LOOP_LAG

EVERY_S: Final = 0.25
_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class LoopLag:
    def __init__(self) -> None:
        self.histogram = EVENT_LOOP_LAG.histogram(_BUCKETS)

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due_s = loop.time() + EVERY_S
            await asyncio.sleep(EVERY_S)
            self.histogram.observe(max(0.0, loop.time() - due_s))
