"""Spark runs on Java: is one here, is it new enough, and how is it installed where there is none?"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

OLDEST_JAVA = 17

_VERSION_TIMEOUT_SECONDS = 60
# A slow mirror may need minutes; nobody wants to wait for ever.
_INSTALL_TIMEOUT_SECONDS = 600

# Program of the package manager -> commands that install a Java that Spark takes. Where there is more than one, the
# first that the system knows is taken: distributions carry the one or the other.
_INSTALL_COMMANDS: Mapping[str, Sequence[Sequence[str]]] = {
    "apt-get": (
        ("apt-get", "install", "-y", "--no-install-recommends", "openjdk-17-jre-headless"),
        ("apt-get", "install", "-y", "--no-install-recommends", "openjdk-21-jre-headless"),
        ("apt-get", "install", "-y", "--no-install-recommends", "default-jre-headless"),
    ),
    "dnf": (("dnf", "install", "-y", "java-21-openjdk-headless"),),
    "apk": (("apk", "add", "openjdk17-jre-headless"),),
    "pacman": (("pacman", "-S", "--noconfirm", "jre17-openjdk-headless"),),
    "zypper": (("zypper", "install", "-y", "java-17-openjdk-headless"),),
    "brew": (("brew", "install", "openjdk@17"),),
}


class JavaMissing(Exception):
    """There is no Java, or one that is too old. The message says what to type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    program: str
    version: int


def parse_java_version(text: str) -> int | None:
    """The feature version in what `java -version` prints: 17 for "17.0.15", 8 for "1.8.0_402"."""
    found = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if found is None:
        return None
    first, second = int(found[1]), found[2]
    return int(second) if first == 1 and second is not None else first


def find_java(environment: Mapping[str, str] = os.environ) -> Java | None:
    """The Java that Spark would start: that of JAVA_HOME, else the first on the path."""
    home = environment.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else shutil.which("java", path=environment.get("PATH"))
    if program is None:
        return None
    done = _run((program, "-version"), _VERSION_TIMEOUT_SECONDS)
    version = None if done is None else parse_java_version(done.stdout)
    return None if version is None else Java(program=program, version=version)


def advice(found: Java | None, *, is_root: bool, available: Callable[[str], bool]) -> str:
    """What is wrong, and the command that puts it right."""
    if found is None:
        problem = f"Spark needs Java {OLDEST_JAVA} or newer, and no Java was found"
    else:
        problem = f"Spark needs Java {OLDEST_JAVA} or newer, but {found.program} is version {found.version}"
    for program, commands in _INSTALL_COMMANDS.items():
        if available(program):
            prefix = "" if is_root or program == "brew" else "sudo "
            return f"{problem}. Install one with: {prefix}{' '.join(commands[0])}"
    return f"{problem}. Install one, for example from https://adoptium.net, and put it on the path or set JAVA_HOME"


def require_java() -> Java:
    """The Java for Spark. Raises JavaMissing with the command that installs one."""
    found = find_java()
    if found is not None and found.version >= OLDEST_JAVA:
        return found
    raise JavaMissing(advice(found, is_root=_is_root(), available=lambda program: shutil.which(program) is not None))


def require_or_install_java(tell: Callable[[str], None]) -> Java:
    """As `require_java`, but where this process may (root, with apt), it installs one after saying so."""
    try:
        return require_java()
    except JavaMissing as problem:
        if not (_is_root() and shutil.which("apt-get")):
            raise
        tell(f"{problem}. Doing that now, which takes a minute.")
        _install_with_apt()
        return require_java()


def _install_with_apt() -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    _run(("apt-get", "update", "-q"), _INSTALL_TIMEOUT_SECONDS, environment)
    for command in _INSTALL_COMMANDS["apt-get"]:
        done = _run(command, _INSTALL_TIMEOUT_SECONDS, environment)
        if done is not None and done.returncode == 0:
            return


def _run(
    command: Sequence[str], timeout: float, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str] | None:
    """None if it could not be started, or did not end in time."""
    try:
        return subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def _is_root() -> bool:
    return os.geteuid() == 0
