"""D5: an application whose clients have new ids at each start is one row, with a history."""

import pytest

from spark_reports.render import html
from spark_reports.report import trend, words
from spark_reports.report.applications import RULES, folded, name_of
from tests.spark_reports.day import FRIDAY
from tests.spark_reports.pure.test_html import Page
from tests.spark_reports.pure.test_owners import found
from tests.spark_reports.rolled import known, rejected, reported, watched

ORDERS = """
[[applications]]
name = "Orders"
client_ids = ["orders-*", "Order?"]

[[applications]]
name = "shop-*"
client_ids = ["store-*"]
"""


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.source)
def test_each_rule_finds_what_its_program_makes_up(rule):
    client_id, name = rule.example
    assert folded(client_id) == name
    assert rule.made_up.search(client_id), "another rule did it"


@pytest.mark.parametrize(
    ("client_id", "name"),
    [
        ("orders-6d4cf56db6-x2x4z-StreamThread-1-producer", "orders-*"),
        ("orders-6d4cf56db6-x2x4z-1", "orders-*-1"),  # the first client of each pod
        ("orders-StreamThread-1-0_12-producer", "orders-*"),
        ("connector-dlq-producer-sink-0", "connector-dlq-producer-sink-*"),
        ("0a6c0f0e-5f0b-4c8e-9b8e-1f6f0c2d3e4f", "*"),
    ],
)
def test_rules_work_together(client_id, name):
    assert folded(client_id) == name


@pytest.mark.parametrize(
    "client_id",
    [
        *("orders", "orders-0", "svc-2", "commits-java", "payments-v2", "producer-1", "rdkafka"),
        *("gateway-https", "gateway-mqtt5", "sensor-22589", "line-123456789-24567", "etl-20261120"),
        *("a-deadbeefcafe", "meter-123456789012", "", "a" * 300 + "-7kq9v"),
    ],
)
def test_names_that_somebody_chose_stay(client_id):
    """Two applications as one would be worse than one as two."""
    assert folded(client_id) == client_id


@pytest.mark.parametrize(
    ("client_id", "name"),
    [
        ("orders-7kq9v", "Orders"),
        ("Order1", "Orders"),
        ("billing-7kq9v", "billing-*"),
        (None, None),
        (words.FOLDED, words.FOLDED),
        ("\\(other)", "\\(other)"),
        ("\\Orders", "\\\\Orders"),  # `\Orders` is a client that is called `Orders`, and fits no entry
        ("store-1", "shop-*"),
        ("shop-7kq9v", "\\shop-*"),
        ("billing-*", "\\billing-*"),
    ],
)
def test_an_entry_of_the_file_comes_before_the_rules(client_id, name):
    assert name_of(client_id, found(ORDERS).applications) == name


def test_new_instances_of_an_application_are_not_new_every_day():
    """Sixty instances with the same mistake each day were sixty new producers on the fourth."""
    rows = [
        (f"2026-11-{day}", f"orders-app-{pod}", 100, 50)
        for day, pods in ((19, ("7kq9v", "2xk4b")), (20, ("9fd7c", "4b5xz")))
        for pod in pods
    ]
    assert [row["kind"] for row in trend.changes(known(rows), FRIDAY, is_whole=True)] == ["new", "new"]
    days = trend.of_applications(known([*rows, ("2026-11-20", "orders-app-*", 1, 0)]), name_of)
    assert trend.changes(days, FRIDAY, is_whole=True) == []
    sums = [(row["records"], row["producers_affected"]) for row in days.table(trend.DAYS)]
    assert sums == [(200, 1), (201, 1)]


def day(**file):
    """Sixty instances of an application with the same mistake, beside three producers with fewer records."""
    pods = [rejected(f"orders-app-7kq{a}{b}", 1_000, unit_guess="microseconds") for a in POD for b in POD][
        :60
    ]
    others = [rejected(name, 10) for name in ("billing", "etl", "web")]
    return reported([*pods, watched("orders-app-2xk4b", 50), *others], **file)


POD = "bcdfghj9"


def test_a_client_that_is_called_as_an_application_keeps_its_records_and_its_team():
    owners = [("Cart", "cart-*"), ("Payments", "checkout")]
    file = "".join(f"[[owners]]\nteam = '{team}'\nclient_ids = '{ids}'\n" for team, ids in owners)
    file += "[[applications]]\nname = 'checkout'\nclient_ids = 'cart-*'\n"
    report = reported([rejected("cart-1", 10), rejected("checkout", 5_000)], file)
    rows = [(each["client_id"], each["team"], each["rejected_records"]) for each in report["producers"]]
    assert rows == [("\\checkout", "Payments", 5_000), ("checkout", "Cart", 10)]


def test_an_application_is_one_row_and_hides_nobody():
    """D5: its instances took all fifty rows, and three other producers were not in the report at all."""
    report = day(top=5)
    rows = {each["client_id"]: each for each in report["producers"]}
    assert [*rows] == ["orders-app-*", "billing", "etl", "web"]
    own = rows["orders-app-*"]
    assert (own["clients"], own["rejected_records"], len(own["instances"])) == (60, 60_000, 3)
    assert all(name.startswith("orders-app-7kq") for name in own["instances"])
    assert report["totals"]["producers_affected"] == 4
    assert [(row["client_id"], row["clients"]) for row in report["would_reject"]] == [("orders-app-*", 1)]
    page = html.render(report)
    assert Page(page[: page.index('id="producers"')]).words.count("orders-app-* (60 clients)") == 1
    assert "Its clients: orders-app-7kq9" in Page(page).words


@pytest.mark.parametrize(("entry", "name"), [("", "orders-app-*"), (ORDERS, "Orders")])
def test_an_application_belongs_to_the_team_of_its_clients(entry, name):
    """Globs fit client ids, not the name that a report or the file gives them."""
    report = day(
        file=f'{entry}[[owners]]\nteam = "A"\nclient_ids = ["orders-app-????9", "orders-app-?????"]\n'
    )
    teams = {each["client_id"]: each["team"] for each in report["producers"]}
    assert teams[name] == "A"
    assert {row["team"] for row in report["would_reject"]} == {"A"}
    [own] = [each for each in report["owners"]["teams"] if each["team"] == "A"]
    assert (own["producers"], own["rejected_records"], own["would_reject_records"]) == (1, 60_000, 50)
