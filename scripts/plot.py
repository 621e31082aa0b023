#!/usr/bin/env python3
"""Figures of Lanescope's rows, an example to start from (python3 -m pip install pandas matplotlib).

    scripts/plot.py before.csv after.csv --out FOLDER --experiment 'cache/*' --format png     # one file or several in each figure

An experiment that sweeps a number gets curves with their intervals, any other one bars. Flagged rows are hollow, and the line below each
figure tells what isn't in it. `lanescope report --figures` draws heat maps, rooflines and ratios as well. Exit code 2: bad input.
"""

import argparse
from fnmatch import fnmatchcase
from pathlib import Path

try:
    import pandas as pd
    from matplotlib import pyplot as plt
except ImportError as missing:
    argparse.ArgumentParser().exit(2, f"error: {missing}: python3 -m pip install pandas matplotlib\n")

SWEEP, LINES, BARS = 4, 8, 40  # The fewest numbers on a curve, the most curves, and the most bars.
# Okabe and Ito's colours for the colour-blind, markers and strokes for black and white. In SVG, texts are texts and no formulas.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999")
MARKERS, STROKES = "osD^vPX*", ("-", "--", "-.", ":", (0, (6, 1)), (0, (3, 1, 1, 1)), (0, (1, 2)), (0, (8, 3)))
plt.rcParams.update({"backend": "agg", "svg.fonttype": "none", "text.parse_math": False, "font.size": 8})
NUMBERS, IDS = ["value", "value_ci_low", "value_ci_high"], ["device_name", "driver_info", "device_uuid", "driver_uuid"]
CASE = ["the file", "device_name", "variant", "cache", "pair_base", "experiment", "axis_values"]  # What only one row has.
TEXTS = [*CASE, *IDS[1:], "status", "metric", "unit", "better", "quality_flags"]


def read(paths: list[Path]) -> pd.DataFrame:
    """All rows, none twice. Files are called by the shortest end of their path that is no other's, devices by driver or number at need."""
    tables, parts = [], [path.absolute().parts for path in paths]
    for path, own in zip(paths, parts):
        ends = (own[-n:] for n in range(1, len(own)) if sum(own[-n:] == other[-n:] for other in parts) == 1)
        try:
            rows = pd.read_csv(path, dtype=str, keep_default_na=False, index_col=False, encoding="utf-8-sig")
            if "value" not in rows and "time_ns" in rows:
                rows = rows.assign(value=rows.time_ns, metric="time", unit="ns", better="lower")
            if lacking := ", ".join(sorted({"axis_values", "experiment", "schema", "status", "value"} - {*rows})):
                hint = "give the files that were compared" if "verdict" in rows else "`lanescope merge --partial` mends older ones"
                raise ValueError(f"no rows of `lanescope run`, as there is no column {lacking}: {hint}")
            if rows.empty or not rows.schema.str.startswith("v2.").all():
                raise ValueError("no row below its columns" if rows.empty else "torn rows: `lanescope merge --partial` leaves them out")
            rows = rows.reindex(columns=[*TEXTS, *NUMBERS], fill_value="").assign(**{"the file": "/".join(next(ends, [str(path)]))})
            tables.append(rows.assign(**rows[NUMBERS].apply(pd.to_numeric).where(rows.status == "ok")))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
    rows = pd.concat(tables, ignore_index=True)
    rows[TEXTS] = rows[TEXTS].map(lambda text: "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text))
    cards = rows.groupby("device_name").device_uuid.transform(lambda ids: pd.factorize(ids)[0] + 1).astype(str)
    for of, words in zip(IDS[1:], (rows.driver_info, "#" + cards, rows.driver_uuid)):
        rows["device_name"] += (" " + words).where(rows.groupby("device_name")[of].transform("nunique") > 1, "")
    for _, row in rows[rows.duplicated(CASE)].iterrows():
        raise ValueError(f"{row['the file']}: {row.experiment}:{row.variant} {row.axis_values} has two rows: `lanescope merge` leaves one")
    return rows


def axes_of(rows: pd.DataFrame) -> pd.DataFrame:
    """What tells these rows apart, as columns: numbers where all values are numbers. None follows from others."""
    points = [dict(pair.partition("=")[::2] for pair in axes.split(";") if pair) for axes in rows.axis_values]
    axes = rows[CASE[:4]].join(pd.DataFrame(points, index=rows.index).fillna("")).assign(paired=rows.pair_base != "")
    for name in [*axes][::-1]:
        others = axes.drop(columns=name)
        if not others.empty and len(others.drop_duplicates()) == len(axes.drop_duplicates()):
            axes = others
    return axes.apply(lambda of: of if (numbers := pd.to_numeric(of, errors="coerce")).isna().any() else numbers)


def named(axes: pd.DataFrame) -> pd.Series:  # In words: names stand beside numbers, and words for themselves.
    cells = [axes[name].map(lambda value, name=name: value if isinstance(value, str) else f"{name}={short(value)}") for name in axes]
    return pd.Series([", ".join(filter(None, row)) for row in zip(*cells)] if cells else "", axes.index)


def short(value: float) -> str:  # As `--axis` takes it: 4Ki is 4096.
    sizes = ((2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki"), (1, ""))
    return next(f"{value / size:.12g}{unit}" for size, unit in sizes if size == 1 or (value >= size and value % size == 0))


def curves(ax: plt.Axes, rows: pd.DataFrame, axes: pd.DataFrame, x: str) -> str:
    """A curve for each series over a number. Where there are too many, each is the best of several rows."""
    names, others = [], [name for name in axes if name != x]
    for name in sorted(others, key=lambda name: axes[name].nunique()):
        names += [name] if len(axes[[*names, name]].drop_duplicates()) <= LINES else []
    best = rows.assign(x=axes[x], series=axes.groupby(names).ngroup() if names else 0, words=named(axes[names]))
    best = best.sort_values("value", ascending=rows.better.iloc[0] == "lower").drop_duplicates(["x", "series"]).sort_values("x")
    for place, of in best.groupby("series"):
        look = {"color": COLOURS[place], "marker": MARKERS[place], "ms": 4}
        ax.plot(of.x, of.value, ls=STROKES[place], label=of.words.iloc[0] or "the others", **look)
        ax.fill_between(of.x, of.value_ci_low, of.value_ci_high, color=COLOURS[place], alpha=0.2, lw=0)
        ax.plot(of.x, of.value.where(of.quality_flags != ""), ls="", **look, mfc="white")
    for axis, values, base in ((ax.xaxis, best.x, 2), (ax.yaxis, best.value, 10)):
        if values.min() > 0 and values.max() >= 16 * values.min():  # They lie far apart.
            getattr(ax, f"set_{axis.axis_name}scale")("log", base=base)
            axis.set(major_formatter=lambda value, _: short(value), minor_formatter="")
        elif axis is ax.yaxis and values.min() >= 0:
            ax.set_ylim(bottom=0)
    if names:
        ax.legend()
    folded = ", ".join(name for name in others if name not in names)
    return f", of {len(rows)} rows the best over {folded}" if folded else ""


def bars(ax: plt.Axes, rows: pd.DataFrame, axes: pd.DataFrame) -> str:
    shown = rows.assign(words=named(axes)).head(BARS)[::-1]
    ends = [(shown.value - shown.value_ci_low).clip(lower=0).fillna(0), (shown.value_ci_high - shown.value).clip(lower=0).fillna(0)]
    look = {"color": ["white" if flags else COLOURS[0] for flags in shown.quality_flags], "ec": COLOURS[0], "ecolor": "black"}
    ax.barh(range(len(shown)), shown.value, xerr=ends, tick_label=shown.words, capsize=2, **look)
    return f", the first {BARS} of {len(rows)} rows" if len(rows) > BARS else ""


def draw(rows: pd.DataFrame, folder: Path, ending: str) -> None:
    for (experiment, metric, unit), of in rows.groupby(["experiment", "metric", "unit"], sort=False):
        count, of = len(of), of.dropna(subset="value")
        if len(of) < 2:
            print(f"no figure: {experiment}: of {count} rows {len(of)} with a value")
            continue
        axes, measure, names = axes_of(of), f"{metric}, {unit}", of.device_name.unique()
        counts = axes.select_dtypes("number").nunique()
        x = counts.idxmax() if counts.max() >= SWEEP else ""
        figure, ax = plt.subplots(layout="constrained", figsize=(6, 4 if x else 1.2 + 0.2 * min(len(of), BARS)))
        note = curves(ax, of, axes, x) if x else bars(ax, of, axes)
        note = f"{count} rows{note}; {(of.quality_flags != '').sum()} flagged (hollow); {count - len(of)} without a value"
        ax.set(title=f"{experiment}: {names[0] if len(names) == 1 else f'{len(names)} devices'}", xlabel=x or measure, ylabel=x and measure)
        figure.supxlabel(note, fontsize=6, x=0.01, ha="left")
        path = folder / ("".join(c if c.isalnum() else "-" for c in f"{experiment} {metric} {unit}".strip()) + f".{ending}")
        figure.savefig(path, dpi=150)
        plt.close(figure)
        print(f"{path}: {note}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, nargs="+", help="CSV of `lanescope run`, `tune` or `merge`")
    parser.add_argument("--out", type=Path, required=True, help="folder for the figures")
    parser.add_argument("--experiment", default="*", metavar="GLOB", help="these experiments alone, as 'cache/*'")
    parser.add_argument("--format", choices=("svg", "pdf", "png"), default="svg")
    arguments = parser.parse_args()
    try:
        all_rows = read(arguments.rows)
        rows = all_rows[[fnmatchcase(name, arguments.experiment) for name in all_rows.experiment]]
        if rows.empty:
            raise ValueError(f"no experiment is called {arguments.experiment}: there is {', '.join(all_rows.experiment.unique())}")
        arguments.out.mkdir(parents=True, exist_ok=True)
        draw(rows, arguments.out, arguments.format)
    except (OSError, ValueError) as error:
        parser.exit(2, f"error: {error}\n")


if __name__ == "__main__":
    main()
