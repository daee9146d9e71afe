"""The sink with atomicity=prepared: tasks prepare transactions of their own, the driver decides and completes them.

    decision.py   pure: names of transactions, how a decision is written down, what follows from it
    recovery.py   acts on it: completes what was decided, aborts what was not and never can be
    sink.py       the parts of a task and of the driver
    model.py      the protocol as a model, for exhaustive exploration

Why it is safe is said in docs/decisions/0033-prepared-commit.md.
"""
