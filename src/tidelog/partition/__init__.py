"""The rules of one partition, without I/O: who may write, how far replicas are, what is committed and stable.

progress.py        the leader's view of its followers, the in-sync set, the high watermark
leader_epochs.py   at which offset each leader began (KIP-101)
divergence.py      where the logs of a leader and a follower diverge
producers.py       sequence numbers and transactions of all producers
producer_entry.py  one producer as an immutable value
transactions.py    open transactions, and what they hold back
verification.py    proof that a transaction is known to its coordinator (KIP-890)
throttle.py        bounds on the bytes of replication (KIP-73)
"""
