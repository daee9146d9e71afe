"""Thousands of random cases to Apache Kafka's own classes and to ours: the same rates, throttle times and decisions.

`KafkaQuotas.java` runs the cases on Kafka's side. Intended differences are kept out of the cases, with the reason.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.apache_kafka import java_command, kafka_jars
from support.download_cache import Unavailable

from tidelog.protocol.messages.client_quota_record import ClientQuotaRecord, EntityData
from tidelog.security.quotas.book import AddressRates, QuotaBook
from tidelog.security.quotas.connections import (
    ConnectionLimits,
    ConnectionQuotas,
    Entry,
    ListenerLimits,
    connection_overrides,
)
from tidelog.security.quotas.entities import (
    QuotaKey,
    QuotaRefusal,
    canonical_address,
    entity_refusal,
    quota_entity,
    quota_filter,
    value_refusal,
)
from tidelog.security.quotas.rates import QuotaWindows, SampledRate, TokenBucket
from tidelog.security.quotas.throttling import (
    LONGEST_THROTTLE_MS,
    MutationAllowance,
    MutationMode,
    rate_throttle_ms,
)
from tidelog.security.quotas.usage import RateUsage

pytestmark = [pytest.mark.maven, pytest.mark.xdist_group("jvm")]

# Kafka reads the wall clock, and a bucket of tokens is filled by the time since 1970.
START_MS = 1_700_000_000_000
TIMEOUT_SECONDS = 240
KAFKA_UNLIMITED = float((1 << 63) - 1)
WINDOWS = [(11, 1), (11, 1), (11, 1), (2, 1), (1, 1), (5, 2), (3, 10)]

Show = Callable[[str, object], None]


@pytest.fixture(scope="module")
def jars() -> Path:
    try:
        return kafka_jars()
    except Unavailable as error:
        pytest.skip(f"Apache Kafka's jars cannot be had from Maven Central: {error}")


def ask_kafka(jars: Path, what: str, cases: Sequence[object]) -> list[Any]:
    source = Path(__file__).with_name("KafkaQuotas.java")
    text = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run(
        java_command(jars, str(source), what),
        input=text.encode(),
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-4000:]
    answers = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert len(answers) == len(cases)
    return answers


def pause(draw: random.Random, windows: QuotaWindows) -> int:
    """Mostly short, and often where a window or the whole span ends."""
    kind = draw.random()
    if kind < 0.3:
        return 0
    if kind < 0.7:
        return draw.randrange(1, windows.size_ms // 2)
    if kind < 0.9:
        return windows.size_ms + draw.choice([-1, 0, 1, draw.randrange(windows.size_ms)])
    return windows.span_ms + draw.choice([-windows.size_ms, -1, 0, 1, windows.size_ms])


def case_windows(draw: random.Random) -> tuple[QuotaWindows, dict[str, Any]]:
    count, seconds = draw.choice(WINDOWS)
    return (
        QuotaWindows(count=count, size_ms=seconds * 1_000),
        {"start": START_MS, "count": count, "seconds": seconds},
    )


# -- rates and buckets -------------------------------------------------------------------------------------------------


def rate_case(draw: random.Random, steps: int) -> tuple[QuotaWindows, dict[str, Any]]:
    windows, case = case_windows(draw)
    # Bytes are whole numbers; percentages of a thread are not.
    is_whole = draw.random() < 0.6
    now, kinds = START_MS, ["check"] * 6 + ["record", "measure", "measure", "quota"]
    case["quota"] = float(draw.randrange(1, 5_000)) if is_whole else draw.uniform(0.1, 200.0)
    case["steps"] = []
    for _ in range(steps):
        now += pause(draw, windows)
        kind = draw.choice(kinds)
        value = float(draw.choice([0, 1, 100, draw.randrange(100_000)])) if is_whole else draw.expovariate(0.1)
        if kind == "record" and draw.random() < 0.5:
            value = -value
        if kind == "quota":
            value = value + 1
        case["steps"].append([now, kind, value])
    return windows, case


def test_rates_and_throttle_times_are_kafkas(jars: Path, record_property: Show) -> None:
    draw = random.Random(13)
    cases = [rate_case(draw, 500) for _ in range(80)]
    answers = ask_kafka(jars, "rates", [case for _, case in cases])
    steps = throttled = 0
    for (windows, case), answer in zip(cases, answers, strict=True):
        rate, quota = SampledRate(windows), case["quota"]
        for (now, kind, value), theirs in zip(case["steps"], answer, strict=True):
            where = (windows, steps, now, kind, value)
            steps += 1
            match kind:
                case "check":
                    rate.record(value, now)
                    throttle = rate_throttle_ms(rate, quota, now)
                    bounded = rate_throttle_ms(rate, quota, now, longest_ms=1_000)
                    throttled += throttle > 0
                    assert [throttle, bounded] == [min(theirs[0], LONGEST_THROTTLE_MS), theirs[1]], where
                case "record":
                    rate.record(value, now)
                case "measure":
                    assert rate.per_second(now) == pytest.approx(theirs[0], rel=1e-9, abs=1e-9), where
                    assert rate.window_ms(now) == theirs[1], where
                case "quota":
                    quota = value
    assert steps == 40_000
    assert 4_000 < throttled < 30_000
    record_property("shown", f"{steps} steps, {throttled} of them throttled")


def bucket_case(draw: random.Random, steps: int) -> tuple[QuotaWindows, dict[str, Any]]:
    windows, case = case_windows(draw)
    case["quota"] = draw.choice([1.0, 5.0, 0.25, draw.uniform(0.01, 50.0)])
    case["steps"] = []
    now = START_MS
    kinds = ["begin", "take", "take", "take", "throttle", "throttle", "tokens", "tokens"]
    for _ in range(steps):
        now += pause(draw, windows)
        kind = "quota" if draw.random() < 0.03 else draw.choice(kinds)
        value: object = draw.choice([1, 1, 2, 10, draw.randrange(1, 200)])
        if kind == "begin":
            value = draw.choice(["strict", "permissive"])
        if kind == "quota":
            value = draw.uniform(0.01, 50.0)
        case["steps"].append([now, kind, value])
    return windows, case


def test_buckets_and_mutations_are_kafkas(jars: Path, record_property: Show) -> None:
    draw = random.Random(599)
    cases = [bucket_case(draw, 500) for _ in range(40)]
    answers = ask_kafka(jars, "buckets", [case for _, case in cases])
    steps = refused = 0
    for (windows, case), answer in zip(cases, answers, strict=True):
        bucket = TokenBucket(case["quota"], windows, START_MS)
        allowance = MutationAllowance(bucket, MutationMode.STRICT)
        for (now, kind, value), theirs in zip(case["steps"], answer, strict=True):
            where = (windows, steps, now, kind, value)
            steps += 1
            match kind:
                case "begin":
                    allowance = MutationAllowance(bucket, MutationMode(value))
                case "take":
                    taken = allowance.take(value, now)
                    refused += not taken
                    assert [taken, allowance.is_exceeded] == theirs, where
                case "throttle":
                    assert allowance.throttle_ms(now) == theirs, where
                case "tokens":
                    assert bucket.tokens(now) == pytest.approx(theirs, rel=1e-9, abs=1e-9), where
                case "quota":
                    bucket.per_second = value
    assert steps == 20_000
    assert refused > 500
    record_property("shown", f"{steps} steps, {refused} mutations refused")


# -- which quota applies, and what it leads to -------------------------------------------------------------------------

USERS = ["alice", "bob", "carol d", "ü:x", "<default>", ""]
CLIENT_IDS = ["one", "two", "3 x", "a:b", "<default>", ""]
ABSENT: list[object] = []


def client_case(draw: random.Random, steps: int) -> tuple[QuotaWindows, dict[str, Any]]:
    """Times leap over a whole span after a change that gives somebody a quota who had none.

    Kafka counts what such a client has used before; we do not (see `usage.py`).
    """
    windows, case = case_windows(draw)
    case["kind"] = draw.choice(["produce", "request"])
    levels = draw.choice([["user"], ["client"], ["both"], ["user", "client"], ["user", "client", "both", "both"]])
    case["steps"] = []
    now, known = START_MS, set[str]()
    for step in range(steps):
        now += pause(draw, windows)
        if step < 3 or draw.random() < 0.08:
            level = draw.choice(levels)
            user = ABSENT if level == "client" else draw.choice([*USERS[:-1], None])
            client = ABSENT if level == "user" else draw.choice([*CLIENT_IDS[:-1], None])
            value = None if draw.random() < 0.35 else float(draw.randrange(50, 5_000))
            entity = json.dumps([user, client])
            case["steps"].append([now, "quota", user, client, value])
            if value is None or entity not in known:
                now += windows.span_ms + draw.randrange(500)
            if value is None:
                known.discard(entity)
            else:
                known.add(entity)
        else:
            kind = draw.choice(["look up", "look up", "record", "record", "unrecord"])
            amount = float(draw.randrange(20_000))
            case["steps"].append([now, kind, draw.choice(USERS), draw.choice(CLIENT_IDS), amount])
    return windows, case


def quota_record(user: object, client: object, value: float | None) -> ClientQuotaRecord:
    parts: list[EntityData] = []
    for kind, name in (("user", user), ("client-id", client)):
        if name is None or isinstance(name, str):
            parts.append(EntityData(entity_type=kind, entity_name=name))
    key = QuotaKey.PRODUCER_BYTE_RATE
    return ClientQuotaRecord(entity=parts, key=key, value=value or 0.0, remove=value is None)


def test_the_same_quota_applies_and_is_counted_for_the_same(jars: Path, record_property: Show) -> None:
    draw = random.Random(55)
    cases = [client_case(draw, 300) for _ in range(90)]
    answers = ask_kafka(jars, "clients", [case for _, case in cases])
    key = QuotaKey.PRODUCER_BYTE_RATE
    looked_up = recorded = throttled = 0
    for (windows, case), answer in zip(cases, answers, strict=True):
        book = QuotaBook()
        longest_ms = windows.size_ms if case["kind"] == "request" else LONGEST_THROTTLE_MS
        usage = RateUsage(book.limits[key], windows=windows, longest_ms=longest_ms)
        for (now, kind, user, client, value), theirs in zip(case["steps"], answer, strict=True):
            where = (windows, case["kind"], now, kind, user, client, value)
            match kind:
                case "quota":
                    book = book.replay([quota_record(user, client, value)])
                    usage.adopt(book.limits[key])
                    assert bool(book.limits[key]) == theirs, where
                case "look up":
                    looked_up += 1
                    limit, largest = book.limit(key, user, client), usage.largest(user, client)
                    counted = book.limits[key].counted_for(user, client)
                    ours = [KAFKA_UNLIMITED if limit is None else limit, *counted]
                    assert ours == theirs[:3], where
                    assert (1e300 if largest is None else largest) == theirs[3], where
                case "record":
                    recorded += 1
                    throttle = usage.record(value, user, client, now)
                    throttled += throttle > 0
                    assert throttle == theirs, where
                case "unrecord":
                    usage.unrecord(value, user, client, now)
    assert looked_up > 8_000
    assert recorded > 8_000
    assert throttled > 1_000
    record_property("shown", f"{looked_up} look-ups, {recorded} records, {throttled} of them throttled")


# -- what may be set and asked -----------------------------------------------------------------------------------------

NAMES = [None, "alice", "bob", "x y", "ü", ""]
# Host names would be resolved by Kafka. Java takes 10.1 for 10.0.0.1, we refuse it.
ADDRESSES = [None, "127.0.0.1", "::1", "2001:db8::7", "10.1.2.3", "", "256.1.1.1", "not a host"]
VALUES = [
    *(1.0, 2.0, 3.0, 100.0, 1e6, 5e8, 0.0, -1.0, 0.5, 1.5, 1e-7, 1.0000001, 1.00001, 1e6, 1048576.25),
    *(2147483647.0, 2147483648.0, 4e9, 9.3e18, KAFKA_UNLIMITED, 1e300, "Infinity", "-Infinity", None),
]


def alteration_case(draw: random.Random) -> dict[str, Any]:
    kinds = draw.choice(
        [["user"], ["client-id"], ["ip"], ["user", "client-id"], ["user", "ip"], [], ["nonsense"], ["", "user"]]
    )
    entity = [[kind, draw.choice(ADDRESSES if kind == "ip" else NAMES)] for kind in kinds]
    wrong = [] if draw.random() < 0.7 else ["nonsense", "Producer_byte_rate", ""]
    right = list(QuotaKey)[-1:] if kinds == ["ip"] and draw.random() < 0.7 else list(QuotaKey)
    keys = draw.sample([*right, *wrong], draw.choice([1, 1, 2]) if len(right) > 1 else 1)
    return {"entity": entity, "operations": [[key, draw.choice(VALUES)] for key in keys]}


def test_the_same_quotas_can_be_set(jars: Path, record_property: Show) -> None:
    """Except for one that is not a number: Kafka sets it."""
    draw = random.Random(546)
    cases = [alteration_case(draw) for _ in range(5_000)]
    answers = ask_kafka(jars, "alterations", cases)
    accepted = 0
    for case, theirs in zip(cases, answers, strict=True):
        entity = quota_entity((kind, name) for kind, name in case["entity"])
        operations = [(key, float(value)) for key, value in case["operations"] if value is not None]
        refusal = entity_refusal(entity)
        for key, value in operations:
            refusal = refusal or value_refusal(entity, key, value)
        accepted += refusal is None
        ours = [0, len(operations)] if refusal is None else [refusal.code, 0]
        assert ours == theirs, (case, refusal)
    assert 500 < accepted < 4_500
    record_property("shown", f"{len(cases)} alterations, {accepted} of them accepted")


def filter_case(draw: random.Random) -> dict[str, Any]:
    entities = {
        quota_entity(
            (kind, draw.choice([None, "a", "b"]))
            for kind in draw.choice([["user"], ["client-id"], ["user", "client-id"], ["ip"]])
        )
        for _ in range(draw.randrange(12))
    }
    kinds = ["user", "client-id", "user", "client-id", "ip", "", "nonsense"]
    components = [
        [draw.choice(kinds[: draw.choice([4, 7])]), draw.choice([0, 1, 2, 0, 1, 2, 3]), draw.choice([None, "a", "b"])]
        for _ in range(draw.choice([0, 1, 1, 2, 2, 3]))
    ]
    if draw.random() < 0.7:
        # Mostly with a name where there has to be one, and nowhere else.
        components = [[kind, match, "a" if match == 0 else None] for kind, match, _ in components]
    return {"entities": sorted(entities, key=str), "components": components, "strict": draw.random() < 0.5}


def test_filters_match_the_same_entities(jars: Path, record_property: Show) -> None:
    draw = random.Random(547)
    cases = [filter_case(draw) for _ in range(5_000)]
    answers = ask_kafka(jars, "filters", cases)
    answered = 0
    for case, theirs in zip(cases, answers, strict=True):
        wanted = quota_filter(((kind, match, name) for kind, match, name in case["components"]), strict=case["strict"])
        if isinstance(wanted, QuotaRefusal):
            assert wanted.code == theirs, (case, wanted)
            continue
        answered += 1
        entities = [quota_entity(parts) for parts in case["entities"]]
        assert [number for number, entity in enumerate(entities) if wanted.matches(entity)] == theirs, case
    assert 1_000 < answered < 4_500
    record_property("shown", f"{len(cases)} filters, {answered} of them answered")


def override_text(draw: random.Random) -> str:
    """Without a negative number, or a number without a host, which are refused here only; without an empty pair, which
    is refused there only; and without a host that is there twice, of which Kafka reads one number."""
    hosts = ["127.0.0.1", "::1", "2001:db8::7", "::ffff:10.0.0.1", "hostName", "my-host.example", "a_b"]
    numbers = ["0", "1", "100", "2147483647", "2147483648", "x", "", "1.5"]
    weights = [4, 4, 4, 2, 1, 1, 1, 1]
    pairs = [
        f"{host}{draw.choice([':', ':', ' : '])}{draw.choices(numbers, weights)[0]}"
        for host in draw.sample(hosts, draw.randrange(4))
    ]
    return draw.choice([",", ", ", " , "]).join(pairs)


def test_overrides_are_read_alike(jars: Path) -> None:
    draw = random.Random(308)
    texts = [override_text(draw) for _ in range(2_000)]
    answers = ask_kafka(jars, "overrides", [{"text": text} for text in texts])
    refused = 0
    for text, theirs in zip(texts, answers, strict=True):
        try:
            overrides = connection_overrides(text)
        except ValueError:
            refused += 1
            assert theirs == "refused", text
            continue
        expected = {canonical_address(host) or host: number for host, number in theirs.items()}
        assert {**overrides.addresses, **overrides.host_names} == expected, text
    assert 100 < refused < 1_900


# -- connections -------------------------------------------------------------------------------------------------------

PEERS = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "2001:db8::1", "2001:db8::2"]
PORTS = {"INTERNAL": 19092, "EXTERNAL": 19094, "OTHER": 19096}


class ConnectionScript:
    """Decides with ours, and writes down what has to happen on Kafka's side."""

    def __init__(self, seed: int) -> None:
        self.draw = draw = random.Random(seed)
        count, seconds = draw.choice(WINDOWS)
        self.windows = QuotaWindows(count=count, size_ms=seconds * 1_000)
        names = draw.choice([["INTERNAL"], ["INTERNAL", "EXTERNAL"], ["INTERNAL", "EXTERNAL", "OTHER"]])
        self.limits = ConnectionLimits(
            listeners={name: self._listener_limits() for name in names},
            inter_broker_listener="INTERNAL",
            max_connections=draw.choice([3, 8, 1_000]),
            creation_rate=draw.choice([0, 1, 5, 100, 1_000]),
            max_connections_per_ip=draw.choice([2, 5, 1_000]),
            per_ip_overrides=draw.choice([{}, {"10.0.0.1": 1, "2001:db8::1": 0}]),
        )
        self.first_limits = self.limits
        self.rates = AddressRates()
        self.quotas = ConnectionQuotas(self.limits, windows=self.windows)
        self.now = START_MS
        self.open: list[tuple[str, str]] = []
        self.steps: list[list[Any]] = []
        self.expected: list[Any] = []

    def _listener_limits(self) -> ListenerLimits:
        draw = self.draw
        return ListenerLimits(
            max_connections=draw.choice([2, 5, 1_000]), creation_rate=draw.choice([0, 1, 5, 100, 1_000])
        )

    def case(self) -> dict[str, Any]:
        limits = self.first_limits
        properties = {
            "process.roles": "broker",
            "node.id": 1,
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.bootstrap.servers": "127.0.0.1:19099",
            "listeners": ",".join(f"{name}://127.0.0.1:{PORTS[name]}" for name in limits.listeners),
            "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in [*PORTS, "CONTROLLER"]),
            "inter.broker.listener.name": limits.inter_broker_listener,
            "quota.window.num": self.windows.count,
            "quota.window.size.seconds": self.windows.size_ms // 1_000,
            "max.connections": limits.max_connections,
            "max.connection.creation.rate": limits.creation_rate,
            "max.connections.per.ip": limits.max_connections_per_ip,
            "max.connections.per.ip.overrides": ",".join(
                f"{host}:{number}" for host, number in limits.per_ip_overrides.items()
            ),
        }
        for name, own in limits.listeners.items():
            prefix = f"listener.name.{name.lower()}."
            properties[f"{prefix}max.connections"] = own.max_connections
            properties[f"{prefix}max.connection.creation.rate"] = own.creation_rate
        return {
            "start": START_MS,
            "properties": properties,
            "listeners": list(limits.listeners),
            "steps": self.steps,
        }

    def step(self) -> None:
        draw = self.draw
        self.now += pause(draw, self.windows) if draw.random() < 0.5 else 0
        kind = draw.random()
        if kind < 0.75:
            self.connect(draw.choice(list(self.limits.listeners)), draw.choice(PEERS))
        elif kind < 0.9:
            if self.open:
                listener, address = self.released()
                self.note(["release", listener, address], self.quotas.open_from(address))
        elif kind < 0.96:
            self.change_address_rate()
        elif kind < 0.98:
            bound = draw.choice([1, 3, 8, 1_000])
            self.limits = changed(self.limits, max_connections=bound)
            self.quotas.configure(self.limits)
            exceeded = sorted(name for name in self.limits.listeners if self.quotas.is_exceeded(name))
            self.note(["max", bound], exceeded)
        else:
            rate = draw.choice([0, 2, 10, 1_000])
            self.limits = changed(self.limits, creation_rate=rate)
            self.quotas.configure(self.limits)
            self.note(["rate", rate], 0)

    def note(self, step: Iterable[object], expected: object) -> None:
        self.steps.append([self.now, *step])
        self.expected.append(expected)

    def released(self) -> tuple[str, str]:
        listener, address = self.open.pop(self.draw.randrange(len(self.open)))
        self.quotas.release(address, listener)
        return listener, address

    def connect(self, listener: str, address: str) -> None:
        began, events = self.now, []
        decision = self.quotas.accept(address, listener, self.now)
        while decision.entry in (Entry.DELAY, Entry.AWAIT_SLOT):
            if decision.entry is Entry.DELAY:
                early = decision.delay_ms > 1 and self.draw.random() < 0.3
                self.now += decision.delay_ms - 1 if early else decision.delay_ms
                events.append(["clock", self.now])
            else:
                events.append(["release", *self.released()])
            decision = self.quotas.resume(address, listener, self.now)
        if decision.entry is Entry.ADMIT:
            self.open.append((listener, address))
        self.steps.append([began, "connect", listener, address, events])
        self.expected.append([[True] * len(events), [decision.entry.value, decision.delay_ms]])

    def change_address_rate(self) -> None:
        draw = self.draw
        address = draw.choice([None, *PEERS])
        rate = draw.choice([None, 0, 1, 3, 50])
        self.note(["ip", address, rate], 0)
        rates, default = dict(self.rates.rates), self.rates.default
        if address is None:
            default = rate
        elif rate is None:
            rates.pop(address, None)
        else:
            rates[address] = rate
        self.rates = AddressRates(rates=rates, default=default)
        self.quotas.adopt(self.rates)
        if rate is None:
            # Kafka keeps what it has measured of an address that lost its quota, in case that it gets another one.
            self.now += self.windows.span_ms + 1


def changed(limits: ConnectionLimits, **values: int) -> ConnectionLimits:
    fields = {name: getattr(limits, name) for name in limits.__slots__}
    return ConnectionLimits(**{**fields, **values})


@pytest.mark.slow
def test_connections_are_taken_alike(jars: Path, record_property: Show) -> None:
    scripts = [ConnectionScript(seed) for seed in range(40)]
    for script in scripts:
        for _ in range(200):
            script.step()
    answers = ask_kafka(jars, "connections", [script.case() for script in scripts])
    outcomes: dict[str, int] = {"admit": 0, "close": 0, "waited": 0}
    for seed, (script, answer) in enumerate(zip(scripts, answers, strict=True)):
        for step, ours, theirs in zip(script.steps, script.expected, answer, strict=True):
            assert ours == theirs, (seed, script.limits, step)
            if step[1] == "connect":
                outcomes[ours[1][0]] += 1
                outcomes["waited"] += bool(ours[0])
    assert min(outcomes.values()) > 500
    record_property("shown", f"connections: {outcomes}")
