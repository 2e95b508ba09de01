"""Lines that the topic does not have yet: read from the files, over restarts, whole lines in order."""

import os
import shutil
from errno import EROFS, ESTALE
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.proxy.decision_log.logs import names
from tsproxy.proxy.decision_log.unsent import CHUNK_BYTES, Position, Unsent

NAME = "px-boot"


def write(folder, number, content, *, is_open=False, name=NAME):
    path = folder / f"decisions-20270115T080000Z-{name}-{number:04}.jsonl{'.open' if is_open else ''}"
    path.write_bytes(content)
    return path


def drain(unsent, most_bytes=CHUNK_BYTES):
    """All that can be read now, sent chunk by chunk."""
    lines = []
    while chunk := unsent.read(most_bytes):
        assert len(chunk.lines) == 1 or sum(len(line) + 1 for line in chunk.lines) <= most_bytes
        lines += chunk.lines
        unsent.sent(chunk.after)
    return lines


def test_lines_come_in_the_order_of_the_files_and_each_once(tmp_path):
    unsent = Unsent.begin(tmp_path, NAME)
    assert drain(unsent) == []
    write(tmp_path, 2, b"c\n")
    write(tmp_path, 1, b"a\nb\n")
    write(tmp_path, 10, b"d\n", is_open=True)
    write(tmp_path, 1, b"not ours\n", name="px-other")
    assert drain(unsent) == [b"a", b"b", b"c", b"d"]
    assert drain(unsent) == []


def test_a_line_that_is_being_written_is_waited_for(tmp_path):
    unsent = Unsent.begin(tmp_path, NAME)
    path = write(tmp_path, 1, b"a\nhal", is_open=True)
    write(tmp_path, 2, b"later\n")
    assert drain(unsent) == [b"a"]
    path.write_bytes(b"a\nhalf\n")
    path.rename(path.with_name(path.name.removesuffix(".open")))
    assert drain(unsent) == [b"half", b"later"]


def test_a_file_that_somebody_truncated_is_read_from_its_beginning(tmp_path):
    """As by `copytruncate` of logrotate. Lines up to the old position were passed over."""
    unsent = Unsent.begin(tmp_path, NAME)
    write(tmp_path, 1, b"aaa\nbbb\n", is_open=True)
    assert drain(unsent) == [b"aaa", b"bbb"]
    write(tmp_path, 1, b"c\n", is_open=True)
    assert drain(unsent) == [b"c"]
    write(tmp_path, 1, b"longer\n", is_open=True)
    assert drain(unsent) == [b"longer"]


@given(
    st.lists(st.binary(max_size=90_000).map(lambda line: line.hex().encode()), max_size=5),
    st.integers(0, CHUNK_BYTES),
)
def test_lines_of_any_length_come_whole(tmp_path_factory, lines, most_bytes):
    folder = tmp_path_factory.mktemp("any")
    write(folder, 1, b"".join(line + b"\n" for line in lines))
    assert drain(Unsent.begin(folder, NAME), most_bytes) == lines


def test_the_next_process_goes_on_where_a_killed_one_was(tmp_path):
    write(tmp_path, 1, b"a\nb\n")
    killed = Unsent.begin(tmp_path, NAME)
    killed.sent(Position(1, 2))
    assert list(Unsent.left_behind(tmp_path)) == []  # it lives
    killed.release()
    [unsent] = Unsent.left_behind(tmp_path)
    assert drain(unsent) == [b"b"]
    assert unsent.finish()
    assert names(tmp_path) == ["decisions-20270115T080000Z-px-boot-0001.jsonl"]
    assert list(Unsent.left_behind(tmp_path)) == []


def test_a_removed_file_that_cannot_be_closed_is_made_again_once(tmp_path, monkeypatch):
    """A file server may tell only then that the file is gone."""
    unsent = Unsent.begin(tmp_path, NAME)
    stored = tmp_path / f".unsent-{NAME}"
    stored.unlink()
    close = os.close

    def fails(descriptor):
        close(descriptor)
        monkeypatch.setattr(os, "close", close)
        raise OSError(ESTALE, os.strerror(ESTALE))

    monkeypatch.setattr(os, "close", fails)
    unsent.store()
    assert unsent.problem == f"Stale file handle ({stored})"
    made = stored.stat()
    unsent.store()
    assert (unsent.problem, stored.stat().st_ino) == (None, made.st_ino)
    unsent.release()


def test_lines_that_wait_in_a_folder_that_was_made_again_are_sent_by_the_next_process(tmp_path):
    folder = tmp_path / "decisions"
    folder.mkdir()
    unsent = Unsent.begin(folder, NAME)
    write(folder, 1, b"a\n")
    assert drain(unsent) == [b"a"]
    shutil.rmtree(folder)
    folder.mkdir()
    write(folder, 2, b"b\n")
    unsent.release()
    [unsent] = Unsent.left_behind(folder)
    assert drain(unsent) == [b"b"]
    assert unsent.finish()
    unsent.release()
    assert names(folder) == ["decisions-20270115T080000Z-px-boot-0002.jsonl"]


def test_a_boot_is_remembered_as_long_as_one_of_its_files_is_open(tmp_path):
    unsent = Unsent.begin(tmp_path, NAME)
    path = write(tmp_path, 1, b"", is_open=True)
    assert not unsent.finish()
    path.unlink()
    assert unsent.finish()


def test_a_position_that_cannot_be_removed_is_told_of_and_removed_later(tmp_path, monkeypatch):
    """It counted as a failure of the topic."""

    def fails(*_, **__):
        raise OSError(EROFS, os.strerror(EROFS))

    unsent = Unsent.begin(tmp_path, NAME)
    with monkeypatch.context() as disk:
        disk.setattr(Path, "unlink", fails)
        assert not unsent.finish()
    assert unsent.problem == f"Read-only file system ({tmp_path}/.unsent-{NAME})"
    assert unsent.finish()


def test_files_that_were_deleted_before_they_were_sent_are_passed_over(tmp_path):
    unsent = Unsent.begin(tmp_path, NAME)
    first = write(tmp_path, 1, b"a\nb\n")
    unsent.sent(Position(1, 2))
    first.unlink()
    write(tmp_path, 4, b"c\n")
    assert drain(unsent) == [b"c"]


def test_after_damage_all_is_sent_again_and_once_only(tmp_path):
    """A position of zeros kept the proxy from starting."""
    write(tmp_path, 1, b"a\nb\n")
    whole = Position(1, 2).as_text()
    assert Position.of_text(whole) == Position(1, 2)
    for text in (b"", whole[:9], whole + whole, bytes(31), b"9" * 10 + b" " + b"9" * 19 + b"\n"):
        (tmp_path / f".unsent-{NAME}").write_bytes(text)
        for expected in ([b"a", b"b"], []):
            [unsent] = Unsent.left_behind(tmp_path)
            assert drain(unsent) == expected, text
            unsent.release()


def test_links_are_not_followed_to_what_is_sent_or_written(tmp_path):
    """Anybody who may write the folder could have any file of the proxy's user sent to the topic, or written
    over."""
    secret, folder = tmp_path / "secret", tmp_path / "folder"
    folder.mkdir()
    secret.write_bytes(b"secret\n")
    unsent = Unsent.begin(folder, NAME)
    write(folder, 1, b"a\n")
    write(folder, 2, b"").unlink()
    write(folder, 3, b"c\n")
    (folder / "decisions-20270115T080000Z-px-boot-0002.jsonl").symlink_to(secret)
    assert drain(unsent) == [b"a", b"c"]

    unsent.release()
    [position] = (path for path in folder.iterdir() if not path.name.startswith("decisions-"))
    position.unlink()
    position.symlink_to(secret)
    assert list(Unsent.left_behind(folder)) == []
    assert secret.read_bytes() == b"secret\n"
