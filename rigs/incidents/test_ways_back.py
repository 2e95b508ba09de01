"""Symptoms beside the incidents: each has a test of its way back. The slow broker is looked at here."""

import asyncio
import os
import re
import signal
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition

from rigs.incidents.catalogue import INCIDENTS
from rigs.incidents.clusters import cluster
from rigs.incidents.incident import TOPIC
from rigs.incidents.runbook import RUNS_ITS_COMMANDS, looked, sections
from tests.e2e import test_fresh_limits, test_own_login, test_without_describe
from tests.proxy import test_memory_guard
from tests.proxy.clock_check import test_in_proxy
from tests.proxy.world import until
from tests.spark_reports import test_completeness
from tsproxy.testing.proxy import RunningProxy

pytestmark = [RUNS_ITS_COMMANDS, pytest.mark.timeout(600)]
SLOW = "Everything is slow"
PARTITIONS = range(6)
STOPPED_S, MARGIN_S = 1.0, 0.2


@pytest.mark.broker
@pytest.mark.full_only("three brokers of its own; test_incidents.py follows other symptoms")
async def test_the_slow_broker_stands_out_until_it_is_repaired():
    async with (
        cluster("three") as kafka,
        RunningProxy(kafka.bootstrap_servers) as proxy,
        AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers, acks=1) as producer,
    ):
        variables, ill_pid = {"ADMIN": f"http://{proxy.admin_address}"}, kafka.node(2).pid
        await producer.partitions_for(TOPIC)
        led = {
            each: producer.client.cluster.leader_for_partition(TopicPartition(TOPIC, each))
            for each in PARTITIONS
        }
        assert set(led.values()) == {1, 2, 3}

        async def means(*, is_ill):
            """Mean seconds by broker, as the first look has them. They are of a sample of the requests, so
            some records go to each partition."""
            before, more = await times_by_broker(variables), {}
            while not all(requests for _, requests in more.values()) or not more:
                for partition, node_id in led.items():
                    async with stopped_for_a_while(ill_pid) if is_ill and node_id == 2 else nullcontext():
                        answer = await producer.send(TOPIC, b"x", partition=partition)
                    await answer
                now = await times_by_broker(variables)
                more = {each: [b - a for a, b in zip(before[each], now[each], strict=True)] for each in now}
            return {each: seconds / requests for each, (seconds, requests) in more.items()}

        await means(is_ill=False)  # all connections are open now
        ill = await means(is_ill=True)
        repaired = await means(is_ill=False)
    assert ill["2"] >= STOPPED_S > max(ill["1"], ill["3"])
    assert repaired["2"] < STOPPED_S


@asynccontextmanager
async def stopped_for_a_while(pid):
    """A process that is slow: what comes inside waits for at least `STOPPED_S`."""
    os.kill(pid, signal.SIGSTOP)
    try:
        await until(lambda: state_of(pid) == "T", "it is stopped")
        yield
        await asyncio.sleep(STOPPED_S + MARGIN_S)
    finally:
        os.kill(pid, signal.SIGCONT)


def state_of(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


async def times_by_broker(variables):
    """Broker -> (seconds, requests) so far, as the first look prints them."""
    looks = (await looked(SLOW, variables)).items()
    [printed] = [text for command, text in looks if "produce_seconds" in command]
    pattern = r'^tsproxy_broker_produce_seconds_{}{{.*broker="{}".*}} (\S+)$'

    def value(part, broker):
        return sum(map(float, re.findall(pattern.format(part, broker), printed, re.MULTILINE)))

    return {broker: (value("sum", broker), value("count", broker)) for broker in "123"}


def test_the_way_back_of_each_symptom_is_tried():
    tried = {incident.section for incident in INCIDENTS.values()} | set(WAYS_BACK)
    assert tried == set(sections())


WAYS_BACK = {
    "A limit was raised, and records are still rejected": (
        test_fresh_limits.test_no_record_is_rejected_by_old_limits_from_a_second_after_a_change_on
    ),
    "The clock was wrong": test_in_proxy.test_a_step_rejects_and_stamps_no_good_record_after_three_seconds,
    "The own login fails": (test_own_login.test_a_password_is_rotated_by_its_file_and_back_as_the_page_says),
    SLOW: test_the_slow_broker_stands_out_until_it_is_repaired,
    "Memory is nearly full": (test_memory_guard.test_the_way_back_is_a_larger_limit),
    "Nothing is rejected": (
        test_without_describe.test_topics_whose_limits_may_not_be_read_are_a_number_and_a_warning
    ),
    "The report is incomplete": (
        test_completeness.test_the_proof_of_a_log_says_what_is_missing_and_nothing_else
    ),
}
"""Symptoms that no incident has."""
