//! Rows of real runs, kept as files: later versions must still read them, and what README says of them must be in them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use lanescope::record::{Reader, Record};
use serde::Deserialize;

use crate::support::texts::readme;

/// `lanescope run --stats -o nvidia-h100.csv`
const H100: &str = "nvidia-h100.csv";
/// `lanescope run memory/stream 'shared/*' algo/transpose --stats -o nvidia-h100-default.csv`: default axes, nothing left out.
const H100_DEFAULT: &str = "nvidia-h100-default.csv";
/// `lanescope run 'memory/*' 'load/*' 'cache/*' 'transfer/*' --processes 1 -o nvidia-h100-memory.csv`: default axes, nothing left out.
const H100_MEMORY: &str = "nvidia-h100-memory.csv";
/// `lanescope run cache/bandwidth --processes 1 -o nvidia-h100-bandwidth.csv`: on another such card, with the kernel of today; those
/// in the file above are an older one's, whose workgroups walked through a shared window in one order.
const H100_BANDWIDTH: &str = "nvidia-h100-bandwidth.csv";
/// `lanescope run 'peak/*' 'dispatch/*' 'shared/*' memory/stream cache/bandwidth algo/transpose --stats --processes 1 -o
/// nvidia-h100-units.csv`: default axes, nothing left out.
const H100_UNITS: &str = "nvidia-h100-units.csv";
/// `lanescope run peak/dot -a op=dot -a chains=2,4,8 -a unroll=4,8,16 --processes 1 --max-time 100ms -o nvidia-h100-dot.csv`: the file
/// above has the eight chains of an older default, whose code is too long.
const H100_DOT: &str = "nvidia-h100-dot.csv";
/// `lanescope run 'workgroup/*' 'subgroup/*' 'sync/*' --stats --processes 1 --max-time 500ms`, ended before `sync/`, and merged
/// (`--partial`).
const H100_GROUPS: &str = "nvidia-h100-groups.csv";
/// `lanescope run 'sync/*' --stats --processes 1 --max-time 500ms -o nvidia-h100-sync.csv`: default axes, nothing left out.
const H100_SYNC: &str = "nvidia-h100-sync.csv";
/// `lanescope run --preset quick -o nvidia-h100-overview-6.csv`: README's table is of it.
const H100_OVERVIEW: &str = "nvidia-h100-overview-6.csv";
/// `lanescope run -o lavapipe.csv`
const LAVAPIPE: &str = "lavapipe.csv";

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn rows(name: &str) -> Vec<Record> {
    let reader = Reader::open(&path(name)).expect("the file is there");
    reader.collect::<Result<Vec<_>, _>>().expect("every row can be read")
}

fn best(rows: &[Record], op: &str) -> f64 {
    let of_op = rows.iter().filter(|row| row.experiment == "memory/stream" && row.axis_values.contains(&format!("op={op};")));
    of_op.filter_map(|row| row.gb_per_s).fold(0.0, f64::max)
}

/// Rows get published: none names a folder, since a path has its user's name in it.
#[test]
fn every_row_is_measured_and_checked_or_says_why_not() {
    for name in
        [H100, H100_DEFAULT, H100_MEMORY, H100_BANDWIDTH, H100_UNITS, H100_DOT, H100_GROUPS, H100_SYNC, H100_OVERVIEW, LAVAPIPE]
    {
        let rows = rows(name);
        assert!(rows.len() >= 27, "{name}");
        for row in &rows {
            let case = format!("{name}: {} {}", row.experiment, row.axis_values);
            assert!(!row.environment.contains(['/', '\\']), "{case}");
            if row.status == "skipped" {
                assert!(!row.reason.is_empty(), "{case}");
                continue;
            }
            assert!(row.status == "ok" && (row.checked == "true" || !row.check_note.is_empty()), "{case}");
            let trips = ["dispatch/submit", "dispatch/fence", "dispatch/timeline"];
            let by_host = trips.contains(&row.experiment.as_str())
                || ["by=mapped", "side=host"].iter().any(|axis| row.axis_values.contains(axis));
            let timer = if by_host { "host" } else { "device" };
            assert!(row.row_kind != "measured" || (row.rounds >= Some(6) && row.timer == timer), "{case}");
        }
    }
}

/// The physical limit is 3352 GB/s (HBM3, nominal): a figure above it would be as wrong as one far below.
#[test]
fn an_h100_reads_and_copies_near_its_memory_limit() {
    let rows = rows(H100);
    let (read, copy) = (best(&rows, "read"), best(&rows, "copy"));
    assert!((2900.0..3352.0).contains(&read), "{read}");
    assert!((2800.0..3352.0).contains(&copy), "{copy}");
    assert!(rows.iter().filter(|row| row.experiment == "memory/stream").all(|row| row.registers.is_some()));
}

/// Bank conflicts as 32 banks of 4 bytes make them, from a baseline near the limit of 132 x 128 bytes x 1.98 GHz.
#[test]
fn an_h100_has_the_bank_conflicts_of_its_banks() {
    let rows = rows(H100_DEFAULT);
    let row = |stride: &str| find(&rows, "shared/bank_conflict", "", &[&format!("stride={stride}"), "width=1"]);
    assert!(row("1").gb_per_s.is_some_and(|rate| (0.8..1.0).contains(&(rate / 33_454.0))));
    let slower =
        ["1", "2", "4", "8", "16", "32"].map(|stride| 1.0 / row(stride).relative.expect("it is compared with stride 1"));
    assert!(slower.is_sorted() && slower[5] >= 24.0, "{slower:?}");
    assert!(row("33").relative.is_some_and(|relative| relative > 0.98));
    assert_eq!(["count", "width"].map(|variant| find(&rows, "shared/banks", variant, &[]).value), [Some(32.0), Some(4.0)]);
}

/// The measured row whose axes hold these, each with its value.
fn find<'r>(rows: &'r [Record], experiment: &str, variant: &str, axes: &[&str]) -> &'r Record {
    let has = |row: &Record| axes.iter().all(|axis| row.axis_values.split(';').any(|own| own == *axis));
    let is = |row: &&Record| row.experiment == experiment && row.variant == variant && has(row);
    rows.iter().find(is).unwrap_or_else(|| panic!("no {experiment} {variant} {axes:?}"))
}

fn relative(rows: &[Record], experiment: &str, variant: &str, axes: &[&str]) -> f64 {
    find(rows, experiment, variant, axes).relative.expect("it is compared")
}

/// Sectors of 32 bytes, of which memory gives two at a time.
#[test]
fn an_h100_fetches_sectors_whole() {
    let rows = rows(H100_MEMORY);
    let streams = ["read", "copy", "triad"].map(|op| best(&rows, op));
    assert!(streams[0] >= 2950.0 && streams[1] >= 2900.0 && streams[2] >= 2900.0, "{streams:?}");
    let costs = |stride: &str| 1.0 / relative(&rows, "memory/stride", "", &["op=read", stride]);
    assert!((7.0..9.0).contains(&costs("stride=8")), "{}", costs("stride=8"));
    assert!(["stride=16", "stride=32", "stride=40"].iter().all(|stride| (8.0..20.0).contains(&costs(stride))));
    let costs = |layout: &str| 1.0 / relative(&rows, "memory/layout", layout, &["fields_used=1"]);
    assert!((2.7..3.2).contains(&costs("aos")) && (3.6..4.2).contains(&costs("padded")) && costs("aosoa32") < 1.2);
    assert!(relative(&rows, "memory/gather", "", &["pattern=random"]) < 0.25);
    let granules: Vec<_> = rows.iter().filter(|row| row.experiment == "cache/granules").map(|row| row.value).collect();
    assert_eq!(granules, [Some(32.0), Some(64.0)]);
}

/// What caches are inferred to be.
fn value(rows: &[Record], variant: &str) -> f64 {
    find(rows, "cache/levels", variant, &[]).value.unwrap_or_else(|| panic!("{variant} has no value"))
}

/// Whether the interval of a figure holds another one.
fn holds(rows: &[Record], variant: &str, truth: f64) -> bool {
    let level = find(rows, "cache/levels", variant, &[]);
    level.value_ci_low <= Some(truth) && Some(truth) <= level.value_ci_high
}

/// A first cache that shares 256 KiB with workgroup memory, and shows 208 KiB of them here; a second one of 50 MB in two partitions.
#[test]
fn an_h100_has_its_caches() {
    let rows = rows(H100_MEMORY);
    let (first, second) = (f64::from(208 << 10), f64::from(50_000 << 10));
    assert_eq!(value(&rows, "count"), 2.0);
    assert!((0.85..1.15).contains(&(value(&rows, "capacity_1") / first)), "{}", value(&rows, "capacity_1"));
    let mib = value(&rows, "capacity_2") / f64::from(1 << 20);
    assert!((40.0..55.0).contains(&mib), "{mib}");
    assert!(holds(&rows, "capacity_1", first) && holds(&rows, "capacity_2", second));
    let latencies = ["latency_1", "latency_2", "latency_beyond"].map(|variant| value(&rows, variant));
    assert!(latencies.is_sorted() && latencies[0] > 15.0 && latencies[2] < 700.0, "{latencies:?}");
}

/// From the first cache nearly 128 bytes per processor and cycle, from the second one less than its published limit of an H200, and
/// memory behind both.
#[test]
fn an_h100_has_its_bandwidths() {
    let rows = rows(H100_BANDWIDTH);
    assert_eq!(value(&rows, "bandwidth_count"), 2.0);
    let rates = ["bandwidth_1", "bandwidth_2"].map(|variant| value(&rows, variant));
    assert!((0.9..1.0).contains(&(rates[0] / 33_454.0)) && (5500.0..10_000.0).contains(&rates[1]), "{rates:?}");
    let capacities = ["bandwidth_capacity_1", "bandwidth_capacity_2"].map(|variant| value(&rows, variant));
    let most = [f64::from(208 << 10), f64::from(50_000 << 10)];
    // Beside others, a workgroup's lines are thrown out somewhat earlier than a lone walk's.
    assert!(
        (0.7..1.0).contains(&(capacities[0] / most[0])) && (0.7..1.0).contains(&(capacities[1] / most[1])),
        "{capacities:?}"
    );
}

/// What follows from the rows is what this version infers: derived rows are no older than it is.
#[test]
fn derived_rows_follow_from_the_others() {
    for name in [H100, H100_DEFAULT, H100_MEMORY, H100_BANDWIDTH, H100_UNITS, LAVAPIPE] {
        let folder = crate::support::Folder::new();
        let merged = folder.path("merged.csv");
        crate::support::succeeded(&["merge", path(name).to_str().expect("UTF-8"), "-o", merged.to_str().expect("UTF-8")]);
        // In which order they come may differ from version to version.
        let derived = |rows: Vec<Record>| {
            let derived = rows.into_iter().filter(|row| row.row_kind == "derived").map(|row| (row.case_id.clone(), row));
            derived.collect::<BTreeMap<String, Record>>().into_values().collect::<Vec<Record>>()
        };
        let [kept, mut merged] = [derived(rows(name)), derived(crate::support::rows_of(&merged))];
        // A file that is older than a derivation has none of its rows.
        merged.retain(|row| kept.iter().any(|kept| kept.experiment == row.experiment));
        assert_eq!(kept.len(), merged.len(), "{name}");
        for (kept, merged) in kept.iter().zip(&merged) {
            let figures = |row: &Record| [row.value, row.value_ci_low, row.value_ci_high];
            assert_eq!((&kept.case_id, figures(kept)), (&merged.case_id, figures(merged)), "{name}: {}", kept.variant);
            assert_eq!((&kept.reason, &kept.check_note), (&merged.reason, &merged.check_note), "{name}: {}", kept.variant);
        }
    }
}

/// Multiply-adds of 132 processors at 1980 MHz: 128 of f32 a clock, 256 of f16 in pairs, 64 of f64, 64 of i32; four products of bytes
/// each in 64 instructions. Matrices reach what their units' instructions for subgroups give, some 62 % of 1070 T.
#[test]
fn an_h100_has_its_peaks() {
    let rows = rows(H100_UNITS);
    for (name, least, limit) in [
        ("fp32", 0.985, 66_908.0),
        ("fp16", 0.985, 133_816.0),
        ("fp64", 0.985, 33_454.0),
        ("int", 0.985, 33_454.0),
        ("matrix_fp16", 0.61, 1_070_530.0),
        ("matrix_bf16", 0.61, 1_070_530.0),
        ("matrix_int8", 0.6, 2_141_060.0),
        ("global", 0.88, 3352.0),
        ("shared", 0.93, 33_454.0),
        ("cache", 0.93, 33_454.0),
    ] {
        let value = find(&rows, "peak/summary", name, &[]).value.expect("it was measured");
        assert!((least..1.0).contains(&(value / limit)), "{name}: {value}");
    }
    let dots = self::rows(H100_DOT);
    for variant in ["signed", "unsigned", "mixed"] {
        let value = find(&dots, "peak/dot", variant, &["chains=4", "unroll=16"]).value.expect("it was measured");
        assert!((0.975..1.0).contains(&(value / 133_816.0)), "{variant}: {value}");
    }
}

#[test]
fn the_readme_has_an_overview() {
    let rows = rows(H100_OVERVIEW);
    let peak = |name: &str| find(&rows, "peak/summary", name, &[]).value.expect("it was measured");
    let images = find(&rows, "load/stream", "sampled_fetch_rgba32f", &[]).value.expect("it was measured");
    let peaks = ["fp32", "fp16", "fp64", "int", "dot", "shared"].map(peak);
    let others = [peak("matrix_fp16") / 1000.0, best(&rows, "read"), images];
    for figure in peaks.into_iter().chain(others) {
        assert!(readme().contains(&format!("| {figure:.0} |")), "README has no {figure:.0}");
    }
}

/// What PCIe 5.0 x16 carries in one direction. Other guests of the host share it, so that not every size reaches it.
#[test]
fn an_h100_fills_its_bus() {
    let rows = rows(H100_MEMORY);
    for direction in ["direction=host_to_device", "direction=device_to_host"] {
        let is_one = |row: &&Record| row.experiment == "transfer/copy" && row.axis_values.contains(direction);
        let copies: Vec<&Record> = rows.iter().filter(is_one).filter(|row| row.status == "ok").collect();
        let most = copies.iter().filter_map(|row| row.gb_per_s).fold(0.0, f64::max);
        assert!((50.0..63.0).contains(&most), "{direction}: {most}");
        assert!(copies.iter().all(|row| row.memory_types.contains("host_visible")), "{direction}");
    }
}

/// A file of `tests/claims/`: what descriptions say of a device, with the figures that its rows must have between braces.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claims {
    /// The file of rows.
    rows: String,
    claim: Vec<Claim>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    /// Whose description says it.
    experiment: String,
    /// Whose rows tell, where it isn't the experiment's own: those that are derived from them.
    derived: Option<String>,
    said: String,
    /// The figure's column: `value`, where none is named.
    column: Option<String>,
    /// What the column is multiplied by: 1000 where words say ps and rows ns.
    times: Option<f64>,
    /// For each brace, the rows that it is about, all that are not skipped: `variant=NAMES` and `axis=VALUES`, separated by blanks.
    /// Several figures in a brace (`{12 to 34}`) are their least and their largest.
    of: Vec<String>,
}

impl Claim {
    fn is_about(&self, row: &Record, of: &str) -> bool {
        let own = |name: &str| {
            let axis = || row.axis_values.split(';').find_map(|axis| axis.strip_prefix(name)?.strip_prefix('='));
            if name == "variant" { Some(row.variant.as_str()) } else { axis() }
        };
        let has = |condition: &str| {
            let (name, values) = condition.split_once('=').expect("variant=NAMES or axis=VALUES");
            own(name).is_some_and(|own| values.split(',').any(|value| value == own))
        };
        let experiment = self.derived.as_ref().unwrap_or(&self.experiment);
        row.experiment == *experiment && row.value.is_some() && of.split(' ').filter(|part| !part.is_empty()).all(has)
    }

    #[expect(clippy::cast_precision_loss, reason = "registers and bytes of code are few")]
    fn figure(&self, row: &Record) -> Option<f64> {
        let figure = match self.column.as_deref() {
            None | Some("value") => row.value,
            Some("relative") => row.relative,
            Some("time_ns") => row.time_ns,
            Some("registers") => row.registers.map(|registers| registers as f64),
            Some("code_bytes") => row.code_bytes.map(|bytes| bytes as f64),
            Some(other) => panic!("no figure is read from {other}"),
        };
        figure.map(|figure| self.times.unwrap_or(1.0) * figure)
    }

    fn check(&self, rows: &[Record]) {
        let Self { experiment, said, of, .. } = self;
        assert!(describes(experiment, &said.replace(['{', '}'], "")), "{experiment} doesn't say: {said}");
        let figures: Vec<&str> = said.split('{').skip(1).filter_map(|part| part.split('}').next()).collect();
        assert_eq!(figures.len(), of.len(), "{said}");
        for (figure, of) in figures.into_iter().zip(of) {
            let values: Vec<f64> =
                rows.iter().filter(|row| self.is_about(row, of)).filter_map(|row| self.figure(row)).collect();
            let ends = figure.split_once(" to ").unwrap_or((figure, figure));
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(0.0, f64::max);
            assert!(is_said(least, ends.0) && is_said(most, ends.1), "{experiment} says {figure} of {of}: {values:?}");
        }
    }
}

/// Whether a figure is the one in words: to half a percent, or to the last digit.
fn is_said(value: f64, said: &str) -> bool {
    let decimals = said.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let said: f64 = said.parse().expect("a number");
    (value - said).abs() <= (0.005 * said).max(0.5 * 0.1_f64.powi(i32::try_from(decimals).expect("a few")))
}

#[test]
fn what_descriptions_say_is_in_the_rows() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/claims");
    let files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(files.len() >= 2);
    for file in files {
        let claims: Claims =
            toml::from_str(&fs::read_to_string(&file).unwrap()).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let rows = rows(&claims.rows);
        claims.claim.iter().for_each(|claim| claim.check(&rows));
    }
}

#[test]
fn a_figure_is_said_to_its_last_digit() {
    assert!(is_said(66_446.0, "66400") && is_said(0.73, "0.7") && is_said(12.4, "12"));
    assert!(!is_said(66_446.0, "67000") && !is_said(0.76, "0.7") && !is_said(12.6, "12"));
}

fn describes(experiment: &str, what: &str) -> bool {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    lanescope::experiments::text(experiment).is_some_and(|text| words(text.body).contains(&words(what)))
}

/// All offsets of words cost some 2 %, none of them less because it is aligned; those of bytes 3 %.
#[test]
fn an_h100_reads_offsets_alike_but_0() {
    let rows = rows(H100_MEMORY);
    for (variant, range) in [("words", 0.96..0.985), ("bytes", 0.965..0.975)] {
        let offsets = (1..=16).map(|offset| find(&rows, "memory/misaligned", variant, &[&format!("offset={offset}")]));
        let offsets: Vec<&Record> = offsets.collect();
        let costs: Vec<f64> = offsets.iter().filter_map(|row| row.relative).collect();
        assert!(costs.len() == 16 && costs.iter().all(|cost| range.contains(cost)), "{variant}: {costs:?}");
        let mut figures: Vec<f64> = offsets.iter().filter_map(|row| row.value).collect();
        figures.sort_by(f64::total_cmp);
        let said = format!("{:.0} to {:.0}", figures[0], figures[15]);
        assert!(describes("memory/misaligned", &said), "{variant}: {said}");
    }
}

/// A filtered sample at random costs as many fetches as 4 divided by what the filter gains: both wait for the texture unit.
#[test]
fn an_h100s_filter_gains_what_its_samples_cost() {
    let rows = rows(H100_MEMORY);
    for (format, random) in [("format=rgba8", "rgba8"), ("format=rgba16f", "rgba16f")] {
        let of = |kind: &str| find(&rows, "load/path", &format!("{kind}_{random}"), &["pattern=random"]).value;
        let [fetch, linear] = ["sampled_fetch", "sampled_linear"].map(|kind| of(kind).expect("it was measured"));
        let gain = relative(&rows, "load/filter", "hardware", &[format]);
        assert!((0.98..1.02).contains(&(gain * fetch / linear / 4.0)), "{format}: {gain}, {fetch} and {linear}");
        for said in [format!("{gain:.2}"), format!("{fetch:.0}"), format!("{linear:.0}"), format!("{:.2}", 4.0 / gain)] {
            assert!(describes("load/filter", &said), "{format}: {said}");
        }
    }
}

/// All 46 loads of perftest in three patterns, and what was added.
#[test]
fn an_h100_has_every_load_path() {
    let paths = rows(H100_MEMORY).into_iter().filter(|row| row.experiment == "load/path" && row.status == "ok");
    assert_eq!(paths.count(), 58 * 3);
}

/// Where rows of a workgroup are as long as a subgroup, each step of the ladder is faster than the one before.
#[test]
fn an_h100_gains_by_tiles_and_again_by_padding() {
    let rows = rows(H100_DEFAULT);
    for height in [1, 2, 4, 8, 16, 32] {
        let shape = ["local_size_x=32", &format!("local_size_y={height}")];
        let time = |variant: &str| find(&rows, "algo/transpose", variant, &shape).time_ns;
        let ladder = ["padded", "tiled", "naive"].map(|variant| time(variant).expect("it was measured"));
        assert!(ladder.is_sorted(), "32 x {height}: {ladder:?}");
    }
}

/// But for what runs at the pace of the host, or of chance: there it is what the preset asks for.
#[test]
fn long_rows_of_an_h100_are_precise_to_a_percent() {
    let (quick, default) = (rows(H100), rows(H100_DEFAULT));
    let long: Vec<&Record> = quick.iter().chain(&default).filter(|row| row.time_ns > Some(20_000.0)).collect();
    let (precise, others): (Vec<&Record>, Vec<&Record>) = long.iter().partition(|row| row.noise < Some(0.01));
    assert!(others.len() * 50 < precise.len(), "{} of {}", others.len(), long.len());
    for row in others {
        let is_excused = ["dispatch/", "sync/false_sharing"].iter().any(|name| row.experiment.starts_with(name));
        assert!(is_excused && row.noise < Some(0.05), "{} {}: {:?}", row.experiment, row.axis_values, row.noise);
    }
}

#[test]
fn equal_configurations_have_equal_ids_on_both_devices() {
    let id = |rows: &[Record], experiment: &str| {
        rows.iter().find(|row| row.experiment == experiment).expect("the row is there").case_id.clone()
    };
    let (h100, lavapipe) = (rows(H100), rows(LAVAPIPE));
    for experiment in ["calibration/timer", "calibration/clock", "calibration/empty", "calibration/barrier"] {
        assert_eq!(id(&h100, experiment), id(&lavapipe, experiment), "{experiment}");
    }
}
