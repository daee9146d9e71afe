"""One cluster into another: same partitions and order, exactly once, and consumer groups find their position there.

    sink.py        the exactly-once sink, whose transactions carry the source offsets
    progress.py    is this micro-batch at the target already? Pure
    runs.py        which offset at the target is which at the source. Pure
    topics.py      topics at the target, created and grown as at the source
    groups.py      offsets of consumer groups, translated
    verify.py      compares source and target record by record
    comparison.py  are two partitions the same? Pure

The pipeline that puts them together is `tidelog.spark.pipelines.mirror`.
"""
