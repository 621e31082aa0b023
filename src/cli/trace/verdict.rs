//! `--fail-on`: whether an access is worse than it may be.

use crate::error::Error;
use crate::output::trace::SiteRow;
use crate::shader::SourceLine;
use crate::trace::check::Class;
use crate::units::{percent, rounded};

/// A bound on what accesses cost, of all of them or of one line or name.
#[derive(Clone, Debug, PartialEq)]
pub struct FailOn {
    bound: Bound,
    only: Option<String>,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    /// The least efficiency that is well.
    Efficiency(f64),
    /// The least mean degree that isn't.
    Conflict(f64),
    /// What `--check` must not find.
    Found(Found),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Found {
    Any,
    One(Class),
}

/// What `any` is; `memory` and `race` have more in them.
const FAILING: [Class; 6] = [Class::Race, Class::Memory, Class::Divergence, Class::Exited, Class::Uninitialised, Class::Bounds];

impl FailOn {
    pub fn parse(text: &str) -> Result<Self, String> {
        const ADVICE: &str = "efficiency:50% or conflict:4 is needed, and :LINE or :NAME behind it for one access; or with --check a kind \
                              of finding: race, same-value, undecided, memory, not-coherent, barrier, left-out, exited, \
                              uninitialised, bounds or any";
        let class = Class::ALL.into_iter().find(|class| class.name() == text).map(Found::One);
        if let Some(found) = class.or((text == "any").then_some(Found::Any)) {
            return Ok(Self { bound: Bound::Found(found), only: None, text: text.to_owned() });
        }
        let (what, rest) = text.split_once(':').ok_or(ADVICE)?;
        let (bound, only) = rest.split_once(':').map_or((rest, None), |(bound, only)| (bound, Some(only.to_owned())));
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
        let bound = match what {
            "efficiency" => {
                let share = bound.strip_suffix('%').and_then(number).map(|percent| percent / 100.0).or_else(|| number(bound));
                Bound::Efficiency(share.filter(|share| *share <= 1.0).ok_or(ADVICE)?)
            }
            "conflict" => Bound::Conflict(number(bound).ok_or(ADVICE)?),
            _ => return Err(ADVICE.to_owned()),
        };
        Ok(Self { bound, only, text: text.to_owned() })
    }

    /// What `--check` must not find; nothing where it is a bound on what accesses cost.
    pub fn classes(&self, allows_same_value: bool) -> Option<Vec<Class>> {
        let Bound::Found(found) = self.bound else { return None };
        let classes = match found {
            Found::Any => FAILING.to_vec(),
            Found::One(class) => vec![class],
        };
        let same_value = (classes.contains(&Class::Race) && !allows_same_value).then_some(Class::SameValue);
        let not_coherent = classes.contains(&Class::Memory).then_some(Class::NotCoherent);
        let left_out = classes.contains(&Class::Divergence).then_some(Class::LeftOut);
        Some(classes.into_iter().chain(same_value).chain(not_coherent).chain(left_out).collect())
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    fn is_meant(&self, row: &SiteRow) -> bool {
        let Some(only) = &self.only else { return true };
        let is_at = |line: u64| line.to_string() == *only || place_of(row) == Some(only.clone());
        row.line.is_some_and(is_at) || is_named(&row.name, only)
    }

    /// What is wrong with an access, if anything is.
    fn fault(&self, row: &SiteRow) -> Option<String> {
        match self.bound {
            Bound::Efficiency(least) => row
                .efficiency
                .filter(|share| *share < least)
                .map(|share| format!("efficiency {}, below {}", percent(share), percent(least))),
            Bound::Conflict(least) => row
                .degree
                .filter(|degree| *degree >= least)
                .map(|degree| format!("degree {}, at least {}", rounded(degree, None), rounded(least, None))),
            Bound::Found(_) => None,
        }
    }

    /// Whether an access has what the bound is of.
    fn judges(&self, row: &SiteRow) -> bool {
        match self.bound {
            Bound::Efficiency(_) => row.efficiency.is_some(),
            Bound::Conflict(_) => row.degree.is_some(),
            Bound::Found(_) => true,
        }
    }

    /// The accesses that are too bad, a line each.
    ///
    /// # Errors
    /// Nothing would ever fail: there is no access of that line or name, or it has no such figure, or none that might have it was followed.
    pub fn faults(&self, rows: &[SiteRow]) -> Result<Vec<String>, Error> {
        let own: Vec<&SiteRow> = rows.iter().filter(|row| self.is_meant(row)).collect();
        if let (true, Some(only)) = (own.is_empty(), &self.only) {
            let mut known: Vec<(&str, Option<u64>, String)> =
                rows.iter().map(|row| (&row.file[..], row.line, place(row))).collect();
            known.sort();
            known.dedup();
            let known: Vec<String> = known.into_iter().map(|(.., place)| place).collect();
            let words = format!("--fail-on {}: no access was recorded of `{only}`; there are: {}", self.text, known.join(", "));
            return Err(Error::Usage(words));
        }
        if !own.iter().any(|row| self.judges(row)) {
            let what = match self.bound {
                Bound::Efficiency(_) => "an access of a buffer has an efficiency",
                Bound::Conflict(_) => "an access of shared memory has conflicts",
                Bound::Found(_) => return Ok(Vec::new()),
            };
            let unfollowed = rows.iter().any(|row| row.unfollowed > 0);
            match &self.only {
                Some(only) => {
                    return Err(Error::Usage(format!(
                        "--fail-on {}: {what}, and `{only}` is none, or wasn't followed",
                        self.text
                    )));
                }
                None if unfollowed || rows.is_empty() => {
                    return Err(Error::Usage(format!("--fail-on {}: {what}, and none was followed", self.text)));
                }
                None => {}
            }
        }
        let fault = |row: &&SiteRow| self.fault(row).map(|fault| format!("{}: {fault}", place(row)));
        Ok(own.iter().filter_map(fault).collect())
    }
}

/// `tile` means all of `tile[][]`.
fn is_named(name: &str, only: &str) -> bool {
    name == only || name.strip_prefix(only).is_some_and(|rest| rest.starts_with(['[', '.']))
}

fn place_of(row: &SiteRow) -> Option<String> {
    let line = u32::try_from(row.line?).ok()?;
    Some(SourceLine { file: row.file.clone(), line }.place(&row.shader))
}

fn place(row: &SiteRow) -> String {
    let line = place_of(row).map(|line| format!("line {line}, ")).unwrap_or_default();
    let name = if row.name.is_empty() { "(no name)" } else { &row.name };
    format!("{line}{} {name}", row.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_for_all_or_for_one() {
        let row = |line, name: &str, efficiency, degree| SiteRow {
            line: Some(line),
            kind: "load".to_owned(),
            name: name.to_owned(),
            efficiency,
            degree,
            ..SiteRow::default()
        };
        let rows = [row(3, "a[]", Some(0.25), None), row(4, "b[]", Some(0.5), None), row(5, "tile[][]", None, Some(4.0))];
        let faults = |text: &str| FailOn::parse(text).unwrap().faults(&rows).map_err(|error| error.to_string());
        assert_eq!(faults("efficiency:50%"), Ok(vec!["line 3, load a[]: efficiency 25.0 %, below 50.0 %".to_owned()]));
        assert_eq!(faults("efficiency:0.5:4"), Ok(vec![]));
        assert_eq!(faults("efficiency:0.6:b").unwrap().len(), 1);
        let mut included = rows.clone();
        (included[0].shader, included[0].file) = ("k.comp".to_owned(), "lib/a.glsl".to_owned());
        let of_file = FailOn::parse("efficiency:50%:a.glsl:3").unwrap().faults(&included).unwrap();
        assert_eq!(of_file, ["line a.glsl:3, load a[]: efficiency 25.0 %, below 50.0 %"]);
        assert_eq!(faults("conflict:4:tile"), Ok(vec!["line 5, load tile[][]: degree 4, at least 4".to_owned()]));
        assert_eq!(faults("conflict:4.5"), Ok(vec![]));
        assert!(faults("conflict:4:b").unwrap_err().contains("`b` is none, or wasn't followed"));
        let nothing = FailOn::parse("efficiency:50%").unwrap().faults(&[]).unwrap_err().to_string();
        assert!(nothing.contains("none was followed"), "{nothing}");
        let unknown = faults("conflict:4:til").unwrap_err();
        assert!(unknown.contains("`til`") && unknown.contains("line 5, load tile[][]"), "{unknown}");
        for wrong in ["", "efficiency", "efficiency:", "efficiency:150%", "conflict:-1", "speed:1", "conflict:nan"] {
            assert!(FailOn::parse(wrong).is_err(), "{wrong}");
        }
    }
}
