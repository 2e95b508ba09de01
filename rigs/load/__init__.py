"""Large loads: each has a ceiling of memory, and of what a good client waits meanwhile.

Every test measures from outside the proxy's process and prints a line, which `pytest -s` shows.
"""
