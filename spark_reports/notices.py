"""Texts to send to the owners of producers: what is refused, why, how to mend it, with one example each."""

from spark_reports import words
from spark_reports.shape import Producer, Report


def notices(report: Report) -> list[str]:
    """One text for each producer that the report lists, the worst first."""
    return [notice(report, producer) for producer in report["producers"]]


def notice(report: Report, producer: Producer) -> str:
    """The text for one owner; plain, printable, fit for mail, chat or a ticket."""
    days = report["first_day"] + (
        "" if report["first_day"] == report["last_day"] else f" to {report['last_day']}"
    )
    whose = words.short(words.client(producer["client_id"]))
    principal = f" ({words.short(producer['principal'])})" if producer["principal"] else ""
    refused, own = producer["refused_records"], producer["records"]
    collateral = words.count(producer["collateral_records"])
    lines = [
        f"To the owner of {whose}{principal}:",
        f"On {days} (UTC) limits on timestamps refused {words.many(refused, 'record')} of yours, "
        f"{words.share(refused, own)} of what you sent. "
        f"{collateral} of them were good, and fell with others of their batch.",
        *[f"* {reason['cause']}: {reason['fix']}." for reason in producer["reasons"]],
        f"Topics: {', '.join(words.short(topic['topic'], 60) for topic in producer['topics'])}.",
    ]
    if producer["addresses"]:
        lines.append(f"Sent from {', '.join(words.short(text, 60) for text in producer['addresses'])}.")
    return "\n".join([*lines, *_example(producer)]) + "\n"


def _example(producer: Producer) -> list[str]:
    found = next((example for example in producer["examples"] if example["bad_ts"]), None)
    if found is None:
        return []
    read_as = f", which reads as {found['read_as_ts']}" if found["read_as_ts"] else ""
    return [
        f"For example at {words.instant_words(found['ts'])}, topic {words.short(found['topic'], 60)}, "
        f"partition {found['partition']}: a record carried {found['bad_ts'][0]}{read_as}."
    ]
