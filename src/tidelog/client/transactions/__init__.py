"""The transactions of a producer.

transactions.py          what a producer and its sender ask and report
states.py                the states, and what leads from one to the next. Pure
verdicts.py              what an error code means: try again, abort, or stop for good. Pure
coordinator_requests.py  requests to the coordinators, repeated until they are answered for good
prepared.py              the name of a prepared transaction (KIP-939)
handover.py              transactions that one process fills and another one ends
"""
