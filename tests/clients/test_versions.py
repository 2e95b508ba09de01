"""The versions of clients that docs/evidence/clients.md names are those that the tests use."""

import json
import re
from importlib.metadata import version
from pathlib import Path

from tests.clients.foreign import PROGRAMS

PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "clients.md"
GO = dict(re.findall(r"^\s(\S+) v(\S+)$", (PROGRAMS / "go" / "go.mod").read_text(), re.MULTILINE))
NODE = {
    name: pinned
    for folder in ("node", "node-confluent")
    for name, pinned in json.loads((PROGRAMS / folder / "package.json").read_text())["dependencies"].items()
}
USED = {
    "Java": "from the broker's own jars",
    "Java, share group": "4.4.0",
    "librdkafka, by confluent-kafka": version("confluent-kafka"),
    "aiokafka": version("aiokafka"),
    "kafka-python": version("kafka-python"),
    "franz-go": GO["github.com/twmb/franz-go"],
    "sarama": GO["github.com/IBM/sarama"],
    "kafkajs": NODE["kafkajs"],
    "confluent-kafka-javascript": NODE["@confluentinc/kafka-javascript"],
}


def test_the_document_names_the_versions_that_are_installed():
    text = PAGE.read_text(encoding="utf-8")
    table = text.partition("| client | version | what it uses |\n")[2].partition("\n\n")[0]
    rows = [each.strip("|").split("|") for each in table.splitlines()[1:]]
    assert {cells[0].strip(): cells[1].strip() for cells in rows} == USED
