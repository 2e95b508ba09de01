"""Texts that are made from tables in the code are current."""

import pytest

from spark_reports.log.schema import OWN_COLUMNS
from tests.documents import generated as made
from tests.documents.generated import FILES, PARTS, ROOT, generated, grown, pages, with_parts
from tests.documents.tables import rows_of

FILES_NOW = {file.relative_to(ROOT).as_posix(): text for file, text in generated().items()}


@pytest.mark.parametrize("file", FILES_NOW)
def test_a_generated_text_is_current(file):
    assert (ROOT / file).read_text(encoding="utf-8") == FILES_NOW[file], (
        f"{file} is not as the code says: make generated"
    )


def test_each_part_is_in_one_page():
    assert sorted(name for names in pages().values() for name in names) == sorted(PARTS)
    assert set(FILES) <= set(FILES_NOW)


def test_a_part_is_replaced_and_the_rest_of_the_page_stays():
    page = "one\n<!-- made by make generated: keys -->\nold\n<!-- end of keys -->\ntwo\n"
    made = with_parts(page)
    assert made.startswith("one\n<!-- made by make generated: keys -->\n\n### `upstream`\n")
    assert made.endswith("\n\n<!-- end of keys -->\ntwo\n")
    assert with_parts(made) == made


def test_a_file_that_only_grows_keeps_what_the_code_lacks(tmp_path, monkeypatch):
    monkeypatch.setattr(made, "ROOT", tmp_path)
    (tmp_path / "words.txt").write_text("gone\nkept\n")
    assert grown("words.txt", ["new", "kept"])() == "gone\nkept\nnew\n"


def test_the_page_has_each_column_of_the_table_that_is_no_field_of_the_log():
    rows = rows_of("reference/decision-log.md", "column", "type", "meaning")
    assert [(name.strip("`"), type_) for name, type_, _ in rows] == [*OWN_COLUMNS]
    assert all(meaning for *_, meaning in rows)
