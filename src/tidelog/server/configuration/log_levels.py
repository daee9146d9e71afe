"""The levels of a running node's loggers, which admin clients see and change as BROKER_LOGGER (KIP-412).

They are not stored: a restarted node logs as its properties say. Names and levels are this process's, so
brokers that share a process share them.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from tidelog.config.alteration import AlterOperation
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.server.observability.logs import AUTHORIZER_LOGGER, STATE_CHANGE_LOGGER, TRACE

ROOT = "root"
OURS = "tidelog"
# Kafka's names, the most severe first. Python has a number for each.
LEVELS = {
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": TRACE,
}


def log_levels() -> dict[str, str]:
    """Each existing logger, with its effective level."""
    # The parent of all of ours, which nobody logs to.
    logging.getLogger(OURS)
    names = sorted(
        name
        for name, logger in logging.root.manager.loggerDict.items()
        if isinstance(logger, logging.Logger) and _is_ours(name)
    )
    return {name: _level_name(_logger(name).getEffectiveLevel()) for name in (ROOT, *names)}


def alter_log_levels(changes: Sequence[tuple[str, int, str | None]], *, validate_only: bool) -> None:
    """All changes (name, operation, level) or none. Raises ApiError."""
    known = log_levels()
    planned: dict[str, int] = {}
    for name, operation, level in changes:
        if name in planned:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"{name} is in the request more than once")
        if operation not in (AlterOperation.SET, AlterOperation.DELETE):
            raise ApiError(ErrorCode.INVALID_REQUEST, f"{name}: the level of a logger can only be set or deleted")
        if operation == AlterOperation.SET and level is None:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"{name}: the level is missing")
        if name not in known:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"unknown logger {name!r}")
        if operation == AlterOperation.DELETE:
            if name == ROOT:
                raise ApiError(ErrorCode.INVALID_REQUEST, "the level of the root logger cannot be deleted")
            planned[name] = logging.NOTSET
        elif level not in LEVELS:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"{name}={level}: the level must be one of {', '.join(LEVELS)}")
        else:
            planned[name] = LEVELS[level]
    if not validate_only:
        for name, number in planned.items():
            _logger(name).setLevel(number)


def _is_ours(name: str) -> bool:
    return name in (OURS, STATE_CHANGE_LOGGER, AUTHORIZER_LOGGER) or name.startswith(f"{OURS}.")


def _logger(name: str) -> logging.Logger:
    return logging.getLogger() if name == ROOT else logging.getLogger(name)


def _level_name(number: int) -> str:
    return next((name for name, lowest in LEVELS.items() if number >= lowest), "TRACE")
