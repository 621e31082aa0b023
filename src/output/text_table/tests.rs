//! Made-up tables, and any tables.

use proptest::prelude::*;

use super::*;
use crate::output::legible;

const PAGE: Page = Page { width: 60, is_coloured: false };

fn a_table() -> TextTable {
    let mut table = TextTable::new([
        Column::words("variant", Need::Key),
        Column::numbers("n", Need::Key),
        Column::numbers("relative", Need::Spare),
        Column::numbers("time", Need::Central),
        Column::words("notes", Need::Key),
    ]);
    table.row(["naive", "1024", "1", "391.0 us", ""]);
    table.row(["padded", "1048576", "1.915", "1.11 ms", "noisy"]);
    let skipped =
        ["tiled", "2", "", "", "skipped: the case needs | 2048 invocations"].map(|text| Cell::from(text).toned(Tone::Quiet));
    table.row(skipped);
    table
}

#[test]
fn a_table_fits_its_page() {
    insta::assert_snapshot!(a_table().fitted(Page { width: 74, ..PAGE }), @"
     variant         n   relative       time   notes
    ──────────────────────────────────────────────────────────────────────────
     naive        1024          1   391.0 us
     padded    1048576      1.915    1.11 ms   noisy
     tiled           2                         skipped: the case needs | 2048
                                               invocations
    ");
    insta::assert_snapshot!(a_table().whole_in("JSON has them").fitted(Page { width: 40, ..PAGE }), @"
     variant         n   notes
    ───────────────────────────────────────
     naive        1024
     padded    1048576   noisy
     tiled           2   skipped: the case
                         needs | 2048
                         invocations
     no room for: relative, time; JSON has
     them
    ");
}

#[test]
fn markdown_is_never_left_out_of() {
    insta::assert_snapshot!(a_table().markdown(), @r"
    | variant |       n | relative |     time | notes                                       |
    |---------|--------:|---------:|---------:|---------------------------------------------|
    | naive   |    1024 |        1 | 391.0 us |                                             |
    | padded  | 1048576 |    1.915 |  1.11 ms | noisy                                       |
    | tiled   |       2 |          |          | skipped: the case needs \| 2048 invocations |
    ");
}

#[test]
fn every_line_of_a_toned_cell_is_coloured() {
    let page = Page { is_coloured: true, ..PAGE };
    let coloured = legible(&a_table().fitted(page), page);
    insta::assert_snapshot!(coloured.replace('\u{1b}', "^"), @"
     variant         n       time   notes
    ──────────────────────────────────────────────────────────
     naive        1024   391.0 us
     padded    1048576    1.11 ms   noisy
     ^[2mtiled^[0m           ^[2m2^[0m              ^[2mskipped: the case needs |^[0m
                                    ^[2m2048 invocations^[0m
    ^[2m no room for: relative; a wider terminal or -o FILE.csv has^[0m
    ^[2m them^[0m
    ");
}

#[test]
fn a_table_without_titles_has_no_head() {
    let mut table = TextTable::new([Column::words("", Need::Key), Column::words("", Need::Central)]);
    table.row(["needs", "Shader, Float16, Int64"]);
    table.row(["shared", "256 B"]);
    insta::assert_snapshot!(table.fitted(PAGE), @"
    needs    Shader, Float16, Int64
    shared   256 B
    ");
    // Columns in which nothing stands are left out without a word.
    let mut table = TextTable::new(["a", "b"].map(|title| Column::words(title, Need::Key)));
    table.row(["", "1"]);
    assert_eq!(table.without_empty_columns().fitted(PAGE), " b\n───\n 1\n");
}

// ---- any tables -----------------------------------------------------------------------------------------------------------

fn need() -> impl Strategy<Value = Need> {
    prop::sample::select(vec![Need::Spare, Need::Useful, Need::Central, Need::Key])
}

/// Words of letters, of digits, and of both.
const WORDS: &str = "([a-zA-Z_/:=\u{6E2C}]{0,40}|[1-9][0-9]{0,11}|[a-z]{1,30}[0-9]{1,9}\\.[0-9]{1,9})\
                     ( ([a-zA-Z_/:=\u{6E2C}]{0,40}|[1-9][0-9]{0,11}|[a-z]{1,30}[0-9]{1,9}\\.[0-9]{1,9})){0,8}";

/// A column of numbers or of words, some of which are numbers, and its cells.
fn filled(rows: usize) -> impl Strategy<Value = (Column, Vec<String>)> {
    let number = "[1-9][0-9]{0,11}|[0-9]\\.[0-9]{1,8}|[1-9][0-9]{0,3} GB/s";
    let numbers = (need(), "[a-z_±]{1,20}", prop::collection::vec(number, rows))
        .prop_map(|(need, title, cells)| (Column::numbers(title, need), cells));
    let words = prop::collection::vec(WORDS, rows);
    let words = (need(), "[a-z_]{0,20}", words).prop_map(|(need, title, cells)| (Column::words(title, need), cells));
    prop_oneof![numbers, words]
}

fn table() -> impl Strategy<Value = TextTable> {
    let columns = (1..9_usize, 1..6_usize).prop_flat_map(|(columns, rows)| prop::collection::vec(filled(rows), columns));
    let tones = [Tone::Plain, Tone::Bad, Tone::Doubtful, Tone::Quiet];
    columns.prop_map(move |columns| TextTable {
        columns: columns
            .into_iter()
            .map(|(column, cells)| {
                (
                    column,
                    cells.into_iter().zip(tones.into_iter().cycle()).map(|(text, tone)| Cell::from(text).toned(tone)).collect(),
                )
            })
            .collect(),
        elsewhere: IN_ROWS,
    })
}

fn seen(text: &str) -> String {
    let mut rest = text.split('\u{1b}');
    let first = rest.next().unwrap_or_default().to_owned();
    rest.fold(first, |seen, part| seen + part.split_once('m').map_or(part, |(_, after)| after))
}

fn numbers(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !(c.is_ascii_digit() || c == '.'));
    parts.filter(|part| part.contains(|c: char| c.is_ascii_digit())).map(str::to_owned).collect()
}

proptest! {
    #![proptest_config(crate::properties::config())]

    #[test]
    fn nothing_is_wider_than_asked_for_and_no_number_is_broken(table in table(), width in 30..160_u16, is_coloured in any::<bool>()) {
        let page = Page { width, is_coloured };
        let text = seen(&legible(&table.fitted(page), page));
        for line in text.lines() {
            prop_assert!(super::width(line) <= usize::from(width), "{line:?} in {width}\n{text}");
        }
        let demands: Vec<Demand> = table.columns.iter().map(|(column, cells)| demand(column, cells)).collect();
        let shown = numbers(&text);
        for ((column, cells), _) in table.columns.iter().zip(fitted(&demands, width.into())).filter(|(_, width)| width.is_some()) {
            for number in cells.iter().flat_map(|cell| numbers(&cell.text)) {
                prop_assert!(shown.contains(&number), "{number} of {} in {width}\n{text}", column.title);
            }
        }
    }

    #[test]
    fn colours_change_nothing_else(table in table(), width in 30..160_u16) {
        let [plain, coloured] = [false, true].map(|is_coloured| Page { width, is_coloured }).map(|page| legible(&table.fitted(page), page));
        prop_assert_eq!(&seen(&coloured), &plain);
        prop_assert!(seen(&plain) == plain);
    }

    #[test]
    fn markdown_has_every_cell(table in table()) {
        let text = table.markdown();
        prop_assert_eq!(text.lines().count(), table.height() + 2);
        for cell in table.columns.iter().flat_map(|(_, cells)| cells) {
            prop_assert!(text.contains(cell.text.trim()), "{}\n{text}", cell.text);
        }
    }
}
