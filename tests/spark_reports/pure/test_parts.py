"""Each kind of part has a form in HTML and one in Markdown. All other tests may therefore read the page."""

import re
from html import unescape

import pytest

from spark_reports.render import html, markdown
from spark_reports.render.parts import (
    Balance,
    Below,
    Bullets,
    Copied,
    Days,
    Facts,
    Group,
    Hours,
    Line,
    Lines,
    Links,
    Meter,
    Page,
    Paragraph,
    Proof,
    Section,
    Spark,
    Table,
    Text,
    more,
)
from tests.spark_reports import reports

HEADS = ("Name", "#Records")
LINE = Line((Text("a", "client"), 1_000), [Paragraph("Told.")], "place")
ROW = '<tr role="row"><td role="cell" data-label="Name"><div>a&lt;</div></td>'
ROW += '<td role="cell" class="num" data-label="Records"><div>1,000</div></td></tr>'
LINES = '<span class="num"><span class="label">Records: </span>1,000</span></span></summary>'
LINES += '<div class="opened" id="place"><p>Told.</p></div></details></div>'
TABLE = "| name | records |\n| --- | --- |\n| {} | 1,000 |"
KINDS = {
    "text": (Paragraph("a<b | c"), "<p>a&lt;b | c</p>", "a&lt;b &#124; c"),
    "looks": (
        Paragraph(Text("a.b_c", "name"), "soft"),
        '<p class="soft"><span class="name">a.<wbr>b_<wbr>c</',
        "a.b\\_c",
    ),
    "link": (Paragraph(Text("a", link="b.html")), '<p><a href="b.html">a</a></p>', "a"),
    "number": (Paragraph((1_000, Below("of 2"))), '<p>1,000<div class="soft">of 2</div></p>', "1,000 (of 2)"),
    "other words": (Paragraph(Text("a", "b", in_markdown="more")), "<p><b>a</b></p>", "more"),
    "meter": (Paragraph(("a", Meter(1, 4))), '<span style="width:25.0%"></span>', "a"),
    "no bars": (Paragraph(Spark([0] * 3, "none")), 'd="M0 26.5h12" class="base"/></svg>', "none"),
    "bars": (
        Paragraph(Spark([0, 1, 2], "a few")),
        'd="M4 26v-13h3v13zM8 26v-26h3v26z" class="rejected"',
        "a few",
    ),
    "one scale": (Paragraph(Spark([1], "one", most=2)), 'd="M0 26v-13h3v13z" class="rejected"', "one"),
    "hint": (Paragraph("Click.", is_of_page=True), "<p>Click.</p>", ""),
    "copied": (Copied("a\nb"), "<pre>a\nb</pre>", ""),
    "bullets": (Bullets(["a", "b"], "x"), '<ul class="x"><li>a</li><li>b</li></ul>', "* a\n* b"),
    "facts": (Facts([("a", "1")]), '<dl class="facts"><div><dt>a</dt><dd>1</dd></div></dl>', "* a: 1"),
    "links": (Links("Others", [Text("a", link="b")]), '<nav aria-label="Others"><a href="b">a</a></nav>', ""),
    "table": (Table("x", HEADS, [("a<", 1_000)]), ROW, TABLE.format("a&lt;")),
    "lines": (Lines("x", HEADS, [LINE]), LINES, TABLE.format("a")),
    "told": (Lines("x", HEADS, [LINE], tells_details=True), LINES, f"{TABLE.format('a')}\n\n* a: Told."),
    "folded": (
        Lines("x", HEADS, [LINE], folded=(0, "1 more")),
        "<summary>1 more</summary>",
        TABLE.format("a"),
    ),
    "proof": (Proof("partly", "Half", [Paragraph("a")]), "!</span>Half</summary><p>a</p></details>", "a"),
    "complete": (Proof("complete", "All", [Paragraph("a")]), "✓</span>All</summary>", "a"),
    "balance": (
        Balance(4, [(4, "kept", "x")], "a"),
        'class="x"></i><b>4</b> kept <span class="soft">100%</span>',
        "|  | records | share |\n| --- | --- | --- |\n| records checked | 4 |  |\n| kept | 4 | 100% |\n\na",
    ),
    "hours": (Hours("Most", [("x", "a", [0, 2])], ("00", "24")), 'd="M11 100v-100h8v100z" class="x"', ""),
    "days": (
        Days("Days", [("2026-11-20", "5%", 0.5, None)]),
        '<b>5%</b><span class="rise"><i style="height:50%">',
        "",
    ),
    "group": (Group("A", [Paragraph("b")], "x"), '<div class="x"><h3>A</h3><p>b</p></div>', "### A\n\nb"),
    "section": (
        Section("s", "A", [Paragraph("b")]),
        '<section aria-labelledby="s"><h2 id="s">A</h2><p>b</p></section>',
        "## A\n\nb",
    ),
    "closed": (
        Section("s", "A", [Paragraph("b")], is_closed=True),
        '<details class="part"><summary><h2 id="s">A</h2></summary><p>b</p></details>',
        "## A\n\nb",
    ),
    "unseen title": (
        Section("s", "A", [Paragraph("b")], has_head=False),
        '<section aria-label="A"><p>b</p></section>',
        "## A\n\nb",
    ),
    "rest": (more(3), '<p class="more">And 3 more in report.json.</p>', "And 3 more in report.json."),
}
EMPTY = {
    "bullets": Bullets([]),
    "table": Table("x", HEADS, []),
    "lines": Lines("x", HEADS, []),
    "section": Section("s", "A", [None, Table("x", HEADS, [])]),
    "rest": more(0),
}


def written(part):
    """The part in HTML and in Markdown."""
    page = Page("title", " kicker", "Headline", [], [part])
    text = html.write(page)
    return text[text.index("<main>") + 6 : text.index("</main>")], markdown.write(page).partition("**\n")[2]


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_part_has_a_form_on_the_page_and_one_in_markdown(kind):
    part, in_html, in_markdown = KINDS[kind]
    page, text = written(part)
    assert in_html in page
    assert text.strip() == in_markdown


@pytest.mark.parametrize("kind", EMPTY)
def test_a_part_without_content_is_left_out(kind):
    assert written(EMPTY[kind]) == ("", "")


def test_markdown_has_the_headline_and_every_section_of_the_page_and_no_link():
    report = reports.complete()
    text, page = markdown.render(report), html.render(report)
    assert text.startswith("# tsproxy daily report · Friday, 20 November 2026 · UTC\n")
    assert f"**{report['headline']}**" in text
    titles = re.findall(r'<h2 id="(?!day"|week")[a-z]+">(.*?)</h2>', unescape(page))
    assert re.findall("^## (.*)$", text, re.MULTILINE) == ["Whom to talk to", *titles]
    assert len(titles) == 11
    assert "](" not in text
