"""Brokers told apart by host name, and clients by their certificates, with a real client and broker."""

import socket

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import InvalidTimestampError

from tests.e2e.test_policy import DAY_MS, decided, now_ms
from tsproxy.testing.client_options import client_context
from tsproxy.testing.proxy import RunningProxy

CONFIG = """
upstream: {{ bootstrap_servers: ['{upstream}'] }}
listeners:
  - name: by-host
    bind: 127.0.0.1:0
    advertised_host: kafka.test
    brokers: {{ host: "b{{node_id}}.kafka.test" }}
    tls:
      certificate: '{certificate}'
      key: '{key}'
      client_ca: '{ca}'
      principal_mapping: ["RULE:^CN=(.*)$/$1/", DEFAULT]
"""
RULES = """\
policy:
  limits_from: config
  defaults: { message.timestamp.before.max.ms: 1d }
  rules:
    - { name: shop, match: { principals: ["User:shop"] } }
    - { name: archive, match: { principals: ["User:arch*"] }, mode: audit }
"""


@pytest.fixture
def kafka_test_is_here(monkeypatch):
    """Names below kafka.test are this machine, as DNS would have it; what was asked for is kept."""
    asked, resolve = set(), socket.getaddrinfo

    def getaddrinfo(host, *arguments, **options):
        name = host.decode() if isinstance(host, bytes) else host
        if name and name.endswith("kafka.test"):
            asked.add(name)
            host = "127.0.0.1"
        return resolve(host, *arguments, **options)

    monkeypatch.setattr("socket.getaddrinfo", getaddrinfo)
    return asked


def config_file(kafka, certificates, tmp_path):
    served = certificates.issue("served", hosts=["kafka.test", "*.kafka.test"])
    text = CONFIG.format(
        upstream=kafka.bootstrap_servers,
        certificate=served.certificate,
        key=served.key,
        ca=certificates.certificate,
    )
    (tmp_path / "tsproxy.yaml").write_text(text + RULES)
    return tmp_path / "tsproxy.yaml"


def options(proxy, certificates, name):
    port = proxy.bootstrap_servers.rpartition(":")[2]
    return {
        "bootstrap_servers": f"kafka.test:{port}",
        "security_protocol": "SSL",
        "ssl_context": client_context(certificates.certificate, certificates.issue(name)),
    }


async def test_brokers_are_found_by_name_and_a_record_is_rejected_of_one_client_and_counted_of_the_other(
    kafka_440, topic, certificates, tmp_path, kafka_test_is_here
):
    await kafka_440.create_topic(topic)
    async with RunningProxy(config=config_file(kafka_440, certificates, tmp_path)) as proxy:

        async def send(name):
            async with AIOKafkaProducer(
                **options(proxy, certificates, name), client_id="the same"
            ) as producer:
                await producer.send_and_wait(topic, b"old", timestamp_ms=now_ms() - 2 * DAY_MS)

        await send("archive")
        with pytest.raises(InvalidTimestampError):
            await send("shop")
    assert kafka_test_is_here == {"kafka.test", "b1.kafka.test"}
    assert len(decided(proxy, principal="User:shop", rule="shop", verdict="rejected")) == 1
    assert len(decided(proxy, principal="User:archive", rule="archive", would_reject=True)) == 1
    assert sum((await kafka_440.end_offsets(topic)).values()) == 1
