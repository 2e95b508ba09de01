"""One small program for each family of Kafka clients; all speak the lines that `protocol.py` tells of."""
