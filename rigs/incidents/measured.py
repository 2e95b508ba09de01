"""The seconds until an operator is told the cause, and until nothing is told any more."""

import asyncio
import re
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from html import unescape
from http.client import HTTPException

from rigs.incidents.clients import connecting
from rigs.incidents.runbook import follow_back, looked
from tests.kit.admin import internal
from tests.proxy.running import page, series
from tests.proxy.world import until

LOOK_EVERY_S = 0.25
PATIENCE_S = 60
MAX_S = 15
"""The longest time that an operator should have to wait."""
PLACES = ("page", "readyz", "log", "metric")


@dataclass(slots=True)
class Seconds:
    """By place; None where nothing was told within PATIENCE_S."""

    told: dict[str, float | None] = field(default_factory=dict)
    sentence: str = ""
    back: float | None = None
    looks: list[str] = field(default_factory=list)
    """The last of what was seen, if it was not what it should be."""


async def headline(proxy):
    """The first sentence of the live page."""
    _, text = await page(proxy.admin_address, "/")
    return unescape(re.sub("<[^>]*>", "", text.partition("<h1>")[2].partition("</h1>")[0])).strip()


async def measured(incident, kafka, *, comes_back=True):
    """Provoke the incident and look, then follow the runbook back."""
    loop = asyncio.get_running_loop()
    async with incident(kafka) as scene, connecting(scene):
        proxy, found = scene.proxy, Seconds()
        await until(partial(_is_well, incident, proxy), "the metric is well")
        before, lines = await series(proxy), len(proxy.log)
        assert not is_told(incident, await headline(proxy)), "it is told before it began"
        beginning = asyncio.create_task(scene.begin())
        began_s = loop.time()

        async def look(place, looks):
            while not await answered(looks):
                if beginning.done() and loop.time() > began_s + PATIENCE_S:
                    found.told[place] = None
                    return
                await asyncio.sleep(LOOK_EVERY_S)
            found.told[place] = loop.time()

        async def on_page():
            found.sentence = await headline(proxy)
            return is_told(incident, found.sentence)

        async def in_readyz():
            _, text = await page(proxy.admin_address, "/readyz?verbose")
            return is_told(incident, text)

        async def in_log():
            return any(incident.is_in(line) for line in proxy.log[lines:])

        async def in_metric():
            return incident.series.is_ill(before, await series(proxy))

        looks = dict(zip(PLACES, (on_page, in_readyz, in_log, in_metric), strict=True))
        known = {"ADMIN": f"http://{proxy.admin_address}", "BROKER": internal(kafka), **scene.variables}

        async def look_up():
            """An operator looks as soon as the page tells: some incidents are soon over by themselves."""
            await watching["readyz"]
            return await looked(incident.section, known)

        watching = {place: asyncio.create_task(look(place, each)) for place, each in looks.items()}
        looking_up = asyncio.create_task(look_up())
        await beginning
        began_s = loop.time()
        await asyncio.gather(*watching.values())
        found.told = {
            place: None if at_s is None else max(0.0, at_s - began_s) for place, at_s in found.told.items()
        }
        if None in found.told.values():
            _, text = await page(proxy.admin_address, "/readyz?verbose")
            found.looks += [text, *(str(line) for line in proxy.log[lines:][-30:])]
        printed = await looking_up
        assert any(is_told(incident, text) for text in printed.values()), printed
        if comes_back:
            await scene.repair()
            if scene.way_back:
                await follow_back(incident.section, scene.way_back, known)
            repaired_s = loop.time()
            found.back = await _back(incident, proxy, repaired_s)
    return found


def is_told(incident, text):
    return re.search(incident.says, text, re.IGNORECASE) is not None


async def _is_well(incident, proxy):
    now = await series(proxy)
    return not incident.series.is_ill(now, now)


async def answered(looks):
    """Whether it is told. A page that does not answer tells nothing."""
    with suppress(OSError, HTTPException):
        return await looks()
    return False


async def _back(incident, proxy, repaired_s):
    """Seconds until the page does not name the incident any more."""
    loop = asyncio.get_running_loop()
    while is_told(incident, await headline(proxy)):
        if loop.time() > repaired_s + 180:
            return None
        await asyncio.sleep(LOOK_EVERY_S)
    return loop.time() - repaired_s
