"""`tidelog acls`: the options of Kafka's kafka-acls, and its lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

import typer

from tidelog.cli.acl_arguments import (
    Entries,
    NamedPrincipals,
    NamedResources,
    Roles,
    entries_of,
    entry_text,
    parse_operation,
    parse_pattern_type,
    parse_principal,
    pattern_text,
)
from tidelog.cli.cluster_options import ClusterOptions, raise_failures
from tidelog.cli.option_groups import with_groups
from tidelog.cli.session import run
from tidelog.client.admin import AclBinding, AclFilter, Admin, Operation, PatternType, ResourcePattern
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.security.acls import WILDCARD

_Names = list[str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _ResourceOptions:
    topic: Annotated[_Names, typer.Option("--topic", help="A topic; '*' for all of them. Repeatable.")] = None
    group: Annotated[_Names, typer.Option("--group", help="A group; '*' for all of them. Repeatable.")] = None
    transactional_id: Annotated[
        _Names, typer.Option("--transactional-id", help="A transactional id; '*' for all of them. Repeatable.")
    ] = None
    delegation_token: Annotated[
        _Names, typer.Option("--delegation-token", help="The id of a delegation token. Repeatable.")
    ] = None
    user_principal: Annotated[
        _Names, typer.Option("--user-principal", help="A user whose tokens are meant. Repeatable.")
    ] = None
    of_cluster: Annotated[bool, typer.Option("--cluster", help="The cluster as a whole.")] = False
    resource_pattern_type: Annotated[
        str,
        typer.Option(
            "--resource-pattern-type",
            help="literal, or prefixed for all names that begin so. To list and remove also: any (of this name), match "
            "(all that are about this name).",
        ),
    ] = "literal"

    def named(self, roles: Roles) -> NamedResources:
        return NamedResources(
            topics=_trimmed(self.topic),
            groups=_trimmed(self.group),
            transactional_ids=_trimmed(self.transactional_id),
            delegation_tokens=_trimmed(self.delegation_token),
            users=_trimmed(self.user_principal),
            cluster=self.of_cluster or roles.idempotent,
            pattern_type=parse_pattern_type(self.resource_pattern_type),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _PrincipalOptions:
    allow_principal: Annotated[
        _Names, typer.Option("--allow-principal", metavar="TYPE:NAME", help="Who may: User:alice. Repeatable.")
    ] = None
    deny_principal: Annotated[
        _Names,
        typer.Option("--deny-principal", metavar="TYPE:NAME", help="Who may not, whatever else allows it. Repeatable."),
    ] = None
    allow_host: Annotated[
        _Names, typer.Option("--allow-host", metavar="ADDRESS", help="From where they may. Anywhere if not given.")
    ] = None
    deny_host: Annotated[
        _Names, typer.Option("--deny-host", metavar="ADDRESS", help="From where they may not. Anywhere if not given.")
    ] = None

    def named(self) -> NamedPrincipals:
        return NamedPrincipals(
            allowed=[parse_principal(each, "--allow-principal") for each in self.allow_principal or ()],
            denied=[parse_principal(each, "--deny-principal") for each in self.deny_principal or ()],
            allowed_hosts=_trimmed(self.allow_host) or [WILDCARD],
            denied_hosts=_trimmed(self.deny_host) or [WILDCARD],
        )


@with_groups
def acls(
    add: Annotated[bool, typer.Option("--add", help="Add ACLs.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Remove ACLs; without principals, all.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List ACLs; without a resource all of them.")] = False,
    operation: Annotated[
        _Names, typer.Option("--operation", help="Read, Write, ... Repeatable. All if not given.")
    ] = None,
    producer: Annotated[bool, typer.Option("--producer", help="What a producer needs on --topic.")] = False,
    consumer: Annotated[bool, typer.Option("--consumer", help="What a consumer needs on --topic and --group.")] = False,
    idempotent: Annotated[
        bool, typer.Option("--idempotent", help="With --producer: also IdempotentWrite on the cluster.")
    ] = False,
    principal: Annotated[
        _Names, typer.Option("--principal", metavar="TYPE:NAME", help="With --list: only of this one. Repeatable.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="With --remove: do not ask.")] = False,
    *,
    resources: _ResourceOptions,
    principals: _PrincipalOptions,
    cluster: ClusterOptions,
) -> None:
    """Show and change who may do what, with the options of kafka-acls. Changes take effect immediately.

    The brokers need authorizer.class.name. Whoever no ACL allows something is denied it, except for super.users.

    \b
    Examples:
      tidelog acls --add --allow-principal User:alice --producer --topic orders
      tidelog acls --add --allow-principal User:bob --consumer --topic orders --group billing
      tidelog acls --add --allow-principal User:alice --operation Read --topic logs- --resource-pattern-type prefixed
      tidelog acls --add --deny-principal User:eve --deny-host 10.0.0.7 --topic orders
      tidelog acls --list --topic orders --resource-pattern-type match
      tidelog acls --remove --topic orders --force
    """
    if [add, remove, list_].count(True) != 1:
        raise typer.BadParameter("exactly one of --add, --remove and --list is needed")
    roles = Roles(producer=producer, consumer=consumer, idempotent=idempotent)
    if list_:
        _refuse_with_list(roles, principals)
        wanted = [parse_principal(each, "--principal") for each in principal or ()]
        run(_list(cluster, resources.named(roles).patterns(), wanted))
        return
    if principal:
        raise typer.BadParameter("--principal goes with --list; use --allow-principal or --deny-principal")
    _check_roles(roles, resources, principals, operation)
    named = resources.named(roles)
    operations = [parse_operation(each) for each in operation or ()] or [Operation.ALL]
    entries = entries_of(named, principals.named(), operations, roles)
    if remove:
        run(_remove(cluster, entries, force=force))
        return
    if named.pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        raise typer.BadParameter(
            f"{named.pattern_type.name.lower()} is for --list and --remove; ACLs are literal or prefixed",
            param_hint="--resource-pattern-type",
        )
    if not all(entries.values()):
        raise typer.BadParameter("--add needs --allow-principal or --deny-principal")
    run(_add(cluster, entries))


def _trimmed(words: Iterable[str] | None) -> list[str]:
    return [word.strip() for word in words or ()]


def _refuse_with_list(roles: Roles, principals: _PrincipalOptions) -> None:
    given = (principals.allow_principal, principals.deny_principal, principals.allow_host, principals.deny_host)
    if roles.producer or roles.consumer or any(given):
        raise typer.BadParameter("--list takes resources and --principal, and nothing that an ACL would allow or deny")


def _check_roles(
    roles: Roles, resources: _ResourceOptions, principals: _PrincipalOptions, operation: Sequence[str] | None
) -> None:
    if roles.idempotent and not roles.producer:
        raise typer.BadParameter("--idempotent goes with --producer")
    if not roles.producer and not roles.consumer:
        return
    if operation or principals.deny_principal or principals.deny_host:
        raise typer.BadParameter(
            "--producer and --consumer say which operations are allowed; leave out --operation, --deny-principal and "
            "--deny-host"
        )
    if not resources.topic:
        raise typer.BadParameter("--producer and --consumer need a --topic")
    if roles.consumer and not resources.group:
        raise typer.BadParameter("--consumer needs a --group")
    if roles.consumer and not roles.producer and (resources.of_cluster or resources.transactional_id):
        raise typer.BadParameter("--consumer needs neither --cluster nor --transactional-id")


async def _add(cluster: ClusterOptions, entries: Entries) -> None:
    bindings = [AclBinding(pattern=pattern, entry=entry) for pattern, each in entries.items() for entry in each]
    async with cluster.admin() as admin:
        results = await admin.create_acls(bindings)
    raise_failures({f"{pattern_text(acl.pattern)} {entry_text(acl.entry)}": each for acl, each in results.items()})
    cluster.show(_as_json(bindings), _lines("Adding ACLs for resource", bindings))


async def _list(cluster: ClusterOptions, patterns: Sequence[ResourcePattern], principals: Sequence[str]) -> None:
    filters = [_filter(pattern) for pattern in patterns] or [AclFilter()]
    async with cluster.admin() as admin:
        found = dict.fromkeys([acl for each in filters for acl in await admin.describe_acls(each)])
    if not principals:
        cluster.show(_as_json(found), _lines("Current ACLs for resource", found))
        return
    chosen = {who: [acl for acl in found if acl.entry.principal == who] for who in principals}
    lines = [
        line
        for who, theirs in chosen.items()
        for line in (f"ACLs for principal `{who}`", *_lines("Current ACLs for resource", theirs))
    ]
    cluster.show(_as_json([acl for theirs in chosen.values() for acl in theirs]), lines)


async def _remove(cluster: ClusterOptions, entries: Entries, *, force: bool) -> None:
    filters: list[AclFilter] = []
    for pattern, each in entries.items():
        what = "\n".join(f"\t{entry_text(entry)}" for entry in each)
        question = (
            f"Are you sure you want to remove ACLs: \n {what} \n from resource filter `{pattern_text(pattern)}`?"
            if each
            else f"Are you sure you want to delete all ACLs for resource filter `{pattern_text(pattern)}`?"
        )
        if force or typer.confirm(question, err=True):
            filters += [_filter(pattern, AclBinding(pattern=pattern, entry=entry)) for entry in each] or [
                _filter(pattern)
            ]
    async with cluster.admin() as admin:
        results = Admin.raise_any(await admin.delete_acls(filters)) if filters else {}
    removed = dict.fromkeys(acl for each in results.values() for acl in each)
    lines = _lines("Removed ACLs for resource", removed) if removed else ["No ACL was removed."]
    cluster.show(_as_json(removed), lines)


def _filter(pattern: ResourcePattern, acl: AclBinding | None = None) -> AclFilter:
    if acl is None:
        return AclFilter(resource_type=pattern.resource_type, name=pattern.name, pattern_type=pattern.pattern_type)
    return AclFilter(
        resource_type=pattern.resource_type,
        name=pattern.name,
        pattern_type=pattern.pattern_type,
        principal=acl.entry.principal,
        host=acl.entry.host,
        operation=acl.entry.operation,
        permission_type=acl.entry.permission_type,
    )


def _lines(title: str, bindings: Iterable[AclBinding]) -> Iterable[str]:
    by_pattern: dict[ResourcePattern, list[AclBinding]] = {}
    for binding in bindings:
        by_pattern.setdefault(binding.pattern, []).append(binding)
    for pattern, theirs in by_pattern.items():
        # With the blanks of Kafka's tool, whose output people parse.
        entries = "\n".join(f"\t{entry_text(each.entry)}" for each in theirs)
        yield f"{title} `{pattern_text(pattern)}`: \n {entries} \n"


def _as_json(bindings: Iterable[AclBinding]) -> list[dict[str, str]]:
    return [
        {
            "resourceType": acl.pattern.resource_type.name,
            "resourceName": acl.pattern.name,
            "patternType": acl.pattern.pattern_type.name,
            "principal": acl.entry.principal,
            "host": acl.entry.host,
            "operation": acl.entry.operation.name,
            "permissionType": acl.entry.permission_type.name,
        }
        for acl in bindings
    ]
