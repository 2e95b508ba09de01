"""report.html: one file that opens anywhere, with no network, no script and at most 300 KB.

Tables are as long as the file allows. The page counts the rows that it leaves out; report.json has them.
"""

from datetime import date
from typing import Final

from spark_reports.log.completeness import State
from spark_reports.render import compared, lists, navigation, overview, owners, plain, plots, producers, rules
from spark_reports.render.document import document
from spark_reports.render.tables import bullets
from spark_reports.report import missing, words
from spark_reports.report.plain import PLAIN
from spark_reports.report.shape import Report
from tsproxy.model.markup import Markup, element, join

MAX_BYTES: Final = 300_000
_ROWS: Final = (1_000, 200, 100, 50, 25, 10, 3, 1)

_TEXT_CHARS: Final = 2_000
_PROOF_CLASSES: Final = {
    State.COMPLETE: "complete",
    State.COMPLETE_IN_PART: "partly",
    State.INCOMPLETE: "incomplete",
}

_GLOSSARY: Final = (
    ("accepted", "the broker took the batch and said so"),
    ("rejected by tsproxy", "the batch broke a limit or a rule and reached no broker"),
    ("rejected by the broker", "the batch was forwarded, and the broker rejected it for good"),
    (
        "unconfirmed",
        "nobody can tell: sent with acks=0, or the connection ended first, or the client may have sent it "
        "again after an error",
    ),
    ("sent again", "by the producer, without being asked; counted where that ended, unless it gave up"),
    (
        "bad, good",
        "a bad record breaks a limit; the good ones in its batch are rejected with it, as Kafka does",
    ),
    ("drift", "a record's timestamp minus the clock of the proxy; a record without a timestamp has none"),
)


def render(report: Report) -> str:
    """The page. Its tables are shortened until it is small enough."""
    pages = (_page(report, rows) for rows in _ROWS)
    page = next((page for page in pages if len(page.encode("utf-8")) <= MAX_BYTES), None)
    return page if page is not None else _page(report, 0)


def _page(report: Report, rows: int) -> str:
    body = join(
        _head(report),
        element(
            "main",
            overview.balance(report),
            overview.six_numbers(report),
            _section("producers", "Producers to talk to", producers.producers(report, rows)),
            _section("owners", "By owner", owners.owners(report, rows)),
            _section("trend", "Against the week before", compared.trend(report, rows)),
            _section("drift", "How far timestamps were off", plots.drift(report)),
            _closed("whatif", "What other limits would reject", compared.what_if(report)),
            _closed("watched", "What rules in audit would reject", compared.watched(report, rows)),
            _closed("behind", "Far behind the clock", compared.far_behind(report, rows)),
            *(_closed(t.key.replace("_", "-"), t.title, plain.on_page(t, report, rows)) for t in PLAIN),
            _closed("hours", "Topics by hour", plots.hours(report)),
            _closed("reasons", "Why records were rejected", lists.reasons(report)),
            _closed("topics", "Topics and their limits", lists.topics(report, rows)),
            _closed("rules", "Rules in force and waivers", rules.rules(report, rows)),
            _closed("log", "The log behind this report", lists.log_quality(report)),
        ),
        _foot(report),
    )
    title = f"tsproxy {_days(report)}: {words.short(report['headline'], _TEXT_CHARS)}"
    return document(title, body)


def _section(name: str, title: str, content: Markup | None) -> Markup | None:
    if content is None:
        return None
    return element("section", element("h2", title, id=name), content, aria_labelledby=name)


def _closed(name: str, title: str, content: Markup | None) -> Markup | None:
    """A section for reference. It is closed until the reader opens it by its title; on paper it is open."""
    if content is None:
        return None
    parts = (element("summary", element("h2", title, id=name)), content)
    return element("section", element("details", *parts, class_="part"), aria_labelledby=name)


def _head(report: Report) -> Markup:
    proof = missing.state(report["log"])
    sentence = words.short(report["log"]["sentence"], _TEXT_CHARS)
    unfinished = element("p", "The day is not over: numbers so far.", class_="soft")
    return element(
        "header",
        element("p", element("b", "tsproxy"), f" daily report · {_days(report)} · UTC", class_="kicker"),
        navigation.neighbours(report),
        element("h1", words.short(report["headline"], _TEXT_CHARS)),
        bullets([words.short(text, _TEXT_CHARS) for text in report["details"]]),
        None if report["is_over"] else unfinished,
        element(
            "p",
            element("span", "✓" if proof is State.COMPLETE else "!", aria_hidden="true"),
            " ",
            sentence,
            class_=f"proof {_PROOF_CLASSES[proof]}",
        ),
        bullets(missing.in_short(report["log"]), "missing soft"),
    )


def _days(report: Report) -> str:
    first, last = (date.fromisoformat(report[key]) for key in ("first_day", "last_day"))
    start = f"{first:%A}, {first.day} {first:%B %Y}"
    return start if first == last else f"{start} to {last.day} {last:%B %Y}"


def _foot(report: Report) -> Markup:
    made = report["generated_ts"]
    return element(
        "footer",
        element(
            "details",
            element("summary", "Words used here"),
            element("dl", *[join(element("dt", word), element("dd", text)) for word, text in _GLOSSARY]),
        ),
        element("p", f"Made {made[:10]} {made[11:16]} UTC. ", navigation.files(report)),
    )
