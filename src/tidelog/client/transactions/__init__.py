"""Transactions of a producer.

states.py        pure   the states of a transaction, and what leads from one to the next
verdicts.py      pure   what an error code means: try again, abort, or stop for good
coordinator.py          requests to the coordinators, repeated until they are answered for good
transactions.py         what a producer and its sender ask and tell
handover.py             transactions that one process fills and another one ends
"""
