"""The kit of all tests: what an administrator does to the brokers, and what they hold.

    admin   rights and passwords of a cluster's users
    topics  the records of topics
"""
