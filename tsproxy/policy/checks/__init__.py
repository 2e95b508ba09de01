"""The checks of a batch, in a broker's order: `tables` has one row for each.

A row (`check.Check`) has three functions. They return the rejection, whether the check may fail by the known
facts of a batch, and the bounds of the timestamps with which it cannot fail. The judge's shortcut for
acceptable batches and the fast path are computed from the rows. To add a check, write its function in the
module where it belongs (`request`, `batch`, `record`, `custom`), and its row in `tables`.

`faults` has the answers for batches that cannot be read, and `whole_request` has the checks that are about
all partitions of a request at once.
"""
