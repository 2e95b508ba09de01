"""Clients are offered what the brokers offer, but for the rows of a table in transparency.md, if any."""

import re
from pathlib import Path

import pytest
from kio.index import load_response_schema

from tests.attacks.attacker import answer_to, port_of
from tests.session.messages import API_VERSIONS, request
from tests.wire.entities import read
from tsproxy.testing.proxy import RunningProxy
from tsproxy.wire.apis import APIS

DOCS = Path(__file__).parents[2] / "docs" / "evidence"
VERSION = 4
ASKED = request(API_VERSIONS, VERSION, b"\x05test\x021\x00")

pytestmark = pytest.mark.broker


async def offered(port):
    """(API key -> (oldest, newest), the features with their levels)"""
    answer = read(load_response_schema(API_VERSIONS, VERSION), (await answer_to(port, ASKED))[4:])
    features = {*answer.supported_features, *answer.finalized_features}
    return {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}, features


def narrowed_by_the_document(release):
    """API -> (what the broker offers, what the proxy offers; None for nothing), by the table."""
    text = (DOCS / "transparency.md").read_text(encoding="utf-8")
    section = text.partition("\n## API versions\n")[2].partition("\n## ")[0]
    rows = re.findall(
        r"^\| ([\d.]+) \| (\w+) \| (\d+) to (\d+) \| (?:(\d+) to (\d+)|nothing) \| .+ \|$", section, re.M
    )
    assert section
    assert len(rows) == max(0, sum(line.startswith("| ") for line in section.splitlines()) - 2)
    return {
        name: ((int(oldest), int(newest)), (int(first), int(last)) if first else None)
        for broker, name, oldest, newest, first, last in rows
        if broker == release
    }


@pytest.mark.parametrize("kafka", ["kafka_440", "kafka_431", "kafka_391"], indirect=True)
async def test_only_what_the_document_lists_is_not_offered(kafka):
    direct, features = await offered(int(kafka.bootstrap_servers.rpartition(":")[2]))
    async with RunningProxy(kafka.bootstrap_servers) as proxy:
        through, features_through = await offered(port_of(proxy))
    names = {key: api.name for key, api in APIS.items()}
    narrowed = {
        names.get(key, str(key)): (versions, through.get(key))
        for key, versions in direct.items()
        if through.get(key) != versions
    }
    assert narrowed == narrowed_by_the_document(kafka.version)
    assert through.keys() <= direct.keys()
    assert features_through == features
