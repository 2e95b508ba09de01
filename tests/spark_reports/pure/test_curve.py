"""The what-if curve stays inside its drawing, falls, and is described in words."""

import re
from itertools import pairwise

import pytest

from spark_reports.render import curve, html
from spark_reports.report.what_if import KAFKA_4_AFTER_MS
from tests.spark_reports import reports

FRAMES = [(curve.WIDE, True), (curve.NARROW, False)]


def fixed():
    return reports.fixed()["what_if"]


def extreme():
    found = fixed()
    for rows in (found["ahead"], found["behind"]):
        for row in rows:
            row["records"] = 2**62
    return found | {"records": 2**62}


@pytest.mark.parametrize("found", [fixed(), extreme()])
@pytest.mark.parametrize(("frame", "has_points"), FRAMES)
def test_lines_and_points_stay_inside_their_drawing(found, frame, has_points):
    drawing = curve.drawing(found, frame, has_points=has_points)
    paths = re.findall(r'<path d="M(.*?)"', drawing)
    assert len(paths) == 2
    spots = [spot.split() for path in paths for spot in path.split("L")]
    spots += re.findall(r'cx="(.*?)" cy="(.*?)"', drawing)
    for x, y in spots:
        assert frame.left <= float(x) <= frame.width - frame.right
        assert frame.top <= float(y) <= frame.height - frame.bottom


def test_a_larger_limit_never_rejects_more():
    drawing = curve.drawing(fixed(), curve.WIDE, has_points=False)
    for path in re.findall(r'<path d="M(.*?)"', drawing):
        heights = [float(spot.split()[1]) for spot in path.split("L")]
        assert heights == sorted(heights)  # pixels count from the top


@pytest.mark.parametrize(("frame", "has_points"), FRAMES)
def test_kafka_4s_default_is_marked_with_its_rejections(frame, has_points):
    found = fixed()
    [row] = [row for row in found["ahead"] if row["limit_ms"] == KAFKA_4_AFTER_MS]
    row["records"] = 4_321
    drawing = curve.drawing(found, frame, has_points=has_points)
    assert "Kafka 4&#x27;s default: 1 h ahead, 4.32k records" in drawing
    assert "Kafka 4's default: 1 h ahead, 4,321." in curve.described(found)


def test_names_along_the_foot_do_not_touch():
    for frame in (curve.WIDE, curve.NARROW):
        drawing = curve.drawing(fixed(), frame, has_points=False)
        places = sorted(float(x) for x in re.findall(rf'<text x="([\d.]+)" y="{frame.height - 8}"', drawing))
        assert len(places) >= 4
        assert all(b - a >= frame.tick_gap for a, b in pairwise(places))


def test_records_beyond_every_limit_are_named_beside_the_curve():
    report = reports.fixed()
    report["what_if"]["ahead"][-1]["records"] = 907
    report["what_if"]["behind"][-1]["records"] = 0
    assert "No limit helps with 907 records over 10.0 y ahead: look at the unit" in html.render(report)
    report["what_if"]["ahead"][-1]["records"] = 0
    assert "No limit helps" not in html.render(report)
