//! `lanescope schema`: the columns of a row.

use std::fmt::Write;

use serde_json::json;

use super::args::Schema;
use super::stdout::print_as_is;
use crate::record::{COLUMNS, Kind, SCHEMA_VERSION};

pub fn schema(arguments: &Schema) -> anyhow::Result<u8> {
    print_as_is(&match arguments {
        Schema { json: true, .. } => as_json()?,
        Schema { duckdb: true, .. } => as_duckdb(),
        Schema { pandas: true, .. } => as_pandas(),
        _ => as_text()?,
    })
}

/// A column that is empty throughout has no type that could be guessed: so each is told.
fn as_duckdb() -> String {
    let ty = |kind| match kind {
        Kind::Text => "VARCHAR",
        Kind::Integer => "UBIGINT",
        Kind::Real => "DOUBLE",
        Kind::Boolean => "BOOLEAN",
    };
    let types: Vec<String> = COLUMNS.iter().map(|column| format!("    {}: '{}'", column.name, ty(column.kind))).collect();
    format!("SELECT * FROM read_csv('rows.csv', header = true, types = {{\n{}\n}});\n", types.join(",\n"))
}

/// Pandas would make floats of whole numbers, and objects of truths, wherever a cell is empty.
fn as_pandas() -> String {
    let ty = |kind| match kind {
        Kind::Text => "string",
        Kind::Integer => "UInt64",
        Kind::Real => "Float64",
        Kind::Boolean => "boolean",
    };
    let types: String = COLUMNS.iter().map(|column| format!("    \"{}\": \"{}\",\n", column.name, ty(column.kind))).collect();
    format!(
        "import pandas as pd\n\nrows = pd.read_csv(\"rows.csv\", keep_default_na=False, na_values=[\"\"], dtype={{\n{types}}})\n"
    )
}

fn as_json() -> serde_json::Result<String> {
    let columns: Vec<_> = COLUMNS
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
    crate::output::json(&json!({ "schema": SCHEMA_VERSION, "columns": columns }))
}

fn as_text() -> Result<String, std::fmt::Error> {
    let mut text = format!("schema {SCHEMA_VERSION}; the axes of the selected experiments follow, one column each, sorted\n");
    let mut group = "";
    for column in COLUMNS {
        if column.group != group {
            group = column.group;
            writeln!(text, "\n{group}")?;
        }
        let unit = if column.unit.is_empty() { String::new() } else { format!(" [{}]", column.unit) };
        writeln!(text, "  {:20} {:8} {}{unit}", column.name, column.kind.as_str(), column.description)?;
    }
    Ok(text)
}
