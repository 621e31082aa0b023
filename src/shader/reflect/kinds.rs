//! What kind of work each instruction is.

use std::fmt;

use rspirv::spirv::{GlslStd450Op, Op, Word};
use serde::{Serialize, Serializer};

use InstructionKind::{
    Address, Atomic, Barrier, Call, ControlFlow, Conversion, CooperativeMatrix, FloatArithmetic, GlobalLoad, GlobalStore,
    Image, IntegerArithmetic, Logic, Other, PrivateLoad, PrivateStore, SharedLoad, SharedStore, Subgroup, Transcendental,
    UniformLoad,
};

/// A kind of instruction. An instruction on a vector counts once, like one on a scalar.
///
/// What does no work of its own counts as nothing: labels, phis, merges, unconditional branches, returns, declarations of
/// variables, debug information, and loads of descriptors such as images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstructionKind {
    /// Arithmetic on floats: vectors and matrices, `fma`, `min`, `floor`, `mix`.
    FloatArithmetic,
    /// Arithmetic on whole numbers: carries, dot products, `min`.
    IntegerArithmetic,
    /// Comparisons, logic, selections, shifts and bit fields.
    Logic,
    /// Conversions between types, bit casts and packing.
    Conversion,
    /// `sqrt`, `exp`, `sin` and their kind, and what is built upon them (`length`, `normalize`).
    Transcendental,
    /// Products and reductions of cooperative matrices and vectors.
    CooperativeMatrix,
    /// Access chains: the arithmetic of addresses, which may come to nothing.
    Address,
    /// Loads from storage buffers and through addresses.
    GlobalLoad,
    /// Stores to storage buffers and through addresses.
    GlobalStore,
    SharedLoad,
    SharedStore,
    /// Loads of an invocation's own variables. Most are gone once a driver has given them registers.
    PrivateLoad,
    /// Stores to an invocation's own variables. Most are gone once a driver has given them registers.
    PrivateStore,
    /// Loads from uniform buffers and push constants.
    UniformLoad,
    /// Reads, writes, samples and queries of images.
    Image,
    /// Atomic operations, on images as well.
    Atomic,
    Subgroup,
    Barrier,
    /// Conditional branches and switches: one for each `if`, and one for each loop that has a condition.
    ControlFlow,
    /// Function calls; the function's own instructions count beside the call.
    Call,
    /// All else: composites taken apart and put together, built-in variables read, array lengths, clocks, ray queries.
    Other,
}

/// Each kind with what it is called in a table's head and in JSON, in the order of their declarations.
const NAMED: [(InstructionKind, &str); 21] = [
    (FloatArithmetic, "float_arithmetic"),
    (IntegerArithmetic, "integer_arithmetic"),
    (Logic, "logic"),
    (Conversion, "conversion"),
    (Transcendental, "transcendental"),
    (CooperativeMatrix, "cooperative_matrix"),
    (Address, "address"),
    (GlobalLoad, "global_load"),
    (GlobalStore, "global_store"),
    (SharedLoad, "shared_load"),
    (SharedStore, "shared_store"),
    (PrivateLoad, "private_load"),
    (PrivateStore, "private_store"),
    (UniformLoad, "uniform_load"),
    (Image, "image"),
    (Atomic, "atomic"),
    (Subgroup, "subgroup"),
    (Barrier, "barrier"),
    (ControlFlow, "control_flow"),
    (Call, "call"),
    (Other, "other"),
];

impl InstructionKind {
    pub(super) const COUNT: usize = NAMED.len();

    pub fn all() -> impl Iterator<Item = Self> {
        NAMED.into_iter().map(|(kind, _)| kind)
    }

    pub fn name(self) -> &'static str {
        NAMED[self as usize].1
    }
}

impl fmt::Display for InstructionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for InstructionKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Ranges of opcodes, both ends within, and their kind; none for what does no work of its own. SPIR-V numbers instructions of
/// one kind in a row. What isn't here is `Other`, but for loads and stores, which depend on the pointer.
const OF_OPCODES: &[(Op, Op, Option<InstructionKind>)] = &[
    (Op::Nop, Op::Line, None),
    (Op::FunctionCall, Op::FunctionCall, Some(Call)),
    (Op::Variable, Op::Variable, None),
    (Op::ImageTexelPointer, Op::ImageTexelPointer, Some(Address)),
    (Op::AccessChain, Op::PtrAccessChain, Some(Address)),
    (Op::InBoundsPtrAccessChain, Op::InBoundsPtrAccessChain, Some(Address)),
    (Op::ImageSampleImplicitLod, Op::ImageWrite, Some(Image)),
    (Op::ImageQueryFormat, Op::ImageQuerySamples, Some(Image)),
    (Op::ConvertFToU, Op::Bitcast, Some(Conversion)),
    (Op::SNegate, Op::SNegate, Some(IntegerArithmetic)),
    (Op::FNegate, Op::FNegate, Some(FloatArithmetic)),
    (Op::IAdd, Op::IAdd, Some(IntegerArithmetic)),
    (Op::FAdd, Op::FAdd, Some(FloatArithmetic)),
    (Op::ISub, Op::ISub, Some(IntegerArithmetic)),
    (Op::FSub, Op::FSub, Some(FloatArithmetic)),
    (Op::IMul, Op::IMul, Some(IntegerArithmetic)),
    (Op::FMul, Op::FMul, Some(FloatArithmetic)),
    (Op::UDiv, Op::SDiv, Some(IntegerArithmetic)),
    (Op::FDiv, Op::FDiv, Some(FloatArithmetic)),
    (Op::UMod, Op::SMod, Some(IntegerArithmetic)),
    (Op::FRem, Op::Dot, Some(FloatArithmetic)),
    (Op::IAddCarry, Op::SMulExtended, Some(IntegerArithmetic)),
    (Op::Any, Op::FUnordGreaterThanEqual, Some(Logic)),
    (Op::ShiftRightLogical, Op::BitCount, Some(Logic)),
    (Op::ControlBarrier, Op::MemoryBarrier, Some(Barrier)),
    (Op::AtomicLoad, Op::AtomicXor, Some(Atomic)),
    (Op::Phi, Op::Branch, None),
    (Op::BranchConditional, Op::Switch, Some(ControlFlow)),
    (Op::Kill, Op::LifetimeStop, None),
    (Op::GroupAll, Op::GroupSMax, Some(Subgroup)),
    (Op::ImageSparseSampleImplicitLod, Op::ImageSparseTexelsResident, Some(Image)),
    (Op::NoLine, Op::NoLine, None),
    (Op::AtomicFlagTestAndSet, Op::AtomicFlagClear, Some(Atomic)),
    (Op::ImageSparseRead, Op::ImageSparseRead, Some(Image)),
    (Op::GroupNonUniformElect, Op::GroupNonUniformQuadSwap, Some(Subgroup)),
    (Op::PtrEqual, Op::PtrNotEqual, Some(Logic)),
    (Op::PtrDiff, Op::PtrDiff, Some(IntegerArithmetic)),
    (Op::TerminateInvocation, Op::TerminateInvocation, None),
    (Op::UntypedVariableKHR, Op::UntypedVariableKHR, None),
    (Op::UntypedAccessChainKHR, Op::UntypedInBoundsAccessChainKHR, Some(Address)),
    (Op::SubgroupBallotKHR, Op::SubgroupFirstInvocationKHR, Some(Subgroup)),
    (Op::UntypedPtrAccessChainKHR, Op::UntypedInBoundsPtrAccessChainKHR, Some(Address)),
    (Op::FmaKHR, Op::FmaKHR, Some(FloatArithmetic)),
    (Op::SubgroupAllKHR, Op::SubgroupReadInvocationKHR, Some(Subgroup)),
    (Op::SDot, Op::SUDotAccSat, Some(IntegerArithmetic)),
    (Op::CooperativeMatrixMulAddKHR, Op::CooperativeMatrixMulAddKHR, Some(CooperativeMatrix)),
    (Op::GroupIAddNonUniformAMD, Op::GroupSMaxNonUniformAMD, Some(Subgroup)),
    (Op::GroupNonUniformQuadAllKHR, Op::GroupNonUniformQuadAnyKHR, Some(Subgroup)),
    (Op::CooperativeVectorMatrixMulNV, Op::CooperativeVectorReduceSumAccumulateNV, Some(CooperativeMatrix)),
    (Op::CooperativeVectorMatrixMulAddNV, Op::CooperativeVectorMatrixMulAddNV, Some(CooperativeMatrix)),
    (Op::GroupNonUniformPartitionEXT, Op::GroupNonUniformPartitionEXT, Some(Subgroup)),
    (Op::CooperativeMatrixMulAddNV, Op::CooperativeMatrixMulAddNV, Some(CooperativeMatrix)),
    (Op::CooperativeMatrixReduceNV, Op::CooperativeMatrixReduceNV, Some(CooperativeMatrix)),
    (Op::RawAccessChainNV, Op::RawAccessChainNV, Some(Address)),
    (Op::AtomicFMinEXT, Op::AtomicFMaxEXT, Some(Atomic)),
    (Op::AssumeTrueKHR, Op::ExpectKHR, None),
    (Op::AtomicFAddEXT, Op::AtomicFAddEXT, Some(Atomic)),
    (Op::GroupIMulKHR, Op::GroupLogicalXorKHR, Some(Subgroup)),
];

/// The same for the instructions of GLSL.std.450.
const OF_GLSL: &[(GlslStd450Op, GlslStd450Op, InstructionKind)] = &[
    (GlslStd450Op::Round, GlslStd450Op::FAbs, FloatArithmetic),
    (GlslStd450Op::SAbs, GlslStd450Op::SAbs, IntegerArithmetic),
    (GlslStd450Op::FSign, GlslStd450Op::FSign, FloatArithmetic),
    (GlslStd450Op::SSign, GlslStd450Op::SSign, IntegerArithmetic),
    (GlslStd450Op::Floor, GlslStd450Op::Degrees, FloatArithmetic),
    (GlslStd450Op::Sin, GlslStd450Op::InverseSqrt, Transcendental),
    (GlslStd450Op::Determinant, GlslStd450Op::FMin, FloatArithmetic),
    (GlslStd450Op::UMin, GlslStd450Op::SMin, IntegerArithmetic),
    (GlslStd450Op::FMax, GlslStd450Op::FMax, FloatArithmetic),
    (GlslStd450Op::UMax, GlslStd450Op::SMax, IntegerArithmetic),
    (GlslStd450Op::FClamp, GlslStd450Op::FClamp, FloatArithmetic),
    (GlslStd450Op::UClamp, GlslStd450Op::SClamp, IntegerArithmetic),
    (GlslStd450Op::FMix, GlslStd450Op::FMix, FloatArithmetic),
    (GlslStd450Op::IMix, GlslStd450Op::IMix, IntegerArithmetic),
    (GlslStd450Op::Step, GlslStd450Op::Ldexp, FloatArithmetic),
    (GlslStd450Op::PackSnorm4x8, GlslStd450Op::UnpackDouble2x32, Conversion),
    (GlslStd450Op::Length, GlslStd450Op::Distance, Transcendental),
    (GlslStd450Op::Cross, GlslStd450Op::Cross, FloatArithmetic),
    (GlslStd450Op::Normalize, GlslStd450Op::Normalize, Transcendental),
    (GlslStd450Op::FaceForward, GlslStd450Op::Reflect, FloatArithmetic),
    (GlslStd450Op::Refract, GlslStd450Op::Refract, Transcendental),
    (GlslStd450Op::FindILsb, GlslStd450Op::FindUMsb, Logic),
    (GlslStd450Op::InterpolateAtCentroid, GlslStd450Op::InterpolateAtOffset, Other),
    (GlslStd450Op::NMin, GlslStd450Op::NClamp, FloatArithmetic),
];

/// The kind of an instruction that is neither a load nor a store nor of an extended set; none where it does no work.
pub(super) fn of_opcode(opcode: Op) -> Option<InstructionKind> {
    let range = OF_OPCODES.iter().find(|(first, last, _)| (*first..=*last).contains(&opcode));
    range.map_or(Some(Other), |(.., kind)| *kind)
}

#[derive(Clone, Copy, Debug)]
pub(super) enum ExtendedSet {
    Glsl,
    /// Debug information, which says nothing to a device.
    Silent,
    Unknown,
}

impl ExtendedSet {
    pub(super) fn named(name: &str) -> Self {
        match name {
            "GLSL.std.450" => Self::Glsl,
            "DebugInfo" | "OpenCL.DebugInfo.100" => Self::Silent,
            _ if name.starts_with("NonSemantic.") => Self::Silent,
            _ => Self::Unknown,
        }
    }

    pub(super) fn kind(self, instruction: Word) -> Option<InstructionKind> {
        match self {
            Self::Glsl => {
                let instruction = GlslStd450Op::from_u32(instruction);
                let within = |(first, last, kind): &(GlslStd450Op, GlslStd450Op, InstructionKind)| {
                    instruction.is_some_and(|it| (*first..=*last).contains(&it)).then_some(*kind)
                };
                Some(OF_GLSL.iter().find_map(within).unwrap_or(Other))
            }
            Self::Silent => None,
            Self::Unknown => Some(Other),
        }
    }
}

#[cfg(test)]
mod tests {
    use rspirv::grammar::{GLSL_STD_450_INSTRUCTION_TABLE, INSTRUCTION_TABLE};
    use rspirv::spirv::Capability;

    use super::*;

    #[test]
    fn kinds_are_named_in_their_own_order() {
        for (i, kind) in InstructionKind::all().enumerate() {
            assert_eq!(kind as usize, i, "{kind}");
        }
        assert_eq!(Other as usize, InstructionKind::COUNT - 1);
    }

    #[test]
    fn ranges_are_sorted_and_apart() {
        let ends: Vec<Op> = OF_OPCODES.iter().flat_map(|(first, last, _)| [*first, *last]).collect();
        assert!(ends.chunks(2).all(|range| range[0] <= range[1]));
        assert!(ends[1..].chunks(2).all(|gap| gap.len() < 2 || gap[0] < gap[1]), "{ends:?}");
    }

    #[test]
    fn each_glsl_instruction_stands_in_one_range() {
        for instruction in GLSL_STD_450_INSTRUCTION_TABLE.iter() {
            let number: Word = instruction.opcode.into();
            let op = GlslStd450Op::from_u32(number).unwrap();
            let ranges = OF_GLSL.iter().filter(|(first, last, _)| (*first..=*last).contains(&op)).count();
            assert_eq!(ranges, 1, "{op:?}");
        }
    }

    /// Vendors' instructions, some of which have a familiar name and another meaning.
    const VENDORS: [&str; 4] = ["ALTERA", "INTEL", "NV", "QCOM"];

    /// What an instruction's name in the grammar says of its kind, for the names that say it.
    fn named(name: &str) -> Option<InstructionKind> {
        let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        Some(match name {
            // The first takes an image from a pair with a sampler, the second takes a texel's address.
            "Image" | "ImageTexelPointer" => return None,
            "Select" => Logic,
            "BranchConditional" | "Switch" => ControlFlow,
            "ControlBarrier" | "MemoryBarrier" => Barrier,
            _ if starts(&["Image"]) => Image,
            _ if starts(&["Atomic"]) => Atomic,
            _ if starts(&["GroupNonUniform", "Subgroup"]) => Subgroup,
            _ if name.ends_with("AccessChain") || name.ends_with("AccessChainKHR") => Address,
            _ if starts(&["FOrd", "FUnord", "Logical", "Shift", "Bitwise", "BitField"]) => Logic,
            _ if ["LessThan", "LessThanEqual", "GreaterThan", "GreaterThanEqual"].contains(&&name[1..]) => Logic,
            _ if ["Neg", "Add", "Sub", "Mul", "Div", "Rem", "Mod"].iter().any(|verb| name[1..].starts_with(verb)) => {
                if name.starts_with('F') { FloatArithmetic } else { IntegerArithmetic }
            }
            _ => return None,
        })
    }

    #[test]
    fn names_and_kinds_agree() {
        let vendors = |name: &str| VENDORS.iter().any(|vendor| name.ends_with(vendor));
        let kernels = |capabilities: &[Capability]| capabilities == [Capability::Kernel];
        let mut compared = 0;
        for instruction in INSTRUCTION_TABLE.iter() {
            let name = instruction.opname;
            let Some(expected) = named(name).filter(|_| !vendors(name) && !kernels(instruction.capabilities)) else { continue };
            assert_eq!(of_opcode(instruction.opcode), Some(expected), "{name}");
            compared += 1;
        }
        assert!(compared > 150, "{compared}");
    }
}
