"""`tidelog users`: the users of SCRAM and their passwords, which kafka-configs has as properties of users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from tidelog.cli.cluster_options import ClusterOptions
from tidelog.cli.failures import CommandFailure
from tidelog.cli.option_groups import with_groups
from tidelog.cli.passwords import PasswordOptions
from tidelog.cli.session import run
from tidelog.client.admin import (
    Admin,
    DeleteScramCredential,
    PutScramCredential,
    ScramCredentialInfo,
    ScramMechanism,
)
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.security.scram import MINIMUM_ITERATIONS, SCRAM_MECHANISMS

_HELP = """Add, list, alter and delete users that log in with a password, by SCRAM.

The cluster keeps keys that are derived from a password, never the password. Changes take effect immediately;
connections that exist stay open. What a user may do is said by [bold]tidelog acls[/bold].

Examples:

tidelog users add alice

tidelog users add reports --mechanism SCRAM-SHA-256 --password-file reports.secret

tidelog users list

tidelog users delete alice"""

users = typer.Typer(
    help=_HELP, add_completion=False, no_args_is_help=True, rich_markup_mode="rich", pretty_exceptions_enable=False
)

_Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the user.")]
_Mechanisms = Annotated[
    list[str] | None,
    typer.Option("--mechanism", help=f"{' or '.join(SCRAM_MECHANISMS)}. Repeatable."),
]
_Iterations = Annotated[
    int, typer.Option("--iterations", help="How often the password is hashed: more make it harder to guess.")
]
_DEFAULT = (ScramMechanism.SHA_512,)


@users.command("add")
@with_groups
def add(
    name: _Name,
    mechanism: _Mechanisms = None,
    iterations: _Iterations = MINIMUM_ITERATIONS,
    *,
    password: PasswordOptions,
    cluster: ClusterOptions,
) -> None:
    """Add a user. The password is asked for; the mechanism is SCRAM-SHA-512 if none is named.

    \b
    Examples:
      tidelog users add alice
      tidelog users add alice --mechanism SCRAM-SHA-256 --mechanism SCRAM-SHA-512 --iterations 8192
      pass show kafka/alice | tidelog users add alice --password-stdin
    """
    run(_put(cluster, name, _mechanisms(mechanism) or _DEFAULT, iterations, password.read(), exists=False))


@users.command("alter")
@with_groups
def alter(
    name: _Name,
    mechanism: _Mechanisms = None,
    iterations: _Iterations = MINIMUM_ITERATIONS,
    *,
    password: PasswordOptions,
    cluster: ClusterOptions,
) -> None:
    """Give a user another password: for the mechanisms that are named, or for all that the user has.

    \b
    Examples:
      tidelog users alter alice
      tidelog users alter alice --password-env NEW_PASSWORD
    """
    run(_put(cluster, name, _mechanisms(mechanism), iterations, password.read(), exists=True))


@users.command("list")
@with_groups
def list_users(
    name: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Only these users.")] = None,
    *,
    cluster: ClusterOptions,
) -> None:
    """List users, with their mechanisms and iterations.

    \b
    Examples:
      tidelog users list
      tidelog users list alice --json
    """
    run(_list(cluster, name or None))


@users.command("delete")
@with_groups
def delete(name: _Name, mechanism: _Mechanisms = None, *, cluster: ClusterOptions) -> None:
    """Delete a user, or (--mechanism) what the user has for one mechanism.

    \b
    Examples:
      tidelog users delete alice
      tidelog users delete alice --mechanism SCRAM-SHA-256
    """
    run(_delete(cluster, name, _mechanisms(mechanism)))


def _mechanisms(names: Sequence[str] | None) -> tuple[ScramMechanism, ...]:
    found = []
    for name in names or ():
        mechanism = SCRAM_MECHANISMS.get(name.upper())
        if mechanism is None:
            raise typer.BadParameter(
                f"{name!r} is not a mechanism; it must be one of {', '.join(SCRAM_MECHANISMS)}",
                param_hint="--mechanism",
            )
        found.append(mechanism)
    return tuple(dict.fromkeys(found))


async def _known(admin: Admin, name: str) -> tuple[ScramCredentialInfo, ...]:
    described = (await admin.describe_user_scram_credentials([name]))[name]
    if isinstance(described, ApiError):
        if described.code is ErrorCode.RESOURCE_NOT_FOUND:
            return ()
        raise described
    return described


async def _put(
    cluster: ClusterOptions,
    name: str,
    mechanisms: Sequence[ScramMechanism],
    iterations: int,
    password: str,
    *,
    exists: bool,
) -> None:
    async with cluster.admin() as admin:
        known = {info.mechanism for info in await _known(admin, name)}
        wanted = list(mechanisms) or [each for each in ScramMechanism if each in known]
        if exists and (not wanted or not known.issuperset(wanted)):
            raise CommandFailure(f"there is no user {name!r} with this mechanism; add it: tidelog users add {name}")
        if not exists and known.intersection(wanted):
            raise CommandFailure(f"the user {name!r} exists already; to set a password: tidelog users alter {name}")
        for mechanism in wanted:
            change = PutScramCredential(user=name, password=password, mechanism=mechanism, iterations=iterations)
            # One for each request: brokers accept no more for one user.
            Admin.raise_any(await admin.alter_user_scram_credentials([change]))
    said = ", ".join(mechanism.sasl_name for mechanism in wanted)
    document = {"user": name, "mechanisms": [mechanism.sasl_name for mechanism in wanted]}
    cluster.show(document, [f"{'Altered' if exists else 'Added'} user {name} ({said})."])


async def _list(cluster: ClusterOptions, names: Sequence[str] | None) -> None:
    async with cluster.admin() as admin:
        found = Admin.raise_any(await admin.describe_user_scram_credentials(names))
    cluster.show(_as_json(found), [_line(user, infos) for user, infos in found.items()])


async def _delete(cluster: ClusterOptions, name: str, mechanisms: Sequence[ScramMechanism]) -> None:
    async with cluster.admin() as admin:
        known = [info.mechanism for info in await _known(admin, name)]
        gone = list(mechanisms) or known
        if not known or not set(gone) <= set(known):
            has = ", ".join(mechanism.sasl_name for mechanism in known) or "no mechanism"
            raise CommandFailure(f"nothing was deleted: the user {name!r} has {has}; see tidelog users list")
        for mechanism in gone:
            Admin.raise_any(
                await admin.alter_user_scram_credentials([DeleteScramCredential(user=name, mechanism=mechanism)])
            )
    said = ", ".join(mechanism.sasl_name for mechanism in gone)
    document = {"user": name, "mechanisms": [mechanism.sasl_name for mechanism in gone]}
    cluster.show(document, [f"Deleted user {name} ({said})."])


def _line(user: str, infos: Sequence[ScramCredentialInfo]) -> str:
    """As kafka-configs has it."""
    said = ", ".join(f"{info.mechanism.sasl_name}=iterations={info.iterations}" for info in infos)
    return f"SCRAM credential configs for user-principal '{user}' are {said}"


def _as_json(found: Mapping[str, Sequence[ScramCredentialInfo]]) -> list[dict[str, object]]:
    return [
        {
            "user": user,
            "credentials": [{"mechanism": info.mechanism.sasl_name, "iterations": info.iterations} for info in infos],
        }
        for user, infos in found.items()
    ]
