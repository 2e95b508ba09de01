"""`tsproxy replay`: what a policy would have said of traffic that is over, or that runs elsewhere.

Three sources, each with its own limits, which are told: `capture` → `packets` → `streams` → `captured`
for a file of captured packets (the whole judge, request by request), `tail` for a topic (record by
record), `histograms` for a decision log (thresholds only). All fill a `tally`, which `tables` prints.
"""
