"""A running proxy takes a new configuration, new certificates, and the end of a waiver.

Non-goals: no comparing of configurations. `config.reloaded` says what may change without a restart.
"""
