#!/usr/bin/env python3
"""Runs the snippets of `lanescope guide plotting` for pandas, DuckDB and gnuplot as they are written, and scripts/plot.py, over the rows of tests/data.

Each result is held against the rows themselves. `scripts/plotting.sh` installs what this needs, and runs it.
"""

import csv
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import duckdb
import numpy as np
from matplotlib import image

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests/data"
HOSTILE = "<script>alert(1)</script> ${x} $y </style>\x1b[31m\n=cmd()"


def snippet(language: str) -> str:
    """The guide's one block in this language that reads linear.csv."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / "src/guide/plotting.md").read_text(), re.MULTILINE | re.DOTALL)
    [found] = [block for block in blocks if "linear.csv" in block]
    return found


def linear(folder: Path) -> list[dict[str, str]]:
    """What `lanescope run workgroup/linear -o linear.csv` wrote, as tests/data has it; gives the rows with a figure."""
    with (DATA / "lavapipe.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["experiment"] == "workgroup/linear"]
    with (folder / "linear.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return [row for row in rows if row["status"] == "ok"]


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def expect(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)


def expect_picture(path: Path) -> None:
    """A picture with axes, texts and lines has many pixels that aren't its ground, and yet is mostly ground."""
    pixels = image.imread(path)[:, :, :3]
    drawn = (np.abs(pixels - pixels[0, 0]) > 0.1).any(axis=2)
    expect(0.005 < drawn.mean() < 0.5, f"{path.name}: {drawn.mean():.1%} of it is drawn")
    # Something in the middle as well: a frame around nothing is a blank figure.
    rows, columns = (slice(size // 5, -size // 5) for size in drawn.shape)
    expect(drawn[rows, columns].mean() > 0.001, f"{path.name}: nothing within its frame")


def pandas_snippet(folder: Path) -> None:
    linear(folder)
    ended = run([sys.executable, "-c", snippet("python")], folder)
    expect(ended.returncode == 0, ended.stderr)
    expect_picture(folder / "linear.png")


def gnuplot_snippet(folder: Path) -> None:
    linear(folder)
    (folder / "linear.gp").write_text(snippet("gnuplot"))
    ended = run(["gnuplot", "linear.gp"], folder)
    expect(ended.returncode == 0 and not ended.stderr, ended.stderr)
    expect_picture(folder / "linear-gnuplot.png")


def duckdb_snippet(folder: Path) -> None:
    rows = linear(folder)
    best = max(rows, key=lambda row: float(row["value"]))
    with duckdb.connect() as connection:
        # The only way to name the folder that `linear.csv` is in.
        connection.execute(f"SET file_search_path = '{folder}'")
        found = connection.sql(snippet("sql")).fetchall()
    expect(found == [(best["device_name"], int(best["local_size_x"]), float(best["value"]))], f"{found} for {best}")


def plot(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, str(ROOT / "scripts/plot.py"), *map(str, arguments), "--out", "figures"], folder)


def texts(figure: Path) -> str:
    """The texts of an SVG, which are texts and not outlines."""
    return "\n".join("".join(text.itertext()) for text in ElementTree.parse(figure).iter("{http://www.w3.org/2000/svg}text"))


def figures(folder: Path, ended: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """The names of all figures that were drawn, with their texts."""
    expect(ended.returncode == 0 and not ended.stderr, ended.stderr)
    drawn = {path.stem: texts(path) for path in (folder / "figures").glob("*.svg")}
    expect(0 < len(drawn) == ended.stdout.count(".svg: "), ended.stdout)
    return drawn


def all_data(file: Path) -> Callable[[Path], None]:
    """Every row of a file is in a figure, or is told to have none."""

    def check(folder: Path) -> None:
        ended = plot(folder, file)
        drawn = figures(folder, ended)
        with file.open(newline="") as opened:
            count = sum(1 for _ in csv.reader(opened)) - 1
        told = sum(int(number) for number in re.findall(r"(?:svg: |: of )(\d+) rows", ended.stdout))
        expect(told == count, f"{file.name}: {count} rows, of which {told} were told of:\n{ended.stdout}")
        for name, text in drawn.items():
            expect("flagged (hollow)" in text, f"{name}: no line below it")

    return check


def two_files(folder: Path) -> None:
    """A sweep of a number is curves, what isn't swept is bars, and both name the files."""
    drawn = figures(folder, plot(folder, *(DATA / f"nvidia-h100-overview-{run}.csv" for run in (5, 6))))
    latency, stream = drawn["cache-latency-latency-ns"], drawn["memory-stream-bandwidth-GB-s"]
    expect("working_set_bytes" in latency and "512Ki" in latency and "overview-5.csv" in latency, latency)
    expect("overview-6.csv, triad, width=4" in stream and "working_set_bytes" not in stream, stream)


def telling_apart(folder: Path) -> None:
    """Rows that only their device, their driver or their file's folder tells apart are drawn apart."""
    (folder / "a").mkdir()
    (folder / "b").mkdir()
    rows = (DATA / "nvidia-h100-ladders.csv").read_text()
    uuid = next(csv.DictReader(rows.splitlines()))["device_uuid"]
    (folder / "a/rows.csv").write_text(rows)
    (folder / "b/rows.csv").write_text(rows)
    lines = rows.splitlines(keepends=True)[1:]
    for name, old, new, shown in (
        ("cards.csv", uuid, "0" * 8 + uuid[8:], ("HBM3 #1", "HBM3 #2")),
        ("drivers.csv", "580.159.04", "590.1", ("HBM3 580.159.04", "HBM3 590.1")),
    ):
        (folder / name).write_text(rows + "".join(lines).replace(old, new))
        drawn = figures(folder, plot(folder, name))
        for text in drawn.values():
            expect(all(label in text for label in shown), f"{name}: {text}")
    for text in figures(folder, plot(folder, "a/rows.csv", "b/rows.csv")).values():
        expect("a/rows.csv" in text and "b/rows.csv" in text, text)


def texts_of_others(folder: Path) -> None:
    """Whatever a device is called stays text."""
    with (DATA / "nvidia-h100-dot.csv").open(newline="") as file:
        rows = [[HOSTILE if cell.startswith("NVIDIA H100") else cell for cell in row] for row in csv.reader(file)]
    with (folder / "rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    [text] = figures(folder, plot(folder, "rows.csv")).values()
    expect(HOSTILE.replace("\x1b", "\\u{1b}").replace("\n", "\\u{a}") in text, text)


def bad_input(folder: Path) -> None:
    """What can't be drawn ends with 2 and words that say why."""
    rows = (DATA / "nvidia-h100-dot.csv").read_text()
    (folder / "empty.csv").touch()
    (folder / "other.csv").write_text("a,b\n1,2\n")
    (folder / "header.csv").write_text(rows.splitlines()[0] + "\n")
    (folder / "twice.csv").write_text(rows + rows.splitlines()[-1] + "\n")
    (folder / "answer.csv").write_text("experiment,variant,case_id,axes,verdict,ratio\npeak/dot,,c1,,same,1.0\n")
    (folder / "torn.csv").write_text(rows.rstrip("\n")[:-60] + "\n")
    (folder / "word.csv").write_text(rows.replace(rows.splitlines()[1].split(",")[4], "fast"))
    (folder / "bytes.csv").write_bytes(b"\xff\xfe\x00\x01")
    refused = {
        "missing.csv": "No such file",
        ".": "Is a directory",
        "empty.csv": "No columns",
        "bytes.csv": "can't decode",
        "other.csv": "no rows of",
        "header.csv": "header.csv: no row below its columns",
        "twice.csv": "has two rows: `lanescope merge` leaves one",
        "answer.csv": "give the files that were compared",
        "torn.csv": "torn rows",
        "word.csv": "Unable to parse string",
        **{str(file): "lanescope merge --partial" for file in (DATA / "v1").glob("*.csv")},
    }
    def expect_refused(ended: subprocess.CompletedProcess[str], reason: str) -> None:
        is_told = ended.stderr.startswith("error: ") and reason in ended.stderr and "Traceback" not in ended.stderr
        expect(ended.returncode == 2 and is_told, f"{reason}: {ended.returncode}: {ended.stderr}")

    for name, reason in refused.items():
        expect_refused(plot(folder, name), reason)
    expect_refused(plot(folder, "twice.csv", "twice.csv"), "has two rows")
    wrong = plot(folder, DATA / "nvidia-h100-dot.csv", "--experiment", "memory/*")
    expect_refused(wrong, "no experiment is called memory/*: there is peak/dot")
    # Without site-packages there is neither pandas nor matplotlib.
    bare = run([sys.executable, "-I", "-S", str(ROOT / "scripts/plot.py"), "rows.csv", "--out", "figures"], folder)
    expect_refused(bare, "python3 -m pip install pandas matplotlib")


CHECKS = (two_files, telling_apart, pandas_snippet, duckdb_snippet, gnuplot_snippet, texts_of_others, bad_input)


def main() -> int:
    checks = {check.__name__: check for check in CHECKS}
    checks |= {f"plot.py {file.name}": all_data(file) for file in sorted(DATA.glob("*.csv"), key=lambda file: -file.stat().st_size)}

    def fault(name: str) -> str:
        with tempfile.TemporaryDirectory() as folder:
            try:
                checks[name](Path(folder))
            except (AssertionError, LookupError, OSError, ValueError, ElementTree.ParseError, duckdb.Error) as error:
                return f"{type(error).__name__}: {error}"
        return ""

    failed = 0
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for name, problem in zip(checks, pool.map(fault, checks)):
            print(f"{name}: {'failed: ' + problem if problem else 'passed'}", flush=True)
            failed += bool(problem)
    print(f"\nplotting: {len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
