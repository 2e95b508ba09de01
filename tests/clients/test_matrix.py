"""Each client, on each stage: it works, nothing is lost or doubled, and it never meets a broker itself."""

import asyncio

import pytest

from tests.clients.play import perform
from tests.clients.stages import ROLES

pytestmark = [pytest.mark.broker, pytest.mark.timeout(1200)]  # the first test of a stage waits for its play


@pytest.fixture(scope="module")
def performed():
    """stage -> stories by role; each stage is played when it is first asked for."""
    stories = {}

    def of(stage):
        if stage not in stories:
            stories[stage] = asyncio.run(perform(stage))
        return stories[stage]

    return of


@pytest.fixture(params=ROLES, ids=str)
def role(request):
    return request.param


@pytest.fixture
def story(role, performed):
    return performed(role.stage)[role]


def test_it_connects_creates_sends_reads_and_goes_on_whatever_happens(role, story):
    assert story.failure is None
    scenes = ["opening"]
    if role.stage.nodes > 1:
        scenes.append("leaders move")
    if role.stage.restarts:
        scenes.append("a broker restarts")
    assert list(story.acknowledged) == scenes
    assert all(len(values) >= 3 for values in story.acknowledged.values())


def test_its_group_reads_all_that_it_sent(story):
    assert story.read == set(story.sent)


def test_what_it_sent_is_in_the_log_once_and_it_is_told_so(story):
    """All clients here are idempotent producers, so a retry after a lost answer doubles nothing."""
    assert sum(story.log_ends.values()) == len(story.sent)
    assert story.offsets == story.log_ends


def test_it_is_told_of_the_proxys_addresses_alone(story):
    assert story.brokers == story.served


def test_it_has_no_connection_to_a_broker(story):
    assert story.direct == set()


def test_a_reader_of_its_transactions_sees_what_was_committed(role, story):
    if role.family.knows_transactions:
        assert story.committed == {"kept"}
    else:
        assert story.committed is None
