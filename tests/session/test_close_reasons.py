"""docs/transparency.md has a row for each reason to close a connection. `python -m
tests.session.test_close_reasons` writes the rows."""

from pathlib import Path

from tsproxy.session.effects import CloseReason

PAGE = Path(__file__).parents[2] / "docs" / "transparency.md"
BEGIN, END = "<!-- reasons to close -->\n", "<!-- end of reasons to close -->\n"


def table():
    rows = [f"| `{each}` | {each.cause} | {each.lost} | {each.no_answer} |" for each in CloseReason]
    head = ["| reason | what happened | without an answer | why no answer |", "| --- | --- | --- | --- |"]
    return "".join(f"{line}\n" for line in ["", *head, *rows, ""])


def with_table(page):
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert begin
    assert end
    return f"{before}{begin}{table()}{end}{after}"


def test_each_reason_is_in_the_documents_with_its_own_words():
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_table(page)


def test_each_reason_says_who_loses_what_and_why():
    for reason in CloseReason:
        assert reason.cause.endswith(".")
        assert reason.lost
        assert reason.no_answer.endswith(".")
    assert str(CloseReason.BAD_FRAME) == "bad_frame"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
