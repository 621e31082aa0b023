//! What a report must not tell: it is pasted where everybody reads it.

use std::env;
use std::path::PathBuf;

use crate::model::Shown;

/// Folders of the system's: what lies below them names nobody.
const OF_SYSTEM: [&str; 8] = ["/usr/", "/etc/", "/opt/", "/lib/", "/lib64/", "/nix/", "/dev/", "C:\\Windows\\"];

/// Names that everybody has.
const COMMON: [&str; 4] = ["root", "user", "admin", "localhost"];
const SHORTEST_NAME: usize = 3;

/// Names and folders of this machine and of who uses it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Secrets {
    /// With what stands in their place, the longest first.
    known: Vec<(String, &'static str)>,
}

impl Secrets {
    /// Those of this machine, with folders in which what is spoken of lies.
    pub fn of_this_machine(host: String, folders: Vec<PathBuf>) -> Self {
        let value = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let homes: Vec<String> = ["HOME", "USERPROFILE"].into_iter().filter_map(value).collect();
        let last = |home: &String| home.rsplit(['/', '\\']).next().map(str::to_owned);
        let users = ["USER", "USERNAME", "LOGNAME"].into_iter().filter_map(value).chain(homes.iter().filter_map(last));
        let users: Vec<String> = users.collect();
        let folders = folders.into_iter().map(|folder| folder.shown());
        Self::of(folders.collect(), homes.clone(), users, host)
    }

    fn of(folders: Vec<String>, homes: Vec<String>, users: Vec<String>, host: String) -> Self {
        let is_systems = |folder: &String| OF_SYSTEM.iter().any(|system| format!("{folder}/").starts_with(system));
        let folders = folders.into_iter().filter(|folder| folder.len() > 1 && !is_systems(folder));
        let folders = folders.flat_map(|folder| [format!("{folder}/"), format!("{folder}\\")].map(|folder| (folder, "")));
        let homes = homes.into_iter().filter(|home| home.len() > 1).map(|home| (home, "~"));
        let is_telling = |name: &String| name.len() >= SHORTEST_NAME && !COMMON.contains(&name.as_str());
        let users = users.into_iter().filter(is_telling).map(|name| (name, "(user)"));
        let host = Some(host).filter(is_telling).map(|name| (name, "(host)"));
        let mut known: Vec<(String, &str)> = folders.chain(homes).chain(users).chain(host).collect();
        known.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Self { known }
    }

    /// Words without them, and without the folders of paths that aren't the system's.
    pub fn removed_from(&self, words: &str) -> String {
        let mut words = words.to_owned();
        for (name, instead) in &self.known {
            words = if name.contains(['/', '\\']) {
                words.replace(name, instead)
            } else {
                whole_words_replaced(&words, name, instead)
            };
        }
        words.split(' ').map(without_folders).collect::<Vec<_>>().join(" ")
    }
}

/// A name that is a part of a longer word isn't that name.
fn whole_words_replaced(words: &str, name: &str, instead: &str) -> String {
    let mut out = String::new();
    let mut rest = words;
    while let Some(place) = rest.find(name) {
        let (before, behind) = (&rest[..place], &rest[place + name.len()..]);
        let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let is_part = is_letter(before.chars().next_back()) || is_letter(behind.chars().next());
        out += before;
        out += if is_part { name } else { instead };
        rest = behind;
    }
    out + rest
}

/// A word whose path is cut down to the file that it names.
fn without_folders(word: &str) -> String {
    let Some(start) = word.find(['/', '\\']) else { return word.to_owned() };
    // Windows' have a letter in front, and a home a tilde.
    let before = word[..start].trim_end_matches(['~', '.']);
    let drive = before.strip_suffix(':').and_then(|rest| rest.strip_suffix(|c: char| c.is_ascii_alphabetic()));
    let begin = drive.unwrap_or(before);
    let path = &word[begin.len()..];
    // Of two words with a slash between them neither is a folder.
    let is_path = path.len() > 1 && !begin.ends_with(char::is_alphanumeric);
    if !is_path || OF_SYSTEM.iter().any(|folder| path.starts_with(folder)) {
        return word.to_owned();
    }
    format!("{begin}{}", path.rsplit(['/', '\\']).next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_names_nobody() {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let secrets = Secrets::of(
            words(&["/srv/Ann Smith/mesa", "/usr/share/vulkan/icd.d"]),
            words(&["/home/ann"]),
            words(&["ann", "root"]),
            "rig7".to_owned(),
        );
        for (told, expected) in [
            ("it names /srv/Ann Smith/mesa/./lib.so, which", "it names lib.so, which"),
            ("(/home/ann/x/y.so)", "(y.so)"),
            ("[/home/ann/x.so] `/home/ann/y.so` ~/z.so", "[x.so] `y.so` z.so"),
            ("Program arguments: /home/bob/.cargo/bin/lanescope", "Program arguments: lanescope"),
            ("/usr/share/vulkan/icd.d/a.json is no JSON", "/usr/share/vulkan/icd.d/a.json is no JSON"),
            (r"can't read C:\Users\bob\a.json: no", "can't read a.json: no"),
            ("path=/libfoo/ann/a.json", "path=a.json"),
            ("and/or 1/2, 32 GT/s", "and/or 1/2, 32 GT/s"),
            ("ann-train on rig7 as root, annual", "(user)-train on (host) as root, annual"),
            ("/home/ann", "~"),
        ] {
            assert_eq!(secrets.removed_from(told), expected);
        }
    }
}
