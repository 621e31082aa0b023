//! `lanescope schema`: the columns of the tables that are written.

use std::fmt::Write;

use serde_json::json;

use super::args::{Schema, Table};
use super::stdout::print_as_is;
use crate::output::trace::{AccessRow, FindingRow, SiteRow, TRACE_SCHEMA};
use crate::record::{COLUMNS, Column, Kind, SCHEMA_VERSION};

pub fn schema(arguments: &Schema) -> anyhow::Result<u8> {
    let table = Columns::of(arguments.table);
    print_as_is(&match arguments {
        Schema { json: true, .. } => table.as_json()?,
        Schema { duckdb: true, .. } => table.as_duckdb(),
        Schema { pandas: true, .. } => table.as_pandas(),
        _ => table.as_text()?,
    })
}

/// The columns that a table always has.
struct Columns {
    /// What examples call its file.
    name: &'static str,
    version: &'static str,
    columns: &'static [Column],
    /// What follows them.
    more: &'static str,
}

impl Columns {
    fn of(table: Table) -> Self {
        let more = "";
        match table {
            Table::Rows => {
                let more = "; the axes of the selected experiments follow, one column each, sorted";
                Self { name: "rows", version: SCHEMA_VERSION, columns: COLUMNS, more }
            }
            Table::Trace => Self { name: "trace", version: TRACE_SCHEMA, columns: SiteRow::COLUMNS, more },
            Table::Findings => Self { name: "findings", version: TRACE_SCHEMA, columns: FindingRow::COLUMNS, more },
            Table::Accesses => Self { name: "accesses", version: TRACE_SCHEMA, columns: AccessRow::COLUMNS, more },
        }
    }

    /// A column that is empty throughout has no type that could be guessed: so each is told.
    fn as_duckdb(&self) -> String {
        let ty = |kind| match kind {
            Kind::Text => "VARCHAR",
            Kind::Integer => "UBIGINT",
            Kind::Real => "DOUBLE",
            Kind::Boolean => "BOOLEAN",
        };
        let types: Vec<String> =
            self.columns.iter().map(|column| format!("    {}: '{}'", column.name, ty(column.kind))).collect();
        format!("SELECT * FROM read_csv('{}.csv', header = true, types = {{\n{}\n}});\n", self.name, types.join(",\n"))
    }

    /// Pandas would make floats of whole numbers, and objects of truths, wherever a cell is empty.
    fn as_pandas(&self) -> String {
        let ty = |kind| match kind {
            Kind::Text => "string",
            Kind::Integer => "UInt64",
            Kind::Real => "Float64",
            Kind::Boolean => "boolean",
        };
        let types: String =
            self.columns.iter().map(|column| format!("    \"{}\": \"{}\",\n", column.name, ty(column.kind))).collect();
        format!(
            "import pandas as pd\n\n{name} = pd.read_csv(\"{name}.csv\", keep_default_na=False, na_values=[\"\"], dtype={{\n{types}}})\n",
            name = self.name
        )
    }

    fn as_json(&self) -> serde_json::Result<String> {
        let columns: Vec<_> = self
            .columns
            .iter()
            .map(|column| {
                json!({
                    "name": column.name,
                    "group": column.group,
                    "type": column.kind.as_str(),
                    "unit": column.unit,
                    "description": column.description,
                })
            })
            .collect();
        crate::output::json(&json!({ "schema": self.version, "columns": columns }))
    }

    fn as_text(&self) -> Result<String, std::fmt::Error> {
        let mut text = format!("schema {}{}\n", self.version, self.more);
        let mut group = "";
        for column in self.columns {
            if column.group != group {
                group = column.group;
                writeln!(text, "\n{group}")?;
            }
            let unit = if column.unit.is_empty() { String::new() } else { format!(" [{}]", column.unit) };
            writeln!(text, "  {:20} {:8} {}{unit}", column.name, column.kind.as_str(), column.description)?;
        }
        Ok(text)
    }
}
