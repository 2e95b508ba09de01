"""The kernel's two variants against each other and against the records as columns."""
