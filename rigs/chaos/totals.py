"""Watches the totals of `/metrics`: a total that falls while its supervisor lives looks like a restart."""

import asyncio
from contextlib import suppress

from rigs.chaos.proxy import TOKEN
from tests.proxy.running import series

EVERY_S = 0.5


class Totals:
    """`run` reads the page of a proxy again and again. `fallen` names the totals that fell."""

    def __init__(self, proxy):
        self.fallen = []
        self._proxy = proxy
        self._last = (None, {})
        self._stopping = asyncio.Event()

    def stop(self):
        self._stopping.set()

    async def run(self):
        while not self._stopping.is_set():
            supervisor = self._proxy.supervisor
            with suppress(OSError):
                shown = await series(self._proxy, TOKEN)
                if supervisor == self._proxy.supervisor:
                    self.compare(supervisor, shown)
            await asyncio.sleep(EVERY_S)

    def compare(self, supervisor, shown):
        """Compare the series of a page with those before it."""
        now = {name: value for name, value in shown.items() if name.partition("{")[0].endswith("_total")}
        before = self._last[1] if self._last[0] == supervisor else {}
        self.fallen += [
            f"{name} {was} -> {now.get(name)}" for name, was in before.items() if now.get(name, 0) < was
        ]
        self._last = supervisor, now
