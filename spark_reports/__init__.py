"""Daily reports from tsproxy's decision log, on Apache Spark.

    cli        the command; `arguments` are shared by commands; `exits` has exit codes and errors
    commands   one module for each command
    render     report.json as a page, CSV or metrics, without Spark
    report     from lines of the log to report.json
    log        the lines themselves: read, proved complete, written as a table
    spark      the Spark session

Each package imports only those below it (a contract in pyproject.toml). From tsproxy, the reports
import only `decisions` and `model`. All days are UTC days.

Non-goals: the reports judge no timestamps (the proxy did that) and read nothing but the decision log.
"""
