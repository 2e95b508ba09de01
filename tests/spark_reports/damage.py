"""Random days with known truth: the records booked, the lines written, and the lines then lost.

Three proxies live through a day under a simulated clock: they are restarted, killed, and their clocks
jump. The lines of their decision logs are cut into files, and the files are damaged: lines come late, twice,
in another order, torn, glued together, or never; whole files are lost or delivered again. `Day.lines` are the
lines that were written, `Day.survivors` those that can still be read.
"""

import json
import random
from collections import Counter
from dataclasses import dataclass, field

from tests.decisions.outcomes import batch, outcome
from tests.spark_reports import logs
from tests.spark_reports.day import DAY_MS, HOUR_MS, MIDNIGHT_MS, MINUTE_MS
from tsproxy.decisions import DecisionLog, LifecycleKind
from tsproxy.decisions.text import instant
from tsproxy.decisions.totals import Totals
from tsproxy.model.outcome import Culprit, Peer, VerdictName
from tsproxy.model.verdict import Reason, TopicLimits

REJECTED = (VerdictName.REJECTED, VerdictName.BROKER_REJECTED)


@dataclass
class Day:
    """One random day: its `date`, the lines written, the lines that survived, and the events of the day."""

    midnight_ms: int
    lines: list[dict] = field(default_factory=list)
    killed: set[str] = field(default_factory=set)
    """Boots that ended without a stop line."""
    is_calm: bool = False
    """True if nobody kills a process."""
    survivors: set[tuple[str, int]] = field(default_factory=set)
    """(boot, seq) of the lines that a reader can still find."""
    delivered: int = 0
    """Lines delivered, each as often as it was."""
    unreadable: int = 0
    """Lines delivered that are no JSON any more."""

    @property
    def date(self):
        return instant(self.midnight_ms)[:10]

    def of_day(self):
        """The lines that concern the day."""
        return [each for each in self.lines if day_of(each) == self.date]

    def lost(self):
        """The lines of the day that no reader can find."""
        return [each for each in self.of_day() if name_of(each) not in self.survivors]

    def counted(self, *, surviving):
        """(verdict, is_final) -> records, by the day's counters: all of them, or those that survived."""
        sums = Counter()
        for each in self.of_day():
            if each["event"] == "counters" and (not surviving or name_of(each) in self.survivors):
                sums[each["verdict"], each["is_final"]] += each["records"]
        return sums


def name_of(line):
    return line["boot"], line["seq"]


def day_of(line):
    return line.get("interval_start", line["ts"])[:10]


def a_random_day(seed, folder, number=0):
    """The day of this seed, its files written below `folder`; `number` sets days three days apart.

    Nobody kills or damages anything on the day with number 0.
    """
    chance = random.Random(seed)
    day = Day(MIDNIGHT_MS + 3 * number * DAY_MS, is_calm=chance.random() < 0.5 or not number)
    is_damaged = chance.random() < 0.7 and number > 0
    for proxy in range(3):
        for boot, lines in _lives(day, f"px-{proxy}", f"{number}-{proxy}", chance):
            day.lines += lines
            for file_number, some in enumerate(_cut(lines, chance)):
                _deliver(day, folder, boot, file_number, some, chance, is_damaged)
    return day


def _lives(day, proxy, boot_prefix, chance):
    """The boots of one proxy, one after the other, from around midnight to around midnight."""
    now_ms = day.midnight_ms + chance.choice((-2 * HOUR_MS, -7 * MINUTE_MS, 0, 1, 5 * HOUR_MS))
    end_ms = day.midnight_ms + DAY_MS + chance.choice((-3 * HOUR_MS, -1, 0, 2 * HOUR_MS))
    for life in range(chance.choice((1, 1, 2, 4))):
        boot = f"boot-{boot_prefix}-{life}"
        until_ms = end_ms if life == 3 else min(end_ms, now_ms + chance.randrange(HOUR_MS, 30 * HOUR_MS))
        if until_ms <= now_ms:
            return
        yield boot, _live(day, proxy, boot, now_ms, until_ms, chance)
        now_ms = until_ms + chance.randrange(1, HOUR_MS)


def _live(day, proxy, boot, now_ms, until_ms, chance):
    """The lines of one boot. Its clock may jump; neither the boot nor a reader can notice that."""
    jump_ms = 0
    jumps_at_ms = chance.randrange(now_ms, until_ms) if chance.random() < 0.4 else None
    interval_ms = chance.choice((5, 10, 30)) * MINUTE_MS
    log = DecisionLog(proxy, boot, now_ms, interval_ms=interval_ms)
    lines = [log.lifecycle(LifecycleKind.START, now_ms, {"version": "0.1.0"})]
    while now_ms < until_ms:
        if jumps_at_ms is not None and now_ms >= jumps_at_ms:
            jump_ms, jumps_at_ms = chance.randrange(-20 * MINUTE_MS, 20 * MINUTE_MS), None
        clock_ms = now_ms + jump_ms
        lines += log.tick(clock_ms)
        for _ in range(chance.choice((0, 0, 0, 1, 3))):
            lines += log.book(Totals.of(_booked(clock_ms + chance.randrange(MINUTE_MS), chance)))
        now_ms += chance.choice((1, 3, 7)) * MINUTE_MS
    if not day.is_calm and chance.random() < 0.3:
        day.killed.add(boot)
    else:
        lines += log.stop(until_ms + jump_ms)
    return lines


def _booked(now_ms, chance):
    verdict = chance.choice(list(VerdictName))
    records = chance.randrange(1, 500)
    return outcome(
        verdict,
        now_ms=now_ms,
        peer=Peer("public", f"10.0.0.{chance.randrange(12)}", 40_000, f"app-{chance.randrange(6)}"),
        topic=f"topic-{chance.randrange(4)}",
        batch=batch(records, now_ms - chance.randrange(10**9), now_ms + chance.randrange(10**9)),
        limits=TopicLimits(after_max_ms=HOUR_MS),
        is_final=verdict is not VerdictName.BROKER_REJECTED or chance.random() < 0.5,
        reason=Reason.TOO_FAR_AHEAD if verdict in REJECTED else None,
        error_code=32 if verdict in REJECTED else 0,
        culprits=(Culprit(0, now_ms * 1000),) if verdict in REJECTED else (),
        bad_records=1 if verdict in REJECTED else 0,
    )


def _cut(lines, chance):
    """The lines in files of random length, in the order they were written."""
    while lines:
        length = chance.randrange(20, 400)
        yield lines[:length]
        lines = lines[length:]


def _deliver(day, folder, boot, number, lines, chance, is_damaged):
    """Write one file, and perhaps damage it."""
    opened = lines[0]["ts"].replace("-", "").replace(":", "")[:15]
    path = folder / f"decisions-{opened}Z-{boot}-{number:04}.jsonl"
    if is_damaged and chance.random() < 0.04:
        return
    texts = [json.dumps(line, separators=(",", ":")) for line in lines]
    alive = [name_of(line) for line in lines]
    if is_damaged and chance.random() < 0.12:
        _break(day, texts, alive, chance)
    day.survivors |= {name for name in alive if name is not None}
    day.delivered += len(texts)
    if chance.random() < 0.2:
        chance.shuffle(texts)
    if chance.random() < 0.1:
        again = texts[: chance.randrange(1, 30)]
        again = [text for text in again if text.endswith("}") and text.startswith("{")]
        day.delivered += len(again)
        _write(path.with_name(path.name.replace(".jsonl", "-again.jsonl")), again, chance)
    if is_damaged and chance.random() < 0.05:
        day.unreadable += 1
        texts.append('{"ts":"2026-11-2')  # the writer was killed in the middle of a line
    _write(path, texts, chance)


def _break(day, texts, alive, chance):
    """Lose lines in one of the ways that lines are lost. `alive` names the lines that are left."""
    at = chance.randrange(len(texts))
    match chance.choice(("torn", "glued", "gone", "garbage")):
        case "torn":
            texts[at], alive[at] = texts[at][: chance.randrange(1, len(texts[at]) - 1)], None
            day.unreadable += 1
        case "garbage":
            texts[at], alive[at] = "".join(chance.choices('{}[]",:\x01\xff abc', k=60)) + "]", None
            day.unreadable += 1
        case "gone":
            length = chance.randrange(1, 40)
            del texts[at : at + length]
            del alive[at : at + length]
        case "glued" if at + 1 < len(texts):
            texts[at] += texts.pop(at + 1)
            del alive[at + 1]


def _write(path, texts, chance):
    name = path.with_suffix(".jsonl.gz") if chance.random() < 0.3 else path
    logs.write(name, raw="".join(text + "\n" for text in texts))
