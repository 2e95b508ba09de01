"""The AsyncAPI document says what the proxy sends: each line of the golden logs, with its key and headers."""

import json

from tests.decisions.test_golden import FOLDER, LOGS
from tests.documents.generated import ROOT
from tsproxy.decisions.fields import SCHEMA_VERSION, EventName
from tsproxy.proxy.decision_log.topic import key_and_headers

DOCUMENT = ROOT / "docs" / "reference" / "decision-topic.asyncapi.json"
LINE = json.loads(DOCUMENT.read_text(encoding="utf-8"))["components"]["messages"]["line"]


def test_each_line_has_the_headers_of_the_document():
    described, required = LINE["headers"]["properties"], set(LINE["headers"]["required"])
    sent = set()
    for line in (line for name in LOGS for line in (FOLDER / name).read_bytes().splitlines()):
        key, pairs = key_and_headers(line)
        found = {name: value.decode() for name, value in pairs}
        assert required <= found.keys() <= described.keys()
        assert key.count(b"/") == 1
        sent |= found.keys()
    assert sent == described.keys()
    types = [f"tsproxy.{event}.v{SCHEMA_VERSION}" for event in EventName]
    assert described["ce_type"]["enum"] == types


def test_the_payload_is_the_schema_beside_it():
    schema = ROOT / "docs" / "reference" / LINE["payload"]["$ref"]
    assert json.loads(schema.read_text())["oneOf"]
