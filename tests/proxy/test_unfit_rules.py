"""A rule that fits no topic of the cluster is told of once."""

import asyncio

import structlog

from tests.config.files import SMALLEST, config_of
from tests.proxy.world import until
from tsproxy.proxy.brokers.facts import VisibleTopics
from tsproxy.proxy.reload.unfit_rules import MOST_LOGGED, UnfitRules
from tsproxy.testing.proxy import RunningProxy

RULE = "policy: { rules: [{ name: orders, match: { topics: [PATTERN] } }] }\n"
TOPICS = ("orders-eu", "shop.orders")


def rule_for(pattern):
    return config_of(SMALLEST + RULE.replace("PATTERN", f"'{pattern}'"))


async def logged_by(rules, names=TOPICS):
    """The warnings after these topics have been read."""
    rules.check(VisibleTopics(names))
    with structlog.testing.capture_logs() as lines:
        await rules.log_unfit()
    return [(line["event"], line.get("rule") or line.get("waiver"), line["topics"]) for line in lines]


async def test_a_pattern_that_fits_no_topic_is_told_with_how_many_there_are():
    for pattern in ("orders-.*", "payments", "/orders/"):
        assert await logged_by(UnfitRules(rule_for(pattern))) == [("rule_fits_no_topic", "orders", 2)]


async def test_a_pattern_that_fits_one_is_not():
    for pattern in ("orders-*", "shop.*", "/.*orders/"):
        assert await logged_by(UnfitRules(rule_for(pattern))) == []


async def test_a_pattern_for_internal_topics_is_not_for_they_are_not_among_the_names():
    for pattern in ("__*", "*-changelog", "__consumer_offsets"):
        assert await logged_by(UnfitRules(rule_for(pattern))) == []


async def test_a_rule_for_all_topics_is_not():
    for match in ("", ", match: { client_ids: [etl] }"):
        config = config_of(f"{SMALLEST}policy: {{ rules: [{{ name: all{match} }}] }}\n")
        assert await logged_by(UnfitRules(config)) == []


async def test_rules_are_compared_whenever_topics_have_been_read():
    rules = UnfitRules(rule_for("payments"))
    watching = asyncio.create_task(rules.watch())
    with structlog.testing.capture_logs() as lines:
        rules.check(VisibleTopics(TOPICS))
        await until(lambda: lines)
        rules.apply(rule_for("bills"))
        rules.check(VisibleTopics((*TOPICS, "payments")))
        await until(lambda: len(lines) == 2)
    watching.cancel()
    assert [(line["patterns"], line["topics"]) for line in lines] == [(["payments"], 2), (["bills"], 3)]


async def test_nothing_is_said_while_no_topic_is_seen():
    rules = UnfitRules(rule_for("payments"))
    assert await logged_by(rules, ()) == []
    assert len(await logged_by(rules)) == 1


async def test_each_is_told_once_until_the_rules_change():
    rules = UnfitRules(rule_for("payments"))
    assert len(await logged_by(rules)) == 1
    rules.apply(rule_for("payments"))
    assert await logged_by(rules) == []
    rules.apply(rule_for("bills"))
    assert len(await logged_by(rules)) == 1


async def test_waivers_are_told_as_well_and_of_a_thousand_rules_not_all():
    waiver = "{ name: w, match: { topics: [x] }, until: '2199-12-01T00:00:00Z', owner: o, reason: r }"
    config = config_of(f"{SMALLEST}policy: {{ waivers: [{waiver}] }}\n")
    assert await logged_by(UnfitRules(config)) == [("waiver_fits_no_topic", "w", 2)]
    many = ", ".join(f"{{ name: r{n}, match: {{ topics: [x{n}] }} }}" for n in range(1_000))
    config = config_of(f"{SMALLEST}policy: {{ rules: [{many}] }}\n")
    assert len(await logged_by(UnfitRules(config))) == MOST_LOGGED


async def test_the_loop_turns_between_any_two_patterns():
    config = config_of(f"{SMALLEST}policy: {{ rules: [{{ name: r, match: {{ topics: [a, b, c, d] }} }}] }}\n")
    rules, turns = UnfitRules(config), []
    rules.check(VisibleTopics(TOPICS))
    looking = asyncio.create_task(rules.log_unfit())
    while not looking.done():
        turns.append(await asyncio.sleep(0))
    assert len(turns) >= 4


async def test_a_proxy_says_which_rule_fits_none_of_its_clusters_topics(kafka, topic, tmp_path):
    await kafka.create_topic(topic)
    file = tmp_path / "tsproxy.yaml"
    file.write_text(
        f"upstream: {{ bootstrap_servers: ['{kafka.bootstrap_servers}'] }}\n"
        "listeners: [{ bind: 127.0.0.1:0 }]\n"
        f"policy: {{ limits_from: config, rules: [{{ name: fits, match: {{ topics: [{topic}] }} }}, "
        "{ name: misses, match: { topics: ['nowhere-.*'] } }] }\n"
    )
    async with RunningProxy(config=file) as proxy:

        def told():
            return [line for line in proxy.log if line["event"] == "rule_fits_no_topic"]

        [line] = await until(told)
    assert (line["rule"], line["patterns"]) == ("misses", ["nowhere-.*"])
    assert line["topics"] >= 1
    assert "/nowhere-.*/ is a regular expression" in line["advice"]
