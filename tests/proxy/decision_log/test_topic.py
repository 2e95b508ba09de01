"""The decision log in a topic of a real broker: every line, in order, also when the broker was away."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from aiokafka.errors import (
    ClusterAuthorizationFailedError,
    KafkaConnectionError,
    TopicAuthorizationFailedError,
)

from tests.config.files import SMALLEST, config_of
from tests.kit.topics import records_of
from tests.proxy.decision_log.conftest import fill
from tests.proxy.decision_log.logs import names
from tests.proxy.decision_log.test_unsent import NAME, write
from tests.proxy.running import EVERY_SECOND, page, send, until_page
from tests.proxy.world import until
from tsproxy.proxy.decision_log import topic as of_topic
from tsproxy.proxy.decision_log.topic import DecisionTopic, key_and_headers
from tsproxy.proxy.decision_log.unsent import Position, Unsent
from tsproxy.testing.ports import free_ports
from tsproxy.testing.proxy import RunningProxy


async def sent(kafka, topic):
    """All records of the topic, as (key, headers, the line)."""
    records = await records_of(kafka, topic)
    return [(record.key.decode(), dict(record.headers), json.loads(record.value)) for record in records]


def proxy_of(kafka, topic, folder, **more):
    settings = EVERY_SECOND | {"decisions.topic.name": f"{topic}-log"} | more
    return RunningProxy(kafka.bootstrap_servers, decisions=folder, settings=settings)


def of_boot(lines):
    """Lines by boot and seq; each once, as whoever reads at-least-once has to do."""
    return {(line["proxy"], line["boot"], line["seq"]): line for line in lines}


async def test_the_topic_holds_every_line_of_the_files_with_cloudevents_headers(kafka_440, topic, tmp_path):
    for name in (topic, f"{topic}-log"):
        await kafka_440.create_topic(name)
    async with proxy_of(kafka_440, topic, tmp_path) as proxy:
        await send(proxy, topic)
        await until_page(proxy, "/metrics", 200, "tsproxy_decision_topic_up 1.0")

    records = await sent(kafka_440, f"{topic}-log")
    assert [line for _, _, line in records] == proxy.decisions()
    for key, headers, line in records:
        assert key == f"{line['proxy']}/{line['boot']}"
        assert headers["ce_id"] == f"{line['boot']}:{line['seq']}".encode()
        assert headers["ce_type"] == f"tsproxy.{line['event']}.v1".encode()
        assert headers["ce_source"] == line["proxy"].encode()
        assert headers.get("ce_subject") == (line["topic"].encode() if "topic" in line else None)
    assert all(name.endswith(".jsonl") for name in names(tmp_path))


async def test_what_a_killed_proxy_had_not_sent_is_sent_by_the_next_one(kafka_440, topic, tmp_path):
    """The first one's brokers of the topic are not there: nothing is sent before the second starts."""
    for name in (topic, f"{topic}-log"):
        await kafka_440.create_topic(name)
    nobody = {"decisions.topic.bootstrap_servers": f"127.0.0.1:{free_ports(1)[0]}"}
    first = proxy_of(kafka_440, topic, tmp_path, **nobody)
    await first.__aenter__()
    await send(first, topic)
    await until(lambda: [line for line in first.decisions() if line["event"] == "counters"])
    told = f"warning: the decision log cannot be sent to the topic {topic}-log: "
    await until_page(first, "/readyz?verbose", 200, told)
    await first.kill()
    await first.__aexit__(None, None, None)
    assert "decision_topic_failed" in [line["event"] for line in first.log]
    async with proxy_of(kafka_440, topic, tmp_path) as second:
        await until_page(second, "/metrics", 200, "tsproxy_decision_topic_up 1.0")
        status, verbose = await page(second.admin_address, "/readyz?verbose")
        assert status == 200
        assert "topic" not in verbose
        await until(lambda: not list(tmp_path.glob(".unsent-*"))[1:])
    assert "decision_file_recovered" in [line["event"] for line in second.log]

    lines = [line for _, _, line in await sent(kafka_440, f"{topic}-log")]
    assert len({line["boot"] for line in lines}) == 2
    assert of_boot(lines) == of_boot(second.decisions())


async def test_a_topic_with_a_smaller_limit_gets_every_line_but_one_that_is_too_large_alone(
    kafka_440, topic, tmp_path
):
    """A batch that the topic refuses is sent again as smaller ones. So no line keeps back those after it."""
    await kafka_440.create_topic(f"{topic}-log", config={"max.message.bytes": "50000"})
    facts = {"ts": "2026-11-30T00:00:00.000Z", "event": "counters", "v": 1, "proxy": "px", "boot": "old"}
    sizes = [700] * 200 + [60_000] + [700] * 20
    old = [json.dumps(facts | {"seq": seq, "pad": "x" * size}) for seq, size in enumerate(sizes)]
    (tmp_path / "decisions-20261130T000000Z-px-old-0001.jsonl").write_text("\n".join(old) + "\n")
    (tmp_path / ".unsent-px-old").touch()
    async with proxy_of(kafka_440, topic, tmp_path) as proxy:
        await until(lambda: not (tmp_path / ".unsent-px-old").exists())
        await until_page(proxy, "/metrics", 200, "tsproxy_decision_topic_up 1.0")

    came = of_boot([line for _, _, line in await sent(kafka_440, f"{topic}-log") if line["boot"] == "old"])
    assert [seq for _, _, seq in came] == [seq for seq, size in enumerate(sizes) if size < 50_000]
    not_sent = [line["bytes"] for line in proxy.log if line["event"] == "decision_not_sent"]
    assert not_sent == [len(line) for line in old if len(line) > 50_000]


def test_a_line_that_is_none_of_ours_is_not_sent():
    no_text = b'{"proxy":"p","boot":"b","seq":1,"event":"decision","v":1,"ts":5}'
    for line in (b"", b"x", b"[]", b"7", b'{"seq":1}', b"\xff", no_text):
        with pytest.raises(ValueError):
            key_and_headers(line)


def to_topic(folder, monkeypatch, connected):
    """Sends to the topic `log`, with producers of `connected`."""
    monkeypatch.setattr(of_topic, "connected_producer", connected)
    config = config_of(SMALLEST + "decisions: { topic: { name: log } }\n")
    return DecisionTopic(config.decisions.topic, config.upstream, None, folder, NAME)


def stored(monkeypatch):
    """The looks at the stored position, one for each attempt to store it."""
    looks, store = [], Unsent.store

    def looked(unsent):
        store(unsent)
        looks.append(unsent)

    monkeypatch.setattr(Unsent, "store", looked)
    return looks


LINE = b'{"event":"heartbeat","v":1,"ts":"","proxy":"p","boot":"b","seq":0}'


class Accepting:
    """A producer whose brokers take everything."""

    def __init__(self):
        self.lines = []

    @asynccontextmanager
    async def connected(self, *_, **__):
        yield self

    async def send(self, _, line, **__):
        self.lines.append(line)
        (acknowledged := asyncio.get_running_loop().create_future()).set_result(None)
        return acknowledged

    async def partitions_for(self, _):
        return {0}


async def test_on_a_full_disk_each_line_is_sent_once_and_the_disk_is_at_fault(small_disk, monkeypatch):
    """The topic got the same lines every two seconds, until there was room for their position."""
    monkeypatch.setattr(of_topic, "POLL_INTERVAL_S", 0.01)
    monkeypatch.setattr(of_topic, "RETRY_MS", 1)
    accepting, looks = Accepting(), stored(monkeypatch)
    sending = to_topic(small_disk, monkeypatch, accepting.connected)
    sending.start()
    write(small_disk, 1, LINE + b"\n", is_open=True)
    fill(small_disk / "ballast")
    await until(sending.warnings)
    looks.clear()
    await until(lambda: len(looks) > 3)
    position = small_disk / f".unsent-{NAME}"
    told = f"the decision log cannot be written: No space left on device ({position})"
    assert (sending.warnings(), sending.is_up) == ([told], True)
    (small_disk / "ballast").unlink()
    await until(lambda: not sending.warnings())
    assert position.read_bytes() == Position(1, len(LINE) + 1).as_text()
    await sending.stop(0)
    assert accepting.lines == [LINE]


class Silent(Accepting):
    async def send(self, *_, **__):
        return asyncio.get_running_loop().create_future()


class Away(Accepting):
    @asynccontextmanager
    async def connected(self, *_, **__):
        raise KafkaConnectionError
        yield


@pytest.mark.parametrize("brokers", [Accepting, Silent, Away])
async def test_a_folder_that_was_made_again_gets_its_position_again(tmp_path, monkeypatch, brokers):
    """After a kill, the next process did not send the lines that waited there."""
    for name, value in {"POLL_INTERVAL_S": 0.01, "SEND_WARN_S": 0.01, "RETRY_MS": 1}.items():
        monkeypatch.setattr(of_topic, name, value)
    folder, looks = tmp_path / "decisions", stored(monkeypatch)
    folder.mkdir()
    write(folder, 1, LINE + b"\n", is_open=True)
    sending = to_topic(folder, monkeypatch, brokers().connected)
    sending.start()
    await until(lambda: sending.is_up or sending.warnings())
    folder.rename(tmp_path / "moved")
    looks.clear()
    await until(lambda: len(looks) > 1)
    assert not any("written" in warning for warning in sending.warnings())
    folder.mkdir()
    await until((folder / f".unsent-{NAME}").exists)
    assert list(Unsent.left_behind(folder)) == []  # it has its lock again
    await sending.stop(0)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            ClusterAuthorizationFailedError(),
            "[Error 31] ClusterAuthorizationFailedError: needs Write on the topic",
        ),
        (TopicAuthorizationFailedError(), "[Error 29] TopicAuthorizationFailedError"),
    ],
)
async def test_an_error_that_names_the_cluster_says_which_right_is_missing(
    tmp_path, monkeypatch, error, told
):
    """A user that may write to no topic gets it, though a right on the cluster is not needed."""

    @asynccontextmanager
    async def connected(*_, **__):
        raise error
        yield

    sending = to_topic(tmp_path, monkeypatch, connected)
    sending.start()
    await until(sending.warnings)
    await sending.stop(0)
    assert sending.warnings() == [f"the decision log cannot be sent to the topic log: {told}"]
