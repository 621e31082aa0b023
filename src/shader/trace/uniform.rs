//! Which values the lanes of a subgroup may not have in common.

use std::collections::{HashMap, HashSet};

use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{BuiltIn, Decoration, GroupOperation, Op, StorageClass, Word};

use super::writer::is_atomic;
use crate::shader::loader::id;

/// The results, and the variables of invocations, that may differ from lane to lane. Lanes that went different ways are taken to be alike:
/// what isn't among these may still differ.
pub(super) fn varying(module: &Module) -> HashSet<Word> {
    let parameters: HashMap<Word, Vec<Word>> = module
        .functions
        .iter()
        .filter_map(|of| Some((of.def_id()?, of.parameters.iter().filter_map(|parameter| parameter.result_id).collect())))
        .collect();
    let own = module.functions.iter().map(|of| (of.def_id().unwrap_or_default(), of));
    let code: Vec<(Word, &Instruction)> = own
        .flat_map(|(own, of)| of.blocks.iter().flat_map(move |block| block.instructions.iter().map(move |of| (own, of))))
        .collect();
    let chains = code.iter().filter(|(_, of)| matches!(of.class.opcode, Op::AccessChain | Op::InBoundsAccessChain));
    let bases = chains.filter_map(|(_, of)| Some((of.result_id?, of.operands.first().and_then(id)?))).collect();
    let mut varying = Varying { all: inputs(module), own: own_variables(module), bases };
    loop {
        let before = varying.all.len();
        code.iter().for_each(|(function, of)| varying.reach(*function, of, &parameters));
        if varying.all.len() == before {
            return varying.all;
        }
    }
}

struct Varying {
    all: HashSet<Word>,
    /// Variables of an invocation's own, and parameters, which may be pointers to some.
    own: HashSet<Word>,
    /// What access chains start from.
    bases: HashMap<Word, Word>,
}

impl Varying {
    fn root(&self, mut pointer: Word) -> Word {
        while let Some(base) = self.bases.get(&pointer) {
            pointer = *base;
        }
        pointer
    }

    fn reach(&mut self, function: Word, of: &Instruction, parameters: &HashMap<Word, Vec<Word>>) {
        let values: Vec<Word> = of.operands.iter().filter_map(id).collect();
        let differs = values.iter().any(|value| self.all.contains(value));
        match of.class.opcode {
            Op::Store if differs => self.all.extend(values.first().map(|to| self.root(*to)).filter(|to| self.own.contains(to))),
            Op::ReturnValue if differs => _ = self.all.insert(function),
            Op::FunctionCall => {
                let own = values.first().and_then(|callee| parameters.get(callee)).into_iter().flatten();
                for (parameter, given) in own.zip(&values[1..]) {
                    // Either may be written to by way of the other.
                    let root = self.root(*given);
                    if self.all.contains(given) || self.all.contains(&root) {
                        self.all.insert(*parameter);
                    } else if self.all.contains(parameter) && self.own.contains(&root) {
                        self.all.insert(root);
                    }
                }
                let is_result = values.first().is_some_and(|callee| self.all.contains(callee));
                self.all.extend(of.result_id.filter(|_| is_result));
            }
            opcode if is_atomic(of) || is_scan(of) || differs && !is_shared(opcode, of) => self.all.extend(of.result_id),
            _ => {}
        }
    }
}

fn group_operation(of: &Instruction) -> Option<GroupOperation> {
    of.operands
        .iter()
        .find_map(|operand| if let Operand::GroupOperation(operation) = operand { Some(*operation) } else { None })
}

fn is_scan(of: &Instruction) -> bool {
    matches!(group_operation(of), Some(GroupOperation::InclusiveScan | GroupOperation::ExclusiveScan))
}

/// Whether all lanes get one result.
fn is_shared(opcode: Op, of: &Instruction) -> bool {
    use Op::{
        GroupNonUniformAll, GroupNonUniformAny, GroupNonUniformBallot, GroupNonUniformBroadcast, GroupNonUniformBroadcastFirst,
    };
    let is_vote = [GroupNonUniformAll, GroupNonUniformAny, GroupNonUniformBallot].contains(&opcode);
    let is_broadcast = [GroupNonUniformBroadcast, GroupNonUniformBroadcastFirst].contains(&opcode);
    is_vote || is_broadcast || group_operation(of) == Some(GroupOperation::Reduce)
}

/// Inputs that differ from lane to lane.
fn inputs(module: &Module) -> HashSet<Word> {
    use BuiltIn::{GlobalInvocationId, LocalInvocationId, LocalInvocationIndex, SubgroupLocalInvocationId};
    use BuiltIn::{SubgroupEqMask, SubgroupGeMask, SubgroupGtMask, SubgroupLeMask, SubgroupLtMask};
    let of_lanes = [
        [GlobalInvocationId, LocalInvocationId, LocalInvocationIndex, SubgroupLocalInvocationId, SubgroupEqMask],
        [SubgroupEqMask, SubgroupGeMask, SubgroupGtMask, SubgroupLeMask, SubgroupLtMask],
    ];
    let of_lane = |annotation: &Instruction| match annotation.operands[..] {
        [Operand::IdRef(variable), Operand::Decoration(Decoration::BuiltIn), Operand::BuiltIn(built_in)] => {
            Some(variable).filter(|_| of_lanes.as_flattened().contains(&built_in))
        }
        _ => None,
    };
    module.annotations.iter().filter_map(of_lane).collect()
}

fn own_variables(module: &Module) -> HashSet<Word> {
    let code = module.functions.iter().flat_map(|of| &of.blocks).flat_map(|block| &block.instructions);
    let all = module.types_global_values.iter().chain(code).filter(|of| of.class.opcode == Op::Variable);
    let is_own = |of: &&Instruction| {
        matches!(of.operands.first(), Some(Operand::StorageClass(StorageClass::Function | StorageClass::Private)))
    };
    let parameters = module.functions.iter().flat_map(|of| &of.parameters);
    all.filter(is_own).chain(parameters).filter_map(|of| of.result_id).collect()
}

#[cfg(test)]
mod tests {
    use crate::model::SpirvTarget;
    use crate::shader::reflect::SpecValues;
    use crate::shader::{Compiler, Library, Merging, TraceOptions, Traced};

    fn merging(body: &str) -> Merging {
        let text = format!(
            "#version 450\n#extension GL_KHR_shader_subgroup_arithmetic : require\nlayout(local_size_x = 64) in;\n\
             layout(constant_id = 0) const uint C = 2;\nlayout(binding = 0) buffer M {{ uint mem[]; }};\n\
             layout(binding = 1) buffer O {{ uint o[]; }};\nlayout(push_constant) uniform P {{ uint n; }};\n\
             uint taken(uint count) {{ return atomicAdd(mem[0], count); }}\n\
             void main() {{\nuint i = gl_GlobalInvocationID.x, r = 0u;\n{body}\no[i] = r;\n}}\n"
        );
        let library = Library::embedded().with("a.comp", text);
        let module = Compiler::new(library).unwrap().compile("a.comp", &[], SpirvTarget::Vulkan1_3).unwrap();
        let traced = Traced::of(&module.words, "main", &SpecValues::new(), &TraceOptions::default()).unwrap();
        traced.sites.iter().find(|site| site.atomic.is_some()).unwrap().merging
    }

    #[test]
    fn lanes_that_want_the_same_are_told_from_others() {
        use Merging::{Once, Separate, Summed};
        for (body, is) in [
            ("r = atomicAdd(mem[0], 2u);", Once),
            ("atomicAdd(mem[0], 2u);", Once),
            ("r = atomicAdd(mem[C], C + n);", Once),
            ("uint count = n; if (i > 7u) count = gl_WorkGroupID.x; r = atomicAdd(mem[gl_WorkGroupID.y], count);", Once),
            ("uint count = n; count += i; r = atomicAdd(mem[0], count);", Summed),
            ("r = taken(n);", Once),
            ("r = taken(i);", Summed),
            ("uint sum = subgroupAdd(i); r = atomicAdd(mem[0], sum);", Once),
            ("r = atomicAdd(mem[0], subgroupInclusiveAdd(1u));", Summed),
            ("for (uint k = 0u; k < n; k++) r += atomicMax(mem[0], k);", Once),
            ("r = atomicAdd(mem[0], o[n]);", Once),
            ("r = atomicAdd(mem[0], o[i]);", Summed),
            ("atomicAdd(mem[0], o[i]);", Summed),
            ("atomicAdd(mem[i], 1u);", Summed),
            ("r = atomicAdd(mem[i], 1u);", Separate),
            ("r = atomicAdd(mem[o[i]], 1u);", Separate),
            ("r = atomicExchange(mem[0], 2u);", Separate),
            ("r = atomicCompSwap(mem[0], 2u, 3u);", Separate),
        ] {
            assert_eq!(merging(body), is, "{body}");
        }
    }
}
