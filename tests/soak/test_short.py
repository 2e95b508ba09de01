"""The short form of `make soak`: half a minute, in which two workers leak and the supervisor does not."""

import os

import pytest

from tests.soak.fit import Verdict
from tests.soak.verdict import ALL, faults, judge, read
from tests.soak.world import Plan, Soak

SECONDS = 30
LEAK = """\
import os, threading, time

from tsproxy.proxy.workers.channel import VARIABLE

kept = []

def leak():
    while len(kept) < 1_000:  # a run on a busy machine may be long, and must not fill it
        kept.append((bytearray(b"x" * (1 << 20)), open(os.devnull)))
        time.sleep(0.25)

if VARIABLE in os.environ:
    threading.Thread(target=leak, daemon=True).start()
"""
"""Python imports `sitecustomize` when it starts. Four MiB and four descriptors a second, in each worker."""


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
