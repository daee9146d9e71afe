"""Subjects of commits begin with the area that they change: "fetch: ...", "client, spark: ...".

Looks at the commits since this check came into the repository, or since the last tag if that is later. Without git, or
in a checkout without history, there is nothing to check.

    python tools/check_subjects.py [RANGE]
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

LONGEST = 120
# One word, or two for a part of something: "spark source".
AREA = r"[a-z][a-z0-9_./-]*( [a-z][a-z0-9_./-]*)?"
SUBJECT = re.compile(rf"(Revert \"|{AREA}((, | and ){AREA})*: \S)")


def main(arguments: list[str]) -> int:
    subjects = git("log", "--no-merges", "--format=%h %s", *(arguments or new_commits()))
    if subjects is None:
        sys.stderr.write("subjects of commits are not checked: this is not a git repository\n")
        return 0
    wrong = [line for line in subjects if problem_of(line.partition(" ")[2]) is not None]
    for line in wrong:
        sys.stderr.write(f"{line}\n    {problem_of(line.partition(' ')[2])}\n")
    return 1 if wrong else 0


def problem_of(subject: str) -> str | None:
    if SUBJECT.match(subject) is None:
        return 'begins without its area: write "fetch: ...", or "client, spark: ..." for several'
    if len(subject) > LONGEST:
        return f"has {len(subject)} characters, more than {LONGEST}"
    return "ends with a full stop" if subject.endswith(".") else None


def new_commits() -> list[str]:
    """What `git log` needs to list the commits that the check is about."""
    here = str(Path(__file__).resolve())
    added = git("log", "--diff-filter=A", "--format=%H", "--", here) or []
    tag = git("describe", "--tags", "--abbrev=0") or []
    return ["HEAD", *(f"^{commit}" for commit in (*added[-1:], *tag))]


def git(*arguments: str) -> list[str] | None:
    """The lines of a command's output; None if it fails."""
    root = Path(__file__).resolve().parents[1]
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.splitlines() if done.returncode == 0 else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
