"""The demo: real late events go through real clients and tsproxy to a real Apache Kafka, and to a report.

`python -m deploy.demo` (or `make demo`) starts everything, sends the 103,140 events of
`PROVENANCE.md` and a few synthetic mistakes, and runs the daily report. Then it compares each record in
four places: the clients, Kafka's log, the decision log and the report. If any two differ, it prints
which, and ends with status 1.

    data           the events: how late each one came
    plan           tables: topics and their limits, producers, and the records of each
    producers      three client families behind one function, `deliver`
    processes      `tsproxy run` and `spark_reports daily` as a user types them, always stopped
    counts         the counts of each of the four places
    proof          compares the counts and finds differences; pure
    run            all steps in order

Non-goals: no benchmark (everything shares one machine), no deployment.
"""
