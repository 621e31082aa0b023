//! The least time that a dispatch can take, by each resource of the device.

use serde::Serialize;

use super::demand::Demand;
use crate::analysis::limits::{AtomicKind, Limit, Limits, Sharing, WorkKind};
use crate::shader::Operation;

/// What of a device may keep a kernel from being faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// What holds buffers, whichever of the caches or memory that is for as many bytes; each byte once.
    Memory,
    /// Between caches and processors: what each workgroup loads and stores by itself.
    Caches,
    SharedMemory,
    Atomics(AtomicKind),
    MultiplyAdd {
        bits: u32,
    },
    Special {
        bits: u32,
    },
    DotProduct,
    Matrices {
        bits: u32,
    },
    Integer,
    /// Those of a workgroup, one after the other.
    Barriers,
    Launch,
}

/// The least time for what a kernel wants of a resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    pub resource: Resource,
    /// How much that is, in the resource's unit.
    pub amount: f64,
    /// Nothing where no row tells the limit.
    pub least_ns: Option<f64>,
    pub limit: Option<Limit>,
}

impl Resource {
    pub fn name(self) -> String {
        match self {
            Self::Memory => "memory".to_owned(),
            Self::Caches => "caches".to_owned(),
            Self::SharedMemory => "shared memory".to_owned(),
            Self::Atomics(kind) => atomics(kind),
            Self::MultiplyAdd { bits } => format!("multiply-adds of f{bits}"),
            Self::Special { bits } => format!("special functions of f{bits}"),
            Self::DotProduct => "dot products of bytes".to_owned(),
            Self::Matrices { bits } => format!("matrices of {bits} bits"),
            Self::Integer => "integer operations".to_owned(),
            Self::Barriers => "barriers of a workgroup".to_owned(),
            Self::Launch => "launch of workgroups".to_owned(),
        }
    }

    /// What its amounts count: bytes, or things that its name says.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Memory | Self::Caches | Self::SharedMemory => "B",
            _ => "",
        }
    }

    /// Whether a kernel may do with less than its amount: it never binds.
    pub fn is_estimate(self) -> bool {
        matches!(self, Self::Caches | Self::Integer)
    }

    /// The cases of the catalogue whose rows tell its limit.
    pub fn measured_by(self) -> &'static str {
        match self {
            Self::Memory => "memory/stream and cache/bandwidth",
            Self::Caches => "cache/bandwidth",
            Self::SharedMemory => "shared/bandwidth",
            Self::Atomics(_) => "sync/atomic",
            Self::MultiplyAdd { .. } | Self::Special { .. } | Self::Integer => "peak/arith",
            Self::DotProduct => "peak/dot",
            Self::Matrices { .. } => "peak/coopmat",
            Self::Barriers => "sync/barrier",
            Self::Launch => "dispatch/empty",
        }
    }
}

fn atomics(AtomicKind { is_shared, sharing, is_taken }: AtomicKind) -> String {
    let shared = if is_shared { "shared " } else { "" };
    let of = match sharing {
        Sharing::Nobody => "",
        Sharing::Subgroup => ", a word a subgroup",
        Sharing::Everybody => " on one word",
    };
    let returning = if is_taken { ", returning" } else { "" };
    format!("{shared}atomics{of}{returning}")
}

impl Bound {
    fn new(resource: Resource, amount: u64, limit: Option<&Limit>) -> Self {
        let amount = as_number(amount);
        Self { resource, amount, least_ns: limit.map(|limit| amount / limit.rate), limit: limit.cloned() }
    }
}

#[expect(clippy::cast_precision_loss, reason = "an amount")]
fn as_number(count: u64) -> f64 {
    count as f64
}

/// What a dispatch wants, and the least time for each; what it wants nothing of is left out.
pub fn of_dispatch(demand: &Demand, limits: &Limits) -> Vec<Bound> {
    let mut all = Vec::new();
    let mut add = |resource, amount: u64, limit: Option<&Limit>| {
        if amount > 0 {
            all.push(Bound::new(resource, amount, limit));
        }
    };
    let touched = demand.touched.unwrap_or_default();
    let bytes = touched.loaded_bytes.saturating_add(touched.stored_bytes);
    let written = as_number(touched.stored_bytes) / as_number(bytes.max(1));
    add(Resource::Memory, bytes, limits.moving(bytes, written));
    if let Some(moved) = demand.moved {
        let moved = moved.fetched.saturating_add(moved.stored);
        add(Resource::Caches, moved, limits.cached(if demand.touched.is_some() { bytes } else { moved }));
    }
    add(Resource::SharedMemory, demand.shared_bytes, limits.rate(WorkKind::SharedByte));
    for (kind, count) in &demand.atomics {
        add(Resource::Atomics(*kind), *count, limits.rate(WorkKind::Atomic(*kind)));
    }
    for (operation, count) in &demand.operations {
        let Some((resource, kind)) = computing(*operation) else { continue };
        add(resource, *count, limits.rate(kind));
    }
    add(Resource::Barriers, demand.barriers, limits.waiting(demand.local_size));
    let launching = limits.launching(demand.groups, demand.local_size);
    all.push(Bound {
        resource: Resource::Launch,
        amount: as_number(demand.groups),
        least_ns: launching.map(|(time, _)| time),
        limit: launching.map(|(_, limit)| limit.clone()),
    });
    all
}

/// What does such operations; nothing for what no row tells a rate of.
fn computing(operation: Operation) -> Option<(Resource, WorkKind)> {
    Some(match operation {
        Operation::MultiplyAdd { bits } => (Resource::MultiplyAdd { bits }, WorkKind::MultiplyAdd { bits }),
        Operation::Special { bits } => (Resource::Special { bits }, WorkKind::Special { bits }),
        Operation::DotProduct => (Resource::DotProduct, WorkKind::DotProduct),
        Operation::MatrixMultiplyAdd { bits } => (Resource::Matrices { bits }, WorkKind::MatrixMultiplyAdd { bits }),
        Operation::Integer { bits: 32 } => (Resource::Integer, WorkKind::Integer),
        Operation::Integer { .. } | Operation::OtherFloat { .. } => return None,
    })
}

/// The bounds of a pass: its dispatches follow each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PassBounds {
    /// Over all dispatches, the longest times first, and what has none last.
    pub all: Vec<Bound>,
    /// The sum of the least times of the dispatches, each by what takes it longest of what must happen.
    pub least_ns: f64,
    /// What that is, of the dispatch in which it takes longest.
    pub binding: Option<Resource>,
}

impl PassBounds {
    pub fn of(dispatches: &[Vec<Bound>]) -> Self {
        let longest = |all: &[Bound]| {
            let must = all.iter().filter(|bound| !bound.resource.is_estimate());
            let timed = must.filter_map(|bound| Some((bound.resource, bound.least_ns?)));
            timed.max_by(|one, other| one.1.total_cmp(&other.1))
        };
        let binding: Vec<(Resource, f64)> = dispatches.iter().filter_map(|all| longest(all)).collect();
        let least_ns = binding.iter().map(|(_, time)| time).sum();
        let binding = binding.into_iter().max_by(|one, other| one.1.total_cmp(&other.1)).map(|(resource, _)| resource);
        let mut all: Vec<Bound> = Vec::new();
        for bound in dispatches.iter().flatten() {
            match all.iter_mut().find(|of| of.resource == bound.resource) {
                Some(of) => of.add(bound),
                None => all.push(bound.clone()),
            }
        }
        all.sort_by(|one, other| other.least_ns.unwrap_or(-1.0).total_cmp(&one.least_ns.unwrap_or(-1.0)));
        Self { all, least_ns, binding }
    }
}

impl Bound {
    /// Adds that of another dispatch.
    fn add(&mut self, other: &Self) {
        self.amount += other.amount;
        // The row of the one that takes longer stands for both.
        if other.least_ns > self.least_ns {
            self.limit.clone_from(&other.limit);
        }
        self.least_ns = self.least_ns.zip(other.least_ns).map(|(one, other)| one + other);
    }
}

/// A bound as `--format json` has it.
#[derive(Clone, Debug, Serialize)]
pub struct BoundRow<'b> {
    pub resource: String,
    pub is_estimate: bool,
    pub amount: f64,
    pub unit: &'static str,
    pub least_ns: Option<f64>,
    /// The least time over the measured one.
    pub share: Option<f64>,
    pub limit: Option<&'b Limit>,
}

impl<'b> BoundRow<'b> {
    /// `is_bounded`: whether limits tell anything of the device.
    pub fn new(bound: &'b Bound, time_ns: f64, is_bounded: bool) -> Self {
        let least_ns = bound.least_ns.filter(|_| is_bounded);
        Self {
            resource: bound.resource.name(),
            is_estimate: bound.resource.is_estimate(),
            amount: bound.amount,
            unit: bound.resource.unit(),
            least_ns,
            share: least_ns.map(|least| least / time_ns),
            limit: bound.limit.as_ref().filter(|_| is_bounded),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn bound(resource: Resource, least_ns: Option<f64>) -> Bound {
        Bound { resource, amount: 2.0, least_ns, limit: None }
    }

    #[test]
    fn an_estimate_never_binds_and_dispatches_follow_each_other() {
        let first = vec![
            bound(Resource::Memory, Some(10.0)),
            bound(Resource::Caches, Some(90.0)),
            bound(Resource::Special { bits: 32 }, None),
        ];
        let second = vec![bound(Resource::Memory, Some(3.0)), bound(Resource::Launch, Some(5.0))];
        let bounds = PassBounds::of(&[first, second]);
        assert_eq!((bounds.least_ns, bounds.binding), (15.0, Some(Resource::Memory)));
        let all: Vec<(Resource, Option<f64>, f64)> =
            bounds.all.iter().map(|bound| (bound.resource, bound.least_ns, bound.amount)).collect();
        assert_eq!(
            all,
            [
                (Resource::Caches, Some(90.0), 2.0),
                (Resource::Memory, Some(13.0), 4.0),
                (Resource::Launch, Some(5.0), 2.0),
                (Resource::Special { bits: 32 }, None, 2.0),
            ]
        );
        assert_eq!(PassBounds::of(&[]), PassBounds::default());
    }

    #[test]
    fn what_a_kernel_wants_nothing_of_has_no_bound() {
        let demand = Demand {
            groups: 4,
            local_size: 64,
            operations: BTreeMap::from([(Operation::MultiplyAdd { bits: 32 }, 7), (Operation::OtherFloat { bits: 32 }, 9)]),
            ..Demand::default()
        };
        let all = of_dispatch(&demand, &Limits::default());
        let names: Vec<String> = all.iter().map(|bound| bound.resource.name()).collect();
        assert_eq!(names, ["multiply-adds of f32", "launch of workgroups"]);
        assert!(all.iter().all(|bound| bound.least_ns.is_none()));
    }
}
