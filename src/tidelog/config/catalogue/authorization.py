"""Who may do what: the properties of Apache Kafka's StandardAuthorizer."""

from __future__ import annotations

from tidelog.config.definitions import ConfigValue
from tidelog.config.fields import boolean, section, string
from tidelog.security.authorizer import parse_super_users

# The one authorizer there is. Its decisions are made in `tidelog.security.authorizer`.
STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


class _KnownAuthorizer:
    def allows(self, value: ConfigValue) -> bool:
        return value in ("", STANDARD_AUTHORIZER)

    def describe(self) -> str:
        return f"be {STANDARD_AUTHORIZER}, or empty for none, since tidelog cannot load Java classes"


class _Principals:
    def allows(self, value: ConfigValue) -> bool:
        try:
            parse_super_users(str(value))
        except ValueError:
            return False
        return True

    def describe(self) -> str:
        return "be principals with their types, separated by semicolons, such as User:admin;User:broker"


@section
class AuthorizationSection:
    authorizer_class_name: str = string(
        "",
        "What decides who may do what, by the ACLs of the cluster: Kafka's StandardAuthorizer. Empty: all may do all.",
        _KnownAuthorizer(),
    )
    super_users: str = string(
        "",
        "The principals that may do everything, with semicolons between them. Those of nodes belong here.",
        _Principals(),
    )
    allow_everyone_if_no_acl_found: bool = boolean(
        False, "Whether everybody may do everything with a resource that no ACL is about."
    )
