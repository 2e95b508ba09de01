"""GSSAPI through the proxy: the client's ticket names the proxy's host, and brokers hold a key for that name.
The proxy's own connection logs in by GSSAPI as well.

With MIT Kerberos' own KDC, for `TSPROXY_TEST=full` where it is installed.
"""

import pytest

from deploy.demo.java_producer import Acknowledged, JavaProducer, JavaRecord, Rejected
from tests.e2e.kerberos import CLIENT, by_name, login, needs_kdc, properties, realm
from tests.proxy.world import until
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

pytestmark = [
    pytest.mark.broker,
    pytest.mark.full_only("starts a KDC; test_sasl.py passes other mechanisms through"),
    needs_kdc,
]

SCRAM = "{ mechanism: SCRAM-SHA-512, username: proxy, password: for-itself }"
GSSAPI = "{ mechanism: GSSAPI }"
PROXY = """
upstream:
  bootstrap_servers: ['{upstream}']
  admin: {{ sasl: {sasl} }}
listeners: [{{ bind: '127.0.0.1:0', advertised_host: localhost, brokers: {{ ports_from: 0 }} }}]
"""


@pytest.fixture
def keytab(tmp_path):
    with realm(tmp_path) as it:
        yield it


@pytest.mark.parametrize("sasl", [SCRAM, GSSAPI])
async def test_a_ticket_for_the_proxys_host_is_taken_by_the_broker(keytab, tmp_path, sasl):
    if sasl == GSSAPI:
        pytest.importorskip("gssapi", reason="needs the extra tsproxy[kerberos] (pip install)")
    users = {"proxy": "for-itself"}
    async with KafkaCluster(security="SASL_PLAINTEXT", users=users, properties=properties(keytab)) as kafka:
        await kafka.create_topic("orders", config={"message.timestamp.before.max.ms": "60000"})
        config = tmp_path / "tsproxy.yaml"
        config.write_text(PROXY.format(upstream=by_name(kafka), sasl=sasl))
        async with RunningProxy(config=config) as proxy:
            options = {
                "bootstrap.servers": f"localhost:{proxy.bootstrap_servers.rpartition(':')[2]}",
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "GSSAPI",
                "sasl.kerberos.service.name": "kafka",
                "sasl.jaas.config": login(keytab, CLIENT),
            }
            async with JavaProducer(options) as producer:
                [good] = await producer.send_all([JavaRecord("orders", b"good")])
                [bad] = await producer.send_all([JavaRecord("orders", b"bad", timestamp_ms=1)])
            assert isinstance(good, Acknowledged)
            assert isinstance(bad, Rejected)
            assert bad.exception == "InvalidTimestampException"
            await until(lambda: [line for line in proxy.decisions() if line["event"] == "decision"])

    # The ticket is for the broker to read: here nobody knows whose it is.
    [decision] = [line for line in proxy.decisions() if line["event"] == "decision"]
    assert "principal" not in decision
