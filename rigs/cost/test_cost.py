"""The worst sessions that the search has found stay within the bounds, and the search finds what is worse."""

from random import Random

import pytest
import yaml

from rigs.cost import search as module
from rigs.cost.cluster import text_of
from rigs.cost.connection import Cost, ignored, run
from rigs.cost.custom import RULES
from rigs.cost.genes import A_FRAME_EACH, CLUSTER, DOMAINS, NOT_DRAWN, Genes, changed, drawn, frozen, simpler
from rigs.cost.search import MEASURES, Search, kept, kind_of, shrunk, size_of
from rigs.cost.stored import bytecodes_of, genes_of, stored
from tests.full_only import variations
from tests.wire.batches import CODECS
from tests.wire.blobs import BOMBS
from tsproxy.config.tree import KEYS
from tsproxy.decisions import DecisionLog

A_BYTE = 4
"""Bytecodes for each byte received: 50 ms a MiB, if CPython runs 84 million a second. It runs 40 to 100."""
MOST_AT_ONCE = 8_000_000
"""Bytecodes in one turn of the event loop: 100 ms."""
SLACK = 1.25
"""A stored session may cost so much more than when it was stored. Find the reason for more."""
ROWS = {f"{row['kind']}, {row['measure']}": row for row in stored()}
NAMES = {codec: name for name, codec in CODECS.items()}
A_FEW = sorted(ROWS, key=lambda name: -ROWS[name]["ms"])[:12]


@pytest.mark.parametrize("name", variations("the other kinds cost less", ROWS, but=A_FEW))
def test_the_worst_of_each_kind_stays_within_the_bounds(name):
    """50 ms for each MiB received and 100 ms at a time, in bytecodes; and no more than when it was found."""
    row = ROWS[name]
    cost = bytecodes_of(genes_of(row))

    assert cost.at_once < MOST_AT_ONCE
    if row["measure"] == "a_mib":
        assert cost.together < A_BYTE * size_of(cost)
    assert cost.at_once < SLACK * row["bytecodes"]["at_once"]
    assert cost.together < SLACK * row["bytecodes"]["together"]


# -- C code ------------------------------------------------------------------------------------------

MUCH_WORK = 2.5
"""A request of a few bytes may cost so many times as much CPU as noise of that size, which is rejected. Bombs
cost 3 to 90 times as much before they were left to threads."""
A_GOOD_ONE = {"do": "produce", "version": 9, "answers_at_once": True}


def least_of(*many):
    """The least CPU of each of several sessions that run in turns, so that other work delays all of them."""
    runs = [[run(genes) for genes in many] for _ in range(5)]
    return [Cost.least(costs) for costs in zip(*runs, strict=True)]


@pytest.mark.parametrize("name", BOMBS)
def test_a_few_bytes_are_not_much_work_for_c_code(name):
    """Bytecodes do not show it. The client has the fast path, and each request comes in a read of its own."""
    codec, body = BOMBS[name]
    text, of_codec = NAMES[codec], [each for which, each in BOMBS.values() if which == codec]
    attack = {**A_GOOD_ONE, "codec": text, "times": 10, "a_read": A_FRAME_EACH}
    sessions = [
        frozen({}, [A_GOOD_ONE, {**attack, "body": "bomb", "bomb": of_codec.index(body)}]),
        frozen({}, [A_GOOD_ONE, {**attack, "body": "noise", "count": max(1, len(body) // 10)}]),
    ]
    bomb, noise = least_of(*sessions)
    assert bomb.together / bomb.partitions < MUCH_WORK * noise.together / noise.partitions
    assert bomb.at_once < MUCH_WORK * noise.at_once


AT_THE_BOUND = {
    "bad batches for unknown topics": (
        {},
        {"topics": 100, "is_known": False, "codec": "gzip", "answers_at_once": True},
    ),
    "bad batches in audit mode": ({"mode": "audit"}, {"topics": 300, "codec": "zstd"}),
}
"""The first bad batch of each topic in one request. No fast path has seen any of them."""


@pytest.mark.parametrize(("cluster", "part"), AT_THE_BOUND.values(), ids=AT_THE_BOUND)
def test_the_first_bad_batch_of_each_topic_stays_within_the_bound(cluster, part):
    cost = bytecodes_of(frozen(cluster, [{"do": "produce", "version": 9, "records": "bad", **part}]))
    assert cost.together < A_BYTE * size_of(cost)


DEAR_RULES = frozen({"rules": 3}, [{"do": "produce", "topics": 30, "is_known": False}])


def test_a_session_costs_the_same_number_of_bytecodes_each_time():
    bytecodes_of(DEAR_RULES)  # what is made once for the process
    first, second = bytecodes_of(DEAR_RULES), bytecodes_of(DEAR_RULES)
    assert first.turns == second.turns
    assert first.received > 1_000
    assert first.frames == 2


def test_a_planted_step_for_each_partition_is_seen(monkeypatch):
    before = bytecodes_of(DEAR_RULES)
    book = DecisionLog.book

    def slow(log, outcome):
        for _ in range(10_000):
            pass
        return book(log, outcome)

    monkeypatch.setattr(DecisionLog, "book", slow)
    planted = bytecodes_of(DEAR_RULES)
    assert before.together < A_BYTE * size_of(before)
    assert planted.together > 2 * before.together


def test_a_page_for_people_costs_as_much_with_300_rules_as_with_one():
    """Each rule has two series. The page shows none of them, but 600 were made for it: 100 ms a MiB."""
    few, many = (bytecodes_of(frozen({"rules": rules}, [{"do": "page", "path": "/"}])) for rules in (1, 300))
    assert many.together < 1.1 * few.together


# -- Configurations ----------------------------------------------------------------------------------


def paths(section, above=""):
    """The keys of a document, as `config.tree` names them."""
    for name, value in section.items():
        path = f"{above}.{name}" if above else name
        if isinstance(value, dict):
            yield from paths(value, path)
        elif isinstance(value, list) and all(isinstance(each, dict) for each in value):
            for each in value:
                yield from paths(each, f"{path}[]")
        else:
            yield path


def test_a_gene_sets_each_key_or_the_reason_why_none_does_is_given():
    """A new key is a question: may a peer's bytes cost more with it?"""
    beside = {"rules": 3, "waivers": 3}  # some genes are about them
    drawn_keys = {
        path
        for name, values in CLUSTER.items()
        for value in values
        for path in paths(yaml.safe_load(text_of({**beside, name: value})))
    }
    known = {key.path for key in KEYS}
    assert drawn_keys <= known
    left = {path for path in known - drawn_keys if not path.startswith(tuple(NOT_DRAWN))}
    assert left == set(), "add a gene, or a row of NOT_DRAWN"
    assert {row for row in NOT_DRAWN if not any(path.startswith(row) for path in known - drawn_keys)} == set()


@pytest.mark.parametrize("name", RULES)
def test_a_custom_rule_is_called_where_its_gene_is_drawn(name, monkeypatch):
    calls = []
    culprits = RULES[name].culprits
    monkeypatch.setattr(RULES[name], "culprits", lambda *told: calls.append(1) or culprits(*told))
    run(frozen({"custom": name}, [{"do": "produce", "version": 9}]), ignored)
    assert calls


# -- The genes and the search ------------------------------------------------------------------------


def test_drawn_and_changed_sessions_run_to_their_ends():
    """For any draw, the harness gives bytes to the product, and the product raises nothing."""
    random = Random(2026)
    for _ in range(40):
        genes = changed(drawn(random), random)
        small = frozen({**genes.cluster, "most_bytes": CLUSTER["most_bytes"][0]}, genes.parts)
        cost = run(small, ignored, ignored)
        assert cost.received or cost.connections > 0
        assert Genes.of_json(small.to_json()) == small


GREETED = {
    "plain": ({}, True),
    "behind a load balancer": ({"load_balancer": True}, True),
    "TLS": ({"tls": True, "mapping": "Kafka's"}, True),
    "both": ({"tls": True, "load_balancer": True}, True),
    "a header that is none": ({"load_balancer": True}, False),
}


@pytest.mark.parametrize(("cluster", "is_served"), GREETED.values(), ids=GREETED)
def test_a_client_is_served_after_its_greeting(cluster, is_served):
    """Header, handshake and mapping are the product's: a request gets its answer behind them."""
    greeting = {"do": "connect", "header": "right" if is_served else "noise", "header_size": 8}
    cost = run(frozen(cluster, [greeting, {"do": "software"}]), ignored, ignored)
    assert cost.frames == (2 if is_served else 1)
    assert cost.connections == 1


def test_pages_are_answered_by_the_admin_server():
    few, many = (run(frozen({}, [{"do": "page", "path": path}]), ignored) for path in ("/none", "/metrics"))
    assert few.received < 500 < 5_000 < many.received


def test_simpler_genes_are_closer_to_the_simplest():
    random = Random(7)
    for _ in range(50):
        genes = drawn(random)
        assert all(len(each.identity) <= len(genes.identity) + 8 for each in simpler(genes))
    assert simpler(frozen({}, [{"do": "produce"}])) == []


def cost_by_genes(genes, *_):
    """Something to climb: topics, unknown and with a long client id, under many rules."""
    [part, *_] = genes.parts
    dear = genes.cluster.get("rules", 0) * part.get("topics", 1) * part.get("client_size", 1)
    return Cost(turns=[dear / 1_000, 1.0], received=1_000)


@pytest.fixture
def climbed(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "run", cost_by_genes)
    search = Search(Random(2026), tmp_path)
    for _ in range(10_000):
        search.try_one(search.next_one())
    search.keep()
    return search


def test_the_search_climbs_and_keeps_the_worst_of_each_kind(climbed, tmp_path):
    rows = [row for row in kept(tmp_path) if row["measure"] == "at_once" and row["kind"].endswith("rules")]
    worst = max(rows, key=lambda row: row["score"])
    assert worst["score"] > 300_000, "a thousand drawn sessions come to 2,400"
    assert {row["kind"] for row in rows} == {kind_of(Genes.of_json(row)) for row in rows}


def test_what_does_not_matter_is_left_out(climbed):
    found = [each for (_, name), each in climbed.worst.items() if name == "at_once"]
    worst = max(found, key=lambda each: each.score)
    small = shrunk(worst.genes, "at_once", 1_000)
    assert MEASURES["at_once"](cost_by_genes(small)) > 0.9 * worst.score
    assert {"rules"} <= set(small.cluster) <= {"rules", "custom"}  # a custom rule makes another kind
    assert set(small.parts[0]) <= {
        "do",
        "topics",
        "client_size",
        *DOMAINS["produce"].keys() & {"version", "api"},
    }
