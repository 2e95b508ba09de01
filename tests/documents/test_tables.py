"""Tables of pages that no package's own tests compare with the code."""

from spark_reports.log.schema import OWN_COLUMNS
from tests.documents.tables import rows_of


def test_the_page_has_each_column_of_the_table_that_is_no_field_of_the_log():
    rows = rows_of("reference/decision-log.md", "column", "type", "meaning")
    assert [(name.strip("`"), type_) for name, type_, _ in rows] == [*OWN_COLUMNS]
    assert all(meaning for *_, meaning in rows)
