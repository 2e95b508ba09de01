"""A rule that is looser than a topic is told of once, and of many topics not all."""

import asyncio

import structlog

from tests.config.files import SMALLEST, config_of
from tests.e2e.test_policy import BAD, DAY_MS, HOUR_MS, now_ms, sent
from tests.proxy.world import PATIENCE_S, until
from tsproxy.model.verdict import TopicLimits
from tsproxy.proxy.reload.ineffective_rules import MOST_LOGGED, IneffectiveRules
from tsproxy.testing.proxy import RunningProxy

RULE = "policy: { rules: [{ name: lax, message.timestamp.before.max.ms: 2d }] }\n"
KNOWN = TopicLimits(before_max_ms=3_600_000)


async def logged_by(rules):
    with structlog.testing.capture_logs() as lines:
        await rules.log_ineffective()
    return [(line["rule"], line["topic"]) for line in lines]


async def logged_of(rules, topics):
    rules.check(topics)
    return await logged_by(rules)


async def test_each_is_told_once_until_the_rules_change():
    config, other = config_of(SMALLEST + RULE), config_of(SMALLEST + RULE.replace("2d", "3d"))
    rules = IneffectiveRules(config)
    assert [await logged_of(rules, {"t": KNOWN}) for _ in range(2)] == [[("lax", "t")], []]
    assert await logged_of(rules, {"t": KNOWN, "u": KNOWN}) == [("lax", "u")]
    rules.apply(config)
    assert await logged_by(rules) == []
    rules.apply(other)
    assert await logged_by(rules) == [("lax", "t"), ("lax", "u")]


async def test_a_topic_whose_limits_change_is_compared_again_and_told_once():
    rules = IneffectiveRules(config_of(SMALLEST + RULE))
    assert await logged_of(rules, {"t": TopicLimits()}) == []
    assert await logged_of(rules, {"t": KNOWN}) == [("lax", "t")]
    assert await logged_of(rules, {"t": TopicLimits(before_max_ms=1_800_000)}) == []


async def test_both_sides_of_a_rule_are_told():
    both = "message.timestamp.before.max.ms: 2d, message.timestamp.after.max.ms: 2d"
    rules = IneffectiveRules(config_of(SMALLEST + f"policy: {{ rules: [{{ name: lax, {both} }}] }}\n"))
    rules.check({"t": TopicLimits(before_max_ms=3_600_000, after_max_ms=1_800_000)})
    with structlog.testing.capture_logs() as lines:
        await rules.log_ineffective()
    assert [(line["key"], line["of_rule"], line["of_topic"]) for line in lines] == [
        ("message.timestamp.before.max.ms", "2d", "1h"),
        ("message.timestamp.after.max.ms", "2d", "30m"),
    ]


async def test_of_ten_thousand_topics_not_all_are_told():
    rules = IneffectiveRules(config_of(SMALLEST + RULE))
    assert len(await logged_of(rules, {f"t-{n}": KNOWN for n in range(10_000)})) == MOST_LOGGED


async def test_the_loop_turns_between_any_two_topics():
    """300 rules and 20,000 topics together took the loop four seconds, at a reload and whenever a broker with
    limits of its own came or went: workers that do not answer for so long are killed."""
    rules, turns = IneffectiveRules(config_of(SMALLEST + RULE)), []
    rules.check({f"t-{n}": KNOWN for n in range(50)})
    looking = asyncio.create_task(rules.log_ineffective())
    while not looking.done():
        turns.append(await asyncio.sleep(0))
    assert len(turns) >= 50


async def test_rules_that_change_meanwhile_are_compared_with_all_topics():
    config, other = config_of(SMALLEST + RULE), config_of(SMALLEST + RULE.replace("lax", "new"))
    rules = IneffectiveRules(config)

    class Changing(dict):
        """Topics. The rules change at the tenth."""

        def items(self):
            for number, item in enumerate(super().items()):
                if number == 10:
                    rules.apply(other)
                yield item

    watching = asyncio.create_task(rules.watch())
    with structlog.testing.capture_logs() as lines:
        rules.check(Changing({f"t-{n}": KNOWN for n in range(50)}))
        await until(lambda: sum(line["rule"] == "new" for line in lines) == 50)
    watching.cancel()
    assert sum(line["rule"] == "lax" for line in lines) == 11


async def test_what_the_rule_lets_pass_the_broker_rejects_and_the_log_says_why(kafka_391, topic, tmp_path):
    await kafka_391.create_topic(topic, config={"message.timestamp.before.max.ms": str(HOUR_MS)})
    file = tmp_path / "tsproxy.yaml"
    file.write_text(
        f"upstream: {{ bootstrap_servers: ['{kafka_391.bootstrap_servers}'] }}\n"
        f"listeners: [{{ bind: 127.0.0.1:0 }}]\n{RULE}"
    )
    async with RunningProxy(config=file) as proxy:

        def told():
            found = (line for line in proxy.log if line["event"] == "rule_ineffective")
            return [line for line in found if line["topic"] == topic]  # other tests have topics there

        async with asyncio.timeout(PATIENCE_S):
            assert (await sent(proxy, topic, now_ms() - DAY_MS))[0] == BAD
        await until(told)
        [line] = told()
    assert (line["of_rule"], line["of_topic"]) == ("2d", "1h")
    assert line["place"].endswith("tsproxy.yaml:3: policy.rules[0]")
    rejected = [line for line in proxy.decisions() if line["event"] == "decision"]
    assert {line["verdict"] for line in rejected} == {"broker_rejected"}
