"""A proxy with the configuration that the chart renders, before a real broker: clients, probes, scrapes."""

import asyncio
import ssl
import urllib.error
import urllib.request

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import InvalidTimestampError

from tests.deploy.chart import TOKEN, configuration, pods, render
from tests.deploy.go_tools import needs_tools
from tsproxy.clock import Clock
from tsproxy.testing.ports import free_ports
from tsproxy.testing.proxy import RunningProxy

pytestmark = [needs_tools, pytest.mark.broker]
HOUR_MS = 3_600_000


def values(kafka, ports, **more):
    return {
        "image": {"repository": "tsproxy"},
        "bindHost": "127.0.0.1",
        "upstream": {"bootstrapServers": [kafka.bootstrap_servers]},
        "drain": {"delaySeconds": 0, "timeoutSeconds": 10},
        "config": {"policy": {"mode": "enforce", "limits_from": "config"}},
        "listener": {
            "advertisedHost": "localhost",
            "port": ports[0],
            "brokers": {"portsFrom": ports[1], "count": 3},
            **more,
        },
    }


async def ask(address, path, token=None, scheme="http"):
    """Status and text, as kubelet (without a token) and Prometheus ask: kubelet checks no certificate."""
    unchecked = ssl.create_default_context()
    unchecked.check_hostname = False
    unchecked.verify_mode = ssl.CERT_NONE
    request = urllib.request.Request(f"{scheme}://{address}{path}")
    if token:
        request.add_header("Authorization", f"Bearer {token}")

    def get():
        try:
            context = unchecked if scheme == "https" else None
            with urllib.request.urlopen(request, timeout=60, context=context) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    return await asyncio.to_thread(get)


async def test_clients_are_served_and_judged_by_broker_ports(kafka_440, topic, tmp_path, certificates):
    objects = render(tmp_path, values(kafka_440, free_ports(4)))
    file = configuration(tmp_path, objects, certificates)
    await kafka_440.create_topic(topic)
    async with (
        RunningProxy(config=file, decisions=tmp_path / "log") as proxy,
        AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers) as producer,
    ):
        await producer.send_and_wait(topic, b"x", timestamp_ms=Clock().now_ms())
        with pytest.raises(InvalidTimestampError):
            await producer.send_and_wait(topic, b"x", timestamp_ms=Clock().now_ms() + 2 * HOUR_MS)


async def test_probes_need_no_token_and_scrapes_do(kafka_440, tmp_path, certificates):
    chosen = values(
        kafka_440,
        free_ports(4),
        mode="sni",
        brokers={"host": "b{node_id}.kafka.example.com"},
        tls={"secret": "listener"},
    )
    chosen["admin"] = {"tlsSecret": "admin", "tokenSecret": {"name": "token"}}
    objects = render(tmp_path, chosen)
    file = configuration(tmp_path, objects, certificates)
    [container] = pods(objects)["containers"]
    async with RunningProxy(config=file, decisions=tmp_path / "log", environment=TOKEN) as proxy:
        for probe in ("livenessProbe", "readinessProbe"):
            get = container[probe]["httpGet"]
            status, _ = await ask(proxy.admin_address, get["path"], scheme=get["scheme"].lower())
            assert status == 200
        assert (await ask(proxy.admin_address, "/metrics", scheme="https"))[0] == 401
        status, text = await ask(
            proxy.admin_address, "/metrics", TOKEN["TSPROXY_ADMIN_TOKEN"], scheme="https"
        )
        assert status == 200
        assert "tsproxy_upstream_up 1.0" in text
