//! `lanescope schema`: the columns of a row.

use std::fmt::Write;

use serde_json::json;

use super::args::Schema;
use super::stdout::print;
use crate::record::{COLUMNS, SCHEMA_VERSION};

/// Prints the fixed columns.
pub fn schema(arguments: &Schema) -> anyhow::Result<u8> {
    print(&if arguments.json { as_json()? } else { as_text()? })
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
    Ok(serde_json::to_string_pretty(&json!({ "schema": SCHEMA_VERSION, "columns": columns }))? + "\n")
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
