"""Totals are of all rows, no team hides another, and a list that is cut says what it leaves out."""

import re

import pytest

from spark_reports.render import html, index
from spark_reports.report import gates, history
from tests.spark_reports.pure.test_html import Page
from tests.spark_reports.pure.test_teams import folder, latest
from tests.spark_reports.rolled import known, rejected, repaired, reported, row, watched

TEAMS = "\n".join(f'[[owners]]\nteam = "T{n:02}"\nclient_ids = ["t{n:02}-*"]' for n in range(80))
LARGE_AND_SMALL = """
owners = [{ team = "Large", client_ids = ["large-*"] }, { team = "Small", client_ids = ["small-*"] }]
"""


def of_team(report, team):
    return Page(folder(report, team)["2026-11-20.html"]).words


def archived(number, name="archive", **changes):
    """Records in seconds, which the candidate limits counted."""
    return (
        watched(f"{name}-{number:02}", rule="candidate", unit_guess="seconds", drift_max_ms=-(10**12))
        | changes
    )


def eighty_in_audit():
    return [each for n in range(80) for each in (watched(f"t{n:02}-app"), row(f"t{n:02}-app", 200))]


def test_in_audit_the_totals_are_of_all_producers_and_not_of_the_listed_ones():
    """Step 5 of the rollout rests on them: 80 would lose 80,000 records, and the page said 50,000 of 50."""
    report = reported(eighty_in_audit())
    totals = report["totals"]
    assert (totals["would_reject_records"], totals["would_reject_producers"]) == (80_000, 80)
    assert len(report["would_reject"]) == 50
    page = Page(html.render(report)).words
    assert "What rules in audit would reject: 80,000 records of 80 producers" in page
    assert "And 30,000 more records, 30 more producers, not listed." in page
    for gate in ("would_reject_records>79999", "would_reject_producers>79"):
        assert gates.parse(gate).tripped_by(report) is not None


def test_in_audit_each_of_eighty_teams_has_its_rows_its_page_its_text_and_its_link():
    report = reported(eighty_in_audit(), TEAMS)
    assert {each["team"] for each in report["would_reject"]} == {f"T{n:02}" for n in range(80)}
    assert "T79: nothing rejected, 1,000 records of 1 producer would be." in of_team(report, "T79")
    for n in range(80):
        subject = latest(report, f"T{n:02}")["subject"]
        assert subject == "tsproxy, 2026-11-20: 1,000 records would be rejected"
    [facts] = history.of_report(report, [], None)
    assert len(Page(index.render({"2026-11-20": facts})).links) == 80


@pytest.mark.parametrize(
    ("many", "few"),
    [(archived, lambda: watched("checkout")), (lambda n: watched(f"app-{n:02}"), lambda: archived(0, "old"))],
)
@pytest.mark.parametrize("file", ["", '[[owners]]\nteam = "All"\nclient_ids = ["*"]'])
def test_of_two_kinds_of_counted_records_neither_hides_the_other(many, few, file):
    """Records far behind the clock are likely mistakes, and those of a rule in audit will be rejected."""
    report = reported([*(many(n) for n in range(60)), few()], file)
    pages = [Page(html.render(report)).words, *([of_team(report, "All")] if file else [])]
    for page in pages:
        assert "What rules in audit would reject: " in page
        assert "Far behind the clock: " in page
        assert few()["client_id"] in page
        assert "And 10,000 more " in page


def test_what_a_candidate_of_its_own_limit_would_reject_counts_as_that():
    """9 of 10 records are eight days old. A candidate of 7 days would reject them, and none is a mistake."""
    report = reported(
        [row("fine", 1_000), archived(0, "replay", drift_max_ms=-8 * 86_400_000, records=9_000)]
    )
    totals = report["totals"]
    assert (totals["would_reject_records"], totals["far_behind_records"]) == (9_000, 0)
    assert gates.parse("would_reject_records>0").tripped_by(report) is not None
    page = Page(html.render(report)).words
    assert "What rules in audit would reject: 9,000 records of 1 producer" in page
    assert "far behind the clock" not in page.lower()


def test_the_texts_of_a_team_say_what_they_leave_out_of_each_outcome():
    file = '[[owners]]\nteam = "All"\nclient_ids = ["*"]'
    rows = [
        each for n in range(60) for each in (archived(n), repaired(f"sensor-{n:02}"), watched(f"w-{n:02}"))
    ]
    told = latest(reported(rows, file), "All")["text"]
    for ended in ("would be rejected", "far behind the clock", "repaired"):
        assert f"And 10,000 more records {ended}, without a text here." in told


def test_of_records_far_behind_a_text_counts_the_bad_ones_also_of_the_topics_that_it_does_not_list():
    rows = [archived(0, "old", topic=f"t{n:02}", bad_records=1) for n in range(13)]
    told = latest(reported(rows, '[[owners]]\nteam = "All"\nclient_ids = ["*"]'), "All")["text"]
    assert told.count("* 1 record to t") == 10
    assert "And 3 more like this, with 3 records." in told


def test_a_producer_whose_mistake_is_known_may_be_one_that_is_not_listed():
    file = '[[owners]]\nteam = "All"\nclient_ids = ["*"]\n[[known]]\nclient_ids = ["a-*"]\nuntil = 2026-12-24'
    for clients, told in ((60, "at least 50 producers"), (50, "50 producers")):
        page = Page(html.render(reported([rejected(f"a-{n:02}x", 100) for n in range(clients)], file))).words
        assert f"Known, and worked at: {told}" in page


def test_of_a_producer_whose_rows_are_cut_the_first_screen_says_a_lower_bound():
    """It has 60 rows, one for each topic, of which 50 are listed."""
    for topics, told in ((60, "at least 50,000"), (50, "50,000")):
        page = html.render(reported([watched("app", topic=f"t{n}") for n in range(topics)]))
        assert f"week{told}" in Page(page[: page.index('class="balance"')]).words


def test_sixty_worse_producers_of_one_team_hide_none_of_another():
    large = [rejected(f"large-{n:02}", 10_000 + n) for n in range(60)]
    small = [rejected(f"small-{n}", 120, unit_guess="microseconds") for n in range(3)]
    report = reported([*large, *small], LARGE_AND_SMALL)
    listed = [each["team"] for each in report["producers"]]
    assert (listed.count("Large"), listed.count("Small")) == (50, 3)
    assert "Small: 360 records of 3 producers rejected." in of_team(report, "Small")
    for name in ("small-0", "small-1", "small-2"):
        assert name in of_team(report, "Small")
    small = latest(report, "Small")["text"]
    assert small.count("To the owner of") == 3
    assert "without a text here" not in small
    least = sum(10_000 + n for n in range(10))
    more = f"And 10 more producers with {least:,} rejected records, "
    assert f"{more}without a text here" in latest(report, "Large")["text"]
    assert f"{more}not listed." in of_team(report, "Large")


@pytest.mark.parametrize("most_bytes", [0, 100_000, 10**6])
def test_a_title_counts_the_rows_of_its_list_and_those_that_are_left_out(most_bytes, monkeypatch):
    """A list is cut by `--top`, or by the size of the page, and its title counted some of them."""
    rows = [
        made(f"p{n}", 100 + n, topic=f"t{n}", rule=f"rule-{n}")
        for n in range(60)
        for made in (rejected, watched)
    ]
    week = [(f"2026-11-{19 + day}", f"p{n}", 900, day * 900) for day in range(2) for n in range(60)]
    report = reported(rows, "[[known]]\nclient_ids = 'p[3-5]?'\nuntil = 2026-12-24\n", week=known(week))
    old = {"principal": None, "client_software": None, "client_address": None, "api": "Produce"}
    report["refused_by_kafka_4"] = [
        {**old, "client_id": f"p{n}", "version_min": 0, "version_max": 2} for n in range(60)
    ]
    monkeypatch.setattr(html, "MAX_BYTES", most_bytes)
    parts = re.split('<h2 id="(.*?)">(.*?)</h2>', html.render(report))
    counts = {}
    for name, title, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        if number := re.search(r"([\d,]+) (?:producer|row|client|topic)s?\b", title):
            listed = re.findall('<tr role="row"><td|<li>|<details class="line"', text)
            more = re.findall(
                r"([\d,]+) more(?! record)", "".join(re.findall('<p class="more">.*?</p>', text))
            )
            counts[name] = int(number[1]), len(listed) + sum(map(int, more))
    assert counts == {name: (n, n) for name, n in LISTS.items() if most_bytes or name in counts}


LISTS = dict.fromkeys(("producers", "trend", "watched", "refused", "topics"), 60)
LISTS |= {"owners": 1, "known": 30, "rules": 120}


@pytest.mark.parametrize("top", [1, 7, 1_000])
def test_listed_rows_and_those_left_out_are_all_rows(top):
    rows = [rejected(f"t{n % 9:02}-{n}", 10 * (n + 1)) for n in range(40)]
    report = reported([*rows, *eighty_in_audit()], TEAMS, top)
    listed = sum(each["rejected_records"] for each in report["producers"])
    left_out, whole = report["producers_omitted"]["rejected_records"], report["totals"]["records_rejected"]
    assert whole == sum(each["records"] for each in rows) == listed + left_out
    teams = report["owners"]["teams"]
    assert sum(each["rejected_records"] for each in teams) == whole
    assert sum(each["would_reject_records"] for each in teams) == 80_000
    assert sum(each["would_reject_producers"] for each in teams) == 80
    assert len(report["producers"]) == sum(
        min(top, sum(n % 9 == team for n in range(40))) for team in range(9)
    )


def test_a_day_in_audit_does_not_look_like_a_good_day():
    """80% of the records of three producers would be rejected: the first weeks of each user."""
    rows = [row("good", 12_000), *(watched(f"app-{n}", 20_000 - n * 10) for n in range(1, 3))]
    rows += [watched("app-0", 12_000), watched("app-0", 8_000, rule="month")]
    report = reported(rows)
    assert report["headline"] == (
        "None of 71,970 records was rejected; rules in audit or candidate limits would reject 83%."
    )
    page = html.render(report)
    first = Page(page[: page.index('class="balance"')]).words
    for n in range(3):
        assert f"app-{n}" in first
        assert f"{20_000 - n * 10:,}" in first
    assert "week" in first
    day = {"day": "2026-11-20", "records": 71_970, "rejected_records": 0, "producers_affected": 0}
    [facts] = history.of_report(report, [day], None)
    assert (facts["would_reject_records"], facts["would_reject_producers"]) == (59_970, 3)
    before = facts | {"day": "2026-11-19", "would_reject_records": 90_000}
    told = Page(index.render({"2026-11-19": before, "2026-11-20": facts})).words
    assert told.index("59,970 would be") < told.index("90,000 would be")


@pytest.mark.parametrize(
    ("count", "wide", "narrow"), [(3, None, None), (4, None, 1), (5, None, 2), (7, 2, 4)]
)
def test_the_first_screen_says_how_many_producers_it_leaves_out(count, wide, narrow):
    """Five of seven were shown, on a phone three, and nothing was said of the others."""
    for made, section in ((rejected, "producers"), (watched, "watched")):
        page = html.render(reported([made(f"app-{n}") for n in range(count)]))
        for kind, left in (("wide", wide), ("narrow", narrow)):
            link = f'<p class="more {kind}"><a href="#{section}">And {left} more</a></p>'
            assert (link in page) is (left is not None)


def test_who_is_repaired_is_named_on_the_page_for_its_team_and_in_its_text():
    """77,293 records of one client were rewritten, and its name was in no file of eight."""
    rows = [repaired("t00-sensor", 77_293, bad_records=70_000), row("t00-good"), repaired("t01-app", 10)]
    report = reported(rows, TEAMS, top=1)
    shown = Page(html.render(report)).words
    for part in ("77,303 records of 2 producers", "t00-sensor", "sensors", "in microseconds", "70,000"):
        assert part in shown
    assert "Repaired: 77,293 records of 1 producer" in of_team(report, "T00")
    assert "t01-app" not in of_team(report, "T00")
    sensor = latest(report, "T00")
    assert sensor["subject"] == "tsproxy, 2026-11-20: 77,293 records repaired"
    assert "tsproxy rewrote the timestamps of 70,000 records of yours." in sensor["text"]
    assert "* 70,000 by the rule sensors: timestamps are in microseconds: divide by 1,000." in sensor["text"]
    assert "To the owner of t01-app:" in latest(report, "T01")["text"]
    [listed] = reported(rows, top=1)["repaired"]
    assert listed["client_id"] == "t00-sensor"
    assert "And 10 more records, not listed." in Page(html.render(reported(rows, top=1))).words
