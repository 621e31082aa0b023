//! What was found, in words.

use super::traced::DispatchTrace;
use crate::shader::{NaturalArray, Target, Traced};
use crate::trace::check::{Cause, Class, Finding};

/// The element that is meant: `tile[3][5]` where its layout is known, or a byte.
pub fn element(dispatch: &DispatchTrace, cause: &Cause, found: &Finding) -> String {
    let root = cause.root.and_then(|root| dispatch.what.traced.roots.get(root));
    let site = &dispatch.what.traced.sites[cause.second.unwrap_or(cause.first)];
    let name = root.map(|root| root.name.as_str()).filter(|name| !name.is_empty()).unwrap_or(&site.name);
    let offset = found.offset.unwrap_or(0);
    if root.is_none() && matches!(site.target, Target::Address { .. }) {
        return format!("address {offset:#x}, where no memory of the kernel's lies");
    }
    match root.and_then(|root| root.array.as_ref()) {
        Some(NaturalArray { lengths, element_bytes }) if *element_bytes > 0 => {
            let (mut rest, mut indexes) = (offset / element_bytes, Vec::new());
            for length in lengths.iter().rev() {
                // Beyond the array, the outermost index is too large.
                let is_outermost = indexes.len() + 1 == lengths.len();
                let of = if is_outermost { rest } else { rest % (*length).max(1) };
                indexes.push(format!("[{of}]"));
                rest /= (*length).max(1);
            }
            indexes.reverse();
            format!("`{name}{}`", indexes.concat())
        }
        _ if root.is_some_and(|root| root.bytes.is_some_and(|bytes| bytes <= 4)) => format!("`{name}`"),
        _ => format!("byte {offset} of `{name}`"),
    }
}

/// Those that are meant, a line each.
pub fn faults(dispatches: &[DispatchTrace], is_meant: impl Fn(&Cause, &Traced) -> bool) -> Vec<String> {
    let of = |dispatch: &DispatchTrace| -> Vec<String> {
        let all = dispatch.checked.iter().flat_map(|checked| &checked.findings.all);
        let meant = all.filter(|(cause, _)| is_meant(cause, &dispatch.what.traced));
        let line = |at: usize| {
            let line = dispatch.what.traced.sites[at].line.as_ref();
            line.map(|line| format!("line {}", line.place(&dispatch.what.source)))
        };
        meant
            .map(|(cause, found)| {
                let lines: Vec<String> = [Some(cause.first), cause.second].into_iter().flatten().filter_map(line).collect();
                let lines = if lines.is_empty() { lines.concat() } else { format!(" ({})", lines.join(" and ")) };
                fault(cause.class, &element(dispatch, cause, found)) + &lines
            })
            .collect()
    };
    dispatches.iter().flat_map(of).collect()
}

fn fault(class: Class, what: &str) -> String {
    match class {
        Class::Race => format!("invocations race on {what}"),
        Class::SameValue => format!("invocations write the same to {what} without order"),
        Class::Undecided => format!("invocations may race on {what}"),
        Class::Memory | Class::NotCoherent => format!("what is written to {what} needn't be seen"),
        Class::Uninitialised => format!("{what} is read, and nobody wrote it"),
        Class::Divergence => "invocations wait at different barriers".to_owned(),
        Class::LeftOut => "some invocations leave a barrier out".to_owned(),
        Class::Exited => "invocations end before a barrier at which others wait".to_owned(),
        Class::Bounds => format!("an access beyond the end, at {what}"),
    }
}
