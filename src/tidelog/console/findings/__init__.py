"""What readings mean. Pure: no clock, no disk, no network; the time is an argument.

rates.py      how fast counters grow
in_sync.py    which followers are behind, since when, and when they leave the in-sync set
attention.py  what needs attention, in words
"""
