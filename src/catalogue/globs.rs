//! Globs that users type.

use globset::{GlobBuilder, GlobMatcher};

/// Alternatives inside of each other, beyond which a glob is refused: what compiles it fails or dies where they are hundreds.
const MOST_NESTED: usize = 16;

/// The longest glob, characters, for the same reason.
const LONGEST: usize = 4000;

/// What matches a glob, to which `choose` gives its options.
/// Errors: what is wrong with it, in words that follow its name and a colon.
pub fn matcher(
    text: &str,
    choose: impl for<'g, 't> FnOnce(&'g mut GlobBuilder<'t>) -> &'g mut GlobBuilder<'t>,
) -> Result<GlobMatcher, String> {
    if text.chars().count() > LONGEST {
        return Err(format!("it is longer than {LONGEST} characters"));
    }
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MOST_NESTED {
            return Err(format!("more than {MOST_NESTED} alternatives lie inside of each other"));
        }
    }
    choose(&mut GlobBuilder::new(text)).build().map(|glob| glob.compile_matcher()).map_err(|error| error.kind().to_string())
}

/// As much of a glob as an error shows.
pub fn beginning(text: &str) -> String {
    const SHOWN: usize = 80;
    let shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() { shown + "..." } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_not_compile_is_refused() {
        let nested = |depth: usize| "{a,".repeat(depth) + &"}".repeat(depth);
        let plain = |text: &str| matcher(text, |glob| glob).map(drop);
        assert_eq!(plain(&nested(16)), Ok(()));
        assert!(plain(&nested(17)).unwrap_err().contains("inside of each other"));
        assert!(plain(&"{a,".repeat(100_000)).is_err() && plain("{a,").is_err() && plain("[").is_err());
        for text in ["?", "*", "[a-z]", "[!é]", "{a,b}", "**/", "ä"] {
            let longest = LONGEST / text.chars().count();
            assert_eq!(plain(&text.repeat(longest)), Ok(()), "{text}");
            assert!(plain(&text.repeat(longest + 1)).unwrap_err().contains("longer than"), "{text}");
        }
        assert!(matcher("a*b", |glob| glob).unwrap().is_match("a/b"));
        assert!(!matcher("a*b", |builder| builder.literal_separator(true)).unwrap().is_match("a/b"));
    }
}
