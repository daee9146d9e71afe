"""The files of a log directory as a DataFrame, without a broker: `spark.read.format("tidelog-log").load(path)`.

source.py    the classes that Spark calls
segments.py  what `load(...)` names: directories, segments, globs
reading.py   what one task does: a segment as Arrow batches
outcomes.py  how transactions ended, as far as the files say. Pure
columns.py   the columns, and record batches as rows of them
"""
