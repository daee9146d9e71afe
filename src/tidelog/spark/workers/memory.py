"""Keeps what a Python worker of Spark has loaded out of its collections of garbage.

Spark keeps a worker for the next task, and has it collect garbage in between. That looks at every object there is: of
Spark, pyarrow, pandas and tidelog there are about 95,000, which takes some 40 ms of a core, after each task, each plan
and each commit. What a module holds is no garbage as long as the worker lives.
"""

from __future__ import annotations

import functools
import gc
import os

# Set by Spark for each Python process that it starts.
_WORKER_PREFIX = "PYTHON_WORKER_FACTORY_"


def is_worker() -> bool:
    """Whether this process belongs to Spark. All others are the user's, and so is what their garbage collector does."""
    return any(name.startswith(_WORKER_PREFIX) for name in os.environ)


@functools.cache
def freeze_loaded() -> None:
    """Called when all modules are loaded; only the first time counts."""
    if is_worker():
        gc.freeze()
