"""kafkajs and the codecs it leaves to its users, from npm."""

from __future__ import annotations

import shutil
from pathlib import Path

from support.download_cache import Unavailable, cached, run_downloader

# kafkajs brings gzip only. The others are pure JavaScript or WebAssembly: nothing to compile on the tester's machine.
_PACKAGES = ("kafkajs@2.2.4", "kafkajs-snappy@1.1.0", "lz4js@0.2.0", "zstd-codec@0.1.5")


def kafkajs_folder() -> Path:
    """The `node_modules` folder with kafkajs in it, downloaded from npm on first use."""
    if shutil.which("node") is None:
        raise Unavailable("`node` is not installed")
    return cached("kafkajs-2.2.4", _install) / "node_modules"


def _install(folder: Path) -> None:
    (folder / "package.json").write_text('{"name": "tidelog-tests", "private": true}\n')
    run_downloader(("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", *_PACKAGES), directory=folder)
