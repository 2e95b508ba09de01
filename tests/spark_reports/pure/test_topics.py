"""A topic's worst producers, and limits around its own, on the page."""

import re

from spark_reports.render import html
from tests.spark_reports import reports


def shown(report):
    return " ".join(re.sub("<.*?>", "", html.render(report)).replace("\\", "").split())


def test_a_topic_names_its_worst_producers():
    assert "Rejected most: orders-replay 87,213, kiosk-clock 12,895, attachments 4,346." in shown(
        reports.fixed()
    )


def test_a_topic_shows_its_own_limits_and_others():
    text = shown(reports.fixed())
    assert "Oldest allowed, and the records that each limit would reject: 1 s 111,272" in text
    assert "; 7 d (its own) 87,213" in text
    assert "Newest allowed, and the records that each limit would reject: 1 h (its own) 12,895" in text
    assert "Oldest allowed (now unlimited), and the records that each limit would reject: 1 s 90,696" in text
