//! How rows are named to a person.

/// The first of many lines, and how many are left out.
pub fn abridged(lines: Vec<String>, most: usize) -> Vec<String> {
    abridged_from(lines.into_iter(), most, |line| line)
}

/// The same of things of which each makes a line: those that are left out are counted alone.
pub fn abridged_from<T>(mut things: impl Iterator<Item = T>, most: usize, line: impl FnMut(T) -> String) -> Vec<String> {
    let mut first: Vec<T> = things.by_ref().take(most + 1).collect();
    let mut left_out = things.count();
    if left_out > 0 {
        first.truncate(most);
        left_out += 1;
    }
    let mut lines: Vec<String> = first.into_iter().map(line).collect();
    lines.extend((left_out > 0).then(|| format!("and {left_out} more")));
    lines
}

pub fn indented(lines: Vec<String>) -> impl Iterator<Item = String> {
    lines.into_iter().map(|line| format!("  {line}"))
}

/// `1 case`, `2 cases`.
pub fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The names of columns, as messages list them.
pub fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    format!("the column{} {}", if names.len() == 1 { "" } else { "s" }, names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_shortened_only_where_that_leaves_lines_out() {
        let lines = |count: usize| (0..count).map(|i| i.to_string()).collect::<Vec<_>>();
        assert_eq!(abridged(lines(3), 2), ["0", "1", "2"], "a line for the one that it would stand for");
        assert_eq!(abridged(lines(4), 2), ["0", "1", "and 2 more"]);
        assert_eq!(abridged(lines(0), 2), [""; 0]);
    }
}
