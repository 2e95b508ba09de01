"""Daily reports from tsproxy's decision log, on Apache Spark.

    cli        the command; `arguments` that several commands have, and `exits`: exit codes and errors
    commands   one module for each command
    render     report.json as HTML, Markdown, terminal text or CSV, without Spark
    report     from lines of the log to report.json
    log        the lines themselves: read, proved complete, written as a table
    spark      the Spark session

Each package imports only those below it (a contract in pyproject.toml). They know tsproxy by
`decisions` and `model` only. Days are UTC days, everywhere.

Non-goals: no judging of timestamps (the proxy did that), no data but the decision log's.
"""
