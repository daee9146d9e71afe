"""What must hold: seen by clients, and inside of brokers.

history.py      what clients did and saw
checkers.py     I1 to I9, pure functions over a history
stalls.py       I11: nobody waits for what is there
disturbance.py  I12: no client costs another its coordinator
invariants.py   `check_invariants` of brokers after each event
trace.py        what happened, as a digest and as lines
"""
