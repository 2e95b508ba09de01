"""Does a test turn red when the rules are changed? See `__main__`."""
