//! Kernels with faults as people make them, which show in some configurations alone, and their right twins: `lanescope tune` crowns
//! none that is wrong, and doubts none that is right. `tests/tune/faulty/table.toml` lists them.
//!
//! LANESCOPE_TEST_FAULTY takes those alone whose name or kind begins with it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use lanescope::record::Record;
use rayon::prelude::*;
use serde::Deserialize;

use crate::support::form::{Form, form, sample};
use crate::support::tunings::SHORT;
use crate::support::{Folder, Found, Ran, devices, devices_in_turn, ran, rows};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    kernel: BTreeMap<String, Kernel>,
    /// Kernels that aren't run, and why their fault can't show.
    not_found: BTreeMap<String, String>,
}

/// A row of the table, which says what these are.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Kernel {
    #[serde(skip)]
    name: String,
    kind: String,
    n: u64,
    flags: String,
    wrong: String,
    driver: Option<String>,
    #[serde(default)]
    unseen_on: Vec<String>,
    right: Option<String>,
    #[serde(default)]
    any_size: bool,
    #[serde(default)]
    adverse: String,
    adverse_n: Option<u64>,
    #[serde(default)]
    shown_by: ShownBy,
    shows: Option<f64>,
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum ShownBy {
    #[default]
    Right,
    Itself,
    Repetition,
    Reading,
}

fn file(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tune/faulty").join(name).display().to_string()
}

fn table() -> Table {
    let mut table: Table = toml::from_str(&fs::read_to_string(file("table.toml")).unwrap()).unwrap();
    table.kernel.iter_mut().for_each(|(name, kernel)| kernel.name.clone_from(name));
    table
}

/// Those that are asked for.
fn kernels() -> Vec<Kernel> {
    let asked = std::env::var("LANESCOPE_TEST_FAULTY").unwrap_or_default();
    let all = table().kernel.into_values();
    let chosen: Vec<Kernel> = all.filter(|kernel| kernel.name.starts_with(&asked) || kernel.kind.starts_with(&asked)).collect();
    assert!(!chosen.is_empty(), "no kernel's name or kind begins with {asked}");
    chosen
}

/// Flags with their values, but for those whose place others take.
fn merged<'f>(flags: &'f str, others: &'f str) -> Vec<&'f str> {
    let pairs = |text: &'f str| -> Vec<[&'f str; 2]> {
        let words: Vec<&str> = text.split_whitespace().collect();
        words.chunks(2).map(|pair| <[&str; 2]>::try_from(pair).expect("each flag has a value")).collect()
    };
    let place = |pair: &[&'f str; 2]| (pair[0], pair[1].split('=').next());
    let others = pairs(others);
    let mut all = pairs(flags);
    all.retain(|pair| others.iter().all(|other| place(other) != place(pair)));
    [all, others].concat().concat()
}

impl Kernel {
    fn runs_on(&self, device: &Found) -> bool {
        self.driver.as_ref().is_none_or(|driver| *driver == device.driver) && !self.unseen_on.contains(&device.driver)
    }

    /// Whether a configuration is wrong, by its values.
    fn is_wrong(&self, value: impl Fn(&str) -> Option<String>) -> bool {
        let Some((axis, wrong)) = self.wrong.split_once('=') else { return self.wrong == "all" };
        value(axis).unwrap_or_else(|| panic!("{}: no axis {axis}", self.name)) == wrong
    }

    fn is_wrong_in(&self, row: &Record) -> bool {
        self.is_wrong(|axis| value(row, axis))
    }

    fn tuned(&self, device: &Found, n: u64, flags: &[&str]) -> Ran {
        let n = n.to_string();
        let (shader, preamble) = (file(&format!("{}.comp", self.name)), file("preamble.glsl"));
        let size = ["-a", "local_size_x=64"];
        let size = if self.flags.contains("local_size_x=") { &[][..] } else { &size };
        let fixed = ["tune", &shader, "--preamble", &preamble, "-n", &n, "-d", &device.index];
        ran(&[&fixed[..], &SHORT, flags, size].concat())
    }

    /// How the wrong one gets through, if it does.
    fn crowned(&self, device: &Found, any_size: bool) -> Result<(), String> {
        let folder = Folder::new();
        let saved = folder.at("table.json");
        let more: &[&str] = if self.any_size && any_size { &["--any-size"] } else { &[] };
        let flags = [&merged(&self.flags, "")[..], more, &["--save-table", &saved]].concat();
        let ran = self.tuned(device, self.n, &flags);
        let Some(0 | 1 | 3) = ran.code else { return Err(format!("didn't run: {:?}: {}", ran.code, ran.err)) };
        let best = best(Path::new(&saved));
        let is_wrong = |values: &BTreeMap<String, String>| {
            self.is_wrong(|axis| values.get(axis).or_else(|| values.get(&format!("spec_{axis}"))).cloned())
        };
        match best {
            Some(values) if is_wrong(&values) => Err(format!("crowned and saved: {values:?}")),
            Some(_) if ran.code != Some(0) => Err(format!("saved with exit code {:?}", ran.code)),
            Some(values) => self.tied(&found(&ran)?, &values),
            None if ran.code == Some(0) => Err("exit code 0, and nothing saved".to_owned()),
            None => Ok(()),
        }
    }

    /// Whether a wrong one is told among those that may be as fast as the best.
    fn tied(&self, rows: &[Record], best: &BTreeMap<String, String>) -> Result<(), String> {
        let last: BTreeMap<_, &Record> = rows.iter().map(|row| (&row.by_axis, row)).collect();
        let is_best = |row: &&&Record| best.iter().all(|(axis, wanted)| value(row, axis).is_none_or(|value| value == *wanted));
        let reach = last.values().find(is_best).and_then(|row| row.ci_high_ns).ok_or("the best has no row")?;
        let is_tied = |row: &&Record| {
            row.status == "ok"
                && row.stop == "precise"
                && row.ci_low_ns.is_some_and(|low| low <= reach)
                && self.is_wrong_in(row)
        };
        match last.into_values().find(is_tied) {
            Some(row) => Err(format!("tied with the best: {:?}", row.by_axis)),
            None => Ok(()),
        }
    }

    /// What is said against the right twin, if anything is.
    fn doubted(&self, device: &Found, any_size: bool) -> Result<(), String> {
        let more: &[&str] = if self.any_size && any_size { &["--any-size"] } else { &[] };
        let flags = merged(&self.flags, self.right.as_deref().unwrap_or_default());
        let ran = self.tuned(device, self.n, &[&flags[..], more, &["-D", "RIGHT"]].concat());
        let said = |line: &&str| ["warning:", "error:", "Wrong results"].iter().any(|begin| line.starts_with(begin));
        let said: Vec<&str> = ran.err.lines().filter(said).filter(|line| !line.contains("known driver fault")).collect();
        if !matches!(ran.code, Some(0 | 3)) || !said.is_empty() {
            return Err(format!("exit code {:?}: {}", ran.code, said.join("; ")));
        }
        all_ok(&found(&ran)?)
    }

    /// Whether the fault shows where the table says, and the right twin has none under the same flags.
    fn verified(&self, device: &Found) -> Result<(), String> {
        let text = fs::read_to_string(file(&format!("{}.comp", self.name))).unwrap();
        let (_folder, twin) = Folder::with("right.comp", format!("#undef RIGHT\n#define RIGHT 1\n{text}"));
        let reference: &[&str] = if self.shown_by == ShownBy::Right { &["--reference", &twin] } else { &[] };
        let n = self.adverse_n.unwrap_or(self.n);
        let flags = merged(&self.flags, &self.adverse);
        let ran = self.tuned(device, n, &[&flags[..], reference].concat());
        let tried = found(&ran)?;
        let is_found = |row: &Record| matches!(row.status.as_str(), "wrong_result" | "skipped");
        if !tried.iter().any(|row| self.is_wrong_in(row)) || tried.iter().any(|row| is_found(row) != self.is_wrong_in(row)) {
            let ended: Vec<String> = tried.iter().map(|row| format!("{:?} {}", row.by_axis, row.status)).collect();
            return Err(format!("{}: {}", ended.join("; "), ran.err));
        }
        // Tolerances that show the fault are narrower than what sums in another order need.
        let adverse = if self.adverse.contains("tolerance") { "" } else { &self.adverse };
        let flags = [&merged(&self.flags, adverse)[..], &["-D", "RIGHT"]].concat();
        found(&self.tuned(device, n, &flags)).and_then(|rows| all_ok(&rows)).map_err(|wrong| format!("the right twin: {wrong}"))
    }
}

/// A row's value of an axis, which the column of a constant is called by with `spec_` in front.
fn value(row: &Record, axis: &str) -> Option<String> {
    row.by_axis.get(axis).or_else(|| row.by_axis.get(&format!("spec_{axis}"))).map(ToString::to_string)
}

/// The rows of a tuning that got as far as having any.
fn found(ran: &Ran) -> Result<Vec<Record>, String> {
    if ran.out.is_empty() { Err(format!("exit code {:?} and no rows: {}", ran.code, ran.err)) } else { Ok(rows(&ran.out)) }
}

fn all_ok(rows: &[Record]) -> Result<(), String> {
    match rows.iter().find(|row| row.status != "ok") {
        Some(row) => Err(format!("{:?} is {}: {}", row.by_axis, row.status, row.reason)),
        None if rows.is_empty() => Err("it has no rows".to_owned()),
        None => Ok(()),
    }
}

/// The configuration that went into a tuning table.
fn best(saved: &Path) -> Option<BTreeMap<String, String>> {
    let table: serde_json::Value = serde_json::from_str(&fs::read_to_string(saved).ok()?).unwrap();
    let values = table["entries"].as_array()?.first()?["configuration"].as_object()?;
    let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Some(values.iter().map(|(axis, value)| (axis.clone(), text(value))).collect())
}

/// Keeps every processor busy.
struct Busy(Arc<AtomicBool>, Vec<JoinHandle<()>>);

impl Busy {
    fn start() -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let spin = |ends: Arc<AtomicBool>| {
            thread::spawn(move || {
                while !ends.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        };
        let loops = (0..processors()).map(|_| spin(Arc::clone(&ends))).collect();
        Self(ends, loops)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        self.1.drain(..).for_each(|spinning| spinning.join().unwrap());
    }
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// What each of these comes to, several at a time: most of a tuning's life is no work for a processor.
fn each<T: Sync, R: Send>(items: &[T], act: impl Fn(&T) -> R + Sync + Send) -> Vec<R> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(processors() + 1).build().unwrap();
    pool.install(|| items.par_iter().map(act).collect())
}

/// What one round over all kernels on a device comes to: a line for each, and whether it is as it should be.
fn round(kernels: &[Kernel], device: &Found, any_size: bool, with_twins: bool) -> Vec<(bool, String)> {
    let chosen: Vec<&Kernel> = kernels.iter().filter(|kernel| kernel.runs_on(device)).collect();
    each(&chosen, |kernel| {
        let wrong = kernel.crowned(device, any_size);
        let right = if with_twins { kernel.doubted(device, any_size) } else { Ok(()) };
        let is_fine = wrong.is_ok() && right.is_ok();
        let wrong = wrong.err().unwrap_or_else(|| "not crowned".to_owned());
        let right = right.err().unwrap_or_else(|| "not doubted".to_owned());
        (is_fine, format!("{}: {} on {}: faulty: {wrong}; right: {right}", kernel.kind, kernel.name, device.driver))
    })
}

/// In the full form, each five times on idle processors and five times on busy ones, on drivers in turn, which is more than a thousand
/// runs; twins once on each.
#[test]
fn no_faulty_kernel_is_crowned_and_no_right_one_doubted() {
    let kernels: Vec<Kernel> = sample(kernels(), 6, 12).collect();
    let any_size = ran(&["tune", "--help"]).out.contains("--any-size");
    let mut lines = Vec::new();
    if form() == Form::Full {
        let devices = devices();
        for pass in 0..20 {
            let _busy = (pass % 2 == 1).then(Busy::start);
            // Each driver sees both halves.
            let (device, half) = (&devices[pass / 2 % devices.len()], pass / 2 / devices.len() % 2);
            let some = &kernels[kernels.len() / 2 * half..][..kernels.len() / 2 + half * (kernels.len() % 2)];
            lines.extend(round(some, device, any_size, pass % 2 == 0 && pass / 2 < 2 * devices.len()));
        }
    } else {
        devices_in_turn().iter().for_each(|device| lines.extend(round(&kernels, device, any_size, true)));
    }
    lines.iter().for_each(|(_, line)| println!("{line}"));
    let faults: Vec<&str> = lines.iter().filter(|(is_fine, _)| !is_fine).map(|(_, line)| line.as_str()).collect();
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), lines.len(), faults.join("\n"));
}

#[test]
fn faulty_kernels_are_wrong_where_the_table_says_and_right_twins_nowhere() {
    let is_shown = |kernel: &Kernel| matches!(kernel.shown_by, ShownBy::Right | ShownBy::Itself);
    let all = kernels().into_iter().filter(is_shown);
    let chosen: Vec<Kernel> = sample(all, 8, 8).collect();
    for device in devices_in_turn() {
        let here: Vec<&Kernel> = chosen.iter().filter(|kernel| kernel.runs_on(&device)).collect();
        let faults = each(&here, |kernel| kernel.verified(&device).err().map(|why| format!("{}: {why}", kernel.name)));
        let faults: Vec<String> = faults.into_iter().flatten().collect();
        assert!(faults.is_empty(), "on {}:\n{}", device.driver, faults.join("\n"));
    }
}

#[test]
fn the_table_of_faulty_kernels_has_each_file_and_every_kind_of_proof() {
    let Table { kernel: kernels, not_found } = table();
    assert!(kernels.len() >= 60, "only {}", kernels.len());
    let mut listed: Vec<String> = kernels.keys().chain(not_found.keys()).map(|name| format!("{name}.comp")).collect();
    let mut files: Vec<String> =
        fs::read_dir(file("")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    files.retain(|name| name.ends_with(".comp"));
    listed.sort();
    files.sort();
    assert_eq!(listed, files);
    for kernel in kernels.values() {
        // A race that shows less often may well not show in a test.
        assert_eq!(kernel.shows.is_some(), kernel.shown_by == ShownBy::Repetition, "{}", kernel.name);
        assert!(kernel.shows.is_none_or(|share| share >= 0.03), "{}", kernel.name);
        let text = fs::read_to_string(file(&format!("{}.comp", kernel.name))).unwrap();
        assert!(text.starts_with("// ") && (text.contains("FAULT(") || text.contains("#if RIGHT")), "{}", kernel.name);
        assert!(!not_found.contains_key(&kernel.name) && !kernel.kind.is_empty(), "{}", kernel.name);
    }
}
