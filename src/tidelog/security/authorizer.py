"""Whether somebody may do something: the decision that Apache Kafka's StandardAuthorizer makes, over a set of ACLs.

`AclSet` finds the ACLs of a resource, `Authorizer` decides. What ACLs are is in `tidelog.security.acls`; they are kept,
by their ids, in the metadata image; the server logs decisions and answers clients.

The rules, in this order. Super users may do everything. A DENY decides before any ALLOW. An ALLOW for READ, WRITE,
DELETE or ALTER allows DESCRIBE as well, and one for ALTER_CONFIGS allows DESCRIBE_CONFIGS; a DENY denies its own
operation alone. What no ACL decides is denied. With `allow.everyone.if.no.acl.found` it is allowed, but only if the
resource has no ACL at all: one for another principal, host or operation is enough to deny it.

**How ACLs are found.** Their names are in a radix tree, one for each type of resource. One walk along the name of a
resource passes those of its prefixes that ACLs have, and ends at the name itself. At each name the rules are kept by
principal, since one name (`*` above all) may have rules for thousands. So a decision costs a few steps for each prefix
that matches, however many ACLs there are.

**How the set changes.** The metadata log adds and removes ACLs one by one, while requests are still decided over the
set of the image before. So a set is never changed. The next one has new nodes on the way to one name and shares all
others: copying everything would make loading n ACLs quadratic.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

from tidelog.model.lazy_dataclasses import dataclass
from tidelog.model.principal import Principal
from tidelog.security.acls import (
    SUPPORTED_BITS,
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclBinding,
    AclResourceType,
    Operation,
    PatternType,
    PermissionType,
    Resource,
    ResourcePattern,
    operation_bits,
)

V = TypeVar("V")


# --------------------------------------------------------------------------------------------------------------
# Decisions, and the rules that lead to them.


class Reason(Enum):
    """What decided, in the words of Kafka's audit log."""

    SUPER_USER = "SuperUser"
    ACL = "MatchingAcl"
    ALLOWED_BY_DEFAULT = "DefaultAllow"
    DENIED_BY_DEFAULT = "DefaultDeny"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessDecision:
    """Whether something is allowed, and why. It has a binding if an ACL decided."""

    allowed: bool
    reason: Reason
    binding: AclBinding | None = None

    @property
    def rule(self) -> str:
        """In the form of Kafka's audit log, which people's tools read."""
        if self.binding is None:
            return self.reason.value
        pattern, entry = self.binding.pattern, self.binding.entry
        acl = (
            f"StandardAcl[resourceType={pattern.resource_type.name}, resourceName={pattern.name}, "
            f"patternType={pattern.pattern_type.name}, principal={entry.principal}, host={entry.host}, "
            f"operation={entry.operation.name}, permissionType={entry.permission_type.name}]"
        )
        return f"{self.reason.value}(acl={acl})"


_SUPER_USER = AccessDecision(allowed=True, reason=Reason.SUPER_USER)
_ALLOWED_BY_DEFAULT = AccessDecision(allowed=True, reason=Reason.ALLOWED_BY_DEFAULT)
_DENIED_BY_DEFAULT = AccessDecision(allowed=False, reason=Reason.DENIED_BY_DEFAULT)

# The operations that an ALLOW allows besides its own.
_IMPLIED: Mapping[Operation, Operation] = MappingProxyType(
    {
        Operation.READ: Operation.DESCRIBE,
        Operation.WRITE: Operation.DESCRIBE,
        Operation.DELETE: Operation.DESCRIBE,
        Operation.ALTER: Operation.DESCRIBE,
        Operation.ALTER_CONFIGS: Operation.DESCRIBE_CONFIGS,
    }
)
_EVERY_OPERATION = operation_bits(Operation)


class _AclRule(NamedTuple):
    """An ACL as decisions read it, many times for each request: a tuple, with the decision made beforehand."""

    host: str
    # Of the operations that it decides on.
    bits: int
    decision: AccessDecision


def _rule(binding: AclBinding) -> _AclRule:
    entry = binding.entry
    allows = entry.permission_type == PermissionType.ALLOW
    decided = {entry.operation}
    if allows and entry.operation in _IMPLIED:
        decided.add(_IMPLIED[entry.operation])
    bits = _EVERY_OPERATION if entry.operation == Operation.ALL else operation_bits(decided)
    return _AclRule(entry.host, bits, AccessDecision(allowed=allows, reason=Reason.ACL, binding=binding))


# --------------------------------------------------------------------------------------------------------------
# The radix tree.


class _Node(NamedTuple, Generic[V]):
    """A key is what the labels on the way to a node add up to.

    Except for the root, a node that has no value has at least two children.
    """

    label: str = ""
    value: V | None = None
    # By the first character of their labels.
    children: Mapping[str, _Node[V]] = MappingProxyType({})


def _put(root: _Node[V], key: str, value: V | None) -> _Node[V]:
    """The tree with this value under the key; None takes it away. Only the nodes on the way to it are new."""
    path: list[_Node[V]] = []
    node, at = root, 0
    while at < len(key):
        child = node.children.get(key[at])
        if child is None:
            child = _Node(key[at:])
        elif not key.startswith(child.label, at):
            child = _split(child, key, at)
        path.append(node)
        node, at = child, at + len(child.label)
    changed = _Node(node.label, value, node.children)
    # Not by recursion: prefixes of prefixes may be nested deeper than Python's stack.
    for parent in reversed(path):
        children = {**parent.children, changed.label[0]: changed}
        if changed.value is None and not changed.children:
            del children[changed.label[0]]
        elif changed.value is None and len(changed.children) == 1:
            (only,) = changed.children.values()
            children[changed.label[0]] = _Node(changed.label + only.label, only.value, only.children)
        changed = _Node(parent.label, parent.value, children)
    return changed


def _split(child: _Node[V], key: str, at: int) -> _Node[V]:
    """A node for what the child's label and the rest of the key share, with the child below it."""
    shared = 1
    while at + shared < len(key) and key[at + shared] == child.label[shared]:
        shared += 1
    lower = _Node(child.label[shared:], child.value, child.children)
    return _Node(child.label[:shared], None, {lower.label[0]: lower})


def _get(root: _Node[V], key: str) -> V | None:
    node, at = root, 0
    while at < len(key):
        child = node.children.get(key[at])
        if child is None or not key.startswith(child.label, at):
            return None
        node, at = child, at + len(child.label)
    return node.value


# --------------------------------------------------------------------------------------------------------------
# The set of ACLs.

# The rules of one pattern by the principal that they name, those that deny first.
_Rules = Mapping[str, tuple[_AclRule, ...]]
_NO_RULES: _Rules = MappingProxyType({})


class _Named(NamedTuple):
    """The rules of the two patterns that have one name."""

    literal: _Rules = _NO_RULES
    prefixed: _Rules = _NO_RULES


class _OfType(NamedTuple):
    """The ACLs of one type of resource."""

    # Those of the literal pattern `*`.
    everywhere: _Rules = _NO_RULES
    by_name: _Node[_Named] = _Node()
    # All of them once more, for questions that name no resource.
    by_principal: _Node[Mapping[AclBinding, _AclRule]] = _Node()


_NONE_OF_TYPE = _OfType()


class AclSet:
    """ACLs, each of them once. Never changed: `added` and `removed` return another set."""

    __slots__ = ("_of_types", "_size")

    def __init__(self) -> None:
        self._of_types: Mapping[AclResourceType, _OfType] = {}
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __contains__(self, binding: AclBinding) -> bool:
        return binding in self.rules_of_principal(binding.pattern.resource_type, binding.entry.principal)

    def added(self, binding: AclBinding) -> AclSet:
        """Raises ValueError if it is there already."""
        if binding in self:
            raise ValueError(f"this ACL exists already: {binding}")
        return self._changed(binding, _rule(binding))

    def removed(self, binding: AclBinding) -> AclSet:
        """Raises ValueError if it is not there."""
        if binding not in self:
            raise ValueError(f"there is no such ACL: {binding}")
        return self._changed(binding, None)

    def rules_of(self, resource: Resource) -> list[_Rules]:
        """Of all patterns that cover the resource: longer names first, literal ones before prefixes, `*` last."""
        of_type = self._of_types.get(resource.type, _NONE_OF_TYPE)
        found = [of_type.everywhere] if of_type.everywhere else []
        node, at, name = of_type.by_name, 0, resource.name
        while True:
            named = node.value
            if named is not None:
                if named.prefixed:
                    found.append(named.prefixed)
                if named.literal and at == len(name):
                    found.append(named.literal)
            child = node.children.get(name[at]) if at < len(name) else None
            if child is None or not name.startswith(child.label, at):
                break
            node, at = child, at + len(child.label)
        found.reverse()
        return found

    def rules_of_principal(self, resource_type: AclResourceType, principal: str) -> Mapping[AclBinding, _AclRule]:
        """Those that name this principal."""
        return _get(self._of_types.get(resource_type, _NONE_OF_TYPE).by_principal, principal) or {}

    def _changed(self, binding: AclBinding, rule: _AclRule | None) -> AclSet:
        """With this rule for the binding, or with none."""
        pattern, principal = binding.pattern, binding.entry.principal
        everywhere, by_name, by_principal = self._of_types.get(pattern.resource_type, _NONE_OF_TYPE)
        # A pattern of a type that this version does not know covers nothing.
        if pattern.pattern_type == PatternType.LITERAL and pattern.name == WILDCARD:
            everywhere = _with_rule(everywhere, binding, rule)
        elif pattern.pattern_type in (PatternType.LITERAL, PatternType.PREFIXED):
            named = _get(by_name, pattern.name) or _Named()
            if pattern.pattern_type == PatternType.LITERAL:
                named = named._replace(literal=_with_rule(named.literal, binding, rule))
            else:
                named = named._replace(prefixed=_with_rule(named.prefixed, binding, rule))
            by_name = _put(by_name, pattern.name, named if any(named) else None)
        rules = dict(self.rules_of_principal(pattern.resource_type, principal))
        if rule is None:
            del rules[binding]
        else:
            rules[binding] = rule
        by_principal = _put(by_principal, principal, rules or None)
        changed = AclSet()
        changed._of_types = {**self._of_types, pattern.resource_type: _OfType(everywhere, by_name, by_principal)}
        changed._size = self._size + (-1 if rule is None else 1)
        return changed


def _breadth(rule: _AclRule) -> tuple[bool, bool, str, int, int]:
    return rule.decision.allowed, rule.host == WILDCARD, rule.host, rule.bits.bit_count(), rule.bits


def _with_rule(rules: _Rules, binding: AclBinding, rule: _AclRule | None) -> _Rules:
    changed = dict(rules)
    named = [each for each in changed.pop(binding.entry.principal, ()) if each.decision.binding != binding]
    if rule is not None:
        named.append(rule)
    if named:
        # Of those that decide the same, the audit log names the first: hosts before `*`, one operation before many.
        named.sort(key=_breadth)
        changed[binding.entry.principal] = tuple(named)
    return changed


# --------------------------------------------------------------------------------------------------------------
# The decision.

# What Java takes for blanks, so that a list of users means the same to both.
_BLANKS = "".join(map(chr, range(ord(" ") + 1)))

# The name for which Kafka decides first when no resource is named. It shows only where ACLs are for such a name.
_SOME_NAME = "hardcode"


def parse_super_users(text: str) -> frozenset[str]:
    """The value of `super.users`: principals, separated by semicolons. Raises ValueError."""
    users = frozenset(user for part in text.split(";") if (user := part.strip(_BLANKS)))
    for user in sorted(users):
        if ":" not in user:
            raise ValueError(
                f"super.users names {user!r}, which has no type; write 'User:{user}', and ';' between users"
            )
    return users


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorizer:
    """Decides by the ACLs of one image. Hosts are addresses as `acl_host` writes them."""

    acls: AclSet
    # As `str` writes principals.
    super_users: frozenset[str] = frozenset()
    allow_everyone_if_no_acl_found: bool = False

    def authorize(self, principal: Principal, host: str, operation: Operation, resource: Resource) -> AccessDecision:
        who = str(principal)
        if who in self.super_users:
            return _SUPER_USER
        wanted = 1 << operation
        allowing: AccessDecision | None = None
        found = self.acls.rules_of(resource)
        for rules in found:
            for named in (who, WILDCARD_PRINCIPAL):
                for rule_host, bits, decision in rules.get(named, ()):
                    if bits & wanted and rule_host in (WILDCARD, host):
                        if not decision.allowed:
                            return decision
                        allowing = allowing or decision
        if allowing is None and not found and self.allow_everyone_if_no_acl_found:
            return _ALLOWED_BY_DEFAULT
        return allowing or _DENIED_BY_DEFAULT

    def authorize_by_resource_type(
        self, principal: Principal, host: str, operation: Operation, resource_type: AclResourceType
    ) -> AccessDecision:
        """Whether the operation is allowed on some resource of the type (KIP-679): may this be a producer at all?

        As in Kafka, an ALLOW counts if no DENY rules out everything that it allows. One for `*` is ruled out by a DENY
        for `*` alone. Operations that others imply do not count here.
        """
        decision = self.authorize(principal, host, operation, Resource(resource_type, _SOME_NAME))
        if decision.allowed:
            return decision
        denials: dict[tuple[PatternType, str], AccessDecision] = {}
        allowing: list[tuple[ResourcePattern, AccessDecision]] = []
        for named in (str(principal), WILDCARD_PRINCIPAL):
            for binding, rule in self.acls.rules_of_principal(resource_type, named).items():
                pattern, entry = binding.pattern, binding.entry
                if entry.host not in (WILDCARD, host) or entry.operation not in (operation, Operation.ALL):
                    continue
                if entry.permission_type == PermissionType.DENY:
                    denials[pattern.pattern_type, pattern.name] = rule.decision
                elif entry.permission_type == PermissionType.ALLOW:
                    allowing.append((pattern, rule.decision))
        everything = denials.get((PatternType.LITERAL, WILDCARD))
        if everything is not None:
            return everything
        return next((allows for pattern, allows in allowing if _is_left(pattern, denials)), decision)

    def authorized_operations(self, principal: Principal, host: str, resource: Resource) -> int:
        """Everything that is allowed and makes sense for this type of resource, as bits (KIP-430)."""
        supported = SUPPORTED_BITS[resource.type]
        who = str(principal)
        found = self.acls.rules_of(resource)
        if who in self.super_users or (not found and self.allow_everyone_if_no_acl_found):
            return supported
        allowed = denied = 0
        for rules in found:
            for named in (who, WILDCARD_PRINCIPAL):
                for rule_host, bits, decision in rules.get(named, ()):
                    if rule_host not in (WILDCARD, host):
                        continue
                    if decision.allowed:
                        allowed |= bits
                    else:
                        denied |= bits
        return allowed & ~denied & supported


def _is_left(pattern: ResourcePattern, denials: Mapping[tuple[PatternType, str], AccessDecision]) -> bool:
    """Whether something that the pattern covers may be left over by what is denied."""
    name, pattern_type = pattern.name, pattern.pattern_type
    if pattern_type == PatternType.LITERAL and name == WILDCARD:
        return True
    if pattern_type == PatternType.UNKNOWN or (pattern_type == PatternType.LITERAL and (pattern_type, name) in denials):
        return False
    return not any((PatternType.PREFIXED, name[:length]) in denials for length in range(1, len(name) + 1))
