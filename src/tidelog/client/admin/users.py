"""Users of SCRAM: what the cluster keeps of their passwords (KIP-554). Passwords themselves never leave the client."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import field

from tidelog.client.cluster.cluster import Cluster
from tidelog.client.errors import WrongUse, outcome, raise_for_code
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.lazy_dataclasses import dataclass
from tidelog.protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from tidelog.protocol.messages.alter_user_scram_credentials_response import AlterUserScramCredentialsResponse
from tidelog.protocol.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from tidelog.protocol.messages.describe_user_scram_credentials_response import (
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
)
from tidelog.security.scram import MINIMUM_ITERATIONS, SALT_BYTES, ScramMechanism, derive_salted_password


@dataclass(frozen=True, slots=True, kw_only=True)
class PutScramCredential:
    """Give a user this password, for one mechanism. What the user had for that mechanism is replaced."""

    user: str
    password: str = field(repr=False)
    mechanism: ScramMechanism = ScramMechanism.SHA_512
    iterations: int = MINIMUM_ITERATIONS
    # Random if it is not given.
    salt: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteScramCredential:
    user: str
    mechanism: ScramMechanism


@dataclass(frozen=True, slots=True, kw_only=True)
class ScramCredentialInfo:
    """That a user has a password for a mechanism, and how hard it is to guess."""

    mechanism: ScramMechanism
    iterations: int


class UserAdmin:
    _cluster: Cluster

    async def alter_user_scram_credentials(
        self,
        changes: Sequence[PutScramCredential | DeleteScramCredential],
        *,
        timeout_ms: float | None = None,
    ) -> dict[str, ApiError | None]:
        """Set and delete passwords. Brokers accept one change for each user in a call, for one mechanism."""
        for user, times in Counter(change.user for change in changes).items():
            if times > 1:
                raise WrongUse(f"the user {user!r} has more than one change; make one call for each mechanism")
        puts = [change for change in changes if isinstance(change, PutScramCredential)]
        deletes = [change for change in changes if isinstance(change, DeleteScramCredential)]
        request = AlterUserScramCredentialsRequest(
            deletions=[ScramCredentialDeletion(name=each.user, mechanism=each.mechanism.value) for each in deletes],
            upsertions=[await self._upsertion(each) for each in puts],
        )

        async def attempt() -> dict[str, ApiError | None]:
            reply = await self._cluster.ask_controller(request, AlterUserScramCredentialsResponse)
            for result in reply.results:
                # Said for all of them.
                if result.error_code == ErrorCode.NOT_CONTROLLER:
                    raise_for_code(result.error_code, result.error_message)
            return {each.user: outcome(each.error_code, each.error_message, None) for each in reply.results}

        return await self._cluster.retry("altering credentials", attempt, timeout_ms=timeout_ms)

    async def describe_user_scram_credentials(
        self, users: Collection[str] | None = None, *, timeout_ms: float | None = None
    ) -> dict[str, tuple[ScramCredentialInfo, ...] | ApiError]:
        """For which mechanisms these users, or all, have passwords."""
        asked = None if users is None else [UserName(name=user) for user in dict.fromkeys(users)]

        async def attempt() -> dict[str, tuple[ScramCredentialInfo, ...] | ApiError]:
            if asked == []:
                return {}
            request = DescribeUserScramCredentialsRequest(users=asked)
            reply = await self._cluster.ask_any(request, DescribeUserScramCredentialsResponse)
            raise_for_code(reply.error_code, reply.error_message)
            return {
                each.user: outcome(each.error_code, each.error_message, tuple(map(_info, each.credential_infos)))
                for each in sorted(reply.results, key=lambda each: each.user)
            }

        return await self._cluster.retry("describing credentials", attempt, timeout_ms=timeout_ms)

    async def _upsertion(self, put: PutScramCredential) -> ScramCredentialUpsertion:
        salt = self._cluster.randomness.random_bytes(SALT_BYTES) if put.salt is None else put.salt
        # In a thread: it takes milliseconds, on purpose.
        salted = await asyncio.to_thread(
            derive_salted_password, put.mechanism, put.password, salt, max(put.iterations, 1)
        )
        return ScramCredentialUpsertion(
            name=put.user,
            mechanism=put.mechanism.value,
            iterations=put.iterations,
            salt=salt,
            salted_password=salted,
        )


def _info(info: CredentialInfo) -> ScramCredentialInfo:
    return ScramCredentialInfo(mechanism=ScramMechanism(info.mechanism), iterations=info.iterations)
