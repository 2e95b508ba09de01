"""A topic's worst producers, and limits around its own, on the page and in Markdown."""

import re

import pytest

from spark_reports.render import html, markdown
from tests.spark_reports import reports

RENDERERS = [html.render, markdown.render]


def shown(render, report):
    return " ".join(re.sub("<.*?>", "", render(report)).replace("\\", "").split())


@pytest.mark.parametrize("render", RENDERERS)
def test_a_topic_names_its_worst_producers(render):
    assert "Rejected most: orders-replay 87,213, kiosk-clock 12,895, attachments 4,346." in shown(
        render, reports.fixed()
    )


@pytest.mark.parametrize("render", RENDERERS)
def test_a_topic_shows_its_own_limits_and_others(render):
    text = shown(render, reports.fixed())
    assert "Oldest allowed, and the records that each limit would reject: 1 s 111,272" in text
    assert "; 7 d (its own) 87,213" in text
    assert "Newest allowed, and the records that each limit would reject: 1 h (its own) 12,895" in text
    assert "Oldest allowed (now unlimited), and the records that each limit would reject: 1 s 90,696" in text
