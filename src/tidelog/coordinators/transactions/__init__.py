"""The transaction coordinator: which producer may use a transactional id, and how its transactions end.

A shard is one partition of `__transaction_state`, and `shard.TransactionShard` is the only door to it.

    shard.py             decide, replay, timers, markers: who is called for what
    states.py            the states and the steps between them, as one table
    transaction.py       one transactional id as an immutable value, and its steps
    init_producer_id.py  a producer comes: fencing of its predecessor, epochs and their end
    add_partitions.py    what a transaction writes to, and whether it really does (KIP-890)
    end_transaction.py   commit and abort, in both protocol versions
    markers.py           from "decided" to "every partition has its marker"
    timeouts.py          transactions that run out of time, ids that nobody uses
    listing.py           ListTransactions, DescribeTransactions
    records.py           how all this is written to the log
    invariants.py        what must hold of a shard between two decisions
    savepoint.py         what a decision may touch, so that one that fails can be undone
    state.py settings.py replies.py

Invariants that are easy to break:

- Durable state (`TransactionTable.transactions`) is changed by `replay` alone. A decision whose append failed has
  changed nothing that matters, so Kafka's pending states are not needed.
- Nothing happens to a shard between `decide` and the `replay` of its records.
- The outcome of a transaction is fixed once its Prepare record is committed. Markers are written only then.
- The largest epoch is never given to a producer: there is always one left to fence it with.
"""
