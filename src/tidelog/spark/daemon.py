"""Spark's daemon for Python workers, with what tidelog's workers need loaded before they are forked.

Spark starts this with `spark.python.daemon.module` (see `tidelog.spark.session`) and forks every worker from it, two or
more for each micro-batch. What is imported here costs nothing in them. Only modules that start no thread may be: a fork
copies one thread, and locks that others hold stay locked for ever. That is why Spark's own daemon loads nothing, and
why numpy and pyarrow are not loaded here.
"""

from __future__ import annotations

import asyncio
import concurrent.futures.thread
import ssl

import uvloop
from pyspark.daemon import manager

import tidelog.client.admin
import tidelog.client.arrow
import tidelog.client.fetched
import tidelog.client.offsets
import tidelog.client.producer
import tidelog.spark.options
import tidelog.spark.sink
import tidelog.spark.source_ranges

# Loaded for the workers; nothing here uses them.
LOADED = (asyncio, concurrent.futures.thread, ssl, tidelog, uvloop)

if __name__ == "__main__":
    manager()
