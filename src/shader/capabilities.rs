//! What Lanescope makes of each capability of SPIR-V: the one table of them.
//!
//! It names all that the parser knows, so that a newer parser doesn't compile until somebody has said what its new ones are.

use super::reflect::Capability;
use crate::model::Feature;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    /// Each device has it.
    Always,
    /// It is a class of subgroup operations.
    Subgroup,
    /// Any of these features of a device will do as far as the capability tells: which one is needed depends on where it is used.
    Features(&'static [Feature]),
    /// Nothing that is told of a compute shader depends on it; which device has it isn't known.
    Passed,
    /// It brings this, which isn't understood; all else is.
    Unread(&'static str),
    /// It changes what a module says so much that what is told of it would be wrong: the extension that brought it.
    Refused(&'static str),
}

pub(super) fn treatment(capability: Capability) -> Treatment {
    use Capability as C;
    use Treatment::*;
    match capability {
        C::Shader | C::Matrix | C::Sampled1D | C::Image1D | C::SampledBuffer | C::ImageBuffer | C::ImageQuery => Always,
        C::Float16 => Features(&[Feature::Float16]),
        C::Float64 => Features(&[Feature::Float64]),
        C::Int8 => Features(&[Feature::Int8]),
        C::Int16 => Features(&[Feature::Int16]),
        C::Int64 => Features(&[Feature::Int64]),
        C::StorageBuffer8BitAccess => Features(&[Feature::Storage8]),
        C::StorageBuffer16BitAccess => Features(&[Feature::Storage16]),
        C::VariablePointersStorageBuffer => Features(&[Feature::VariablePointersStorageBuffer]),
        C::VariablePointers => Features(&[Feature::VariablePointers]),
        C::StorageImageExtendedFormats => Features(&[Feature::StorageImageExtendedFormats]),
        C::StorageImageReadWithoutFormat => Features(&[Feature::StorageImageReadWithoutFormat]),
        C::StorageImageWriteWithoutFormat => Features(&[Feature::StorageImageWriteWithoutFormat]),
        C::ImageGatherExtended => Features(&[Feature::ImageGatherExtended]),
        C::SampledCubeArray | C::ImageCubeArray => Features(&[Feature::ImageCubeArray]),
        C::UniformBufferArrayDynamicIndexing => Features(&[Feature::UniformBufferArrayDynamicIndexing]),
        C::SampledImageArrayDynamicIndexing => Features(&[Feature::SampledImageArrayDynamicIndexing]),
        C::StorageBufferArrayDynamicIndexing => Features(&[Feature::StorageBufferArrayDynamicIndexing]),
        C::StorageImageArrayDynamicIndexing => Features(&[Feature::StorageImageArrayDynamicIndexing]),
        C::ShaderClockKHR => Features(&[Feature::SubgroupClock, Feature::DeviceClock]),
        C::Int64Atomics => Features(&[Feature::BufferInt64Atomics, Feature::SharedInt64Atomics]),
        C::AtomicFloat32AddEXT => Features(&[Feature::BufferFloat32AtomicAdd, Feature::SharedFloat32AtomicAdd]),
        C::AtomicFloat64AddEXT => Features(&[Feature::BufferFloat64AtomicAdd, Feature::SharedFloat64AtomicAdd]),
        C::PhysicalStorageBufferAddresses => Features(&[Feature::BufferDeviceAddress]),
        C::VulkanMemoryModel => Features(&[Feature::MemoryModel]),
        C::VulkanMemoryModelDeviceScope => Features(&[Feature::MemoryModelDeviceScope]),
        C::CooperativeMatrixKHR => Features(&[Feature::CooperativeMatrix]),
        C::CooperativeMatrixTensorAddressingNV => Features(&[Feature::CooperativeMatrixTensorAddressing]),
        C::DotProduct | C::DotProductInputAll | C::DotProductInput4x8Bit | C::DotProductInput4x8BitPacked => {
            Features(&[Feature::IntegerDotProduct])
        }
        C::WorkgroupMemoryExplicitLayoutKHR => Features(&[Feature::WorkgroupMemoryExplicitLayout]),
        C::BFloat16TypeKHR => Features(&[Feature::BFloat16]),
        C::BFloat16CooperativeMatrixKHR => Features(&[Feature::BFloat16CooperativeMatrix]),
        C::GroupNonUniform
        | C::GroupNonUniformVote
        | C::GroupNonUniformArithmetic
        | C::GroupNonUniformBallot
        | C::GroupNonUniformShuffle
        | C::GroupNonUniformShuffleRelative
        | C::GroupNonUniformClustered
        | C::GroupNonUniformQuad
        | C::GroupNonUniformRotateKHR => Subgroup,
        C::UntypedPointersKHR => Refused("SPV_KHR_untyped_pointers"),
        C::DescriptorHeapEXT => Refused("SPV_EXT_descriptor_heap"),
        C::TensorsARM | C::StorageTensorArrayDynamicIndexingARM | C::StorageTensorArrayNonUniformIndexingARM => {
            Refused("SPV_ARM_tensors")
        }
        C::GraphARM => Refused("SPV_ARM_graph"),
        C::BindlessTextureNV => Refused("SPV_NV_bindless_texture"),
        C::ShaderEnqueueAMDX => Refused("SPV_AMDX_shader_enqueue"),
        C::FunctionPointersINTEL | C::IndirectReferencesINTEL => Refused("SPV_INTEL_function_pointers"),
        C::VariableLengthArrayINTEL | C::UntypedVariableLengthArrayINTEL => Refused("SPV_INTEL_variable_length_array"),
        C::AsmINTEL => Refused("SPV_INTEL_inline_assembly"),
        C::BindlessImagesINTEL => Refused("SPV_INTEL_bindless_images"),
        C::PushConstantBanksNV => Refused("SPV_NV_push_constant_bank"),
        C::SpecConditionalINTEL | C::FunctionVariantsINTEL => Refused("SPV_INTEL_function_variants"),
        C::RayQueryKHR | C::RayQueryProvisionalKHR | C::RayQueryPositionFetchKHR => Unread("acceleration structures"),
        C::CooperativeVectorNV | C::CooperativeVectorTrainingNV => Unread("what cooperative vectors read and write"),
        C::RawAccessChainsNV => Unread("what raw access chains lead to"),
        // Of graphics, of OpenCL, or of single instructions.
        C::Geometry
        | C::Tessellation
        | C::Addresses
        | C::Linkage
        | C::Kernel
        | C::Vector16
        | C::Float16Buffer
        | C::ImageBasic
        | C::ImageReadWrite
        | C::ImageMipmap
        | C::Pipes
        | C::Groups
        | C::DeviceEnqueue
        | C::LiteralSampler
        | C::AtomicStorage
        | C::TessellationPointSize
        | C::GeometryPointSize
        | C::StorageImageMultisample
        | C::ClipDistance
        | C::CullDistance
        | C::SampleRateShading
        | C::ImageRect
        | C::SampledRect
        | C::GenericPointer
        | C::InputAttachment
        | C::SparseResidency
        | C::MinLod
        | C::ImageMSArray
        | C::DerivativeControl
        | C::InterpolationFunction
        | C::TransformFeedback
        | C::GeometryStreams
        | C::MultiViewport
        | C::SubgroupDispatch
        | C::NamedBarrier
        | C::PipeStorage
        | C::ShaderLayer
        | C::ShaderViewportIndex
        | C::UniformDecoration
        | C::CoreBuiltinsARM
        | C::TileImageColorReadAccessEXT
        | C::TileImageDepthReadAccessEXT
        | C::TileImageStencilReadAccessEXT
        | C::CooperativeMatrixLayoutsARM
        | C::Float8EXT
        | C::Float8CooperativeMatrixEXT
        | C::FragmentShadingRateKHR
        | C::SubgroupBallotKHR
        | C::DrawParameters
        | C::WorkgroupMemoryExplicitLayout8BitAccessKHR
        | C::WorkgroupMemoryExplicitLayout16BitAccessKHR
        | C::SubgroupVoteKHR
        | C::UniformAndStorageBuffer16BitAccess
        | C::StoragePushConstant16
        | C::StorageInputOutput16
        | C::DeviceGroup
        | C::MultiView
        | C::AtomicStorageOps
        | C::SampleMaskPostDepthCoverage
        | C::UniformAndStorageBuffer8BitAccess
        | C::StoragePushConstant8
        | C::DenormPreserve
        | C::DenormFlushToZero
        | C::SignedZeroInfNanPreserve
        | C::RoundingModeRTE
        | C::RoundingModeRTZ
        | C::RayTraversalPrimitiveCullingKHR
        | C::RayTracingKHR
        | C::TextureSampleWeightedQCOM
        | C::TextureBoxFilterQCOM
        | C::TextureBlockMatchQCOM
        | C::TileShadingQCOM
        | C::CooperativeMatrixConversionQCOM
        | C::TextureBlockMatch2QCOM
        | C::Float16ImageAMD
        | C::ImageGatherBiasLodAMD
        | C::FragmentMaskAMD
        | C::StencilExportEXT
        | C::ImageReadWriteLodAMD
        | C::Int64ImageEXT
        | C::QuadControlKHR
        | C::Int4TypeINTEL
        | C::Int4CooperativeMatrixINTEL
        | C::BFloat16DotProductKHR
        | C::SampleMaskOverrideCoverageNV
        | C::GeometryShaderPassthroughNV
        | C::ShaderViewportIndexLayerEXT
        | C::ShaderViewportMaskNV
        | C::ShaderStereoViewNV
        | C::PerViewAttributesNV
        | C::FragmentFullyCoveredEXT
        | C::MeshShadingNV
        | C::ImageFootprintNV
        | C::MeshShadingEXT
        | C::FragmentBarycentricKHR
        | C::ComputeDerivativeGroupQuadsKHR
        | C::FragmentDensityEXT
        | C::GroupNonUniformPartitionedEXT
        | C::ShaderNonUniform
        | C::RuntimeDescriptorArray
        | C::InputAttachmentArrayDynamicIndexing
        | C::UniformTexelBufferArrayDynamicIndexing
        | C::StorageTexelBufferArrayDynamicIndexing
        | C::UniformBufferArrayNonUniformIndexing
        | C::SampledImageArrayNonUniformIndexing
        | C::StorageBufferArrayNonUniformIndexing
        | C::StorageImageArrayNonUniformIndexing
        | C::InputAttachmentArrayNonUniformIndexing
        | C::UniformTexelBufferArrayNonUniformIndexing
        | C::StorageTexelBufferArrayNonUniformIndexing
        | C::RayTracingPositionFetchKHR
        | C::RayTracingNV
        | C::RayTracingMotionBlurNV
        | C::ComputeDerivativeGroupLinearKHR
        | C::RayTracingProvisionalKHR
        | C::CooperativeMatrixNV
        | C::FragmentShaderSampleInterlockEXT
        | C::FragmentShaderShadingRateInterlockEXT
        | C::ShaderSMBuiltinsNV
        | C::FragmentShaderPixelInterlockEXT
        | C::DemoteToHelperInvocation
        | C::DisplacementMicromapNV
        | C::RayTracingOpacityMicromapEXT
        | C::ShaderInvocationReorderNV
        | C::ShaderInvocationReorderEXT
        | C::AtomicFloat16VectorNV
        | C::RayTracingDisplacementMicromapNV
        | C::RayTracingSpheresGeometryNV
        | C::RayTracingLinearSweptSpheresGeometryNV
        | C::LongVectorEXT
        | C::Shader64BitIndexingEXT
        | C::CooperativeMatrixReductionsNV
        | C::CooperativeMatrixConversionsNV
        | C::CooperativeMatrixPerElementOperationsNV
        | C::CooperativeMatrixBlockLoadsNV
        | C::RayTracingClusterAccelerationStructureNV
        | C::TensorAddressingNV
        | C::SubgroupShuffleINTEL
        | C::SubgroupBufferBlockIOINTEL
        | C::SubgroupImageBlockIOINTEL
        | C::SubgroupImageMediaBlockIOINTEL
        | C::RoundToInfinityINTEL
        | C::FloatingPointModeINTEL
        | C::IntegerFunctions2INTEL
        | C::AtomicFloat32MinMaxEXT
        | C::AtomicFloat64MinMaxEXT
        | C::AtomicFloat16MinMaxEXT
        | C::VectorComputeINTEL
        | C::VectorAnyINTEL
        | C::ExpectAssumeKHR
        | C::SubgroupAvcMotionEstimationINTEL
        | C::SubgroupAvcMotionEstimationIntraINTEL
        | C::SubgroupAvcMotionEstimationChromaINTEL
        | C::FunctionFloatControlINTEL
        | C::FPGAMemoryAttributesALTERA
        | C::FPFastMathModeINTEL
        | C::ArbitraryPrecisionIntegersALTERA
        | C::ArbitraryPrecisionFloatingPointALTERA
        | C::UnstructuredLoopControlsINTEL
        | C::FPGALoopControlsALTERA
        | C::KernelAttributesINTEL
        | C::FPGAKernelAttributesINTEL
        | C::FPGAMemoryAccessesALTERA
        | C::FPGAClusterAttributesALTERA
        | C::LoopFuseALTERA
        | C::FPGADSPControlALTERA
        | C::MemoryAccessAliasingINTEL
        | C::FPGAInvocationPipeliningAttributesALTERA
        | C::FPGABufferLocationALTERA
        | C::ArbitraryPrecisionFixedPointALTERA
        | C::USMStorageClassesALTERA
        | C::RuntimeAlignedAttributeALTERA
        | C::IOPipesALTERA
        | C::BlockingPipesALTERA
        | C::FPGARegALTERA
        | C::RayCullMaskKHR
        | C::ReplicatedCompositesEXT
        | C::BitInstructions
        | C::FloatControls2
        | C::FMAKHR
        | C::LongCompositesINTEL
        | C::OptNoneEXT
        | C::AtomicFloat16AddEXT
        | C::DebugInfoModuleINTEL
        | C::BFloat16ConversionINTEL
        | C::SplitBarrierINTEL
        | C::ArithmeticFenceEXT
        | C::FPGAClusterAttributesV2ALTERA
        | C::FPGAKernelAttributesv2INTEL
        | C::TaskSequenceALTERA
        | C::FPMaxErrorINTEL
        | C::FPGALatencyControlALTERA
        | C::FPGAArgumentInterfacesALTERA
        | C::GlobalVariableHostAccessINTEL
        | C::GlobalVariableFPGADecorationsALTERA
        | C::SubgroupBufferPrefetchINTEL
        | C::Subgroup2DBlockIOINTEL
        | C::Subgroup2DBlockTransformINTEL
        | C::Subgroup2DBlockTransposeINTEL
        | C::SubgroupMatrixMultiplyAccumulateINTEL
        | C::TernaryBitwiseFunctionINTEL
        | C::GroupUniformArithmeticKHR
        | C::TensorFloat32RoundingINTEL
        | C::MaskedGatherScatterINTEL
        | C::CacheControlsINTEL
        | C::RegisterLimitsINTEL => Passed,
    }
}

/// What a reader is told isn't understood of a module with these capabilities.
pub(super) fn unread(capabilities: &[Capability]) -> impl Iterator<Item = String> {
    capabilities.iter().filter_map(|capability| match treatment(*capability) {
        Treatment::Unread(what) => Some(format!("the module has {capability:?}, and Lanescope doesn't read {what}")),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::reflect::subgroup::class_of;
    use super::*;

    #[test]
    fn subgroup_operations_are_those_that_have_a_class() {
        let all: Vec<Capability> = (0..10_000).filter_map(Capability::from_u32).collect();
        assert!(all.len() > 250, "{}", all.len());
        for capability in all {
            assert_eq!(treatment(capability) == Treatment::Subgroup, class_of(capability).is_some(), "{capability:?}");
        }
    }

    #[test]
    fn what_is_refused_is_named_by_its_extension() {
        let untyped = crate::shader::words::module(&[&[17, Capability::UntypedPointersKHR as u32]]);
        let error = crate::shader::Reflection::parse(&untyped).unwrap_err().to_string();
        assert_eq!(error, "SPV_KHR_untyped_pointers isn't supported, and the module has its capability UntypedPointersKHR");
        assert_eq!(unread(&[Capability::Shader, Capability::RayQueryKHR]).count(), 1);
    }
}
