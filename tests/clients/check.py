#!/usr/bin/env python3
"""Run real programs alone and under `lanescope capture`, and check that the layer sees all and changes nothing.

    tests/clients/check.py LANESCOPE PYTHON DRIVER_FILE [--all] CLIENT...

A client is a script beside this one, which prints checksums of what its dispatches computed. clients.csv says how many
dispatches and kernels it has on lavapipe, with packages of these versions, and which validation messages some of its
runs raise without the layer, too.

The kernels of each client are taken out as well, and must compute by themselves what they computed in it: with --all of
each, else of those for which clients.csv says so.

First comes planted.py, which makes mistakes on purpose: a check that doesn't find them is worth nothing. Exit code 1:
something is off, and the lines below the table say what. scripts/clients.sh installs what this needs, and runs it.
"""

import csv
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

CLIENTS = Path(__file__).resolve().parent
# Seconds after which a program hangs: llama.cpp's first run compiles for a minute.
LIMIT = 600
# The validation layer opens its log anew for each instance: a file would lose what was said of an earlier one. Without
# VK_DBG_LAYER_ACTION_DEFAULT it writes even where a program has a messenger of its own.
SETTINGS = """\
khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG
khronos_validation.log_filename = /dev/stderr
khronos_validation.report_flags = error,warn
khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT
"""
MESSAGE = re.compile(r"Validation (?:Error|Warning): \[ (\S+) \].*")


@dataclass
class Ran:
    """How a program ended; no status where it hung."""

    status: int | None
    out: str
    err: str
    seconds: float

    def messages(self) -> dict[str, str]:
        """What the validation layer said: the first message of each kind."""
        return {match[1]: match[0] for match in reversed(list(MESSAGE.finditer(self.err)))}


@dataclass
class Checked:
    client: str
    dispatches: int = 0
    kernels: int = 0
    seconds: tuple[float, float] = (0, 0)
    messages: int = 0
    # Of the kernels that were taken out, how many compute the same by themselves; none where that isn't tried.
    replayed: tuple[int, int] | None = None
    # By what it is about: end, output, counts, followed, validation, replay.
    problems: list[tuple[str, str]] = field(default_factory=list)

    def has(self, about: str) -> bool:
        return any(kind == about for kind, _ in self.problems)


def run(command: list[str], environment: dict[str, str]) -> Ran:
    start = time.monotonic()
    # A session of its own: what hangs is ended with all that it started.
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        errors="replace", start_new_session=True,
    ) as child:  # fmt: skip
        try:
            out, err = child.communicate(timeout=LIMIT)
            status = child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
            status = None
    return Ran(status, out, err, time.monotonic() - start)


def counted(rows: Path) -> tuple[int, int]:
    """Dispatches, and kernels: rows of one kernel differ in their workgroups."""
    if not rows.exists():
        return 0, 0
    with rows.open(newline="") as file:
        kernels = list(csv.DictReader(file))
    calls = "calls" if kernels and "calls" in kernels[0] else "samples"
    return sum(int(row[calls]) for row in kernels), len({(row["experiment"], row["variant"]) for row in kernels})


@dataclass
class Expected:
    counts: tuple[int, int]
    # Messages that hang on timing: a run alone may raise them or not.
    raised: set[str]
    replays: bool


def replay(alone: list[str], lanescope: str, folder: Path, environment: dict[str, str]) -> tuple[int, int]:
    """Take the kernels out, and run them by themselves: how many there are, and how many compute the same."""
    taken, rows = folder / "taken", folder / "replayed.csv"
    run([lanescope, "capture", "-q", "-o", str(taken), "--kernels", "all", "--", *alone], environment)
    manifests = sorted(map(str, taken.glob("*.toml")))
    flags = ["--preset", "quick", "--max-time", "1ms", "--no-lock", "-q", "-o", str(rows)]
    run([lanescope, "run", *manifests, *flags], environment)
    if not rows.exists():
        return 0, len(manifests)
    with rows.open(newline="") as file:
        right = {row["experiment"] for row in csv.DictReader(file) if (row["status"], row["checked"]) == ("ok", "true")}
    return len(right), len(manifests)


def check(client: str, expected: Expected, lanescope: str, python: str, driver: Path, folder: Path) -> Checked:
    # Isolated, for these scripts are called as the packages that they import.
    alone = [python, "-I", str(CLIENTS / f"{client}.py")]
    captured = [lanescope, "capture", "-o", str(folder / "captured"), "--", *alone]
    validated = [lanescope, "capture", "-o", str(folder / "validated"), "--", *alone]

    plain = {name: value for name, value in os.environ.items() if not name.startswith("VK_")}
    # By its file, as the tests' drivers are named. Validation needs a loader, though, which ncnn doesn't use then.
    by_file = {**plain, "VK_DRIVER_FILES": str(driver), "VK_ICD_FILENAMES": str(driver)}
    settings = folder / "vk_layer_settings.txt"
    settings.write_text(SETTINGS)
    by_name = {
        **plain,
        "VK_LOADER_DRIVERS_SELECT": driver.name,
        "VK_INSTANCE_LAYERS": "VK_LAYER_KHRONOS_validation",
        "VK_LAYER_SETTINGS_PATH": str(settings),
    }
    # First one that isn't timed: it fills the driver's cache of compiled kernels, and numba-vulkan's, which without one
    # runs two kernels more to find out about the device.
    runs = {
        "alone, validated": run(alone, by_name),
        "alone": run(alone, by_file),
        "captured": run(captured, by_file),
        "captured, validated": run(validated, by_name),
    }
    found = Checked(client, *counted(folder / "captured/kernels.csv"))
    found.seconds = (runs["alone"].seconds, runs["captured"].seconds)
    before, after = (runs[name].messages() for name in ("alone, validated", "captured, validated"))
    own = before.keys() | expected.raised
    found.messages = len(after)
    for name, ran in runs.items():
        if ran.status != 0:
            end = "hung" if ran.status is None else f"ended with {ran.status}"
            found.problems.append(("end", f"{name}: {end}\n{ran.err[-2000:]}"))
        if ran.out != runs["alone"].out:
            found.problems.append(("output", f"{name}: its output isn't the program's own:\n{ran.out[-2000:]}"))
        for line in re.findall(r"^Not followed: .*$", ran.err, re.MULTILINE):
            found.problems.append(("followed", f"{name}: {line}"))
    for name in ("captured", "validated"):
        counts = counted(folder / name / "kernels.csv")
        if counts != expected.counts:
            words = "{}: {} dispatches of {} kernels, not {} of {}".format(name, *counts, *expected.counts)
            found.problems.append(("counts", words))
    if expected.replays:
        found.replayed = replay(alone, lanescope, folder, by_file)
        with (folder / "captured/kernels.csv").open(newline="") as file:
            kernels = len(list(csv.DictReader(file)))
        if found.replayed != (kernels, kernels):
            words = "of {} kernels, {} were taken out, and {} compute the same by themselves"
            found.problems.append(("replay", words.format(kernels, found.replayed[1], found.replayed[0])))
    found.problems += [("validation", message) for kind, message in after.items() if kind not in own]
    return found


def table(all_checked: list[Checked]) -> str:
    head = ("client", "dispatches", "kernels", "replayed", "outputs", "validation", "alone", "captured")
    rows = [head]
    for found in all_checked:
        outputs = "differ" if found.has("output") else "same"
        validation = "new messages" if found.has("validation") else f"as alone ({found.messages})"
        if not found.messages:
            validation = "silent"
        seconds = [f"{time:.2f} s" for time in found.seconds]
        replayed = "{} of {}".format(*found.replayed) if found.replayed else ""
        counts = (str(found.dispatches), str(found.kernels), replayed)
        rows.append((found.client, *counts, outputs, validation, *seconds))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    is_words = (True, False, False, False, True, True, False, False)

    def line(row: tuple[str, ...]) -> str:
        cells = zip(row, widths, is_words, strict=True)
        return "  ".join(cell.ljust(width) if words else cell.rjust(width) for cell, width, words in cells).rstrip()

    return "\n".join(map(line, rows))


def main() -> int:
    lanescope, python, driver, *clients = sys.argv[1:]
    replays_all = "--all" in clients
    clients = [client for client in clients if client != "--all"]
    with (CLIENTS / "clients.csv").open(newline="") as file:
        expected = {
            row["client"]: Expected(
                (int(row["dispatches"]), int(row["kernels"])),
                set(row["raised"].split()),
                replays_all or bool(row["replays"]),
            )
            for row in csv.DictReader(file)
        }
    expected["planted"] = replace(expected["computeml"], replays=False)
    all_checked = []
    for client in ["planted", *clients]:
        print(f"==> {client}", file=sys.stderr)
        with tempfile.TemporaryDirectory() as folder:
            all_checked.append(check(client, expected[client], lanescope, python, Path(driver), Path(folder)))
    planted, *real = all_checked
    print(table(real))
    off = [f"{found.client}: {words}" for found in real for _, words in found.problems]
    seen = Counter(about for about, _ in planted.problems)
    wanted = {"end", "output", "counts", "validation"}
    if set(seen) != wanted:
        off.append(f"planted: its mistakes are {', '.join(sorted(wanted))}; found were {', '.join(sorted(seen))}")
    print("\n".join(off), end="\n" if off else "")
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())
