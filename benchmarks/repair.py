"""The cost of repairing the timestamps of a batch, per record, compared with rejecting the same batch.

It is measured in this process, without a network: one request in a session, from its bytes to the frame for
the broker. All timestamps are microseconds.
"""

from functools import partial
from typing import Final

from benchmarks.bench import Bench
from benchmarks.frames import Shape, build_batch
from benchmarks.records import NOW_MS, records_count, seconds_of
from benchmarks.rounds import in_rounds, spread
from benchmarks.sections import Section
from tsproxy.model.kafka import ApiKey, Codec
from tsproxy.model.policy import HOUR_MS, Match, OnViolation, Policy, Rule, RuleSettings, TimeLimit
from tsproxy.model.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tsproxy.model.verdict import TopicLimits
from tsproxy.model.view import View
from tsproxy.session.policies import of_anybody
from tsproxy.session.produce.judge_request import judge_request
from tsproxy.session.verdict import Judgement
from tsproxy.wire import k00_produce
from tsproxy.wire.headers import RequestHeader, frame

_BYTES: Final = 100_000
_TOPIC: Final = "load"
_VERSION: Final = 9
_HEAD: Final = RequestHeader(ApiKey.PRODUCE, _VERSION, 1, None, body_start=11)
_WITHOUT_BODY: Final = b"\x00\x00\x00\x09\x00\x00\x00\x01\xff\xff\x00"
"""Produce v9, correlation id 1, no client id, no tags."""

_LIMITED: Final = RuleSettings(after=TimeLimit(HOUR_MS))
SETTINGS: Final = {
    "rejected": _LIMITED,
    "repaired": RuleSettings(after=TimeLimit(HOUR_MS), on_violation=OnViolation.REPAIR),
    "repaired, original time kept": RuleSettings(
        after=TimeLimit(HOUR_MS), on_violation=OnViolation.REPAIR, keep_original_time=True
    ),
}
"""The outcomes that are measured, with the settings of the rule for each."""


def repair(bench: Bench) -> Section:
    """Microseconds per record, for each codec and each outcome."""
    rows = []
    for codec in Codec:
        batch = build_batch(Shape(_BYTES, codec=codec), NOW_MS * 1_000)
        count = records_count(batch)
        times = in_rounds(
            bench.effort.rounds,
            {
                fate: partial(seconds_of, bench, partial(judged_batch, batch, settings))
                for fate, settings in SETTINGS.items()
            },
        )
        per_record = [spread([1e6 * s / count for s in seconds]) for seconds in times.values()]
        rows.append((codec.name.lower(), str(count), *map(str, per_record)))
    return Section(
        text="CPU per record, in microseconds, for a request of 100 KB with records of 100 B. All timestamps "
        "are microseconds instead of milliseconds. The request is rejected, or its timestamps are converted "
        "and it is written again; the time then includes judging the result. An expensive request is judged "
        "in a thread, repaired or not.",
        head=("codec", "records", *(f"{fate}, µs" for fate in SETTINGS)),
        rows=rows,
    )


def judged_batch(batch: bytes, settings: RuleSettings) -> Judgement:
    """The judgement on a request of that one batch, under a rule with these settings."""
    policy = Policy(rules=(Rule("all", Match(), settings),))
    policies = of_anybody(View(topics={_TOPIC: TopicLimits()}, policy=policy))
    partition = PartitionProduceData(0, memoryview(batch))
    request = ProduceRequest(None, -1, 1_000, (TopicProduceData(_TOPIC, (partition,)),))
    whole = frame(_WITHOUT_BODY + k00_produce.write_request(_VERSION, request))
    return judge_request(_HEAD, request, whole, policies, NOW_MS)
