//! Entries below each other, a name and a value each, that fit a screen unless everything is asked for.

use crate::output::prose::wrapped;

const INDENT: usize = 4;
const VALUE: usize = INDENT + 13;
const WORD_LINES: usize = 3;
/// The lines that a device may take, its title included.
pub const SCREEN: usize = 40;

pub struct Page {
    lines: Vec<String>,
    width: usize,
    is_whole: bool,
    has_left_out: bool,
}

impl Page {
    pub fn new(title: &str, width: usize, is_whole: bool) -> Self {
        Self { lines: wrapped(title, width).lines().map(str::to_owned).collect(), width, is_whole, has_left_out: false }
    }

    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    pub fn add(&mut self, name: &str, value: &str) {
        let words: Vec<&str> = value.split(' ').collect();
        self.add_fitting(name, &words, (" ", WORD_LINES), |_| "...".to_owned());
    }

    /// Several values of one name, which may take so many lines.
    pub fn list(&mut self, name: &str, items: &[&str], most: usize) {
        let items = if items.is_empty() { &["none"] } else { items };
        self.add_fitting(name, items, (", ", most), |more| format!("and {more} more"));
    }

    /// Entries of one kind, of which some may do.
    pub fn several(&mut self, entries: &[(String, String)], most: usize) {
        let shown = if self.is_whole { entries.len() } else { most };
        entries.iter().take(shown).for_each(|(name, value)| self.add(name, value));
        if let Some((name, _)) = entries.get(shown) {
            let kind = name.split(' ').next().unwrap_or_default();
            self.has_left_out = true;
            self.add(kind, &format!("and {} more", entries.len() - shown));
        }
    }

    /// As many of the items as have room, and how many more there are.
    fn add_fitting(&mut self, name: &str, items: &[&str], (joint, most): (&str, usize), rest: impl Fn(usize) -> String) {
        let lines_of = |shown: usize| {
            let rest = (shown < items.len()).then(|| rest(items.len() - shown));
            let text = items[..shown].iter().map(|item| (*item).to_owned()).chain(rest).collect::<Vec<_>>().join(joint);
            wrapped(&text, self.width - VALUE).lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let fits = |shown: &usize| self.is_whole || lines_of(*shown).len() <= most;
        let shown = (0..=items.len()).rev().find(fits).unwrap_or(0);
        self.has_left_out |= shown < items.len();
        for (i, line) in lines_of(shown).into_iter().enumerate() {
            let name = if i == 0 { name } else { "" };
            self.lines.push(format!("{:INDENT$}{name:width$}{line}", "", width = VALUE - INDENT));
        }
    }

    /// Its lines, and whether there is more to tell than they do.
    pub fn finish(mut self) -> (Vec<String>, bool) {
        if !self.is_whole && self.lines.len() > SCREEN {
            let more = self.lines.len() - (SCREEN - 1);
            self.lines.truncate(SCREEN - 1);
            self.lines.push(format!("{:INDENT$}and {more} lines more", ""));
            self.has_left_out = true;
        }
        (self.lines, self.has_left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ITEMS: [&str; 6] = ["subgroups", "matrices", "images", "buffers", "events", "atomics"];

    fn lines(is_whole: bool, fill: impl Fn(&mut Page)) -> (Vec<String>, bool) {
        let mut page = Page::new("0: device", 40, is_whole);
        fill(&mut page);
        page.finish()
    }

    #[test]
    fn what_has_room_is_told_whole() {
        let (lines, has_more) = lines(false, |page| page.list("features", &ITEMS[..4], 3));
        let told = ["0: device", "    features     subgroups, matrices,", "                 images, buffers"];
        assert_eq!((lines, has_more), (told.map(str::to_owned).to_vec(), false));
    }

    #[test]
    fn of_a_long_list_the_rest_is_counted() {
        let items = [ITEMS; 5].concat();
        let (few, has_more) = lines(false, |page| page.list("features", &items, 6));
        assert!(has_more && few.len() == 7 && few[6].contains("and "), "{few:#?}");
        let (all, has_more) = lines(true, |page| page.list("features", &items, 6));
        assert!(!has_more && all.len() > few.len() && all.iter().all(|line| line.chars().count() <= 40), "{all:#?}");
    }

    #[test]
    fn of_many_entries_the_rest_is_counted() {
        let entries: Vec<(String, String)> = (0..5).map(|i| (format!("queue {i}"), "compute".to_owned())).collect();
        let (few, has_more) = lines(false, |page| page.several(&entries, 3));
        assert!(has_more && few.len() == 5 && few[4].ends_with("and 2 more"), "{few:#?}");
        assert_eq!(lines(true, |page| page.several(&entries, 3)).0.len(), 6);
        assert!(!lines(false, |page| page.several(&entries[..3], 3)).1);
    }

    #[test]
    fn a_device_takes_no_more_than_a_screen() {
        let fill = |page: &mut Page| (0..60).for_each(|_| page.add("a", "b"));
        let (lines_of_few, has_more) = lines(false, fill);
        assert!(has_more && lines_of_few.len() == SCREEN && lines_of_few[SCREEN - 1].ends_with("and 22 lines more"));
        assert_eq!(lines(true, fill).0.len(), 61);
    }
}
