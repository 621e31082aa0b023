//! Specialization constants by name, workgroup sizes, bindings, and whole cases.

use lanescope::model::{Binding, Case, Kernel, Point, Scalar, SpirvTarget, Status, Step};
use lanescope::shader::{ScalarType, SpecializationEntry, SpecializeError, prepare, specialize};

use super::support::{HEAD, PATH, compiled, compiled_for, compiler, kernel};
use crate::support::only;

const CONSTANTS: &str = "#version 460
    #extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
    #include \"local_size.glsl\"
    layout(constant_id = 10) const bool FLAG = true;
    layout(constant_id = 11) const uint COUNT = 7;
    layout(constant_id = 12) const int SHIFT = -2;
    layout(constant_id = 13) const float SCALE = 1.5;
    layout(constant_id = 14) const uint64_t WIDE = 0x100000002UL;
    layout(constant_id = 15) const int64_t NEGATIVE = -1L;
    layout(constant_id = 16) const double PRECISE = 0.25;
    layout(binding = 0) buffer Out { uint64_t wide; int64_t negative; double fine; uint count; int shift; float scale; };
    void main() {
        if (FLAG) { wide += WIDE; negative += NEGATIVE; fine += PRECISE; count += COUNT; shift += SHIFT; scale += SCALE; }
    }";

fn with_constants(constants: &[(&str, Scalar)]) -> Kernel {
    let constants = constants.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let bindings = vec![Binding::new(0, 0, 0)];
    Kernel { constants, bindings, ..kernel([4, 2, 1]) }
}

#[test]
fn constants_of_every_type_are_read_with_name_and_default() {
    for target in [SpirvTarget::Vulkan1_1, SpirvTarget::Vulkan1_3] {
        let module = compiled_for(CONSTANTS, target);
        let named = module.reflection.spec_constants.iter().filter(|constant| !constant.name.is_empty());
        let found: Vec<_> = named.map(|c| (c.id, c.name.as_str(), c.ty, c.default_bits)).collect();
        let expected = [
            (10, "FLAG", ScalarType::Bool, 1),
            (11, "COUNT", ScalarType::U32, 7),
            (12, "SHIFT", ScalarType::I32, 0xffff_fffe),
            (13, "SCALE", ScalarType::F32, 1.5_f32.to_bits().into()),
            (14, "WIDE", ScalarType::U64, 0x1_0000_0002),
            (15, "NEGATIVE", ScalarType::I64, u64::MAX),
            (16, "PRECISE", ScalarType::F64, 0.25_f64.to_bits()),
        ];
        assert_eq!(found, expected);
    }
}

#[test]
fn values_are_packed_by_id_with_the_size_of_their_type() {
    let module = compiled(CONSTANTS);
    let kernel = with_constants(&[
        ("PRECISE", Scalar::F64(0.5)),
        ("FLAG", Scalar::Bool(false)),
        ("SHIFT", Scalar::I32(-5)),
        ("NEGATIVE", Scalar::I64(-9)),
        ("SCALE", Scalar::F32(2.0)),
        ("WIDE", Scalar::U64(3)),
        ("COUNT", Scalar::U32(8)),
    ]);
    let specialized = specialize(&module, &kernel).unwrap();
    let value = |id: u32| -> &[u8] {
        let entry: &SpecializationEntry = specialized.entries.iter().find(|entry| entry.id == id).unwrap();
        assert_eq!(entry.offset % entry.size, 0);
        &specialized.data[entry.offset as usize..][..entry.size as usize]
    };
    assert_eq!(specialized.entries.len(), 10);
    assert_eq!((value(0), value(1), value(2)), (&4_u32.to_ne_bytes()[..], &2_u32.to_ne_bytes()[..], &1_u32.to_ne_bytes()[..]));
    assert_eq!((value(10), value(11)), (&0_u32.to_ne_bytes()[..], &8_u32.to_ne_bytes()[..]));
    assert_eq!((value(12), value(13)), (&(-5_i32).to_ne_bytes()[..], &2_f32.to_ne_bytes()[..]));
    assert_eq!((value(14), value(15)), (&3_u64.to_ne_bytes()[..], &(-9_i64).to_ne_bytes()[..]));
    assert_eq!(value(16), &0.5_f64.to_ne_bytes()[..]);
    assert_eq!((specialized.entry.as_str(), specialized.local_size), ("main", [4, 2, 1]));
}

#[test]
fn an_unknown_constant_names_the_nearest() {
    let error = specialize(&compiled(CONSTANTS), &with_constants(&[("COUNTS", Scalar::U32(1))])).unwrap_err();
    assert!(error.to_string().starts_with("no specialization constant `COUNTS`; did you mean COUNT"), "{error}");
}

#[test]
fn a_value_of_another_type_is_refused() {
    let error = specialize(&compiled(CONSTANTS), &with_constants(&[("COUNT", Scalar::I32(1))])).unwrap_err();
    assert_eq!(error.to_string(), "specialization constant `COUNT` is uint, but is given int");
    let twice = with_constants(&[("COUNT", Scalar::U32(1)), ("COUNT", Scalar::U32(2))]);
    assert_eq!(specialize(&compiled(CONSTANTS), &twice).unwrap_err(), SpecializeError::Twice { id: 11 });
}

#[test]
fn a_literal_size_serves_only_itself() {
    let module = compiled("#version 460\nlayout(local_size_x = 8) in; void main() {}");
    assert!(specialize(&module, &kernel([8, 1, 1])).unwrap().entries.is_empty());
    let error = specialize(&module, &kernel([16, 1, 1])).unwrap_err();
    assert!(error.to_string().starts_with("the shader's local size is [8, 1, 1], and can't be made [16, 1, 1]"), "{error}");
}

#[test]
fn one_constant_for_two_directions_takes_equal_sizes() {
    let module = compiled("#version 460\nlayout(local_size_x_id = 3, local_size_y_id = 3) in; void main() {}");
    assert_eq!(specialize(&module, &kernel([8, 8, 1])).unwrap().data, 8_u32.to_ne_bytes());
    assert_eq!(specialize(&module, &kernel([8, 4, 1])).unwrap_err(), SpecializeError::Twice { id: 3 });
}

#[test]
fn every_descriptor_is_bound_once_and_no_other() {
    let module = compiled(&format!(
        "{HEAD}
        layout(binding = 0) readonly buffer In {{ uint source[]; }};
        layout(binding = 1) writeonly buffer Out {{ uint target[]; }};
        void main() {{ target[0] = source[0]; }}"
    ));
    let bind = |places: &[(u32, u32)]| {
        let bindings = places.iter().map(|&(set, binding)| Binding::new(set, binding, 0)).collect();
        specialize(&module, &Kernel { bindings, ..kernel([1, 1, 1]) }).map(drop)
    };
    assert_eq!(bind(&[(0, 1), (0, 0)]), Ok(()));
    assert_eq!(bind(&[(0, 0)]), Err(SpecializeError::Unbound { set: 0, binding: 1 }));
    assert_eq!(bind(&[(0, 0), (0, 1), (1, 0)]), Err(SpecializeError::Undeclared { set: 1, binding: 0 }));
    assert_eq!(bind(&[(0, 0), (0, 1), (0, 1)]), Err(SpecializeError::BoundTwice { set: 0, binding: 1 }));
}

#[test]
fn memory_and_push_constants_are_reported_under_the_values() {
    let module = compiled(&format!(
        "{HEAD}
        layout(constant_id = 3) const uint PADDING = 0;
        layout(binding = 0) buffer Data {{ uint data[]; }};
        layout(push_constant) uniform Push {{ uint n; uvec2 m; }} push;
        shared uint tile[gl_WorkGroupSize.x + PADDING];
        void main() {{ tile[0] = push.n; data[0] = tile[1]; }}"
    ));
    let kernel =
        Kernel { local_size: [32, 1, 1], required_subgroup_size: Some(32), ..with_constants(&[("PADDING", Scalar::U32(1))]) };
    let specialized = specialize(&module, &kernel).unwrap();
    assert_eq!((specialized.shared_bytes, specialized.push_bytes), (132, 16));
    assert_eq!(specialized.required_subgroup_size, Some(32));
}

#[test]
fn a_descriptor_array_keeps_its_length() {
    let module = compiled(&format!(
        "{HEAD}
        layout(constant_id = 3) const uint COUNT = 2;
        layout(binding = 0) buffer Data {{ uint data[]; }} buffers[COUNT];
        void main() {{ buffers[0].data[0] = 1; }}"
    ));
    assert!(specialize(&module, &with_constants(&[("COUNT", Scalar::U32(2))])).is_ok());
    let longer = specialize(&module, &with_constants(&[("COUNT", Scalar::U32(3))]));
    assert_eq!(longer.unwrap_err(), SpecializeError::DescriptorCount { set: 0, binding: 0 });
}

fn case(kernel: Kernel) -> Case {
    Case {
        kernels: vec![kernel],
        pass: vec![Step::Bind { kernel: 0 }, Step::Dispatch { groups: [1, 1, 1] }],
        ..Case::new("test/snippet", &Point::default())
    }
}

#[test]
fn a_case_is_prepared_or_fails_with_the_shaders_path() {
    let mut compiler = compiler(&format!("{HEAD} void main() {{}}"));
    let prepared = prepare(case(kernel([64, 1, 1])), &mut compiler).unwrap();
    assert_eq!(only(&prepared.kernels).local_size, [64, 1, 1]);
    assert_eq!(prepared.case, case(kernel([64, 1, 1])));

    let failure = prepare(case(with_constants(&[])), &mut compiler).unwrap_err();
    assert_eq!(failure.status, Status::CompileError);
    assert!(failure.reason.starts_with(&format!("{PATH}: a resource is bound to set 0, binding 0")), "{}", failure.reason);

    let missing = Kernel { source: "test/snipet.comp".into(), ..kernel([1, 1, 1]) };
    let failure = prepare(case(missing), &mut compiler).unwrap_err();
    assert_eq!(failure.status, Status::CompileError);
    assert!(failure.reason.contains("did you mean test/snippet.comp"), "{}", failure.reason);
}
