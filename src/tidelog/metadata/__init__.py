"""The state of the cluster: the records of the metadata log, and the image that they add up to.

image.py          the state as one immutable value
records.py        which records there are, and their frame
replay.py         applies records to an image
draft.py          an image under change
delta.py          what a batch of records has changed
difference.py     what differs between any two images
snapshot.py       an image as the records that build it
snapshot_file.py  the bytes of a snapshot (KIP-630)
"""
