"""The texts of docs/for-producers.md are those of the clients that are installed."""

import shutil

import pytest
import pytest_asyncio

from tests.clients.families import FAMILIES, chosen
from tests.clients.refused import KCAT, NOT_ALWAYS_IDEMPOTENT, WITH_TRANSACTIONS, asked, documented

ASKED = [family for family in chosen("4.3.1") if family.name != "java-share"]
TOOL = shutil.which(KCAT)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def told(kafka_431, tmp_path_factory):
    """Name of the block -> its text."""
    return await asked(ASKED, kafka_431, tmp_path_factory.mktemp("refused"), TOOL)


@pytest.mark.parametrize("family", ASKED, ids=str)
def test_each_client_says_of_a_rejected_batch_what_the_page_shows(told, family):
    """`python -m tests.clients.refused` writes the page anew."""
    assert told[family.name] == documented()[family.name]


@pytest.mark.parametrize("family", [each for each in ASKED if each.name in WITH_TRANSACTIONS], ids=str)
def test_each_client_says_of_a_transaction_with_a_rejected_batch_what_the_page_shows(told, family):
    name = f"{family} transaction"
    assert told[name] == documented()[name]


@pytest.mark.parametrize("family", [each for each in ASKED if each.name in NOT_ALWAYS_IDEMPOTENT], ids=str)
def test_clients_in_python_go_on_if_they_are_not_idempotent(told, family):
    name = f"{family} without idempotence"
    assert told[name] == documented()[name]
    assert told[name].endswith("stored\n")


@pytest.mark.skipif(TOOL is None, reason="kcat is not installed")
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
