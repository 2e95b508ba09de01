"""Rules by the name in a client's certificate, before a real broker: two producers, one topic, two fates."""

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import InvalidTimestampError

from tests.e2e.test_policy import DAY_MS, decided, now_ms
from tsproxy.testing.client_options import client_context
from tsproxy.testing.proxy import RunningProxy

CONFIG = """\
upstream: {{ bootstrap_servers: ['{servers}'] }}
listeners:
  - bind: 127.0.0.1:0
    tls:
      certificate: '{identity.certificate}'
      key: '{identity.key}'
      client_ca: '{ca}'
      principal_mapping: ["RULE:^CN=(.*)$/$1/", DEFAULT]
policy:
  limits_from: config
  defaults: {{ message.timestamp.before.max.ms: 1d }}
  rules:
    - {{ name: shop, match: {{ principals: ["User:shop"] }} }}
    - {{ name: archive, match: {{ principals: ["User:arch*"] }}, mode: audit }}
"""


async def test_the_same_record_is_rejected_of_one_and_only_counted_of_the_other(
    kafka_440, topic, certificates, tmp_path
):
    await kafka_440.create_topic(topic)
    file = tmp_path / "tsproxy.yaml"
    proxys_own = certificates.issue("proxy")
    file.write_text(
        CONFIG.format(servers=kafka_440.bootstrap_servers, identity=proxys_own, ca=certificates.certificate)
    )
    async with RunningProxy(config=file) as proxy:

        async def send(name):
            context = client_context(certificates.certificate, certificates.issue(name))
            options = {"security_protocol": "SSL", "ssl_context": context, "client_id": "the same"}
            async with AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers, **options) as producer:
                await producer.send_and_wait(topic, b"old", timestamp_ms=now_ms() - 2 * DAY_MS)

        await send("archive")
        with pytest.raises(InvalidTimestampError):
            await send("shop")
    assert len(decided(proxy, principal="User:shop", rule="shop", verdict="rejected")) == 1
    assert len(decided(proxy, principal="User:archive", rule="archive", would_reject=True)) == 1
    assert sum((await kafka_440.end_offsets(topic)).values()) == 1
