"""Which topics a group is subscribed to, by name and by regular expression."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping

from tidelog.coordinators.consumer_groups.group import ConsumerGroup, ResolvedRegex
from tidelog.coordinators.consumer_groups.member import ConsumerMember
from tidelog.coordinators.consumer_groups.topics import Topics
from tidelog.coordinators.patterns import PatternProblem, compile_pattern

# Expressions that are kept compiled, over all groups of a shard.
MAX_COMPILED = 1000


class Regexes:
    """Regular expressions of all groups of a shard, and what they match: members of a group mostly share one."""

    def __init__(self) -> None:
        self._compiled: OrderedDict[str, _Regex] = OrderedDict()

    def check(self, regex: str) -> None:
        """Raises PatternProblem for what is not a regular expression."""
        self._get(regex)

    def matches(self, regex: str, topics: Topics) -> frozenset[str]:
        """The names of all topics that match as a whole."""
        try:
            return self._get(regex).matches(topics)
        except PatternProblem:
            # Checked when it came, so another broker has written it, which understands more than we do.
            return frozenset()

    def _get(self, regex: str) -> _Regex:
        found = self._compiled.get(regex)
        if found is None:
            found = self._compiled[regex] = _Regex(compile_pattern(regex))
            if len(self._compiled) > MAX_COMPILED:
                self._compiled.popitem(last=False)
        else:
            self._compiled.move_to_end(regex)
        return found


class _Regex:
    """Remembers the answer for each name, because topics come one at a time and stay."""

    __slots__ = ("_known", "_matches", "_names", "_version")

    def __init__(self, matches: Callable[[str], bool]) -> None:
        self._matches = matches
        self._known: dict[str, bool] = {}
        self._names: frozenset[str] = frozenset()
        self._version: int | None = None

    def matches(self, topics: Topics) -> frozenset[str]:
        if self._version != topics.version:
            known = self._known
            self._known = {name: known[name] if name in known else self._matches(name) for name in topics.names()}
            self._names = frozenset(name for name, matched in self._known.items() if matched)
            self._version = topics.version
        return self._names


def resolve_all(
    group: ConsumerGroup,
    members: Iterable[ConsumerMember],
    regexes: Regexes,
    topics: Topics,
    now_ms: int,
    *,
    sees: Callable[[str], bool] | None,
) -> dict[str, ResolvedRegex]:
    """What the expressions of these members match now. One that matches what it did before is the same value.

    `sees` is whether the member that has spoken may know of a topic. As in Kafka what it sees is what all members with
    the same expression get.
    """
    resolved: dict[str, ResolvedRegex] = {}
    for member in members:
        regex = member.profile.topic_regex
        if regex is None or regex in resolved:
            continue
        names = regexes.matches(regex, topics)
        if sees is not None:
            names = frozenset(filter(sees, names))
        before = group.resolved.get(regex)
        unchanged = before is not None and before.topic_names == names
        resolved[regex] = before if before is not None and unchanged else ResolvedRegex(names, topics.version, now_ms)
    return resolved


def subscribed_names(
    members: Mapping[str, ConsumerMember], resolved: Mapping[str, ResolvedRegex]
) -> dict[str, frozenset[str]]:
    """The topic names of each member, whether they exist or not."""
    return {member_id: names_of(member, resolved) for member_id, member in members.items()}


def names_of(member: ConsumerMember, resolved: Mapping[str, ResolvedRegex]) -> frozenset[str]:
    profile = member.profile
    if profile.topic_regex is None:
        return profile.topic_names
    found = resolved.get(profile.topic_regex)
    if found is None:
        return profile.topic_names
    return profile.topic_names | found.topic_names if profile.topic_names else found.topic_names
