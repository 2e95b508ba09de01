"""IPv4 and IPv6 on the same ports: a listener for each."""

from contextlib import nullcontext

import pytest
from aiokafka import AIOKafkaProducer

from tests.config.files import SMALLEST
from tests.proxy.running import events, file_for, one_process, page
from tsproxy.config import ConfigError, load
from tsproxy.config.document import parse_yaml
from tsproxy.testing.ports import free_ports
from tsproxy.testing.proxy import RunningProxy

UPSTREAM = SMALLEST.partition("listeners:")[0]


def listeners(*binds):
    """A file with a listener for each of these."""
    lines = [
        f"  - {{ name: l{n}, bind: '{bind}', advertised_host: localhost }}\n" for n, bind in enumerate(binds)
    ]
    return UPSTREAM + "listeners:\n" + "".join(lines)


@one_process("test_workers.py shows that workers share a port")
async def test_clients_reach_the_same_ports_over_ipv4_and_over_ipv6(kafka_440, topic, tmp_path, arguments):
    await kafka_440.create_topic(topic)
    first = free_ports(6)[0]
    v4 = f"{{ name: v4, bind: '0.0.0.0:{first}', advertised_host: 127.0.0.1, brokers: {{ count: 3 }} }}"
    v6 = f"{{ name: v6, bind: '[::]:{first}', advertised_host: '::1', brokers: {{ count: 3 }} }}"
    file = file_for(kafka_440, tmp_path, f"{v4}, {v6}")
    async with RunningProxy(config=file, decisions=tmp_path / "log", arguments=arguments) as proxy:
        for host in ("127.0.0.1", "[::1]"):
            async with AIOKafkaProducer(bootstrap_servers=f"{host}:{first}") as producer:
                await producer.send_and_wait(topic, b"x")
        assert (await page(proxy.admin_address, "/readyz"))[0] == 200

    assert "broker_not_served" not in events(proxy)
    counted = {line["listener"]: line["records"] for line in proxy.decisions() if line["event"] == "counters"}
    assert counted == {"v4": 1, "v6": 1}


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ("0.0.0.0:9192", "[::]:9192", False),
        ("127.0.0.1:9192", "[::]:9192", False),
        ("127.0.0.1:9192", "[::1]:9192", False),
        ("0.0.0.0:9192", "[2001:db8::1]:9192", False),
        ("0.0.0.0:9192", "127.0.0.1:9192", True),
        ("[::]:9192", "[::1]:9192", True),
        ("[::]:9192", "[0::0]:9192", True),
        ("[::]:9192", "kafka.example.com:9192", True),
        ("0.0.0.0:9192", "kafka.example.com:9192", True),
    ],
)
def test_an_address_and_any_address_meet_within_a_family_alone(one, other, meet):
    """A name may meet both: it leads to whatever the system says."""
    with pytest.raises(ConfigError, match=r"takes ports? of ") if meet else nullcontext():
        load(parse_yaml(listeners(one, other), "test"), {})
