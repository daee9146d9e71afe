"""`tidelog up --cores N`: one cluster of N broker processes, so that a broker can use more than one core.

This process only watches: it starts the others, starts those again that die, serves their metrics on one page, and
stops them in order, the controller last.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import typer

from tidelog.cli.failures import CommandFailure
from tidelog.cli.local_cluster.attached_console import AttachedConsole, announced
from tidelog.cli.local_cluster.collected_metrics import CollectedMetrics
from tidelog.cli.local_cluster.core_report import advise_to_spread, announce
from tidelog.cli.local_cluster.core_settings import CONTROLLER, LOOPBACK, CorePorts, CoreSettings
from tidelog.cli.local_cluster.data_directory import (
    StartKind,
    core_directories,
    core_directory,
    require_access,
    require_kind,
    shown_processes,
    too_few,
)
from tidelog.cli.local_cluster.node_files import format_directories, write_properties
from tidelog.cli.local_cluster.ports import bracketed, following_free_ports, free_ports
from tidelog.cli.local_cluster.processes import PATIENT_SECONDS, ChildProcesses, ended_by
from tidelog.cli.local_cluster.restarts import MOST_RESTARTS, WINDOW_SECONDS, Restarts
from tidelog.cli.local_cluster.start_security import start_security
from tidelog.client.errors import ClientError
from tidelog.model.errors import ApiError
from tidelog.model.ids import TopicPartition
from tidelog.network.client_connection import ConnectionProblem
from tidelog.network.port import Listening
from tidelog.server.failures import reason
from tidelog.server.signals import end_by
from tidelog.storage.files.file_names import LOCK_FILE
from tidelog.storage.files.local_filesystem import LocalFileSystem

# Recovery of large logs after a crash takes its time: a start is only given up when a process has ended.
STOP_SECONDS = 40.0
# How long the processes of a command that was killed may take to end.
RELEASE_SECONDS = 40.0
REVIEW_SECONDS = 30.0
POLL_SECONDS = 0.1


class CoresSupervisor:
    """The processes from start to stop."""

    def __init__(self, settings: CoreSettings, console: AttachedConsole | None = None) -> None:
        self._settings = settings
        self._console = console
        self._numbers = list(settings.ports.clients)
        self._processes = ChildProcesses(self._config_file)
        self._metrics = CollectedMetrics(LOOPBACK, settings.ports.metrics)
        self._restarts = {number: Restarts() for number in self._numbers}
        # When processes that have died are started again.
        self._due: dict[int, float] = {}
        self._stop = asyncio.Event()

    async def run(self) -> None:
        """Raises CommandFailure."""
        with self._heeding_signals():
            listening = await self._serve_metrics()
            try:
                await self._start()
                if not self._stop.is_set():
                    await self._review(None if listening is None else (listening.host, listening.port))
                await self._watch()
            finally:
                await self._stop_all()
                if listening is not None:
                    listening.close()

    def _config_file(self, number: int) -> Path:
        return core_directory(self._settings.data_dir, number).with_suffix(".properties")

    # -- signals -------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _heeding_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, self._signalled, each)
        try:
            yield
        finally:
            for each in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(each)
                # Everything has ended. A signal that arrives while Python exits must not turn that into a failure.
                signal.signal(each, signal.SIG_IGN)

    def _signalled(self, number: signal.Signals) -> None:
        if self._stop.is_set() and number is signal.SIGINT:
            # A second Ctrl-C: whoever presses it does not want to wait.
            self._processes.kill()
            end_by(number)
        if not self._stop.is_set():
            typer.echo("stopping; press Ctrl-C again to end all processes at once")
            self._stop.set()

    async def _pause(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), POLL_SECONDS)

    # -- beginning -----------------------------------------------------------------------------------------------

    async def _serve_metrics(self) -> Listening | None:
        address = self._settings.metrics_address
        if address is None:
            return None
        host, port = address
        try:
            return await self._metrics.serve(host, port)
        except OSError as error:
            raise CommandFailure(
                f"cannot serve the metrics on {bracketed(host)}:{port}: {reason(error)}; choose another "
                "tidelog.metrics.port"
            ) from error

    async def _start(self) -> None:
        """Until all processes serve clients, or a signal has come."""
        for number in self._numbers:
            if not self._stop.is_set():
                self._processes.start(number)
        patient_until = time.monotonic() + PATIENT_SECONDS
        while not self._stop.is_set():
            for number, code in self._processes.take_ended().items():
                words = self._processes.last_words(number)
                raise CommandFailure(
                    f"process {number} {ended_by(code)} before it was ready: {words or 'it said nothing'} "
                    f"(its log is {self._processes.log_file(number)})"
                )
            missing = set(self._numbers) - set(await self._metrics.answering())
            if not missing:
                return
            if time.monotonic() > patient_until:
                patient_until = float("inf")
                logs = ", ".join(str(self._processes.log_file(number)) for number in sorted(missing))
                typer.echo(
                    f"waiting for {shown_processes(missing)}, which may be recovering its partitions: see {logs}"
                )
            await self._pause()

    async def _review(self, metrics_address: tuple[str, int] | None) -> None:
        """Look where partitions are, let the cluster forget processes of earlier starts, and say what there is."""
        # Not before: the processes start while this is imported.
        from tidelog.cli.local_cluster.core_placement import current_placement
        from tidelog.client.admin import Admin
        from tidelog.client.config_files import read_config

        security = self._settings.security
        how_to_connect = security.listening(self._settings.servers)
        client_file = security.client_file
        placement = None
        try:
            options = {} if client_file is None else read_config(client_file)
            async with asyncio.timeout(REVIEW_SECONDS), Admin(self._settings.servers, config=options) as admin:
                placement = await current_placement(admin)
                for number in self._dropped(placement.registered, placement.partitions):
                    await admin.unregister_broker(number)
        except (ApiError, ClientError, ConnectionProblem, TimeoutError) as problem:
            # Clients may be able to use what this process cannot reach, by the addresses that are advertised.
            typer.echo(f"cannot look where the partitions are: {problem}", err=True)
        console = announced(self._console, self._settings.servers, security)
        announce(self._settings, metrics_address, how_to_connect, console)
        if placement is not None:
            advise_to_spread(self._settings, placement.partitions)

    def _dropped(self, registered: Collection[int], partitions: Mapping[int, Collection[TopicPartition]]) -> list[int]:
        """Brokers that are no longer started. Raises CommandFailure if one holds partitions: just created ones have no
        files yet, by which that is seen before the start."""
        dropped = [number for number in registered if number not in self._numbers]
        held = {number: partitions[number] for number in dropped if partitions.get(number)}
        if held:
            settings = self._settings
            raise too_few(settings.data_dir, settings.count, max(dropped), held, settings.servers)
        return dropped

    # -- watching ------------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Until a signal comes. Raises CommandFailure if a process dies too often."""
        while not self._stop.is_set():
            now = time.monotonic()
            for number, code in self._processes.take_ended().items():
                self._plan_restart(number, code, now)
            for number in [each for each, due in self._due.items() if due <= now]:
                del self._due[number]
                self._processes.start(number)
                self._metrics.restarted(number)
            await self._pause()

    def _plan_restart(self, number: int, code: int, now: float) -> None:
        log = self._processes.log_file(number)
        pause = self._restarts[number].pause_after_death(now)
        if pause is None:
            raise CommandFailure(
                f"process {number} {ended_by(code)}, after {MOST_RESTARTS} restarts within {WINDOW_SECONDS:.0f} s; all "
                f"processes are stopped. Its log {log} says why: {self._processes.last_words(number)}"
            )
        self._due[number] = now + pause
        when = f"in {pause:.0f} s" if pause else "now"
        typer.echo(f"process {number} {ended_by(code)}; it is started again {when}, see {log}")

    # -- ending --------------------------------------------------------------------------------------------------

    async def _stop_all(self) -> None:
        """The controller last: the others give up their partitions with its help."""
        self._stop.set()
        if self._console is not None:
            await asyncio.to_thread(self._console.close)
        brokers = [number for number in self._numbers if number != CONTROLLER]
        deadline = time.monotonic() + STOP_SECONDS
        for group in (brokers, [CONTROLLER]):
            self._processes.terminate(group)
            while any(number in self._processes.running for number in group) and time.monotonic() < deadline:
                self._processes.take_ended()
                await asyncio.sleep(POLL_SECONDS)
        for number in self._processes.kill():
            typer.echo(
                f"process {number} did not stop within {STOP_SECONDS:.0f} s and was killed; its logs are recovered at "
                "the next start",
                err=True,
            )


def run_cores(
    *,
    host: str,
    port: int,
    cores: int,
    data_dir: Path,
    secure: bool,
    properties: Mapping[str, str],
    console: AttachedConsole | None,
) -> None:
    """Raises CommandFailure; before anything is written if the start is refused."""
    import uvloop

    require_kind(data_dir, StartKind.CORES)
    with _locked(data_dir):
        numbers = range(1, cores + 1)
        clients = following_free_ports(host, port, cores)
        controller, *metrics = free_ports(LOOPBACK, 1 + cores, apart_from=clients)
        ports = CorePorts(
            clients=dict(zip(numbers, clients, strict=True)),
            controller=controller,
            metrics=dict(zip(numbers, metrics, strict=True)),
        )
        security = start_security(data_dir, host, secure=secure)
        settings = CoreSettings(host=host, security=security, ports=ports, overrides=properties)
        settings.check()
        require_access(data_dir, cores, settings.servers)
        directories = {number: core_directory(data_dir, number) for number in numbers}
        format_directories(directories, security.users)
        for number, directory in directories.items():
            comment = f"Process {number} of {cores}: written by `tidelog up --cores` at each start, not to be edited."
            write_properties(directory.with_suffix(".properties"), comment, settings.properties_of(number))
        uvloop.run(CoresSupervisor(settings, console).run())


@contextlib.contextmanager
def _locked(data_dir: Path) -> Iterator[None]:
    """Keep others out, and wait for the processes of a command that was killed: they end by themselves."""
    data_dir.mkdir(parents=True, exist_ok=True)
    filesystem = LocalFileSystem()
    lock = filesystem.lock(str(data_dir / LOCK_FILE))
    if lock is None:
        raise CommandFailure(f"{data_dir} is in use by another `tidelog up`; stop it, or use another --data-dir")
    try:
        deadline = time.monotonic() + RELEASE_SECONDS
        for number, directory in core_directories(data_dir).items():
            while (left := filesystem.lock(str(directory / LOCK_FILE))) is None:
                if time.monotonic() > deadline:
                    raise CommandFailure(f"process {number} of an earlier start still uses {directory}; stop it first")
                time.sleep(POLL_SECONDS)
            left.release()
        yield
    finally:
        lock.release()
