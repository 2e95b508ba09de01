"""Streams are cut into frames wherever the chunks fall, and no size is believed without its bytes."""

import struct
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsproxy.fastpath import InFlight
from tsproxy.wire.answers import AnswerStream
from tsproxy.wire.frames import FrameTooLargeError, RequestFrames, looks_like
from tsproxy.wire.headers import frame
from tsproxy.wire.primitives import DecodeError

MIB = 1024 * 1024

produce_requests = st.binary(max_size=40).map(lambda body: frame(bytes(10) + body))
tokens = st.binary(max_size=40).map(frame)


def chunks_of(data, cuts):
    edges = [0, *sorted({cut % (len(data) + 1) for cut in cuts}), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


@pytest.mark.parametrize(("frames", "is_raw"), [(produce_requests, False), (tokens, True)])
@given(data=st.data(), cuts=st.lists(st.integers(0)), unfinished=st.integers(0, 9))
def test_whole_frames_come_out_wherever_the_stream_is_cut(frames, is_raw, data, cuts, unfinished):
    """Bytes after the last complete frame stay until that frame is complete, too. Raw tokens may be of any
    size from nothing on."""
    stream, sent, taken = RequestFrames(produce_frame=MIB, other_frame=MIB), data.draw(st.lists(frames)), []
    tail = frame(bytes(10) + b"never whole")[:unfinished]
    for chunk in chunks_of(b"".join(sent) + tail, cuts):
        stream.feed(chunk)
        while (whole := stream.next_frame(is_raw)) is not None:
            taken.append(whole)
    assert taken == sent
    assert len(stream) == len(tail)


@pytest.mark.parametrize(
    ("other_frame", "limit"), [(MIB, "sasl.server.max.receive.size"), (1000, "limits.other_frame")]
)
def test_an_error_names_the_limit_that_a_token_exceeds(other_frame, limit):
    stream = RequestFrames(produce_frame=MIB, other_frame=other_frame)
    stream.feed(struct.pack(">i", 524_289))
    with pytest.raises(FrameTooLargeError, match=limit):
        stream.next_frame(is_raw=True)


def test_a_size_above_the_smaller_limit_waits_for_the_api_key():
    stream = RequestFrames(produce_frame=5000, other_frame=1000)
    stream.feed(struct.pack(">ib", 1001, 0))
    assert stream.next_frame() is None


def test_a_kafka_request_looks_like_nothing_else():
    assert looks_like(frame(bytes(10))[:8]) is None


@given(st.binary(max_size=60), st.booleans())
def test_whatever_comes_is_a_frame_or_a_decode_error(data, is_raw):
    stream = RequestFrames(produce_frame=MIB, other_frame=MIB)
    stream.feed(data)
    try:
        while (whole := stream.next_frame(is_raw)) is not None:
            assert data.startswith(whole)
            data = data[len(whole) :]
    except DecodeError:
        return


def test_memory_grows_with_the_bytes_received_never_with_the_size_announced():
    stream = RequestFrames(produce_frame=100 * MIB, other_frame=MIB)
    tracemalloc.start()
    try:
        stream.feed(struct.pack(">ih", 100 * MIB, 0))
        assert stream.next_frame() is None
        assert tracemalloc.get_traced_memory()[1] < 64 * 1024
    finally:
        tracemalloc.stop()


# -- The broker's direction -------------------------------------------------------------------------


@given(st.lists(st.tuples(st.binary(max_size=40), st.booleans()), max_size=6), st.lists(st.integers(0)))
def test_answers_stream_or_are_held_wherever_the_stream_is_cut(answers, cuts):
    """A streamed answer passes as it comes, its size with it; a held one comes whole, without."""
    answers = [(b"\x00\x00\x00\x07" + body, is_held) for body, is_held in answers]
    stream = AnswerStream(InFlight(id))
    passed, due = [b""], list(answers)
    for chunk in chunks_of(b"".join(frame(payload) for payload, _ in answers), cuts):
        stream.feed(chunk)
        while due:
            if stream.is_streaming:
                data, has_ended = stream.streamed()
                passed[-1] += data
                if not has_ended:
                    break
                due.pop(0)
                passed.append(b"")
            elif stream.correlation_id() is None:
                break
            elif due[0][1]:
                payload = stream.whole(most=1000)
                if payload is None:
                    break
                passed[-1] = frame(payload)
                due.pop(0)
                passed.append(b"")
            else:
                assert stream.correlation_id() == 7
                stream.stream(None)
    assert passed == [*(frame(payload) for payload, _ in answers), b""]


def test_an_answer_of_negative_size_is_rejected():
    stream = AnswerStream(InFlight(id))
    stream.feed(b"\xff\xff\xff\xff")
    with pytest.raises(DecodeError):
        stream.size()
