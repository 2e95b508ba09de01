"""Reports for the renderers' tests: a fixed one, an empty one, and one full of hostile text."""

import copy
import json
from pathlib import Path

from spark_reports.report import history, owners
from tests.spark_reports.day import FRIDAY

FIXED = Path(__file__).parent / "fixed" / "report.json"
"""Made once from `day.a_day` with two proxies and 24 hours, before the tests of looks were written."""

HOSTILE = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "</style><script>alert(1)</script>",
    "javascript:alert(1)",
    "| a | b |\n| --- | --- |",
    "[click](http://evil.example/) ![x](http://evil.example/x.png) <b>bold</b> `code`",
    "\x1b]0;owned\x07\x1b[2J\u202egnp.exe",
    "&lt;script&gt;&#60;",
    "x" * 249 + "…abcdef012345",
)


def fixed():
    return json.loads(FIXED.read_text(encoding="utf-8"))


def empty():
    """A day on which nothing came, so nothing was rejected."""
    report = fixed()
    for name in ("producers", "reasons", "topics", "limits", "cause_hours", "held_topics"):
        report[name] = []
    report["totals"] = dict.fromkeys(report["totals"], 0)
    for name in ("producers_omitted", "topics_omitted"):
        report[name] = dict.fromkeys(report[name], 0)
    report["would_reject"], report["trend"] = [], None
    report["rules"] = []
    report["what_if"] = {"batches": 0, "records": 0, "records_left_out": 0, "ahead": [], "behind": []}
    return report | {"headline": "No records came through the proxy."}


def hostile(text):
    """The report with `text` wherever a client or a broker could have chosen it."""
    report = complete()
    report["headline"] = f"{text} causes 50% of 3 rejected records."
    for producer in report["producers"]:
        producer |= {"client_id": text, "principal": text, "addresses": [text], "client_software": [text]}
        for topic in producer["topics"]:
            topic["topic"] = text
        for example in producer["examples"]:
            example |= {"topic": text, "error_message": text, "client_address": text}
    for row in [*report["would_reject"], *report["trend"]["changes"]]:
        row |= {"client_id": text, "principal": text}
    for row in [*report["producers"], *report["would_reject"], *report["owners"]["teams"]]:
        row["team"] = text
    for row in report["owners"]["teams"]:
        row["channel"] = text
    for row in report["would_reject"]:
        row |= {"topic": text, "rule": text, "waiver": text}
    for row in report["rules"]:
        row |= {"rule": text, "mode": text, "waiver": text}
    for topic in [*report["topics"], *report["limits"], *report["held_topics"]]:
        topic["topic"] = text
    report["history"] |= {"sentence": text, "direction": text}
    for day in report["history"]["days"]:
        day |= {"day": text, "state": text}
    report["log"]["quarantined_lines"] = {"not_json": 1}
    report["log"]["quarantined_examples"] = [f"{text}: not_json: {text}"]
    return report


OWNERS = """
[[owners]]
team = "Payments"
channel = "payments@example.com"
client_ids = ["checkout", "billing-*"]

[[owners]]
team = "Devices"
channel = "https://chat.example.com/devices"
client_ids = ["*"]
principals = ["User:iot*"]

[[owners]]
team = "Orders"
channel = "#orders"
client_ids = ["orders-*", "kiosk-*"]

[[owners]]
team = "Clicks"
client_ids = "mobile-*"
"""


def week(**changed):
    """The facts of eight days, by day; the last one is that of the fixed report. `changed`: `d19={...}` is
    for the 19th, and None removes it."""
    facts = {}
    for number in range(13, 21):
        day, rejected = f"2026-11-{number}", 500 + 100 * number
        own = history.DayFacts(
            day=day,
            state="complete",
            is_compared=True,
            records=100_000,
            rejected_records=rejected,
            producers_affected=3,
            cause="the wrong time unit",
            cause_records=rejected // 2,
            would_reject_records=0,
            would_reject_producers=0,
            page=f"{day}/report.html",
            generated_ts=f"2026-11-{number + 1}T05:00:00.000Z",
            teams=["Payments", "Devices"],
        )
        change = changed.get(f"d{number}", {})
        if change is not None:
            facts[day] = own | change
    return facts


def owned(report, known, clients=None):
    """The report with its owners. `clients`: those whose owners are looked up; None for all that it lists."""
    rows = [*report["producers"], *report["would_reject"], *(clients or ())]
    for row in rows:
        row["team"] = known.team_of(row)
    clients = report["producers"] if clients is None else clients
    return owners.assigned(report, known, clients, report["would_reject"], [])


def complete():
    """The fixed report with everything that an option adds: owners, a week before it, links."""
    report = owned(fixed(), owners.parse(OWNERS, "owners.toml"))
    links = {"json": "report.json", "csv": "report.csv", "index": "../index.html"}
    links |= {"day_before": "../2026-11-19/report.html", "day_after": "../2026-11-21/report.html"}
    links |= {"teams": "../teams", "address": None}
    compared = history.compared(week_of(report), FRIDAY, 1)
    return report | {"history": compared, "links": links}


def week_of(report):
    """The facts of the eight days that the report's producers had, each with as many records as the last."""
    records = report["totals"]["records_judged"]
    rejected = [sum(day) for day in zip(*(each["week"] for each in report["producers"]), strict=True)]
    changes = {f"d{number}": {"records": records, "rejected_records": rejected[number - 13]}
               for number in range(13, 21)}  # fmt: skip
    return week(**changes)


def large(producers=300):
    """A report with far more rows than fit into a page, each as long as the log allows."""
    report = hostile("<&\"'>" * 50)
    one = report["producers"][0]
    one["reasons"] = one["reasons"] * 20
    one["examples"] = one["examples"] * 20
    report["producers"] = [copy.copy(one) for _ in range(producers)]
    report["topics"] = report["topics"] * 500
    report["would_reject"] = report["would_reject"] * 1_000
    report["rules"] = report["rules"] * 1_000
    report["trend"]["changes"] = report["trend"]["changes"] * 1_000
    return report
