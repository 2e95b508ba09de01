"""Three symptoms beside the incidents: the looks of the runbook show the cause, and its way back ends it."""

import asyncio
import os
import re
import shutil
import signal
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import InvalidTimestampError
from confluent_kafka.admin import AclOperation

from rigs.incidents.catalogue import INCIDENTS
from rigs.incidents.clusters import cluster
from rigs.incidents.incident import TOPIC
from rigs.incidents.runbook import RUNS_ITS_COMMANDS, follow_back, looked, sections
from tests.e2e import test_fresh_limits, test_own_login
from tests.e2e.reported import report_on
from tests.e2e.test_without_describe import OWN_LOGIN, USERS
from tests.kit.admin import ANY, AUTHORIZER, grant, internal, right
from tests.proxy import test_memory_guard
from tests.proxy.clock_check import test_in_proxy
from tests.proxy.running import series
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

pytestmark = [RUNS_ITS_COMMANDS, pytest.mark.timeout(600)]
YEAR_MS = 365 * 86_400_000
LIMITED = {"message.timestamp.after.max.ms": "3600000"}
NOTHING = "Nothing is rejected"
SLOW = "Everything is slow"
PARTITIONS = range(6)
STOPPED_S, MARGIN_S = 1.0, 0.2


def known(proxy, kafka, **more):
    return {"ADMIN": f"http://{proxy.admin_address}", "BROKER": internal(kafka), **more}


# -- Everything is slow ------------------------------------------------------------------------------


@pytest.mark.broker
@pytest.mark.full_only("three brokers of its own; test_incidents.py follows other symptoms")
async def test_the_slow_broker_stands_out_until_it_is_repaired():
    async with (
        cluster("three") as kafka,
        RunningProxy(kafka.bootstrap_servers) as proxy,
        AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers, acks=1) as producer,
    ):
        variables, ill_pid = known(proxy, kafka), kafka.node(2).pid
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


# -- Nothing is rejected -----------------------------------------------------------------------------


@pytest.mark.full_only("a broker with ACLs; test_incidents.py follows other symptoms")
async def test_a_topic_whose_limits_are_denied_is_judged_after_the_grant_of_the_page():
    properties = {**AUTHORIZER, "super.users": "User:root"}
    async with KafkaCluster(security="SASL_PLAINTEXT", users=USERS, properties=properties) as kafka:
        for topic in ("readable", "denied"):
            await kafka.create_topic(topic, config=LIMITED)
        own = [
            right(operation, "readable")
            for operation in (AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)
        ]
        everywhere = right(AclOperation.DESCRIBE, ANY)
        await grant(kafka, *own, everywhere)
        settings = OWN_LOGIN | {"policy.limits_from": "broker"}
        clients = kafka.client_options("root").aiokafka()
        async with RunningProxy(kafka.bootstrap_servers, settings=settings) as proxy:
            variables = known(proxy, kafka, PROXY_USER="proxy")
            clients["bootstrap_servers"] = proxy.bootstrap_servers
            async with AIOKafkaProducer(**clients) as producer:
                await producer.send_and_wait("denied", b"x")
                await until(partial(is_shown, variables))
                assert not await is_rejected_here(proxy, producer)
                await follow_back(NOTHING, "kafka-acls.sh", variables)
                await until(partial(is_shown, variables, is_there=False))
                assert await is_rejected_here(proxy, producer)


async def is_rejected_here(proxy, producer):
    """Whether the proxy rejects a record. The broker does if the proxy does not."""
    with pytest.raises(InvalidTimestampError):
        await producer.send_and_wait("denied", b"x", timestamp_ms=Clock().now_ms() + YEAR_MS)
    return any('verdict="rejected"' in name and value for name, value in (await series(proxy)).items())


async def is_shown(variables, *, is_there=True):
    printed = (await looked(NOTHING, variables)).values()
    return is_there is any("limits of topics cannot be read: 1 (denied)" in text for text in printed)


# -- The report is incomplete ------------------------------------------------------------------------


@pytest.mark.full_only("Spark; test_incidents.py follows other symptoms")
async def test_a_report_is_complete_again_with_the_file_that_was_not_shipped(
    kafka_440, topic, tmp_path, spark
):
    began_ms = Clock().now_ms()
    await kafka_440.create_topic(topic)
    log, shipped = tmp_path / "log", tmp_path / "shipped"
    # The folder of a proxy that rotated between its lines.
    settings = {"decisions.rotate.every": "1s", "decisions.interval": "1s"}
    async with (
        RunningProxy(kafka_440.bootstrap_servers, decisions=log, settings=settings) as proxy,
        AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers) as producer,
    ):
        while len(list(log.glob("*.jsonl"))) < 3:
            await producer.send_and_wait(topic, b"x")
            await asyncio.sleep(0.1)
    files = sorted(log.glob("*.jsonl"))
    missing = files[1]
    shutil.copytree(log, shipped)
    (shipped / missing.name).unlink()

    first = report_on(shipped, tmp_path / "first", began_ms, "--format", "json")
    assert first["log"]["state"] == "incomplete"
    assert first["log"]["lost_lines"] > 0
    assert first["log"]["gaps"]

    shutil.copy(missing, shipped)  # the way back
    again = report_on(shipped, tmp_path / "again", began_ms, "--format", "json")
    assert again["log"]["state"] != "incomplete"
    assert again["log"]["lost_lines"] == 0
    assert again["totals"]["records_accepted"] > first["totals"]["records_accepted"]


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
    NOTHING: test_a_topic_whose_limits_are_denied_is_judged_after_the_grant_of_the_page,
    "The report is incomplete": test_a_report_is_complete_again_with_the_file_that_was_not_shipped,
}
"""Symptoms that no incident has."""
