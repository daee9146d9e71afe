"""The files of a log directory as a DataFrame, without a broker: `spark.read.format("tidelog-log").load(path)`."""
