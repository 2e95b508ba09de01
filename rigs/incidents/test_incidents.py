"""Each incident is told by the page, by `/readyz?verbose`, by the log and by a metric, and is over again."""

from contextlib import suppress

import pytest
import pytest_asyncio
from aiokafka.errors import TopicAlreadyExistsError

from rigs.incidents.catalogue import INCIDENTS, Expired, File, missing
from rigs.incidents.clusters import cluster
from rigs.incidents.incident import TOPIC
from rigs.incidents.measured import measured
from rigs.incidents.runbook import RUNS_ITS_COMMANDS, sections

pytestmark = RUNS_ITS_COMMANDS


class WithoutJava(Expired):
    java = False


QUICK = [File, WithoutJava]
"""Incidents that cost a few seconds, with the broker that all tests share."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(kafka_440):
    with suppress(TopicAlreadyExistsError):
        await kafka_440.create_topic(TOPIC)
    return kafka_440


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kafka(request):
    async with cluster(request.param) as kafka:
        yield kafka


async def is_told(incident, kafka):
    found = await measured(incident, kafka)
    assert None not in found.told.values(), (found.told, found.sentence, found.looks)
    assert found.back is not None, found.sentence


@pytest.mark.broker
@pytest.mark.parametrize("incident", QUICK)
@pytest.mark.asyncio(loop_scope="module")
async def test_an_incident_is_told_and_is_over_when_it_is_repaired(shared, incident):
    await is_told(incident, shared)


@pytest.mark.broker
@pytest.mark.full_only("takes a quarter of an hour; two of them are in the test before")
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("kafka", "incident"),
    [(each.brokers, each) for each in INCIDENTS.values()],
    ids=list(INCIDENTS),
    indirect=["kafka"],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_every_incident_is_told_and_is_over_when_it_is_repaired(kafka, incident):
    if lacks := missing(incident):
        pytest.skip(f"needs {lacks}")
    await is_told(incident, kafka)


@pytest.mark.parametrize("incident", INCIDENTS.values(), ids=list(INCIDENTS))
def test_the_runbook_has_a_section_for_each_incident(incident):
    assert incident.section in sections()
