"""`tsproxy replay`: the verdicts of a policy on recorded traffic, or on traffic outside the proxy.

There are three sources, and the output names the limits of each: `capture` → `packets` → `streams` →
`captured` for a file of captured packets (all rules, request by request), `tail` for a topic (record by
record), `histograms` for a decision log (thresholds only). All fill a `tally`, which `tables` prints.
"""
