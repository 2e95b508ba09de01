"""Incidents that wake people, provoked with real brokers and real clients.

For each of them this measures the seconds until an operator is told the cause: by the first sentence of the
live page, by `/readyz?verbose`, by a line of the log, and by a metric, which has an alert. Then it follows
docs/guide/runbook.md back, and measures until the page names nothing any more.

    python -m rigs.incidents            all of them, as a table
    python -m rigs.incidents clock port some of them

    incident   what an incident is, what must be seen of it, and how it is played
    catalogue  the incidents
    clusters   the brokers that they need
    clients    the clients that go on connecting meanwhile
    runbook    the commands of the runbook
    measured   the seconds
"""
