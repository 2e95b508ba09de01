"""A rule that fits no topic of the cluster is told of once."""

import structlog

from tests.config.files import SMALLEST, config_of
from tests.runtime.surroundings import until
from tsproxy.runtime.cluster import VisibleTopics
from tsproxy.runtime.unfit_rules import MOST_TOLD, UnfitRules
from tsproxy.testing.proxy import RunningProxy

RULE = "policy: { rules: [{ name: orders, match: { topics: [PATTERN] } }] }\n"
TOPICS = ("orders-eu", "shop.orders")


def rule_for(pattern):
    return config_of(SMALLEST + RULE.replace("PATTERN", f"'{pattern}'"))


def told_of(*steps):
    with structlog.testing.capture_logs() as lines:
        for step in steps:
            step()
    return [(line["event"], line.get("rule") or line.get("waiver"), line["topics"]) for line in lines]


def told_at_the_start(pattern, names=TOPICS):
    return told_of(lambda: UnfitRules(rule_for(pattern)).see(VisibleTopics(names)))


def test_a_pattern_that_fits_no_topic_is_told_with_how_many_there_are():
    told = [("rule_fits_no_topic", "orders", 2)]
    assert [told_at_the_start(each) for each in ("orders-.*", "payments", "/orders/")] == [told] * 3


def test_a_pattern_that_fits_one_is_not():
    assert not any(map(told_at_the_start, ("orders-*", "shop.*", "/.*orders/")))


def test_a_pattern_for_internal_topics_is_not_for_they_are_not_among_the_names():
    assert not any(map(told_at_the_start, ("__*", "*-changelog", "__consumer_offsets")))


def test_nothing_is_said_while_no_topic_is_seen():
    assert told_at_the_start("payments", ()) == []


def test_each_is_told_once_until_the_rules_change_and_the_topics_are_read_again():
    rules, config = UnfitRules(rule_for("payments")), rule_for("bills")
    before, after = VisibleTopics(TOPICS), VisibleTopics(TOPICS)
    assert len(told_of(lambda: rules.see(before), lambda: rules.see(VisibleTopics(TOPICS)))) == 1
    assert told_of(rules.prepare(rule_for("payments")), lambda: rules.see(VisibleTopics(TOPICS))) == []
    assert told_of(rules.prepare(config)) == []
    assert len(told_of(lambda: rules.see(after))) == 1


def test_waivers_are_told_as_well_and_of_a_thousand_rules_not_all():
    waiver = "{ name: w, match: { topics: [x] }, until: '2199-12-01T00:00:00Z', owner: o, reason: r }"
    config = config_of(f"{SMALLEST}policy: {{ waivers: [{waiver}] }}\n")
    assert told_of(lambda: UnfitRules(config).see(VisibleTopics(TOPICS))) == [
        ("waiver_fits_no_topic", "w", 2)
    ]
    many = ", ".join(f"{{ name: r{n}, match: {{ topics: [x{n}] }} }}" for n in range(1_000))
    config = config_of(f"{SMALLEST}policy: {{ rules: [{many}] }}\n")
    assert len(told_of(lambda: UnfitRules(config).see(VisibleTopics(TOPICS)))) == MOST_TOLD


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
