"""The sink with atomicity=prepared: tasks prepare transactions of their own, the driver decides and completes them.

    sink.py      the parts of a task and of the driver
    recovery.py  completes what was decided, and aborts what was not and never can be
    decision.py  names of transactions, how a decision is stored, what follows from it. Pure

Why it is safe is explained in docs/decisions/0033-prepared-commit.md.
"""
