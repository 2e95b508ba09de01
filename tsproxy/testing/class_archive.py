"""An archive of Kafka's classes, so that Java reads and verifies them once per machine, not at each start.

A broker spends half of its start on classes. Java can keep them in an archive (class data sharing), which it
writes when a process ends normally. So one broker is started and stopped for each new folder of jars. Then
every Java process with these jars at the beginning of its class path uses the archive. The archive only saves
time: Java ignores one that is missing, or that another Java made, or that belongs to other jars.
"""

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from tsproxy.testing.formatting import format_nodes
from tsproxy.testing.guard import guarded_folder
from tsproxy.testing.java import archive_of
from tsproxy.testing.kafka_node import KafkaNode, KafkaStartError, Runtime
from tsproxy.testing.ports import free_ports
from tsproxy.testing.server_properties import ClientSecurity, NodePorts, server_properties
from tsproxy.testing.unfinished import unfinished

_DUMP_TIMEOUT_S: Final = 120
_POLL_S: Final = 0.03


async def prepare_classes(jars: Path) -> None:
    """Makes the archive for a folder of a broker's jars, unless it exists or the folder is read-only."""
    archive = await asyncio.to_thread(archive_of, jars)
    if archive.exists() or not os.access(archive.parent, os.W_OK):  # a single check
        return
    # The next cluster tries again if there is an error.
    with suppress(KafkaStartError, OSError, TimeoutError), unfinished(archive) as made:
        async with guarded_folder("tsproxy-classes-") as (folder, group), asyncio.timeout(_DUMP_TIMEOUT_S):
            runtime = Runtime(jars, "256m", group, (f"-XX:ArchiveClassesAtExit={made}",))
            ports = {1: NodePorts(*free_ports(3))}
            node = KafkaNode(1, ports[1], folder / "node-1", runtime)
            properties = server_properties(1, ports, ClientSecurity("PLAINTEXT"), node.data)
            await format_nodes([node], {1: properties}, (), None)
            node.start()
            while not node.is_up():  # noqa: ASYNC110  # only its log says that it is up
                await asyncio.sleep(_POLL_S)
            await node.stop()
        made.rename(archive)  # so the file is complete as soon as it exists
