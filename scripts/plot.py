#!/usr/bin/env python3
"""Figures of Lanescope's rows, an example to start from (python3 -m pip install pandas matplotlib).

    scripts/plot.py rows.csv --out FOLDER
    scripts/plot.py before.csv after.csv --out FOLDER --experiment 'cache/*' --format png     # both files in each figure

An experiment that sweeps a number gets curves with their intervals, any other one bars. Flagged rows are hollow, and the line below each
figure tells what isn't in it. `lanescope report --figures` draws heat maps, rooflines and ratios as well.
"""

import argparse
import re
from fnmatch import fnmatchcase
from pathlib import Path

import matplotlib as mpl
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

SWEEP, LINES, BARS = 4, 8, 40  # The fewest numbers on a curve, the most curves, and the most bars.
# Okabe and Ito's colours, which the colour-blind tell apart; markers and strokes tell the same in black and white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999")
MARKERS, STROKES = "osD^vPX*", ("-", "--", "-.", ":", (0, (6, 1)), (0, (3, 1, 1, 1)), (0, (1, 2)), (0, (8, 3)))
# In SVG, texts are texts, and nobody's names are formulas.
STYLE = {"backend": "agg", "svg.fonttype": "none", "text.parse_math": False, "font.size": 8, "figure.constrained_layout.use": True}
TEXTS = ["device_name", "experiment", "variant", "axis_values", "status", "metric", "unit", "better", "quality_flags", "cache"]
NUMBERS = ["value", "value_ci_low", "value_ci_high"]


def read(path: Path) -> pd.DataFrame:
    """The rows of a file; those that could be measured have a value."""
    rows = pd.read_csv(path, dtype=str, keep_default_na=False, index_col=False, encoding="utf-8-sig")
    if {"experiment", "axis_values", "schema"} - {*rows}:
        raise ValueError(f"{path}: no rows of `lanescope run`, or older ones: `lanescope merge --partial` gives those today's columns")
    rows = rows.assign(**dict.fromkeys({*TEXTS, *NUMBERS} - {*rows}, ""))
    if not rows.schema.str.startswith("v2.").all():
        raise ValueError(f"{path}: there are torn rows: `lanescope merge --partial` leaves them out")
    rows[NUMBERS] = rows[NUMBERS].apply(pd.to_numeric).where(rows.status == "ok")
    rows[TEXTS] = rows[TEXTS].map(lambda text: "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text))
    return rows.assign(file=path.name)


def axes_of(rows: pd.DataFrame) -> pd.DataFrame:
    """What may tell these rows apart, as columns: numbers where all values are numbers. None follows from another."""
    points = [dict(pair.partition("=")[::2] for pair in axes.split(";") if pair) for axes in rows.axis_values]
    axes = pd.concat([rows[["file", "device_name", "variant", "cache"]], pd.DataFrame(points, index=rows.index).fillna("")], axis=1)
    axes = axes[[name for name in axes if axes[name].nunique() > 1]]
    for name in [*axes][::-1]:
        numbers = pd.to_numeric(axes[name], errors="coerce")
        axes = axes.assign(**{name: numbers}) if numbers.notna().all() else axes
        others = [other for other in axes if other != name]
        if others and axes.groupby(others)[name].nunique().max() == 1:
            axes = axes[others]
    return axes


def named(axes: pd.DataFrame) -> pd.Series:
    """What tells a row apart, in words: names stand beside numbers, and words for themselves."""
    cells = [axes[name].map(lambda value, name=name: value if isinstance(value, str) else f"{name}={short(value)}") for name in axes]
    return pd.Series([", ".join(filter(None, row)) for row in zip(*cells)] if cells else "", axes.index)


def short(value: float) -> str:
    """A number as `--axis` takes it: 4Ki is 4096."""
    sizes = ((2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki"))
    return next((f"{value / size:.0f}{unit}" for size, unit in sizes if value >= size and value % size == 0), f"{value:.6g}")


def spread(ax: Axes, of: str, values: pd.Series, base: int) -> None:
    """A logarithmic axis where values lie far apart, whose numbers are plain text."""
    if values.min() > 0 and values.max() >= 16 * values.min():
        axis = getattr(ax, f"{of}axis")
        getattr(ax, f"set_{of}scale")("log", base=base)
        axis.set(major_locator=LogLocator(base, numticks=8), minor_formatter=NullFormatter())
        axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    elif of == "y" and values.min() >= 0:
        ax.set_ylim(bottom=0)


def curves(ax: Axes, rows: pd.DataFrame, axes: pd.DataFrame, x: str) -> str:
    """A curve for each series over a number. Where there are too many, each is the best of several rows."""
    names, others = [], [name for name in axes if name != x]
    for name in sorted(others, key=lambda name: axes[name].nunique()):
        names += [name] if len(axes[[*names, name]].drop_duplicates()) <= LINES else []
    rows = rows.assign(x=axes[x], series=named(axes[names])).sort_values("value", ascending=rows.better.iloc[0] == "lower")
    best = rows.drop_duplicates(["x", "series"]).sort_values("x")
    for place, (name, of) in enumerate(best.groupby("series")):
        look = {"color": COLOURS[place], "marker": MARKERS[place], "ms": 4}
        ax.plot(of.x, of.value, ls=STROKES[place], label=name, **look)
        ax.fill_between(of.x, of.value_ci_low, of.value_ci_high, color=COLOURS[place], alpha=0.2, lw=0)
        ax.plot(of.x, of.value.where(of.quality_flags != ""), ls="", **look, mfc="white")
    spread(ax, "x", best.x, 2)
    spread(ax, "y", best.value, 10)
    ax.set(xlabel=x, ylabel=f"{rows.metric.iloc[0]}, {rows.unit.iloc[0]}")
    if best.series.nunique() > 1:
        ax.legend()
    folded = ", ".join(name for name in others if name not in names)
    return f", of {len(rows)} rows the best over {folded}" if folded else ""


def bars(ax: Axes, rows: pd.DataFrame, axes: pd.DataFrame) -> str:
    shown = rows.assign(name=named(axes)).head(BARS)[::-1]
    ends = [(shown.value - shown.value_ci_low).clip(lower=0).fillna(0), (shown.value_ci_high - shown.value).clip(lower=0).fillna(0)]
    colours = ["white" if flags else COLOURS[0] for flags in shown.quality_flags]
    ax.barh(range(len(shown)), shown.value, xerr=ends, color=colours, ec=COLOURS[0], ecolor="black", capsize=2)
    ax.set_yticks(range(len(shown)), shown.name)
    ax.set_xlabel(f"{rows.metric.iloc[0]}, {rows.unit.iloc[0]}")
    ax.figure.set_figheight(1.2 + 0.2 * len(shown))
    return f", the first {BARS} of {len(rows)} rows" if len(rows) > BARS else ""


def draw(rows: pd.DataFrame, folder: Path, ending: str) -> None:
    for (experiment, metric, unit), of in rows.groupby(["experiment", "metric", "unit"], sort=False):
        count, of = len(of), of.dropna(subset="value")
        if len(of) < 2:
            print(f"no figure: {experiment}: of {count} rows {len(of)} with a value")
            continue
        figure, ax = plt.subplots(figsize=(6, 4))
        axes = axes_of(of)
        sweeps = [name for name in axes if pd.api.types.is_numeric_dtype(axes[name]) and axes[name].nunique() >= SWEEP]
        note = curves(ax, of, axes, max(sweeps, key=lambda name: axes[name].nunique())) if sweeps else bars(ax, of, axes)
        note = f"{count} rows{note}; {(of.quality_flags != '').sum()} flagged (hollow); {count - len(of)} without a value"
        ax.set_title(f"{experiment}: {', '.join(of.device_name.unique())}")
        figure.supxlabel(note, fontsize=6, x=0.01, ha="left")
        name = re.sub(r"[^A-Za-z0-9]+", "-", f"{experiment} {metric} {unit}".strip())
        figure.savefig(folder / f"{name}.{ending}", dpi=150)
        plt.close(figure)
        print(f"{folder / name}.{ending}: {note}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, nargs="+", help="CSV of `lanescope run`, `tune` or `merge`")
    parser.add_argument("--out", type=Path, required=True, help="folder for the figures")
    parser.add_argument("--experiment", default="*", metavar="GLOB", help="these experiments alone, as 'cache/*'")
    parser.add_argument("--format", choices=("svg", "pdf", "png"), default="svg")
    arguments = parser.parse_args()
    mpl.rcParams.update(STYLE)
    try:
        rows = pd.concat([read(path) for path in arguments.rows], ignore_index=True)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    arguments.out.mkdir(parents=True, exist_ok=True)
    draw(rows[[fnmatchcase(name, arguments.experiment) for name in rows.experiment]], arguments.out, arguments.format)


if __name__ == "__main__":
    main()
