"""The Spark session: how it starts, and its settings."""
