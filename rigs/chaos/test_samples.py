"""The growth of a soak's series: each planted leak is found, and a series that only wanders is none."""

import os
import random

import pytest

from rigs.chaos.rounds import live
from rigs.chaos.samples import ALL, growth, leaks
from rigs.chaos.soak import ATTACKS, SAMPLES, soaked
from rigs.chaos.world import PROXIES, World


def series(name, value):
    """A soak's samples of this series; `value(n)` is the n-th."""
    return [{name: value(n)} for n in range(SAMPLES)]


def wandering(seed, by=0.0, correlation=0.9):
    """A worker's memory that grows by so much meanwhile. A sample keeps most of the one before."""
    chance, state = random.Random(seed), 0.0

    def value(n):
        nonlocal state
        state = correlation * state + chance.gauss(0, 0.3 * (1 - correlation**2) ** 0.5)
        return 50 + by * n / SAMPLES + state

    return series("worker 1 own MiB", value)


def test_a_series_that_grows_is_found_and_one_that_wanders_is_not():
    assert all(leaks(growth(wandering(seed, by=4.0))) for seed in range(200))
    assert not any(leaks(growth(wandering(seed))) for seed in range(200))


@pytest.mark.parametrize(
    ("name", "value", "grows"),
    [
        ("worker 1 own MiB", lambda n: 18, False),
        ("worker 1 own MiB", lambda n: 900 if n % 60 == 59 else 50, False),
        ("worker 1 own MiB", lambda n: 50 + 2 * (n // 60), True),
        ("supervisor descriptors", lambda n: 30 + n // 60, True),
        ("worker 1 descriptors", lambda n: 30 + n // 60, False),
        (ALL, lambda n: 90 + n // 30, True),
        ("tasks", lambda n: 47 + n // 60, True),
    ],
    ids=["never changes", "peaks", "a step at each restart", "supervisor", "one worker", "all", "tasks"],
)
def test_growth_beyond_its_bound_is_a_leak(name, value, grows):
    """A worker's descriptors follow its clients: the sum of all processes counts."""
    assert (name in leaks(growth(series(name, value)))) is grows


def test_the_growth_is_that_of_the_time_that_is_judged():
    assert growth(series("tasks", lambda n: n)) == {"tasks": pytest.approx(SAMPLES / 2, rel=0.02)}


def test_too_few_samples_are_refused():
    with pytest.raises(ValueError):
        growth([{"tasks": 1}] * 20)


LEAK = """\
import os

from tsproxy.proxy.workers.channel import VARIABLE

if VARIABLE in os.environ:
    from tsproxy.proxy.connections.relay import Relay

    begin, kept = Relay.__init__, []

    def leak(*arguments, **named):
        kept.append((bytearray(b"x" * (1 << 18)), *(open(os.devnull) for _ in range(4))))
        begin(*arguments, **named)

    Relay.__init__ = leak
"""
"""Python imports `sitecustomize` when it starts. A connection leaves 256 KiB and four descriptors behind."""


@pytest.mark.broker
@pytest.mark.timeout(1_800)
@pytest.mark.full_only("half a minute; the other tests plant leaks in samples")
async def test_a_leak_of_the_workers_is_found_in_a_real_run_and_nothing_is_lost(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(LEAK)
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    monkeypatch.setenv("PYTHONPATH", path)
    samples = []
    async with World(tmp_path, PROXIES[:1]) as world:
        happen = soaked(world, 30, 2026, samples, reload_s=5, restart_s=12)
        life = await live(world, "soak", happen, attackers=1, attacks=ATTACKS)
        events = world.proxies[0].events()
    leaking = leaks(growth(samples))
    assert {"worker 1 own MiB", "worker 2 own MiB", ALL} <= leaking.keys()
    assert not {"supervisor descriptors", "tasks"} & leaking.keys()
    assert life.is_clean, life.as_line()
    assert life.consumed
    assert "config_reloaded" in events
