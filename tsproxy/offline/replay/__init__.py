"""`tsproxy replay`: the verdicts of a policy on records outside the proxy, or on the counts of a decision
log.

There are two sources, and the output names the limits of each: `tail` for a topic (record by record),
`histograms` for a decision log (thresholds only). Both fill a `tally`, which `tables` prints.

Non-goals: captured packets. Most traffic is encrypted, and a proxy in audit mode counts all of it.
"""
