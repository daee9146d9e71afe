"""From TOML to settings: all mistakes are reported together, with its place and the nearest name that exists."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from tidelog.config.definitions import nearest_name
from tidelog.spark.pipelines.durations import Duration, parse_duration
from tidelog.spark.pipelines.settings import PIPELINES, InvalidSettings, Pipeline

_ENVIRONMENT = re.compile(r"\$\{env:(\w+)\}")

# Settings of `run` may stand at the top of the file: it reads better.
_TOP = ("name", "checkpoint", "once", "interval", "retry_for")


def instead_of_file(*, retry_for: str, service_port: int | None, service_host: str) -> dict[str, dict[str, Any]]:
    """What a command line says about a file's settings; what it leaves out stays as in the file."""
    run = {"retry_for": retry_for} if retry_for else {}
    service = {"port": service_port, "host": service_host or None}
    return {"run": run, "service": {name: value for name, value in service.items() if value is not None}}


def read_pipeline_file(
    path: Path, environment: Mapping[str, str] = os.environ, *, instead: Mapping[str, Mapping[str, Any]] | None = None
) -> Pipeline:
    """`instead` are settings by table that count more than those in the file."""
    try:
        text = path.read_text()
    except OSError as error:
        raise InvalidSettings(f"cannot read {path}: {error.strerror}") from error
    try:
        return parse_pipeline(text, environment, instead=instead)
    except InvalidSettings as error:
        raise InvalidSettings(*(f"{path}: {problem}" for problem in error.problems)) from error


def parse_pipeline(
    text: str, environment: Mapping[str, str] = os.environ, *, instead: Mapping[str, Mapping[str, Any]] | None = None
) -> Pipeline:
    """The pipeline that a TOML text describes. `${env:NAME}` stands for a variable of the environment."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidSettings(f"this is not TOML: {error}") from error
    problems: list[str] = []
    content = _with_environment(content, environment, problems)
    kind = content.pop("pipeline", None)
    if problems:
        raise InvalidSettings(*problems)
    if kind not in PIPELINES:
        raise InvalidSettings(f"pipeline must be one of {', '.join(PIPELINES)}, but is {kind!r}")
    return pipeline_from(kind, content, instead=instead)


def pipeline_from(
    kind: str, content: Mapping[str, Any], *, instead: Mapping[str, Mapping[str, Any]] | None = None
) -> Pipeline:
    """Settings from nested dictionaries, as TOML gives them. Raises InvalidSettings with all problems."""
    problems: list[str] = []
    tables = dict(content)
    run = tables.setdefault("run", {})
    if isinstance(run, Mapping):
        at_top = {written: tables.pop(written) for written in list(tables) if written.replace("-", "_") in _TOP}
        tables["run"] = {**run, **at_top}
    for name, settings in (instead or {}).items():
        given = tables.get(name, {})
        if isinstance(given, Mapping):
            tables[name] = {**given, **settings}
    pipeline: Pipeline = _read_table(PIPELINES[kind], tables, "", problems)
    if problems:
        raise InvalidSettings(*problems)
    return pipeline


def _read_table(cls: type[Any], content: Mapping[str, Any], place: str, problems: list[str]) -> Any:
    hints = get_type_hints(cls)
    known = {one.name: one for one in fields(cls)}
    values: dict[str, Any] = {}
    before = len(problems)
    for written, value in content.items():
        name = written.replace("-", "_")
        if name not in known:
            nearest = nearest_name(name, known)
            hint = f"; did you mean {nearest}?" if nearest else f"; known names: {', '.join(known)}"
            problems.append(f"{place}{written} is not a setting{hint}")
            continue
        values[name] = _read_value(hints[name], value, f"{place}{name}", problems)
    for name, one in known.items():
        if name not in values and one.default is MISSING and one.default_factory is MISSING:
            what = "the table" if is_dataclass(hints[name]) else "the setting"
            problems.append(f"{what} {place}{name} is missing")
    if len(problems) > before:
        return None
    made = cls(**values)
    check = getattr(made, "problems", None)
    if check is not None:
        problems.extend(f"{place}{problem}" if not place else f"[{place[:-1]}] {problem}" for problem in check())
    return made


def _read_value(wanted: Any, value: Any, place: str, problems: list[str]) -> Any:
    if wanted is Duration:
        try:
            return parse_duration(value)
        except ValueError as error:
            problems.append(f"{place} = {value!r} {error}")
            return None
    if isinstance(wanted, type) and is_dataclass(wanted):
        if isinstance(value, Mapping):
            return _read_table(wanted, value, f"{place}.", problems)
        problems.append(f"{place} must be a table")
        return None
    origin = get_origin(wanted)
    if origin is Literal:
        if value not in get_args(wanted):
            problems.append(f"{place} = {value!r} must be one of {', '.join(get_args(wanted))}")
        return value
    if origin is tuple:
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
            problems.append(f"{place} must be a list of texts")
            return ()
        return tuple(items)
    if origin is Mapping:
        return _read_options(value, place, problems)
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not wanted:
        problems.append(f"{place} = {value!r} must be {_WORDS[wanted]}")
    return value


def _read_options(value: Any, place: str, problems: list[str]) -> dict[str, str]:
    """Names of options have dots, which TOML takes for tables unless they are quoted. Both are fine here."""
    if not isinstance(value, Mapping):
        problems.append(f"{place} must be a table of options")
        return {}
    options: dict[str, str] = {}
    for name, one in value.items():
        if isinstance(one, Mapping):
            nested = _read_options(one, f"{place}.{name}", problems)
            options |= {f"{name}.{inner}": text for inner, text in nested.items()}
        elif isinstance(one, bool):
            options[name] = "true" if one else "false"
        else:
            options[name] = str(one)
    return options


_WORDS = {str: "a text", int: "a whole number", bool: "true or false", float: "a number"}


def _with_environment(content: Any, environment: Mapping[str, str], problems: list[str]) -> Any:
    if isinstance(content, dict):
        return {name: _with_environment(value, environment, problems) for name, value in content.items()}
    if isinstance(content, list):
        return [_with_environment(value, environment, problems) for value in content]
    if not isinstance(content, str):
        return content

    def value_of(found: re.Match[str]) -> str:
        if found[1] not in environment:
            problems.append(f"{found[0]}: the environment has no variable {found[1]}")
        return environment.get(found[1], "")

    return _ENVIRONMENT.sub(value_of, content)
