"""One page, two writers: none wipes what the other wrote."""

from benchmarks.page import with_proxy, with_reports, wrapped


def test_each_part_is_replaced_and_the_other_stays():
    page = with_reports(with_proxy("", "# Proxy\n\nold\n"), "# Reports\n\nold\n")
    page = with_proxy(page, "# Proxy\n\nnew\n")
    assert "# Proxy\n\nnew\n" in page
    assert "# Reports\n\nold\n" in page
    page = with_reports(page, "# Reports\n\nnew\n")
    assert "# Proxy\n\nnew\n" in page
    assert "# Reports\n\nnew\n" in page
    assert "old" not in page


def test_writing_the_same_again_changes_nothing():
    page = with_reports(with_proxy("", "# Proxy\n"), "# Reports\n")
    assert with_proxy(page, "# Proxy\n") == page
    assert with_reports(page, "# Reports\n") == page


def test_the_reports_may_be_written_first():
    page = with_proxy(with_reports("", "# Reports\n"), "# Proxy\n")
    assert page.index("# Proxy") < page.index("# Reports")


def test_a_list_item_is_wrapped_and_its_code_is_not():
    text = " ".join(["twenty-two"] * 9 + ["`some code that is not broken`", "end"])
    assert wrapped(text, begin="- ") == (
        "- " + " ".join(["twenty-two"] * 9) + "\n  `some code that is not broken` end"
    )
