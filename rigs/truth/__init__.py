"""One truth in four places: what clients are told, what topics hold, what the log says, what the report says.

`outcomes` is the table of all outcomes, `clients` sends to its topics, `books` compares the places.

    test_outcomes       nobody is killed: the four agree exactly
    test_changes        a broker changes its mind between two sends

`rigs/chaos/test_short.py` kills processes, which the report names.
`tests/e2e/cluster/test_truth_of_repetitions.py` has records that are sent again until replicas are back.
"""
