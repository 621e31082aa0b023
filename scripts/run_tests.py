#!/usr/bin/env python3
"""Runs the tests that cargo has built, several at a time, and says how long each part took, slowest first.

    cargo test --no-run --message-format=json-render-diagnostics | scripts/run_tests.py [--doc] [--through COMMAND] [--only TEXT]

A part is a test binary, or one file of a test binary that has several (tests/host, tests/devices). Every part is a process of its
own and runs its tests one after the other; as many parts run at a time as the machine has processors. `--doc` adds the examples in
the documentation, which cargo builds and runs by itself. `--through wine` has a command run the binaries. `--only` leaves out the parts
whose names hold none of these texts, between commas.

The last line sums libtest's own counts up. Exit code 1: something failed, or was not counted.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

# What a run lists first at its end: begun first, so that no long part is left alone when all others are done.
SLOWEST = (
    *("devices/profile", "devices/mutants", "devices/faults", "devices/isolation", "devices/tune", "devices/tune_images"),
    *("host/resume", "host/catalogue"),
)

RESULT = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;", re.MULTILINE)
TEST = re.compile(r"^(.+): test$", re.MULTILINE)


@dataclass
class Part:
    """Some tests that run in one process."""

    name: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    counts: tuple[int, int, int] = (0, 0, 0)
    status: int = 0
    output: str = ""

    def run(self) -> "Part":
        started = time.monotonic()
        ended = subprocess.run(
            self.command,
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        self.seconds, self.status, self.output = time.monotonic() - started, ended.returncode, ended.stdout
        results = [[int(count) for count in found] for found in RESULT.findall(self.output)]
        self.counts = tuple(map(sum, zip(*results))) if results else (0, 0, 0)
        # A process that ended well without a count has tested nothing.
        self.status = self.status or (0 if results else 1)
        return self

    def __str__(self) -> str:
        passed, failed, skipped = self.counts
        counted = f"{passed} passed" + f", {failed} failed" * (failed > 0) + f", {skipped} skipped" * (skipped > 0)
        return f"{self.seconds:7.1f} s  {self.name}: {counted}" + (f" (exit code {self.status})" if self.status else "")


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
        return [Part(str(source), binary, one_at_a_time)]
    listed = subprocess.run([*binary, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
    files: dict[str, list[str]] = {}
    for test in TEST.findall(listed):
        files.setdefault(test.split("::")[0], []).append(test)
    return [
        Part(str(source.with_name(f"{file}.rs")), [*binary, "--exact", *tests], one_at_a_time) for file, tests in files.items()
    ]


def is_chosen(name: str, only: str) -> bool:
    return any(text in name for text in only.split(","))


def urgency(part: Part) -> int:
    return next((place for place, name in enumerate(SLOWEST) if part.name == f"tests/{name}.rs"), len(SLOWEST))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--doc", action="store_true")
    parser.add_argument("--through", default="")
    parser.add_argument("--only", default="")
    chosen = parser.parse_args()
    os.chdir(Path(__file__).resolve().parent.parent)
    parts = [part for part in built(sys.stdin, chosen.through.split()) if is_chosen(part.name, chosen.only)]
    if not parts:
        sys.exit(f"no part's name holds any of {chosen.only}")
    if chosen.doc:
        parts.append(Part("examples in the documentation", ["cargo", "test", "--locked", "--quiet", "--doc"]))
    started = time.monotonic()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        running = [pool.submit(part.run) for part in sorted(parts, key=urgency)]
        for ended in as_completed(running):
            part = ended.result()
            print(part, flush=True)
            if part.status:
                print(part.output, flush=True)
    print(f"\nall parts, slowest first ({time.monotonic() - started:.0f} s together):")
    for part in sorted(parts, key=lambda part: -part.seconds):
        print(part)
    failed = [part.name for part in parts if part.status]
    if failed:
        print(f"\nfailed (what they said is above): {', '.join(failed)}")
    passed, wrong, skipped = map(sum, zip(*(part.counts for part in parts)))
    print(f"\ntests: {passed} passed, {wrong} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
