"""Put Preact and htm, as npm has them, into the console: python tools/vendor_preact.py (needs npm).

The console has no build step: these files are modules that browsers load as they are. Only the bare name "preact" in
an import becomes the path of the file, because browsers know no bare names. `--check` compares the files instead of
writing them. See docs/decisions/0048-console-without-a-build-step.md.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VENDOR = Path(__file__).parents[1] / "src" / "tidelog" / "console" / "static" / "vendor"

# Name and version of the package, the file in it, the file here.
FILES = (
    ("preact", "11.2.0", "dist/preact.mjs", "preact.js"),
    ("preact", "11.2.0", "hooks/dist/hooks.mjs", "hooks.js"),
    ("preact", "11.2.0", "LICENSE", "preact-LICENSE.txt"),
    ("htm", "3.1.1", "dist/htm.module.js", "htm.js"),
    ("htm", "3.1.1", "LICENSE", "htm-LICENSE.txt"),
)


def packed(name: str, version: str) -> tarfile.TarFile:
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", "--silent", f"{name}@{version}"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        content = (Path(folder) / done.stdout.split()[-1]).read_bytes()
    return tarfile.open(fileobj=io.BytesIO(content))


def vendored() -> dict[str, bytes]:
    """The content of each file here."""
    archives = {(name, version): packed(name, version) for name, version, _, _ in FILES}
    found = {}
    for name, version, member, here in FILES:
        file = archives[name, version].extractfile(f"package/{member}")
        assert file is not None
        text = file.read().decode().replace('from"preact"', 'from"./preact.js"')
        lines = [line for line in text.splitlines() if not line.startswith("//# sourceMappingURL")]
        found[here] = ("\n".join(lines).strip("\n") + "\n").encode()
    return found


def main() -> int:
    found = vendored()
    if "--check" in sys.argv[1:]:
        differing = [name for name, content in found.items() if (VENDOR / name).read_bytes() != content]
        for name in differing:
            print(f"{VENDOR / name} is not what npm has", file=sys.stderr)
        return 1 if differing else 0
    VENDOR.mkdir(parents=True, exist_ok=True)
    for name, content in found.items():
        (VENDOR / name).write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
