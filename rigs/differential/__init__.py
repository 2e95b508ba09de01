"""The oracle of record: the same bytes to a real broker, straight and through the proxy's core.

topics        the configurations, each as two topics of the same name length
dialects, batches, message_sets    writers of records, right and wrong
generator     draws requests from a seed
lines         the two ways to the broker
comparison    answers made comparable; `intended` the differences that are meant to be
stored        what lies in the logs afterwards
run           the loop; `python -m rigs.differential N` runs it at length
transactions  scripts of producers with sequence numbers and transactions, which a loop of their own runs
"""
