"""Verdicts as tables: Kafka's own LogValidator cases, what they never cover, and whole requests.

rows                    what a row is, and the few builders that rows are made of
log_validator           the 53 cases of Kafka's LogValidatorTest
log_validator_batches   their batches
beyond                  what none of them covers
"""
