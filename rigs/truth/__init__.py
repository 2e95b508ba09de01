"""One truth in four places: what clients are told, what topics hold, what the log says, what the report says.

`outcomes` is the table of all outcomes. `changes` has those in which a broker changes its mind between two
sends. `clients` sends to the topics, `books` compares the places. In `test_outcomes` the four agree exactly.

`rigs/chaos/test_short.py` kills processes, which the report names.
`tests/e2e/cluster/test_truth_of_repetitions.py` has records that are sent again until replicas are back.
"""
