"""Texts to send to the owners of producers: what is refused, why, how to mend it, with one example each."""

from typing import Final

from spark_reports import words
from spark_reports.shape import Example, Producer, Report
from tsproxy.decisions.text import instant

_LAST_INSTANT_MS: Final = 253_402_300_799_999
"""The end of the year 9999: what is later is no time that anybody meant."""


def notices(report: Report) -> list[str]:
    """One text for each producer that the report lists and that is one, the worst first."""
    return [notice(report, producer) for producer in report["producers"] if has_owner(producer)]


def has_owner(producer: Producer) -> bool:
    """False for all those together that the proxy could not count one by one."""
    topics = {topic["topic"] for topic in producer["topics"]}
    return topics != {words.FOLDED}


def notice(report: Report, producer: Producer) -> str:
    """The text for one owner; plain, printable, fit for mail, chat or a ticket."""
    days = report["first_day"] + (
        "" if report["first_day"] == report["last_day"] else f" to {report['last_day']}"
    )
    whose = words.short(words.client(producer["client_id"]))
    principal = f" ({words.short(producer['principal'])})" if producer["principal"] else ""
    refused, own = producer["refused_records"], producer["records"]
    were = "was" if refused == 1 else "were"
    lines = [
        f"To the owner of {whose}{principal}:",
        f"On {days} (UTC) {words.many(refused, 'record')} of yours {were} refused, "
        f"{words.share(refused, own)} of what you sent.{_good_ones(producer['collateral_records'])}",
        *[f"* {reason['cause']}: {reason['fix']}." for reason in producer["reasons"]],
        _topics(report, producer),
    ]
    if producer["addresses"]:
        lines.append(f"Sent from {', '.join(words.short(text, 60) for text in producer['addresses'])}.")
    return "\n".join([*lines, *_example(producer)]) + "\n"


def _good_ones(collateral: int) -> str:
    if not collateral:
        return ""
    were = "was" if collateral == 1 else "were"
    return (
        f" {words.count(collateral)} of them {were} good, and fell with others of the same batch: "
        "Kafka refuses whole batches."
    )


def _topics(report: Report, producer: Producer) -> str:
    """The topics, each with the limits that the proxy saw last."""
    limits = words.limits_by_topic(report["limits"])
    named, meaning = [], ""
    for topic in producer["topics"]:
        said = words.short(topic["topic"], 60)
        if known := limits.get(topic["topic"]):
            said, meaning = f"{said} ({known[-1]})", " (how old / how far ahead a record may be)"
        named.append(said)
    more = producer["topics_count"] - len(named)
    return f"Topics{meaning}: {', '.join(named)}{f' and {words.count(more)} more' if more > 0 else ''}."


def _example(producer: Producer) -> list[str]:
    found = next((example for example in producer["examples"] if example["bad_ts"]), None)
    if found is None:
        return []
    return [
        f"For example at {words.instant_words(found['ts'])}, topic {words.short(found['topic'], 60)}, "
        f"partition {found['partition']}: a record carried {found['bad_ts'][0]}{_read_as(found)}."
    ]


def _read_as(example: Example) -> str:
    """In the unit that was guessed; else, where it may be one, the time that it is."""
    if example["read_as_ts"]:
        return f", which reads as {example['read_as_ts']}"
    time_ms = example["bad_ts"][0]
    return f", that is {instant(time_ms)}" if 0 <= time_ms <= _LAST_INSTANT_MS else ""
