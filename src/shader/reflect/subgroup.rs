//! Which classes of subgroup operations instructions belong to.

use std::collections::{BTreeSet, HashMap};

use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{BuiltIn, Capability, Decoration, GroupOperation, Op, Scope, Word};

use super::constants::Values;
use super::index::Index;
use crate::model::SubgroupClass;
use crate::shader::loader::id;

/// The class that a device must have for a capability, as the specification of `VkSubgroupFeatureFlagBits` pairs them.
pub(in crate::shader) fn class_of(capability: Capability) -> Option<SubgroupClass> {
    Some(match capability {
        Capability::GroupNonUniform => SubgroupClass::Basic,
        Capability::GroupNonUniformVote => SubgroupClass::Vote,
        Capability::GroupNonUniformArithmetic => SubgroupClass::Arithmetic,
        Capability::GroupNonUniformBallot => SubgroupClass::Ballot,
        Capability::GroupNonUniformShuffle => SubgroupClass::Shuffle,
        Capability::GroupNonUniformShuffleRelative => SubgroupClass::ShuffleRelative,
        Capability::GroupNonUniformClustered => SubgroupClass::Clustered,
        Capability::GroupNonUniformQuad => SubgroupClass::Quad,
        Capability::GroupNonUniformRotateKHR => SubgroupClass::Rotate,
        _ => return None,
    })
}

const OF_BUILT_INS: [(BuiltIn, SubgroupClass); 9] = [
    (BuiltIn::NumSubgroups, SubgroupClass::Basic),
    (BuiltIn::SubgroupId, SubgroupClass::Basic),
    (BuiltIn::SubgroupSize, SubgroupClass::Basic),
    (BuiltIn::SubgroupLocalInvocationId, SubgroupClass::Basic),
    (BuiltIn::SubgroupEqMask, SubgroupClass::Ballot),
    (BuiltIn::SubgroupGeMask, SubgroupClass::Ballot),
    (BuiltIn::SubgroupGtMask, SubgroupClass::Ballot),
    (BuiltIn::SubgroupLeMask, SubgroupClass::Ballot),
    (BuiltIn::SubgroupLtMask, SubgroupClass::Ballot),
];

#[derive(Debug)]
pub(super) struct Subgroups<'a> {
    variables: HashMap<Word, SubgroupClass>,
    constants: &'a Values,
}

impl<'a> Subgroups<'a> {
    pub(super) fn of(module: &Module, index: &Index, constants: &'a Values) -> Self {
        let variables = module.types_global_values.iter().filter_map(|instruction| {
            let variable = instruction.result_id?;
            let built_in = index.argument(variable, Decoration::BuiltIn)?;
            let (_, class) = OF_BUILT_INS.iter().find(|(known, _)| *known as u32 == built_in)?;
            Some((variable, *class))
        });
        Self { variables: variables.collect(), constants }
    }

    pub(super) fn note(&self, instruction: &Instruction, classes: &mut BTreeSet<SubgroupClass>) {
        classes.extend(self.class(instruction));
        if !self.variables.is_empty() {
            classes.extend(instruction.operands.iter().filter_map(|operand| self.variables.get(&id(operand)?)));
        }
    }

    fn class(&self, instruction: &Instruction) -> Option<SubgroupClass> {
        let operands = &instruction.operands;
        match instruction.class.opcode {
            Op::ControlBarrier | Op::MemoryBarrier => {
                operands.iter().any(|operand| self.is_subgroup(operand)).then_some(SubgroupClass::Basic)
            }
            // The last operand, which may be missing, is the size of clusters.
            Op::GroupNonUniformRotateKHR if operands.len() > 3 => Some(SubgroupClass::RotateClustered),
            _ => match operands.get(1) {
                Some(Operand::GroupOperation(operation)) if is_arithmetic(instruction) => of_operation(*operation),
                _ => of_capabilities(instruction),
            },
        }
    }

    fn is_subgroup(&self, operand: &Operand) -> bool {
        match operand {
            Operand::IdScope(scope) => self.constants.integer(*scope) == Some(u64::from(Scope::Subgroup as u32)),
            _ => false,
        }
    }
}

/// Whether it is a reduction or a scan, of the whole subgroup, its clusters or partitions.
pub(super) fn is_reduction(instruction: &Instruction) -> bool {
    is_arithmetic(instruction) && matches!(instruction.operands.get(1), Some(Operand::GroupOperation(_)))
}

fn is_arithmetic(instruction: &Instruction) -> bool {
    instruction.class.capabilities.contains(&Capability::GroupNonUniformArithmetic)
}

/// The class of reductions and scans. Those over partitions belong to a vendor's class.
fn of_operation(operation: GroupOperation) -> Option<SubgroupClass> {
    match operation {
        GroupOperation::Reduce | GroupOperation::InclusiveScan | GroupOperation::ExclusiveScan => {
            Some(SubgroupClass::Arithmetic)
        }
        GroupOperation::ClusteredReduce => Some(SubgroupClass::Clustered),
        _ => None,
    }
}

/// The class of the capability that the grammar demands for an instruction. Those that older extensions brought stand with those that
/// replaced them.
fn of_capabilities(instruction: &Instruction) -> Option<SubgroupClass> {
    let class = |capability: &Capability| match capability {
        Capability::QuadControlKHR => Some(SubgroupClass::Quad),
        Capability::SubgroupVoteKHR => Some(SubgroupClass::Vote),
        Capability::SubgroupBallotKHR => Some(SubgroupClass::Ballot),
        capability => class_of(*capability),
    };
    instruction.class.capabilities.iter().find_map(class)
}
