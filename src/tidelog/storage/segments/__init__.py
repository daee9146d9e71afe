"""Segments, and the batches in their files.

segment.py      one segment: the log file and its indexes
segments.py     all segments of a log, in order
batch_scan.py   batches of a file, by their headers or whole and checked
batch_order.py  whether batches follow each other as they must
walk.py         everything in a segment, readable or not
"""
