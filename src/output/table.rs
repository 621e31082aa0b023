//! Rows for people, as a plain table or as Markdown: a heading per device and per experiment, then what differs.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::mem;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table as Grid, Width, presets};

use super::Writer;
use super::view::{View, ViewColumn, view};
use crate::record::Record;

/// Rows held back at most. Columns are as wide as their widest cell and constant axes go to the heading, so an experiment's rows
/// are needed together; beyond this many they come in pieces, and memory stays flat.
const HELD: usize = 256;

/// What a terminal, a mail and a side-by-side diff can show.
const WIDTH: u16 = 100;

/// No borders, a rule below the titles (in the order of `comfy_table::Table::load_preset`).
pub const RULE_ONLY: &str = "     ──            ";

/// Who draws the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Columns aligned by spaces, long notes broken at 100 columns.
    Plain,
    /// GitHub's Markdown.
    Markdown,
}

/// Writes tables. Rows appear once their experiment is complete, or 256 of them are there.
pub struct Table<W> {
    out: W,
    style: Style,
    held: Vec<Record>,
    /// Device and experiment under whose headings the output stands.
    under: Option<(String, String)>,
}

impl<W: Write> Table<W> {
    /// A writer of tables.
    pub fn new(out: W, style: Style) -> Self {
        Self { out, style, held: Vec::new(), under: None }
    }

    fn release(&mut self) -> io::Result<()> {
        let records = mem::take(&mut self.held);
        let Some(first) = records.first() else { return Ok(()) };
        let (device, experiment) = (device(first), first.experiment.clone());
        let view = view(&records);
        let mut text = String::new();
        if self.under.as_ref().is_none_or(|(above, _)| *above != device) {
            text += &self.style.device_heading(&device, self.under.is_none());
        }
        let continued = self.under.as_ref().is_some_and(|(on, above)| *on == device && *above == experiment);
        text += &self.style.experiment_heading(&experiment, continued, &view.constant);
        text += &self.style.grid(&view);
        self.under = Some((device, experiment));
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

impl<W: Write> Writer for Table<W> {
    fn write(&mut self, record: &Record) -> io::Result<()> {
        let together = |held: &Record| (&held.experiment, device(held)) == (&record.experiment, device(record));
        if self.held.len() >= HELD || !self.held.first().is_none_or(together) {
            self.release()?;
        }
        self.held.push(record.clone());
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.release()?;
        if self.under.is_none() {
            self.out.write_all(b"No rows.\n")?;
        }
        self.out.flush()
    }
}

/// The device and its driver, as a heading.
fn device(record: &Record) -> String {
    let driver = [record.driver_name.as_str(), &record.driver_info].join(" ");
    [record.device_name.as_str(), driver.trim()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

impl Style {
    fn device_heading(self, device: &str, first: bool) -> String {
        let gap = if first { "" } else { "\n" };
        match self {
            Self::Plain => format!("{gap}{device}\n"),
            Self::Markdown => format!("{gap}## {device}\n"),
        }
    }

    fn experiment_heading(self, experiment: &str, continued: bool, constant: &[String]) -> String {
        let more = if continued { " (continued)" } else { "" };
        let constant = constant.join(", ");
        match (self, constant.as_str()) {
            (Self::Plain, "") => format!("\n{experiment}{more}\n"),
            (Self::Plain, _) => format!("\n{experiment}{more}: {constant}\n"),
            (Self::Markdown, "") => format!("\n### {experiment}{more}\n\n"),
            (Self::Markdown, _) => format!("\n### {experiment}{more}\n\n`{constant}`\n\n"),
        }
    }

    fn grid(self, view: &View) -> String {
        let mut grid = Grid::new();
        grid.set_header(view.columns.iter().map(|column| self.cell(&column.title)));
        for row in 0..view.columns.first().map_or(0, |column| column.cells.len()) {
            grid.add_row(view.columns.iter().map(|column| self.cell(&column.cells[row])));
        }
        match self {
            Self::Plain => grid.load_preset(RULE_ONLY).set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH),
            Self::Markdown => grid.load_preset(presets::ASCII_MARKDOWN).set_content_arrangement(ContentArrangement::Disabled),
        };
        for (column, shown) in view.columns.iter().zip(grid.column_iter_mut()) {
            // A number broken over two lines is no number; notes give way, and keep enough room for words.
            let width =
                if column.wraps { ColumnConstraint::LowerBoundary(Width::Fixed(24)) } else { ColumnConstraint::ContentWidth };
            shown.set_constraint(width).set_cell_alignment(if column.numeric {
                CellAlignment::Right
            } else {
                CellAlignment::Left
            });
        }
        let mut text = String::new();
        for (i, line) in grid.lines().enumerate() {
            let line = if self == Self::Markdown && i == 1 { aligned_rule(&line, &view.columns) } else { line };
            // Writing to a string can't fail.
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text
    }

    fn cell(self, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Markdown => text.replace('|', "\\|"),
        }
    }
}

/// Markdown's rule with the colons that align numbers to the right, which the grid's own leaves out.
fn aligned_rule(rule: &str, columns: &[ViewColumn]) -> String {
    let cells = rule.trim_matches('|').split('|').zip(columns);
    let aligned = cells.map(
        |(dashes, column)| {
            if column.numeric { format!("{}:", &dashes[..dashes.len() - 1]) } else { dashes.to_owned() }
        },
    );
    format!("|{}|", aligned.collect::<Vec<_>>().join("|"))
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
        record.set_axes(&Point::new(axes.iter().map(|(name, value)| ((*name).into(), (*value).into()))));
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
        insta::assert_snapshot!(shown(Style::Plain, &a_run()), @"
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
         local_size_x      time        ±    bandwidth   notes
        ────────────────────────────────────────────────────────────────────────────────────────────────────
                    1   81.2 us    1.2 %   51.63 GB/s
                   32   10.2 us    7.1 %   409.8 GB/s   noisy, launch_bound
                 1024   9.93 us   <0.1 %   422.2 GB/s
                 2048                                   skipped: local_size_x 2048 exceeds
                                                        maxComputeWorkGroupInvocations 1024, and this
                                                        device takes no more than that in any dimension
                   64                                   wrong result: out[0] is 0x1, should be 0x2 | (1 of
                                                        8 elements are wrong)

        shared/banks
         metric         value
        ──────────────────────
         banks             32
         bank_width   4 bytes
        ");
    }

    #[test]
    fn markdown_is_what_github_takes() {
        insta::assert_snapshot!(shown(Style::Markdown, &a_run()), @r"
        ## Mock, lanescope mock 1

        ### calibration/empty

        |    time |     ± |
        |--------:|------:|
        | 7.25 ns | 1.2 % |

        ### calibration/clock

        | clock_rate |
        |-----------:|
        |     1.0002 |

        ### workgroup/linear

        `n=1048576`

        | local_size_x |    time |      ± |  bandwidth | notes                                                                                                                            |
        |-------------:|--------:|-------:|-----------:|----------------------------------------------------------------------------------------------------------------------------------|
        |            1 | 81.2 us |  1.2 % | 51.63 GB/s |                                                                                                                                  |
        |           32 | 10.2 us |  7.1 % | 409.8 GB/s | noisy, launch_bound                                                                                                              |
        |         1024 | 9.93 us | <0.1 % | 422.2 GB/s |                                                                                                                                  |
        |         2048 |         |        |            | skipped: local_size_x 2048 exceeds maxComputeWorkGroupInvocations 1024, and this device takes no more than that in any dimension |
        |           64 |         |        |            | wrong result: out[0] is 0x1, should be 0x2 \| (1 of 8 elements are wrong)                                                        |

        ### shared/banks

        | metric     |   value |
        |------------|--------:|
        | banks      |      32 |
        | bank_width | 4 bytes |
        ");
    }

    #[test]
    fn no_rows_are_said_to_be_none() {
        assert_eq!(shown(Style::Plain, &[]), "No rows.\n");
    }

    #[test]
    fn a_plan_shows_its_axes() {
        let planned = |n| with_status("planned", "", at(measured("memory/stream", 0.0), &[("n", n)]));
        insta::assert_snapshot!(shown(Style::Plain, &[planned(1), planned(1024)]), @"
        Mock, lanescope mock 1

        memory/stream
            n   notes
        ───────────────────────────────
            1   planned
         1024   planned
        ");
    }

    #[test]
    fn two_devices_have_a_heading_each() {
        let other = Record { device_name: "Other".into(), driver_info: String::new(), ..measured("memory/stream", 1e6) };
        insta::assert_snapshot!(shown(Style::Plain, &[measured("memory/stream", 2e6), other]), @"
        Mock, lanescope mock 1

        memory/stream: n=1048576, op=copy
            time       ±    bandwidth
        ──────────────────────────────
         2.00 ms   1.2 %   2.097 GB/s

        Other, lanescope

        memory/stream: n=1048576, op=copy
            time       ±    bandwidth
        ──────────────────────────────
         1.00 ms   1.2 %   4.194 GB/s
        ");
    }

    #[test]
    fn many_rows_come_in_pieces_and_none_is_lost() {
        let rows: Vec<Record> = (0..600).map(|n| at(measured("memory/stream", 1e3), &[("n", n)])).collect();
        let shared = Shared::default();
        let mut table = Table::new(shared.clone(), Style::Plain);
        for row in &rows {
            table.write(row).unwrap();
            assert!(table.held.len() <= HELD);
        }
        table.finish().unwrap();
        let text = shared.text();
        assert_eq!(text.lines().filter(|line| line.contains("GB/s")).count(), 600);
        assert_eq!(text.lines().filter(|line| line.contains("(continued)")).count(), 2);
    }

    #[test]
    fn nothing_is_wider_than_the_page() {
        assert!(shown(Style::Plain, &a_run()).lines().all(|line| line.chars().count() <= usize::from(WIDTH)));
    }
}
