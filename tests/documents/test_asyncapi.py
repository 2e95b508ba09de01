"""The AsyncAPI document says what the proxy sends: each line of the golden logs, with its key and headers."""

import json

from tests.decisions.test_golden import FOLDER, LOGS
from tests.documents import asyncapi
from tests.documents.generated import ROOT
from tsproxy.proxy.decision_log.topic import key_and_headers

LINE = json.loads(asyncapi.text())["components"]["messages"]["line"]


def test_each_line_has_the_headers_of_the_document():
    described, required = LINE["headers"]["properties"], set(LINE["headers"]["required"])
    sent = set()
    for line in (line for name in LOGS for line in (FOLDER / name).read_bytes().splitlines()):
        key, pairs = key_and_headers(line)
        found = {name: value.decode() for name, value in pairs}
        assert required <= found.keys() <= described.keys()
        assert found["ce_type"] in described["ce_type"]["enum"]
        assert key.count(b"/") == 1
        sent |= found.keys()
    assert sent == described.keys()


def test_the_payload_is_the_schema_beside_it():
    schema = ROOT / "docs" / "reference" / LINE["payload"]["$ref"]
    assert json.loads(schema.read_text())["oneOf"]
