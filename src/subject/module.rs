//! The user's shader, compiled, with a workgroup size that can be specialized.

use std::sync::{Arc, OnceLock};

use super::spec::KernelSpec;
use crate::error::nearest;
use crate::model::{Failure, Shown, Status};
use crate::shader::{
    EntryPoint, Extent, LocalSizeIds, Module, Noting, Reading, Reflection, SourceLine, SpecConstant, SpecValues, from_file,
    specializable, with_lengths,
};

pub(super) struct UserModule {
    /// The module, its storage buffers' access narrowed to what it does with them.
    pub(super) module: Arc<Module>,
    entry: usize,
    pub(super) local_size: [u32; 3],
    /// In which directions it has extent, or may have: those that the shader gives a size above 1, or a constant of its own.
    pub(super) directions: [bool; 3],
    /// What doesn't follow where that is changed.
    pub(super) note: Option<String>,
    /// The `constant_id`s of the lengths of arrays in shared memory that expressions give, as the subject lists those.
    pub(super) lengths: Vec<Vec<u32>>,
    noting: OnceLock<Result<(Noting, Arc<Module>), String>>,
}

impl UserModule {
    pub(super) fn read(subject: &KernelSpec, macros: Vec<(String, String)>) -> Result<Self, Failure> {
        let refused = |reason: String| Failure::new(Status::CompileError, reason);
        let said = |words: String| refused(format!("{}: {words}", subject.shader.shown()));
        let KernelSpec { entry, .. } = subject;
        let reading = subject.reading(macros);
        let written = from_file(&subject.shader, &reading).map_err(|error| refused(error.to_string()))?;
        let point = named(&written.reflection, entry.as_deref()).map_err(said)?;
        let (name, local_size) = (point.name.clone(), written.reflection.local_size(point, &SpecValues::new()));
        let local_size = local_size.map_err(|error| said(error.to_string()))?;
        let (words, size) = specializable(&written.words, &name).map_err(|error| said(error.to_string()))?;
        let is_own = |i: usize| matches!(point.local_size[i], Extent::Specialized { .. });
        let directions = std::array::from_fn(|i| local_size[i] > 1 || is_own(i));
        let (words, note) = Self::following(subject, reading, &written, &name, (words, size))?;
        let arrays: Vec<(&str, usize)> = subject.lengths.iter().map(|(array, texts)| (array.as_str(), texts.len())).collect();
        let (words, lengths) = with_lengths(&words, &arrays).map_err(|error| refused(format!("--shared: {error}")))?;
        let mut reflection = Reflection::of_entry(&words, &name).map_err(|error| said(error.to_string()))?;
        reflection.bindings = reflection.used_bindings.clone();
        let entry = reflection.entry_points.iter().position(|entry| entry.name == name).unwrap_or_default();
        let note = [written.notes.clone(), note.into_iter().collect()].concat().join("; ");
        let note = (!note.is_empty()).then_some(note);
        let Module { source_hash, spirv_hash, compile_time, is_invalid, .. } = &*written;
        let (source_hash, spirv_hash, compile_time) = (source_hash.clone(), spirv_hash.clone(), *compile_time);
        let is_invalid = *is_invalid;
        let module =
            Arc::new(Module { words, source_hash, spirv_hash, compile_time, reflection, notes: Vec::new(), is_invalid });
        Ok(Self { module, entry, local_size, directions, note, lengths, noting: OnceLock::new() })
    }

    /// The words in which every use of the workgroup size follows. In SPIR-V, uses of a literal size are plain numbers that nobody can
    /// tell from others; so GLSL is compiled once more, with a size that can be specialized from the start.
    fn following(
        subject: &KernelSpec,
        reading: Reading,
        written: &Module,
        name: &str,
        (words, size): (Vec<u32>, LocalSizeIds),
    ) -> Result<(Vec<u32>, Option<String>), Failure> {
        let ids: [Option<u32>; 3] = std::array::from_fn(|i| size.added[i].then_some(size.ids[i]));
        if ids.iter().all(Option::is_none) {
            return Ok((words, None));
        }
        if written.source_hash.is_empty() {
            let note = "the SPIR-V has a literal workgroup size: where code computes with it, that doesn't follow other sizes";
            return Ok((words, Some(note.to_owned())));
        }
        match from_file(&subject.shader, &Reading { local_size_ids: ids, ..reading }) {
            Ok(module) => {
                let (words, _) = specializable(&module.words, name)
                    .map_err(|error| Failure::new(Status::CompileError, format!("{}: {error}", subject.shader.shown())))?;
                Ok((words, None))
            }
            Err(error) => {
                let note = format!(
                    "with a workgroup size that can be specialized, the shader doesn't compile ({error}): where \
                                    it computes with gl_WorkGroupSize, that doesn't follow other sizes"
                );
                Ok((words, Some(note)))
            }
        }
    }

    /// The same, made to note how far it indexes its arrays, and where an invocation comes to so many iterations; its entry point is the only one of its module.
    pub(super) fn noting(
        &self,
        most_iterations: Option<u32>,
        accepts: &dyn Fn(&SourceLine) -> bool,
    ) -> Result<(&Noting, &Arc<Module>), &str> {
        let make = || {
            let name = &self.entry().name;
            let noting = Noting::accepting(&self.module.words, name, most_iterations, accepts);
            let noting = noting.map_err(|error| error.to_string())?;
            let mut module = Module::of_spirv(noting.words.clone(), Some(name)).map_err(|error| error.to_string())?;
            module.reflection.bindings = module.reflection.used_bindings.clone();
            Ok((noting, Arc::new(module)))
        };
        self.noting.get_or_init(make).as_ref().map(|(noting, module)| (noting, module)).map_err(String::as_str)
    }

    pub(super) fn reflection(&self) -> &Reflection {
        &self.module.reflection
    }

    pub(super) fn entry(&self) -> &EntryPoint {
        &self.reflection().entry_points[self.entry]
    }

    /// The constants that a user may give values: those that are neither the workgroup size nor a length that follows it.
    pub(super) fn constants(&self) -> impl Iterator<Item = &SpecConstant> {
        let others: Vec<u32> =
            self.size_values([1; 3]).map(|(id, _)| id).chain(self.lengths.iter().flatten().copied()).collect();
        self.reflection().spec_constants.iter().filter(move |constant| !others.contains(&constant.id))
    }

    /// The direction whose size a constant of this name or id is; nothing where it is none's, or several'.
    pub(super) fn size_direction(&self, name: &str) -> Option<usize> {
        let is_it = |of: &&SpecConstant| (!name.is_empty() && of.name == name) || name.parse() == Ok(of.id);
        let constant = self.reflection().spec_constants.iter().find(is_it)?;
        let sets = |extent: &Extent| matches!(extent, Extent::Specialized { constant_id, .. } if *constant_id == constant.id);
        let directions: Vec<usize> = (0..3).filter(|direction| sets(&self.entry().local_size[*direction])).collect();
        match directions[..] {
            [direction] => Some(direction),
            _ => None,
        }
    }

    /// Whether the workgroup can have this size: one constant may stand for several directions.
    pub(super) fn can_be(&self, local_size: [u32; 3]) -> bool {
        let values: Vec<(u32, u64)> = self.size_values(local_size).collect();
        values.iter().all(|(id, size)| values.iter().all(|(other, same)| id != other || size == same))
    }

    /// Names of constants that are the workgroup size, as in `layout(constant_id = 0) const uint WIDTH` beside `local_size_x_id = 0`.
    pub(super) fn size_names(&self, local_size: [u32; 3]) -> impl Iterator<Item = (&str, u32)> {
        let sizes: Vec<(u32, u64)> = self.size_values(local_size).collect();
        let named = self.reflection().spec_constants.iter().filter(|constant| !constant.name.is_empty());
        named.filter_map(move |constant| {
            let (_, size) = sizes.iter().find(|(id, _)| *id == constant.id)?;
            Some((constant.name.as_str(), u32::try_from(*size).unwrap_or(u32::MAX)))
        })
    }

    /// The values that make the workgroup so large, beside others.
    pub(super) fn size_values(&self, local_size: [u32; 3]) -> impl Iterator<Item = (u32, u64)> {
        self.entry().local_size.into_iter().zip(local_size).filter_map(|(extent, size)| match extent {
            Extent::Specialized { constant_id, .. } => Some((constant_id, u64::from(size))),
            Extent::Literal(_) | Extent::Derived { .. } => None,
        })
    }

    pub(super) fn constant(&self, name: &str) -> Option<&SpecConstant> {
        let mut constants = self.constants();
        constants.find(|constant| constant.name == name || name.parse() == Ok(constant.id))
    }
}

/// How a constant is called on axes: by its name, or by its id where it has none.
pub(super) fn called(constant: &SpecConstant) -> String {
    if constant.name.is_empty() { constant.id.to_string() } else { constant.name.clone() }
}

fn named<'r>(reflection: &'r Reflection, asked: Option<&str>) -> Result<&'r EntryPoint, String> {
    let names = || reflection.entry_points.iter().map(|entry| entry.name.as_str());
    match (asked, &reflection.entry_points[..]) {
        (None, [only]) => Ok(only),
        (None, _) => {
            let names: Vec<String> = names().map(Shown::shown).collect();
            Err(format!("the module has several entry points: name one of {} by --entry", names.join(", ")))
        }
        (Some(asked), all) => all.iter().find(|entry| entry.name == asked).ok_or_else(|| {
            let near = nearest(asked, names());
            let near = if near.is_empty() { names().map(str::to_owned).collect() } else { near };
            let near: Vec<String> = near.iter().map(|name| name.shown()).collect();
            format!("the module has no compute entry point `{asked}`; it has {}", near.join(", "))
        }),
    }
}

pub(super) fn bits(constant: &SpecConstant, value: &str) -> Result<u64, Failure> {
    constant.ty.parse(value).ok_or_else(|| {
        let reason = format!("specialization constant `{}` is {}, and can't be `{value}`", called(constant), constant.ty);
        Failure::new(Status::CompileError, reason)
    })
}
