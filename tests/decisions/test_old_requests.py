"""Who uses versions that Kafka 4 does not take: a row for each client id, principal and API, and a bound."""

from dataclasses import replace

import pytest

from tsproxy.decisions import DecisionLog, Privacy
from tsproxy.decisions.ledger import OTHER
from tsproxy.decisions.old_requests import USES, OldRequests, client_facts, use_text
from tsproxy.decisions.privacy import Redaction
from tsproxy.model.outcome import OldRequest, Peer

NOW_MS = 1_767_225_600_000
PEER = Peer("public", "192.0.2.7", 50_000, "orders", "User:orders", "sarama/1.17.0")


def noted(*requests):
    found = OldRequests()
    for each in requests:
        found.note(each)
    return found


def test_a_use_has_its_lowest_and_highest_version():
    [(use, versions)] = noted(*(OldRequest(PEER, "Fetch", version) for version in (2, 0, 3)))
    assert (use.client_id, use.principal, use.api) == ("orders", "User:orders", "Fetch")
    assert (versions.lowest, versions.highest) == (0, 3)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, "orders as User:orders, sarama/1.17.0: Fetch 0 to 3"),
        ({"version_min": 3}, "orders as User:orders, sarama/1.17.0: Fetch 3"),
        (
            {"client_id": None, "principal": None, "client_software": None},
            "a client without an id: Fetch 0 to 3",
        ),
    ],
)
def test_a_use_in_words(facts, said):
    known = {"client_id": "orders", "principal": "User:orders", "client_software": "sarama/1.17.0"}
    assert use_text({**known, "api": "Fetch", "version_min": 0, "version_max": 3, **facts}) == said


def test_one_address_with_many_names_leaves_the_others_theirs():
    flood = [OldRequest(replace(PEER, client_id=f"id-{number}"), "Produce", 0) for number in range(USES.most)]
    quiet = OldRequest(replace(PEER, client_address="192.0.2.8", client_id="quiet"), "Fetch", 3)
    found = {use.client_id: versions for use, versions in noted(*flood, quiet, *flood, *flood[:9])}
    assert "quiet" in found
    assert OTHER in found
    assert len(found) == USES.most + 1


def test_the_log_has_a_line_in_each_interval_with_such_a_request_and_privacy_holds():
    privacy = Privacy(Redaction.DROP, Redaction.HASH, b"salt")
    log = DecisionLog("p", "b", NOW_MS, privacy=privacy)
    log.note(OldRequest(PEER, "Produce", 0))
    [line, heartbeat] = log.tick(NOW_MS + 60_000)
    assert (line["event"], line["api"], line["version_min"], line["version_max"]) == (
        "client",
        "Produce",
        0,
        0,
    )
    assert "client_address" not in line
    assert line["principal"].startswith("~")
    assert (heartbeat["seq_first"], heartbeat["seq_last"], heartbeat["keys"]) == (0, 1, 0)
    assert [each["event"] for each in log.tick(NOW_MS + 120_000)] == ["heartbeat"]


def test_the_row_for_all_others_names_no_address():
    peer = replace(PEER, client_id=OTHER, principal=None)
    [(use, versions)] = noted(OldRequest(peer, "Produce", 0))
    facts = client_facts(use, versions, Privacy())
    assert not {"client_address", "client_software"} & facts.keys()
