"""Reads everything that is stored and reports what is wrong with it; changes nothing.

directory.py  a whole log directory, or one partition
partition.py  every batch, index, epoch and snapshot of a partition
indexes.py    the indexes of a segment against its batches
findings.py   what is found, and progress
"""
