"""The families of clients: how each is started, in whose words it is told to connect, what it can do."""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.clients import foreign
from tests.clients.programs.plain_words import plain_words
from tsproxy.testing.client_options import ClientOptions
from tsproxy.testing.jars import fetch_kafka_jars
from tsproxy.testing.java import source_command


@dataclass(frozen=True)
class Family:
    """`words` are the options that its program is given; `command` takes the Kafka version."""

    name: str
    command: Callable[[str], Sequence]
    words: Callable[[ClientOptions, str], dict] = lambda options, _: plain_words(options)
    needs: tuple[str, ...] = ()
    """Tools beside Python and Java."""
    takes_minutes: bool = False
    """Whether its program may take minutes to build: it plays only in TSPROXY_CLIENTS=all."""
    knows_transactions: bool = False
    versions: tuple[str, ...] = ("4.4.0", "3.9.1")

    def __str__(self):
        return self.name


def _java(version):
    return source_command([fetch_kafka_jars(version) / "*"], "256m", foreign.PROGRAMS / "JavaClient.java")


def _python(name):
    return lambda _: [sys.executable, "-m", f"tests.clients.programs.{name}_client"]


def _java_words(options, version):
    """Kafka 4's own group protocol where it is there (KIP-848), the classic one before."""
    protocol = {"group.protocol": "consumer"} if version.startswith("4.") else {}
    return options.java() | protocol


FAMILIES = (
    Family("java", _java, words=_java_words, knows_transactions=True),
    Family(
        "java-share", _java, words=lambda options, _: options.java() | {"share": "yes"}, versions=("4.4.0",)
    ),
    Family(
        "librdkafka",
        _python("librdkafka"),
        words=lambda options, _: options.librdkafka(),
        knows_transactions=True,
    ),
    Family("aiokafka", _python("aiokafka")),
    Family("kafka-python", _python("kafka_python")),
    Family("franz-go", lambda _: foreign.go_program("franz"), needs=("go",), knows_transactions=True),
    Family("sarama", lambda _: foreign.go_program("sarama"), needs=("go",)),
    Family("kafkajs", lambda _: foreign.node_program(), needs=("node", "npm")),
    Family(
        "confluent-kafka-javascript",
        lambda _: foreign.confluent_program(),
        needs=("node", "npm"),
        takes_minutes=True,
    ),
)

_ASKED_FOR = {
    "": lambda family: not family.needs,
    "foreign": lambda family: bool(family.needs) and not family.takes_minutes,
    "all": lambda _: True,
}[os.environ.get("TSPROXY_CLIENTS", "")]


def chosen(version):
    """The families that play in this run, on brokers of this version."""
    return [family for family in FAMILIES if version in family.versions and _ASKED_FOR(family)]
