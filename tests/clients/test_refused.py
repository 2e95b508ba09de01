"""The texts of docs/evidence/rejected-batches.md are those of the clients that are installed."""

import re
from pathlib import Path

import pytest
import pytest_asyncio

from tests.clients import kcat
from tests.clients.families import FAMILIES, chosen
from tests.clients.kcat import KCAT, needs_kcat
from tests.clients.refused import NOT_ALWAYS_IDEMPOTENT, WITH_TRANSACTIONS, asked, documented

ASKED = [family for family in chosen("4.4.0") if family.name != "java-share"]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def told(kafka_440, tmp_path_factory):
    """Name of the block -> its text."""
    return await asked(ASKED, kafka_440, tmp_path_factory.mktemp("refused"), kcat.PATH)


def of(family, texts):
    """The blocks of this client: of single batches, of a transaction, without idempotence."""
    return {name: text for name, text in texts.items() if name.split()[0] == family.name}


@pytest.mark.parametrize("family", ASKED, ids=str)
def test_each_client_says_of_rejected_batches_what_the_page_shows(told, family):
    """`python -m tests.clients.refused` writes the page anew."""
    assert of(family, told) == of(family, documented())


@pytest.mark.parametrize("name", NOT_ALWAYS_IDEMPOTENT)
def test_clients_in_python_go_on_if_they_are_not_idempotent(name):
    assert documented()[f"{name} without idempotence"].endswith("stored\n")


@needs_kcat
def test_kcat_says_what_the_page_shows(told):
    assert told[KCAT] == documented()[KCAT]


def test_the_page_has_the_texts_of_all_clients():
    names = {family.name for family in FAMILIES} - {"java-share"}
    names |= {f"{name} transaction" for name in WITH_TRANSACTIONS}
    names |= {f"{name} without idempotence" for name in NOT_ALWAYS_IDEMPOTENT}
    assert documented().keys() == {*names, KCAT}


def test_no_text_of_librdkafka_has_a_text_of_the_broker():
    """So its users have to look elsewhere, as the page says."""
    texts = documented()
    assert "is out of range" in texts["java"]
    assert "is out of range" not in texts["librdkafka"] + texts["librdkafka transaction"] + texts[KCAT]


GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "producer-clients.md"


def quoted_in_the_guide():
    """(client, error) of each error that the guide's table names."""
    _, _, section = GUIDE.read_text(encoding="utf-8").partition("## What each client shows\n")
    table = section.partition("\n### ")[0].splitlines()
    rows = [line.split("|")[1:3] for line in table if line.startswith("| ")][2:]
    return [
        (re.findall(r"[\w-]+", client)[0].lower(), error)
        for client, errors in rows
        for error in re.findall(r"`(.+?)`", errors)
    ]


@pytest.mark.parametrize(("client", "error"), quoted_in_the_guide())
def test_the_guide_quotes_errors_that_the_client_says(client, error):
    assert error in "".join(text for name, text in documented().items() if name.split()[0] == client)
