"""Applies new configurations, new certificates and the end of waivers to a running proxy.

Non-goals: no comparison of configurations. `config.reloaded` says which keys may change without a restart.
"""
