"""Each kind of part has a form on a page."""

import pytest

from spark_reports.render import drawings, html, parts
from spark_reports.render.parts import Line, Page, inline, lines, more, paragraph, section, table, text

HEADS = ("Name", "#Records")
LINE = Line((text("a", "client"), 1_000), [paragraph("Told.")], "place")
ROW = '<tr role="row"><td role="cell" data-label="Name"><div>a&lt;</div></td>'
ROW += '<td role="cell" class="num" data-label="Records"><div>1,000</div></td></tr>'
LINES = '<span class="num"><span class="label">Records: </span>1,000</span></span></summary>'
LINES += '<div class="opened" id="place"><p>Told.</p></div></details></div>'
KINDS = {
    "text": (paragraph("a<b | c"), "<p>a&lt;b | c</p>"),
    "looks": (
        paragraph(text("a.b_c", "name"), "soft"),
        '<p class="soft"><span class="name">a.<wbr>b_<wbr>c</',
    ),
    "link": (paragraph(text("a", link="b.html")), '<p><a href="b.html">a</a></p>'),
    "number": (paragraph((1_000, parts.below("of 2"))), '<p>1,000<div class="soft">of 2</div></p>'),
    "element": (paragraph(text("a", "b")), "<p><b>a</b></p>"),
    "meter": (inline(("a", drawings.meter(1, 4))), '<span style="width:25.0%"></span>'),
    "no bars": (drawings.spark([0] * 3, "none"), 'd="M0 26.5h12" class="base"/></svg>'),
    "copied": (parts.copied("a\nb"), "<pre>a\nb</pre>"),
    "bullets": (parts.bullets(["a", "b"], "x"), '<ul class="x"><li>a</li><li>b</li></ul>'),
    "facts": (parts.facts([("a", "1")]), '<dl class="facts"><div><dt>a</dt><dd>1</dd></div></dl>'),
    "links": (
        parts.links("Others", [text("a", link="b")]),
        '<nav aria-label="Others"><a href="b">a</a></nav>',
    ),
    "table": (table("x", HEADS, [("a<", 1_000)]), ROW),
    "lines": (lines("x", HEADS, [LINE]), LINES),
    "proof": (parts.proof("partly", "Half", [paragraph("a")]), "!</span>Half</summary><p>a</p></details>"),
    "complete": (parts.proof("complete", "All", [paragraph("a")]), "✓</span>All</summary>"),
    "balance": (
        drawings.balance(4, [(4, "kept", "x")], "a"),
        'class="x"></i><b>4</b> kept <span class="soft">100%</span>',
    ),
    "group": (parts.group("A", [paragraph("b")], "x"), '<div class="x"><h3>A</h3><p>b</p></div>'),
    "section": (
        section("s", "A", [paragraph("b")]),
        '<section aria-labelledby="s"><h2 id="s">A</h2><p>b</p></section>',
    ),
    "closed": (
        section("s", "A", [paragraph("b")], is_closed=True),
        '<details class="part"><summary><h2 id="s">A</h2></summary><p>b</p></details>',
    ),
    "unseen title": (
        section("s", "A", [paragraph("b")], has_head=False),
        '<section aria-label="A"><p>b</p></section>',
    ),
    "rest": (more(3), '<p class="more">And 3 more in report.json.</p>'),
}
EMPTY = {
    "bullets": parts.bullets([]),
    "table": table("x", HEADS, []),
    "lines": lines("x", HEADS, []),
    "section": section("s", "A", [None, table("x", HEADS, [])]),
    "rest": more(0),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_part_has_a_form_on_the_page(kind):
    part, shown = KINDS[kind]
    assert shown in html.write(Page("title", " kicker", "Headline", [], [part]))


@pytest.mark.parametrize("kind", EMPTY)
def test_a_part_without_content_is_left_out(kind):
    assert EMPTY[kind] is None
