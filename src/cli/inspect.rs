//! `lanescope inspect`: what a shader declares and asks for.

use std::fmt::{self, Write};

use serde::Serialize;

use super::args::{Inspect, InspectFormat};
use super::print;
use crate::error::Error;
use crate::model::SubgroupClass;
use crate::plan::parse_number;
use crate::shader::{
    BindingInfo, BlockInfo, BlockPlace, EntryPoint, Extent, InstructionCounts, InstructionKind, InstructionMix, Module,
    Reading, ReflectError, Reflection, ScalarType, SpecConstant, SpecValues, StructLayout, TypeLayout, from_file,
};
use crate::units::Bytes;

/// Constants whose influence is tried out: each takes three looks at the whole module, and a malformed one may have millions.
const MOST_TRIED: usize = 256;

/// Describes a shader.
pub fn inspect(arguments: &Inspect) -> anyhow::Result<u8> {
    let macros = arguments.define.iter().map(|define| macro_of(define)).collect::<Result<_, _>>()?;
    let include_folders = arguments.include.clone();
    let entry = arguments.entry.clone();
    let reading = Reading { include_folders, macros, target: arguments.target_env.target(), entry };
    let module = from_file(&arguments.shader, &reading).map_err(|error| Error::Usage(error.to_string()))?;
    let values = values(&module.reflection, &arguments.constant)?;
    let inspection = Inspection::of(&module, &values).map_err(|error| Error::Usage(error.to_string()))?;
    match arguments.format {
        InspectFormat::Json => print(&(serde_json::to_string_pretty(&inspection)? + "\n")),
        InspectFormat::Text => print(&inspection.to_string()),
    }
}

/// `NAME`, which is 1 as with other compilers, or `NAME=VALUE`.
fn macro_of(define: &str) -> Result<(String, String), Error> {
    let (name, value) = define.split_once('=').unwrap_or((define, "1"));
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_name {
        Ok((name.to_owned(), value.to_owned()))
    } else {
        Err(Error::Usage(format!("`{define}` defines no macro: NAME or NAME=VALUE is needed")))
    }
}

// ---- values of specialization constants -----------------------------------------------------------------------------------

fn values(reflection: &Reflection, given: &[String]) -> Result<SpecValues, Error> {
    given.iter().map(|given| value(reflection, given)).collect()
}

fn value(reflection: &Reflection, given: &str) -> Result<(u32, u64), Error> {
    let usage = |words: String| Error::Usage(format!("constant `{given}`: {words}"));
    let (name, value) = given.split_once('=').ok_or_else(|| usage("NAME=VALUE or ID=VALUE is needed".to_owned()))?;
    let is_meant = |constant: &&SpecConstant| constant.name == name || name.parse() == Ok(constant.id);
    let constant = reflection.spec_constants.iter().find(is_meant).ok_or_else(|| {
        let known: Vec<String> = reflection.spec_constants.iter().map(title).collect();
        usage(match known.len() {
            0 => "the shader has no specialization constants".to_owned(),
            _ => format!("the shader has no such one; it has {}", known.join(", ")),
        })
    })?;
    let bits = bits(constant.ty, value).ok_or_else(|| usage(format!("`{value}` is no {}", constant.ty)))?;
    Ok((constant.id, bits))
}

fn title(constant: &SpecConstant) -> String {
    if constant.name.is_empty() { constant.id.to_string() } else { format!("{} {}", constant.id, constant.name) }
}

/// The bits of a value in words; nothing where it is none of the type, or the type has none in words (floats of 16 bits and less).
fn bits(ty: ScalarType, value: &str) -> Option<u64> {
    let signed = || match value.strip_prefix('-') {
        Some(rest) => parse_number(rest).and_then(|number| 0_i64.checked_sub_unsigned(number)),
        None => parse_number(value).and_then(|number| i64::try_from(number).ok()),
    };
    let low = |value: i64| u64::from_ne_bytes(value.to_ne_bytes());
    match ty {
        ScalarType::Bool => match value {
            "true" | "1" => Some(1),
            "false" | "0" => Some(0),
            _ => None,
        },
        ScalarType::U8 => parse_number(value).filter(|number| *number <= u8::MAX.into()),
        ScalarType::U16 => parse_number(value).filter(|number| *number <= u16::MAX.into()),
        ScalarType::U32 => parse_number(value).filter(|number| *number <= u32::MAX.into()),
        ScalarType::U64 => parse_number(value),
        ScalarType::I8 => signed().filter(|number| i8::try_from(*number).is_ok()).map(|number| low(number) & 0xFF),
        ScalarType::I16 => signed().filter(|number| i16::try_from(*number).is_ok()).map(|number| low(number) & 0xFFFF),
        ScalarType::I32 => signed().filter(|number| i32::try_from(*number).is_ok()).map(|number| low(number) & 0xFFFF_FFFF),
        ScalarType::I64 => signed().map(low),
        ScalarType::F32 => value.parse::<f32>().ok().map(|number| number.to_bits().into()),
        ScalarType::F64 => value.parse::<f64>().ok().map(f64::to_bits),
        ScalarType::F16 | ScalarType::OtherFloat(_) => None,
    }
}

/// A constant's value in words.
fn shown(ty: ScalarType, bits: u64) -> String {
    let bytes = bits.to_le_bytes();
    let [a, b, c, d, ..] = bytes;
    match ty {
        ScalarType::Bool => (bits != 0).to_string(),
        ScalarType::I8 => i8::from_le_bytes([a]).to_string(),
        ScalarType::I16 => i16::from_le_bytes([a, b]).to_string(),
        ScalarType::I32 => i32::from_le_bytes([a, b, c, d]).to_string(),
        ScalarType::I64 => i64::from_le_bytes(bytes).to_string(),
        ScalarType::F32 => f32::from_le_bytes([a, b, c, d]).to_string(),
        ScalarType::F64 => f64::from_bits(bits).to_string(),
        ScalarType::F16 | ScalarType::OtherFloat(_) => format!("{bits:#x}"),
        ScalarType::U8 | ScalarType::U16 | ScalarType::U32 | ScalarType::U64 => bits.to_string(),
    }
}

// ---- what is told ---------------------------------------------------------------------------------------------------------

/// A shader under a specialization.
#[derive(Debug, Serialize)]
struct Inspection<'m> {
    spirv_version: String,
    spirv_hash: &'m str,
    /// Empty for SPIR-V.
    source_hash: &'m str,
    capabilities: Vec<String>,
    extensions: &'m [String],
    entry_points: Vec<Entry<'m>>,
    spec_constants: Vec<Constant<'m>>,
    push_constant_bytes: u32,
    /// Of Workgroup memory, which all entry points declare together.
    shared_bytes: u64,
    /// The constants, by `constant_id`, on which that depends: other values of the first [`MOST_TRIED`] were tried.
    shared_bytes_depend_on: Vec<u32>,
    bindings: Vec<BindingInfo>,
    blocks: Vec<BlockInfo>,
}

#[derive(Debug, Serialize)]
struct Entry<'m> {
    #[serde(flatten)]
    declared: &'m EntryPoint,
    /// Its workgroup size under the specialization.
    workgroup: [u32; 3],
    subgroup_classes: Vec<SubgroupClass>,
    instructions: InstructionMix,
}

#[derive(Debug, Serialize)]
struct Constant<'m> {
    #[serde(flatten)]
    declared: &'m SpecConstant,
    /// Its value in words: the one that was given, or the default.
    value: String,
    is_default: bool,
}

impl<'m> Inspection<'m> {
    fn of(module: &'m Module, values: &SpecValues) -> Result<Self, ReflectError> {
        let reflection = &module.reflection;
        let entry = |declared: &'m EntryPoint| -> Result<Entry<'m>, ReflectError> {
            Ok(Entry {
                declared,
                workgroup: reflection.local_size(declared, values)?,
                subgroup_classes: reflection.subgroup_classes(declared, values).into_iter().collect(),
                instructions: reflection.instruction_mix(declared, values),
            })
        };
        let constant = |declared: &'m SpecConstant| {
            let given = values.get(&declared.id).copied();
            let value = shown(declared.ty, given.unwrap_or(declared.default_bits));
            Constant { declared, value, is_default: given.is_none() }
        };
        let shared_bytes = reflection.shared_bytes(values)?;
        let decides = |constant: &&SpecConstant| {
            let bits = values.get(&constant.id).copied().unwrap_or(constant.default_bits);
            // A bool the other way, a length one more, and twice as much.
            let others = [bits ^ 1, bits.wrapping_add(1), bits.wrapping_mul(2)];
            others.iter().any(|bits| {
                let other: SpecValues = values.iter().map(|(id, bits)| (*id, *bits)).chain([(constant.id, *bits)]).collect();
                reflection.shared_bytes(&other) != Ok(shared_bytes)
            })
        };
        let shared_bytes_depend_on =
            reflection.spec_constants.iter().take(MOST_TRIED).filter(decides).map(|constant| constant.id).collect();
        let (major, minor) = reflection.version;
        Ok(Self {
            spirv_version: format!("{major}.{minor}"),
            spirv_hash: &module.spirv_hash,
            source_hash: &module.source_hash,
            capabilities: reflection.capabilities.iter().map(|capability| format!("{capability:?}")).collect(),
            extensions: &reflection.extensions,
            entry_points: reflection.entry_points.iter().map(entry).collect::<Result<_, _>>()?,
            spec_constants: reflection.spec_constants.iter().map(constant).collect(),
            push_constant_bytes: reflection.push_bytes,
            shared_bytes,
            shared_bytes_depend_on,
            bindings: reflection.bindings_under(values)?,
            blocks: reflection.blocks(values)?,
        })
    }
}

// ---- for people -----------------------------------------------------------------------------------------------------------

impl fmt::Display for Inspection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "SPIR-V {}, {}", self.spirv_version, self.spirv_hash)?;
        line(f, "needs", &self.capabilities.join(", "))?;
        if !self.extensions.is_empty() {
            line(f, "extensions", &self.extensions.join(", "))?;
        }
        let is_decisive = |constant: &&Constant<'_>| self.shared_bytes_depend_on.contains(&constant.declared.id);
        let decisive: Vec<String> =
            self.spec_constants.iter().filter(is_decisive).map(|constant| title(constant.declared)).collect();
        let by = if decisive.is_empty() { String::new() } else { format!(" (depends on {})", decisive.join(", ")) };
        line(f, "shared", &format!("{}{by}", Bytes(self.shared_bytes)))?;
        line(f, "pushed", &Bytes(self.push_constant_bytes.into()).to_string())?;
        if !self.spec_constants.is_empty() {
            writeln!(f, "\nspecialization constants")?;
        }
        for Constant { declared, value, is_default } in &self.spec_constants {
            let note = if *is_default { " (default)" } else { "" };
            let name = if declared.name.is_empty() { "(workgroup size)" } else { &declared.name };
            writeln!(f, "    {:>4}  {name}: {} = {value}{note}", declared.id, declared.ty)?;
        }
        if !self.bindings.is_empty() {
            writeln!(f, "\nbindings")?;
        }
        for binding in &self.bindings {
            self.show_binding(f, binding)?;
        }
        for block in self.blocks.iter().filter(|block| block.place == BlockPlace::PushConstants) {
            writeln!(f, "\npush constants  {}", block.name)?;
            show_members(f, &block.layout, 4)?;
        }
        self.entry_points.iter().try_for_each(|entry| entry.fmt(f))
    }
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, value: &str) -> fmt::Result {
    writeln!(f, "    {name:12} {value}")
}

impl Inspection<'_> {
    fn show_binding(&self, f: &mut fmt::Formatter<'_>, binding: &BindingInfo) -> fmt::Result {
        let BindingInfo { set, binding: number, name, kind, count, access } = binding;
        let count = match count {
            0 => "[]".to_owned(),
            1 => String::new(),
            count => format!("[{count}]"),
        };
        writeln!(f, "    set {set}, binding {number}: {} {name}{count}, {}", word(kind), word(access))?;
        let is_here = |place: &BlockPlace| match place {
            BlockPlace::StorageBuffer { set: s, binding: b } | BlockPlace::UniformBuffer { set: s, binding: b } => {
                (s, b) == (set, number)
            }
            BlockPlace::PushConstants => false,
        };
        let here = self.blocks.iter().filter(|block| is_here(&block.place));
        here.map(|block| &block.layout).try_for_each(|layout| show_members(f, layout, 8))
    }
}

/// The word that JSON has for it.
fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Members with their offsets, those of structs within below them.
fn show_members(f: &mut fmt::Formatter<'_>, layout: &StructLayout, indent: usize) -> fmt::Result {
    for member in &layout.members {
        let stride = stride(&member.ty).map(|stride| format!(", {stride} bytes apart")).unwrap_or_default();
        writeln!(f, "{:indent$}{:>5}  {} {}{stride}", "", member.offset, member.ty, member.name)?;
        if let Some(inner) = structure(&member.ty) {
            show_members(f, inner, indent + 4)?;
        }
    }
    Ok(())
}

fn stride(ty: &TypeLayout) -> Option<u32> {
    match ty {
        TypeLayout::Matrix { stride, .. } | TypeLayout::Array { stride, .. } | TypeLayout::RuntimeArray { stride, .. } => {
            Some(*stride)
        }
        _ => None,
    }
}

/// The struct that a type is made of.
fn structure(ty: &TypeLayout) -> Option<&StructLayout> {
    match ty {
        TypeLayout::Struct(layout) => Some(layout),
        TypeLayout::Array { element, .. } | TypeLayout::RuntimeArray { element, .. } => structure(element),
        _ => None,
    }
}

impl fmt::Display for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.workgroup;
        writeln!(f, "\nentry point {}: workgroups of {x} x {y} x {z}", self.declared.name)?;
        for (axis, extent) in ["x", "y", "z"].iter().zip(self.declared.local_size) {
            match extent {
                Extent::Literal(_) => {}
                Extent::Specialized { constant_id, default } => {
                    line(f, axis, &format!("constant {constant_id}, by default {default}"))?;
                }
                Extent::Derived { default } => line(f, axis, &format!("follows from constants, by default {default}"))?,
            }
        }
        if !self.subgroup_classes.is_empty() {
            line(f, "subgroup", &self.subgroup_classes.iter().map(word).collect::<Vec<_>>().join(", "))?;
        }
        self.show_instructions(f)
    }
}

impl Entry<'_> {
    /// A column for each depth of loops, and one for all.
    fn show_instructions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut head = format!("    {:24}", "static instructions");
        for depth in 0..self.instructions.by_depth.len() {
            write!(head, " {:>9}", if depth == 0 { "no loop".to_owned() } else { format!("depth {depth}") })?;
        }
        writeln!(f, "{head} {:>9}", "all")?;
        let row = |f: &mut fmt::Formatter<'_>, name: &str, counts: Vec<u64>, all: u64| {
            write!(f, "    {name:24}")?;
            counts.iter().try_for_each(|count| write!(f, " {count:>9}"))?;
            writeln!(f, " {all:>9}")
        };
        let InstructionMix { total, by_depth } = &self.instructions;
        for kind in InstructionKind::all().filter(|kind| total.get(*kind) > 0) {
            row(f, kind.name(), by_depth.iter().map(|counts| counts.get(kind)).collect(), total.get(kind))?;
        }
        row(f, "all", by_depth.iter().map(InstructionCounts::sum).collect(), total.sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fit_their_types() {
        assert_eq!(bits(ScalarType::U32, "2^10"), Some(1024));
        assert_eq!(bits(ScalarType::U8, "256"), None);
        assert_eq!(bits(ScalarType::I8, "-128"), Some(0x80));
        assert_eq!(bits(ScalarType::I32, "-1"), Some(0xFFFF_FFFF));
        assert_eq!(bits(ScalarType::I64, "-1"), Some(u64::MAX));
        assert_eq!(bits(ScalarType::F32, "0.5"), Some(0x3F00_0000));
        assert_eq!(bits(ScalarType::Bool, "yes"), None);
        assert_eq!(bits(ScalarType::F16, "1"), None);
        for (ty, value) in
            [(ScalarType::I16, "-3"), (ScalarType::U64, "7"), (ScalarType::F64, "-0.25"), (ScalarType::Bool, "true")]
        {
            assert_eq!(shown(ty, bits(ty, value).unwrap()), value);
        }
    }

    #[test]
    fn a_macro_has_a_name() {
        assert_eq!(macro_of("A").unwrap(), ("A".to_owned(), "1".to_owned()));
        assert_eq!(macro_of("A_1=x=y").unwrap(), ("A_1".to_owned(), "x=y".to_owned()));
        assert!(["", "=1", "1A", "A B=1", "a-b"].iter().all(|define| macro_of(define).is_err()));
    }
}
