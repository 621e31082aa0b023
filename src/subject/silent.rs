//! References that say nothing: whatever agrees with them may as well be wrong.

use super::compare::{Compared, Comparison};
use super::scalars::Number;
use super::sized::Layout;
use super::written::Written;
use crate::model::Numbers;

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

/// What share of an image's numbers lies at an end of its format's range, in words, where that is most of them: errors beyond it don't
/// show. Channels of one value, such as an alpha of 1, are meant so.
pub(super) fn saturated(output: Compared<'_>, right: &Written) -> Option<String> {
    let Compared { name, layout: Layout::Texels(texels), how, .. } = output else { return None };
    let low = match texels.format.numbers() {
        Numbers::Unorm => 0.0,
        Numbers::Snorm => -1.0,
        Numbers::Uint | Numbers::Sint | Numbers::Float => return None,
    };
    // Of each channel: how many numbers it has, and how many are at either end.
    let mut channels = vec![[0_u32; 3]; output.layout.columns()];
    output.layout.for_each(right.bytes.len(), &mut |slot| {
        if let (false, Number::Real(real)) = (slot.is_unwritten(right), slot.number(right)) {
            let channel = &mut channels[slot.column as usize];
            channel[0] += 1;
            channel[1] += u32::from(real <= low);
            channel[2] += u32::from(real >= 1.0);
        }
    });
    channels.retain(|[all, low, high]| all != low && all != high);
    let [all, low_end, high_end] = channels.into_iter().fold([0; 3], |sum, one| std::array::from_fn(|i| sum[i] + one[i]));
    let at_ends = low_end + high_end;
    (how != Comparison::None && all as usize >= MANY && 2 * at_ends > all).then(|| {
        let percent = u64::from(at_ends) * 100 / u64::from(all);
        format!(
            "{percent} % of what the reference writes to `{name}` is {low} or 1, the ends of {}: errors beyond these don't show. Give \
             inputs that stay between (--buffer, --push), or another format (--image)",
            texels.format.as_str()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shader::ScalarType;
    use crate::subject::compare::Tolerance;
    use crate::subject::scalars;
    use crate::subject::sized::Layout;

    fn words(how: Comparison, values: &[f32], before: Option<&[f32]>) -> Option<String> {
        let bytes = |values: &[f32]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>();
        let layout = Layout::MemberBlock(scalars::plain(ScalarType::F32));
        let output = Compared { name: "out", layout: &layout, how, tolerance: Tolerance::default(), slack: 1.0 };
        silence(output, &Written::of(bytes(values), None), before.map(bytes).as_deref())
    }

    #[test]
    fn what_nothing_can_contradict_is_said() {
        let elements = |values: &[f32], before: Option<&[f32]>| words(Comparison::Elements, values, before);
        let many: Vec<f32> = (0_u8..16).map(f32::from).collect();
        assert_eq!(elements(&many, None), None);
        assert_eq!(elements(&[f32::NAN; 2], None).unwrap(), "`out` is NaN in all that the reference writes");
        assert_eq!(elements(&[0.5; 16], None).unwrap(), "`out` is 0.5 in all that the reference writes");
        assert_eq!(elements(&[0.5; 15], None), None, "it may be all that there is to say");
        assert_eq!(elements(&many, Some(&many)).unwrap(), "the reference leaves `out` as it was before the pass");
        assert_eq!(elements(&many, Some(&[1.0; 16])), None);
        assert_eq!(words(Comparison::None, &[f32::NAN; 2], None), None);
        assert_eq!(words(Comparison::Sum, &[64.0; 16], None), None, "a sum of equal parts is a sum");
        assert!(words(Comparison::Sum, &[0.0; 16], None).is_some());
    }
}
