"""owners.toml: strict reading, the first match, and counts that add up."""

import re
from pathlib import Path

import pytest

from spark_reports.commands.publishing import Publication
from spark_reports.errors import UsageError
from spark_reports.render import html, sheet
from spark_reports.report import files, links, owners, words
from tests.spark_reports import reports, rolled
from tests.spark_reports.pure.test_html import Page


def found(text):
    return owners.parse(text, "owners.toml")


def team_of(client_id, principal=None, text=reports.OWNERS):
    return found(text).team_of({"client_id": client_id, "principal": principal})


@pytest.mark.parametrize(
    ("client", "team"),
    [
        (("checkout",), "Payments"),
        (("billing-nightly", "User:iot"), "Payments"),  # the first entry that fits
        (("gateway", "User:iot-7"), "Devices"),
        ((None, "User:iot-7"), None),  # as in the policy: nothing fits a client without an id
        (("gateway", None), None),
        (("gateway", "User:other"), None),
        (("orders-replay",), "Orders"),
        (("Orders-replay",), None),
        ((words.FOLDED, "User:iot"), None),
    ],
)
def test_the_first_entry_of_which_all_lists_fit_has_the_client(client, team):
    assert team_of(*client) == team


BY_TOPIC = """
[[owners]]
team = "Payments"
client_ids = ["billing-*"]
topics = ["invoices"]

[[owners]]
team = "Orders"
topics = ["orders", "orders.*"]
"""


@pytest.mark.parametrize(
    ("made", "team"),
    [
        (rolled.rejected("any", topic="orders"), "Orders"),
        (rolled.watched("any", topic="orders.eu"), "Orders"),
        (rolled.repaired("any", topic="orders"), "Orders"),
        (rolled.rejected("any", topic="invoices"), None),
        (rolled.rejected("billing-1", topic="invoices"), "Payments"),
        (rolled.rejected("any", topic=words.FOLDED), None),
    ],
)
def test_a_team_may_own_topics(made, team):
    """Who keeps a topic knows its producers, and not the names of their clients."""
    accepted = rolled.row("any", topic="orders", records=7)
    report = rolled.reported([made, accepted], BY_TOPIC)
    rows = [*report["producers"], *report["would_reject"], *report["repaired"]]
    assert [each["team"] for each in rows] == [team]
    [own] = [each for each in report["owners"]["teams"] if each["team"] == team]
    assert own["rejected_records"] + own["would_reject_records"] + own["repaired_records"] == made["records"]


def test_one_of_many_topics_is_enough():
    """Also one that the producer's row does not name."""
    rows = [rolled.rejected("any", 100 + n, topic=f"t{n}") for n in range(9)]
    report = rolled.reported([*rows, rolled.rejected("any", 10, topic="orders")], BY_TOPIC)
    [producer] = report["producers"]
    assert (producer["team"], producer["topics_count"], len(producer["topics"])) == ("Orders", 10, 5)


A = '[[owners]]\nteam = "A"\nclient_ids = ["a"]\n'
B = A + '[[owners]]\nteam = "B"\n'
APPLICATION, KNOWN = '[[applications]]\nclient_ids = ["a"]\n', '[[known]]\nprincipals = ["a"]\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "owners.toml: must have at least one table [[owners]]"),
        ("owners = []", "owners.toml: must have at least one table [[owners]]"),
        ("owners = 1", "owners.toml: must have at least one table [[owners]]"),
        ("owners = [1]", "owners.toml: owners[0]: must be a table [[owners]] with team, channel"),
        (B, "owners.toml: owners[1]: must have client_ids or principals or topics"),
        ('[[owners]]\nclient_ids = ["b"]', "owners.toml: owners[0].team: is missing: the name of the team"),
        ('[[owners]]\nteam = ""\nclient_ids = ["b"]', "owners[0].team: '' is not allowed"),
        ('[[owners]]\nteam = 7\nclient_ids = ["b"]', "owners[0].team: must be a text in quotes"),
        (
            '[[owners]]\nteam = "B\\u202e"\nclient_ids = ["b"]',
            "owners[0].team: 'B\\u202e' is not allowed; must be a pr",
        ),
        (B + "client_ids = []", "owners[1].client_ids: must have at least one glob, such as"),
        (B + "client_ids = [1]", "owners[1].client_ids: must be globs in quotes"),
        (B + 'client_id = ["b"]', "owners[1].client_id: unknown key; allowed here: team, channel"),
        ("mine = 1\n" + A, "owners.toml: mine: unknown key; allowed here: help, owners"),
        (A + 'channel = "http://x"', "owners[0].channel: 'http://x' is not allowed; must be a mail"),
        (
            A + 'channel = "javascript:alert(1)"',
            "'javascript:alert(1)' is not allowed; must be a mail address",
        ),
        (A + 'team = "B"', "owners.toml: not TOML: Cannot overwrite a value (at "),
        ("owners:\n  - team: A", "owners.toml: not TOML: "),
        ("a = " + "[" * 9_999, "owners.toml: not TOML: "),
        (
            A + 'channel = "#a"\n[[owners]]\nteam = "A"\nchannel = "#b"\nclient_ids = ["b"]',
            "owners[1].channel: '#b' is not the channel that 'A' has in owners[0]; give a team one",
        ),
        ("applications = []", "must have at least one table [[applications]]"),
        (APPLICATION, "applications[0].name: is missing: the name of the application"),
        ('[[applications]]\nname = "a"', "applications[0]: must have client_ids"),
        (APPLICATION + 'name = "(other)"', "applications[0].name: '(other)' is not allowed; must not begin"),
        (
            APPLICATION + 'principals = ["a"]',
            "applications[0].principals: unknown key; allowed here: name, cl",
        ),
        (KNOWN, "known[0].until: must be a date such as 2026-12-24, without quotes"),
        (KNOWN + 'until = "2026-12-24"', "known[0].until: must be a date"),
        (KNOWN + "until = 2026-12-24T00:00:00", "known[0].until: must be a date"),
        (
            KNOWN + 'cause = "x"',
            "known[0].cause: 'x' is not allowed; must be one of units, behind, ahead, others",
        ),
        ("[[known]]\nuntil = 2026-12-24", "known[0]: must have client_ids or principals"),
    ],
)
def test_a_mistake_names_its_place_its_value_and_what_is_allowed(text, says):
    with pytest.raises(owners.OwnersError) as raised:
        found(text)
    assert says in str(raised.value)


SDK = '[[applications]]\nname = "mobile-sdk"\nclient_ids = ["sdk-*"]\n'


@pytest.mark.parametrize(
    ("known", "is_known"),
    [
        ('until = 2026-11-20\nclient_ids = ["sdk-*"]', True),
        ('until = 2026-11-19\nclient_ids = ["sdk-*"]', False),
        ('until = 2026-11-20\nclient_ids = ["sdk-*"]\ncause = "behind"', False),
        ('until = 2026-11-20\nclient_ids = ["sdk-*"]\ncause = "units"', True),
        ('until = 2026-11-20\nclient_ids = ["sdk-[1-4]"]', False),  # each of its clients must fit
        ('until = 2026-11-20\nclient_ids = ["sdk-[2-5]"]', False),
    ],
)
def test_a_known_mistake_stands_at_the_foot_of_the_page_alone_until_its_date(known, is_known):
    """Nothing could be said of it, so the first rows were the same for weeks."""
    rows = [rolled.rejected(f"sdk-{n}", n * 10, unit_guess="microseconds") for n in range(1, 6)]
    rows.append(rolled.rejected("other"))
    report = rolled.reported(rows, f'{SDK}[[known]]\nticket = "OPS-17"\n{known}\n')
    [own] = [each for each in report["producers"] if each["client_id"] == "mobile-sdk"]
    assert own["known"] == ({"until": "2026-11-20", "ticket": "OPS-17"} if is_known else None)
    page = html.render(report)
    first, foot = page[: page.index('id="producers"')], page[page.index('id="log"') :]
    assert ("mobile-sdk" in Page(first).words, "OPS-17" in Page(foot).words) == (not is_known, is_known)
    assert report["totals"] == rolled.reported(rows, SDK)["totals"]


def test_all_mistakes_are_named_at_once():
    with pytest.raises(owners.OwnersError) as raised:
        found('[[owners]]\nteam = "A"\n[[owners]]\nclient_ids = ["b"]\nchanel = "x"\n')
    assert [line.split(": ")[1] for line in str(raised.value).split("\n")] == [
        *("owners[0]", "owners[1].chanel", "owners[1].team")
    ]


def owned(report=None, text=reports.OWNERS, clients=None):
    return reports.owned(report or reports.fixed(), found(text), clients)


def test_every_rejected_record_has_an_owner_or_is_counted_as_nobodys():
    report = owned()
    rows = [(row["team"], row["producers"], row["rejected_records"]) for row in report["owners"]["teams"]]
    assert rows == [
        ("Devices", 1, 475_316),
        ("Payments", 1, 228_708),
        ("Clicks", 1, 133_295),
        ("Orders", 2, 87_213 + 12_895),
        (None, 1, 4_346),
    ]
    totals = report["totals"]
    assert sum(row[2] for row in rows) == totals["records_rejected"] + totals["records_broker_rejected"]
    assert report["owners"]["producers_left_out"] == report["owners"]["rejected_records_left_out"] == 0
    assert [each["team"] for each in report["producers"]][:2] == ["Devices", "Payments"]
    assert {row["team"] for row in report["would_reject"]} == {None}


def test_producers_whose_owner_nobody_looked_for_are_nobodys_neither():
    report = owned(clients=reports.fixed()["producers"][:2])
    assert report["owners"]["producers_left_out"] == 4
    assert report["owners"]["rejected_records_left_out"] == 133_295 + 87_213 + 12_895 + 4_346
    sentence = "And 4 more producers with 237,749 rejected records: owners are looked up for the worst ones."
    assert sentence in Page(html.render(report)).words


def test_without_owners_nothing_is_said_of_them():
    for word in ("By owner", "no owner", "Payments"):
        assert word not in html.render(reports.fixed())


def test_mail_and_https_are_links_and_nothing_else_is():
    page = Page(html.render(owned()))
    outside = [link for link in page.links if not link.startswith("#")]
    assert outside == ["https://chat.example.com/devices", "mailto:payments@example.com"]
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)


@pytest.mark.parametrize(
    "channel",
    [
        *reports.HOSTILE,
        "JAVASCRIPT:alert(1)",
        "java\nscript:alert(1)",
        "data:text/html,<script>",
        "http://example.com",
        "//example.com",
        "https:example.com",
        "https://",
        "https://a b",
        "https://a\u202eb",
        'https://a"onclick=x',
        "mailto:a@b?bcc=c@d",
        "a@b\r\nBcc: c@d",
        "a@b,c@d",
    ],
)
def test_no_other_channel_becomes_a_link(channel):
    """test_hostile.py has the page of a report from somewhere."""
    assert links.channel_link(channel) is None


def test_the_sheet_names_the_team():
    assert sheet.render(owned()).splitlines()[0].endswith(",topics,team,outcome,rule,waiver")
    assert sheet.render(owned()).splitlines()[1].endswith(",Devices,rejected,,")


def test_the_example_of_the_documents_can_be_read():
    document = (Path(__file__).parents[3] / "docs" / "guide" / "reports.md").read_text()
    example = "".join(re.findall(r"```toml\n(.*?)```", document, re.DOTALL))
    entries = found(example).entries
    assert [entry.team for entry in entries] == ["Payments", "Devices", "Orders", "Search"]
    assert all(entry.channel for entry in entries)


def test_a_file_of_owners_that_is_not_utf_8_is_named_on_another_file_system_too(monkeypatch):
    monkeypatch.setattr(files, "read_far", lambda *_: "für".encode("latin-1").decode())
    with pytest.raises(UsageError, match=r"^s3a://lake/owners\.toml is not UTF-8: .* position 1"):
        Publication("out", (), owners="s3a://lake/owners.toml").loaded(None)
