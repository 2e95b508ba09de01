"""The steps of before-enforcing.md: after their ways back nothing is rejected, or the proxy says what is."""

import asyncio
from copy import deepcopy

import pytest
import yaml

from tests.config.files import SMALLEST, config_of
from tests.documents.tables import DOCS, rows_of
from tests.policy.verdicts import DAY_MS, NOW_MS, verdict
from tests.proxy.running import put
from tests.proxy.world import until
from tests.wire.batches import batch
from tsproxy.cli import main
from tsproxy.config.enforced import enforced
from tsproxy.config.source import Source
from tsproxy.model.verdict import Reject
from tsproxy.proxy.admin import live
from tsproxy.proxy.admin.report import Report
from tsproxy.proxy.admin.troubles import troubles
from tsproxy.proxy.metrics.totals import families_now, rows
from tsproxy.proxy.reload.reloader import Reloader
from tsproxy.proxy.service_manager import ServiceManager
from tsproxy.proxy.wait import cancelled

PAGE = "guide/before-enforcing.md"
STEPS = {
    row[0].split()[1]: row[1:] for row in rows_of(PAGE, "step", "what to do", "go on when", "the way back")
}
STEP_6 = yaml.safe_load((DOCS / PAGE).read_text().partition("```yaml\n")[2].partition("```")[0])["policy"]
LIMIT = {"message.timestamp.after.max.ms": "10s"}
ENDED = "tsproxy_enforcement_ended_timestamp_seconds"


def mode(value):
    return lambda policy: policy.update(mode=value)


def audit_in_rules(policy):
    for rule in policy["rules"]:
        rule |= {"mode": "audit"} if rule.get("mode") == "enforce" else {}


def rules_without(*keys):
    def change(policy):
        policy["rules"] = [{k: v for k, v in rule.items() if k not in keys} for rule in policy["rules"]]

    return change


CHANGES = {
    "`mode: audit` in the rule": audit_in_rules,
    "`policy.mode: enforce`": mode("enforce"),
    "without the rule of step 6": lambda policy: policy.update(rules=[]),
    "or without its `match` and `mode` if it has the limit": rules_without("match", "mode"),
    "`policy.mode: audit`": mode("audit"),
    "`mode: audit` in rules with `mode: enforce`": audit_in_rules,
}
"""The change to the file that each clause of the page asks for."""


def clauses(step, column):
    """The changes that the page asks for."""
    text = STEPS[step][column].partition(", and reload")[0]
    return [CHANGES[clause] for clause in text.split(", ")]


def changed(policy, *changes):
    policy = deepcopy(policy)
    for change in changes:
        change(policy)
    return policy


def text_of(policy):
    return SMALLEST + yaml.safe_dump({"policy": policy})


def of(policy):
    return config_of(text_of(policy))


def rejects(config):
    ahead = batch([NOW_MS + 2 * DAY_MS])
    return any(
        isinstance(verdict(ahead, topic=t, policy=config.policy), Reject) for t in ("orders", "others")
    )


async def after_reloads(*configs):
    """The report of a proxy that has started with the first configuration, and taken each other one."""

    async def adopt(change):
        adopted.append(change)

    adopted, left = [], iter(configs)
    reloader = Reloader(Source(None, left.__next__), next(left), adopt, ServiceManager.of({}))
    running = asyncio.create_task(reloader.run())
    for count in range(1, len(configs)):
        reloader.reload_now()
        await until(lambda count=count: len(adopted) == count)
    await cancelled(running)
    return Report((), families_now(reloader.collect()))


@pytest.mark.parametrize("limit", [{}, LIMIT, {"preset": "kafka-4"}], ids=["none", "own", "preset"])
@pytest.mark.parametrize("is_limit_kept", [False, True])
async def test_after_the_way_back_of_each_step_nothing_is_rejected(limit, is_limit_kept):
    start = {"mode": "audit", "rules": []}
    step_6 = changed(STEP_6, lambda policy: policy["rules"][0].update(limit))
    to_all, drop, keep = clauses("All", 0)
    step_7 = changed(step_6, to_all, keep if is_limit_kept else drop)
    for step, steps in (("One", [start, step_6]), ("All", [start, step_6, step_7])):
        configs = list(map(of, [*steps, changed(steps[-1], *clauses(step, 2))]))
        assert [rejects(config) for config in configs[1:]] == [True] * (len(configs) - 2) + [False]
        [warning] = troubles(await after_reloads(*configs))
        assert warning.startswith("nothing is enforced since a reload at ")


@pytest.mark.parametrize("match", [{}, {"match": {"topics": ["orders"]}}], ids=["all", "orders"])
async def test_a_rule_that_still_rejects_is_named_where_the_mode_is(match):
    """The file had `policy.mode: enforce`, and a rule of its own with the same mode, which was forgotten."""
    rule = {"name": "first-topic", "mode": "enforce", **LIMIT, **match}
    enforcing, audited = of({"rules": [rule]}), of({"mode": "audit", "rules": [rule]})
    assert rejects(audited)
    report = await after_reloads(enforcing, audited)
    [warning] = troubles(report)
    assert warning.startswith("less is enforced (only rules: first-topic) since")
    assert "mode audit (enforced: rules: first-topic)" in live.page(audited, report)
    [(labels, _)] = rows(report.families, ENDED)
    assert labels == {"mode": "audit", "enforced": enforced(audited.policy)}


RULE = {"name": "one", "mode": "enforce", **LIMIT}
ALL, ONE, NONE = {"mode": "enforce"}, {"mode": "audit", "rules": [RULE]}, {"mode": "audit"}
AUDITED = {"mode": "enforce", "rules": [{"name": "all", "mode": "audit"}, {**RULE, "name": "unreached"}]}


@pytest.mark.parametrize(
    ("policies", "left"),
    [
        ([NONE, ONE], None),
        ([NONE, ONE, NONE], "nothing"),
        ([NONE, ONE, NONE, ONE], None),
        ([ALL, NONE, ONE], "rules: one"),
        ([ONE, ALL, ONE], "rules: one"),
        ([ALL, ONE, NONE], "nothing"),
        ([ALL, NONE, ALL], None),
        ([ALL, AUDITED], "nothing"),
        ([NONE, NONE], None),
    ],
)
async def test_enforcement_has_ended_until_as_much_is_enforced_again(policies, left):
    found = rows((await after_reloads(*map(of, policies))).families, ENDED)
    assert [labels["enforced"] for labels, _ in found] == ([left] if left else [])


def test_check_names_the_rules_that_reject_although_the_mode_does_not(tmp_path, capsys):
    assert main(["check", str(put(tmp_path / "tsproxy.yaml", text_of(ONE)))]) == 0
    assert "ok, mode audit (enforced: rules: one), listeners: " in capsys.readouterr().out
