import json

from rigs.matrix import KAFKAS, SPARKS, TABLE, as_table, kept

ROWS = json.loads(TABLE.read_text())


def test_each_promised_version_was_run_and_all_were_good():
    promised = {("Spark", version) for version in SPARKS} | {("Kafka", version) for version in KAFKAS}
    run = [row for row in ROWS if (row["what"], row["version"]) in promised]
    assert {(row["what"], row["version"]) for row in run} == promised
    assert any("aarch64" in row["with"] for row in run)
    assert [row for row in run if row["result"].startswith("other")] == []


def test_a_version_is_run_again_with_the_same_java_or_another():
    old = {"what": "Spark", "version": "4.2.1", "with": "Java 17", "result": "equal"}
    newer, other = old | {"result": "other: trend"}, old | {"with": "Java 25"}
    assert kept([old], newer) == [newer]
    assert kept([old], other) == [old, other]
    kafka = old | {"what": "Kafka", "version": "4.10.0"}
    assert kept([old, kafka], kafka | {"version": "4.9.0"}) == [kafka | {"version": "4.9.0"}, kafka, old]


def test_the_table_has_each_version():
    lines = as_table().splitlines()
    assert [r for r in ROWS if not any(r["version"] in line and r["with"] in line for line in lines)] == []
