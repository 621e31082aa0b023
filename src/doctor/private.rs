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
        let homes = ["HOME", "USERPROFILE"].into_iter().filter_map(value);
        let homes: Vec<String> = homes.map(|home| home.trim_end_matches(['/', '\\']).to_owned()).collect();
        let last = |home: &String| home.rsplit(['/', '\\']).next().map(str::to_owned);
        let users =
            ["USER", "USERNAME", "LOGNAME", "SUDO_USER"].into_iter().filter_map(value).chain(homes.iter().filter_map(last));
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
        // A host is known by the first part of its name, too.
        let short = host.split('.').next().unwrap_or_default().to_owned();
        let hosts = [host, short].into_iter().filter(is_telling).map(|name| (name, "(host)"));
        let mut known: Vec<(String, &str)> = folders.chain(homes).chain(users).chain(hosts).collect();
        known.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Self { known }
    }

    /// Words without them, and without the folders of paths that aren't the system's.
    pub fn removed_from(&self, words: &str) -> String {
        let is_path = |(name, _): &&(String, &str)| name.contains(['/', '\\']);
        let paths = self.known.iter().filter(is_path);
        let words = paths.fold(words.to_owned(), |words, (path, instead)| whole_words_replaced(&words, path, instead));
        words.split(' ').map(|word| self.removed_from_word(word)).collect::<Vec<_>>().join(" ")
    }

    /// A name may be a word that all reports have, such as `driver`: it tells of somebody in paths, addresses and values alone.
    fn removed_from_word(&self, word: &str) -> String {
        let word = without_folders(word);
        let is_telling = word.contains(['/', '\\', '=', '@', '~']) && !OF_SYSTEM.iter().any(|folder| word.contains(folder));
        if !is_telling {
            return word;
        }
        self.known.iter().fold(word, |word, (name, instead)| whole_words_replaced(&word, name, instead))
    }
}

/// A name that is a part of a longer word isn't that name.
fn whole_words_replaced(words: &str, name: &str, instead: &str) -> String {
    let mut out = String::new();
    let mut rest = words;
    while let Some(place) = rest.find(name) {
        let (before, behind) = (&rest[..place], &rest[place + name.len()..]);
        // Of folders, one that goes on in such a way is another one.
        let is_letter = |c: Option<char>| {
            c.is_some_and(|c| {
                c.is_alphanumeric() || (name.contains(['/', '\\']) && !name.ends_with(['/', '\\']) && "-_".contains(c))
            })
        };
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
    let mut parts = path.rsplit(['/', '\\']);
    let (last, above) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    // The last one may be somebody's folder.
    let behind = last.trim_start_matches(|letter: char| letter.is_alphanumeric() || "._-".contains(letter));
    let last = if matches!(above, "home" | "Users") { format!("~{behind}") } else { last.to_owned() };
    format!("{begin}{last}")
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
            "rig7.corp.example.com".to_owned(),
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
            ("A=ann-train on rig7:0= as root=, annual=", "A=(user)-train on (host):0= as root=, annual="),
            ("/home/ann", "~"),
            ("(/home/ann/)", "()"),
            ("/home/annabel/x.json", "x.json"),
            ("A=/home/bob.smith, B=/home/ann", "A=~, B=~"),
            ("the ann driver of rig7 is mesa-ann-drivers", "the ann driver of rig7 is mesa-ann-drivers"),
            ("ssh=rig7.corp.example.com", "ssh=(host)"),
        ] {
            assert_eq!(secrets.removed_from(told), expected);
        }
    }
}
