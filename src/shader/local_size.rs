//! Makes a literal workgroup size specializable, in GLSL.
//!
//! The compiler folds `gl_WorkGroupSize.x` of a literal size to a plain number, and all that is computed from it. Only a source that
//! says from the start that the size is specialized makes a module in which every use follows.

const QUALIFIERS: [&str; 3] = ["local_size_x", "local_size_y", "local_size_z"];

/// The text with these `constant_id`s wherever it declares a workgroup size; lines stay where they are. Leave out the directions
/// that have an id already. A text that declares no size is returned as it is.
pub fn with_local_size_ids(text: &str, ids: [Option<u32>; 3]) -> String {
    let added: String = QUALIFIERS.iter().zip(ids).filter_map(|(name, id)| Some(format!("{name}_id = {}, ", id?))).collect();
    let mut out = String::with_capacity(text.len() + added.len());
    let tokens: Vec<&str> = tokens(text).collect();
    let significant: Vec<usize> = (0..tokens.len()).filter(|i| !is_blank(tokens[*i])).collect();
    let mut declarations = significant.windows(3).filter(|window| declares(&tokens, window)).map(|w| w[1]).peekable();
    for (i, token) in tokens.iter().enumerate() {
        if declarations.next_if_eq(&i).is_some() {
            out.push_str(&added);
        }
        out.push_str(token);
    }
    out
}

/// Whether these three tokens are a qualifier with a value, within a list: what else bears the name is a variable.
fn declares(tokens: &[&str], window: &[usize]) -> bool {
    let [before, name, after] = [0, 1, 2].map(|i| tokens[window[i]]);
    matches!(before, "(" | ",") && QUALIFIERS.contains(&name) && after == "="
}

/// Whether the compiler passes over a token; a continued line goes on.
fn is_blank(token: &str) -> bool {
    token.trim_start().is_empty() || token == "\\" || token.starts_with("//") || token.starts_with("/*")
}

/// Words, numbers, comments, strings, single blanks and other characters.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let (token, after) = rest.split_at(length(rest, first));
        rest = after;
        Some(token)
    })
}

fn length(text: &str, first: char) -> usize {
    let until = |end: &dyn Fn(char) -> bool| text.find(end).unwrap_or(text.len());
    if text.starts_with("//") {
        until(&|c| c == '\n')
    } else if let Some(inside) = text.strip_prefix("/*") {
        inside.find("*/").map_or(text.len(), |end| end + 4)
    } else if let Some(inside) = text.strip_prefix('"') {
        inside.find(['"', '\n']).map_or(text.len(), |end| end + if inside[end..].starts_with('"') { 2 } else { 1 })
    } else if is_word(first) {
        until(&|c| !is_word(c))
    } else {
        first.len_utf8()
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn with_7(text: &str) -> String {
        with_local_size_ids(text, [Some(7), None, None])
    }

    #[test]
    fn declarations_alone_are_changed() {
        for text in [
            "",
            "// layout(local_size_x = 8) in;\n",
            "/* layout(local_size_x = 8) in; */",
            "layout(local_size_x_id = 3) in;",
            "print(\"layout(local_size_x = 8) in;\");",
            "uint local_size_x = 4;",
            "f(local_size_x, 1);",
            "f(my_local_size_x = 1);",
        ] {
            assert_eq!(with_7(text), text);
        }
        let macros = "#define SIZE layout( /* x */ local_size_x\\\n = 8) in";
        assert_eq!(with_7(macros), "#define SIZE layout( /* x */ local_size_x_id = 7, local_size_x\\\n = 8) in");
        let two = "layout(local_size_y=2,local_size_x=4) in;";
        assert_eq!(with_7(two), "layout(local_size_x_id = 7, local_size_y=2,local_size_x_id = 7, local_size_x=4) in;");
        let ids = with_local_size_ids("layout(local_size_x = 64) in;", [Some(7), Some(8), None]);
        assert_eq!(ids, "layout(local_size_x_id = 7, local_size_y_id = 8, local_size_x = 64) in;");
    }

    proptest! {
        #![proptest_config(crate::properties::config())]

        #[test]
        fn any_text_keeps_its_lines(text in "[(,=/*\\\\ \né]{0,9}(local_size_x|local_size_z|a)?[ /*=\n]{0,6}") {
            let changed = with_local_size_ids(&text, [Some(1), Some(2), Some(3)]);
            prop_assert_eq!(changed.matches('\n').count(), text.matches('\n').count());
            prop_assert_eq!(with_local_size_ids(&text, [None; 3]), text);
        }
    }
}
