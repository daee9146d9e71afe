"""Logs on disk, in Kafka's format and layout.

    log/           the log of one replica: append, read, flush, truncate
    segments/      the segments of a log, and the batches in them
    indexes/       offset, time and transaction indexes
    cleaner/       compaction
    recovery/      loading a log, with or without a crash before
    directories/   a log directory: its logs, checkpoints, lock and health
    files/         the file system port, file names, descriptors
    verification/  reads everything that is stored and reports what is wrong

No module here knows the network or the cluster.
"""
