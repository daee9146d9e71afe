"""Files with options of clients: TOML, Java's .properties, and librdkafka's lines of name=value."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from tidelog.client.config import OptionValue
from tidelog.config.definitions import InvalidConfig
from tidelog.config.properties import parse_properties


def read_config(path: str | os.PathLike[str]) -> dict[str, OptionValue]:
    """The options in a file, for `config=` of a producer, a consumer or an admin.

    A file whose name ends with .toml is read as TOML: `name = value`, without tables; every other one as properties.
    What the options mean, and whether there are such, is asked when a client is created. Raises OSError, and
    InvalidConfig, which shows no value: one may be a password.
    """
    file = Path(path)
    text = file.read_text(encoding="utf-8")
    if file.suffix.lower() != ".toml":
        return dict(parse_properties(text))
    try:
        read = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidConfig(f"{file} is not TOML: {error}") from None
    for name, value in read.items():
        if isinstance(value, dict):
            raise InvalidConfig(f"{file}: [{name}] is a table; options stand outside of tables, as {name}_... = value")
        if not isinstance(value, str | int | float | list):
            raise InvalidConfig(f"{file}: {name} is a {type(value).__name__}; use a text, a number, true or false")
    return read
