"""Decision files to be written, and what lies in a folder of them."""

import json

from tests.kit.clocks import HandClock
from tests.proxy.world import until
from tsproxy.config.settings import Decisions, Retention
from tsproxy.proxy.decision_log.files import DecisionFiles

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
FOR_EVER = Retention(age_ms=None, size_bytes=None)


def settings_of(folder, *, every_ms=HOUR_MS, size_bytes=1 << 20, sync_every_ms=None, retention=FOR_EVER):
    return Decisions(
        directory=folder,
        interval_ms=MINUTE_MS,
        rotate_every_ms=every_ms,
        rotate_size_bytes=size_bytes,
        sync_every_ms=sync_every_ms,
        retention=retention,
    )


def files_in(folder, *, clock=None, boot="boot.9", ages_by=None, **settings):
    clock = clock or HandClock()
    return DecisionFiles(settings_of(folder, **settings), "proxy/1", boot, clock, ages_by or clock.now_ms)


def written(folder, *together, **settings):
    """Files that were begun and closed. These lines were put between, each list together."""
    files = files_in(folder, **settings)
    files.start()
    for lines_put in together:
        files.put(lines_put)
    assert files.stop(10)
    return files


async def begin(files):
    """They are written to, and have their first line."""
    files.start()
    files.put([{"n": 1}])
    await until(lambda: files.written == 1)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def lines(folder, pattern="*.jsonl"):
    return [json.loads(line) for path in sorted(folder.glob(pattern)) for line in path.open()]
