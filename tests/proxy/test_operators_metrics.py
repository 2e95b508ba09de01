"""Metrics about the process, its configuration, and about who is busy and which rule hits."""

import asyncio
import time

import pytest
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.parser import text_string_to_metric_families

from tests.config.files import SMALLEST, config_of
from tests.documents.tables import rows_of
from tests.kit.tasks import beside
from tests.proxy.loops import on_both_loops
from tests.proxy.running import file_for, one_process, page, pids, series, until_page
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.proxy.metrics.catalogue import ALL
from tsproxy.proxy.metrics.stopwatch import LoopLag, Tasks
from tsproxy.proxy.metrics.totals import families_now, joined
from tsproxy.proxy.server import Proxy
from tsproxy.testing.proxy import RunningProxy

SUMS = one_process("test_workers.py shows that the metrics of workers add up")

ENDED = "tsproxy_enforcement_ended_timestamp_seconds"


def hashes(found):
    """The series with the hash of the configuration."""
    return [name for name in found if name.startswith("tsproxy_config_info")]


def assert_is_in_the_catalogue(scrape):
    """Each metric of a scrape is described, with its labels, and those `from the start` are there."""
    found = {}
    for family in text_string_to_metric_families(scrape):
        row = ALL[family.name + ("_total" if family.type == "counter" else "")]
        assert (family.type, family.documentation) == (row.kind, row.help)
        labels = {frozenset(sample.labels.keys() - {"le"}) for sample in family.samples}
        assert labels <= {frozenset(row.labels)}
        found[row.name] = len(family.samples)
    rows = rows_of("reference/metrics.md", "metric", "type, unit", "meaning, and what to do with it")
    from_start = {metric.split("`")[1] for metric, *_ in rows if not metric.endswith("†")}
    assert len(from_start) > 20
    assert {name for name in from_start if not found.get(name)} == set()


async def test_held_bytes_are_a_part_of_a_workers_share():
    """A worker closes connections at its share, although all workers together may be far from the limit."""
    proxy = Proxy(config_of(SMALLEST + "limits: { buffered: 64MiB }\nworkers: 2\n"), Clock(), lambda *_: None)
    proxy._limits.memory.held_bytes = 24 << 20
    await proxy.report()
    assert (proxy.metrics.buffered_bytes, proxy.metrics.buffered_ratio) == (24 << 20, 0.75)


@SUMS
async def test_a_proxy_tells_its_process_its_loop_and_how_its_last_reload_ended(
    kafka_440, tmp_path, arguments
):
    enforce = "policy: { mode: enforce, rules: [{ name: idle, match: { topics: [none] } }] }\n"
    file = file_for(kafka_440, tmp_path, more=enforce)
    name = "tsproxy_config_last_reload_successful"
    taken = "tsproxy_config_last_reload_success_timestamp_seconds"
    async with RunningProxy(config=file, decisions=tmp_path / "log", arguments=arguments) as proxy:
        assert_is_in_the_catalogue((await page(proxy.admin_address, "/metrics"))[1])
        first = await series(proxy)
        processes = len(pids(proxy)) + 1 if arguments else 1
        assert first["process_resident_memory_bytes"] > processes * 10_000_000
        assert 0 < first["process_open_fds"] < first["process_max_fds"]
        assert first["process_cpu_seconds_total"] > 0
        assert 0 <= time.time() - first["process_start_time_seconds"] < 3_600
        assert first[name] == first['tsproxy_policy_mode{mode="enforce"}'] == 1
        assert first['tsproxy_rule_hits_total{mode="enforce",rule="idle"}'] == 0
        assert not any(each.startswith(ENDED) for each in first)

        file_for(kafka_440, tmp_path, more="polcy: { mode: audit }\n")
        await until_page(proxy, "/metrics", 200, f"\n{name} 0.0\n")
        assert (await series(proxy))[taken] == first[taken]

        file_for(kafka_440, tmp_path, more="policy: { mode: audit }\n")
        await until_page(proxy, "/metrics", 200, f"\n{name} 1.0\n")
        last = await series(proxy)
        assert last[taken] > first[taken]
        assert last['tsproxy_policy_mode{mode="audit"}'] == 1
        assert 'tsproxy_policy_mode{mode="enforce"}' not in last
        assert last[f'{ENDED}{{enforced="nothing",mode="audit"}}'] == pytest.approx(last[taken], abs=1)
        assert hashes(last) != hashes(first)
        await until_page(proxy, "/readyz?verbose", 200, "; policy.mode is audit")

        file_for(kafka_440, tmp_path, more=enforce)
        await until_page(proxy, "/metrics", 200, *hashes(first))
        assert "policy.mode is" not in (await page(proxy.admin_address, "/readyz?verbose"))[1]
        assert last["tsproxy_event_loop_lag_seconds_count"] > 0
        assert last["process_cpu_seconds_total"] >= first["process_cpu_seconds_total"]


@on_both_loops
async def test_a_step_that_holds_the_loop_is_seen_as_lag():
    lag = LoopLag()

    def late():
        [family] = lag.histogram.collect()
        values = {each.labels.get("le"): each.value for each in family.samples if "_bucket" in each.name}
        return values["+Inf"] - values["0.5"]

    async with beside(lag.run()):
        await asyncio.sleep(0)  # it looks at the time
        time.sleep(1)  # noqa: ASYNC251  # this is what is looked for
        await until(late)


def test_of_several_processes_work_and_memory_add_up_and_descriptors_are_those_of_the_worst():
    names = ("cpu_seconds_total", "resident_memory_bytes", "open_fds", "max_fds")

    def process(*values):
        one = families_now(ProcessCollector(registry=CollectorRegistry()).collect())
        told = dict(zip(names, values, strict=True))
        for family in one.values():
            for key in family.samples:
                family.samples[key] = told.get(key[0].removeprefix("process_"), 0)
        return one

    whole = joined([process(1, 10, 5, 100), process(2, 20, 7, 90)])
    found = {name: value for family in whole.values() for (name, _), value in family.samples.items()}
    assert [found[f"process_{name}"] for name in names] == [3, 30, 7, 90]


async def test_tasks_are_counted_while_they_live():
    def count():
        [family] = tasks.collect()
        [sample] = family.samples
        return sample.value

    tasks = Tasks()
    before = count()
    waiting = [asyncio.create_task(asyncio.Event().wait()) for _ in range(3)]
    assert count() == before + 3
    for each in waiting:
        each.cancel()
    await asyncio.wait(waiting)
    assert count() == before
