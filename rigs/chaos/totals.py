"""Watches the totals of `/metrics`: a total that falls while its supervisor lives looks like a restart."""

import asyncio
import urllib.error
import urllib.request

EVERY_S = 0.5
PATIENCE_S = 5


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
            try:
                text = await asyncio.to_thread(page_of, self._proxy.metrics)
            except OSError:
                text = None
            if text is not None and supervisor == self._proxy.supervisor:
                self.compare(supervisor, text)
            await asyncio.sleep(EVERY_S)

    def compare(self, supervisor, text):
        """Compare a page with the one before it."""
        now = totals(text)
        before = self._last[1] if self._last[0] == supervisor else {}
        self.fallen += [
            f"{name} {was} -> {now.get(name)}" for name, was in before.items() if now.get(name, 0) < was
        ]
        self._last = supervisor, now


def totals(text):
    """The counters of a page, by their lines without the value."""
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines if name.partition("{")[0].endswith("_total")}


def page_of(request):
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        return answer.read().decode()
