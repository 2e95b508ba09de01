"""An archive of classes makes Java start sooner, and its absence harms nobody."""

import subprocess

import pytest

from tsproxy.testing.class_archive import prepare_classes
from tsproxy.testing.jars import fetch_kafka_jars
from tsproxy.testing.java_process import archive_of, java_command


@pytest.mark.broker
async def test_where_no_archive_can_be_made_there_is_none_and_nothing_is_left(tmp_path):
    jars = tmp_path / "jars"
    jars.mkdir()

    await prepare_classes(jars)

    assert [file.name for file in tmp_path.iterdir()] == ["jars"]
    assert not [word for word in java_command([jars / "*"], "64m", "Main") if "Archive" in str(word)]


@pytest.mark.broker
def test_an_archive_of_other_jars_is_passed_over_without_a_word(tmp_path):
    jars = fetch_kafka_jars("4.3.1")
    ours = tmp_path / "jars"
    ours.symlink_to(jars)
    archive_of(ours).write_text("nothing that Java wrote")

    command = java_command([ours / "*"], "128m", "org.apache.kafka.tools.TopicCommand", "--version")
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert f"-XX:SharedArchiveFile={archive_of(ours)}" in command
    assert done.stdout.strip() == "4.3.1"
