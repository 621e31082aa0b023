//! `lanescope inspect`: what a shader declares and asks for, and what devices make of it.

mod constants;
mod devices;
mod line;
mod part;
mod sizes;
mod table;

use std::fmt::{self, Write};

use serde::Serialize;

use self::constants::{title, values};
use self::line::line;
use self::part::DevicePart;
use self::table::Devices;
use super::args::{Inspect, InspectFormat};
use super::defines;
use super::stdout::print;
use crate::error::{EXIT_FAILED, EXIT_OK, Error};
use crate::model::SubgroupClass;
use crate::shader::{
    Access, BindingInfo, BlockInfo, BlockPlace, EntryPoint, Extent, InstructionCounts, InstructionKind, InstructionMix, Module,
    Reading, ReflectError, SpecConstant, SpecValues, StructLayout, TypeLayout, from_file,
};
use crate::units::Bytes;

/// Constants whose influence is tried out: each takes three looks at the whole module, and a malformed one may have millions.
const MOST_TRIED: usize = 256;

/// Describes a shader.
pub fn inspect(arguments: &Inspect) -> anyhow::Result<u8> {
    let owned = |(name, text): (&str, &str)| (name.to_owned(), text.to_owned());
    let macros = arguments.define.iter().map(|define| defines::split(define).map(owned)).collect::<Result<_, _>>()?;
    let include_folders = arguments.include.clone();
    let entry = arguments.entry.clone();
    let (preamble, target) = (arguments.preamble.clone(), arguments.target_env.target());
    let reading = Reading { include_folders, macros, preamble, target, entry, ..Reading::default() };
    let module = from_file(&arguments.shader, &reading).map_err(|error| Error::Usage(error.to_string()))?;
    let values = values(&module.reflection, &arguments.constant)?;
    let mut inspection = Inspection::of(&module, &values).map_err(|error| Error::Usage(error.to_string()))?;
    if !arguments.device.is_empty() {
        inspection.devices = Some(devices::ask(arguments, &module, &values)?);
    }
    match arguments.format {
        InspectFormat::Json => print(&(serde_json::to_string_pretty(&inspection)? + "\n")),
        InspectFormat::Text => print(&inspection.to_string()),
    }?;
    let has_failed = inspection.devices.iter().flatten().any(DevicePart::has_failed);
    Ok(if has_failed { EXIT_FAILED } else { EXIT_OK })
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
    entry_points: Vec<EntryReport<'m>>,
    spec_constants: Vec<Constant<'m>>,
    push_constant_bytes: u32,
    /// Of Workgroup memory, which all entry points declare together: of the variables that functions use.
    shared_bytes: u64,
    /// Variables in Workgroup memory that no function uses.
    unused_shared: &'m [String],
    /// The constants, by `constant_id`, on which that depends: other values of the first [`MOST_TRIED`] were tried.
    shared_bytes_depend_on: Vec<u32>,
    bindings: Vec<Bound<'m>>,
    blocks: Vec<BlockInfo>,
    /// What devices make of it, where any were named.
    #[serde(skip_serializing_if = "Option::is_none")]
    devices: Option<Vec<DevicePart>>,
}

#[derive(Debug, Serialize)]
struct Bound<'m> {
    #[serde(flatten)]
    info: BindingInfo,
    /// What functions do with it, whatever is declared.
    used_access: Access,
    /// All variables at its place.
    variables: Vec<&'m str>,
}

#[derive(Debug, Serialize)]
struct EntryReport<'m> {
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
        let entry = |declared: &'m EntryPoint| -> Result<EntryReport<'m>, ReflectError> {
            Ok(EntryReport {
                declared,
                workgroup: reflection.local_size(declared, values)?,
                subgroup_classes: reflection.subgroup_classes(declared, values).into_iter().collect(),
                instructions: reflection.instruction_mix(declared, values),
            })
        };
        let constant = |declared: &'m SpecConstant| {
            let given = values.get(&declared.id).copied();
            let value = declared.ty.shown(given.unwrap_or(declared.default_bits));
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
        let bindings = reflection.bindings_under(values)?;
        let bound = |info: BindingInfo| {
            let is_it = |used: &&BindingInfo| (used.set, used.binding) == (info.set, info.binding);
            let used_access = reflection.used_bindings().iter().find(is_it).map_or(info.access, |used| used.access);
            Bound { used_access, variables: reflection.variables(info.set, info.binding), info }
        };
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
            unused_shared: reflection.unused_shared(),
            shared_bytes_depend_on,
            bindings: bindings.into_iter().map(bound).collect(),
            blocks: reflection.blocks(values)?,
            devices: None,
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
        let unused = match self.unused_shared {
            [] => String::new(),
            unused => format!("; unused, and not counted: {}", unused.join(", ")),
        };
        line(f, "shared", &format!("{}{by}{unused}", Bytes(self.shared_bytes)))?;
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
        self.entry_points.iter().try_for_each(|entry| entry.fmt(f))?;
        self.devices.as_deref().map_or(Ok(()), |devices| Devices(devices).fmt(f))
    }
}

impl Inspection<'_> {
    fn show_binding(&self, f: &mut fmt::Formatter<'_>, bound: &Bound<'_>) -> fmt::Result {
        let BindingInfo { set, binding: number, kind, count, access, .. } = &bound.info;
        let count = match count {
            0 => "[]".to_owned(),
            1 => String::new(),
            count => format!("[{count}]"),
        };
        let name = bound.variables.join(" and ");
        let remark = match (access, bound.used_access) {
            (Access::WriteOnly, Access::ReadWrite) => ", but it is read",
            _ => "",
        };
        writeln!(f, "    set {set}, binding {number}: {} {name}{count}, {}{remark}", word(kind), word(access))?;
        let is_here = |place: &BlockPlace| match place {
            BlockPlace::StorageBuffer { set: s, binding: b } | BlockPlace::UniformBuffer { set: s, binding: b } => {
                (s, b) == (set, number)
            }
            BlockPlace::PushConstants => false,
        };
        let here: Vec<&BlockInfo> = self.blocks.iter().filter(|block| is_here(&block.place)).collect();
        for block in &here {
            // Each way to see the buffer has its own members.
            if here.len() > 1 {
                writeln!(f, "        as {}", block.name)?;
            }
            show_members(f, &block.layout, 8)?;
        }
        Ok(())
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

impl fmt::Display for EntryReport<'_> {
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

impl EntryReport<'_> {
    /// A column for each depth of loops, and one for all.
    fn show_instructions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut head = format!("    {:24}", "static instructions");
        for depth in 0..self.instructions.by_depth.len() {
            write!(head, " {:>9}", if depth == 0 { "no loop".to_owned() } else { format!("depth {depth}") })?;
        }
        let calls =
            if self.instructions.total.get(InstructionKind::Call) > 0 { "  (functions count at each call)" } else { "" };
        writeln!(f, "{head} {:>9}{calls}", "all")?;
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
