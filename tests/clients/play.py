"""The scenes on a stage. All clients of the cast are there at once, each with its own topic and group:

1. each connects, creates its topic, sends, joins its group, reads, asks for offsets and brokers, and
   commits and aborts transactions where it knows them;
2. every leader moves while all send;
3. a broker is restarted while all send (where the stage has it);
4. each reads the rest and leaves.

A client that fails is left out of what follows; its story says why.
"""

import asyncio
import re
import tempfile
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import yaml
from kafka import TopicPartition
from kafka.admin import KafkaAdminClient

from tests.clients.connections import Watch
from tests.clients.program import Program, ProgramError, running
from tests.clients.stages import client_options, cluster_arguments, proxy_config
from tsproxy.testing.certificates import CertificateAuthority
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

PARTITIONS = 3
_RESTARTED = 2


@dataclass
class Story:
    """The results of one client. `failure` names the scene and what the client said."""

    failure: str | None = None
    acknowledged: dict[str, list[str]] = field(default_factory=dict)
    """The values that it sent, by scene, each acknowledged."""
    read: set[str] = field(default_factory=set)
    offsets: dict[int, int] = field(default_factory=dict)
    log_ends: dict[int, int] = field(default_factory=dict)
    """The answers that the client got, and the answers of the brokers themselves."""
    brokers: set[str] = field(default_factory=set)
    served: set[str] = field(default_factory=set)
    """Brokers as the client was told, and as the proxy serves them: `ID=HOST:PORT`."""
    committed: set[str] | None = None
    direct: set[int] = field(default_factory=set)
    """Brokers' own ports that it had a socket towards."""

    @property
    def sent(self):
        return [value for values in self.acknowledged.values() for value in values]


async def perform(stage):
    """Everything from the first broker to the last client's leave; a story for each role."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tsproxy-stage-")))
        authority = CertificateAuthority(folder)
        kafka = await stack.enter_async_context(KafkaCluster(**cluster_arguments(stage, authority)))
        config = folder / "tsproxy.yaml"
        config.write_text(yaml.safe_dump(proxy_config(stage, kafka, authority)))
        proxy = await stack.enter_async_context(RunningProxy(config=config))
        watch = stack.enter_context(Watch(ports_of(kafka)))
        actors = []
        for role in stage.roles:
            options = client_options(role, proxy.facts["listeners"][role.security.name], authority)
            program = await stack.enter_async_context(running(role.family, stage.version, options))
            watch.follow(str(role), program.pid)
            served = proxy.facts["brokers"][role.security.name].items()
            story = Story(served={f"{node_id}=127.0.0.1:{port}" for node_id, port in served})
            actors.append(Actor(role, program, story))
        await _scenes(stage, kafka, actors)
        assert watch.looks > 0
        for actor in actors:
            actor.story.direct = {port for name, port in watch.seen if name == str(actor.role)}
            with suppress(LookupError):  # it could not even create its topic
                actor.story.log_ends = await kafka.end_offsets(actor.role.topic)
        return {actor.role: actor.story for actor in actors}


async def _scenes(stage, kafka, actors):
    await _all(actors, "opening", Actor.open)
    playing = [actor for actor in actors if actor.is_playing]
    if stage.nodes > 1 and playing:
        topics = [actor.role.topic for actor in playing]
        await _meanwhile(playing, "leaders move", lead_elsewhere(kafka, topics))
    if stage.restarts:
        await _meanwhile(playing, "a broker restarts", _restart(kafka))
    await _all(actors, "ending", Actor.end)


async def _restart(kafka):
    await kafka.stop_node(_RESTARTED)
    await kafka.start_node(_RESTARTED)


async def _meanwhile(actors, scene, happening):
    """All send as long as it happens, and once more to every partition after that; then they read."""
    over = asyncio.Event()

    async def happen():
        try:
            await happening
        finally:
            over.set()

    async with asyncio.TaskGroup() as group:
        group.create_task(happen())
        group.create_task(_all(actors, scene, lambda actor: actor.go_on(scene, over)))


async def _all(actors, scene, act):
    async def one(actor):
        if not actor.is_playing:
            return
        try:
            await act(actor)
        except ProgramError as error:
            actor.story.failure = f"{scene}: {error}"

    async with asyncio.TaskGroup() as group:
        for actor in actors:
            group.create_task(one(actor))


@dataclass
class Actor:
    role: object
    program: Program
    story: Story
    _numbers: count = field(default_factory=count)

    @property
    def is_playing(self):
        return self.story.failure is None

    async def open(self):
        program, topic = self.program, self.role.topic
        await program.do("connect")
        await program.do("create", topic, self.role.stage.nodes)
        await self._send_to_each_partition("opening")
        await program.do("join", f"group.{topic}", topic)
        await self._read()
        await self._ask()
        if self.role.family.knows_transactions:
            aside = f"{topic}.transactions"
            await program.do("create", aside, self.role.stage.nodes)
            self.story.committed = set(await program.do("transact", aside, f"id.{topic}", "kept", "dropped"))

    async def go_on(self, scene, over):
        while not over.is_set():
            await self._send_to_each_partition(scene)
        await self._send_to_each_partition(scene)
        await self._read()

    async def end(self):
        await self._ask()
        await self.program.do("close")

    async def _send_to_each_partition(self, scene):
        for partition in range(PARTITIONS):
            value = f"{next(self._numbers):06}"
            await self.program.do("produce", self.role.topic, partition, value)
            self.story.acknowledged.setdefault(scene, []).append(value)

    async def _read(self):
        self.story.read = set(await self.program.do("poll", len(self.story.sent)))

    async def _ask(self):
        pairs = [each.split("=") for each in await self.program.do("offsets", self.role.topic)]
        self.story.offsets = {int(partition): int(end) for partition, end in pairs}
        self.story.brokers |= set(await self.program.do("brokers"))


def ports_of(kafka):
    """Every port that a broker listens on, whoever for."""
    texts = [kafka.node(node_id).properties_path.read_text() for node_id in kafka.node_ids]
    return {int(port) for text in texts for port in re.findall(r"(?<=127\.0\.0\.1:)\d+", text)}


_PREFERRED = 0


async def lead_elsewhere(kafka, topics):
    """Every partition of the topics gets another leader, of those that have it already."""
    await asyncio.to_thread(_lead_elsewhere, kafka, topics)


def _lead_elsewhere(kafka, topics):
    node = kafka.node(kafka.node_ids[0])
    servers = f"{node.host}:{node.internal_port}"
    admin = KafkaAdminClient(bootstrap_servers=servers, request_timeout_ms=60_000)
    try:
        turned = {}
        for topic in admin.describe_topics(topics):
            for partition in topic["partitions"]:
                replicas = partition["replica_nodes"]
                key = TopicPartition(topic["name"], partition["partition_index"])
                turned[key] = [*replicas[1:], replicas[0]]
        rejected = {key: error for key, error in admin.alter_partition_reassignments(turned).items() if error}
        assert not rejected, rejected
        admin.elect_leaders(_PREFERRED, {t: list(range(3)) for t in topics}, raise_errors=False)
        leaders = {
            TopicPartition(topic["name"], partition["partition_index"]): partition["leader_id"]
            for topic in admin.describe_topics(topics)
            for partition in topic["partitions"]
        }
    finally:
        admin.close()
    assert leaders.keys() == turned.keys()
    return leaders
