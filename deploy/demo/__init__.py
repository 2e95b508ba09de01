"""The demo: real late events, through real clients and tsproxy, into a real Apache Kafka, and a report.

`python -m deploy.demo` (or `make demo`) starts everything, sends the 103,140 events of
`PROVENANCE.md` and a few synthetic mistakes, runs the daily report, and then compares what the
clients, Kafka's log, the decision log and the report say of each record. Where any two differ it
says which, and ends with 1.

    data           the events: how late each one came
    plan           topics and their limits, producers, who sends what: all tables
    producers      three client families behind one function, `deliver`
    processes      `tsproxy run` and `spark_reports daily` as a user types them, always stopped
    counts         what each of four places says became of the records
    proof          puts that side by side, and finds what differs; pure
    run            the order of it all

Non-goals: no benchmark (everything shares one machine), no deployment.
"""
