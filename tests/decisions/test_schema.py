"""One table of fields: the JSON Schema, the Spark schema, the document and the lines all agree."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.decisions.conformance import complaints
from tests.decisions.outcomes import NOON_MS, outcomes
from tsproxy.decisions import DecisionLog, LifecycleKind
from tsproxy.decisions.__main__ import main
from tsproxy.decisions.fields import FIELDS, FieldType
from tsproxy.decisions.schema import TYPE_FORMS, json_schema, spark_ddl
from tsproxy.decisions.totals import Totals

SCHEMA = json_schema()
DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "decision-log.md"


def test_names_are_unique_flat_snake_case():
    names = [field.name for field in FIELDS]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in names)


def test_every_type_has_its_forms_and_every_field_an_event():
    assert set(TYPE_FORMS) == set(FieldType)
    assert all(field.events for field in FIELDS)


def test_the_spark_schema_has_every_field_once():
    columns = [column.split(" ", 1) for column in spark_ddl().split(", ")]
    assert [name for name, _ in columns] == [field.name for field in FIELDS]
    assert {kind for _, kind in columns} <= {form.spark for form in TYPE_FORMS.values()}


@given(st.lists(outcomes(), max_size=12))
def test_every_line_of_a_log_conforms_to_the_schema(booked):
    log = DecisionLog("px", "boot", NOON_MS - 200_000, interval_ms=50_000)
    lines = [log.lifecycle(LifecycleKind.START, NOON_MS, {"version": "0.1.0", "rules": []})]
    for outcome in booked:
        lines += log.book(Totals.of(outcome))
    lines += log.stop(NOON_MS + 200_000)
    for line in lines:
        assert complaints(line, SCHEMA) == []
        assert complaints(json.loads(json.dumps(line)), SCHEMA) == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"seq": 2**63}, "seq"),
        ({"proxy": 7}, "proxy"),
        ({"ts": 1795176000000}, "ts"),
        ({"boot": None}, "boot"),
        ({"event": "decision"}, "is missing"),
    ],
)
def test_a_line_that_breaks_the_schema_is_noticed(change, says):
    (heartbeat,) = DecisionLog("px", "boot", NOON_MS).tick(NOON_MS + 60_000)
    assert any(says in complaint for complaint in complaints(heartbeat | change, SCHEMA))


@pytest.mark.parametrize(
    ("form", "start"),
    [("json", '{\n  "$schema"'), ("spark", "ts STRING, event")],
)
def test_the_module_prints_each_form(capsys, form, start):
    assert main([form]) == 0
    assert capsys.readouterr().out.startswith(start)


def test_an_unknown_form_is_a_usage_error():
    """In a process: the exit code is the module's."""
    done = subprocess.run([sys.executable, "-m", "tsproxy.decisions", "xml"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "json|spark" in done.stderr
