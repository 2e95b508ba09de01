"""Does a test turn red when the core is changed? See `__main__`."""
