//! Layouts of blocks: offsets and strides worked out by hand from the rules of std140, std430 and scalar layouts.

use std::ops::ControlFlow;

use lanescope::model::SpirvTarget;
use lanescope::shader::{
    Access, BlockInfo, BlockPlace, MatrixOrder, MemberLayout, Reflection, SpecValues, StructLayout, TypeLayout, load,
};
use rspirv::binary::Assemble;
use rspirv::dr::Operand;
use rspirv::spirv::Decoration;

use crate::support::{spirv_tool, to_words};

use super::support::{HEAD, compiled, compiled_for, compiled_with_news, reflected};

/// Types of every form that has a layout, as members of a block.
const MEMBERS: &str = "uint n; vec3 v; float f; mat3 m; layout(row_major) mat2x3 rows; Inner inner[2]; double d;";
const INNER: &str = "struct Inner { vec3 a; mat2 b[3]; };";

/// The blocks of a module under the default specialization.
fn blocks(declarations: &str, uses: &str) -> Vec<BlockInfo> {
    let module = compiled(&format!("{HEAD} {declarations} void main() {{ {uses} }}"));
    module.reflection.blocks(&SpecValues::new()).unwrap()
}

/// A layout as text, a line for each member: offset, type, name and strides; members of structs are indented.
fn lines(layout: &StructLayout) -> Vec<String> {
    layout.members.iter().flat_map(member_lines).collect()
}

fn member_lines(member: &MemberLayout) -> Vec<String> {
    let (mut ty, mut strides) = (&member.ty, String::new());
    while let TypeLayout::Array { stride, element, .. } | TypeLayout::RuntimeArray { stride, element } = ty {
        strides.push_str(&format!(" /{stride}"));
        ty = element;
    }
    if let TypeLayout::Matrix { stride, order, .. } = ty {
        let vectors = if *order == MatrixOrder::RowMajor { "rows" } else { "columns" };
        strides.push_str(&format!(" {vectors} /{stride}"));
    }
    let mut lines = vec![format!("{} {} {}{strides}", member.offset, member.ty, member.name)];
    if let TypeLayout::Struct(inner) = ty {
        lines.extend(self::lines(inner).into_iter().map(|line| format!("  {line}")));
    }
    lines
}

#[test]
fn a_storage_buffer_follows_std430() {
    let declarations = format!("{INNER} layout(binding = 0) buffer Data {{ {MEMBERS} vec2 tail[]; }} data;");
    let [data] = &blocks(&declarations, "data.tail[0] = vec2(data.f);")[..] else { panic!("one block") };
    let expected = [
        "0 uint n",
        "16 vec3 v",
        "28 float f",
        "32 mat3 m columns /16",
        // Three rows of two numbers.
        "80 row_major mat2x3 rows rows /8",
        "112 Inner[2] inner /64",
        "  0 vec3 a",
        "  16 mat2[3] b /16 columns /8",
        "240 double d",
        "248 vec2[] tail /8",
    ];
    assert_eq!(lines(&data.layout), expected);
    assert_eq!((data.name.as_str(), data.layout.type_name.as_str()), ("data", "Data"));
    assert_eq!(data.place, BlockPlace::StorageBuffer { set: 0, binding: 0 });
    assert_eq!((data.layout.bytes, data.runtime_stride()), (248, Some(8)));
    assert_eq!((data.bytes_with(0), data.bytes_with(10)), (Some(248), Some(328)));
    assert_eq!(data.bytes_with(u64::MAX), None);
}

#[test]
fn a_uniform_buffer_follows_std140() {
    let declarations = format!(
        "{INNER} layout(set = 1, binding = 2) uniform Parameters {{ {MEMBERS} }};
        layout(binding = 0) buffer Out {{ float result; }};"
    );
    let found = blocks(&declarations, "result = f;");
    let [out, parameters] = &found[..] else { panic!("two blocks") };
    let expected = [
        "0 uint n",
        "16 vec3 v",
        "28 float f",
        "32 mat3 m columns /16",
        "80 row_major mat2x3 rows rows /16",
        "128 Inner[2] inner /112",
        "  0 vec3 a",
        "  16 mat2[3] b /32 columns /16",
        "352 double d",
    ];
    assert_eq!(lines(&parameters.layout), expected);
    assert_eq!((parameters.name.as_str(), parameters.layout.bytes), ("Parameters", 360));
    assert_eq!(parameters.place, BlockPlace::UniformBuffer { set: 1, binding: 2 });
    assert_eq!(parameters.runtime_stride(), None);
    assert_eq!(parameters.bytes_with(7), Some(360));
    assert_eq!((out.layout.bytes, out.name.as_str()), (4, "Out"));
}

#[test]
fn small_and_wide_types_keep_their_alignment() {
    let module = compiled(
        "#version 460
        #extension GL_EXT_shader_explicit_arithmetic_types : require
        #include \"local_size.glsl\"
        layout(binding = 0) buffer Data {
            uint8_t a; u8vec3 b; f16vec2 c; int64_t d; uint16_t e[3]; int8_t f; bool g; bvec3 h; f16mat2 i; i64vec2 j; dvec3 k[];
        };
        void main() { a = uint8_t(1); }",
    );
    let [data] = &module.reflection.blocks(&[].into()).unwrap()[..] else { panic!("one block") };
    let expected = [
        "0 uint8_t a",
        "4 u8vec3 b",
        "8 f16vec2 c",
        "16 int64_t d",
        "24 uint16_t[3] e /2",
        "30 int8_t f",
        // A bool has no layout: the compiler stores it as 32 bits.
        "32 uint g",
        "48 uvec3 h",
        "60 f16mat2 i columns /4",
        "80 i64vec2 j",
        "96 dvec3[] k /32",
    ];
    assert_eq!(lines(&data.layout), expected);
}

#[test]
fn a_scalar_layout_has_no_padding() {
    let module = compiled_with_news(&format!(
        "#version 460
        #extension GL_EXT_scalar_block_layout : require
        #include \"local_size.glsl\"
        {INNER} layout(scalar, binding = 0) buffer Data {{ {MEMBERS} vec3 tail[]; }};
        void main() {{ tail[0] = v; }}"
    ));
    let [data] = &module.reflection.blocks(&[].into()).unwrap()[..] else { panic!("one block") };
    let expected = [
        "0 uint n",
        "4 vec3 v",
        "16 float f",
        "20 mat3 m columns /12",
        "56 row_major mat2x3 rows rows /8",
        "80 Inner[2] inner /60",
        "  0 vec3 a",
        "  12 mat2[3] b /16 columns /8",
        "200 double d",
        "208 vec3[] tail /12",
    ];
    assert_eq!(lines(&data.layout), expected);
}

#[test]
fn push_constants_come_last_and_agree_with_their_size() {
    let declarations = "layout(binding = 3) buffer Out { uint result; };
        layout(push_constant) uniform Push { uint first; layout(offset = 32) layout(row_major) mat2x4 m; uint last; } push;";
    let module = compiled(&format!("{HEAD} {declarations} void main() {{ result = push.last; }}"));
    let found = module.reflection.blocks(&[].into()).unwrap();
    let [_, push] = &found[..] else { panic!("two blocks") };
    assert_eq!((push.place, push.name.as_str()), (BlockPlace::PushConstants, "push"));
    assert_eq!(lines(&push.layout), ["0 uint first", "32 row_major mat2x4 m rows /8", "64 uint last"]);
    assert_eq!(push.layout.bytes, u64::from(module.reflection.push_bytes));
}

#[test]
fn lengths_follow_specialization_constants() {
    let module = compiled(&format!(
        "{HEAD}
        layout(constant_id = 3) const uint N = 4;
        layout(binding = 0) buffer Grid {{ uint n; vec2 cells[N * 2][3]; }};
        struct Line {{ float values[N]; }};
        layout(binding = 1) buffer Lines {{ Line lines[]; }};
        void main() {{ cells[0][0] = vec2(lines[0].values[0]); }}"
    ));
    let at = |n| module.reflection.blocks(&[(3, n)].into());
    let [grid, rows] = &module.reflection.blocks(&[].into()).unwrap()[..] else { panic!("two blocks") };
    assert_eq!(lines(&grid.layout), ["0 uint n", "8 vec2[8][3] cells /24 /8"]);
    assert_eq!((grid.layout.bytes, at(5).unwrap()[0].layout.bytes), (8 + 8 * 24, 8 + 10 * 24));
    // Strides and offsets are those of the default, which the compiler laid out: so it is on the device as well.
    assert_eq!(lines(&rows.layout), ["0 Line[] lines /16", "  0 float[4] values /4"]);
    assert_eq!(lines(&at(2).unwrap()[1].layout), ["0 Line[] lines /16", "  0 float[2] values /4"]);
    let words = "`Grid.cells` has no elements where N is 0: give another value by -c N=VALUE";
    assert_eq!(at(0).unwrap_err().to_string(), words);
}

#[test]
fn each_view_of_a_buffer_is_a_block() {
    let found = blocks(
        "layout(binding = 1) readonly buffer Words { uint words[]; };
        layout(binding = 1) writeonly buffer Vectors { uvec4 vectors[]; };
        layout(binding = 0) buffer Many { uint v[]; } many[6];",
        "vectors[0] = uvec4(words[9], many[5].v[2], 0, 0);",
    );
    let strides: Vec<_> = found.iter().map(|block| (block.name.as_str(), block.runtime_stride())).collect();
    assert_eq!(strides, [("many", Some(4)), ("Vectors", Some(16)), ("Words", Some(4))]);
}

#[test]
fn images_and_samplers_have_no_block() {
    let found = blocks("layout(binding = 0, r32f) uniform image2D i;", "imageStore(i, ivec2(0), vec4(0));");
    assert_eq!(found, []);
}

/// A list whose nodes lead to each other: its type has no end, its layout has.
#[test]
fn addresses_are_not_followed() {
    let module = compiled_for(
        "#version 460
        #extension GL_EXT_buffer_reference : require
        #include \"local_size.glsl\"
        layout(buffer_reference) buffer Node;
        layout(buffer_reference, std430) buffer Node { uint value; Node next; };
        layout(push_constant) uniform Push { Node head; Node others[2]; uint n; };
        layout(binding = 0) buffer Out { uint result; Node nodes[]; };
        void main() { result = head.next.value + nodes[n].value + others[1].value; }",
        SpirvTarget::Vulkan1_3,
    );
    let found = module.reflection.blocks(&[].into()).unwrap();
    let [out, push] = &found[..] else { panic!("two blocks") };
    assert_eq!(lines(&out.layout), ["0 uint result", "8 Node[] nodes /8"]);
    assert_eq!(lines(&push.layout), ["0 Node head", "8 Node[2] others /8", "24 uint n"]);
    assert!(matches!(&push.layout.members[0].ty, TypeLayout::Pointer { to, .. } if to == "Node"));
    assert_eq!(push.layout.members[0].ty.bytes(), Some(8));
}

/// What lies where an address leads is told by its type; and of numbers, only where the shader makes addresses of some.
#[test]
fn addresses_are_found_and_what_is_done_there() {
    let text = "#version 450
        #extension GL_EXT_buffer_reference : require
        #extension GL_EXT_buffer_reference_uvec2 : require
        layout(local_size_x = 1) in;
        layout(buffer_reference, std430) readonly buffer Read { uint r[]; };
        layout(buffer_reference, std430) buffer Written { uint w[]; };
        layout(buffer_reference, std430) buffer Counted { uint c; };
        layout(buffer_reference, std430) buffer Unused { uint u; };
        layout(buffer_reference, std430) readonly buffer Table { uvec2 number; Read r; Unused none; uvec4 plain; Written w[2]; };
        layout(push_constant) uniform Push { uvec2 number; uint n; Table table; };
        void add(Counted at) { atomicAdd(at.c, 1u); }
        void main() {
            uint i = gl_GlobalInvocationID.x;
            table.w[n].w[i] = table.r.r[i];
            add(Counted(number));
        }";
    let module = compiled_for(text, SpirvTarget::Vulkan1_3);
    let reflection = &module.reflection;
    let blocks = reflection.blocks(&[].into()).unwrap();
    let places = |ty: &TypeLayout, end: u64| {
        let mut found = Vec::new();
        let visited = reflection.addresses_in(ty, end, &mut |at, pointee| {
            found.push((at, pointee));
            ControlFlow::Continue(())
        });
        assert!(visited.is_continue());
        found
    };
    let pushed = places(&TypeLayout::Struct(blocks[0].layout.clone()), 24);
    let [(0, None), (16, Some(table))] = pushed[..] else { panic!("{pushed:?}") };
    assert_eq!(reflection.access_by_address(None), Some(Access::ReadWrite));
    assert_eq!(reflection.access_by_address(Some(table)), Some(Access::ReadOnly));
    let [of_table] = &reflection.pointees(Some(table), &[].into())[..] else { panic!() };
    let held = places(of_table, 64);
    let told: Vec<_> = held.iter().map(|(at, pointee)| (*at, reflection.access_by_address(*pointee))).collect();
    let counted = Some(Access::ReadWrite);
    assert_eq!(
        told,
        [
            (0, counted),
            (8, Some(Access::ReadOnly)),
            (16, None), // Each two words of a vector that lie beside each other.
            (32, counted),
            (36, counted),
            (40, counted),
            (48, Some(Access::WriteOnly)),
            (56, Some(Access::WriteOnly)),
        ]
    );
    assert_eq!(places(of_table, 60).len(), 7, "the last one doesn't fit");
    let plain = compiled(
        "#version 450\nlayout(push_constant) uniform P { uvec2 a; };\nlayout(binding = 0) buffer B { uvec2 b; };\nvoid main() { b = a; }",
    );
    let block = plain.reflection.blocks(&[].into()).unwrap().remove(0);
    assert!(!plain.reflection.may_hold_addresses(&TypeLayout::Struct(block.layout)));
}

/// GLSL has no empty struct, other languages have; and before SPIR-V 1.3 a storage buffer was a uniform.
#[test]
fn empty_structs_and_old_buffers_have_a_layout() {
    let reflection = reflected(
        r#"OpCapability Shader
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %f "main"
        OpExecutionMode %f LocalSize 1 1 1
        OpName %Empty "Empty"
        OpMemberName %Block 1 "after"
        OpDecorate %Block BufferBlock
        OpMemberDecorate %Block 0 Offset 0
        OpMemberDecorate %Block 1 Offset 16
        OpDecorate %data DescriptorSet 0
        OpDecorate %data Binding 3
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %uint = OpTypeInt 32 0
        %Empty = OpTypeStruct
        %Block = OpTypeStruct %Empty %uint
        %ptr = OpTypePointer Uniform %Block
        %data = OpVariable %ptr Uniform
        %f = OpFunction %void None %fn
        %fl = OpLabel
        OpReturn
        OpFunctionEnd"#,
        "vulkan1.0",
    );
    let [data] = &reflection.blocks(&[].into()).unwrap()[..] else { panic!("one block") };
    assert_eq!(data.place, BlockPlace::StorageBuffer { set: 0, binding: 3 });
    assert_eq!(lines(&data.layout), ["0 Empty ", "16 uint after"]);
    assert_eq!(data.layout.bytes, 20);
    assert_eq!(data.layout.members[0].ty.bytes(), Some(0));
}

/// A module with and without the decorations of one kind.
fn without(decoration: Decoration) -> Reflection {
    let declarations = "layout(binding = 0) buffer Data { mat2 m; uint n[4]; } data;";
    let module = compiled(&format!("{HEAD} {declarations} void main() {{ data.n[0] = 1; }}"));
    let mut module = load(&module.words).unwrap();
    module.annotations.retain(|instruction| !instruction.operands.contains(&Operand::Decoration(decoration)));
    Reflection::parse(&module.assemble()).unwrap()
}

#[test]
fn a_block_without_offsets_or_strides_is_an_error() {
    assert!(without(Decoration::SpecId).blocks(&[].into()).is_ok());
    for (needed, member) in [(Decoration::Offset, "m"), (Decoration::ArrayStride, "n"), (Decoration::MatrixStride, "m")] {
        let error = without(needed).blocks(&[].into()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("`{member}` of `data` has no {needed:?}: ")), "{error}");
    }
}

#[test]
fn layouts_are_written_as_json() {
    let found = blocks("layout(binding = 0) buffer Data { layout(row_major) mat2 m; uint last[]; };", "last[0] = 1;");
    let expected = serde_json::json!([{
        "kind": "storage_buffer", "set": 0, "binding": 0, "name": "Data",
        "layout": { "type_name": "Data", "bytes": 16, "members": [
            { "name": "m", "offset": 0, "type": {
                "kind": "matrix", "scalar": "float", "columns": 2, "rows": 2, "stride": 8, "order": "row_major" } },
            { "name": "last", "offset": 16, "type": {
                "kind": "runtime_array", "stride": 4, "element": { "kind": "scalar", "scalar": "uint" } } },
        ] },
    }]);
    assert_eq!(serde_json::to_value(found).unwrap(), expected);
    let push = blocks("layout(push_constant) uniform Push { uint n; } push;", "uint n = push.n;");
    assert_eq!(serde_json::to_value(&push[0]).unwrap()["kind"], "push_constants");
}

// ---- what specialization lays over each other -------------------------------------------------------------------------------

/// What overlaps in blocks whose array has so many elements.
fn overlap(declarations: &str, uses: &str, length: u64) -> Option<String> {
    let constant = "layout(constant_id = 7) const uint N = 4;";
    let module = compiled(&format!("{HEAD} {constant} {declarations} void main() {{ {uses} }}"));
    let blocks = module.reflection.blocks(&[(7, length)].into()).unwrap();
    blocks.iter().find_map(|block| block.layout.overlap(&block.name)).map(|overlap| overlap.to_string())
}

#[test]
fn an_array_that_a_constant_makes_longer_reaches_into_what_follows() {
    let parts = "layout(binding = 0) buffer Data { float parts[N]; uint tail; } data;";
    // As the last member it has room, but not in an array's element.
    let last = "layout(binding = 0) buffer Data { uint head; float parts[N]; } data;";
    let element = "struct Light { vec4 colour; float parts[N]; };
        layout(binding = 0) buffer Data { uint head; Light lights[]; } data;";
    let rows = "struct Row { float parts[N]; }; layout(binding = 0) buffer Data { Row rows[3]; uint tail; } data;";
    let inner = "struct Light { float parts[N]; uint tail; };
        layout(binding = 0) buffer Data { uint head; Light lights[2][3]; } data;";
    for (declarations, uses, length, said) in [
        (parts, "data.tail = 1;", 4, None),
        (parts, "data.tail = 1;", 1, None),
        (parts, "data.tail = 1;", 5, Some("`data.parts` ends at byte 20, and `data.tail` begins at 16")),
        (last, "data.head = 1;", 1000, None),
        (element, "data.head = 1;", 4, None),
        (element, "data.head = 1;", 8, Some("`data.lights[]` ends at byte 48, and its next element begins at 32")),
        (rows, "data.tail = 1;", 4, None),
        (rows, "data.tail = 1;", 5, Some("`data.rows[]` ends at byte 20, and its next element begins at 16")),
        (inner, "data.head = 1;", 4, None),
        (inner, "data.head = 1;", 6, Some("`data.lights[][].parts` ends at byte 24, and `data.lights[][].tail` begins at 16")),
    ] {
        assert_eq!(overlap(declarations, uses, length).as_deref(), said, "{declarations} {length}");
    }
    let pushed = "layout(push_constant) uniform P { float parts[N]; uint tail; };";
    let out = "layout(binding = 0) buffer Data { uint head; };";
    assert!(overlap(&format!("{pushed} {out}"), "head = tail;", 5).is_some());
}

/// What padding leaves behind the last column, or the last element, may be used by what follows.
#[test]
fn what_lies_in_padding_overlaps_nothing() {
    let declarations = format!("{INNER} layout(binding = 0, std140) uniform Data {{ {MEMBERS} float tail[N]; }} data;");
    let out = "layout(binding = 1) buffer Out { double result; };";
    assert_eq!(overlap(&format!("{declarations} {out}"), "result = data.d + data.tail[0];", 100), None);
    let packed = "
               OpCapability Shader
               OpMemoryModel Logical GLSL450
               OpEntryPoint GLCompute %main \"main\"
               OpExecutionMode %main LocalSize 1 1 1
               OpName %data \"data\"
               OpMemberName %Data 0 \"rows\"
               OpMemberName %Data 1 \"next\"
               OpMemberName %Data 2 \"turned\"
               OpMemberName %Data 3 \"last\"
               OpDecorate %array ArrayStride 16
               OpMemberDecorate %Data 0 Offset 0
               OpMemberDecorate %Data 1 Offset 36
               OpMemberDecorate %Data 2 Offset 48
               OpMemberDecorate %Data 2 RowMajor
               OpMemberDecorate %Data 2 MatrixStride 16
               OpMemberDecorate %Data 3 Offset 76
               OpDecorate %Data Block
               OpDecorate %data DescriptorSet 0
               OpDecorate %data Binding 0
       %void = OpTypeVoid
         %fn = OpTypeFunction %void
      %float = OpTypeFloat 32
       %uint = OpTypeInt 32 0
      %three = OpConstant %uint 3
      %array = OpTypeArray %float %three
       %pair = OpTypeVector %float 2
     %turned = OpTypeMatrix %pair 3
       %Data = OpTypeStruct %array %float %turned %float
        %ptr = OpTypePointer StorageBuffer %Data
       %data = OpVariable %ptr StorageBuffer
       %main = OpFunction %void None %fn
      %entry = OpLabel
               OpReturn
               OpFunctionEnd";
    let blocks = reflected(packed, "vulkan1.1").blocks(&SpecValues::new()).unwrap();
    assert_eq!(blocks.iter().find_map(|block| block.layout.overlap(&block.name)), None);
}

/// The validator has judged these as they are: none overlaps.
#[test]
fn what_is_valid_does_not_overlap() {
    let declarations = format!("{INNER} layout(binding = 0) buffer Data {{ {MEMBERS} vec2 tail[]; }} data;");
    for block in blocks(&declarations, "data.tail[0] = vec2(data.f);") {
        assert_eq!(block.layout.overlap(&block.name), None);
    }
}

/// A value that nobody reads is asked of nobody.
#[test]
fn blocks_tell_what_is_read() {
    let declarations = "struct Light { vec3 at; uint kind; };
        layout(binding = 0) uniform Scene { uint frame; Light light; Light lights[4]; vec4 table[8]; mat4 turn; } scene;
        layout(binding = 1) uniform Part { uint unread; float part; } parts[2];
        layout(push_constant) uniform Pushed { uint first; uint second; };
        layout(binding = 2) buffer Out { vec4 o[]; };
        float of(Light light) { return float(light.kind); }";
    let reads = |uses: &str, place: usize| {
        let mut reads: Vec<(u64, u64)> =
            blocks(declarations, uses)[place].reads.iter().map(|read| (read.start, read.end)).collect();
        reads.sort_unstable();
        reads
    };
    let [scene, parts, pushed] = [0, 1, 3];
    assert_eq!(reads("o[0] = vec4(0);", scene), []);
    assert_eq!(reads("o[0].x = float(scene.frame);", scene), [(0, 4)]);
    assert_eq!(reads("o[0].x = scene.light.at.y;", scene), [(16, 28)]);
    assert_eq!(reads("o[0].x = float(scene.lights[2].kind) + float(scene.frame);", scene), [(0, 4), (76, 80)]);
    // What can't be followed reads all that it may.
    assert_eq!(reads("o[0].x = float(scene.lights[uint(o[1].x)].kind);", scene), [(32, 96)]);
    assert_eq!(reads("o[0].x = of(scene.light);", scene), [(16, 32)]);
    assert_eq!(reads("o[0] = scene.turn[1] + scene.table[3];", scene), [(144, 160), (224, 288)]);
    assert_eq!(reads("o[0].x = parts[1].part;", parts), [(4, 8)]);
    assert_eq!(reads("o[0].x = float(second);", pushed), [(4, 8)]);
}

/// A module may declare several blocks of push constants, of which an entry point uses one: that one is pushed.
#[test]
fn the_push_constants_are_those_that_are_used() {
    let text = "OpCapability Shader\nOpMemoryModel Logical GLSL450\nOpEntryPoint GLCompute %main \"main\"\n\
        OpExecutionMode %main LocalSize 1 1 1\nOpName %unused \"unused\"\nOpName %used \"used\"\n\
        OpMemberDecorate %u 0 Offset 0\nOpDecorate %u Block\nOpMemberDecorate %v 0 Offset 0\nOpMemberDecorate %v 1 Offset 4\n\
        OpDecorate %v Block\n%void = OpTypeVoid\n%function = OpTypeFunction %void\n%uint = OpTypeInt 32 0\n%c1 = OpConstant %uint 1\n\
        %u = OpTypeStruct %uint\n%v = OpTypeStruct %uint %uint\n%pu = OpTypePointer PushConstant %u\n\
        %pv = OpTypePointer PushConstant %v\n%element = OpTypePointer PushConstant %uint\n\
        %unused = OpVariable %pu PushConstant\n%used = OpVariable %pv PushConstant\n\
        %main = OpFunction %void None %function\n%l = OpLabel\n%p = OpAccessChain %element %used %c1\n%x = OpLoad %uint %p\n\
        OpReturn\nOpFunctionEnd";
    let words = to_words(&spirv_tool("spirv-as", &["--target-env", "spv1.3", "-o", "-", "-"], text.as_bytes()).unwrap());
    let blocks = Reflection::parse(&words).unwrap().blocks(&SpecValues::new()).unwrap();
    let names: Vec<(&str, u64)> = blocks.iter().map(|block| (block.name.as_str(), block.reads[0].start)).collect();
    assert_eq!(names, [("used", 4)]);
}
