"""The versions of clients that docs/evidence/clients.md names are those that the tests use."""

import json
import re
from importlib.metadata import version

from tests.clients import versions
from tests.clients.capture import Capture, Requests
from tests.clients.families import FAMILIES
from tests.clients.foreign import PROGRAMS
from tests.session.messages import API_VERSIONS, PRODUCE, request

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
    text = versions.PAGE.read_text(encoding="utf-8")
    table = text.partition("| client | version | what it uses |\n")[2].partition("\n\n")[0]
    rows = [each.strip("|").split("|") for each in table.splitlines()[1:]]
    assert {cells[0].strip(): cells[1].strip() for cells in rows} == USED


def test_the_document_has_a_row_for_each_client_and_each_release_that_it_plays_with():
    rows = versions.documented()
    assert rows.keys() == {(family.name, release) for family in FAMILIES for release in family.versions}
    for (_, release), cells in rows.items():
        software = cells[2]
        assert not software.startswith("`apache-kafka-java/") or software == f"`apache-kafka-java/{release}`"


def test_requests_are_read_however_their_bytes_come():
    """By client id, with the software that an ApiVersions names from version 3 on."""
    asked = [
        request(API_VERSIONS, 3, b"\x05libx\x041.2\x00", client_id="one"),
        request(PRODUCE, 13, bytes(300), client_id="one"),
        request(PRODUCE, 12, bytes(3), client_id="one"),
        request(API_VERSIONS, 2, client_id="other"),
    ]
    for size in (1, 7, 10_000):
        capture = Capture()
        requests, data = Requests(capture.by_client), b"".join(asked)
        for start in range(0, len(data), size):
            requests.take(data[start : start + size])
        one, other = capture.by_client["one"], capture.by_client["other"]
        assert one.versions == {"ApiVersions": {3}, "Produce": {12, 13}}
        assert one.software == {"libx/1.2"}
        assert (other.versions, other.software) == ({"ApiVersions": {2}}, set())
