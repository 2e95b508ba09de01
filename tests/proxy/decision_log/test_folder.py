"""A folder that several processes write to: what the killed ones left is closed, what is old goes."""

import fcntl
import os

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.clocks import HandClock
from tests.proxy.decision_log.logs import HOUR_MS, MINUTE_MS, begin, files_in, lines, names, written
from tests.proxy.world import until
from tsproxy import decision_folder as folder_room
from tsproxy.config.settings import Retention
from tsproxy.decision_folder import ClosedFile, close_abandoned, closed_files, expired

DAY_MS = 24 * HOUR_MS


def left_open(folder, content, number=1):
    path = folder / f"decisions-20270115T080000Z-px-killed-{number:04}.jsonl.open"
    path.write_bytes(content)
    return path


def closed(folder, number, *, size_bytes=100, written_ms=0):
    path = folder / f"decisions-20270115T080000Z-px-boot-{number:04}.jsonl"
    path.write_bytes(b"x" * (size_bytes - 1) + b"\n")
    os.utime(path, ns=(0, written_ms * 1_000_000))
    return path


@pytest.mark.parametrize(
    ("content", "kept", "cut_bytes"),
    [
        (b'{"n":1}\n{"n":2}\n', b'{"n":1}\n{"n":2}\n', 0),
        (b'{"n":1}\n{"n":', b'{"n":1}\n', 5),
        (b'{"n":1}\n' + b"\0" * 200_000, b'{"n":1}\n', 200_000),
        (b"x" * 200_000 + b"\n" + b"y" * 70_000, b"x" * 200_000 + b"\n", 70_000),
    ],
)
def test_a_file_that_a_killed_process_left_is_closed_after_its_last_whole_line(
    tmp_path, content, kept, cut_bytes
):
    path = left_open(tmp_path, content)
    [abandoned] = close_abandoned(tmp_path)

    assert names(tmp_path) == [path.name.removesuffix(".open")]
    assert abandoned.path.read_bytes() == kept
    assert (abandoned.size_bytes, abandoned.cut_bytes) == (len(kept), cut_bytes)


@pytest.mark.parametrize("content", [b"", b'{"n":'])
def test_a_file_that_was_left_without_a_whole_line_is_taken_away(tmp_path, content):
    left_open(tmp_path, content)
    assert [abandoned.cut_bytes for abandoned in close_abandoned(tmp_path)] == [len(content)]
    assert names(tmp_path) == []


@pytest.mark.parametrize("content", [b"the end of this line is not written", b""])
def test_a_link_is_left_alone_and_so_is_the_file_that_it_names(tmp_path, content):
    """Anybody who may write the folder could have any file of the proxy's user cut off or removed."""
    target, folder = tmp_path / "precious", tmp_path / "folder"
    folder.mkdir()
    target.write_bytes(content)
    link = left_open(folder, b"")
    link.unlink()
    link.symlink_to(target)
    assert list(close_abandoned(folder)) == []
    assert target.read_bytes() == content
    assert link.is_symlink()


def test_a_pipe_is_left_alone_and_holds_nobody_up(tmp_path):
    path = left_open(tmp_path, b"")
    path.unlink()
    os.mkfifo(path)
    assert list(close_abandoned(tmp_path)) == []
    assert path.exists()


def test_the_size_of_a_links_target_removes_no_file(tmp_path):
    (tmp_path / "large").write_bytes(b"x" * 10_000)
    small = closed(tmp_path, 1)
    (tmp_path / "decisions-20270115T080000Z-px-boot-0002.jsonl").symlink_to(tmp_path / "large")
    assert small.name not in [f.path.name for f in expired(closed_files(tmp_path), Retention(None, 5_000), 0)]


async def test_a_file_that_a_living_process_writes_is_left_alone(tmp_path):
    """Each start tidies the folder, where others may be at work."""
    first = files_in(tmp_path, boot="first")
    await begin(first)
    written(tmp_path, [{"n": 2}], boot="second")
    assert lines(tmp_path) == [{"n": 2}]
    first.put([{"n": 3}])
    assert first.stop(10)
    assert lines(tmp_path) == [{"n": 1}, {"n": 3}, {"n": 2}]


async def test_where_the_file_system_knows_no_locks_files_are_written_and_none_is_taken_for_abandoned(
    tmp_path, monkeypatch
):
    def no_locks(*_):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    abandoned = left_open(tmp_path, b'{"n":1}\n')
    written(tmp_path, [{"n": 2}])

    assert lines(tmp_path) == [{"n": 2}]
    assert abandoned.exists()


async def test_a_start_closes_what_was_left_and_says_so(tmp_path):
    left_open(tmp_path, b'{"n":1}\n{"n":')
    with structlog.testing.capture_logs() as told:
        written(tmp_path)

    assert lines(tmp_path) == [{"n": 1}]
    [line] = told
    assert (line["event"], line["bytes_kept"], line["bytes_cut"]) == ("decision_file_recovered", 8, 5)


async def test_a_file_that_was_taken_for_abandoned_as_it_was_made_is_followed_by_the_next_number(
    tmp_path, monkeypatch
):
    """Between making a file and locking it, somebody who tidies up may find it without a lock."""
    lock, taken = fcntl.flock, []

    def tidied_first(descriptor, how):
        if not taken:
            taken.append(1)
            [path] = tmp_path.iterdir()
            path.unlink()
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", tidied_first)
    written(tmp_path, [{"n": 1}])

    [name] = names(tmp_path)
    assert name.endswith("-0002.jsonl")
    assert lines(tmp_path) == [{"n": 1}]


def test_closed_files_come_oldest_first_whatever_they_are_called(tmp_path):
    young, old = closed(tmp_path, 1, written_ms=2_000), closed(tmp_path, 2, written_ms=1_000)
    left_open(tmp_path, b"x\n")
    (tmp_path / "notes.txt").write_text("not ours")
    assert [file.path for file in closed_files(tmp_path)] == [old, young]


files_of_any_age = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), max_size=12).map(
    lambda pairs: [ClosedFile(None, size, written) for written, size in sorted(pairs)]
)
limits = st.one_of(st.none(), st.integers(0, 120))


@given(files_of_any_age, st.builds(Retention, limits, limits), st.integers(0, 120))
def test_what_stays_is_young_enough_and_small_enough_and_nothing_goes_without_need(files, retention, now_ms):
    gone = expired(files, retention, now_ms)
    assert gone == files[: len(gone)]
    kept = files[len(gone) :]
    if retention.age_ms is not None:
        assert all(now_ms - file.written_ms <= retention.age_ms for file in kept)
    if retention.size_bytes is not None:
        assert sum(file.size_bytes for file in kept) <= retention.size_bytes
    if gone:
        last = gone[-1]
        was_old = retention.age_ms is not None and now_ms - last.written_ms > retention.age_ms
        with_it = sum(file.size_bytes for file in (last, *kept))
        assert was_old or (retention.size_bytes is not None and with_it > retention.size_bytes)


async def test_old_files_are_deleted_at_the_start_and_every_minute_and_counted(tmp_path):
    clock = HandClock()
    old = closed(tmp_path, 1, written_ms=clock.ms - DAY_MS - 1)
    others = [tmp_path / name for name in ("decisions-of-mine.csv", "decisions-of-mine.jsonl")]
    for other in others:
        other.write_text("stays")
        os.utime(other, (0, 0))
    young = closed(tmp_path, 2, written_ms=clock.ms - DAY_MS)
    files = files_in(tmp_path, clock=clock, retention=Retention(DAY_MS, None))
    with structlog.testing.capture_logs() as told:
        files.start()
        await until(lambda: files.files_deleted == 1)
        assert (old.exists(), young.exists()) == (False, True)
        clock.ms += MINUTE_MS
        files.put([{"n": 1}])
        await until(lambda: files.files_deleted == 2)
        assert files.stop(10)

    assert [(line["event"], line["files"], line["bytes"]) for line in told] == [
        ("decision_files_deleted", 1, 100),
        ("decision_files_deleted", 1, 100),
    ]
    assert all(other.exists() for other in others)
    for other in others:
        other.unlink()
    assert lines(tmp_path) == [{"n": 1}]


async def test_no_file_is_too_old_while_nobody_knows_the_time_and_the_room_is_kept_all_the_same(tmp_path):
    """A clock that was set 20 days ahead deleted the whole log within a minute."""
    clock, known = HandClock(), []
    for number in range(1, 4):
        closed(tmp_path, number, written_ms=number)
    rotation = files_in(
        tmp_path, clock=clock, retention=Retention(1, 250), ages_by=lambda: known[0] if known else None
    )._rotation
    rotation.tidy()
    assert [name[-10:] for name in names(tmp_path)] == ["0002.jsonl", "0003.jsonl"]
    known.append(clock.ms)
    rotation.tidy()
    assert names(tmp_path) == []


async def test_a_file_written_while_the_clock_was_slow_is_as_old_as_it_is(tmp_path):
    """Its time was that of 20 days ago: when the clock was right again, it was deleted at once."""
    clock = HandClock()
    rotation = files_in(tmp_path, clock=clock, retention=Retention(DAY_MS, None))._rotation
    rotation.tidy()
    closed(tmp_path, 1, written_ms=clock.ms - 20 * DAY_MS)
    for passed_ms, left in ((MINUTE_MS, 1), (DAY_MS - 2 * MINUTE_MS, 1), (MINUTE_MS, 0)):
        rotation.tidy()
        assert len(names(tmp_path)) == 1
        clock.ms += passed_ms
        rotation.tidy()
        assert len(names(tmp_path)) == left


async def test_a_folder_whose_files_cannot_be_deleted_is_told_of_and_lines_go_on(tmp_path, monkeypatch):
    closed(tmp_path, 1, written_ms=0)

    def rejecting(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(folder_room.Path, "unlink", rejecting)
    with structlog.testing.capture_logs() as told:
        files = written(tmp_path, [{"n": 1}], retention=Retention(1, None))

    assert [line["event"] for line in told] == ["decision_files_not_deleted"]
    assert (files.written, files.problem()) == (1, None)
