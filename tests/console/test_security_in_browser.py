"""Users, ACLs and quotas in Chromium, with and without an authorizer. Passwords do not come back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.accessibility import check_looks, prepare
from support.browser import HEIGHT, WIDTH, Locator, OpenPage, Page, expect
from support.console_clusters import Cluster, ClusterKind
from support.console_process import ConsoleOfTest, Consoles
from support.planted_secrets import PLANTED, leaked
from support.secure_tidelog import SecureTidelog, running_secure

from tidelog import read_config
from tidelog.client.admin import AclFilter, ScramMechanism, quota_entity
from tidelog.sync import Admin

if TYPE_CHECKING:
    from playwright.sync_api import Route

PASSWORD = "planted-password-of-a-user"
MARKUP = "<img src=x onerror=window.hacked=1>"


class Answers:
    """All that the browser gets from the console, except live data, which has no end."""

    def __init__(self, page: Page) -> None:
        self._bodies: list[str] = []
        page.route("**/api/**", self._keep)

    def _keep(self, route: Route) -> None:
        if route.request.url.partition("?")[0].endswith("/live"):
            route.continue_()
            return
        answer = route.fetch()
        self._bodies.append(answer.text())
        route.fulfill(response=answer)

    def check(self) -> None:
        assert self._bodies
        assert [body for body in self._bodies if PLANTED in body or leaked(body)] == []


def row(page: Page, text: str) -> Locator:
    return page.get_by_role("row").filter(has_text=text)


@pytest.mark.parametrize("user", ["console-user", MARKUP], ids=["plain", "markup"])
def test_a_user_is_added_changed_and_deleted(
    any_cluster: Cluster, console: ConsoleOfTest, page: Page, user: str
) -> None:
    answers = Answers(page)
    page.goto(f"{console(any_cluster)}/security")
    page.get_by_role("button", name="Add a user").click()
    dialog = page.get_by_role("dialog", name="Add a user")
    confirm = dialog.get_by_role("button", name="Add")
    dialog.get_by_label("Name").fill(user)
    for label in ("Password", "Password again"):
        field = dialog.get_by_label(label, exact=True)
        expect(field).to_have_attribute("type", "password")
        expect(field).to_have_attribute("autocomplete", "new-password")
        expect(confirm).to_be_disabled()
        field.fill(PASSWORD)
    confirm.click()
    expect(page.get_by_text(f"{user} has a password for SCRAM-SHA-512.")).to_be_visible()
    expect(row(page, user)).to_contain_text("SCRAM-SHA-512")
    with Admin(any_cluster.bootstrap_servers) as admin:
        (credential,) = admin.raise_any(admin.describe_user_scram_credentials([user]))[user]
        assert (credential.mechanism, credential.iterations) == (ScramMechanism.SHA_512, 4096)
        row(page, user).get_by_role("button", name="Change the password").click()
        dialog = page.get_by_role("dialog", name="Change the password of")
        dialog.get_by_label("Password", exact=True).fill(f"{PASSWORD}-2")
        dialog.get_by_label("Password again").fill(f"{PASSWORD}-3")
        expect(dialog.get_by_text("The two passwords are not the same.")).to_be_visible()
        expect(dialog.get_by_role("button", name="Change")).to_be_disabled()
        dialog.get_by_label("Password again").fill(f"{PASSWORD}-2")
        dialog.get_by_label("Iterations").fill("8192")
        dialog.get_by_role("button", name="Change").click()
        expect(row(page, user)).to_contain_text("8,192")
        row(page, user).get_by_role("button", name="Delete").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text(f"the user {user} is gone then")
        dialog.get_by_role("button", name="Delete").click()
        expect(row(page, user)).to_have_count(0)
        assert user not in admin.describe_user_scram_credentials()
    # Nor is it in the metadata, where all of this can be seen.
    page.goto(f"{console(any_cluster)}/metadata?type=UserScramCredentialRecord")
    expect(page.locator("li.record").first).to_contain_text("iterations 4096 → 8192")
    page.locator("li.record").first.get_by_role("button").click()
    expect(page.get_by_role("heading", name="The record")).to_be_visible()
    assert PLANTED not in page.content()
    answers.check()


def test_acls_without_an_authorizer_are_a_sentence(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    page.goto(f"{console(any_cluster)}/security/acls")
    expect(page.get_by_text("No authorizer is configured, so there are no ACLs")).to_contain_text("tidelog up --secure")
    expect(page.get_by_role("button", name="Add an ACL")).to_have_count(0)
    expect(page.get_by_role("alert")).to_have_count(0)
    # The others work nevertheless.
    page.get_by_role("link", name="Users").click()
    expect(page.get_by_role("button", name="Add a user")).to_be_visible()


def test_quotas_are_set_changed_and_removed(any_cluster: Cluster, console: ConsoleOfTest, page: Page) -> None:
    page.goto(f"{console(any_cluster)}/security/quotas")
    page.get_by_role("button", name="Set quotas").click()
    dialog = page.get_by_role("dialog", name="Set quotas")
    dialog.get_by_label("Of", exact=True).select_option("a user with a client id")
    dialog.get_by_label("Name of the user").fill(MARKUP)
    dialog.get_by_label("every client id without a quota of its own").check()
    dialog.get_by_label("producer_byte_rate").fill("1048576")
    expect(dialog.get_by_text("producer_byte_rate becomes 1 MiB/s.")).to_be_visible()
    dialog.get_by_role("button", name="Set").click()
    mine = row(page, MARKUP)
    expect(mine).to_contain_text("every client id without a quota of its own")
    expect(mine).to_contain_text("1 MiB/s")
    entity = quota_entity({"user": MARKUP, "client-id": None}.items())
    with Admin(any_cluster.bootstrap_servers) as admin:
        assert admin.describe_client_quotas()[entity] == {"producer_byte_rate": 1048576}
        mine.get_by_role("button", name="Change").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("producer_byte_rate").fill("0")
        expect(dialog.get_by_text("producer_byte_rate is 0, but must be greater than 0.")).to_be_visible()
        dialog.get_by_label("producer_byte_rate").fill("")
        dialog.get_by_label("request_percentage").fill("12.5")
        dialog.get_by_role("button", name="Set").click()
        expect(mine).to_contain_text("12.5 %")
        assert admin.describe_client_quotas()[entity] == {"request_percentage": 12.5}
        mine.get_by_role("button", name="Remove").click()
        page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        expect(mine).to_have_count(0)
        assert entity not in admin.describe_client_quotas()


def test_a_console_that_only_reads_changes_nobody(one_node: Cluster, console: ConsoleOfTest, page: Page) -> None:
    for view, button in (("", "Add a user"), ("/quotas", "Set quotas")):
        page.goto(f"{console(one_node, '--read-only')}/security{view}")
        expect(page.get_by_text("This console was started with --read-only")).to_be_visible()
        expect(page.get_by_role("button", name=button)).to_have_count(0)


# -- a cluster that secures itself -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory, consoles: Consoles) -> Iterator[SecureTidelog]:
    with running_secure(tmp_path_factory.mktemp("secured")) as running:
        yield running
        consoles.end(_cluster(running))


def _cluster(secured: SecureTidelog) -> Cluster:
    return Cluster(name="secured", kind=ClusterKind.TIDELOG, bootstrap_servers=secured.servers)


@pytest.fixture
def address(secured: SecureTidelog, console: ConsoleOfTest) -> str:
    properties = secured.data_dir / "security" / "client.properties"
    return console(_cluster(secured), "--command-config", str(properties))


def admin_of(secured: SecureTidelog) -> Admin:
    return Admin(config=read_config(Path(secured.data_dir) / "security" / "client.properties"))


def add_acl(page: Page, principal: str, chosen: Mapping[str, str], **written: str) -> None:
    page.get_by_role("button", name="Add an ACL").click()
    dialog = page.get_by_role("dialog", name="Add an ACL")
    for label, choice in chosen.items():
        dialog.get_by_role("combobox", name=label).select_option(choice)
    for label, text in {"Principal": principal, **written}.items():
        dialog.get_by_role("textbox", name=label).fill(text)
    dialog.get_by_role("button", name="Add").click()
    expect(dialog).to_have_count(0)


def test_acls_are_added_filtered_and_deleted(secured: SecureTidelog, address: str, page: Page) -> None:
    answers = Answers(page)
    prepare(page)
    page.goto(f"{address}/security/acls")
    add_acl(page, "ann", {"Operation": "READ"}, Name="orders")
    expect(page.get_by_text("User:ann may read: topic orders.")).to_be_visible()
    prefixed = {"The name is": "the beginning of names", "Operation": "ALL"}
    add_acl(page, f"User:{MARKUP}", prefixed, Name="ord", Host="10.0.0.7")
    add_acl(page, "ann", {"Resource": "CLUSTER", "Operation": "DESCRIBE", "Permission": "deny"})
    table = page.get_by_role("table", name="ACLs")
    expect(table.get_by_role("row")).to_have_count(4)
    expect(row(page, MARKUP)).to_contain_text("topic names that begin with ord")
    expect(row(page, "the cluster")).to_contain_text("deny")
    check_looks(page)
    page.get_by_role("button", name="Add an ACL").click()
    check_looks(page)
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    with admin_of(secured) as admin:
        assert len(admin.describe_acls()) == 3
        page.get_by_label("Name", exact=True).fill("orders")
        page.get_by_role("button", name="Filter").click()
        expect(page).to_have_url(re.compile("name=orders.*pattern_type=MATCH|pattern_type=MATCH.*name=orders"))
        expect(table.get_by_role("row")).to_have_count(3)
        page.get_by_label("Principal", exact=True).fill("ann")
        page.get_by_role("button", name="Filter").click()
        expect(table.get_by_role("row")).to_have_count(2)
        page.get_by_role("button", name="Delete these 1").click()
        dialog = page.get_by_role("dialog", name="Delete this ACL")
        expect(dialog.get_by_role("listitem")).to_have_text("User:ann may read: topic orders")
        dialog.get_by_role("button", name="Delete").click()
        expect(page.get_by_text("1 ACL was deleted.")).to_be_visible()
        expect(page.get_by_text("No ACL matches this filter.")).to_be_visible()
        assert len(admin.describe_acls(AclFilter(principal="User:ann"))) == 1
        page.get_by_role("button", name="Show all").click()
        expect(table.get_by_role("row")).to_have_count(3)
        for _ in range(2):
            count = table.get_by_role("row").count()
            table.get_by_role("button", name=re.compile("^Delete")).first.click()
            page.get_by_role("dialog").get_by_role("button", name="Delete").click()
            expect(table.get_by_role("row")).to_have_count(count - 1)
        assert admin.describe_acls() == ()
    answers.check()


def test_the_user_of_the_console_is_marked_and_secrets_stay_away(address: str, page: Page) -> None:
    answers = Answers(page)
    page.goto(f"{address}/security")
    expect(row(page, "admin").first).to_contain_text("this console")
    page.get_by_role("button", name=re.compile("^Delete the password of admin")).first.click()
    expect(page.get_by_role("dialog")).to_contain_text("This console itself has logged in as admin.")
    page.get_by_role("button", name="Cancel").click()
    page.goto(f"{address}/configs/broker/1?show=different")
    secrets = page.get_by_role("listitem").filter(has_text=re.compile("not shown"))
    expect(secrets.first).to_be_visible()
    page.goto(f"{address}/metadata?about=user&name=admin")
    expect(page.locator("li.record").first).to_contain_text("scram credential admin")
    page.locator("li.record").first.get_by_role("button").click()
    expect(page.get_by_text("hidden").first).to_be_visible()
    assert not leaked(page.content())
    answers.check()


@pytest.mark.parametrize("view", ["", "/acls", "/quotas"])
def test_the_pages_fit_narrow_screens(address: str, open_page: OpenPage, view: str) -> None:
    page = open_page(width=400, color_scheme="dark")
    page.goto(f"{address}/security{view}")
    expect(page.get_by_role("region").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
