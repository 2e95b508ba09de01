"""The metrics of several processes are those of one that did the work of all."""

import json

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from tsproxy.proxy.metrics.catalogue import ALL
from tsproxy.proxy.metrics.described import Joined
from tsproxy.proxy.metrics.registry import Metrics
from tsproxy.proxy.metrics.totals import (
    Family,
    as_lines,
    as_text,
    families_now,
    families_of,
    joined,
)


def process(*, hits=(), waits=(), brokers=1, open_connections=0):
    """The report of one process, as it arrives at the supervisor."""
    registry = CollectorRegistry(auto_describe=False)
    counter = Counter("tsproxy_hits", "Hits", ("listener",), registry=registry)
    for listener in hits:
        counter.labels(listener).inc()
    histogram = Histogram("tsproxy_wait_seconds", "Waits", buckets=(1, 10), registry=registry)
    for wait in waits:
        histogram.observe(wait)
    Gauge("tsproxy_brokers", "Brokers", registry=registry).set(brokers)
    Gauge("tsproxy_connections", "Connections", registry=registry).set(open_connections)
    return families_of(json.loads(json.dumps(as_lines(families_now(registry.collect())))))


def values(families):
    return {
        (sample, *(value for _, value in labels)): value
        for family in families.values()
        for (sample, labels), value in family.samples.items()
    }


def test_sums_are_by_label_and_by_bucket_but_of_what_means_the_same_thing_everywhere():
    one = process(hits=["a", "a"], waits=[0.5, 5], brokers=3, open_connections=4)
    other = process(hits=["a", "b"], waits=[5, 50], brokers=2, open_connections=5)
    sums = values(joined([one, other]))

    assert (sums["tsproxy_hits_total", "a"], sums["tsproxy_hits_total", "b"]) == (3, 1)
    buckets = [sums["tsproxy_wait_seconds_bucket", bound] for bound in ("1.0", "10.0", "+Inf")]
    assert buckets == [1, 3, 4]
    assert (sums["tsproxy_wait_seconds_count",], sums["tsproxy_wait_seconds_sum",]) == (4, 60.5)
    assert (sums["tsproxy_brokers",], sums["tsproxy_connections",]) == (2, 9)


SUMS = {"tsproxy_connections", "tsproxy_buffered_bytes"}
"""Gauges of which each worker has a share."""


def test_of_every_gauge_it_is_said_how_workers_add_up():
    gauges = {family.name for family in Metrics().families() if family.type == "gauge"}

    assert {name for name in gauges if ALL[name].joined is Joined.SUM} == SUMS


def test_the_text_is_what_the_library_writes_for_any_value_of_a_label():
    registry = CollectorRegistry(auto_describe=False)
    odd = Gauge("tsproxy_odd", 'A "meaning"\nwith \\', ("b", "a"), registry=registry)
    for number, text in enumerate(("", 'a"b', "c\\d\n", "\\n", "{},= é\x00\r")):
        odd.labels(text, str(number)).set(number)
    for number in (float("inf"), float("-inf"), float("nan"), 1e22, 0.1 + 0.2, 12_345_678_901):
        odd.labels("number", str(number)).set(number)
    Counter("tsproxy_hits", "Hits", registry=registry).inc()
    Histogram("tsproxy_wait_seconds", "Waits", registry=registry).observe(0.3)

    def read(text):
        return [repr(each) for each in text_string_to_metric_families(text.decode())]

    assert read(as_text(families_now(registry.collect()))) == read(generate_latest(registry))


def test_no_name_ends_a_scrape():
    """A label with half of a surrogate pair is no UTF-8: a scrape must not fail for one name."""
    labels = (("topic", 'app-\udcff"\n'),)
    family = Family("tsproxy_x", "gauge", "Of a test", {("tsproxy_x", labels): 1.0})
    assert as_text({"tsproxy_x": family}).splitlines()[-1] == rb'tsproxy_x{topic="app-\udcff\"\n"} 1.0'
