//! Files of rows as text.

use csv::StringRecord;

/// A table of text: a file of rows, whatever is wrong with it.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    pub header: StringRecord,
    pub rows: Vec<StringRecord>,
}

impl Table {
    pub fn of(text: &str) -> Self {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers().unwrap().clone();
        Self { rows: reader.records().collect::<Result<_, _>>().unwrap(), header }
    }

    pub fn column(&self, name: &str) -> usize {
        self.header.iter().position(|column| column == name).unwrap()
    }

    pub fn get<'r>(&self, row: &'r StringRecord, name: &str) -> &'r str {
        &row[self.column(name)]
    }

    pub fn set(&mut self, row: usize, name: &str, value: &str) {
        let column = self.column(name);
        let cells = self.rows[row].iter().enumerate().map(|(i, cell)| if i == column { value } else { cell });
        self.rows[row] = cells.collect();
    }

    /// A row that took so many times as long, as far as it tells.
    pub fn slow(&mut self, row: usize, factor: f64) {
        let number = |name: &str| self.get(&self.rows[row], name).parse::<f64>().ok();
        let (time, value) = (number("time_ns").unwrap(), number("value").unwrap());
        let of_value = if self.get(&self.rows[row], "better") == "lower" { factor } else { 1.0 / factor };
        self.set(row, "time_ns", &(time * factor).to_string());
        self.set(row, "value", &(value * of_value).to_string());
        let spans = ["time_min_ns", "time_max_ns", "ci_low_ns", "ci_high_ns", "value_ci_low", "value_ci_high"];
        let rates = ["gb_per_s", "gflop_per_s", "gop_per_s", "gitems_per_s"];
        spans.iter().chain(&rates).for_each(|name| self.set(row, name, ""));
        let rounds = self.get(&self.rows[row], "round_medians_ns").to_owned();
        let slow = |round: &str| {
            let (process, time) = round.split_once(':').unwrap();
            format!("{process}:{}", time.parse::<f64>().unwrap() * factor)
        };
        let rounds: Vec<String> = rounds.split(';').filter(|round| !round.is_empty()).map(slow).collect();
        self.set(row, "round_medians_ns", &rounds.join(";"));
    }

    pub fn set_all(&mut self, name: &str, value: &str) {
        (0..self.rows.len()).for_each(|row| self.set(row, name, value));
    }

    pub fn cells(&self, name: &str) -> Vec<&str> {
        self.rows.iter().map(|row| self.get(row, name)).collect()
    }

    /// The rows that pass.
    pub fn only(&self, mut keep: impl FnMut(&StringRecord) -> bool) -> Self {
        Self { header: self.header.clone(), rows: self.rows.iter().filter(|row| keep(row)).cloned().collect() }
    }

    pub fn measured(&self) -> Self {
        self.only(|row| self.get(row, "row_kind") == "measured")
    }

    pub fn text(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&self.header).unwrap();
        self.rows.iter().for_each(|row| writer.write_record(row).unwrap());
        String::from_utf8(writer.into_inner().unwrap()).unwrap()
    }
}
