//! What kernels are called: as the application says, or else as their modules do.

use crate::shader::Reflection;

/// The most letters of a name.
const LONGEST: usize = 48;

/// The first of these that there is: a debug name, the label around its first dispatch, the entry point where it isn't `main`, the names of
/// the blocks that it binds, and its module's hash.
pub fn name(debug_name: &str, label: &str, entry: &str, words: Option<&[u32]>, module: &str) -> String {
    let entry = if entry == "main" { "" } else { entry };
    let told = [debug_name, label, entry].into_iter().map(plain).find(|name| !name.is_empty());
    let of_blocks = || {
        let reflection = Reflection::parse(words?).ok()?;
        let blocks: Vec<String> =
            reflection.bindings.iter().map(|binding| plain(&binding.name)).filter(|name| !name.is_empty()).take(3).collect();
        (!blocks.is_empty()).then(|| blocks.join("-"))
    };
    let of_module = || if module.is_empty() { "unknown".to_owned() } else { format!("module-{}", cut(module, 8)) };
    told.or_else(of_blocks).unwrap_or_else(of_module)
}

/// Without what a file's name, or a filter, can't have.
fn plain(text: &str) -> String {
    let letters =
        text.trim().chars().map(|letter| if letter.is_ascii_alphanumeric() || "_-.".contains(letter) { letter } else { '-' });
    let name: String = letters.take(LONGEST).collect();
    name.trim_matches(['-', '.']).to_owned()
}

fn cut(text: &str, most: usize) -> &str {
    text.get(..most).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_names_its_kernels_first() {
        assert_eq!(name("mul mat/vec", "a", "b", None, "c"), "mul-mat-vec");
        assert_eq!(name("", " blk.0 ", "b", None, "c"), "blk.0");
        assert_eq!(name("", "", "csMain", None, "c"), "csMain");
        assert_eq!(name("", "", "main", Some(&[1, 2]), "0123456789"), "module-01234567");
        assert_eq!(name("../", "", "main", None, ""), "unknown");
    }
}
