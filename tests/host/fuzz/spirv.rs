//! What holds of any words at all, whether they are a module or not.

use std::sync::Arc;
use std::time::Duration;

use lanescope::model::{Binding, Kernel, Scalar};
use lanescope::shader::{
    BindingInfo, BlockInfo, EntryPoint, InstructionKind, Module, Noting, ReflectError, Reflection, ScalarType, SpecValues,
    Specialized, TraceOptions, Traced, TypeLayout, load, specializable, specialize, undecorated, validate,
};
use rspirv::binary::Assemble;

/// Takes words for a module in every way that the shader stage knows, and holds what it says against itself. Tells whether they
/// are one that can be described.
pub fn check(words: &[u32]) -> bool {
    let loaded = load(words);
    let reflection = match (&loaded, Reflection::parse(words)) {
        (_, Ok(reflection)) => reflection,
        (Err(error), Err(other)) => {
            assert_eq!(other, ReflectError::Load(error.clone()));
            return false;
        }
        (Ok(_), Err(error)) => {
            assert!(!matches!(error, ReflectError::Load(_)), "{error}");
            return false;
        }
    };
    let plain = undecorated(words).words;
    assert_eq!(undecorated(&plain).words, plain, "nothing is left to leave out");
    // What was loaded, written and loaded again is the same module.
    let written = loaded.unwrap().assemble();
    assert_eq!(load(&written).unwrap().assemble(), written);

    declared(&reflection);
    for values in [SpecValues::new(), [(0, 64), (1, 0), (3, u64::MAX), (4, 0)].into()] {
        under(&reflection, &values);
    }
    localized(words, &reflection);
    specialized(words, reflection);
    true
}

fn declared(reflection: &Reflection) {
    assert!(!reflection.entry_points.is_empty());
    assert!(reflection.spec_constants.is_sorted_by_key(|constant| constant.id));
    assert!(reflection.bindings.is_sorted_by(|a, b| (a.set, a.binding) < (b.set, b.binding)));
    assert_eq!(reflection.push_bytes % 4, 0);
    let defaults = SpecValues::new();
    assert_eq!(reflection.bindings_under(&defaults).as_ref(), Ok(&reflection.bindings));
    for entry in &reflection.entry_points {
        assert_eq!(reflection.local_size(entry, &defaults), Ok(entry.local_size.map(|extent| extent.default_value())));
    }
    serde_json::to_string(&(&reflection.entry_points, &reflection.spec_constants, &reflection.bindings)).unwrap();
}

/// What is computed under values of the specialization constants.
fn under(reflection: &Reflection, values: &SpecValues) {
    let _ = (reflection.shared_bytes(values), reflection.bindings_under(values));
    for block in reflection.blocks(values).unwrap_or_default() {
        check_block(&block);
    }
    for entry in &reflection.entry_points {
        let _ = (reflection.local_size(entry, values), reflection.subgroup_classes(entry, values));
        check_mix(reflection, entry, values);
    }
}

fn check_block(block: &BlockInfo) {
    serde_json::to_string(block).unwrap();
    let _ = block.bytes_with(3);
    for member in &block.layout.members {
        let end = member.ty.bytes().map(|bytes| bytes.saturating_add(member.offset.into()));
        assert!(end.is_none_or(|end| end <= block.layout.bytes) || has_matrix(&member.ty), "{block:?}");
        assert!(!member.ty.to_string().is_empty());
    }
}

/// Whether a matrix is in it, whose bytes depend on which of its vectors lie one after the other.
fn has_matrix(ty: &TypeLayout) -> bool {
    match ty {
        TypeLayout::Matrix { .. } => true,
        TypeLayout::Array { element, .. } | TypeLayout::RuntimeArray { element, .. } => has_matrix(element),
        TypeLayout::Struct(layout) => layout.members.iter().any(|member| has_matrix(&member.ty)),
        TypeLayout::Scalar { .. } | TypeLayout::Vector { .. } | TypeLayout::Pointer { .. } => false,
    }
}

fn check_mix(reflection: &Reflection, entry: &EntryPoint, values: &SpecValues) {
    let mix = reflection.instruction_mix(entry, values);
    for kind in InstructionKind::all() {
        let by_depth = mix.by_depth.iter().fold(0_u64, |sum, counts| sum.saturating_add(counts.get(kind)));
        assert_eq!(mix.total.get(kind), by_depth, "{kind}");
    }
    serde_json::to_string(&mix).unwrap();
}

/// Makes the workgroup size of each entry point specializable, which changes nothing else, and nothing more the second time.
fn localized(words: &[u32], reflection: &Reflection) {
    let validity = validate(words);
    for entry in &reflection.entry_points {
        let Ok((rewritten, ids)) = specializable(words, &entry.name) else { continue };
        if validity.is_ok() {
            assert_eq!(validate(&rewritten), Ok(()));
            noted(&rewritten, &entry.name);
            traced(&rewritten, &entry.name);
        } else {
            // --no-validate takes it all the same.
            drop(Noting::of_overruns(&rewritten, &entry.name, Some(9)));
            let options = TraceOptions { leaders: true, values: true, sites: None, foresees: false };
            drop(Traced::of(&rewritten, &entry.name, &SpecValues::new(), &options));
        }
        assert_eq!(ids.defaults, entry.local_size.map(|extent| extent.default_value()));
        let again = specializable(&rewritten, &entry.name).unwrap();
        assert_eq!((&again.0, again.1.ids, again.1.added), (&rewritten, ids.ids, [false; 3]));
        let other = Reflection::parse(&rewritten).unwrap();
        assert_eq!((&other.bindings, other.push_bytes), (&reflection.bindings, reflection.push_bytes));
        let added = ids.added.iter().filter(|is_new| **is_new).count();
        assert_eq!(other.spec_constants.len(), reflection.spec_constants.len() + added);
        // Of a length that an invalid module defines by what comes later, either may know the value.
        if validity.is_ok() {
            let defaults = SpecValues::new();
            assert_eq!(other.shared_bytes(&defaults), reflection.shared_bytes(&defaults));
        }
    }
}

/// A valid module can be made to note how far it indexes, and declares one buffer more then.
fn noted(words: &[u32], entry: &str) {
    let noting = Noting::of_overruns(words, entry, None).unwrap_or_else(|error| panic!("{error}"));
    let [before, after] = [words, &noting.words].map(|words| Reflection::of_entry(words, entry).unwrap());
    let is_new = |binding: &&BindingInfo| (binding.set, binding.binding) == noting.place;
    assert_eq!(after.bindings.iter().filter(is_new).count(), 1);
    assert_eq!(after.bindings.len(), before.bindings.len() + 1);
    let nothing = vec![0; usize::try_from(noting.bytes()).unwrap()];
    assert_eq!(noting.overruns(&nothing), []);
}

/// A valid module stays valid when it records what it accesses, all of it or only some, and declares one buffer more then.
fn traced(words: &[u32], entry: &str) {
    let constants = SpecValues::new();
    for (leaders, values) in [(false, true), (true, false)] {
        let options = TraceOptions { leaders, values, sites: None, foresees: true };
        let all = Traced::of(words, entry, &constants, &options).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(validate(&all.words), Ok(()));
        let after = Reflection::of_entry(&all.words, entry).unwrap();
        let is_new = |binding: &&BindingInfo| (binding.set, binding.binding) == all.place;
        assert_eq!(after.bindings.iter().filter(is_new).count(), 1);
        let some: Vec<usize> = (0..all.sites.len()).step_by(2).collect();
        let some = Traced::of(words, entry, &constants, &TraceOptions { sites: Some(&some), ..options }).unwrap();
        assert_eq!(validate(&some.words), Ok(()));
        assert_eq!(some.sites, all.sites);
    }
}

/// Binds all that the module declares and sets all its constants to their defaults.
fn specialized(words: &[u32], reflection: Reflection) {
    let kernel = Kernel {
        local_size: reflection.entry_points[0].local_size.map(|extent| extent.default_value()),
        constants: reflection
            .spec_constants
            .iter()
            .filter(|constant| !constant.name.is_empty())
            .filter_map(|constant| Some((constant.name.clone(), scalar(constant.ty, constant.default_bits)?)))
            .collect(),
        bindings: reflection.bindings.iter().map(|info| Binding::new(info.set, info.binding, 0)).collect(),
        ..Kernel::new("fuzzed.comp", [1; 3])
    };
    let module = Module {
        notes: Vec::new(),
        is_invalid: false,
        words: words.to_vec(),
        source_hash: String::new(),
        spirv_hash: String::new(),
        compile_time: Duration::ZERO,
        reflection,
    };
    if let Ok(specialized) = specialize(&Arc::new(module), &kernel) {
        check_entries(&specialized);
    }
}

/// The type of a constant's value, where a kernel can give one.
#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "the bits of the type are wanted")]
fn scalar(ty: ScalarType, bits: u64) -> Option<Scalar> {
    Some(match ty {
        ScalarType::Bool => Scalar::Bool(bits != 0),
        ScalarType::U32 => Scalar::U32(bits as u32),
        ScalarType::I32 => Scalar::I32(bits as i32),
        ScalarType::F32 => Scalar::F32(f32::from_bits(bits as u32)),
        ScalarType::U64 => Scalar::U64(bits),
        ScalarType::I64 => Scalar::I64(bits as i64),
        ScalarType::F64 => Scalar::F64(f64::from_bits(bits)),
        _ => return None,
    })
}

/// Each constant once, each with bytes of its own.
fn check_entries(specialized: &Specialized) {
    assert!(specialized.entries.is_sorted_by(|a, b| a.id < b.id && a.offset + a.size <= b.offset));
    let end = specialized.entries.last().map_or(0, |last| last.offset + last.size);
    assert_eq!(specialized.data.len(), end as usize);
}
