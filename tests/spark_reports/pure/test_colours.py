"""A colour of the page means one thing, on each day, and to each eye."""

import re
from importlib import resources
from itertools import combinations

import pytest

from spark_reports.render import html
from spark_reports.report import reasons
from spark_reports.report.causes import KINDS, kind_of
from tests.spark_reports import reports
from tests.spark_reports.rolled import rejected, reported

CAUSES = tuple(KINDS)
OUTCOMES = ("passed", "fixed", "open", "refused", "ours")
EYES = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": ((0.1523, 1.0526, -0.2049), (0.1145, 0.7863, 0.0992), (-0.0039, -0.0481, 1.0520)),
    "deutan": ((0.3673, 0.8606, -0.2280), (0.2801, 0.6725, 0.0474), (-0.0118, 0.0429, 0.9689)),
    "tritan": ((1.2555, -0.0767, -0.1788), (-0.0784, 0.9308, 0.1476), (0.0047, 0.6914, 0.3039)),
}
"""The linear red, green and blue that each kind of eye sees (Machado, Oliveira and Fernandes 2009)."""


def palettes():
    """The colours by name: by day, in the dark, on paper."""
    css = resources.files("spark_reports.render").joinpath("report.css").read_text()
    roots = re.findall(r":root {(.*?)}", css, re.DOTALL)
    return [dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", root)) for root in roots]


def lab(colour, eye):
    """A colour as an eye sees it, in CIE L*a*b*."""
    parts = [part / 255 for part in bytes.fromhex(colour[1:])]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    red, green, blue = (
        min(1, max(0, sum(weight * part for weight, part in zip(row, linear, strict=True)))) for row in eye
    )
    white = (
        (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505,
        0.2126 * red + 0.7152 * green + 0.0722 * blue,
        (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.0888,
    )
    x, y, z = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in white)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("palette", palettes(), ids=["day", "dark", "paper"])
def test_causes_and_outcomes_have_colours_that_each_eye_tells_apart(palette, eye):
    """Two causes were 1.2 apart in the dark for the red-green blind: one colour in bars and legend."""
    for one, other in combinations((*CAUSES, *OUTCOMES), 2):
        seen = [lab(palette[name], EYES[eye]) for name in (one, other)]
        apart = sum((a - b) ** 2 for a, b in zip(*seen, strict=True)) ** 0.5
        assert apart > 14, (one, other)


@pytest.mark.parametrize("palette", palettes(), ids=["day", "dark", "paper"])
def test_causes_differ_in_lightness(palette):
    light = [lab(palette[name], EYES["usual"])[0] for name in CAUSES]
    assert light in (sorted(light), sorted(light, reverse=True))
    assert min(abs(a - b) for a, b in combinations(light, 2)) > 14


def test_a_cause_has_the_same_colour_on_a_day_on_which_it_is_the_first_and_on_which_it_is_the_last():
    """Colours went by rank: "too far in the future" was orange on one day, and purple on the next."""
    for few, many in ((10, 1_000), (1_000, 10)):
        rows = [rejected("a", few), rejected("b", many, reason="too_old")]
        rows += [rejected("c", 500, unit_guess="seconds"), rejected("d", 7, reason="other", error_code=10)]
        page = html.render(reported(rows))
        legend = re.findall(r'<i class="(units|behind|ahead|others)"></i>(.*?)</span>', page)
        assert dict(legend) == dict(KINDS)
        assert re.findall(r'z" class="(units|behind|ahead|others)"', page) == list(KINDS)


def test_every_rejected_record_is_of_one_kind():
    assert kind_of("negative", None) == "behind"
    assert kind_of(None, None) == kind_of("a reason of a newer proxy", None) == "others"
    rows = [
        {"hour": "h", "reason": "too_old", "unit_guess": unit, "rejected_records": 5}
        for unit in (None, "zero")
    ]
    assert [row["rejected_records"] for row in reasons.by_hour(rows, ["h"])] == [[10]]
    assert {row["kind"] for row in reports.fixed()["cause_hours"]} <= set(KINDS)
