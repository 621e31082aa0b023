//! Which invocation is which lane of which subgroup: the driver's own choice, so the kernels record what they see.

/// Bits of an id: the subgroup's number, above the lane, above the subgroup's size.
const LANE_SHIFT: u32 = 8;
const SUBGROUP_SHIFT: u32 = 16;

#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    pub invocation: usize,
    pub got: String,
    /// What it might have seen.
    pub expected: String,
}

/// What an invocation of a workgroup records where lanes are numbered in order.
pub fn in_order(invocation: u64, size: u64) -> u32 {
    let id = ((invocation / size) << SUBGROUP_SHIFT) | ((invocation % size) << LANE_SHIFT) | size;
    u32::try_from(id).unwrap_or(u32::MAX)
}

/// The invocations of a workgroup in the order of their subgroups, and in these of their lanes, from what they recorded.
/// Refused: ids that don't make whole subgroups of this size, but for the last, which has the lanes from 0 on that are left. This is more
/// than the specification promises where full subgroups aren't required, and what every driver known does with workgroups of one
/// dimension; which invocation is which lane stays free.
pub fn order(ids: &[u32], size: usize) -> Result<Vec<usize>, Fault> {
    let mut order: Vec<Option<usize>> = vec![None; ids.len()];
    for (invocation, id) in ids.iter().enumerate() {
        let [subgroup, lane, own_size] = [id >> SUBGROUP_SHIFT, (id >> LANE_SHIFT) & 0xFF, id & 0xFF].map(|part| part as usize);
        let fault = |expected: String| {
            let got = format!("lane {lane} of subgroup {subgroup} of size {own_size}");
            Err(Fault { invocation, got, expected })
        };
        let place = order.get_mut(subgroup * size + lane).filter(|_| own_size == size && lane < size);
        let Some(place) = place else { return fault(format!("one of {} lanes in subgroups of size {size}", ids.len())) };
        if let Some(other) = place.replace(invocation) {
            return fault(format!("a lane of its own, not invocation {other}'s"));
        }
    }
    // As many places as invocations, and none taken twice: all are taken.
    Ok(order.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(subgroup: u64, lane: u64) -> u32 {
        in_order(subgroup * 4 + lane, 4)
    }

    #[test]
    fn lanes_may_be_numbered_in_any_order() {
        let linear: Vec<u32> = (0..6).map(|i| in_order(i, 4)).collect();
        assert_eq!(order(&linear, 4), Ok(vec![0, 1, 2, 3, 4, 5]));
        let other = [id(1, 1), id(0, 2), id(0, 3), id(1, 0), id(0, 1), id(0, 0)];
        assert_eq!(order(&other, 4), Ok(vec![5, 4, 1, 2, 3, 0]));
    }

    #[test]
    fn ids_that_make_no_whole_subgroups_are_found() {
        let found = |ids: &[u32], size| order(ids, size).unwrap_err().invocation;
        assert_eq!(found(&[id(0, 0), id(0, 1), id(0, 0)], 4), 2, "twice");
        assert_eq!(found(&[id(0, 0), id(0, 2)], 4), 1, "a gap");
        assert_eq!(found(&[id(0, 0), id(1, 0)], 4), 1, "a subgroup that isn't full");
        assert_eq!(found(&[id(0, 0), id(0, 1)], 8), 0, "another size");
        assert_eq!(found(&[crate::model::POISON], 4), 0, "nothing was written");
        assert_eq!(order(&[id(0, 0), id(0, 0)], 4).unwrap_err().got, "lane 0 of subgroup 0 of size 4");
    }
}
