"""What the driver's processes load for a micro-batch: what they do not need would delay the first one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_COMMIT = """
import sys
from tidelog.spark.sink import writers
from tidelog.spark.sink.checkpoint import newest_batch, read_batch
from tidelog.spark.sink.options import sink_options
from tidelog.spark.sink.staging import StagingWriter, plan_folder, read_staged, remove_folder, remove_others
checkpoint = sys.argv[1]
assert newest_batch(checkpoint) == 7 and read_batch(checkpoint, 7) is None
folder = plan_folder(sink_options({"kafka.bootstrap.servers": "127.0.0.1:9092", "checkpointLocation": checkpoint}))
writer = StagingWriter(folder, "q.0.0.0", inline_bytes=0)
writer.append(b"abc")
assert bytes(read_staged(writer.finish())) == b"abc"
remove_folder(folder.path)
remove_others(folder, "q")
print(sorted({"numpy", "pandas", "pyarrow", "tidelog.client.admin", "tidelog.client.consumer"} & sys.modules.keys()))
"""


def test_commit_with_a_local_checkpoint_loads_neither_arrow_nor_the_admin_client(tmp_path: Path) -> None:
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "7").write_text("")

    done = subprocess.run(
        [sys.executable, "-c", _COMMIT, str(tmp_path)], stdout=subprocess.PIPE, text=True, timeout=120, check=True
    )

    assert done.stdout.strip() == "[]"
