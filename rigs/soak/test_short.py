"""The short form of `make soak`: half a minute, in which each connection of two workers leaks."""

import os

import pytest

from rigs.soak.fit import Verdict
from rigs.soak.verdict import ALL, faults, judge, read
from rigs.soak.world import Plan, Soak

SECONDS = 30
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
@pytest.mark.full_only("half a minute; test_verdict.py plants leaks in samples, test_fit.py in series")
async def test_a_leak_of_the_workers_is_found_in_a_real_run(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(LEAK)
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    monkeypatch.setenv("PYTHONPATH", path)
    plan = Plan(SECONDS, sample_s=0.5, reload_s=5, restart_s=12)
    lines = []
    async with Soak(plan, tmp_path, lines.append).running() as soak:
        await soak.run()
    record = read(lines)
    judged = judge(record)
    for worker in (1, 2):
        assert judged[f"worker {worker} own MiB"].verdict is Verdict.GROWS
    assert judged[ALL].verdict is Verdict.GROWS
    assert judged["supervisor descriptors"].verdict is Verdict.STEADY
    assert judged["tasks"].verdict is not Verdict.GROWS
    assert {kind for _, kind in record.events} == {"reload", "restart", "restarted"}
    assert not faults(record)
