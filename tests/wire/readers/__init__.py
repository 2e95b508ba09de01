"""The two versions of the readers against each other and against the records as columns."""
