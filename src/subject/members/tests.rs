use super::*;
use crate::shader::MatrixOrder;

fn member(name: &str, offset: u32, ty: TypeLayout) -> MemberLayout {
    MemberLayout { name: name.into(), offset, ty }
}

/// As std140 has it: `struct Light { vec3 position; uint kind; }; uint width; Light light; Light lights[2]; float weights[4];
/// mat2 turn;`
fn block() -> StructLayout {
    use ScalarType::{F32, U32};
    let light = StructLayout {
        type_name: "Light".into(),
        bytes: 16,
        members: vec![
            member("position", 0, TypeLayout::Vector { scalar: F32, components: 3 }),
            member("kind", 12, TypeLayout::Scalar { scalar: U32 }),
        ],
    };
    let light = TypeLayout::Struct(light);
    let array = |length, element| TypeLayout::Array { length, stride: 16, element: Box::new(element) };
    let turn = TypeLayout::Matrix { scalar: F32, columns: 2, rows: 2, stride: 16, order: MatrixOrder::ColumnMajor };
    let members = vec![
        member("width", 0, TypeLayout::Scalar { scalar: U32 }),
        member("light", 16, light.clone()),
        member("lights", 32, array(2, light)),
        member("weights", 64, array(4, TypeLayout::Scalar { scalar: F32 })),
        member("turn", 128, turn),
    ];
    StructLayout { type_name: "Scene".into(), bytes: 160, members }
}

fn pushed<'l>(layout: &'l StructLayout, name: &'l str) -> MemberBlock<'l> {
    MemberBlock {
        layout,
        name,
        place: BlockPlace::PushConstants,
        bytes: layout.bytes,
        reads: std::iter::once(0..u64::MAX).collect(),
    }
}

/// `--threads` tells what a vector of that name is, be it of whole numbers or not.
#[test]
fn an_extent_is_what_the_invocations_cover() {
    use ScalarType::{F32, U32};
    let vector = |name: &str, offset, scalar, components| member(name, offset, TypeLayout::Vector { scalar, components });
    let members = vec![vector("image_size", 0, U32, 2), vector("iResolution", 16, F32, 3), vector("cell_size", 32, F32, 2)];
    let layout = StructLayout { type_name: "P".into(), bytes: 40, members };
    let told = |variables: &Variables| unsaid(&[pushed(&layout, "")], &[], variables).into_iter().map(|member| member.assumed);
    let assumed = |values: [Option<&str>; 3]| values.map(|value| value.map(str::to_owned));
    let mut variables = Variables::new(64);
    assert!(told(&variables).eq(assumed([None, Some("1"), Some("1")])));
    variables.threads = Some([32, 8, 1]);
    assert!(told(&variables).eq(assumed([Some("32,8"), Some("32,8,1"), Some("1")])));
    let bytes = fill(&pushed(&layout, ""), &[], &variables).unwrap();
    assert_eq!((whole(&bytes, 0), whole(&bytes, 4), float(&bytes, 16), float(&bytes, 24)), (32, 8, 32.0, 1.0));
    // As images of so many texels are.
    variables.threads = Some([64, 1, 1]);
    assert!(told(&variables).eq(assumed([Some("8"), Some("8,8,1"), Some("1")])));
}

/// The same of one number a direction, where the invocations have extent there.
#[test]
fn a_side_is_what_the_invocations_cover_in_its_direction() {
    let names = ["width", "image_height", "num_rows", "COLS", "depth", "widths", "stride"];
    let members =
        names.into_iter().zip(0..).map(|(name, i)| member(name, 4 * i, TypeLayout::Scalar { scalar: ScalarType::I32 }));
    let layout = StructLayout { type_name: "P".into(), bytes: 28, members: members.collect() };
    let mut variables = Variables::new(64);
    let mut told = |threads: Option<[u64; 3]>| {
        variables.threads = threads;
        let all = unsaid(&[pushed(&layout, "")], &[], &variables).into_iter();
        all.map(|member| member.assumed.unwrap_or_default()).collect::<Vec<_>>()
    };
    assert_eq!(told(None), [""; 7]);
    assert_eq!(told(Some([32, 8, 1])), ["32", "8", "8", "32", "", "", ""]);
    assert_eq!(told(Some([32, 8, 2])), ["32", "8", "8", "32", "2", "", ""]);
    assert_eq!(told(Some([64, 1, 1])), ["8", "8", "8", "8", "", "", ""]);
    assert_eq!(told(Some([32, 1, 1])), [""; 7], "how many rows there are, no invocation tells");
}

fn filled(given: &[(&str, &str)]) -> Result<Vec<u8>, String> {
    let whole = ["width", "light.kind", "lights[0].kind", "lights[1].kind"].map(|name| (name, "9"));
    let given: Vec<(String, String)> =
        whole.iter().chain(given).map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let layout = block();
    check(&[pushed(&layout, "scene")], &[], &given).map_err(|failure| failure.reason)?;
    fill(&pushed(&layout, "scene"), &given, &Variables::new(64)).map_err(|failure| failure.reason)
}

fn float(bytes: &[u8], at: usize) -> f32 {
    f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn whole(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

#[test]
fn a_path_leads_to_its_numbers_and_to_no_others() {
    let plain = filled(&[]).unwrap();
    assert_eq!((whole(&plain, 0), whole(&plain, 28), float(&plain, 16), float(&plain, 64)), (9, 9, 1.0, 1.0));
    for (name, text, at, expected) in [
        ("light.position", "2,3,4", &[16, 20, 24][..], &[2.0, 3.0, 4.0][..]),
        ("scene.light.position", "5", &[16, 20, 24], &[5.0, 5.0, 5.0]),
        ("light.position[1]", "n / 2", &[20], &[32.0]),
        ("lights[1].position", "6,7", &[48, 52, 56], &[6.0, 7.0, 7.0]),
        ("weights[3]", "8", &[112], &[8.0]),
        ("weights", "8,9", &[64, 80, 96, 112], &[8.0, 9.0, 9.0, 9.0]),
        ("turn[1]", "2,3", &[144, 148], &[2.0, 3.0]),
        ("turn[1][0]", "2", &[144], &[2.0]),
    ] {
        let bytes = filled(&[(name, text)]).unwrap();
        let mut expected_bytes = plain.clone();
        for (at, value) in at.iter().zip(expected) {
            expected_bytes[*at..at + 4].copy_from_slice(&f32::to_le_bytes(*value));
        }
        assert_eq!(bytes, expected_bytes, "{name}={text}");
    }
    // A struct as a whole is its numbers, one after the other; a part that is said later holds there.
    let bytes = filled(&[("lights[0]", "1,2,3,4"), ("lights[0].position[2]", "7")]).unwrap();
    assert_eq!([32, 36, 40].map(|at| float(&bytes, at)), [1.0, 2.0, 7.0]);
    assert_eq!((whole(&bytes, 44), whole(&bytes, 60)), (4, 9));
    // Of the same place the last counts, under whichever name; what it replaces needn't even be right.
    let bytes = filled(&[("scene.width", "none"), ("width", "3")]).unwrap();
    assert_eq!(whole(&bytes, 0), 3);
}

#[test]
fn what_leads_nowhere_is_told_with_what_is_near() {
    for (name, parts) in [
        ("light.positon", &["no push constant or uniform is called `light.positon`", "did you mean light.position"][..]),
        ("widht", &["did you mean width", "there are width, light.position, light.kind, lights[0].position"]),
        ("scene.wieghts", &["did you mean weights"]),
        ("weights[4]", &["`weights[4]` leads beyond `weights`, which has 4 elements"]),
        ("lights[2].kind", &["beyond `lights`, which has 2"]),
        ("turn[0][2]", &["beyond `turn[0]`, which has 2"]),
        ("width[0]", &["is called `width[0]`"]),
        ("weights[x]", &["is called `weights[x]`"]),
        ("weights[1", &["is called"]),
        ("light.", &["is called"]),
        ("[0]", &["is called"]),
    ] {
        let error = filled(&[(name, "1")]).unwrap_err();
        assert!(parts.iter().all(|part| error.contains(part)), "{name}: {error}");
    }
    assert!(filled(&[("light.position", "1,2,3,4")]).unwrap_err().contains("more values"));
}

/// Compilers and build systems leave names out, in structs and arrays as well.
#[test]
fn what_has_no_name_is_said_by_where_it_begins() {
    let without_names = |mut layout: StructLayout| {
        fn strip(ty: &mut TypeLayout) {
            match ty {
                TypeLayout::Struct(layout) => layout.members.iter_mut().for_each(|member| {
                    member.name.clear();
                    strip(&mut member.ty);
                }),
                TypeLayout::Array { element, .. } => strip(element),
                _ => {}
            }
        }
        layout.members.iter_mut().for_each(|member| {
            member.name.clear();
            strip(&mut member.ty);
        });
        layout
    };
    let layout = without_names(block());
    let uniform = MemberBlock { place: BlockPlace::UniformBuffer { set: 2, binding: 1 }, ..pushed(&layout, "") };
    let blocks = [pushed(&layout, ""), uniform];
    let variables = Variables::new(64);
    let open = unsaid(&blocks, &[], &variables);
    let names: Vec<&str> = open.iter().map(|member| member.name.as_str()).collect();
    assert_eq!(names[..5], ["@0", "@16", "@28", "@32", "@44"]);
    assert_eq!(names[8..10], ["@128", "2:1@0"]);
    let error = check_said(&open).unwrap_err().reason;
    assert!(error.contains("`@28` (uint)") && error.contains("--push @28=VALUE --push @44=VALUE"), "{error}");
    assert!(error.contains("--push 2:1@0=VALUE"), "{error}");
    // What the error says to write is taken, and goes where the name would.
    let given: Vec<(String, String)> = (open.iter().filter(|member| member.assumed.is_none()))
        .map(|member| (member.name.clone(), if member.name == "2:1@28" { "7" } else { "9" }.to_owned()))
        .collect();
    check(&blocks, &[], &given).unwrap();
    assert_eq!(check_said(&unsaid(&blocks, &given, &variables)), Ok(()));
    assert_eq!(fill(&blocks[0], &given, &variables).unwrap(), filled(&[]).unwrap());
    assert_eq!(whole(&fill(&blocks[1], &given, &variables).unwrap(), 28), 7);
    for (offset, name) in [
        ("@16", "light.position"),
        ("@20", "light.position[1]"),
        ("@16[1]", "light.position[1]"),
        ("@48", "lights[1].position"),
        ("@64", "weights"),
        ("@64[3]", "weights[3]"),
        ("@112", "weights[3]"),
        ("@144", "turn[1]"),
        ("scene@60", "lights[1].kind"),
    ] {
        assert_eq!(filled(&[(offset, "5")]), filled(&[(name, "5")]), "{offset}");
    }
    assert!(filled(&[("@18", "5")]).unwrap_err().contains("nothing begins at byte 18 of the push constants `scene`"));
    assert!(filled(&[("0:1@16", "5")]).unwrap_err().contains("is called `0:1@16`"));
}

/// As naga writes it of WGSL: `struct { struct { uint rows; uint scale; } }`, the outer member nameless.
#[test]
fn members_of_a_nameless_struct_are_the_blocks() {
    let scalar = |name: &str, offset| member(name, offset, TypeLayout::Scalar { scalar: ScalarType::U32 });
    let members = vec![scalar("count", 0), scalar("scale", 4)];
    let inner = StructLayout { type_name: String::new(), bytes: 8, members };
    let layout = StructLayout { type_name: String::new(), bytes: 8, members: vec![member("", 0, TypeLayout::Struct(inner))] };
    let block = pushed(&layout, "params");
    let open = unsaid(&[block], &[], &Variables::new(64));
    let names: Vec<(&str, Option<&str>)> = open.iter().map(|open| (open.name.as_str(), open.assumed.as_deref())).collect();
    assert_eq!(names, [("count", Some("n")), ("scale", None)]);
    for name in ["scale", "params.scale", "@4"] {
        let given = [(name.to_owned(), "9".to_owned())];
        check(&[pushed(&layout, "params")], &[], &given).unwrap();
        assert_eq!(fill(&pushed(&layout, "params"), &given, &Variables::new(64)).unwrap()[4], 9, "{name}");
    }
}

/// A value must not go to two places, nor to the first of them.
#[test]
fn a_name_of_several_members_is_refused_with_all_of_them() {
    let layout = block();
    let uniform = MemberBlock { place: BlockPlace::UniformBuffer { set: 0, binding: 3 }, ..pushed(&layout, "view") };
    let blocks = [pushed(&layout, "scene"), uniform];
    let of = |name: &str| check(&blocks, &[], &[(name.to_owned(), "1".to_owned())]).map_err(|failure| failure.reason);
    insta::assert_snapshot!(of("width").unwrap_err(), @"`width` is the name of several members; say which one is meant: 0:3@0 in the uniform block `view` at 0:3, @0 in the push constants `scene`");
    for name in ["view.width", "scene.width", "@0", "0:3@0", "3@0", "view@0", "3.width"] {
        assert_eq!(of(name), Ok(()), "{name}");
    }
    assert!(unsaid(&blocks, &[], &Variables::new(1)).iter().all(|member| member.name.contains('@')));
    // A block that is filled as a whole has no members to give values to.
    assert_eq!(check(&blocks[..1], &blocks[1..], &[("width".to_owned(), "1".to_owned())]), Ok(()));
    let word = || TypeLayout::Scalar { scalar: ScalarType::U32 };
    let twice =
        StructLayout { type_name: String::new(), bytes: 8, members: vec![member("a", 0, word()), member("a", 4, word())] };
    let error = check(&[pushed(&twice, "")], &[], &[("a".to_owned(), "1".to_owned())]).unwrap_err().reason;
    assert!(error.contains("@0 in the push constants, @4 in"), "{error}");
}

#[test]
fn all_that_is_not_said_is_told_at_once() {
    let of = |given: &[(&str, &str)]| {
        let given: Vec<(String, String)> = given.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
        unsaid(&[pushed(&block(), "scene")], &given, &Variables::new(1))
    };
    let told = |given: &[(&str, &str)]| check_said(&of(given)).map_err(|failure| failure.reason);
    insta::assert_snapshot!(told(&[("lights", "1")]).unwrap_err(), @"no value is given for `width` (uint), `light.kind` (uint), and which one is meant can't be told; add --push width=VALUE --push light.kind=VALUE");
    let kinds = [("width", "1"), ("scene.light.kind", "1"), ("lights[0].kind", "n"), ("lights[1]", "2")];
    assert_eq!(told(&kinds), Ok(()));
    let assumed: Vec<String> = (of(&kinds).iter())
        .map(|member| format!("{} {} {:?} {}", member.ty, member.name, member.assumed, member.numbers))
        .collect();
    assert_eq!(
        assumed,
        [
            "vec3 light.position Some(\"1\") 3",
            "vec3 lights[0].position Some(\"1\") 3",
            "float[4] weights Some(\"1\") 4",
            "mat2 turn Some(\"1\") 4"
        ]
    );
}
