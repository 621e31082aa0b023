//! Rows for people, as a plain table or as Markdown: a heading per device and per experiment, then what differs.

use std::cmp::Reverse;
use std::io::{self, Write};
use std::mem;

use super::Writer;
use super::lines::{broken, paragraph};
use super::page::Page;
use super::text_table::{TextTable, remark};
use super::tone::{Tone, in_a_line, legible};
use super::view::row_table;
use crate::analysis::{DOUBTS, Doubt, Tally};
use crate::record::Record;

/// Rows held back at most. Columns are as wide as their widest cell and constant axes go to the heading, so an experiment's rows
/// are needed together; beyond this many they come in pieces, and memory stays flat.
const HELD: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Columns aligned by spaces, no wider than a page.
    Text(Page),
    Markdown,
}

/// Writes tables. Rows appear once their experiment is complete, or 256 of them are there.
///
/// What most rows of a table share, such as that they are noisy, is said once below it, and at the end once for all what to do about
/// it. Rows that are shown can't be taken back: what most rows of the whole output share is known only when they are.
pub struct Table<W> {
    out: W,
    style: Style,
    held: Vec<Record>,
    /// Device and experiment under whose headings the output stands.
    under: Option<(String, String)>,
    /// Of all rows so far.
    tally: Tally,
    /// What was said below some table instead of in its rows.
    said: Vec<&'static Doubt>,
}

impl<W: Write> Table<W> {
    pub fn new(out: W, style: Style) -> Self {
        Self { out, style, held: Vec::new(), under: None, tally: Tally::default(), said: Vec::new() }
    }

    fn release(&mut self) -> io::Result<()> {
        let records = mem::take(&mut self.held);
        let Some(first) = records.first() else { return Ok(()) };
        let (device, experiment) = (device(first), first.experiment.clone());
        let mut tally = Tally::default();
        records.iter().for_each(|record| tally.count(record));
        let shared = tally.shared();
        let (constant, table) = row_table(&records, &shared);
        let mut text = String::new();
        if self.under.as_ref().is_none_or(|(above, _)| *above != device) {
            text += &self.style.device_heading(&device, self.under.is_none());
        }
        let continued = self.under.as_ref().is_some_and(|(on, above)| *on == device && *above == experiment);
        text += &self.style.experiment_heading(&experiment, continued, &constant);
        text += &self.style.table(&table);
        text += &self.style.shared(&shared, &tally);
        self.under = Some((device, experiment));
        self.said.extend(shared);
        self.out.write_all(self.style.legible(&text).as_bytes())?;
        self.out.flush()
    }

    /// What to do about what is said of many rows.
    fn advice(&self) -> String {
        let shared = self.tally.shared();
        let is_told = |doubt: &&Doubt| shared.contains(doubt) || self.said.contains(doubt);
        let lines: Vec<String> = DOUBTS.iter().filter(is_told).map(|doubt| self.style.advice(doubt, &self.tally)).collect();
        if lines.is_empty() { String::new() } else { format!("\n{}", lines.concat()) }
    }
}

impl<W: Write> Writer for Table<W> {
    fn write(&mut self, record: &Record) -> io::Result<()> {
        let together = |held: &Record| (&held.experiment, device(held)) == (&record.experiment, device(record));
        if self.held.len() >= HELD || !self.held.first().is_none_or(together) {
            self.release()?;
        }
        self.tally.count(record);
        self.held.push(record.clone());
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.release()?;
        let text = if self.under.is_none() { "No rows.\n".to_owned() } else { self.advice() };
        self.out.write_all(self.style.legible(&text).as_bytes())?;
        self.out.flush()
    }
}

/// The device and its driver, as a heading.
fn device(record: &Record) -> String {
    let driver = [record.driver_name.as_str(), &record.driver_info].join(" ");
    let parts = [record.device_name.as_str(), driver.trim()].into_iter().filter(|part| !part.is_empty());
    in_a_line(&parts.collect::<Vec<_>>().join(", "))
}

impl Style {
    /// A text of this style as it is written.
    pub fn legible(self, text: &str) -> String {
        match self {
            Self::Text(page) => legible(text, page),
            Self::Markdown => legible(text, Page::FILE),
        }
    }

    fn device_heading(self, device: &str, first: bool) -> String {
        let gap = if first { "" } else { "\n" };
        match self {
            Self::Text(page) => format!("{gap}{}", paragraph(device, page)),
            Self::Markdown => format!("{gap}## {device}\n"),
        }
    }

    fn experiment_heading(self, experiment: &str, continued: bool, constant: &[String]) -> String {
        let more = if continued { " (continued)" } else { "" };
        let constant = in_a_line(&constant.join(", "));
        match (self, constant.as_str()) {
            (Self::Text(page), _) => format!("\n{}", heading(&format!("{experiment}{more}"), &constant, page)),
            (Self::Markdown, "") => format!("\n### {experiment}{more}\n\n"),
            (Self::Markdown, _) => format!("\n### {experiment}{more}\n\n`{constant}`\n\n"),
        }
    }

    fn table(self, table: &TextTable) -> String {
        match self {
            Self::Text(page) => table.fitted(page),
            Self::Markdown => table.markdown(),
        }
    }

    /// A line below a table that says what most of its rows share.
    fn shared(self, shared: &[&Doubt], of: &Tally) -> String {
        if shared.is_empty() {
            return String::new();
        }
        let mut shared = shared.to_vec();
        shared.sort_by_key(|doubt| Reverse(of.bearing(doubt)));
        let alike = shared.chunk_by(|one, other| of.bearing(one) == of.bearing(other));
        let told = alike.map(|doubts| format!("{}: {}", flags(doubts), rows(of.bearing(doubts[0]), of.measured)));
        let words = format!("{} (see the end)", told.collect::<Vec<_>>().join("; "));
        match self {
            Self::Text(page) => remark(&words, page),
            Self::Markdown => format!("\n{words}\n"),
        }
    }

    /// A line at the end that says what to do about it.
    fn advice(self, doubt: &Doubt, of: &Tally) -> String {
        let words = format!("{} ({}): {}", doubt.flag, rows(of.bearing(doubt), of.measured), doubt.advice);
        match self {
            Self::Text(page) => paragraph(&words, page),
            Self::Markdown => format!("- {words}\n"),
        }
    }
}

/// What rows are of, and, dim, what is the same in all of them.
fn heading(of: &str, constant: &str, page: Page) -> String {
    let whole = if constant.is_empty() { of.to_owned() } else { format!("{of}: {constant}") };
    let painted = |(i, line): (usize, &String)| match line.split_at_checked(of.len()).filter(|_| i == 0) {
        Some((of, rest)) => format!("{of}{}\n", Tone::Quiet.marked(rest, page)),
        None => format!("{}\n", Tone::Quiet.marked(line, page)),
    };
    broken(&whole, page.width.into()).iter().enumerate().map(painted).collect()
}

fn flags(doubts: &[&Doubt]) -> String {
    doubts.iter().map(|doubt| doubt.flag.name()).collect::<Vec<_>>().join(", ")
}

fn rows(count: u64, all: u64) -> String {
    if count == all { format!("all {all} rows") } else { format!("{count} of {all} rows") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Point;
    use crate::output::testing::{Shared, measured};

    fn shown(style: Style, records: &[Record]) -> String {
        let shared = Shared::default();
        let mut table = Table::new(shared.clone(), style);
        for record in records {
            table.write(record).unwrap();
        }
        table.finish().unwrap();
        shared.text()
    }

    fn at(mut record: Record, axes: &[(&'static str, u64)]) -> Record {
        record = record.at(&Point::new(axes.iter().map(|(name, value)| ((*name).into(), (*value).into()))));
        record
    }

    fn with_status(status: &str, reason: &str, record: Record) -> Record {
        let Record { experiment, device_name, driver_name, driver_info, axis_values, by_axis, .. } = record;
        let (status, reason) = (status.to_owned(), reason.to_owned());
        Record { status, reason, experiment, device_name, driver_name, driver_info, axis_values, by_axis, ..Record::new() }
    }

    fn a_run() -> Vec<Record> {
        let linear = |x, ns| at(measured("workgroup/linear", ns), &[("local_size_x", x), ("n", 1 << 20)]);
        let calibration =
            Record { metric: "time".into(), unit: "ns".into(), value: Some(7.25), ..measured("calibration/empty", 7.25) };
        let clock = Record {
            metric: "clock_rate".into(),
            unit: "ratio".into(),
            value: Some(1.00021),
            time_ns: None,
            noise: None,
            ..measured("calibration/clock", 0.0)
        };
        let banks = |metric: &str, value, unit: &str| Record {
            metric: metric.into(),
            unit: unit.into(),
            value: Some(value),
            ..with_status("ok", "", measured("shared/banks", 0.0))
        };
        let reason = "local_size_x 2048 exceeds maxComputeWorkGroupInvocations 1024, and this device takes no more than that in any dimension";
        vec![
            at(calibration, &[]),
            at(clock, &[]),
            linear(1, 81_234.5),
            Record { quality_flags: "noisy;launch_bound".into(), noise: Some(0.0713), ..linear(32, 10_234.5) },
            Record { noise: Some(0.0001), ..linear(1024, 9_934.5) },
            with_status("skipped", reason, linear(2048, 0.0)),
            with_status("wrong_result", "out[0] is 0x1, should be 0x2 | (1 of 8 elements are wrong)", linear(64, 0.0)),
            at(banks("banks", 32.0, ""), &[]),
            at(banks("bank_width", 4.0, "bytes"), &[]),
        ]
    }

    #[test]
    fn a_table_reads_at_a_glance() {
        insta::assert_snapshot!(shown(Style::Text(Page::FILE), &a_run()), @"
        Mock, lanescope mock 1

        calibration/empty
            time       ±
        ─────────────────
         7.25 ns   1.2 %

        calibration/clock
         clock_rate
        ────────────
             1.0002

        workgroup/linear: n=1048576
         local_size_x       time        ±    bandwidth   notes
        ────────────────────────────────────────────────────────────────────────────────────────────────────
                    1    81.2 us    1.2 %    51.6 GB/s
                   32    10.2 us    7.1 %     410 GB/s   noisy, launch_bound
                 1024   9.934 us   <0.1 %   422.2 GB/s
                 2048                                    skipped: local_size_x 2048 exceeds
                                                         maxComputeWorkGroupInvocations 1024, and this
                                                         device takes no more than that in any dimension
                   64                                    wrong result: out[0] is 0x1, should be 0x2 | (1 of
                                                         8 elements are wrong)

        shared/banks
         metric         value
        ──────────────────────
         banks             32
         bank_width   4 bytes
        ");
    }

    #[test]
    fn few_rows_have_their_headings() {
        assert_eq!(shown(Style::Text(Page::FILE), &[]), "No rows.\n");
        let planned = |n| with_status("planned", "", at(measured("memory/stream", 0.0), &[("n", n)]));
        let other = Record { device_name: "Other".into(), driver_info: String::new(), ..measured("memory/stream", 1e6) };
        insta::assert_snapshot!(shown(Style::Text(Page::FILE), &[planned(1), planned(1024), other]), @"
        Mock, lanescope mock 1

        memory/stream
            n   notes
        ────────────────
            1   planned
         1024   planned

        Other, lanescope

        memory/stream: n=1048576, op=copy
            time       ±   bandwidth
        ─────────────────────────────
         1.00 ms   1.2 %   4.19 GB/s
        ");
    }

    #[test]
    fn many_rows_come_in_pieces_and_none_is_lost() {
        let rows: Vec<Record> = (0..600).map(|n| at(measured("memory/stream", 1e3), &[("n", n)])).collect();
        let shared = Shared::default();
        let mut table = Table::new(shared.clone(), Style::Text(Page::FILE));
        for row in &rows {
            table.write(row).unwrap();
            assert!(table.held.len() <= HELD);
        }
        table.finish().unwrap();
        let text = shared.text();
        assert_eq!(text.lines().filter(|line| line.contains("GB/s")).count(), 600);
        assert_eq!(text.lines().filter(|line| line.contains("(continued)")).count(), 2);
    }

    /// Rows of as many columns as there are: axes, ratios, notes.
    fn a_wide_run() -> Vec<Record> {
        let row = |variant: &str, x, y, relative: f64, record: Record| Record {
            variant: variant.into(),
            relative: Some(relative),
            relative_to: if relative == 1.0 { record.case_id.clone() } else { "c1".into() },
            ..at(record, &[("local_size_x", x), ("local_size_y", y), ("matrix_size", 4096)])
        };
        let timed = |ns, noise, flags: &str| Record {
            noise: Some(noise),
            quality_flags: flags.into(),
            ..measured("algo/transpose", ns)
        };
        let reason = "subgroupSize is 32, a workgroup 8 x 1: the case needs full subgroups";
        vec![
            row("naive", 8, 1, 1.0, timed(1_842_345.0, 0.0004, "noisy")),
            row("tiled", 8, 1, 1.9153, timed(961_871.0, 0.0008, "launch_bound;noisy")),
            row("tiled", 16, 16, 8.23, timed(223_781.0, 0.213, "launch_bound;noisy;throttled")),
            row("padded", 8, 1, 1.7961, timed(1_025_712.0, 0.012, "noisy")),
            row("padded", 16, 16, 9.71, timed(189_712.0, 0.0003, "noisy")),
            row("swizzled", 16, 16, 9.69, timed(190_113.0, 0.0011, "")),
            with_status("skipped", reason, row("shuffle", 8, 1, 1.0, timed(1.0, 0.1, ""))),
            with_status("timeout", "the worker was silent for 10 s", row("shuffle", 16, 16, 1.0, timed(1.0, 0.1, ""))),
        ]
    }

    fn page(width: u16) -> Style {
        Style::Text(Page { width, ..Page::FILE })
    }

    #[test]
    fn a_wide_table_fits_a_wide_terminal() {
        insta::assert_snapshot!(shown(page(120), &a_wide_run()), @"
        Mock, lanescope mock 1

        algo/transpose: matrix_size=4096
         variant    local_size_x   local_size_y            time        ±       bandwidth      relative   notes
        ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
         naive                 8              1        1.842 ms   <0.1 %      2.277 GB/s             1
         tiled                 8              1        961.9 us    0.1 %      4.361 GB/s         1.915   launch_bound
         tiled                16             16   176 to 271 us            15 to 23 GB/s   6.5 to 10.0   launch_bound,
                                                                                                         throttled
         padded                8              1         1.03 ms    1.2 %       4.09 GB/s          1.80
         padded               16             16        189.7 us   <0.1 %      22.11 GB/s         9.710
         swizzled             16             16        190.1 us    0.1 %      22.06 GB/s          9.69
                               8              1                                                          skipped: subgroupSize
                                                                                                         is 32, a workgroup 8 x
                                                                                                         1: the case needs full
                                                                                                         subgroups
                              16             16                                                          timeout: the worker
                                                                                                         was silent for 10 s
         noisy: 5 of 6 rows (see the end)

        noisy (5 of 6 rows): the precision asked for was not reached: run it again when the machine is idle, or with --preset
        thorough
        ");
    }

    /// Each variant has its own `items`: they say no more than its name, while `type` tells its rows apart.
    #[test]
    fn an_axis_that_follows_from_the_variant_goes_before_one_that_tells_rows_apart() {
        let row = |variant: &str, items, kind| Record {
            variant: variant.into(),
            ..at(measured("algo/transpose", 1_842_345.0), &[("items", items), ("other_items", items), ("type", kind)])
        };
        let rows = [row("naive", 1, 7), row("naive", 1, 8), row("padded", 4, 7), row("padded", 4, 8)];
        let text = shown(page(38), &rows).split_whitespace().collect::<Vec<_>>().join(" ");
        let left_out = text.split("no room for: ").nth(1).expect("it is narrow");
        assert!(left_out.contains("items") && !left_out.contains("type"), "{text}");
    }

    #[test]
    fn markdown_says_once_what_most_rows_share() {
        let text = shown(Style::Markdown, &a_wide_run()[..6]);
        let end = "|\n\nnoisy: 5 of 6 rows (see the end)\n\n- noisy (5 of 6 rows): the precision asked for was not reached: ";
        assert!(
            text.contains(end) && text.contains("\n\n`matrix_size=4096`\n\n") && text.matches("noisy").count() == 2,
            "{text}"
        );
    }

    /// Of five tables, each of which is too short to tell.
    #[test]
    fn what_most_rows_of_all_tables_share_is_advised_on() {
        let row = |i: usize| Record { quality_flags: "drift".into(), ..measured(&format!("memory/{i}"), 1e6) };
        let text = shown(page(80), &(0..5).map(row).collect::<Vec<_>>());
        assert_eq!(text.lines().filter(|line| line.ends_with("   drift")).count(), 5, "{text}");
        assert!(text.ends_with("\n\ndrift (all 5 rows): clocks moved: lock them, or compare by --paired\n"), "{text}");
        let few = shown(page(80), &(0..4).map(row).collect::<Vec<_>>());
        assert!(!few.contains("all 4 rows"), "{few}");
    }

    #[test]
    fn colours_say_what_failed_what_is_doubtful_and_what_was_skipped() {
        let coloured = shown(Style::Text(Page { width: 80, is_coloured: true }), &a_wide_run());
        let of = |code: &str| {
            let (_, painted) = coloured.split_once(code).unwrap();
            painted.split('\u{1b}').next().unwrap_or_default().to_owned()
        };
        assert_eq!(
            ["\u{1b}[31m", "\u{1b}[33m", "\u{1b}[2m"].map(of),
            ["timeout: the worker was", "launch_bound", ": matrix_size=4096"]
        );
        assert!(![page(80), Style::Markdown].iter().any(|style| shown(*style, &a_wide_run()).contains('\u{1b}')));
    }

    #[test]
    fn nothing_is_wider_than_the_page() {
        for width in 40..=130 {
            for run in [a_run(), a_wide_run()] {
                let text = shown(page(width), &run);
                assert!(text.lines().all(|line| line.chars().count() <= usize::from(width)), "{width}\n{text}");
            }
        }
    }
}
