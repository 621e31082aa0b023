//! References that say nothing: whatever agrees with them may as well be wrong.

use super::compare::{Compared, Comparison};
use super::scalars::Number;
use super::written::Written;

/// So many numbers of one value show little; fewer may be all that there is to say.
const MANY: usize = 16;

/// Why comparing with what the reference left in an output says nothing, in words. `before` is what the output held before the pass,
/// where the shader reads it.
pub(super) fn silence(output: Compared<'_>, right: &Written, before: Option<&[u8]>) -> Option<String> {
    let Compared { name, layout, how, .. } = output;
    if how == Comparison::None {
        return None;
    }
    let (mut count, mut is_nan, mut is_unchanged) = (0, true, before.is_some());
    let mut first: Vec<Option<u64>> = vec![None; layout.columns()];
    let mut is_constant = true;
    let mut shown = String::new();
    layout.for_each(right.bytes.len(), &mut |slot| {
        if slot.is_unwritten(right) {
            return;
        }
        let bits = slot.bits(right);
        if count == 0 {
            shown = slot.kind.shown(slot.bytes(&right.bytes));
        }
        count += 1;
        is_nan &= matches!(slot.number(right), Number::Real(real) if real.is_nan());
        is_unchanged &= before.is_some_and(|before| slot.kind.bits(slot.bytes(before)) == bits);
        is_constant &= *first[slot.column as usize].get_or_insert(bits) == bits;
    });
    // Partial sums of one value have a sum all the same, unless there is nothing to add.
    let is_silent_sum = || first.iter().flatten().all(|bits| *bits == 0);
    match () {
        () if count == 0 => None,
        () if is_nan => Some(format!("`{name}` is NaN in all that the reference writes")),
        () if count < MANY => None,
        () if is_unchanged => Some(format!("the reference leaves `{name}` as it was before the pass")),
        () if is_constant && (how != Comparison::Sum || is_silent_sum()) => {
            Some(format!("`{name}` is {shown} in all that the reference writes"))
        }
        () => None,
    }
}
