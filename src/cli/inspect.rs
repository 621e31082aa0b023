//! `lanescope inspect`: what a shader declares and asks for, and what devices make of it.

mod constants;
mod devices;
mod facts;
mod part;
mod sizes;
mod table;

use std::path::PathBuf;

use serde::Serialize;

use self::constants::{title, values};
use self::facts::{Facts, item, shown, table};
use self::part::DevicePart;
use self::table::devices_text;
use super::args::{Inspect, InspectFormat};
use super::settings::is_manifest;
use super::stdout::{print, print_as_is};
use super::{defines, tune};
use crate::error::{EXIT_FAILED, EXIT_OK, Error};
use crate::model::{Shown, SubgroupClass};
use crate::output::{Column, Need, Page, in_a_line, json, paragraph};
use crate::shader::{
    Access, BindingInfo, BlockInfo, BlockPlace, EntryPoint, Extent, ImageInfo, InstructionCounts, InstructionKind,
    InstructionMix, Module, Reading, ReflectError, Reflection, SpecConstant, SpecValues, StructLayout, TypeLayout, from_file,
};
use crate::subject::{CONSTANT_AXIS, FixedKernel, SUBGROUP_AXIS};
use crate::units::Bytes;
use crate::worker::questions::compile::Subgroups;

/// Constants whose influence is tried out: each takes three looks at the whole module, and a malformed one may have millions.
const MOST_TRIED: usize = 256;

pub fn inspect(arguments: &Inspect) -> anyhow::Result<u8> {
    let Inspected { shader, reading, constants, subgroups } = Inspected::of(arguments)?;
    let module = from_file(&shader, &reading).map_err(|error| Error::Usage(error.to_string()))?;
    let values = values(&module.reflection, &constants)?;
    let mut inspection = Inspection::of(&module, &values).map_err(|error| Error::Usage(error.to_string()))?;
    if !arguments.device.is_empty() {
        inspection.devices = Some(devices::ask(arguments, &module, &values, subgroups)?);
    }
    match arguments.format {
        InspectFormat::Json => print_as_is(&json(&inspection)?),
        InspectFormat::Text => print(&inspection.text(Page::stdout())),
    }?;
    let has_failed = inspection.devices.iter().flatten().any(DevicePart::has_failed);
    Ok(if has_failed { EXIT_FAILED } else { EXIT_OK })
}

/// A shader, and how it is made a pipeline.
struct Inspected {
    shader: PathBuf,
    reading: Reading,
    constants: Vec<String>,
    subgroups: Subgroups,
}

impl Inspected {
    fn of(arguments: &Inspect) -> Result<Self, Error> {
        let owned = |(name, text): (&str, &str)| (name.to_owned(), text.to_owned());
        let macros = arguments.define.iter().map(|define| defines::split(define).map(owned)).collect::<Result<Vec<_>, _>>()?;
        let shader = arguments.shader.clone();
        if is_manifest(&shader.to_string_lossy()) {
            return Self::of_kernel(tune::kernel_of(&shader, 0)?.0, arguments, macros);
        }
        let reading = Reading {
            include_folders: arguments.include.clone(),
            macros,
            preamble: arguments.preamble.clone(),
            target: arguments.target_env.0,
            entry: arguments.entry.clone(),
            may_be_invalid: arguments.no_validate,
            may_stream: true,
            ..Reading::default()
        };
        Ok(Self { shader, reading, constants: arguments.constant.clone(), subgroups: Subgroups::default() })
    }

    /// What a manifest says, and the command line besides.
    fn of_kernel(kernel: FixedKernel, arguments: &Inspect, macros: Vec<(String, String)>) -> Result<Self, Error> {
        let FixedKernel { spec, point } = kernel;
        let mut subgroups = Subgroups { size: None, are_full: spec.full_subgroups };
        let mut constants: Vec<String> = spec.constants.iter().map(|(name, value)| format!("{name}={value}")).collect();
        for (axis, value) in point.iter() {
            match axis.strip_prefix(CONSTANT_AXIS) {
                Some(name) => constants.push(format!("{name}={value}")),
                None if axis == SUBGROUP_AXIS => subgroups.size = value.to_string().parse().ok(),
                None => {
                    let words = format!("{}: inspect doesn't take the axis `{axis}`", arguments.shader.shown());
                    return Err(Error::Usage(words));
                }
            }
        }
        constants.extend(arguments.constant.iter().cloned());
        let mut reading = spec.reading(spec.macros.iter().cloned().chain(macros).collect());
        reading.include_folders.extend(arguments.include.iter().cloned());
        reading.entry = arguments.entry.clone().or(reading.entry);
        reading.preamble = arguments.preamble.clone().or(reading.preamble);
        reading.may_be_invalid |= arguments.no_validate;
        Ok(Self { shader: spec.shader.to_path_buf(), reading, constants, subgroups })
    }
}

// ---- what is told ---------------------------------------------------------------------------------------------------------

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
    unused_shared: &'m [String],
    /// In what it isn't quite as it was written.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'m [String],
    /// The constants, by `constant_id`, on which that depends: other values of the first [`MOST_TRIED`] were tried.
    shared_bytes_depend_on: Vec<u32>,
    bindings: Vec<Bound<'m>>,
    blocks: Vec<BlockInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    devices: Option<Vec<DevicePart>>,
}

#[derive(Debug, Serialize)]
struct Bound<'m> {
    #[serde(flatten)]
    info: BindingInfo,
    /// What functions do with it, whatever is declared.
    used_access: Access,
    variables: Vec<&'m str>,
}

#[derive(Debug, Serialize)]
struct EntryReport<'m> {
    #[serde(flatten)]
    declared: &'m EntryPoint,
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
        let bindings = reflection.bindings_under(values)?;
        let bound = |info: BindingInfo| {
            let is_it = |used: &&BindingInfo| (used.set, used.binding) == (info.set, info.binding);
            let used_access = reflection.used_bindings.iter().find(is_it).map_or(info.access, |used| used.access);
            Bound { used_access, variables: reflection.variables(info.set, info.binding), info }
        };
        Ok(Self {
            spirv_version: format!("{}.{}", reflection.version.0, reflection.version.1),
            spirv_hash: &module.spirv_hash,
            source_hash: &module.source_hash,
            capabilities: reflection.capabilities.iter().map(|capability| format!("{capability:?}")).collect(),
            extensions: &reflection.extensions,
            entry_points: reflection.entry_points.iter().map(entry).collect::<Result<_, _>>()?,
            spec_constants: reflection.spec_constants.iter().map(constant).collect(),
            push_constant_bytes: reflection.push_bytes,
            shared_bytes,
            unused_shared: reflection.unused_shared(),
            notes: &module.notes,
            shared_bytes_depend_on: shared_deciders(reflection, values, shared_bytes),
            bindings: bindings.into_iter().map(bound).collect(),
            blocks: reflection.blocks(values)?,
            devices: None,
        })
    }
}

/// The constants whose values change how many bytes of shared memory there are.
fn shared_deciders(reflection: &Reflection, values: &SpecValues, shared_bytes: u64) -> Vec<u32> {
    let decides = |constant: &&SpecConstant| {
        let bits = values.get(&constant.id).copied().unwrap_or(constant.default_bits);
        // A bool the other way, a length one more, and twice as much.
        let others = [bits ^ 1, bits.wrapping_add(1), bits.wrapping_mul(2)];
        others.iter().any(|bits| {
            let other: SpecValues = values.iter().map(|(id, bits)| (*id, *bits)).chain([(constant.id, *bits)]).collect();
            reflection.shared_bytes(&other) != Ok(shared_bytes)
        })
    };
    reflection.spec_constants.iter().take(MOST_TRIED).filter(decides).map(|constant| constant.id).collect()
}

// ---- for people -----------------------------------------------------------------------------------------------------------

impl Inspection<'_> {
    fn text(&self, page: Page) -> String {
        let mut text = paragraph(&format!("SPIR-V {}, {}", self.spirv_version, self.spirv_hash), page);
        text += &self.facts().shown(page);
        self.notes.iter().for_each(|note| text += &paragraph(&format!("note: {note}"), page));
        text += &self.constants_text(page);
        if !self.bindings.is_empty() {
            text += "\nbindings\n";
        }
        text.extend(self.bindings.iter().map(|binding| self.binding_text(binding, page)));
        for block in self.blocks.iter().filter(|block| block.place == BlockPlace::PushConstants) {
            let heading = format!("push constants  {}", in_a_line(&block.name));
            text += &format!("\n{}\n{}", heading.trim_end(), members_text(&block.layout, 0, 4, page));
        }
        text.extend(self.entry_points.iter().map(|entry| entry.text(page)));
        text += &self.devices.as_deref().map_or_else(String::new, |devices| devices_text(devices, page));
        text
    }

    fn facts(&self) -> Facts {
        let mut facts = Facts::new();
        facts.say("needs", &self.capabilities.join(", "));
        if !self.extensions.is_empty() {
            facts.say("extensions", &self.extensions.join(", "));
        }
        let is_decisive = |constant: &&Constant<'_>| self.shared_bytes_depend_on.contains(&constant.declared.id);
        let decisive: Vec<String> =
            self.spec_constants.iter().filter(is_decisive).map(|constant| title(constant.declared)).collect();
        let by = if decisive.is_empty() { String::new() } else { format!(" (depends on {})", decisive.join(", ")) };
        let unused = match self.unused_shared {
            [] => String::new(),
            unused => format!("; unused, and not counted: {}", unused.join(", ")),
        };
        facts.say("shared", &format!("{}{by}{unused}", Bytes(self.shared_bytes)));
        facts.say("pushed", &Bytes(self.push_constant_bytes.into()).to_string());
        facts
    }

    fn constants_text(&self, page: Page) -> String {
        if self.spec_constants.is_empty() {
            return String::new();
        }
        let words = [("name", Need::Key), ("type", Need::Central), ("value", Need::Key)]
            .map(|(title, need)| Column::words(title, need));
        let mut table = table([Column::numbers("id", Need::Key)].into_iter().chain(words));
        for Constant { declared, value, is_default } in &self.spec_constants {
            let note = if *is_default { " (default)" } else { "" };
            let is_size =
                |extent: &Extent| matches!(extent, Extent::Specialized { constant_id, .. } if *constant_id == declared.id);
            let name = match declared.name.as_str() {
                "" if self.entry_points.iter().any(|entry| entry.declared.local_size.iter().any(is_size)) => "(workgroup size)",
                "" => "(no name)",
                name => name,
            };
            table.row([declared.id.to_string(), name.to_owned(), declared.ty.to_string(), format!("{value}{note}")]);
        }
        format!("\nspecialization constants\n{}", shown(&table, page))
    }

    fn binding_text(&self, bound: &Bound<'_>, page: Page) -> String {
        let BindingInfo { set, binding: number, kind, count, access, .. } = &bound.info;
        let count = match count {
            0 => "[]".to_owned(),
            1 => String::new(),
            count => format!("[{count}]"),
        };
        let name: String = bound.variables.iter().filter(|name| !name.is_empty()).map(|name| format!(" and {name}")).collect();
        let name = name.replacen(" and ", " ", 1);
        let remark = match (access, bound.used_access) {
            (Access::WriteOnly, Access::ReadWrite) => ", but it is read",
            _ => "",
        };
        let image = bound.info.image.as_ref().map(|image| format!(" ({})", image_words(image))).unwrap_or_default();
        let words = format!("set {set}, binding {number}: {}{name}{count}{image}, {}{remark}", word(kind), word(access));
        let mut text = item("    ", &words, page);
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
                text += &item("        ", &format!("as {}", block.name), page);
            }
            text += &members_text(&block.layout, 0, 8, page);
        }
        text
    }
}

/// What a declaration says of an image: `2d, rgba8`, or what its components are read as where it says no format.
fn image_words(ImageInfo { dimension, depth, multisampled, component, format }: &ImageInfo) -> String {
    let texels = match (format, component) {
        (Some(format), _) => Some(format.as_str().to_owned()),
        (None, component) => component.map(|component| component.to_string()),
    };
    let words = [dimension.as_ref().map(word), texels, depth.then(|| "depth".to_owned())];
    words.into_iter().flatten().chain(multisampled.then(|| "multisampled".to_owned())).collect::<Vec<_>>().join(", ")
}

fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Members with their offsets in the block, as `--push` takes them, those of structs within below them; of arrays of structs those of
/// the first one.
fn members_text(layout: &StructLayout, at: u64, indent: usize, page: Page) -> String {
    let mut text = String::new();
    for member in &layout.members {
        let stride = stride(&member.ty).map(|stride| format!(", {stride} bytes apart")).unwrap_or_default();
        let begin = at.saturating_add(member.offset.into());
        let before = format!("{:indent$}{begin:>5}  ", "");
        let name = if member.name.is_empty() { "(no name)" } else { &member.name };
        text += &item(&before, &format!("{} {name}{stride}", member.ty), page);
        text += &structure(&member.ty).map_or_else(String::new, |inner| members_text(inner, begin, indent + 4, page));
    }
    text
}

fn stride(ty: &TypeLayout) -> Option<u32> {
    match ty {
        TypeLayout::Matrix { stride, .. } | TypeLayout::Array { stride, .. } | TypeLayout::RuntimeArray { stride, .. } => {
            Some(*stride)
        }
        _ => None,
    }
}

fn structure(ty: &TypeLayout) -> Option<&StructLayout> {
    match ty {
        TypeLayout::Struct(layout) => Some(layout),
        TypeLayout::Array { element, .. } | TypeLayout::RuntimeArray { element, .. } => structure(element),
        _ => None,
    }
}

impl EntryReport<'_> {
    fn text(&self, page: Page) -> String {
        let [x, y, z] = self.workgroup;
        let name = in_a_line(&self.declared.name);
        let heading = paragraph(&format!("entry point {name}: workgroups of {x} x {y} x {z}"), page);
        format!("\n{heading}{}{}", self.facts().shown(page), self.instructions_text(page))
    }

    fn facts(&self) -> Facts {
        let mut facts = Facts::new();
        for (axis, extent) in ["x", "y", "z"].iter().zip(self.declared.local_size) {
            match extent {
                Extent::Literal(_) => {}
                Extent::Specialized { constant_id, default } => {
                    facts.say(axis, &format!("constant {constant_id}, by default {default}"));
                }
                Extent::Derived { default } => facts.say(axis, &format!("follows from constants, by default {default}")),
            }
        }
        if !self.subgroup_classes.is_empty() {
            facts.say("subgroup", &self.subgroup_classes.iter().map(word).collect::<Vec<_>>().join(", "));
        }
        facts
    }

    /// A column for each depth of loops, and one for all.
    fn instructions_text(&self, page: Page) -> String {
        let InstructionMix { total, by_depth } = &self.instructions;
        let depth = |depth: usize| match depth {
            0 => Column::numbers("no loop", Need::Spare),
            _ => Column::numbers(format!("depth {depth}"), Need::Useful),
        };
        let depths = (0..by_depth.len()).map(depth);
        let all = Column::numbers("all", Need::Key);
        let mut table = table([Column::words("static instructions", Need::Key)].into_iter().chain(depths).chain([all]));
        let mut row = |name: &str, counts: Vec<u64>, all: u64| {
            let counts = counts.into_iter().chain([all]).map(|count| count.to_string());
            table.row([name.to_owned()].into_iter().chain(counts));
        };
        for kind in InstructionKind::all().filter(|kind| total.get(*kind) > 0) {
            row(kind.name(), by_depth.iter().map(|counts| counts.get(kind)).collect(), total.get(kind));
        }
        row("all", by_depth.iter().map(InstructionCounts::sum).collect(), total.sum());
        let calls = if total.get(InstructionKind::Call) > 0 { "    (functions count at each call)\n" } else { "" };
        shown(&table, page) + calls
    }
}
