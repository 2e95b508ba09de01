"""Kafka's own command line tools, from the jars of the brokers.

    python -m tsproxy.testing.tools bin
    bin/kafka-topics.sh --bootstrap-server 127.0.0.1:9092 --list

The scripts have the names and the options that they have in Kafka's own distribution.
"""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tsproxy.testing.jars import JarsError, fetch_tools
from tsproxy.testing.java import JavaError, java_command
from tsproxy.testing.kafka_cluster import DEFAULT_VERSION

_TOOLS: Final = "org.apache.kafka.tools"

CLASSES: Final = {
    "kafka-acls.sh": f"{_TOOLS}.AclCommand",
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
    "kafka-console-consumer.sh": f"{_TOOLS}.consumer.ConsoleConsumer",
    "kafka-console-producer.sh": f"{_TOOLS}.ConsoleProducer",
    "kafka-consumer-groups.sh": f"{_TOOLS}.consumer.group.ConsumerGroupCommand",
    "kafka-delete-records.sh": f"{_TOOLS}.DeleteRecordsCommand",
    "kafka-get-offsets.sh": f"{_TOOLS}.GetOffsetShell",
    "kafka-leader-election.sh": f"{_TOOLS}.LeaderElectionCommand",
    "kafka-producer-perf-test.sh": f"{_TOOLS}.ProducerPerformance",
    "kafka-topics.sh": f"{_TOOLS}.TopicCommand",
    "kafka-verifiable-producer.sh": f"{_TOOLS}.VerifiableProducer",
}
"""Script -> class, as in the `bin` folder of Kafka 4."""

_HEAP: Final = "256m"
_QUIET: Final = ("-Dtsproxy.log.level=WARN", "-Dlog4j2.shutdownHookEnabled=false")
"""As in Kafka's distribution, tools log only problems (log4j2.xml). A tool may end before its log has begun;
then the log would report an error about a hook that it can no longer set."""


def write_tools(folder: Path) -> list[Path]:
    """Writes a script for each tool to `folder`, and returns their paths. Raises JarsError or JavaError."""
    jars = fetch_tools(DEFAULT_VERSION)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, main_class in CLASSES.items():
        command = java_command([jars / "*"], _HEAP, main_class, options=_QUIET)
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, command))} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
        written.append(script)
    return written


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the scripts and prints their names. Returns 0, or 1 after an error."""
    parser = argparse.ArgumentParser(
        "python -m tsproxy.testing.tools",
        description=f"Writes the tools for Kafka {DEFAULT_VERSION} to a folder.",
    )
    parser.add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    try:
        for path in write_tools(options.folder):
            print(path)
    except (JarsError, JavaError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
