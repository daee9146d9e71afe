"""One cluster into another: same partitions and order, exactly once, and consumer groups find their place there.

`runs` and `progress` decide and know nothing of clusters; `sink` publishes, `topics` and `groups` keep the target in
step. The pipeline that puts them together is `tidelog.spark.pipelines.mirror`.
"""
