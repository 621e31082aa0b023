//! What reductions share: how words are dealt to invocations, and how the partial results of workgroups become one.
//! `glsl/algo/reduction.glsl` and `glsl/algo/reduction_subgroups.glsl` have the other half.

use super::builder::KernelHandle;
use super::prelude::*;

/// Words of the widest load.
pub const VECTOR: u64 = 4;

/// Words from which no cache of today holds a part that matters: 1 GiB.
const BEYOND_CACHES: u64 = 1 << 28;

/// The axes of a reduction, whose invocations take so many words by default: where loads are wide, those
/// numbers of them that are whole loads.
pub fn axes(setting: &Setting, items: &[u64], is_wide: bool) -> Vec<Axis> {
    let sizes = match setting.preset {
        Preset::Quick => vec![usual_size(setting)],
        Preset::Default => setting.by_class(vec![16, 64, 256], vec![64, 256, 1024]),
        Preset::Thorough => setting.by_class(vec![1, 4, 16, 48, 64, 128, 256], vec![32, 64, 96, 128, 256, 512, 1024]),
    };
    // The second one is a prime number: nothing divides it.
    let n = setting.quick_or(
        vec![setting.by_class(1_u64 << 16, BEYOND_CACHES)],
        setting.by_class(vec![1 << 16, 100_003], vec![BEYOND_CACHES, 100_000_007]),
    );
    let items = items.iter().copied().filter(|items| !is_wide || items % VECTOR == 0);
    vec![
        Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), sizes),
        Axis::new("items", "words per invocation", AxisKind::Numbers(POWERS_TO_64), items),
        Axis::new("n", "words", AxisKind::AtLeast(1), n).of_work(),
    ]
}

/// Words of the buffer that holds `n`: whole loads of any width.
pub fn padded(n: u64) -> Result<u64, Skip> {
    let words = n.next_multiple_of(VECTOR);
    u32_of(words).map(|_| words)
}

/// Loads of `width` words that an invocation takes its words by.
/// Skipped: loads that its words are no multiple of.
pub fn loads(width: u64, config: &Config) -> Result<u64, Skip> {
    let items = config.integer("items");
    if items % width == 0 {
        Ok(items / width)
    } else {
        Err(Skip::new(format!("items={items}: the case needs a multiple of {width}, the words of a load")))
    }
}

/// Elements of `width` words each, of which an invocation takes as many as it has loads.
pub fn dealt(count: u64, width: u64, config: &Config) -> Result<Elements, Skip> {
    Elements::dealt(count, config.integer("local_size_x"), loads(width, config)?, config.most_groups())
}

pub fn taking(source: &'static str, elements: u64, config: &Config) -> Kernel {
    config.kernel(source, &[]).constant("UNROLL", number(elements))
}

/// The same that reduces by subgroups.
pub fn by_subgroups(kernel: Kernel, config: &Config) -> Result<Kernel, Skip> {
    config.require_classes(&[SubgroupClass::Arithmetic])?;
    let (device, local_size) = (config.device(), config.integer("local_size_x"));
    let required = size_to_require(device, local_size);
    // A driver that may choose can choose the smallest.
    let smallest = required.unwrap_or_else(|| device.subgroup.min_size.clamp(1, lanes(device)));
    let kernel = kernel.constant("SUBGROUPS", number(local_size.div_ceil(smallest.into())));
    Ok(Kernel { required_subgroup_size: required, ..kernel })
}

#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// What the first dispatch takes its elements from.
    pub source: Handle,
    pub elements: Elements,
    /// What its kernel is told: how many words there are.
    pub count: u32,
    pub words: u64,
    pub result: Handle,
}

impl Rounds {
    /// Dispatches until one result is left: each dispatch leaves one for each of its workgroups, and the next one takes them as
    /// its elements, `items` to an invocation. `kernel` is told whether it is the one of the first dispatch.
    /// Skipped: workgroups that take but one element and leave one.
    pub fn dispatch(self, case: &mut CaseBuilder, config: &Config, kernel: impl Fn(bool) -> Kernel) -> Result<(), Skip> {
        let [local_size, items] = ["local_size_x", "items"].map(|axis| config.integer(axis));
        let mut partials: Vec<Handle> = Vec::new();
        let mut known: Vec<([Handle; 2], KernelHandle)> = Vec::new();
        let (mut from, mut elements, mut count) = (self.source, self.elements, self.count);
        for round in 0_usize.. {
            let left = workgroups(elements.groups);
            if left > 1 && local_size * items == 1 {
                return Err(Skip::new("a workgroup leaves as much as it takes: the case needs local_size_x=2 or items=2"));
            }
            // Two buffers take turns.
            let to = match partials.get(round % 2) {
                _ if left == 1 => self.result,
                Some(partials) => *partials,
                None => {
                    let name = if round == 0 { "partials" } else { "fewer partials" };
                    partials.push(case.scratch(name, left.saturating_mul(self.words)));
                    partials[round]
                }
            };
            let handle = known.iter().find(|(ends, _)| *ends == [from, to]).map(|(_, handle)| *handle);
            let handle = handle.unwrap_or_else(|| {
                let handle = case.kernel(kernel(round == 0), &[to, from]);
                known.push(([from, to], handle));
                handle
            });
            if round > 0 {
                case.depend();
            }
            case.dispatch(handle, elements.groups, &[count]);
            if left == 1 {
                break;
            }
            (from, elements, count) = (to, Elements::dealt(left, local_size, items, config.most_groups())?, u32_of(left)?);
        }
        Ok(())
    }
}

/// How the words that a reduction counts show in its first kernel: twice, since a workgroup that lacks words has a way of its own.
pub fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    let [n, local_size, items] = ["n", "local_size_x", "items"].map(|axis| case.point.integer(axis));
    let usual = Traffic::usual(case);
    if n % (local_size * items) != 0 || usual.invocations * items != n {
        return Err("bounds exclude some of the words that the last workgroups would take");
    }
    let counted = Moved { texels: 4 * VECTOR, ..Moved::READ };
    // The steps of a tree move no words of buffers.
    Ok(vec![Traffic { counted, loops: vec![1], uncounted: 4 * items, ..usual }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{mock_with, point, quick};
    use crate::model::{DeviceInfo, Step};

    fn with<T>(local_size: u64, items: u64, then: impl FnOnce(&Config) -> T) -> T {
        let (device, point) = (DeviceInfo::mock(), point(&format!("local_size_x={local_size} items={items}")));
        then(&Config::new("", &point, &quick(&device)))
    }

    /// The groups of all dispatches over so many elements.
    fn groups(local_size: u64, items: u64, n: u64) -> Result<Vec<u64>, Skip> {
        with(local_size, items, |config| {
            let mut case = CaseBuilder::new("a/b", config);
            let resource = |case: &mut CaseBuilder, name| case.scratch(name, n);
            let (source, result) = (resource(&mut case, "source"), resource(&mut case, "result"));
            let elements = dealt(n, 1, config)?;
            let rounds = Rounds { source, elements, count: u32_of(n)?, words: 1, result };
            rounds.dispatch(&mut case, config, |_| Kernel::new("x.comp", [1; 3]))?;
            let built = case.build(Work::default(), Headline::TIME);
            let last = built.case.kernels.last().unwrap();
            assert_eq!(last.bindings[0].resource, result.index());
            let of = |step: &Step| if let Step::Dispatch { groups } = step { Some(workgroups(*groups)) } else { None };
            Ok(built.case.pass.iter().filter_map(of).collect())
        })
    }

    #[test]
    fn dispatches_follow_each_other_until_one_result_is_left() {
        assert_eq!(groups(64, 4, 256).unwrap(), [1]);
        assert_eq!(groups(64, 4, 257).unwrap(), [2, 1]);
        assert_eq!(groups(2, 1, 9).unwrap(), [5, 3, 2, 1]);
        assert_eq!(groups(1, 1, 1).unwrap(), [1]);
        assert!(groups(1, 1, 2).unwrap_err().reason.contains("the case needs"));
        // Grids that are folded have more workgroups than are asked for, and yet always fewer than before.
        assert_eq!(groups(2, 1, 1 << 20).unwrap().last(), Some(&1));
    }

    #[test]
    fn loads_are_no_wider_than_what_an_invocation_takes() {
        let unit = |items, width| with(64, items, |config| dealt(1000, width, config).map(|elements| elements.groups[0]));
        assert_eq!(unit(16, 1).unwrap(), 1);
        assert_eq!(unit(4, 4).unwrap(), 16);
        assert!(unit(2, 4).unwrap_err().reason.contains("the case needs a multiple of 4"));
        assert_eq!([1, 4, 5].map(|n| padded(n).unwrap()), [4, 4, 8]);
        assert!(padded((1 << 32) - 3).is_err());
    }

    #[test]
    fn a_workgroup_has_room_for_the_smallest_subgroups() {
        let mut device = mock_with(&[], &[SubgroupClass::Arithmetic]);
        device.subgroup.min_size = 8;
        let point = point("local_size_x=65");
        let config = Config::new("", &point, &quick(&device));
        let kernel = by_subgroups(Kernel::new("x.comp", [1; 3]), &config).unwrap();
        assert_eq!(kernel.constants, [("SUBGROUPS".to_owned(), Scalar::U32(9))]);
    }
}
