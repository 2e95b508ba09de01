"""The texts of each client for a rejected batch, as docs/evidence/rejected-batches.md shows it.

    python -m tests.clients.refused

asks every client, real ones before a real proxy and broker, and writes the texts into the page. It needs
Go, Node and kcat, too. One producer of every client sends five batches to one partition: a good record, a bad
one between two good ones, a good one between two bad ones, and twice a good one. A bad timestamp is in
microseconds. The texts are the client's own. Only times, the topic's name and the producer's id are replaced,
so that each run gives the same text.
"""

import asyncio
import re
import sys
import tempfile
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

from tests.clients.families import FAMILIES
from tests.clients.kcat import KCAT
from tests.clients.program import running
from tsproxy.clock import Clock
from tsproxy.model.kafka import ErrorCode
from tsproxy.testing.client_options import ClientOptions
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "rejected-batches.md"
NOT_ALWAYS_IDEMPOTENT = ("aiokafka", "kafka-python")
"""An idempotent producer of these does not go on after a rejected batch, so both kinds are shown."""
WITH_TRANSACTIONS = ("java", "librdkafka", "aiokafka")
POLICY = """
policy:
  rules:
    - { name: past, match: { client_ids: [kcat] }, message.timestamp.before.max.ms: 0ms }
    - { name: future, message.timestamp.after.max.ms: 1h }
"""
"""kcat always sends its clock's time. A record that is as old as its way here is rejected."""

_NOW_MS = 1_796_083_200_000
_EXAMPLE = {
    16: str(_NOW_MS * 1_000),
    13: str(_NOW_MS + 3_600_000),
    -19: str(_NOW_MS - (2**63 - 1)),
}
"""Digits of a number in the text (negative: of a negative number) -> what stands in the page."""
_LATE = (
    "org.apache.kafka.common.errors.InvalidTimestampException: "
    "One or more records have been rejected due to invalid timestamp"
)
_JAVA_COMMIT = (
    "org.apache.kafka.common.KafkaException: Cannot execute transactional method because we are in an error "
    f"state, caused by {_LATE}",
    _LATE,
)
"""Java completes the futures of a rejected batch before the transaction knows of it. So a commit that follows
at once may say the one or the other."""
_BATCHES = ("good", "good bad good", "bad good bad", "good", "good")


def config_of(kafka):
    return (
        f"upstream: {{ bootstrap_servers: ['{kafka.bootstrap_servers}'] }}\n"
        f"listeners: [{{ bind: 127.0.0.1:0 }}]\ndecisions: {{ interval: 1s }}\n{POLICY}"
    )


async def asked(families, kafka, folder, tool=None):
    """Name of the block -> its text, of each family and of kcat's command, if it is there."""
    config = folder / "tsproxy.yaml"
    config.write_text(config_of(kafka))
    names = [family.name for family in families] + [KCAT] * bool(tool)
    topics = {name: f"refused-{folder.name}-{name}" for name in names}
    asides = [aside_of(topics[name]) for name in names if name in WITH_TRANSACTIONS]
    asides += [f"{topics[name]}-plain" for name in names if name in NOT_ALWAYS_IDEMPOTENT]
    await asyncio.gather(*[kafka.create_topic(topic) for topic in (*topics.values(), *asides)])
    async with RunningProxy(config=config, decisions=folder / "log") as proxy:
        servers = proxy.bootstrap_servers
        acts = [told_by(family, servers, topics[family.name]) for family in families]
        acts += [
            told_by(family, servers, f"{topics[family.name]}-plain", is_idempotent=False)
            for family in families
            if family.name in NOT_ALWAYS_IDEMPOTENT
        ]
        if tool:
            acts.append(_kcat(tool, servers, topics[KCAT]))
        blocks = {name: text for block in await asyncio.gather(*acts) for name, text in block.items()}
    for family in families:
        blocks[family.name] += _times_sent(proxy, topics[family.name])
    return blocks


async def told_by(family, servers, topic, version="4.4.0", *, is_idempotent=True):
    """Name of the block -> its text, of this client. Its transactions are sent to `aside_of(topic)`."""
    async with running(family, version, ClientOptions(servers)) as program:
        if not is_idempotent:
            program.option("idempotence", "no")
        await program.do("connect")
        told = [await program.do("batch", topic, *_words(batch)) for batch in _BATCHES]
        scenes = [_lines(batch.split(), texts) for batch, texts in zip(_BATCHES, told, strict=True)]
        blocks = {family.name + " without idempotence" * (not is_idempotent): "\n".join(scenes)}
        if is_idempotent and family.name in WITH_TRANSACTIONS:
            told = await program.do("refuse", aside_of(topic), topic, _times()["bad"])
            texts = ["\n    or: ".join(_JAVA_COMMIT) if text in _JAVA_COMMIT else text for text in told[1::2]]
            block = _lines(told[::2], texts).replace("\nbegin", "\n\nbegin").replace(aside_of(topic), "TOPIC")
            blocks[f"{family.name} transaction"] = re.sub(r"(?<=PID{Id:)\d+", "19", block)
        await program.do("close")
    return blocks


def aside_of(topic):
    """The topic for the transactions of a client that has this one."""
    return f"{topic}-transactions"


async def _kcat(tool, servers, topic):
    command = (tool, "-P", "-b", servers, "-t", topic, "-X", f"client.id={KCAT}")
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=STDOUT)
    told, _ = await process.communicate(b"a record\n")
    return {KCAT: f"{told.decode()}exit status {process.returncode}\n"}


def _times():
    now_ms = Clock().now_ms()
    return {"good": now_ms, "bad": now_ms * 1_000}


def _words(batch):
    times = _times()
    return [word for kind in batch.split() for word in (kind, times[kind])]


def _lines(names, told):
    return "".join(f"{name:6}  {_like_the_example(text)}\n" for name, text in zip(names, told, strict=True))


def _like_the_example(text):
    def replaced(found):
        digits = len(found["digits"])
        return _EXAMPLE.get(-digits if found["minus"] else digits, found[0])

    return re.sub(r"(?P<minus>-?)(?P<digits>\d{13,})", replaced, text)


def _times_sent(proxy, topic):
    """The number of rejected batches that came: two, if each is sent once."""
    counted = [line for line in proxy.decisions() if line["event"] == "counters" and line["topic"] == topic]
    times = sum(line["batches"] for line in counted if line["error_code"] == ErrorCode.INVALID_TIMESTAMP)
    return f"\nrejected batches that the client sent: {times}\n"


_BLOCK = re.compile(r"(?<=<!-- told by )([\w -]+)( -->\n\n```text\n)(.*?)(?=```\n)", re.DOTALL)


def documented():
    """Name of the block -> its text in the page."""
    return {name: text for name, _, text in _BLOCK.findall(PAGE.read_text(encoding="utf-8"))}


async def _all():
    with tempfile.TemporaryDirectory(prefix="tsproxy-refused-") as folder:
        async with KafkaCluster() as kafka:
            families = [family for family in FAMILIES if family.name != "java-share"]
            return await asked(families, kafka, Path(folder), KCAT)


def main():
    """Asks and writes."""
    blocks = asyncio.run(_all())
    page = PAGE.read_text(encoding="utf-8")
    missing = blocks.keys() ^ documented().keys()
    PAGE.write_text(_BLOCK.sub(lambda found: f"{found[1]}{found[2]}{blocks[found[1]]}", page), "utf-8")
    print(*sorted(missing), sep="\n", file=sys.stderr)
    return bool(missing)


if __name__ == "__main__":
    raise SystemExit(main())
