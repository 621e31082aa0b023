#!/usr/bin/env python3
"""Figures of Lanescope's rows, by pandas and matplotlib: an example to start from.

    scripts/plot.py rows.csv --out FOLDER
    scripts/plot.py rows.csv --out FOLDER --experiment 'cache/*' --kind curve --format png
    scripts/plot.py before.csv after.csv --out FOLDER     # both files in each figure, and the ratios of their cases
    scripts/plot.py answer.csv --out FOLDER               # what `lanescope compare ... -o answer.csv` wrote

Each experiment gets the figure that its axes call for (`choose`). Rows with flags and rows without a figure are marked, and the line
below each figure counts them. Exit code 2: the input is no table of Lanescope's, or nothing in it can be drawn so.
"""

import argparse
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

try:
    import matplotlib as mpl
    import numpy as np
    import pandas as pd
    from matplotlib import pyplot as plt
    from matplotlib.axes import Axes
    from matplotlib.colors import LogNorm, Normalize
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
except ImportError as missing:
    sys.exit(f"error: {missing}: python3 -m pip install pandas matplotlib")

KINDS = ("heat", "stride", "levels", "curve", "matrix", "bars", "roofline", "ratios")
SWEEP = 4  # An axis of so many numbers makes a curve; of fewer, it is told like words.
LINES, COLUMNS, PANELS, BARS = 8, 12, 12, 40  # at most

# Okabe and Ito's colours, which the colour-blind tell apart; markers and strokes tell the same in black and white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999")
MARKERS = "osD^vPX*"
STROKES = ("-", "--", "-.", ":", (0, (6, 1)), (0, (3, 1, 1, 1)), (0, (1, 2)), (0, (8, 3)))
VERDICTS = {"faster": ("^", "#0072B2"), "slower": ("v", "#D55E00"), "same": ("o", "#009E73"), "unclear": ("d", "#666666")}
FLAGGED = {"heat": "*", "matrix": "*", "bars": "hatched"}  # elsewhere hollow
# In SVG, texts are texts, and nobody's names are formulas.
STYLE = {"svg.fonttype": "none", "text.parse_math": False, "font.size": 8, "axes.titlesize": 8, "hatch.linewidth": 0.4}
SMALL = 6.5

IDS = ["device_name", "device_uuid", "driver_uuid", "driver_info"]
TEXTS = [*IDS, "experiment", "variant", "axis_values", "status", "unit", "metric", "better", "quality_flags", "reason", "cache", "pair_base"]
NUMBERS = ["value", "value_ci_low", "value_ci_high", "time_ns", "relative", "ratio", "ratio_ci_low", "ratio_ci_high"]
NUMBERS += ["flops_per_pass", "bytes_per_pass", "subgroup_size"]


class Fault(Exception):
    """What the user can mend."""


@dataclass
class Plan:
    """A figure: which rows, and what becomes of each axis in which they differ."""

    kind: str
    name: str
    rows: pd.DataFrame
    axes: pd.DataFrame
    x: list[str] = field(default_factory=list)
    y: list[str] = field(default_factory=list)  # Of curves: what tells the lines apart.
    panels: list[str] = field(default_factory=list)
    note: str = ""


def read(path: Path) -> pd.DataFrame:
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False, index_col=False, encoding="utf-8-sig")
    except (OSError, UnicodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise Fault(f"{path}: can't be read: {error}") from error
    if any(str(version).startswith("v1.") for version in table.get("schema", [])):
        raise Fault(f"{path}: rows of schema 1: `lanescope merge --partial {path} -o new.csv` writes them with today's columns")
    if "verdict" in table:
        table = table.rename(columns={"axes": "axis_values", "flags": "quality_flags"})
    elif "value" not in table and "time_ns" in table:
        table = table.assign(value=table.time_ns, metric="time", unit="ns", better="lower")
    needed = {"experiment", "axis_values", "case_id"} | ({"ratio"} if "verdict" in table else {"schema", "status", "value"})
    if needed - {*table}:
        lacking = ", ".join(sorted(needed - {*table}))
        raise Fault(f"{path}: neither rows of `lanescope run` nor of `lanescope compare`: there is no column {lacking}")
    if table.empty:
        raise Fault(f"{path}: no row below its columns")
    if "schema" in table and (torn := table.schema == "").any():
        raise Fault(f"{path}: row {torn.argmax() + 1} is torn: its end is missing; `lanescope run --resume` measures it again")
    for name in TEXTS:
        table[name] = [one_line(text) for text in table[name]] if name in table else ""
    for name in NUMBERS:
        cells = table[name] if name in table else pd.Series("", table.index)
        table[name] = pd.to_numeric(cells, errors="coerce")
        if (wrong := ~np.isfinite(table[name]) & (cells != "")).any():
            raise Fault(f"{path}: row {wrong.argmax() + 1}: {name} is no number: {one_line(cells[wrong.argmax()])}")
    return table.assign(file=path.name)


def one_line(text: str) -> str:
    return "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text)


def prepared(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """All files as one table, with a name for each device, and whether a row has a figure and something is said against it."""
    rows = pd.concat(tables, ignore_index=True)
    devices = rows[IDS].drop_duplicates()
    labels = devices.device_name + devices.driver_info.map(lambda info: f" ({info})" if info else "")
    labels += np.where(labels.duplicated(keep=False), " " + devices.device_uuid.str[:8] + "/" + devices.driver_uuid.str[:8], "")
    rows["device"] = rows[IDS].merge(devices.assign(device=labels), on=IDS, how="left").device
    is_compared = "verdict" in rows
    rows["has_figure"] = rows.ratio.notna() if is_compared else rows.value.notna() & (rows.status == "ok")
    rows["is_flagged"] = rows.has_figure & (rows.quality_flags != "")
    again = rows.duplicated(["file", "device", "case_id", "pair_base"])
    if again.any() and not is_compared:
        row = rows[again].iloc[0]
        raise Fault(f"{row.file}: {row.experiment}:{row.variant} {row.axis_values} has two rows: `lanescope merge` leaves one")
    return rows


def axes_of(rows: pd.DataFrame) -> pd.DataFrame:
    """What may tell these rows apart, as columns: numbers where all values are numbers."""
    points = [dict(pair.partition("=")[::2] for pair in axes.split(";") if pair) for axes in rows.axis_values]
    axes = pd.DataFrame(points, index=rows.index)
    for name in axes:
        numbers = pd.to_numeric(axes[name], errors="coerce")
        axes[name] = numbers if numbers.isna().equals(axes[name].isna()) else axes[name].fillna("")
    return pd.concat([rows[["file", "device", "cache", "variant"]], axes], axis=1)


def varying(axes: pd.DataFrame) -> list[str]:
    """The axes in which rows differ, most values first, without those that follow from another."""
    counts = axes.nunique(dropna=False)
    names = [name for name in axes if counts[name] > 1]
    for leading in {"variant", "device"} & {*names}:
        follows = axes.groupby(leading)[names].nunique(dropna=False).max() <= 1
        names = [name for name in names if name == leading or not follows[name]]
    return sorted(names, key=lambda name: -counts[name])


def fitting(axes: pd.DataFrame, names: list[str], most: int) -> list[str]:
    """Of some axes, those that together have at most so many combinations."""
    taken: list[str] = []
    for name in names:
        if len(axes[[*taken, name]].drop_duplicates()) <= most:
            taken.append(name)
    return taken


def choose(rows: pd.DataFrame, wanted: str | None) -> Plan | None:
    """The figure for rows of one experiment, by the axes that sweep; `None` where they can't make the one that is wanted."""
    axes, experiment = axes_of(rows), rows.experiment.iloc[0]
    names = varying(axes)
    numbers = [name for name in names if pd.api.types.is_numeric_dtype(axes[name]) and axes[name].notna().all()]
    sweeps = [name for name in numbers if axes[name].nunique() >= (2 if wanted else SWEEP)]
    possible: dict[str, tuple[list[str], list[str]]] = {"bars": ([], [])}
    if {"local_size_x", "local_size_y"} <= {*numbers}:
        possible["heat"] = (["local_size_x"], ["local_size_y"])
    if sweeps:
        possible["curve"] = (sweeps[:1], fitting(axes, [name for name in names if name != sweeps[0]], LINES))
        if sweeps[0] == "stride" and rows.relative.notna().any():
            possible["stride"] = possible["curve"]
        if sweeps[0] == "working_set_bytes" and experiment in ("cache/latency", "cache/bandwidth"):
            possible["levels"] = possible["curve"]
    if len(names) >= 2:
        possible["matrix"] = (fitting(axes, names[1:], COLUMNS) or names[1:2], names[:1])
    kind = wanted or next(kind for kind in KINDS if kind in possible)
    if kind not in possible:
        return None
    x, y = possible[kind]
    rest = [name for name in names if name not in x + y and kind != "bars"]
    panels = fitting(axes, rest, PANELS)
    plan = Plan(kind, experiment, rows, axes, x, y, panels)
    if folded := ", ".join(name for name in rest if name not in panels):
        worth = rows.value.where(rows.has_figure) * np.where(rows.better == "lower", 1, -1)
        best_first = axes.loc[worth.sort_values(na_position="last", kind="stable").index]
        kept = best_first.drop_duplicates(x + y + panels).index.sort_values()
        plan.rows, plan.axes = rows.loc[kept], axes.loc[kept]
        plan.note = f"of {len(rows)} rows, the best over {folded}"
    return plan


def plans(rows: pd.DataFrame, wanted: str | None) -> Iterator[Plan]:
    """A figure for each experiment and unit, one for all experiments with a single row, and those across experiments."""
    single = []
    for experiment, of in [] if "verdict" in rows else rows.groupby("experiment", sort=False):
        units = of.unit.mask(of.unit == "", of.unit[of.has_figure].mode().get(0, ""))
        for unit, part in of.groupby(units):
            if len(part) == 1:
                single.append(part)
            elif not part.has_figure.any():
                print(f"no figure: {experiment} in {unit}: {', '.join(counted(part.status))}")
            elif wanted not in ("roofline", "ratios") and (plan := choose(part, wanted)):
                plan.name += f" {unit}" if units.nunique() > 1 else ""
                yield plan
    alone = pd.concat(single) if single else rows[:0]
    if alone.has_figure.any() and wanted in (None, "bars"):
        yield Plan("bars", "experiments of one row", alone, alone[["file", "device", "unit"]], panels=["unit"])
    kernels = rows[rows.has_figure & (rows.flops_per_pass > 0) & (rows.bytes_per_pass > 0) & (rows.time_ns > 0)]
    if len(kernels) and wanted in (None, "roofline"):
        axes = kernels[["file", "device"]]
        yield Plan("roofline", "", kernels, axes, panels=varying(axes))
    if wanted in (None, "ratios"):
        ratios = times_as_fast(rows)
        for family, of in ratios.groupby(ratios.experiment.str.replace("/.*", "", regex=True), sort=False):
            # A case of one side alone has nothing to draw.
            both = of[~of.get("verdict", pd.Series("", of.index)).isin(["new", "missing"])]
            if len(both) < len(of):
                print(f"no ratio: {family}: {', '.join(counted(of.verdict.drop(both.index)))}")
            if len(both):
                yield Plan("ratios", family, both, axes_of(both))


def times_as_fast(rows: pd.DataFrame) -> pd.DataFrame:
    """Ratios with intervals: of a comparison, of the cases that two files share, or of rows that were measured in pairs."""
    if "verdict" in rows:
        return rows
    if rows.file.nunique() != 2:
        of = rows[rows.ratio > 0]
        return of.assign(ratio=1 / of.ratio, ratio_ci_low=1 / of.ratio_ci_high, ratio_ci_high=1 / of.ratio_ci_low)
    of = rows[rows.has_figure & (rows.value > 0) & (rows.pair_base == "")]
    is_lower = of.better == "lower"
    low, high = of.value_ci_low.fillna(of.value), of.value_ci_high.fillna(of.value)
    of = of.assign(speed=of.value.mask(is_lower, 1 / of.value), least=low.mask(is_lower, 1 / high), most=high.mask(is_lower, 1 / low))
    base, new = (of[of.file == file] for file in rows.file.unique())
    key = ["case_id", "device"] if base.case_id.duplicated().any() or new.case_id.duplicated().any() else ["case_id"]
    both = new.merge(base[[*key, "speed", "least", "most"]], on=key, suffixes=("", "_base"))
    both["ratio"], both["ratio_ci_low"] = both.speed / both.speed_base, both.least / both.most_base
    return both.assign(ratio_ci_high=both.most / both.least_base)


def short(value: float) -> str:
    """A figure in the digits that there is room for."""
    size, unit = next(((size, unit) for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")) if abs(value) >= size), (1, ""))
    value /= min(size, 1e3) if unit == "k" else size
    return (f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}") + unit


def whole(value: float) -> str:
    """A value of an axis as `--axis` takes it: 4Ki is 4096."""
    for unit, size in (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if value >= size and value % size == 0:
            return f"{value / size:.0f}{unit}"
    return f"{value:.10g}"


def label(point: pd.Series, is_named: bool = True) -> str:
    """A combination of values: names stand beside numbers, and words for themselves."""
    told = {name: value for name, value in point.items() if value != "" and not pd.isna(value)}
    return ", ".join(v if isinstance(v, str) else f"{name}=" * is_named + whole(v) for name, v in told.items())


def measure(rows: pd.DataFrame) -> str:
    """What the figures of these rows are, and in which unit."""
    named = (rows[name][rows[name] != ""].unique() for name in ("metric", "unit"))
    return ", ".join(names[0] for names in named if len(names) == 1)


def counted(words: pd.Series) -> list[str]:
    return [f"{count} {word}" for word, count in words.value_counts().items()]


def parts(axes: pd.DataFrame, names: list[str]) -> Iterator[tuple[str, pd.Index]]:
    """The rows of each combination of these axes, in the order of the file; numbers in their own."""
    numbers = [name for name in names if pd.api.types.is_numeric_dtype(axes[name])]
    axes = axes.sort_values(numbers, kind="stable") if numbers else axes
    for _, part in axes.groupby(names, sort=False, dropna=False) if names else [((), axes)]:
        yield label(part[names].iloc[0]), part.index


def scale(ax: Axes, of: str, values: pd.Series, base: int, text: Callable[[float], str]) -> None:
    """A logarithmic axis where values lie far apart and unevenly, else a linear one; numbers are plain text."""
    values, axis = np.unique(values[np.isfinite(values)]), getattr(ax, f"{of}axis")
    is_even = of == "x" and len(values) > 16 and np.ptp(np.diff(values)) == 0
    if len(values) and values[0] > 0 and values[-1] >= 3 * values[0] and not is_even:
        getattr(ax, f"set_{of}scale")("log", base=base)
        subs = (1.0,) if base == 2 or values[-1] >= 200 * values[0] else (1.0, 2.0, 5.0)
        axis.set_major_locator(LogLocator(base, subs=subs, numticks=9))
        axis.set_minor_locator(NullLocator())
    else:
        axis.set_major_locator(MaxNLocator(6))
    axis.set_major_formatter(FuncFormatter(lambda value, _: text(value)))
    ax.grid(axis=of, alpha=0.3)


def draw_lines(ax: Axes, plan: Plan, index: pd.Index, all_rows: pd.DataFrame) -> None:
    """Curves with interval bands: values, or by stride how much slower than stride 1."""
    rows, axes, by = plan.rows.loc[index], plan.axes.loc[index], plan.x[0]
    value, low, high = rows.value, rows.value_ci_low, rows.value_ci_high
    if plan.kind == "stride":
        is_lower = rows.better == "lower"
        times = (1 / rows.relative).mask(is_lower, rows.relative)
        low, high = times * (value / high).mask(is_lower, low / value), times * (value / low).mask(is_lower, high / value)
        value = times
    for place, (name, line) in enumerate(parts(axes, plan.y)):
        line = axes.loc[line].sort_values(by).index
        ok, without = line[rows.has_figure[line]], line[~rows.has_figure[line]]
        look = {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)]}
        look |= {"ms": 3.5, "lw": 1.2} if len(ok) < 30 else {"ms": 2.5, "lw": 0.7}
        ax.plot(axes[by][ok], value[ok], ls=STROKES[place % len(STROKES)], **look, label=name)
        ax.fill_between(axes[by][ok], low[ok], high[ok], color=look["color"], alpha=0.25, lw=0)
        flagged = ok[rows.is_flagged[ok]]
        ax.plot(axes[by][flagged], value[flagged], ls="", **look, mfc="white")
        at_the_foot = {"transform": ax.get_xaxis_transform(), "color": look["color"], "ms": 4}
        ax.plot(axes[by][without], [0.02 + 0.03 * place] * len(without), "x", **at_the_foot)
        if plan.kind == "levels":
            draw_levels(ax, all_rows, rows.loc[line], axes.loc[line], look["color"])
        if plan.kind == "stride":
            draw_banks(ax, all_rows, rows.loc[line], axes.loc[line])
    scale(ax, "x", axes[by], 2, whole)
    scale(ax, "y", value[rows.has_figure], 2 if plan.kind == "stride" else 10, short)
    if ax.get_yscale() == "linear":
        ax.set_ylim(bottom=min(0, low.min(), value.min()))
    ax.set(xlabel=by, ylabel="times as slow as stride 1" if plan.kind == "stride" else measure(rows))
    if any(ax.get_legend_handles_labels()[1]):
        ax.legend(fontsize=SMALL, framealpha=0.7)


def derived(all_rows: pd.DataFrame, experiment: str, rows: pd.DataFrame) -> pd.DataFrame:
    """What was inferred of the device, in the same file."""
    of = all_rows[(all_rows.experiment == experiment) & all_rows.has_figure]
    return of[of.device.isin(rows.device) & of.file.isin(rows.file)]


def draw_levels(ax: Axes, all_rows: pd.DataFrame, rows: pd.DataFrame, axes: pd.DataFrame, colour: str) -> None:
    """Where each cache of this line ends, with the interval of that, and what a load from it comes to."""
    levels = derived(all_rows, "cache/levels", rows)
    levels = levels[levels.variant.str.startswith("bandwidth_") == (rows.metric.iloc[0] == "bandwidth")]
    own = axes_of(levels).reindex(columns=axes.columns).astype({"link": object} if "link" in axes else {})
    for name in [*axes.columns.difference(["file", "device", "cache", "variant", "working_set_bytes"])]:
        # Levels of indexes, the neutral link, don't name it.
        told = own[name].fillna("index").replace("", "index") if name == "link" else own[name]
        levels = levels[told[levels.index].isin(axes[name])]
    if rows.variant.iloc[0] == "private":  # They are inferred from the variant `shared`.
        return
    places = levels.variant.str.replace(".*_", "", regex=True)
    begin, last = axes.working_set_bytes.min(), axes.working_set_bytes.max()
    for place in places[levels.unit != "levels"].unique():
        level = levels[places == place].set_index("unit")
        end = level.value.get("B", last)
        if end < last:
            ax.axvspan(level.value_ci_low["B"], level.value_ci_high["B"], color=colour, alpha=0.12, lw=0)
            ax.axvline(end, color=colour, lw=0.7)
            size = f"{end / 2**10:.0f} KiB" if end < 2**20 else f"{end / 2**20:.1f} MiB"
            # Away from the curve, which begins below where latencies rise.
            at = {"y": 0.97, "va": "top"} if rows.better.iloc[0] == "lower" else {"y": 0.03, "va": "bottom"}
            ax.text(end, s=size, **at, transform=ax.get_xaxis_transform(), rotation=90, ha="right", fontsize=SMALL)
        for unit, cost in level.value.drop("B", errors="ignore").items():
            ax.plot([begin, end], [cost] * 2, color="black", lw=0.8, ls=":")
            ax.text((begin * end) ** 0.5, cost * 1.04, f"{short(cost)} {unit}", ha="center", va="bottom", fontsize=SMALL, zorder=5)
        begin = end


def draw_banks(ax: Axes, all_rows: pd.DataFrame, rows: pd.DataFrame, axes: pd.DataFrame) -> None:
    """What the inferred banks predict for reads of one word: how many words the busiest bank gives, over that at stride 1."""
    told = derived(all_rows, "shared/banks", rows).set_index("variant").value
    plain = {"width": 1, "padding": 0, "pattern": "strided"}
    if rows.experiment.iloc[0] != "shared/bank_conflict" or {*told.index} != {"count", "width"}:
        return
    if any((axes[name] != value).any() for name, value in plain.items() if name in axes):
        return

    def busiest(stride: float) -> int:
        words = np.unique(np.arange(rows.subgroup_size.max()) * stride * 4 // told["width"])
        return np.bincount((words % told["count"]).astype(int)).max()

    strides = np.sort(axes.stride.unique())
    name = f"{told['count']:.0f} banks of {told['width']:.0f} B predict (width=1)"
    ax.plot(strides, [busiest(stride) / busiest(1) for stride in strides], "k_", ms=8, zorder=4, label=name)


def draw_table(ax: Axes, plan: Plan, index: pd.Index, _: pd.DataFrame) -> None:
    """A heat map, or a coloured table: the brighter the better."""
    rows, axes, all_values = plan.rows.loc[index], plan.axes.loc[index], plan.rows.value[plan.rows.has_figure]
    columns, lines = ([of for _, of in parts(axes, names)] for names in (plan.x, plan.y))
    column, line = ({row: at for at, of in enumerate(among) for row in of} for among in (columns, lines))
    grid = np.full((len(lines), len(columns)), np.nan)
    for row in index[rows.has_figure]:
        grid[line[row], column[row]] = rows.value[row]
    low, high = all_values.min(), all_values.max()
    norm = LogNorm(low, high) if 0 < 5 * low < high else Normalize(low, high if high > low else low + 1)
    is_lower = (rows.better == "lower").any()
    colours = plt.get_cmap("cividis_r" if is_lower else "cividis")
    ax.imshow(np.ma.masked_invalid(grid), cmap=colours, norm=norm, aspect="auto", origin="lower" if plan.kind == "heat" else "upper")
    for row in index:
        at, text, is_dark = (column[row], line[row]), "×", False
        if rows.has_figure[row]:
            text = short(rows.value[row]) + ("*" if rows.is_flagged[row] else "")
            is_dark = np.dot(colours(norm(rows.value[row]))[:3], (0.3, 0.6, 0.1)) < 0.5
        ax.text(*at, text, ha="center", va="center", fontsize=6, color="white" if is_dark else "black")
    best = rows.value[rows.has_figure].agg("idxmin" if is_lower else "idxmax")
    edge = {"fill": False, "ec": "#D55E00", "lw": 1.8, "clip_on": False, "zorder": 3}
    ax.add_patch(plt.Rectangle((column[best] - 0.5, line[best] - 0.5), 1, 1, **edge))
    names = [[label(axes.loc[of[0], by], False) or "-" for of in among] for by, among in ((plan.x, columns), (plan.y, lines))]
    turned = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if max(map(len, names[0])) > 6 else {}
    ax.set_xticks(range(len(columns)), names[0], **turned)
    ax.set_yticks(range(len(lines)), names[1])
    ax.set(xlabel=", ".join(plan.x), ylabel=", ".join(plan.y))


def case_labels(ax: Axes, plan: Plan, index: pd.Index) -> None:
    """The rows from above, each by what tells it from the others of its experiment."""
    texts = {}
    for experiment, of in plan.rows.groupby("experiment"):
        names = [name for name in varying(plan.axes.loc[of.index]) if name not in ("variant", *plan.panels)]
        experiment = "" if plan.name.startswith(experiment) else experiment
        for row in of.index.intersection(index):
            told = (experiment, of.variant[row], label(plan.axes.loc[row, names]))
            texts[row] = textwrap.shorten(" ".join(filter(None, told)), 64, placeholder=" ...")
    ax.set_yticks(range(len(index)), [texts[row] for row in index])
    ax.set_ylim(len(index) - 0.4, -0.6)


def draw_bars(ax: Axes, plan: Plan, index: pd.Index, _: pd.DataFrame) -> None:
    rows = plan.rows.loc[index]
    value = rows.value.where(rows.has_figure)
    is_spread = value.max() > 50 * value[value > 0].min()
    bars = ax.barh(range(len(rows)), value.fillna(0), color="#56B4E9", ec="black", lw=0.5, log=is_spread)
    interval = [(value - rows.value_ci_low).clip(lower=0).fillna(0), (rows.value_ci_high - value).clip(lower=0).fillna(0)]
    ax.errorbar(value, range(len(rows)), xerr=interval, fmt="none", ecolor="black", elinewidth=1, capsize=2)
    for place, (bar, (_, row)) in enumerate(zip(bars, rows.iterrows())):
        bar.set_hatch("////" if row.is_flagged else "")
        has_bar = row.has_figure and row.value > 0
        at, where = (np.fmax(row.value, row.value_ci_high), ax.transData) if has_bar else (0, ax.get_yaxis_transform())
        text = short(row.value) if row.has_figure else f"× {row.status}"
        ax.annotate(text, (at, place), (4, 0), xycoords=where, textcoords="offset points", va="center", fontsize=SMALL)
    case_labels(ax, plan, index)
    ax.margins(x=0.15)
    ax.set_xlabel(measure(rows))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))


def draw_ratios(ax: Axes, plan: Plan, index: pd.Index, _: pd.DataFrame) -> None:
    rows = plan.rows.loc[index]
    ax.axvline(1, color="black", lw=0.8)
    for place, (_, row) in enumerate(rows.iterrows()):
        marker, colour = VERDICTS.get(row.get("verdict", ""), VERDICTS["unclear"])
        if row.has_figure:
            ax.plot([row.ratio_ci_low, row.ratio_ci_high], [place] * 2, color=colour, lw=1.2)
            ax.plot(row.ratio, place, marker, mec=colour, mfc="white" if row.is_flagged else colour, ms=4)
        else:
            ax.text(0.01, place, f"× {row.verdict}", transform=ax.get_yaxis_transform(), va="center", fontsize=SMALL)
    case_labels(ax, plan, index)
    scale(ax, "x", rows[["ratio", "ratio_ci_low", "ratio_ci_high"]].stack(), 10, "{:.4g}".format)
    ax.set_xlabel("times as fast")
    for verdict, (marker, colour) in VERDICTS.items():
        if "verdict" in rows and (rows.verdict == verdict).any():
            ax.plot([], [], marker, color=colour, label=verdict)
            ax.legend(fontsize=SMALL, framealpha=0.7)


def draw_roofline(ax: Axes, plan: Plan, index: pd.Index, all_rows: pd.DataFrame) -> None:
    """Kernels by flops per byte, under the best rates that peak/summary tells of the same device."""
    rows = plan.rows.loc[index]
    x, y = rows.flops_per_pass / rows.bytes_per_pass, rows.flops_per_pass / rows.time_ns
    peaks = derived(all_rows, "peak/summary", rows).sort_values("value")
    flops, bandwidths = (peaks[peaks.unit == unit] for unit in ("GFLOP/s", "GB/s"))
    left, right = x.min() / 2, 2 * np.fmax(x.max(), (flops.value.max() / bandwidths.value).max())
    bottom, top = y.min() / 2, 2 * np.fmax(y.max(), flops.value.max())
    for place, (name, of) in enumerate(rows.groupby("experiment", sort=False)):
        look = {"color": COLOURS[place % len(COLOURS)], "marker": MARKERS[place % len(MARKERS)], "ls": "", "ms": 4.5, "zorder": 3}
        ax.plot(x[of.index], y[of.index], **look, label=name)
        ax.plot(x[of.index[of.is_flagged]], y[of.index[of.is_flagged]], **look, mfc="white")
    for place, (_, peak) in enumerate(flops.iterrows()):
        begin = np.fmax(left, peak.value / bandwidths.value.max())
        ax.plot([begin, right], [peak.value] * 2, color="black", lw=1, ls=STROKES[place % len(STROKES)])
    for _, near in flops.groupby((flops.value.pct_change() > 0.15).cumsum()):
        text, at = f"{', '.join(near.variant)}: {short(near.value.max())} GFLOP/s", (right, near.value.max())
        ax.annotate(text, at, (-2, 1), textcoords="offset points", ha="right", va="bottom", fontsize=SMALL)
    for place, (_, peak) in enumerate(bandwidths.iterrows()):
        ends = np.array([left, np.fmin(right, flops.value.max() / peak.value)])
        stroke = {"color": "#999999", "lw": 1, "ls": STROKES[place % len(STROKES)]}
        ax.plot(ends, ends * peak.value, **stroke, label=f"{peak.variant}: {short(peak.value)} GB/s")
    ax.set(xlim=(left, right), ylim=(bottom, top), xlabel="flops per byte", ylabel="GFLOP/s")
    scale(ax, "x", pd.Series([left, right]), 10, short)
    scale(ax, "y", pd.Series([bottom, top]), 10, short)
    ax.legend(fontsize=SMALL, title=None if len(peaks) else "no rows peak/summary: no ceilings", title_fontsize=SMALL)


def caption(plan: Plan) -> str:
    """What the rows share, and what is to be said against them."""
    rows, told = plan.rows, [plan.note or f"{len(plan.rows)} rows"]
    told.append("the brighter the better, the best one outlined" if plan.kind in ("heat", "matrix") else "")
    if rows.is_flagged.any():
        flags = rows.quality_flags[rows.is_flagged].str.split(";").explode()
        told.append(f"{rows.is_flagged.sum()} flagged ({FLAGGED.get(plan.kind, 'hollow')}): {', '.join(counted(flags))}")
    without = rows[~rows.has_figure]
    if len(without):
        reason = without.reason[without.reason != ""].mode().get(0, "")
        status = without.get("verdict", without.status)
        told.append(f"{len(without)} without a figure (×): {', '.join(counted(status))}" + f" (most: {reason})" * (reason != ""))
    shared = [name for name in plan.axes if name != "file" and plan.axes[name].nunique(dropna=False) == 1]
    return "; ".join(filter(None, [*told, label(plan.axes.iloc[0][shared])]))


def draw(plan: Plan, all_rows: pd.DataFrame) -> Figure:
    functions = {"heat": draw_table, "matrix": draw_table, "bars": draw_bars, "ratios": draw_ratios, "roofline": draw_roofline}
    is_list, is_table = plan.kind in ("bars", "ratios"), plan.kind in ("heat", "matrix")
    panels = [panel for panel in parts(plan.axes, plan.panels) if is_list or plan.rows.has_figure[panel[1]].any()]
    if is_list:
        panels = [(title, pd.Index(some)) for title, of in panels for some in np.array_split(of, -(-len(of) // BARS))]
        panels.sort(key=lambda panel: -len(panel[1]))
    across = min(len(panels), 2 if is_list else 3)
    sizes = [(5.6, 0.8 + 0.19 * len(of)) if is_list else (4.6, 3.4) for _, of in panels]
    if is_table:
        cells = [[len(plan.axes.loc[of, names].drop_duplicates()) for names in (plan.x, plan.y)] for _, of in panels]
        sizes = [(1.2 + 0.55 * columns, 1.1 + 0.2 * lines) for columns, lines in cells]
    widths = [max(width for width, _ in sizes[at::across]) for at in range(across)]
    heights = [max(height for _, height in sizes[at : at + across]) for at in range(0, len(sizes), across)]
    size = (max(5.0, sum(widths)), sum(heights) + 1)
    grid = {"width_ratios": widths, "height_ratios": heights, "squeeze": False, "layout": "constrained"}
    figure, all_axes = plt.subplots(len(heights), len(widths), figsize=size, **grid)
    for ax, (title, index) in zip(all_axes.flat, panels):
        ax.set_title(title)
        functions.get(plan.kind, draw_lines)(ax, plan, index, all_rows)
    for ax in all_axes.flat[len(panels) :]:
        ax.remove()
    figure.suptitle(f"{plan.name}: {measure(plan.rows)}" if is_table else f"{plan.kind} {plan.name}" if plan.kind in ("roofline", "ratios") else plan.name, fontsize=10)
    figure.supxlabel(textwrap.fill(caption(plan), int(size[0] * 18)), fontsize=SMALL, x=0.01, ha="left")
    return figure


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, nargs="+", help="CSV of `lanescope run`, `tune`, `merge` or `compare`")
    parser.add_argument("--out", type=Path, required=True, help="folder for the figures")
    parser.add_argument("--kind", choices=KINDS, help="this kind alone, wherever the axes allow it")
    parser.add_argument("--experiment", default="*", metavar="GLOB", help="these experiments alone, as 'cache/*'")
    parser.add_argument("--format", choices=("svg", "pdf", "png"), default="svg")
    arguments = parser.parse_args()
    mpl.use("agg")
    mpl.rcParams.update(STYLE)
    try:
        all_rows = prepared([read(path) for path in arguments.rows])
        rows = all_rows[[fnmatchcase(name, arguments.experiment) for name in all_rows.experiment]]
        if rows.empty:
            raise Fault(f"no experiment is called {arguments.experiment}: there is {', '.join(all_rows.experiment.unique())}")
        arguments.out.mkdir(parents=True, exist_ok=True)
        drawn: set[Path] = set()
        for plan in plans(rows, arguments.kind):
            name = re.sub(r"[^A-Za-z0-9]+", "-", f"{plan.kind}-{plan.name}").strip("-")
            # Other names may become the same.
            name += f"-{len(drawn)}" if arguments.out / f"{name}.{arguments.format}" in drawn else ""
            path = arguments.out / f"{name}.{arguments.format}"
            figure = draw(plan, all_rows)
            figure.savefig(path, dpi=150)
            plt.close(figure)
            drawn.add(path)
            print(f"{path}: {plan.note or f'{len(plan.rows)} rows'}")
        if not drawn:
            raise Fault(f"nothing here makes {f'a figure of the kind {arguments.kind}' if arguments.kind else 'a figure'}")
    except (Fault, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
