"""Each team is a reader: its folder has a page, days, a feed and a text, and nothing of another team."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from spark_reports.cli import main
from spark_reports.commands.publishing import Publication
from spark_reports.log.completeness import Evidence
from spark_reports.render import html, sheet, worst
from spark_reports.render import teams as render
from spark_reports.report import day, files, owners, stored, tables, teams, words
from spark_reports.report.assemble import assemble
from spark_reports.report.shape import to_json
from tests.spark_reports.day import DAY_MS, MIDNIGHT_MS
from tests.spark_reports.pure.test_html import Page
from tests.spark_reports.pure.test_owners import owned
from tests.spark_reports.rolled import FRIDAY, day_of, known, rejected, repaired, reported, row, watched

ATOM = "{http://www.w3.org/2005/Atom}"
TWO = """
help = "https://wiki.example.com/timestamps"
owners = [
  { team = "Ours", channel = "#ours", client_ids = ["our-*"] },
  { team = "Theirs", client_ids = ["their-*"] },
  { team = "Good", client_ids = ["good-*"] },
]
"""


def folder(report, team, before=None, today="2026-12-01"):
    """The files of a team, by name."""
    [own] = [each for each in report["owners"]["teams"] if each["team"] == team]
    return render.files(report, own, teams.latest(report, own, teams.from_text(before), today))


def latest(report, team, *before):
    return json.loads(folder(report, team, *before)[teams.LATEST])


def of_all():
    """Two teams on one topic, each with every outcome; a third one with good records alone."""
    return [
        each
        for name in ("our", "their")
        for each in (
            rejected(f"{name}-late", 100, bad=20, principal=f"User:{name}"),
            watched(f"{name}-watched", 30),
            watched(f"{name}-old", 7, rule="candidate"),
            repaired(f"{name}-repaired", 50),
        )
    ] + [row("good-app")]


def on(day, report):
    """The same report of another day."""
    return report | {"first_day": day, "last_day": day, "generated_ts": f"{day}T23:59:59.000Z"}


def test_a_folder_has_every_outcome_of_its_team_and_no_word_of_another():
    files = folder(reported(of_all(), TWO), "Ours")
    assert sorted(files) == ["2026-11-20.html", "feed.xml", "index.html", "latest.json"]
    for text in files.values():
        assert not re.search("their|report\\.json|topic-", text, re.IGNORECASE)
    for name in ("2026-11-20.html", "index.html", "latest.json"):
        for part in ("our-late", "our-watched", "our-old", "our-repaired", "#ours"):
            assert part in files[name], (name, part)


BY_TOPIC = """
owners = [{ team = "Ours", topics = ["our-*"] }, { team = "Theirs", topics = ["their-*"] }]
"""
RELAY = f"{TWO}applications = [{{ name = 'Relay', client_ids = ['our-*', 'their-*'] }}]"


@pytest.mark.parametrize(("file", "ids"), [(BY_TOPIC, ("app", "app")), (RELAY, ("our-1", "their-1"))])
def test_a_producer_of_two_teams_is_told_to_each_with_its_own_records_alone(file, ids):
    """Its owners may be those of topics, and an application may have clients of several teams."""
    rows = [
        made(client_id, records, topic=f"{name}-topic", **rule)
        for name, client_id, records in zip(("our", "their"), ids, (1_031, 7_077), strict=True)
        for made, rule in (
            (watched, {}),
            (watched, {"rule": "candidate"}),
            (repaired, {"rule": f"{name}-rule"}),
        )
    ]
    report = reported(rows, file)
    for team, records, others in (("Ours", 1_031, "their|7,?077"), ("Theirs", 7_077, "our-|1,?031")):
        assert not re.search(others, "".join(folder(report, team).values()).lower())
        text = latest(report, team)["text"]
        assert text.count("To the owner of") == 2
        assert text.count(f"* {records:,} ") == 3
        [own] = [each for each in worst.would_reject(report) if each[0]["team"] == team]
        assert own[1] == records


def test_latest_json_is_a_text_with_a_subject_a_channel_and_rows_for_programs():
    report = reported(of_all(), TWO)
    report["links"]["address"] = "https://reports.example.com"
    found = latest(report, "Ours")
    assert found["subject"] == (
        "tsproxy, 2026-11-20: 100 records rejected, 30 would be rejected, 7 far behind the clock, 50 repaired"
    )
    assert (found["version"], found["team"], found["channel"], found["day"]) == (
        1,
        "Ours",
        "#ours",
        "2026-11-20",
    )
    page = f"https://reports.example.com/teams/{teams.folder_of('Ours')}/2026-11-20.html"
    assert found["page"] == page
    assert [line for line in found["text"].splitlines() if line.startswith("To the owner")] == [
        f"To the owner of our-{name}:" for name in ("late (User:our)", "watched", "old", "repaired")
    ]
    assert found["text"].endswith(
        f"\n\nEvidence, and the days before: {page}\n\nhttps://wiki.example.com/timestamps\n"
    )
    assert [(each["outcome"], each["client_id"], each["records"]) for each in found["rows"]] == [
        ("rejected", "our-late", 100),
        ("would_reject", "our-watched", 30),
        ("far_behind", "our-old", 7),
        ("repaired", "our-repaired", 50),
    ]


def test_of_an_incomplete_log_subject_text_and_feed_say_that_the_counts_are_lower_bounds():
    report = reported(of_all(), TWO)
    report["log"] |= {"state": "incomplete", "sentence": "One process stopped reporting."}
    for team, counts in (("Good", "nothing rejected"), ("Ours", "50 repaired")):
        found = folder(report, team)
        made = json.loads(found[teams.LATEST])
        assert made["subject"].endswith(f"{counts}, at least (the log is incomplete)")
        assert made["text"].startswith("The counts are lower bounds. One process stopped reporting.\n")
        assert found["feed.xml"].count("at least (the log is incomplete)") == 2
        assert Page(found["index.html"]).words.count("at least (the log is incomplete)") >= 2
        assert "incomplete), at least" not in found["index.html"]


def test_each_team_of_the_file_has_a_folder_also_on_a_day_without_a_mistake():
    """Else its page would show the mistakes of days ago as those of the latest day."""
    report = reported(of_all(), TWO)
    assert {each["team"] for each in report["owners"]["teams"]} == {"Ours", "Theirs", "Good", None}
    assert latest(report, "Good")["subject"] == "tsproxy, 2026-11-20: nothing rejected"
    assert "Good: nothing rejected" in Page(folder(report, "Good")["index.html"]).words


def test_without_help_a_text_names_the_page_for_owners_and_the_waiver():
    lines = latest(owned(), "Payments")["text"].splitlines()
    assert 'the page "My producer is refused"' in lines[-2]
    assert "waiver" in lines[-1]


def test_thirty_days_are_kept_and_an_earlier_day_that_is_made_again_changes_only_itself():
    text, day_of = None, reported(of_all(), TWO)
    for number in range(1, 32):
        text = folder(on(f"2026-10-{number:02}", day_of), "Ours", text)[teams.LATEST]
    found = json.loads(text)
    assert [each["day"] for each in found["days"]] == [f"2026-10-{n:02}" for n in range(2, 32)]
    again = on("2026-10-05", reported([rejected("our-late", 10)], TWO))
    files = folder(again, "Ours", text)
    after = json.loads(files[teams.LATEST])
    assert (after["day"], after["rows"]) == ("2026-10-31", found["rows"])
    assert [each["rejected_records"] for each in after["days"]] == [100] * 3 + [10] + [100] * 26
    assert {"2026-10-04.html", "2026-10-06.html", "index.html"} <= set(Page(files["2026-10-05.html"]).links)
    assert "10 records rejected" in Page(files["2026-10-05.html"]).words
    page = Page(files["index.html"])
    assert "rejected: 2,910 records on 30 days" in page.words
    assert {f"{each['day']}.html" for each in after["days"]} <= set(page.links)
    later = latest(on("2026-11-20", day_of), "Ours", text)  # days without a report are days, too
    assert [each["day"][5:] for each in later["days"]] == [*(f"10-{n}" for n in range(22, 32)), "11-20"]


def test_a_day_of_a_clock_that_was_ahead_does_not_stay_the_latest():
    """It was latest.json, index.html and the feed for ever. A clock that is behind removes no day."""
    ahead = folder(on("2028-01-25", reported(of_all(), TWO)), "Ours")[teams.LATEST]
    texts = [ahead]
    for name, today in (("2026-11-20", "2026-11-21"), ("2026-11-21", "1970-01-01")):
        texts.append(folder(on(name, reported(of_all(), TWO)), "Ours", texts[-1], today)[teams.LATEST])
    found = [json.loads(text) for text in texts]
    assert [each["day"] for each in found] == ["2028-01-25", "2026-11-20", "2026-11-21"]
    assert [each["day"] for each in found[-1]["days"]] == ["2026-11-20", "2026-11-21"]


@pytest.mark.parametrize(
    "text",
    [None, "", "[]", "{", "{}", '{"days": []}', '{"version": 1, "days": [{}], "rows": []}', "[" * 9_999]
    + [json.dumps(latest(on("2026-11-19", reported(of_all(), TWO)), "Ours") | changed)
       for changed in ({"version": 2}, {"day": "<b>"}, {"days": []}, {"rows": [1]}, {"rows": None})],
)  # fmt: skip
def test_a_latest_json_of_somebody_else_is_no_day(text):
    assert [each["day"] for each in latest(reported(of_all(), TWO), "Ours", text)["days"]] == ["2026-11-20"]


def test_a_file_that_is_no_text_costs_its_days_and_not_the_report(tmp_path):
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "latest.json").write_bytes(b"\xff\xfe{")
    [(name, text)] = files.read_folders(None, str(tmp_path), "latest.json").items()
    assert (name, teams.from_text(text)) == ("ours", None)


def test_the_feed_is_atom_with_an_entry_for_each_day_the_newest_first():
    report = reported(of_all(), TWO)
    before = folder(on("2026-11-19", report), "Ours")[teams.LATEST]
    report["links"]["address"] = "https://reports.example.com"
    files = folder(report, "Ours", before)
    root = ElementTree.fromstring(files[teams.FEED])
    entries = root.findall(f"{ATOM}entry")
    base = f"https://reports.example.com/teams/{teams.folder_of('Ours')}"
    assert [each.find(f"{ATOM}link").get("href") for each in entries] == [
        f"{base}/2026-11-20.html",
        f"{base}/2026-11-19.html",
    ]
    ids = [root.find(f"{ATOM}id").text, *(each.find(f"{ATOM}id").text for each in entries)]
    assert len(set(ids)) == 3
    assert all(each.startswith("urn:uuid:") for each in ids)
    assert root.find(f"{ATOM}updated").text == max(each.find(f"{ATOM}updated").text for each in entries)
    again = ElementTree.fromstring(folder(report, "Ours", files[teams.LATEST])[teams.FEED])
    assert [each.find(f"{ATOM}id").text for each in again.findall(f"{ATOM}entry")] == ids[1:]


def test_feeds_of_two_clusters_share_no_id_and_a_quiet_day_changes_none():
    """A reader takes two entries with one id for one (RFC 4287, 4.2.6)."""

    def ids(text):
        return re.findall("<id>(.*?)</id>", text[teams.FEED])

    one, two, neither = (reported([rejected("our-app", cluster_id=name)], TWO) for name in ("c1", "c2", None))
    files = folder(one, "Ours")
    assert len({*ids(files), *ids(folder(two, "Ours")), *ids(folder(neither, "Ours"))}) == 6
    assert ids(folder(neither, "Ours")) == [
        "urn:uuid:7cfda61a-86d7-5b7d-983c-e5e5083c9b94",
        "urn:uuid:044b6eb8-a17d-513d-96c7-60f42b868c14",
    ]  # as earlier releases made them
    quiet = folder(on("2026-11-21", reported([], TWO)), "Ours", files[teams.LATEST])
    assert set(ids(files)) < set(ids(quiet))
    older = json.loads(folder(neither, "Ours")[teams.LATEST])
    del older["cluster_id"]  # as an earlier release wrote it
    assert len(latest(on("2026-11-21", one), "Ours", json.dumps(older))["days"]) == 2


def test_without_addresses_no_file_has_one():
    """A log keeps them unless the proxy drops them, and not each reader of a report may see them. The rollup
    of such a report has none, too."""
    old = {"client_id": "old", "principal": None, "client_software": None, "client_address": "10.0.0.1"}
    none = dict.fromkeys(("reason", "unit_guess", "client_software", "error_message"))
    example = (
        none | old | {"client_id": "late", "topic": "t", "partition": 0, "seq": 1, "now_ms": 1, "records": 1}
    )
    example |= {"ts": "2026-11-20T10:00:00.000Z", "bad_index": [0], "bad_ts": [5], "bad_records": 1}
    example |= {"verdict": "rejected", "error_code": 32, "is_final": True}
    counts = dict.fromkeys(("lines", "once", "duplicates", "unusable", "changed"), 1)
    torn = counts | {"file": "a.jsonl", "problem": "not_json", "example": "10.0.0.1", "inside": 0}
    made = replace(
        day_of(rejected("late")),
        addresses=[{"client_id": "late", "principal": None, "addresses": ["10.0.0.1"]}],
        examples=[example],
        refused=[old | {"api": "Produce", "version_min": 0, "version_max": 2}],
        evidence=Evidence([], [], [torn]),
    )
    owner = owners.parse('[[owners]]\nteam = "Late"\nclient_ids = ["late"]', "owners.toml")
    publication = Publication("out", ("csv",), owners=owner)
    for is_shown, each in ((True, made), (False, made.without_addresses())):
        report, everybody, _ = publication.completed(each, MIDNIGHT_MS + DAY_MS, None, {}, {})
        texts = [html.render(report), to_json(report), sheet.render(everybody)]
        texts += [day.to_text(each, 1), *folder(report, "Late").values()]
        assert any("10.0.0.1" in text for text in texts) is is_shown
        assert not any(": None" in text for text in texts)
        assert "late" in texts[0]


def test_an_incomplete_day_says_that_its_counts_are_lower_bounds():
    report = reported(of_all(), TWO)
    report["log"] |= {"state": "incomplete", "sentence": "Log incomplete: 1 line lost."}
    files = folder(report, "Ours")
    assert "at least (the log is incomplete)" in Page(files["index.html"]).words
    assert "Log incomplete: 1 line lost." in Page(files["2026-11-20.html"]).words


@pytest.mark.parametrize(
    ("publication", "first_day", "link"),
    [
        (Publication("out", ("html",)), "2026-11-20", "teams"),
        (Publication("out", ("html",)).of_day(FRIDAY), "2026-11-20", "../teams"),
        (Publication("out", ("html",)), "2026-11-19", None),  # the bars of teams are of days
    ],
)
def test_the_days_page_links_the_pages_of_its_teams_where_they_are(publication, first_day, link):
    report, _ = publication.linked(owned() | {"first_day": first_day}, [], {})
    assert report["links"]["teams"] == link
    found = [each for each in Page(html.render(report)).links if "2026-11-20.html" in each]
    assert (f"{link}/{teams.folder_of('Payments')}/2026-11-20.html" in found) is bool(found) is bool(link)


def test_a_client_that_is_called_as_the_folded_ones_has_an_owner_and_they_have_none():
    names = (words.FOLDED, "\\(other)", "\\(no client id)", None)
    odd = '[[owners]]\nteam = "Odd names"\nclient_ids = ["(other)"]\n'
    report = reported([rejected(name) for name in names], odd)
    teams_of = {producer["client_id"]: producer["team"] for producer in report["producers"]}
    assert teams_of == {**dict.fromkeys(names), "\\(other)": "Odd names"}
    assert html.render(report).count("Text for its owner") == len(names) - 1
    for team, told in (("Odd names", {"\\(other)"}), (None, {"(no client id)", "\\(no client id)"})):
        assert {*re.findall("To the owner of (.*):\n", latest(report, team)["text"])} == told
    left = "And 1 more producer with 1,000 rejected records, without a text here"
    assert f"{left}.\n" in latest(report, None)["text"]
    assert (
        f"{left}; `daily --top N` lists more.\n"
        in latest(reported([rejected("a"), rejected("b")], odd, 1), None)["text"]
    )


def test_limits_of_topics_that_are_not_shown_are_not_shown():
    rows = [row("app", 10 * (n + 1), topic=f"t{n}") for n in range(8)]
    limit = {"timestamp_type": "CreateTime", "before_max_ms": 1, "after_max_ms": 1}
    times = dict.fromkeys(("first_ts", "last_ts"), "2026-11-20T00:00:00.000Z")
    limits = [{"topic": each["topic"], **limit, **times} for each in rows]
    made = tables.collect(replace(day_of(*rows), limits=limits), 2)
    report = assemble(made, FRIDAY, FRIDAY, MIDNIGHT_MS + DAY_MS)
    assert [limit["topic"] for limit in report["limits"]] == ["t7", "t6"]


@pytest.mark.parametrize(("name", "of_teams"), [("trial", "teams"), ("2026-11-20", "../teams")])
def test_a_report_beside_the_days_of_an_index_leaves_the_folders_of_its_teams_alone(
    tmp_path, monkeypatch, name, of_teams
):
    """A trial of other owners was sent to the channels of teams. The day's own folder is published."""
    monkeypatch.setattr(stored, "day", lambda *_: (day_of(rejected("our-app")), MIDNIGHT_MS + DAY_MS))
    monkeypatch.setattr(stored, "producers", lambda *_: known([]))
    monkeypatch.setattr(stored, "days", lambda *_: {})
    (tmp_path / "index.html").touch()
    (tmp_path / "owners.toml").write_text(TWO)
    asked = ["report", "--rollup", "kept", "--date", str(FRIDAY), "--owners", str(tmp_path / "owners.toml")]
    output = tmp_path / name
    assert main([*asked, "--output", str(output)]) == 0
    made = [path.parent.parent.resolve() for path in tmp_path.rglob(teams.LATEST)]
    assert set(made) == {(output / of_teams).resolve()}
    known_links = json.loads((output / "report.json").read_text())["links"]
    assert (known_links["index"], known_links["teams"]) == ("../index.html", of_teams)
    page = f"{of_teams}/{teams.folder_of('Ours')}/2026-11-20.html"
    assert page in {link.partition("#")[0] for link in Page((output / "report.html").read_text()).links}
