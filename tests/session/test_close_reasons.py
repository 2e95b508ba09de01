"""docs/evidence/transparency.md has a row for each reason to close a connection (`table`)."""

from tsproxy.session.effects import CloseReason


def table():
    rows = [f"| `{each}` | {each.cause} | {each.lost} | {each.no_answer} |" for each in CloseReason]
    head = ["| reason | what happened | without an answer | why no answer |", "| --- | --- | --- | --- |"]
    return "\n".join([*head, *rows])


def test_each_reason_says_who_loses_what_and_why():
    for reason in CloseReason:
        assert reason.cause.endswith(".")
        assert reason.lost
        assert reason.no_answer.endswith(".")
    assert str(CloseReason.BAD_FRAME) == "bad_frame"
