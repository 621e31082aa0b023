#!/usr/bin/env python3
"""Write down what every command of Lanescope says, so that two builds can be compared: what a redesign must not change.

    cargo build --release && scripts/oracles.py target/release/lanescope before
    (change the code)
    cargo build --release && scripts/oracles.py target/release/lanescope after && diff -r before after

Each file of the folder is one command line, with its exit code and both of its streams. What differs from run to run is masked: MASKS
says what that is. Nothing is measured but on the mock device without noise, so no driver is needed.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
MOCK = ["-d", "mock:noise=0", "--no-lock"]

# What stands for what isn't the same twice, and why that isn't.
MASKS = [
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"), "<time>"),
    (re.compile(r"\br[0-9a-f]{16}\b"), "<run id>"),
    (re.compile(r"\(commit [0-9a-f]+(?:, with changes)?\)"), "(<commit>)"),
    (re.compile(r"(?<=samples, )[\d.]+ (?:s|min|h)$", re.MULTILINE), "<duration>"),
    (re.compile(r"in (?:\d+(?:\.\d+)? ?(?:ms|s|min|m|h) ?)+"), "in <duration>"),
    # A user's shader has its whole path in its hash.
    (re.compile(r'"source_hash": "\w+"'), '"source_hash": "<hash>"'),
]
# Columns of what is measured that follow from the model of the mock device, not from how long the host takes.
COLUMNS = (
    "experiment,variant,axis_values,status,value,unit,quality_flags,reason,metric,better,checked,check_note,relative,relative_to,"
    "time_ns,processes,rounds,row_kind,case_id,plan_id,plan_index,bytes_per_pass,flops_per_pass,ops_per_pass,items_per_pass,spirv_hash,"
    "source_hash,local_size_x,groups_x,groups_y,groups_z,cache"
)


def commands(binary: str) -> dict[str, list[str]]:
    """The command lines, by the names of their files."""
    ask = lambda *words: subprocess.run([binary, *words], capture_output=True, text=True, check=True).stdout
    experiments = [experiment["experiment"] for experiment in json.loads(ask("list", "--json"))["experiments"]]
    found = {"help": ["--help"], "list": ["list"], "list-v": ["list", "-v"], "list-json": ["list", "--json"]}
    found |= {"schema": ["schema"], "man": ["man"], "completions": ["completions", "bash"]}
    found |= {f"schema-{form}": ["schema", f"--{form}"] for form in ("json", "duckdb", "pandas")}
    names = re.findall(r"^  ([a-z]+)  ", ask("--help"), re.MULTILINE)
    found |= {f"help-{name}{form}": [name, form] for name in names if name != "help" for form in ("-h", "--help")}
    found |= {f"describe-{name.replace('/', '-')}": ["describe", name] for name in experiments}
    plan = ["run", "*/*", *MOCK, "--dry-run", "--format=csv", "-q", f"--columns={COLUMNS}"]
    found |= {f"plan-{preset}": [*plan, f"--preset={preset}"] for preset in ("quick", "default", "thorough", "study")}
    found["overview"] = [
        *("run", *MOCK, "--preset=quick", "--max-time=5ms", "--processes=1", "--format=csv", "-q", f"--columns={COLUMNS}"),
        *("-a", "loads=16", "-a", "n=4096"),
    ]
    recorded = sorted(DATA.glob("*.csv"))
    for file in recorded:
        found |= {f"card-{file.stem}": ["card", str(file)], f"report-{file.stem}": ["report", "-q", str(file), "-o", "-"]}
        found[f"merge-{file.stem}"] = ["merge", "-q", str(file), "-o", "-", "--format=csv"]
        found[f"again-{file.stem}"] = ["run", *MOCK, "--cases", str(file), "--dry-run", "--format=csv", "-q", f"--columns={COLUMNS}"]
    for first, second in zip(recorded, recorded[1:]):
        pair = f"{first.stem}-{second.stem}"
        found[f"compare-{pair}"] = ["compare", str(first), str(second), "--all", "--force"]
        found[f"compare-json-{pair}"] = ["compare", str(first), str(second), "--force", "--format=jsonl"]
    for version_1 in sorted((DATA / "v1").glob("*.csv")):
        found[f"merge-v1-{version_1.stem}"] = ["merge", str(version_1), "-o", "-", "--format=csv"]
    for shader in sorted((ROOT / "tests" / "tune").glob("*.comp")):
        found[f"inspect-{shader.stem}"] = ["inspect", str(shader)]
        found[f"inspect-json-{shader.stem}"] = ["inspect", str(shader), "--format=json"]
    # Those whose results don't take long to compute.
    for name in ("matmul", "reduce", "transpose"):
        found[f"tune-{name}"] = [
            *("tune", "--manifest", str(ROOT / "tests" / "tune" / f"{name}.toml"), *MOCK, "--processes=1", "--strategy=random", "--budget=12"),
            *("--format=csv", f"--columns={COLUMNS}"),
        ]
    return found


def said(binary: str, arguments: list[str]) -> str:
    ran = subprocess.run([binary, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=ROOT, check=False)
    text = "\n".join([f"$ lanescope {' '.join(arguments)}", f"exit code {ran.returncode}", ran.stdout, "-- errors", ran.stderr])
    for mask, instead in MASKS:
        text = mask.sub(instead, text)
    return text.replace(str(ROOT), "<root>")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="the program that is asked")
    parser.add_argument("folder", type=Path, help="a folder that isn't there yet, for what it says")
    chosen = parser.parse_args()
    binary = str(Path(chosen.binary).resolve())
    os.environ |= {"COLUMNS": "100", "NO_COLOR": "1"}
    chosen.folder.mkdir(parents=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = commands(binary)
        for name, text in zip(found, pool.map(lambda arguments: said(binary, arguments), found.values())):
            (chosen.folder / f"{name}.txt").write_text(text)
    print(f"{len(found)} commands: {chosen.folder}")


if __name__ == "__main__":
    main()
