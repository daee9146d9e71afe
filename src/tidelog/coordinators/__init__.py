"""Coordinators: pure state machines over the records of an internal topic. They never await, log or read a clock.

decision.py       what goes into a coordinator and comes out: moments, requests, records, answers
savepoint.py      a decision that raises changes nothing: what it touched is put back
timers.py         deadlines as data
placement.py      which partition of the topic a group or a transactional id belongs to
patterns.py       regular expressions of clients, matched in linear time
record_format.py  how keys and values are written: a type or version, then the message
groups/           the group coordinator: classic groups, and all committed offsets
consumer_groups/  groups of the protocol of KIP-848
transactions/     the transaction coordinator
"""
