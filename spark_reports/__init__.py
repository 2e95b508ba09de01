"""Daily reports from tsproxy's decision log, on Apache Spark.

`cli` is the command; `session` starts or finds Spark, `read` makes a clean DataFrame of the log's lines,
`transforms` are DataFrame -> DataFrame functions, `checks` proves the log complete, `report` puts it
all into one small report.json, `write` stores it, and `render` turns report.json into HTML, Markdown
and terminal text without Spark. `shape` is what report.json holds, `schema` what is read.

Of tsproxy it imports `decisions` and `model` only. Days are UTC days, everywhere.

Non-goals: no judging of timestamps (the proxy did that), no data but the decision log's.
"""
