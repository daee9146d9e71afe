"""Record batches (format v2): their headers, their records, and the loops over them.

    batch.py             the header of a batch
    record.py            decoding and encoding of records
    control.py           control batches: markers, and those of the quorum
    validation.py        what a broker checks before it appends
    produce_rules.py     what a topic requires of produced records
    produced_records.py  one produced batch: unpacked, checked, packed again
    checksum.py          the CRC of batches
    compression.py       the codecs, in the framings of Kafka's clients
    unpacking.py         decompression piece by piece, in bounded memory
    columns.py           records as columns in Arrow's memory layout
    spans.py             where the records of a batch lie in its payload
    timestamp_search.py  the record of a batch at a timestamp
    content_digest.py    a digest of rows, whatever their order
    hashing.py           murmur2, by which clients choose partitions
    varint.py            variable-length integers
    implementation.py    compiled loops or plain Python
    source_digest.py     whether a compiled loop matches its source
    checking.py column_loops.py decoding.py encoding.py filtering.py row_digest.py
                         the loops themselves

Modules with a `.pxd` are compiled if a C compiler is available.
"""
