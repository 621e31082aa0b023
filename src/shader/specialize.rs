//! A module with a kernel's values for its specialization constants.

use std::collections::BTreeSet;
use std::sync::Arc;

use thiserror::Error;

use super::reflect::{BindingInfo, EntryPoint, Extent, ReflectError, ScalarType, SpecConstant, SpecValues};
use super::{Compiler, Module, Prepared, Reflection, SpecializationEntry, Specialized};
use crate::error::{nearest, suggestion};
use crate::model::{Case, Failure, Kernel, Status};

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SpecializeError {
    #[error("no specialization constant `{name}`{}", suggestion(.nearest))]
    UnknownConstant { name: String, nearest: Vec<String> },
    #[error("specialization constant `{name}` is {declared}, but is given {given}")]
    ConstantType { name: String, declared: ScalarType, given: ScalarType },
    #[error("specialization constant {id} is given two values")]
    Twice { id: u32 },
    #[error(
        "the shader's local size is {declared:?}, and can't be made {asked:?}: include local_size.glsl instead of giving literal sizes"
    )]
    LocalSize { declared: [u32; 3], asked: [u32; 3] },
    #[error("set {set}, binding {binding} is declared, but nothing is bound to it")]
    Unbound { set: u32, binding: u32 },
    #[error("a resource is bound to set {set}, binding {binding}, which the shader doesn't declare")]
    Undeclared { set: u32, binding: u32 },
    #[error("two resources are bound to set {set}, binding {binding}")]
    BoundTwice { set: u32, binding: u32 },
    /// The length of a descriptor array changes with these values: the layout is made for the defaults.
    #[error("set {set}, binding {binding} is an array whose length depends on a specialization constant")]
    DescriptorCount { set: u32, binding: u32 },
    #[error(transparent)]
    Reflect(#[from] ReflectError),
}

/// Gives a module the kernel's workgroup size and constants, and checks that the two fit together.
pub fn specialize(module: &Arc<Module>, kernel: &Kernel) -> Result<Specialized, SpecializeError> {
    let reflection = &module.reflection;
    let entry = reflection.entry_points.first().ok_or(ReflectError::NoComputeEntryPoint)?;
    specialize_kernel(module, entry, kernel, named_values(reflection, kernel)?)
}

/// The same for an entry point of several, with values of constants by their ids; the kernel's names are left out.
pub fn specialize_kernel(
    module: &Arc<Module>,
    entry: &EntryPoint,
    kernel: &Kernel,
    mut values: SpecValues,
) -> Result<Specialized, SpecializeError> {
    let reflection = &module.reflection;
    set_local_size(entry, kernel.local_size, &mut values)?;
    let (declared, asked) = (reflection.local_size(entry, &values)?, kernel.local_size);
    if declared != asked {
        return Err(SpecializeError::LocalSize { declared, asked });
    }
    check_bindings(&reflection.bindings, kernel)?;
    check_counts(reflection, &values)?;
    let specialized = with_values(module, entry, kernel.local_size, &values)?;
    Ok(Specialized {
        required_subgroup_size: kernel.required_subgroup_size,
        full_subgroups: kernel.full_subgroups,
        ..specialized
    })
}

/// The same where no kernel of a case describes the entry point. Values of constants that it doesn't have are left out.
pub fn specialize_entry(module: &Arc<Module>, entry: &EntryPoint, values: &SpecValues) -> Result<Specialized, ReflectError> {
    let local_size = module.reflection.local_size(entry, values)?;
    with_values(module, entry, local_size, values)
}

fn with_values(
    module: &Arc<Module>,
    entry: &EntryPoint,
    local_size: [u32; 3],
    values: &SpecValues,
) -> Result<Specialized, ReflectError> {
    let reflection = &module.reflection;
    let (entries, data) = pack(&reflection.spec_constants, values);
    Ok(Specialized {
        module: Arc::clone(module),
        entry: entry.name.clone(),
        entries,
        data,
        local_size,
        shared_bytes: reflection.shared_bytes(values)?,
        push_bytes: reflection.push_bytes,
        bindings: reflection.bindings_under(values)?,
        required_subgroup_size: None,
        full_subgroups: false,
    })
}

pub fn prepare(case: Case, compiler: &mut Compiler) -> Result<Prepared, Failure> {
    let mut kernels = Vec::with_capacity(case.kernels.len());
    for kernel in &case.kernels {
        let module = compiler
            .compile(&kernel.source, &kernel.macros, kernel.target)
            .map_err(|error| Failure::new(Status::CompileError, error.to_string()))?;
        let specialized = specialize(&module, kernel)
            .map_err(|error| Failure::new(Status::CompileError, format!("{}: {error}", kernel.source)))?;
        kernels.push(specialized);
    }
    Ok(Prepared { case, kernels })
}

fn named_values(reflection: &Reflection, kernel: &Kernel) -> Result<SpecValues, SpecializeError> {
    let mut values = SpecValues::new();
    for (name, scalar) in &kernel.constants {
        let constant = find(&reflection.spec_constants, name)?;
        let (given, bits) = ScalarType::typed(*scalar);
        if given != constant.ty {
            return Err(SpecializeError::ConstantType { name: constant.name.clone(), declared: constant.ty, given });
        }
        if values.insert(constant.id, bits).is_some() {
            return Err(SpecializeError::Twice { id: constant.id });
        }
    }
    Ok(values)
}

fn find<'a>(constants: &'a [SpecConstant], name: &str) -> Result<&'a SpecConstant, SpecializeError> {
    let named = || constants.iter().filter(|constant| !constant.name.is_empty());
    named().find(|constant| constant.name == name).ok_or_else(|| SpecializeError::UnknownConstant {
        name: name.to_owned(),
        nearest: nearest(name, named().map(|constant| constant.name.as_str())),
    })
}

fn set_local_size(entry: &EntryPoint, asked: [u32; 3], values: &mut SpecValues) -> Result<(), SpecializeError> {
    for (extent, asked) in entry.local_size.into_iter().zip(asked) {
        let Extent::Specialized { constant_id: id, .. } = extent else { continue };
        // One constant may stand for several directions, or be named besides, as long as all agree.
        if values.insert(id, asked.into()).is_some_and(|other| other != u64::from(asked)) {
            return Err(SpecializeError::Twice { id });
        }
    }
    Ok(())
}

fn check_bindings(declared: &[BindingInfo], kernel: &Kernel) -> Result<(), SpecializeError> {
    let mut bound = BTreeSet::new();
    for binding in &kernel.bindings {
        let (set, binding, element) = (binding.set, binding.binding, binding.element);
        if !declared.iter().any(|info| (info.set, info.binding) == (set, binding)) {
            return Err(SpecializeError::Undeclared { set, binding });
        }
        if !bound.insert((set, binding, element)) {
            return Err(SpecializeError::BoundTwice { set, binding });
        }
    }
    // What the last one of an array is bound to, and the like, is seen where descriptors are written.
    match declared.iter().find(|info| !bound.contains(&(info.set, info.binding, 0))) {
        Some(info) => Err(SpecializeError::Unbound { set: info.set, binding: info.binding }),
        None => Ok(()),
    }
}

fn check_counts(reflection: &Reflection, values: &SpecValues) -> Result<(), SpecializeError> {
    let specialized = reflection.bindings_under(values)?;
    match reflection.bindings.iter().zip(&specialized).find(|(default, special)| default.count != special.count) {
        Some((info, _)) => Err(SpecializeError::DescriptorCount { set: info.set, binding: info.binding }),
        None => Ok(()),
    }
}

/// The map entries and bytes of all constants that have a value. Each lies at a multiple of its size.
fn pack(constants: &[SpecConstant], values: &SpecValues) -> (Vec<SpecializationEntry>, Vec<u8>) {
    let mut entries: Vec<SpecializationEntry> = Vec::new();
    let mut data = Vec::new();
    for constant in constants {
        let Some(bits) = values.get(&constant.id) else { continue };
        // A constant may be declared twice with one id, which Vulkan takes only one entry for.
        if entries.iter().any(|entry| entry.id == constant.id) {
            continue;
        }
        let bits = bits.to_le_bytes();
        let size = usize::try_from(constant.ty.bytes()).unwrap_or(bits.len());
        data.resize(data.len().next_multiple_of(size), 0);
        let [offset, size_in_map] = [data.len(), size].map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
        entries.push(SpecializationEntry { id: constant.id, offset, size: size_in_map });
        data.extend(&bits[..size]);
    }
    (entries, data)
}
