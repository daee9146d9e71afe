"""Options that several commands have, in one place: a parameter whose type is a dataclass stands for all its fields.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class JobOptions:
        once: Annotated[bool, typer.Option("--once", help="...")] = False

    @app.command("mirror")
    @with_groups
    def mirror(name: Name, job: JobOptions) -> None: ...

Typer sees a function with the parameters `name` and `once`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    kinds = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in kinds.items() if is_dataclass(kind) and isinstance(kind, type)}

    @wraps(command)
    def expanded(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    parameters: list[Parameter] = []
    for parameter in signature(command).parameters.values():
        group = groups.get(parameter.name)
        hints = kinds if group is None else get_type_hints(group, include_extras=True)
        several = [parameter] if group is None else signature(group).parameters.values()
        parameters += [one.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[one.name]) for one in several]
    expanded.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = {one.name: one.annotation for one in parameters}
    return expanded
