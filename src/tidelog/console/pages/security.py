"""Users of SCRAM and quotas. ACLs are in `acls`.

Passwords come in the bodies of requests. They are neither answered nor logged: what is said about a request with one
names the user only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.responses import Response

from tidelog.client.admin import (
    Admin,
    DeleteScramCredential,
    PutScramCredential,
    QuotaEntity,
    ScramCredentialInfo,
    ScramMechanism,
    quota_entity,
)
from tidelog.console.findings.security_words import entity_in_words, own_user, why_not_told
from tidelog.console.pages.changes import until_seen
from tidelog.console.parts import Parts
from tidelog.console.replies import CONFLICT, ConsoleRefusal, Json, is_text, reply
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.network.client_connection import UnsupportedByBroker
from tidelog.security.quotas.entities import entity_refusal, value_refusal
from tidelog.security.scram import MAXIMUM_ITERATIONS, MINIMUM_ITERATIONS

router = APIRouter()

_MOST_ROWS = 2_000
_LONGEST_NAME = 10_000
_LONGEST_PASSWORD = 1_000

Name = Annotated[str, Field(min_length=1, max_length=_LONGEST_NAME)]


# -- users -------------------------------------------------------------------------------------------------------------

_Credentials = Mapping[str, tuple[ScramCredentialInfo, ...] | ApiError]


@router.get("/security/users")
async def users(parts: Parts) -> Response:
    """`problem` says why they are not told. `own` is the user as which the console has logged in, if it is known."""
    admin = await parts.cluster.admin()
    document: dict[str, Json] = {
        "users": None,
        "left_out": 0,
        "problem": None,
        "own": own_user(parts.cluster.properties),
        "iterations": {"min": MINIMUM_ITERATIONS, "max": MAXIMUM_ITERATIONS},
    }
    try:
        found = await admin.describe_user_scram_credentials()
    except (ApiError, UnsupportedByBroker) as error:
        problem = why_not_told("users", "Describe on the cluster", error)
        if problem is None:
            raise
        return reply({**document, "problem": problem})
    shown = list(found.items())[:_MOST_ROWS]
    return reply(
        {**document, "users": [_user(user, each) for user, each in shown], "left_out": len(found) - len(shown)}
    )


def _user(user: str, found: tuple[ScramCredentialInfo, ...] | ApiError) -> dict[str, Json]:
    if isinstance(found, ApiError):
        return {"name": user, "credentials": [], "problem": str(found)}
    return {
        "name": user,
        "credentials": [{"mechanism": each.mechanism.sasl_name, "iterations": each.iterations} for each in found],
        "problem": None,
    }


class PasswordChange(BaseModel):
    """The password is checked here: what FastAPI says about a value of a wrong type has the value in it."""

    user: Name
    mechanism: str
    password: object = Field(repr=False)
    iterations: int = Field(MINIMUM_ITERATIONS, ge=MINIMUM_ITERATIONS, le=MAXIMUM_ITERATIONS)


@router.post("/security/users/password")
async def set_password(parts: Parts, wanted: PasswordChange) -> Response:
    """Adds the user, or replaces the password for this mechanism."""
    password, mechanism = wanted.password, _mechanism(wanted.mechanism)
    if not isinstance(password, str) or not 0 < len(password) <= _LONGEST_PASSWORD:
        raise ConsoleRefusal(f"the password must be a text of 1 to {_LONGEST_PASSWORD:,} characters")
    if not is_text(password):
        raise ConsoleRefusal("the password has half a surrogate pair, which has no bytes in UTF-8")
    admin = await parts.cluster.admin()
    put = PutScramCredential(user=wanted.user, password=password, mechanism=mechanism, iterations=wanted.iterations)
    refusal = (await admin.alter_user_scram_credentials([put])).get(wanted.user)
    if refusal is not None:
        said = (refusal.message or refusal.code.name).replace(password, "(not shown)")
        raise ConsoleRefusal(f"the password of {wanted.user!r} was not set: {_words(said, refusal)}", CONFLICT)
    expected = ScramCredentialInfo(mechanism=mechanism, iterations=wanted.iterations)
    await until_seen(lambda: _has(admin, wanted.user, lambda found: expected in found))
    return reply({"user": wanted.user, "mechanism": mechanism.sasl_name})


class PasswordDeletion(BaseModel):
    user: Name
    mechanism: str


@router.post("/security/users/delete")
async def delete_password(parts: Parts, wanted: PasswordDeletion) -> Response:
    """A user without a password for any mechanism is no longer there."""
    mechanism = _mechanism(wanted.mechanism)
    admin = await parts.cluster.admin()
    deletion = DeleteScramCredential(user=wanted.user, mechanism=mechanism)
    refusal = (await admin.alter_user_scram_credentials([deletion])).get(wanted.user)
    if refusal is not None:
        said = _words(refusal.message or refusal.code.name, refusal)
        raise ConsoleRefusal(
            f"the password of {wanted.user!r} for {mechanism.sasl_name} was not deleted: {said}", CONFLICT
        )
    await until_seen(
        lambda: _has(admin, wanted.user, lambda found: mechanism not in (each.mechanism for each in found))
    )
    return reply({"user": wanted.user, "mechanism": mechanism.sasl_name})


async def _has(admin: Admin, user: str, accepts: Callable[[tuple[ScramCredentialInfo, ...]], bool]) -> bool:
    found = (await admin.describe_user_scram_credentials([user])).get(user)
    return accepts(() if found is None or isinstance(found, ApiError) else found)


def _mechanism(name: str) -> ScramMechanism:
    for mechanism in ScramMechanism:
        if mechanism.sasl_name == name:
            return mechanism
    known = " or ".join(each.sasl_name for each in ScramMechanism)
    raise ConsoleRefusal(f"the mechanism must be {known}, but is {name!r}")


def _words(said: str, refusal: ApiError) -> str:
    if refusal.code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        return "this client needs Alter on the cluster"
    return said


# -- quotas ------------------------------------------------------------------------------------------------------------


@router.get("/security/quotas")
async def quotas(parts: Parts) -> Response:
    admin = await parts.cluster.admin()
    try:
        found = await admin.describe_client_quotas()
    except (ApiError, UnsupportedByBroker) as error:
        problem = why_not_told("quotas", "DescribeConfigs on the cluster", error)
        if problem is None:
            raise
        return reply({"quotas": None, "left_out": 0, "problem": problem})
    shown = sorted(found.items(), key=lambda each: [(kind, name or "") for kind, name in each[0]])[:_MOST_ROWS]
    return reply(
        {
            "quotas": [
                {
                    "entity": [{"type": kind, "name": name} for kind, name in entity],
                    "values": dict(sorted(values.items())),
                }
                for entity, values in shown
            ],
            "left_out": len(found) - len(shown),
            "problem": None,
        }
    )


class WantedQuotas(BaseModel):
    """A name that is None is the default of its type; a value that is None removes the quota."""

    entity: dict[str, Annotated[str, Field(max_length=_LONGEST_NAME)] | None] = Field(min_length=1, max_length=2)
    values: dict[str, float | None] = Field(min_length=1, max_length=10)


@router.post("/security/quotas/change")
async def change_quotas(parts: Parts, wanted: WantedQuotas) -> Response:
    entity = quota_entity(wanted.entity.items())
    problem = entity_refusal(entity)
    for key, value in wanted.values.items():
        if problem is None and value is not None:
            problem = value_refusal(entity, key, value)
    if problem is not None:
        raise ConsoleRefusal(problem.message)
    admin = await parts.cluster.admin()
    refusal = (await admin.alter_client_quotas({entity: wanted.values}))[entity]
    if refusal is not None:
        said = refusal.message or refusal.code.name
        if refusal.code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            said = "this client needs AlterConfigs on the cluster"
        raise ConsoleRefusal(f"the quotas of {entity_in_words(entity)} were not changed: {said}", CONFLICT)
    await until_seen(lambda: _has_quotas(admin, entity, wanted.values))
    return reply({"entity": dict(entity)})


async def _has_quotas(admin: Admin, entity: QuotaEntity, wanted: Mapping[str, float | None]) -> bool:
    found = (await admin.describe_client_quotas()).get(entity, {})
    return all(found.get(key) == value for key, value in wanted.items())
