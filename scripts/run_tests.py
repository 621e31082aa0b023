#!/usr/bin/env python3
"""Run the tests that cargo has built, several at a time, and say what failed, what was skipped and how long each part took.

    cargo test --no-run --message-format=json-render-diagnostics | scripts/run_tests.py [--doc] [--through COMMAND] [--only TEXT]

A part is a test binary, or one file of a test binary that has several (tests/host, tests/devices). Each part is a process and runs
its tests one after the other; one part more runs at a time than the machine has processors, those that took longest first.

A test that can't be held here prints `skipped: REASON` (the macro `skip!` of tests/support). libtest calls it passed; here it
counts as skipped, and is listed with its reason. So does a test that libtest ignores, unless it is a part of one that ran.

tests/times.csv holds what each form of scripts/test.sh took, by step and by part. What differs from it is shown.

The last line sums all up. Exit code 1: something failed, or was not counted.
"""

import argparse
import csv
import json
import os
import re
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

TIMES = Path("tests/times.csv")
RESULT = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;", re.MULTILINE)
LISTED = re.compile(r"^(.+): test$", re.MULTILINE)
STARTED = re.compile(r"^test (.+?)(?: - should panic)? \.\.\. (?!ignored)", re.MULTILINE)
IGNORED = re.compile(r"^test (.+?) \.\.\. ignored(?:, (.*))?$", re.MULTILINE)
# What a test printed, behind a line with its name, up to the next one's or the end of the list.
PRINTED = re.compile(r"^---- (.+?) stdout ----\n(.*?)(?=^---- |^(?:successes|failures):$|\Z)", re.MULTILINE | re.DOTALL)
SKIPPED = re.compile(r"^skipped: (.+)$", re.MULTILINE)
PART_OF = re.compile(r"a part of (\w+)$")


@dataclass(frozen=True)
class Took:
    """Seconds by the clock, and of processors."""

    wall: float
    processor: float


@dataclass
class Part:
    """Some tests that run in one process."""

    name: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    took: Took = Took(0, 0)
    passed: int = 0
    failed: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)
    status: int = 0
    output: str = ""

    def run(self) -> "Part":
        started = time.monotonic()
        child = subprocess.Popen(
            self.command,
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        self.output = child.stdout.read()
        # What the child's own children took is part of it.
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.took = Took(time.monotonic() - started, usage.ru_utime + usage.ru_stime)
        self.status = child.returncode
        self.count()
        return self

    def count(self) -> None:
        results = [[int(count) for count in found] for found in RESULT.findall(self.output)]
        # A process that ended well without a count has tested nothing.
        self.status = self.status or (0 if results else 1)
        # One that died has failed at the test that it was at.
        passed, self.failed, _ = map(sum, zip(*results)) if results else (0, 1, 0)
        self.skipped = skips(self.output)
        ignored = {name for name, _ in IGNORED.findall(self.output)}
        self.passed = passed - sum(name not in ignored for name, _ in self.skipped)

    def __str__(self) -> str:
        failed = f", {self.failed} failed" * (self.failed > 0) + f", {len(self.skipped)} skipped" * bool(self.skipped)
        code = f" (exit code {self.status})" if self.status else ""
        return f"{self.took.wall:7.1f} s  {self.name}: {self.passed} passed{failed}{code}"


def skips(output: str) -> list[tuple[str, str]]:
    """The tests that were skipped, each once, with their reasons."""
    said = {name: "; ".join(dict.fromkeys(SKIPPED.findall(text))) for name, text in PRINTED.findall(output) if SKIPPED.search(text)}
    ran = {name.rsplit("::", 1)[-1] for name in STARTED.findall(output) if name not in said}
    for name, reason in IGNORED.findall(output):
        whole = PART_OF.search(reason)
        if not (whole and whole[1] in ran):
            said[name] = reason or "ignored without a reason"
    return list(said.items())


def built(lines, through: list[str]) -> list[Part]:
    """The parts of the test binaries that cargo's messages name, run through a command."""
    parts = []
    for line in lines:
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("reason") == "compiler-artifact" and message["profile"]["test"] and message.get("executable"):
            source = Path(message["target"]["src_path"]).relative_to(Path.cwd())
            parts += parts_of([*through, message["executable"]], source)
    return parts


def parts_of(binary: list[str], source: Path) -> list[Part]:
    one_at_a_time = {"RUST_TEST_THREADS": "1"}
    if source.name != "main.rs" or source.parts[0] != "tests":
        return [Part(str(source), [*binary, "--show-output"], one_at_a_time)]
    listed = subprocess.run([*binary, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
    files: dict[str, list[str]] = {}
    for test in LISTED.findall(listed):
        files.setdefault(test.split("::")[0], []).append(test)
    return [
        Part(str(source.with_name(f"{file}.rs")), [*binary, "--show-output", "--exact", *tests], one_at_a_time)
        for file, tests in files.items()
    ]


def is_chosen(name: str, only: str) -> bool:
    return any(text in name for text in only.split(","))


# ---- times ------------------------------------------------------------------------------------------------------------------


def recorded(form: str) -> dict[str, Took]:
    """What each step and each part of this form took when that was last recorded."""
    if not TIMES.exists():
        return {}
    with TIMES.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["form"] == form]
    return {row["what"]: Took(float(row["wall_s"]), float(row["processor_s"])) for row in rows}


def record(form: str, taken: dict[str, Took]) -> None:
    """Replaces what is recorded of this form."""
    others = []
    if TIMES.exists():
        with TIMES.open(newline="") as file:
            others = [row for row in csv.reader(file)][1:]
    own = [[form, what, f"{took.wall:.1f}", f"{took.processor:.1f}"] for what, took in taken.items()]
    rows = sorted([row for row in others if row[0] != form] + own, key=lambda row: (row[0], -float(row[2])))
    with TIMES.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([["form", "what", "wall_s", "processor_s"], *rows])


def steps_of(path: str) -> dict[str, Took]:
    """The steps before the tests, by scripts/test.sh: seconds by the clock, of the program and of the system, and a name."""
    steps = {}
    for line in Path(path).read_text().splitlines():
        wall, user, system, name = line.split(" ", 3)
        steps[name] = Took(float(wall), float(user) + float(system))
    return steps


def slowness(taken: dict[str, Took], before: dict[str, Took]) -> float:
    """How many times as long as on the machine of the record things take here: the median of all that takes long enough to tell."""
    known = [what for what in taken if what in before and before[what].processor > 2]
    ratios = [taken[what].processor / before[what].processor for what in known]
    return statistics.median(ratios) if ratios else 1.0


def show(taken: dict[str, Took], before: dict[str, Took]) -> None:
    """A line for each, slowest first; and how the processor time differs from what the record leads to expect on this machine."""
    times = slowness(taken, before)
    more = {what: took.processor - times * before.get(what, Took(0, 0)).processor for what, took in taken.items()}
    print(f"\n{'wall':>9} {'processor':>9} {'more':>7}")
    for what, took in sorted(taken.items(), key=lambda item: -item[1].wall):
        is_new = bool(before) and what not in before
        print(f"{took.wall:7.1f} s {took.processor:7.1f} s {more[what] if before else 0:+7.1f}  {what}" + " (new)" * is_new)
    gone = [what for what in before if what not in taken and what != "together"]
    if before:
        in_all = sum(more.values()) - times * sum(before[what].processor for what in gone)
        # Two processors: a minute by the clock of an idle machine.
        question = ": no change may cost more than a minute by the clock, so where does it go?" if in_all > 120 * times else ""
        print(f"against {TIMES}, {times:.2f} times as slow: {in_all:+.0f} s of processors{question}")


# Parts that start the whole program hundreds of times, compile all of the catalogue or simulate thousands of measurements: that takes
# longer than the quick form has.
LONG = tuple(f"tests/host/{name}.rs" for name in ("coverage", "hostile", "mutated", "places", "race", "reflection", "truth"))


# What keeps all processors busy by intent, which others' deadlines don't stand: it runs after them, by itself.
BUSY = {"full": ("tests/devices/faulty.rs",)}


def run_all(parts: list[Part], processes: int) -> None:
    with ThreadPoolExecutor(processes) as pool:
        for ended in as_completed([pool.submit(part.run) for part in parts]):
            part = ended.result()
            print(part, flush=True)
            if part.status:
                print(part.output, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--doc", action="store_true", help="run the examples in the documentation too, which cargo builds by itself")
    parser.add_argument("--through", default="", help="run the binaries through a command, such as wine")
    parser.add_argument("--only", default="", help="run the parts whose names hold one of these texts, between commas")
    parser.add_argument("--form", default="", help="compare with what this form of scripts/test.sh took")
    parser.add_argument("--steps", help="a file of what the steps before the tests took")
    parser.add_argument("--record", action="store_true", help=f"write what this form took to {TIMES}")
    chosen = parser.parse_args()
    os.chdir(Path(__file__).resolve().parent.parent)
    parts = [part for part in built(sys.stdin, chosen.through.split()) if is_chosen(part.name, chosen.only)]
    if not parts:
        sys.exit(f"no part's name holds any of {chosen.only}")
    if chosen.form == "quick":
        left = [part.name for part in parts if part.name in LONG]
        print(f"left to the longer forms: {', '.join(left)}")
        parts = [part for part in parts if part.name not in LONG]
    if chosen.doc:
        parts.append(Part("examples in the documentation", ["cargo", "test", "--locked", "--doc", "--", "--show-output"]))
    before = recorded(chosen.form)
    # A part that is new may be the longest.
    urgency = {part.name: -before[part.name].wall if part.name in before else float("-inf") for part in parts}
    started = time.monotonic()
    parts.sort(key=lambda part: urgency[part.name])
    busy = BUSY.get(chosen.form, ())
    # One more than processors: some tests wait, for deadlines above all.
    run_all([part for part in parts if part.name not in busy], (os.cpu_count() or 1) + 1)
    run_all([part for part in parts if part.name in busy], 1)
    steps = steps_of(chosen.steps) if chosen.steps else {}
    of_parts = {part.name: part.took for part in parts}
    show({**steps, **of_parts}, before)
    all_tests = Took(time.monotonic() - started, sum(took.processor for took in of_parts.values()))
    together = Took(*(getattr(all_tests, of) + sum(getattr(took, of) for took in steps.values()) for of in ("wall", "processor")))
    print(f"{all_tests.wall:7.0f} s {all_tests.processor:7.0f} s  all tests")
    print(f"{together.wall:7.0f} s {together.processor:7.0f} s  together")
    if chosen.record:
        record(chosen.form, {**steps, **of_parts, "together": together})
    failed = [part.name for part in parts if part.status]
    if failed:
        print(f"\nfailed (what they said is above): {', '.join(failed)}")
    skipped = [(part.name, *skip) for part in parts for skip in part.skipped]
    if skipped:
        print("\nskipped:")
        for part, test, reason in skipped:
            print(f"  {part} {test}: {reason}")
    passed, wrong = sum(part.passed for part in parts), sum(part.failed for part in parts)
    print(f"\ntests: {passed} passed, {wrong} failed, {len(skipped)} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
