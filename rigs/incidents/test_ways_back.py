"""Two symptoms beside the incidents: the looks of the runbook show the cause, and its way back ends it."""

import asyncio
import shutil
from functools import partial

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import InvalidTimestampError
from confluent_kafka.admin import ResourcePatternType

from rigs.incidents.runbook import follow_back, looked
from rigs.incidents.scenes import internal
from tests.e2e.principals import AUTHORIZER
from tests.e2e.reported import report_on
from tests.e2e.test_without_describe import OWN_LOGIN, USERS, AclOperation, allow, binding
from tests.proxy.running import series
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

pytestmark = [pytest.mark.broker, pytest.mark.timeout(600)]
YEAR_MS = 365 * 86_400_000
LIMITED = {"message.timestamp.after.max.ms": "3600000"}
NOTHING = "Nothing is rejected"


def known(proxy, kafka, **more):
    return {"ADMIN": f"http://{proxy.admin_address}", "BROKER": internal(kafka), **more}


# -- Nothing is rejected -----------------------------------------------------------------------------


@pytest.mark.full_only("a broker with ACLs; test_incidents.py follows other symptoms")
async def test_a_topic_whose_limits_are_denied_is_judged_after_the_grant_of_the_page():
    properties = {**AUTHORIZER, "super.users": "User:root"}
    async with KafkaCluster(security="SASL_PLAINTEXT", users=USERS, properties=properties) as kafka:
        for topic in ("readable", "denied"):
            await kafka.create_topic(topic, config=LIMITED)
        own = [
            binding(operation, ("readable", ResourcePatternType.LITERAL))
            for operation in (AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)
        ]
        everywhere = binding(AclOperation.DESCRIBE, ("*", ResourcePatternType.LITERAL))
        await allow(kafka, *own, everywhere)
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
