"""The checks of a batch, in a broker's order: `tables` has one row for each.

A row (`check.Check`) says three things: the rejection, whether the check may fail given what is known of a
batch, and between which timestamps it cannot fail. The judge's shortcut for acceptable batches and the fast
path are computed from the rows. To add a check, write its function in the module where it belongs (`request`,
`batch`, `record`, `custom`), and its row in `tables`.

`faults` has the answers for batches that cannot be read, `whole_request` the checks that are about all
partitions of a request at once.
"""
