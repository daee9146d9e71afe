"""Access control entries and SCRAM credentials in the image: replayed, written down again, and compared."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.metadata.difference import difference
from tidelog.metadata.draft import BrokenMetadata
from tidelog.metadata.image import ClusterImage
from tidelog.metadata.records import decode_record, encode_record
from tidelog.metadata.replay import apply
from tidelog.metadata.snapshot import acl_record, image_records
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.remove_access_control_entry_record import RemoveAccessControlEntryRecord
from tidelog.protocol.messages.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from tidelog.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from tidelog.protocol.schema import Message
from tidelog.security.acls import (
    AccessControlEntry,
    AclBinding,
    AclResourceType,
    Operation,
    PatternType,
    PermissionType,
    ResourcePattern,
)
from tidelog.security.scram import ScramCredential, ScramMechanism, credential_record

EMPTY = ClusterImage(cluster_id="cluster")
A, B, C = (Uuid(letter * 16) for letter in (b"a", b"b", b"c"))
SHA_256, SHA_512 = ScramMechanism.SHA_256, ScramMechanism.SHA_512


def image_of(*records: Message) -> ClusterImage:
    return apply(EMPTY, records)[0]


def binding(name: str = "t", principal: str = "User:ann", operation: Operation = Operation.READ) -> AclBinding:
    return AclBinding(
        pattern=ResourcePattern(resource_type=AclResourceType.TOPIC, name=name, pattern_type=PatternType.PREFIXED),
        entry=AccessControlEntry(
            principal=principal, operation=operation, permission_type=PermissionType.DENY, host="1.2.3.4"
        ),
    )


def credential(letter: bytes = b"s", iterations: int = 4096) -> ScramCredential:
    return ScramCredential(salt=letter, stored_key=letter * 32, server_key=letter * 32, iterations=iterations)


def test_an_acl_is_found_by_its_id_and_in_the_set() -> None:
    image, delta = apply(EMPTY, [acl_record(A, binding())])
    assert image.acls == {A: binding()}
    assert binding() in image.acl_set
    assert (delta.acls, delta.scram_credentials, delta.client_quotas) == (True, False, False)
    without, delta = apply(image, [RemoveAccessControlEntryRecord(id=A)])
    assert without == EMPTY
    assert len(without.acl_set) == 0
    assert delta.acls
    assert binding() in image.acl_set


def test_an_acl_that_comes_and_goes_in_one_batch_is_no_change() -> None:
    image, delta = apply(EMPTY, [acl_record(A, binding()), RemoveAccessControlEntryRecord(id=A)])
    assert image == EMPTY
    assert not delta.acls
    # The same ACL may be there again under another id.
    assert image_of(acl_record(A, binding()), RemoveAccessControlEntryRecord(id=A), acl_record(B, binding())).acls == {
        B: binding()
    }


def test_a_credential_is_set_replaced_and_removed_for_one_mechanism() -> None:
    image, delta = apply(EMPTY, [credential_record("ann", mechanism, credential()) for mechanism in ScramMechanism])
    assert set(image.scram_credentials) == {(SHA_256, "ann"), (SHA_512, "ann")}
    assert (delta.acls, delta.scram_credentials) == (False, True)
    image, delta = apply(image, [credential_record("ann", SHA_512, credential(b"n", 8192))])
    assert image.scram_credentials[SHA_512, "ann"] == credential(b"n", 8192)
    assert delta.scram_credentials
    _, delta = apply(image, [credential_record("ann", SHA_512, credential(b"n", 8192))])
    assert not delta.scram_credentials
    image, delta = apply(image, [RemoveUserScramCredentialRecord(name="ann", mechanism=2)])
    assert image.scram_credentials == {(SHA_256, "ann"): credential()}
    assert delta.scram_credentials


@pytest.mark.parametrize(
    ("records", "complaint"),
    [
        ([acl_record(A, binding()), acl_record(A, binding("u"))], "which another ACL has"),
        ([acl_record(A, binding()), acl_record(B, binding())], "exists already"),
        ([RemoveAccessControlEntryRecord(id=A)], "removes the ACL with the unknown id 6161"),
        ([RemoveUserScramCredentialRecord(name="ann", mechanism=1)], "the SCRAM-SHA-256 credential of 'ann'"),
        ([UserScramCredentialRecord(name="ann", mechanism=3)], "the unknown SCRAM mechanism 3"),
    ],
)
def test_a_log_that_contradicts_itself_is_refused(records: list[Message], complaint: str) -> None:
    with pytest.raises(BrokenMetadata, match=complaint):
        image_of(*records)


def test_no_key_of_a_credential_is_shown_with_the_image() -> None:
    image = image_of(credential_record("ann", SHA_256, credential(b"q")))
    assert "qqqq" not in repr(image)
    assert "4096" in repr(image)


def test_two_images_differ_where_their_acls_and_credentials_do() -> None:
    one = image_of(acl_record(A, binding()), credential_record("ann", SHA_256, credential()))
    delta = difference(EMPTY, one)
    assert (delta.acls, delta.scram_credentials) == (True, True)
    delta = difference(one, image_of(*image_records(one)))
    assert (delta.acls, delta.scram_credentials) == (False, False)


acls = st.builds(binding, st.sampled_from("tu"), st.sampled_from(["User:ann", "User:*"]), st.sampled_from(Operation))
changes = st.lists(
    st.tuples(st.sampled_from([A, B, C]), acls)
    | st.tuples(
        st.sampled_from([SHA_256, SHA_512]), st.sampled_from(["ann", "bob"]), st.none() | st.binary(max_size=3)
    ),
    max_size=20,
)


@settings(max_examples=100)
@given(st.lists(changes, max_size=4))
def test_images_of_random_records_survive_a_snapshot(batches: list[list[tuple[object, ...]]]) -> None:
    image = EMPTY
    for batch in batches:
        now, records = image, list[Message]()
        for change in batch:
            record = _record(now, change)
            if record is not None:
                records.append(decode_record(encode_record(record)).message)
                now = apply(now, [record])[0]
        after, delta = apply(image, records)
        assert after == now
        assert delta.acls == (image.acls != after.acls)
        assert delta.scram_credentials == (image.scram_credentials != after.scram_credentials)
        after.check_invariants(image)
        image = after
    assert len(image.acl_set) == len(image.acls)
    assert all(each in image.acl_set for each in image.acls.values())
    assert image_of(*image_records(image)) == image


def _record(image: ClusterImage, change: tuple[object, ...]) -> Message | None:
    """A record that makes sense in the image: what is there already is removed."""
    match change:
        case bytes(acl_id), AclBinding() as wanted:
            if acl_id in image.acls:
                return RemoveAccessControlEntryRecord(id=acl_id)
            return None if wanted in image.acl_set else acl_record(Uuid(acl_id), wanted)
        case ScramMechanism() as mechanism, str(user), bytes(salt):
            return credential_record(user, mechanism, credential(salt))
        case ScramMechanism() as mechanism, str(user), None:
            known = (mechanism, user) in image.scram_credentials
            return RemoveUserScramCredentialRecord(name=user, mechanism=mechanism.value) if known else None
        case _:
            raise AssertionError(change)
