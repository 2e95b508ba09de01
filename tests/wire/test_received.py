"""The buffer behind both directions: bytes leave as they came, whatever the pieces."""

from hypothesis import given
from hypothesis import strategies as st

from tsproxy.wire.received import Received


@given(pieces=st.lists(st.binary(max_size=9)), sizes=st.lists(st.integers(0, 12), min_size=1))
def test_what_is_taken_is_what_came_in_any_pieces(pieces, sizes):
    received, taken = Received(), b""
    for turn, piece in enumerate(pieces):
        received.feed(piece)
        size = sizes[turn % len(sizes)]
        assert received.peek(size) == b"".join(pieces)[len(taken) : sum(map(len, pieces[: turn + 1]))][:size]
        taken += received.take(size)
    assert taken + received.take(len(received)) == b"".join(pieces)
    assert len(received) == 0


def test_a_piece_that_is_taken_whole_is_never_copied():
    received, piece = Received(), b"one frame"
    received.feed(piece)
    assert received.take(len(piece)) is piece


def test_nothing_is_kept_of_what_was_taken():
    received = Received()
    received.feed(b"the begin")
    received.feed(b"ning")
    received.take(13)
    assert received.data == b""
