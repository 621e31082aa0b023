//! Each form of access, recorded and held against a twin on the processor, which lists the accesses by what the source says.

use std::collections::BTreeSet;
use std::sync::Arc;

use lanescope::gpu::{Device, DeviceOptions};
use lanescope::model::{
    Address, Binding, Case, Contents, Feature, Kernel, MemoryKind, Point, Resource, Sequence, SpirvTarget, Step,
};
use lanescope::shader::{
    AccessKind, BindingInfo, Module, Prepared, Recording, Space, Specialized, Target, TraceOptions, Traced, validate,
};

use super::{CAPACITY, ran};
use crate::gpu::messages_with;
use crate::support::{spirv_tool, to_bytes, to_words};

use AccessKind::{Atomic, Load, Store};

pub(super) const GROUPS: u32 = 3;
pub(super) const LOCAL: u32 = 8;

/// One access of one invocation: what it does, where, in which iterations, from which byte on and how many bytes.
type Expected = (AccessKind, Space, u32, u32, Vec<u32>, u64, u64);

struct Twin(Vec<Expected>);

impl Twin {
    /// For each invocation: its workgroup, its number there, and its number among all.
    fn of(each: impl Fn(&mut Own)) -> Vec<Expected> {
        let mut twin = Self(Vec::new());
        for (group, local) in (0..GROUPS).flat_map(|group| (0..LOCAL).map(move |local| (group, local))) {
            each(&mut Own { twin: &mut twin, group, local, i: u64::from(group * LOCAL + local) });
        }
        twin.0.sort();
        twin.0
    }
}

pub(super) struct Own<'t> {
    twin: &'t mut Twin,
    group: u32,
    local: u32,
    i: u64,
}

const fn at(binding: u32) -> Space {
    Space::Storage { set: 0, binding }
}

impl Own<'_> {
    fn does(&mut self, kind: AccessKind, space: Space, iterations: &[u32], offset: u64, bytes: u64) {
        self.twin.0.push((kind, space, self.group, self.local, iterations.to_vec(), offset, bytes));
    }
}

pub(super) struct Form {
    pub(super) name: &'static str,
    pub(super) source: Source,
    /// Words of each buffer, by its binding; of an array of descriptors, the elements have the bindings that follow.
    pub(super) buffers: &'static [u64],
    pub(super) needs: &'static [Feature],
    pub(super) push: &'static [u32],
    /// Barriers aside.
    pub(super) twin: fn(&mut Own),
}

pub(super) enum Source {
    Glsl(&'static str),
    Written(String),
    /// The same, where the push constants begin with the address of the first buffer.
    WithAddress(&'static str),
    Assembly(&'static str),
}

use Source::{Assembly, Glsl, WithAddress, Written};

/// Stands for what an address leads to.
const BY_ADDRESS: Space = at(99);

const EXTENSIONS: &str = "
    #extension GL_EXT_buffer_reference : require
    #extension GL_EXT_shader_explicit_arithmetic_types : require
    #extension GL_EXT_shader_8bit_storage : require
    #extension GL_EXT_shader_16bit_storage : require
";

pub(super) const FORMS: &[Form] = &[
    Form {
        name: "neighbours",
        source: Glsl(
            "layout(binding = 0) buffer A { float a[]; }; layout(binding = 1) buffer B { float b[]; };
            void main() { uint i = gl_GlobalInvocationID.x; b[i] = a[i + 1]; }",
        ),
        buffers: &[64, 64],
        needs: &[],
        push: &[],
        twin: |own| {
            let i = own.i;
            own.does(Load, at(0), &[], 4 * (i + 1), 4);
            own.does(Store, at(1), &[], 4 * i, 4);
        },
    },
    Form {
        name: "structs with padding, vectors and their components",
        source: Glsl(
            "struct S { vec3 p; float w; uvec2 u; };
            layout(binding = 0) buffer A { vec4 head; S all[]; } a; layout(binding = 1) buffer B { float b[]; };
            void main() { uint i = gl_GlobalInvocationID.x; S s = a.all[i]; b[i] = s.p.x + s.w + a.all[i + 1].p[i % 3]; }",
        ),
        buffers: &[256, 64],
        needs: &[],
        push: &[],
        twin: |own| {
            let i = own.i;
            own.does(Load, at(0), &[], 16 + 32 * i, 24);
            own.does(Load, at(0), &[], 16 + 32 * (i + 1) + 4 * (i % 3), 4);
            own.does(Store, at(1), &[], 4 * i, 4);
        },
    },
    Form {
        name: "matrices of either order",
        source: Glsl(
            "layout(binding = 0) buffer A { layout(row_major) mat4 r; layout(column_major) mat3 c[2]; };
            layout(binding = 1) buffer B { vec4 b[]; };
            void main() { uint i = gl_GlobalInvocationID.x, j = i % 3;
                b[i] = r[j]; b[i].x = r[j][j + 1]; b[i].yzw = c[1][j]; b[i].x = c[0][j][2]; }",
        ),
        buffers: &[64, 256],
        needs: &[],
        push: &[],
        twin: |own| {
            let (i, j) = (own.i, own.i % 3);
            own.does(Load, at(0), &[], 4 * j, 16);
            own.does(Load, at(0), &[], 4 * j + 16 * (j + 1), 4);
            own.does(Load, at(0), &[], 64 + 48 + 16 * j, 12);
            own.does(Load, at(0), &[], 64 + 16 * j + 8, 4);
            own.does(Store, at(1), &[], 16 * i, 16);
            own.does(Store, at(1), &[], 16 * i, 4);
            own.does(Store, at(1), &[], 16 * i, 4);
            for component in 1..4 {
                own.does(Store, at(1), &[], 16 * i + 4 * component, 4);
            }
        },
    },
    Form {
        name: "loops of different lengths",
        source: Glsl(
            "layout(binding = 0) buffer A { uint a[]; }; layout(binding = 1) buffer B { uint b[]; };
            void main() { uint i = gl_GlobalInvocationID.x, sum = 0;
                for (uint j = 0; j < i % 4; j++) {
                    for (uint k = 0; k < j; k++) { if (((k + i) & 1u) == 0u) sum += a[i * 8 + j + k]; }
                    b[i] = sum;
                } }",
        ),
        buffers: &[256, 64],
        needs: &[],
        push: &[],
        twin: |own| {
            let i = own.i;
            for j in 0..i % 4 {
                let (j32, i32) = (u32::try_from(j).unwrap(), u32::try_from(i).unwrap());
                for k in 0..j32 {
                    if (k + i32) & 1 == 0 {
                        own.does(Load, at(0), &[j32, k], 4 * (i * 8 + j + u64::from(k)), 4);
                    }
                }
                own.does(Store, at(1), &[j32], 4 * i, 4);
            }
        },
    },
    Form {
        name: "functions that loops call",
        source: Glsl(
            "layout(binding = 0) buffer A { uint a[]; }; layout(binding = 1) buffer B { uint b[]; };
            uint two(uint from) { uint sum = 0; for (uint k = 0; k < 2; k++) sum += a[from + k]; return sum; }
            uint once(uint from) { return two(from) + a[from]; }
            void main() { uint i = gl_GlobalInvocationID.x, sum = once(i);
                for (uint j = 0; j < i % 3; j++) { sum += once(i + 2 * j) + two(i); }
                b[i] = sum; }",
        ),
        buffers: &[256, 64],
        needs: &[],
        push: &[],
        twin: |own| {
            let i = own.i;
            let two = |own: &mut Own, outer: &[u32], from: u64| {
                for k in 0..2 {
                    own.does(Load, at(0), &[outer, &[k]].concat(), 4 * (from + u64::from(k)), 4);
                }
            };
            two(own, &[], i);
            own.does(Load, at(0), &[], 4 * i, 4);
            for j in 0..u32::try_from(i % 3).unwrap() {
                let from = i + 2 * u64::from(j);
                two(own, &[j], from);
                own.does(Load, at(0), &[j], 4 * from, 4);
                two(own, &[j], i);
            }
            own.does(Store, at(1), &[], 4 * i, 4);
        },
    },
    Form {
        name: "shared memory",
        source: Glsl(
            "layout(binding = 1) buffer B { float b[]; }; shared float tile[8][9]; shared vec3 other[8];
            void main() { uint i = gl_LocalInvocationID.x;
                tile[i][2] = float(i); other[i] = vec3(i); barrier();
                b[gl_GlobalInvocationID.x] = tile[2][7 - i] + other[7 - i].y; }",
        ),
        buffers: &[16, 64],
        needs: &[],
        push: &[],
        twin: |own| {
            let l = u64::from(own.local);
            own.does(Store, Space::Shared, &[], 36 * l + 8, 4);
            own.does(Store, Space::Shared, &[], 16 * l, 12);
            own.does(Load, Space::Shared, &[], 72 + 4 * (7 - l), 4);
            own.does(Load, Space::Shared, &[], 16 * (7 - l) + 4, 4);
            let i = own.i;
            own.does(Store, at(1), &[], 4 * i, 4);
        },
    },
    Form {
        name: "atomic operations",
        source: Glsl(
            "layout(binding = 0) buffer A { uint a[]; }; shared int s[4];
            void main() { uint i = gl_GlobalInvocationID.x;
                s[i % 4] = 0; barrier();
                atomicMax(s[i % 4], int(i)); uint old = atomicAdd(a[i / 2], 1u); atomicCompSwap(a[40 + i % 2], old, 7u); }",
        ),
        buffers: &[64],
        needs: &[],
        push: &[],
        twin: |own| {
            let i = own.i;
            own.does(Store, Space::Shared, &[], 4 * (i % 4), 4);
            own.does(Atomic, Space::Shared, &[], 4 * (i % 4), 4);
            own.does(Atomic, at(0), &[], 4 * (i / 2), 4);
            own.does(Atomic, at(0), &[], 4 * (40 + i % 2), 4);
        },
    },
    Form {
        name: "loops that wait for a value, and loops that don't",
        source: Glsl(
            "layout(binding = 0) coherent buffer A { uint a[]; }; layout(binding = 1) buffer B { uint b[]; };
            shared uint s;
            void main() { uint i = gl_GlobalInvocationID.x, sum = 0; s = 0; barrier();
                for (uint k = 0; k < 4; k++) { atomicAnd(s, 0u); sum += a[i]; }
                for (uint k = 0; k < 6; k++, sum++) { if (a[i + 1] == 77u) break; }
                for (uint k = 0; k < 3; k++) { if (a[i + 2] == 77u) break; b[i] = sum; } }",
        ),
        buffers: &[64, 64],
        needs: &[],
        push: &[],
        twin: |own| {
            let i = own.i;
            own.does(Store, Space::Shared, &[], 0, 4);
            for k in 0..4 {
                own.does(Atomic, Space::Shared, &[k], 0, 4);
                own.does(Load, at(0), &[k], 4 * i, 4);
            }
            // It reads the same again and again, and does nothing else.
            own.does(Load, at(0), &[0], 4 * (i + 1), 4);
            for k in 0..3 {
                own.does(Load, at(0), &[k], 4 * (i + 2), 4);
                own.does(Store, at(1), &[k], 4 * i, 4);
            }
        },
    },
    Form {
        name: "indexes before the beginning",
        source: Glsl(
            "layout(binding = 0) buffer A { uvec4 head; uint a[]; }; layout(binding = 1) buffer B { uint b[]; };
            void main() { uint i = gl_GlobalInvocationID.x; b[i] = a[int(i) - 2]; }",
        ),
        buffers: &[64, 64],
        needs: &[],
        push: &[],
        twin: |own| {
            let i = own.i;
            own.does(Load, at(0), &[], if i < 2 { u32::MAX.into() } else { 16 + 4 * (i - 2) }, 4);
            own.does(Store, at(1), &[], 4 * i, 4);
        },
    },
    Form {
        name: "push constants and uniform blocks",
        source: Glsl(
            "layout(push_constant) uniform P { uint scale[4]; } p; layout(binding = 1) buffer B { uint b[]; };
            void main() { uint i = gl_GlobalInvocationID.x; b[i] = p.scale[i % 4]; }",
        ),
        buffers: &[16, 64],
        needs: &[],
        push: &[1, 2, 3, 4],
        twin: |own| {
            let i = own.i;
            own.does(Load, Space::PushConstants, &[], 4 * (i % 4), 4);
            own.does(Store, at(1), &[], 4 * i, 4);
        },
    },
    Form {
        name: "early returns and switches",
        source: Glsl(
            "layout(binding = 0) buffer A { uint a[]; }; layout(binding = 1) buffer B { uint b[]; };
            void main() { uint i = gl_GlobalInvocationID.x;
                if (i % 5 == 0) return;
                switch (i % 3) { case 0: b[i] = a[i]; break; case 1: b[i] = 1u; default: b[i + 1] = 2u; } }",
        ),
        buffers: &[64, 64],
        needs: &[],
        push: &[],
        twin: |own| {
            let i = own.i;
            if i % 5 == 0 {
                return;
            }
            match i % 3 {
                0 => {
                    own.does(Load, at(0), &[], 4 * i, 4);
                    own.does(Store, at(1), &[], 4 * i, 4);
                }
                1 => {
                    own.does(Store, at(1), &[], 4 * i, 4);
                    own.does(Store, at(1), &[], 4 * (i + 1), 4);
                }
                _ => own.does(Store, at(1), &[], 4 * (i + 1), 4),
            }
        },
    },
    Form {
        name: "narrow and wide numbers",
        source: Glsl(
            "struct S { uint8_t b; uint16_t h; uint64_t w; };
            layout(binding = 0) buffer A { S all[]; }; layout(binding = 1) buffer B { uint64_t b[]; };
            void main() { uint i = gl_GlobalInvocationID.x; b[i] = all[i].w + uint64_t(all[i + 1].h) + uint64_t(all[i].b); }",
        ),
        buffers: &[256, 64],
        needs: &[Feature::Int8, Feature::Int16, Feature::Int64, Feature::Storage8, Feature::Storage16],
        push: &[],
        twin: |own| {
            let i = own.i;
            own.does(Load, at(0), &[], 16 * i + 8, 8);
            own.does(Load, at(0), &[], 16 * (i + 1) + 2, 2);
            own.does(Load, at(0), &[], 16 * i, 1);
            own.does(Store, at(1), &[], 8 * i, 8);
        },
    },
    Form {
        name: "arrays of descriptors",
        source: Glsl(
            "layout(binding = 0) buffer A { uint a[]; } all[3]; layout(binding = 3) buffer B { uint b[]; };
            void main() { uint i = gl_GlobalInvocationID.x; b[i] = all[gl_WorkGroupID.x % 3].a[i] + all[1].a[2]; }",
        ),
        buffers: &[64, 64, 64, 64],
        needs: &[Feature::StorageBufferArrayDynamicIndexing],
        push: &[],
        twin: |own| {
            let i = own.i;
            own.does(Load, at(own.group % 3), &[], 4 * i, 4);
            own.does(Load, at(1), &[], 8, 4);
            own.does(Store, at(3), &[], 4 * i, 4);
        },
    },
    Form {
        name: "addresses",
        source: WithAddress(
            "layout(buffer_reference, std430, buffer_reference_align = 16) buffer R { uvec4 head; uvec2 all[]; };
            layout(push_constant) uniform P { R from; }; layout(binding = 1) buffer B { uint b[]; };
            void main() { uint i = gl_GlobalInvocationID.x; R r = from; b[i] = r.all[i].y + r.head.x; r.all[i + 32] = uvec2(i); }",
        ),
        buffers: &[256, 64],
        needs: &[Feature::BufferDeviceAddress],
        push: &[0, 0],
        twin: |own| {
            let i = own.i;
            own.does(Load, Space::PushConstants, &[], 0, 8);
            own.does(Load, BY_ADDRESS, &[], 16 + 8 * i + 4, 4);
            own.does(Load, BY_ADDRESS, &[], 0, 4);
            own.does(Store, BY_ADDRESS, &[], 16 + 8 * (i + 32), 8);
            own.does(Store, at(1), &[], 4 * i, 4);
        },
    },
    Form {
        name: "pointers that are selected, handed on by a loop and given to a function",
        source: Assembly(POINTERS),
        buffers: &[64, 64],
        needs: &[Feature::VariablePointers],
        push: &[],
        twin: |own| {
            let i = own.i;
            own.does(Load, at(u32::from(i % 2 == 0)), &[], 4 * i, 4);
            for k in 0..4 {
                own.does(Load, at(0), &[k], 4 * (i + u64::from(k)), 4);
            }
            own.does(Store, at(0), &[], 4 * (i + 4), 4);
        },
    },
    Form {
        name: "memory that is copied",
        source: Assembly(COPIES),
        buffers: &[64, 64],
        needs: &[],
        push: &[],
        twin: |own| {
            let i = own.i;
            own.does(Load, at(0), &[], 4 * i, 4);
            own.does(Store, at(1), &[], 4 * (i + 1), 4);
        },
    },
];

/// What both modules begin with.
macro_rules! assembly {
    ($capabilities:literal, $($more:literal),+) => {
        concat!(
            "OpCapability Shader\n", $capabilities,
            "OpExtension \"SPV_KHR_storage_buffer_storage_class\"
             OpMemoryModel Logical GLSL450
             OpEntryPoint GLCompute %main \"main\" %id
             OpExecutionMode %main LocalSize 8 1 1
             OpDecorate %id BuiltIn GlobalInvocationId
             OpDecorate %array ArrayStride 4
             OpDecorate %to_uint ArrayStride 4
             OpMemberDecorate %block 0 Offset 0
             OpDecorate %block Block
             OpDecorate %a DescriptorSet 0
             OpDecorate %a Binding 0
             OpDecorate %b DescriptorSet 0
             OpDecorate %b Binding 1
     %void = OpTypeVoid
  %nothing = OpTypeFunction %void
     %bool = OpTypeBool
     %uint = OpTypeInt 32 0
   %triple = OpTypeVector %uint 3
%to_triple = OpTypePointer Input %triple
 %to_input = OpTypePointer Input %uint
    %array = OpTypeRuntimeArray %uint
    %block = OpTypeStruct %array
 %to_block = OpTypePointer StorageBuffer %block
  %to_uint = OpTypePointer StorageBuffer %uint
   %taking = OpTypeFunction %uint %to_uint
     %zero = OpConstant %uint 0
      %one = OpConstant %uint 1
     %four = OpConstant %uint 4
        %a = OpVariable %to_block StorageBuffer
        %b = OpVariable %to_block StorageBuffer
       %id = OpVariable %to_triple Input\n",
            $($more),+
        )
    };
}

const POINTERS: &str = assembly!(
    "OpCapability VariablePointers\nOpExtension \"SPV_KHR_variable_pointers\"\n",
    "  %read = OpFunction %uint None %taking
  %pointer = OpFunctionParameter %to_uint
     %read_label = OpLabel
     %seen = OpLoad %uint %pointer
             OpReturnValue %seen
             OpFunctionEnd
     %main = OpFunction %void None %nothing
    %start = OpLabel
     %at_x = OpAccessChain %to_input %id %zero
        %i = OpLoad %uint %at_x
       %pa = OpAccessChain %to_uint %a %zero %i
       %pb = OpAccessChain %to_uint %b %zero %i
      %odd = OpBitwiseAnd %uint %i %one
   %is_odd = OpIEqual %bool %odd %one
   %chosen = OpSelect %to_uint %is_odd %pa %pb
    %value = OpFunctionCall %uint %read %chosen
             OpBranch %loop
     %loop = OpLabel
   %walker = OpPhi %to_uint %pa %start %next %again
    %count = OpPhi %uint %zero %start %more %again
  %is_left = OpULessThan %bool %count %four
             OpLoopMerge %end %again None
             OpBranchConditional %is_left %body %end
     %body = OpLabel
     %here = OpLoad %uint %walker
             OpBranch %again
    %again = OpLabel
     %next = OpPtrAccessChain %to_uint %walker %one
     %more = OpIAdd %uint %count %one
             OpBranch %loop
      %end = OpLabel
             OpStore %walker %value
             OpReturn
             OpFunctionEnd"
);

const COPIES: &str = assembly!(
    "",
    " %main = OpFunction %void None %nothing
    %start = OpLabel
     %at_x = OpAccessChain %to_input %id %zero
        %i = OpLoad %uint %at_x
     %next = OpIAdd %uint %i %one
       %pa = OpAccessChain %to_uint %a %zero %i
       %pb = OpAccessChain %to_uint %b %zero %next
             OpCopyMemory %pb %pa
             OpReturn
             OpFunctionEnd"
);

pub(super) fn compiled(source: &Source, is_optimized: bool, has_lines: bool) -> Vec<u32> {
    let compiler = shaderc::Compiler::new().unwrap();
    let mut options = shaderc::CompileOptions::new().unwrap();
    options.set_target_env(shaderc::TargetEnv::Vulkan, shaderc::EnvVersion::Vulkan1_1 as u32);
    if has_lines {
        options.set_generate_debug_info();
    }
    let glsl = match source {
        Glsl(glsl) | WithAddress(glsl) => *glsl,
        Written(glsl) => glsl,
        Assembly(text) => {
            let artifact = compiler.assemble(text, Some(&options)).unwrap_or_else(|error| panic!("{error}\n{text}"));
            return artifact.as_binary().to_vec();
        }
    };
    let source = format!("#version 460{EXTENSIONS}layout(local_size_x = {LOCAL}) in;\n{glsl}");
    let artifact = compiler.compile_into_spirv(&source, shaderc::ShaderKind::Compute, "form.comp", "main", Some(&options));
    let words = artifact.unwrap_or_else(|error| panic!("{error}\n{source}")).as_binary().to_vec();
    if !is_optimized {
        return words;
    }
    to_words(&spirv_tool("spirv-opt", &["-O", "--target-env=vulkan1.1", "-", "-o", "-"], &to_bytes(&words)).unwrap())
}

pub(super) fn prepared(form: &Form, spirv: Vec<u32>) -> Prepared {
    let module = Arc::new(Module::of_spirv(spirv, Some("main")).unwrap());
    let named = |(at, count): (usize, &u64)| {
        let contents = Contents::Sequence(Sequence::Words { seed: at as u64 });
        Resource::words("data", *count, contents)
    };
    let elements = |info: &BindingInfo| {
        let count = info.count;
        let binding = info.binding;
        (0..count).map(move |element| Binding { element, ..Binding::new(0, binding, (binding + element) as usize) })
    };
    let kernel = Kernel {
        source: "form.comp".into(),
        target: SpirvTarget::Vulkan1_1,
        local_size: [LOCAL, 1, 1],
        bindings: module.reflection.bindings.iter().flat_map(elements).collect(),
        ..Kernel::default()
    };
    let mut pass = vec![Step::Bind { kernel: 0 }];
    if !form.push.is_empty() {
        pass.push(Step::push_words(form.push));
    }
    if let WithAddress(_) = form.source {
        pass.push(Step::PushAddress { offset: 0, address: Address { resource: 0, byte: 0 } });
    }
    pass.push(Step::Dispatch { groups: [GROUPS, 1, 1] });
    let specialized = Specialized {
        entry: "main".into(),
        entries: Vec::new(),
        data: Vec::new(),
        local_size: [LOCAL, 1, 1],
        shared_bytes: module.reflection.shared_bytes(&Default::default()).unwrap(),
        push_bytes: module.reflection.push_bytes,
        bindings: module.reflection.bindings.clone(),
        required_subgroup_size: None,
        full_subgroups: false,
        module,
    };
    let case = Case {
        kernels: vec![kernel],
        resources: form.buffers.iter().enumerate().map(named).collect(),
        pass,
        ..Case::new("test/form", &Point::default())
    };
    Prepared { case, kernels: vec![specialized] }
}

/// What all workgroups recorded, and what it means. Nothing where the device can't run it.
pub(super) fn records(device: &mut Device, name: &str, prepared: &Prepared) -> Option<(Traced, Vec<u32>)> {
    let dispatch = prepared.dispatches()[0];
    let groups: Vec<u32> = (0..GROUPS).collect();
    let recording = Recording {
        memory: MemoryKind::DeviceLocal,
        groups: &groups,
        grid: dispatch.groups,
        invocations_per_group: LOCAL,
        capacity: CAPACITY / 64,
        invocations: None,
    };
    let traced = prepared
        .traced(dispatch, &TraceOptions { leaders: true, ..TraceOptions::default() })
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(validate(&traced.words), Ok(()), "{name}");
    let (with, resource) = prepared.recording(dispatch, &traced, &recording).unwrap();
    let left = ran(device, &with, Some((resource, recording.beginning())))?.pop()?;
    let buffer = recording.compacted(&left, &traced, &[]);
    assert!(!traced.recorded(&buffer).is_cut(), "{name}");
    Some((traced, buffer))
}

fn recorded(device: &mut Device, name: &str, prepared: &Prepared) -> Option<Vec<Expected>> {
    let (traced, buffer) = records(device, name, prepared)?;
    let recorded = traced.recorded(&buffer);
    let all = recorded.records().filter_map(|record| {
        let site = &traced.sites[record.site];
        let runs = match &site.target {
            Target::Root { runs, .. } | Target::Chosen { runs } | Target::Address { runs } => runs,
            Target::Nothing => return None,
            Target::Unfollowed(why) => panic!("{name}: {why:?}"),
        };
        let bytes = runs.iter().map(|run| run.bytes).sum();
        let space = match record.root.map(|root| traced.roots[root].space) {
            Some(Space::Storage { binding, .. }) => at(binding + record.element),
            space => space.unwrap_or(BY_ADDRESS),
        };
        let iterations = record.iterations.to_vec();
        Some((site.kind, space, record.group, record.invocation, iterations, record.offset.unwrap(), bytes))
    });
    let mut all: Vec<Expected> = all.collect();
    // The nearest of what addresses lead to is the buffer's beginning.
    let by_address = all.iter().filter(|one| one.1 == BY_ADDRESS).map(|one| one.5);
    let beginning = by_address.min().unwrap_or(0);
    all.iter_mut().filter(|one| one.1 == BY_ADDRESS).for_each(|one| one.5 -= beginning);
    all.sort();
    Some(all)
}

#[test]
fn each_form_of_access_is_recorded_as_the_source_says() {
    let options = DeviceOptions { is_robust: true, ..DeviceOptions::default() };
    let messages = messages_with(options, |device| {
        let mut cannot = BTreeSet::new();
        for form in FORMS {
            if form.needs.iter().any(|feature| !device.info().has(*feature)) {
                cannot.insert(form.name);
                continue;
            }
            let expected = Twin::of(form.twin);
            for (is_optimized, has_lines) in [(false, false), (false, true), (true, false), (true, true)] {
                let name = format!("{}, optimized: {is_optimized}, lines: {has_lines}", form.name);
                let prepared = prepared(form, compiled(&form.source, is_optimized, has_lines));
                let Some(found) = recorded(device, &name, &prepared) else {
                    cannot.insert(form.name);
                    continue;
                };
                let missing: Vec<&Expected> = expected.iter().filter(|one| !found.contains(one)).take(3).collect();
                let more: Vec<&Expected> = found.iter().filter(|one| !expected.contains(one)).take(3).collect();
                assert!(
                    found == expected,
                    "{name}: {} of {}; missing {missing:?}, not expected {more:?}",
                    found.len(),
                    expected.len()
                );
            }
        }
        eprintln!("{} can't run: {cannot:?}", device.info().name);
        assert!(cannot.len() < FORMS.len() / 3, "{cannot:?}");
    });
    assert_eq!(messages, [""; 0]);
}
