"""The table of coverage: packages are summed up by lines and branches."""

from __future__ import annotations

from coverage_by_package import table


def summary(lines: int, covered: int, branches: int = 0, taken: int = 0) -> dict[str, dict[str, int]]:
    counts = {"num_statements": lines, "covered_lines": covered, "num_branches": branches, "covered_branches": taken}
    return {"summary": counts}


def test_files_are_summed_up_by_package() -> None:
    shown = table(
        {
            "src/tidelog/client/producer/pool.py": summary(90, 60, 10, 5),
            "src/tidelog/client/retry.py": summary(10, 10),
            "src/tidelog/version.py": summary(1, 1),
        }
    )
    assert shown.splitlines() == [
        "package         files  lines  executed  branches  taken",
        "tidelog             1      1      100%         0      -",
        "tidelog.client      2    100       70%        10    50%",
        "all                 3    101       70%        10    50%",
    ]
