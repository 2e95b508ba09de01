"""A proxy as the chart renders it, before real brokers, and the image with the examples of the page."""

import re
import ssl

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import InvalidTimestampError, KafkaConnectionError, KafkaError

from tests.deploy.chart import TOKEN, configuration, pods, render
from tests.deploy.commands import ROOT
from tests.deploy.go_tools import needs_tools
from tests.deploy.images import needs_root
from tests.deploy.pods import TOKENS, Container, ProxyInContainer, assert_judges
from tests.deploy.test_chart import PAGE, example_of
from tests.e2e import kerberos
from tests.e2e.issuer import Issuer, cluster_for_tokens
from tests.proxy.test_admin_access import bearing
from tests.proxy.test_admin_http import ask as get
from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.testing.client_options import client_context
from tsproxy.testing.kafka_cluster import KafkaCluster
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


async def ask(address, path, token=None):
    """Status and text, as kubelet (without a token) and Prometheus ask: kubelet checks no certificate."""
    unchecked = ssl.create_default_context()
    unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE
    status, _, text = await get(address, path, *(bearing(f"Bearer {token}") if token else ()), tls=unchecked)
    return status, text


async def test_clients_are_served_and_judged_by_broker_ports(kafka_440, topic, tmp_path, certificates):
    objects = render(tmp_path, values(kafka_440, free_ports(4)))
    file = configuration(tmp_path, objects, certificates)
    await kafka_440.create_topic(topic)
    async with RunningProxy(config=file, decisions=tmp_path / "log") as proxy:
        await assert_judges(proxy, topic)


async def test_probes_need_no_token_and_scrapes_do_a_new_one_without_a_restart(
    kafka_440, tmp_path, certificates
):
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
    async with RunningProxy(config=file, decisions=tmp_path / "log") as proxy:
        for probe in ("livenessProbe", "readinessProbe"):
            asked = container[probe]["httpGet"]
            assert asked["scheme"] == "HTTPS"
            assert (await ask(proxy.admin_address, asked["path"]))[0] == 200
        assert (await ask(proxy.admin_address, "/metrics"))[0] == 401
        status, text = await ask(proxy.admin_address, "/metrics", TOKEN)
        assert status == 200
        assert "tsproxy_upstream_up 1.0" in text
        (tmp_path / "tls" / "admin-token" / "token").write_text("b" * 32)
        assert (await ask(proxy.admin_address, "/metrics", "b" * 32))[0] == 200
        assert (await ask(proxy.admin_address, "/metrics", TOKEN))[0] == 401


# -- The image with files of the operator's own ----------------------------------------------------


BY_TOPIC = {"config": {"policy": {"limits_from": "broker"}}}
"""The proxy reads the limits of topics, so it must be logged in."""


def in_image(test):
    return needs_root(pytest.mark.timeout(3_600)(test))


def overlaid(base, more):
    """`base` with the values of `more`, section by section, as Helm does it."""
    if not (isinstance(base, dict) and isinstance(more, dict)):
        return more
    return base | {key: overlaid(base.get(key), value) for key, value in more.items()}


def started(image, folder, kafka, heading, made, own):
    """The proxy of the example below this heading of the page, in its container.

    `made`: name -> file -> content of what the operator makes by `kubectl create`. `own` overrides the
    example.
    """
    chosen = overlaid(values(kafka, free_ports(4)), example_of(heading))
    here = {"upstream": {"bootstrapServers": [kerberos.by_name(kafka)]}, "admin": {"port": free_ports(1)[0]}}
    objects = render(folder, overlaid(overlaid(chosen, here), own))
    return ProxyInContainer(Container(image, pods(objects), folder, objects=objects, made=made))


async def is_judged_by_the_topic(kafka, proxy):
    """`orders` has a limit of a minute; the client is alice."""
    options = kafka.client_options("alice", mechanism="SCRAM-SHA-512").aiokafka()
    options["bootstrap_servers"] = proxy.bootstrap_servers
    now_ms = Clock().now_ms()
    async with AIOKafkaProducer(**options) as producer:
        await producer.send_and_wait("orders", b"x", timestamp_ms=now_ms)
        with pytest.raises(InvalidTimestampError):
            await producer.send_and_wait("orders", b"x", timestamp_ms=now_ms - HOUR_MS)
    return True


@in_image
async def test_a_token_that_is_mounted_logs_the_proxy_in(proxy_image, tmp_path):
    with Issuer({}) as issuer:
        async with cluster_for_tokens(issuer, tmp_path, session_ms=60_000) as kafka:
            made = {TOKENS: {"kafka": issuer.token("tsproxy")}}
            async with started(proxy_image, tmp_path, kafka, "A token in a file", made, BY_TOPIC) as proxy:
                assert await is_judged_by_the_topic(kafka, proxy)


@in_image
@kerberos.needs_kdc
async def test_a_keytab_that_is_mounted_logs_the_proxy_in(proxy_image, tmp_path):
    with kerberos.realm(tmp_path) as keytab:
        own = {"security": "SASL_PLAINTEXT", "users": {"alice": "of-alice"}}
        async with KafkaCluster(**own, properties=kerberos.properties(keytab)) as kafka:
            await kafka.create_topic("orders", config={"message.timestamp.before.max.ms": "60000"})
            made = {
                "tsproxy-keytab": {"client.keytab": (tmp_path / "proxy.keytab").read_bytes()},
                "krb5-conf": {"krb5.conf": (tmp_path / "krb5.conf").read_text()},
            }
            async with started(proxy_image, tmp_path, kafka, "Kerberos", made, BY_TOPIC) as proxy:
                assert await is_judged_by_the_topic(kafka, proxy)


@in_image
async def test_a_list_of_revoked_certificates_that_is_mounted_keeps_a_client_out(
    kafka_440, topic, proxy_image, certificates, tmp_path
):
    await kafka_440.create_topic(topic)
    server, good, bad = (certificates.issue(f"{name}-of-chart") for name in ("server", "good", "bad"))
    made = {
        "kafka-example-com": {"tls.crt": server.certificate.read_text(), "tls.key": server.key.read_text()},
        "clients": {"ca.crt": certificates.certificate.read_text()},
        "revoked-clients": {"revoked.pem": certificates.revocations(bad)},
    }
    async with started(proxy_image, tmp_path, kafka_440, "Revoked certificates", made, {}) as proxy:
        for identity, is_let_in in ((good, True), (bad, False)):
            context = client_context(certificates.certificate, identity)
            options = {"security_protocol": "SSL", "ssl_context": context}
            producer = AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers, **options)
            if is_let_in:
                async with producer:
                    await producer.send_and_wait(topic, b"x")
            else:
                with pytest.raises(KafkaConnectionError):
                    await producer.start()
                await producer.stop()
        await until(lambda: "certificate revoked" in str(proxy.log))


@in_image
async def test_a_rule_in_python_that_is_mounted_judges(kafka_440, topic, proxy_image, tmp_path):
    await kafka_440.create_topic(topic)
    example = example_of("A rule in Python")
    [rule] = example["config"]["policy"]["rules"]
    own = {"config": {"policy": {"rules": [rule | {"match": {"topics": [topic]}}]}}}
    page = (ROOT / "docs" / "guide" / "how-to" / "write-a-rule.md").read_text()
    [module] = re.findall(r"^```python\n(# in_order\.py\n.*?)^```$", page, re.M | re.S)
    [entry] = re.findall(r"^```ini\n(.*?)^```$", PAGE, re.M | re.S)
    made = {"in-order": {"in_order.py": module, "entry_points.txt": entry}}
    async with (
        started(proxy_image, tmp_path, kafka_440, "A rule in Python", made, own) as proxy,
        AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers) as producer,
    ):
        for behind_ms, is_taken in ((60_000, True), (1_800_000, False)):
            now_ms, batch = Clock().now_ms(), producer.create_batch()
            for timestamp_ms in (now_ms, now_ms - behind_ms):
                assert batch.append(key=None, value=b"x", timestamp=timestamp_ms) is not None
            batch.close()
            answer = await producer.send_batch(batch, topic, partition=0)
            if is_taken:
                await answer
            else:
                with pytest.raises(KafkaError):
                    await answer
    [decision] = [line for line in proxy.decisions() if line["event"] == "decision"]
    assert decision["rule"] == "clicks-in-order"
