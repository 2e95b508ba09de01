"""Addresses and principals as the operator wants them written: nowhere else, and never by accident."""

import json

import pytest

from tests.decisions.conformance import complaints
from tests.decisions.outcomes import NOON_MS, named, outcome, rejected
from tsproxy.decisions import DecisionLog, Privacy, Redaction
from tsproxy.decisions.schema import json_schema
from tsproxy.decisions.totals import Totals

SALT = b"s" * 32
ALICE = named(principal="User:alice", client_address="10.9.8.7")


def written(privacy, *outcomes):
    log = DecisionLog("px", "boot", NOON_MS, privacy=privacy)
    lines = [line for each in outcomes for line in log.book(Totals.of(each))] + list(log.stop(NOON_MS + 5))
    for line in lines:
        assert complaints(line, json_schema()) == []
    return lines


def of(event, lines):
    return next(line for line in lines if line["event"] == event)


def test_they_are_kept_as_they_are_unless_it_is_asked_otherwise():
    lines = written(Privacy(), rejected(peer=ALICE))
    decision, counters = of("decision", lines), of("counters", lines)
    assert (decision["client_address"], decision["principal"]) == ("10.9.8.7", "User:alice")
    assert (counters["addresses"], counters["principal"]) == (["10.9.8.7"], "User:alice")


@pytest.mark.parametrize("how", [Redaction.HASH, Redaction.DROP])
def test_no_line_holds_what_is_private(how):
    text = json.dumps(written(Privacy(how, how, SALT), rejected(peer=ALICE), outcome(peer=ALICE)))
    assert "10.9.8.7" not in text
    assert "alice" not in text


def test_what_is_dropped_is_not_there_nor_is_the_port_of_an_address():
    lines = written(Privacy(Redaction.DROP, Redaction.DROP), rejected(peer=ALICE))
    decision, counters = of("decision", lines), of("counters", lines)
    assert not {"client_address", "client_port", "principal"} & decision.keys()
    assert counters["addresses"] == []
    assert "principal" not in counters


def test_a_hash_is_the_same_in_every_line_and_every_boot_of_one_salt():
    privacy = Privacy(Redaction.HASH, Redaction.HASH, SALT)
    lines = written(privacy, rejected(peer=ALICE)) + written(privacy, rejected(peer=ALICE))
    addresses = {line["client_address"] for line in lines if line["event"] == "decision"}
    principals = {line["principal"] for line in lines if "principal" in line}
    assert addresses == {address for line in lines for address in line.get("addresses", ())}
    assert (len(addresses), len(principals)) == (1, 1)
    assert all(len(text) == 17 and text.startswith("~") for text in addresses | principals)


def test_another_salt_another_client_or_another_kind_gives_another_hash():
    privacy, other = (
        Privacy(Redaction.HASH, Redaction.HASH, SALT),
        Privacy(Redaction.HASH, Redaction.HASH, b"other"),
    )
    hashes = [
        privacy.address("10.0.0.1"),
        privacy.address("10.0.0.2"),
        privacy.principal("10.0.0.1"),
        other.address("10.0.0.1"),
    ]
    assert len(set(hashes)) == 4


def test_a_principal_of_any_text_can_be_hashed():
    privacy = Privacy(principals=Redaction.HASH, salt=SALT)
    texts = ["", "x" * 32_000, "x" * 32_001, "\udc80", "\x00"]
    assert len({privacy.principal(text) for text in texts}) == len(texts)
    assert privacy.principal(None) is None


def test_the_salt_is_not_shown():
    assert "sss" not in repr(Privacy(Redaction.HASH, Redaction.HASH, SALT))
