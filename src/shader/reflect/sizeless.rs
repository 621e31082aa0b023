//! Why the size of a variable can't be told, where a user can mend it.

use std::collections::{BTreeSet, HashSet};

use rspirv::spirv::Word;

use super::constants::{Constants, Values};
use super::interface::Interface;
use super::types::{Member, TypeNode, Types};
use super::{ReflectError, SpecConstant, SpecValues};

/// Types within types that are followed; SPIR-V's own limit for the nesting of structs.
const DEEPEST: u32 = 255;

pub(super) struct Declared<'a> {
    pub(super) interface: &'a Interface,
    pub(super) types: &'a Types,
    pub(super) constants: &'a Constants,
    pub(super) spec_constants: &'a [SpecConstant],
}

/// What a type lacks for a size.
enum Lack {
    /// Elements of an array, which may be a member.
    Elements { member: String, length: Word },
    /// A decoration that says the layout of a member.
    Layout { member: String, decoration: &'static str },
}

impl Declared<'_> {
    /// An error of a size that can't be told under these values, with what is missing where that is known.
    pub(super) fn explain(&self, error: ReflectError, given: &SpecValues) -> ReflectError {
        let ReflectError::Size { name } = error else { return error };
        let values = self.constants.evaluate(self.types, given);
        let lack = self.interface.types_of(&name).into_iter().find_map(|(ty, is_block)| self.lack(ty, is_block, &values));
        match lack {
            Some(Lack::Elements { member, length }) => {
                let name = if member.is_empty() { name } else { format!("{name}.{member}") };
                let why = self.words(&self.constants.ids_of(length), given);
                ReflectError::NoElements { name, why }
            }
            Some(Lack::Layout { member, decoration }) => ReflectError::NoLayout { block: name, member, decoration },
            None => ReflectError::Size { name },
        }
    }

    fn lack(&self, ty: Word, is_block: bool, values: &Values) -> Option<Lack> {
        // A struct of two structs of two structs and so on doubles with every line: each type is looked at once.
        self.lack_in(ty, &mut Vec::new(), &mut HashSet::new(), (is_block, values), DEEPEST)
    }

    fn lack_in(
        &self,
        ty: Word,
        path: &mut Vec<String>,
        seen: &mut HashSet<Word>,
        (is_block, values): (bool, &Values),
        levels: u32,
    ) -> Option<Lack> {
        let levels = levels.checked_sub(1).filter(|_| seen.insert(ty))?;
        let layout = |path: &[String], decoration| Some(Lack::Layout { member: path.join("."), decoration });
        match self.types.get(ty)? {
            TypeNode::Array { stride: None, .. } | TypeNode::RuntimeArray { stride: None, .. }
                if is_block && !path.is_empty() =>
            {
                layout(path, "ArrayStride")
            }
            TypeNode::Array { length, .. } if values.integer(*length) == Some(0) => {
                Some(Lack::Elements { member: path.join("."), length: *length })
            }
            TypeNode::Array { element, .. } | TypeNode::RuntimeArray { element, .. } => {
                self.lack_in(*element, path, seen, (is_block, values), levels)
            }
            TypeNode::Struct { members, .. } => (0..).zip(members).find_map(|(i, member): (usize, &Member)| {
                path.push(if member.name.is_empty() { format!("member {i}") } else { member.name.clone() });
                let lack = match (member.offset, member.matrix_stride) {
                    (None, _) if is_block => layout(path, "Offset"),
                    (_, None) if is_block && self.is_matrix(member.ty) => layout(path, "MatrixStride"),
                    _ => self.lack_in(member.ty, path, seen, (is_block, values), levels),
                };
                path.pop();
                lack
            }),
            _ => None,
        }
    }

    fn is_matrix(&self, mut ty: Word) -> bool {
        for _ in 0..DEEPEST {
            match self.types.get(ty) {
                Some(TypeNode::Matrix { .. }) => return true,
                Some(TypeNode::Array { element, .. } | TypeNode::RuntimeArray { element, .. }) => ty = *element,
                _ => return false,
            }
        }
        false
    }

    /// The values of constants that decide, and what to do: ` where LEN is 0 (its default): give it another value by -c LEN=VALUE`.
    fn words(&self, ids: &BTreeSet<u32>, given: &SpecValues) -> String {
        let deciding: Vec<&SpecConstant> = self.spec_constants.iter().filter(|constant| ids.contains(&constant.id)).collect();
        let name = |constant: &SpecConstant| match constant.name.as_str() {
            "" => constant.id.to_string(),
            name => name.to_owned(),
        };
        let is = |constant: &&SpecConstant| match given.get(&constant.id) {
            Some(bits) => format!("{} is {}", name(constant), constant.ty.shown(*bits)),
            None => format!("{} is {} (its default)", name(constant), constant.ty.shown(constant.default_bits)),
        };
        let flags: Vec<String> = deciding.iter().map(|constant| format!("-c {}=VALUE", name(constant))).collect();
        match deciding.is_empty() {
            true => String::new(),
            false => format!(
                " where {}: give another value by {}",
                deciding.iter().map(is).collect::<Vec<_>>().join(" and "),
                flags.join(" ")
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::model::SpirvTarget;
    use crate::shader::{Compiler, Library, Reflection, SpecValues};

    fn words(glsl: &str) -> Vec<u32> {
        let library = Library::embedded().with("a.comp", format!("#version 460\n{glsl}"));
        Compiler::new(library)
            .unwrap()
            .translate(&crate::shader::ModuleKey::new("a.comp", &[], SpirvTarget::default()))
            .unwrap()
            .words
    }

    #[test]
    fn an_array_without_elements_names_what_decides() {
        let glsl = "layout(constant_id = 3) const uint LEN = 0u; layout(constant_id = 4) const int REST = 0;\n\
                    shared float tile[LEN + REST * 2]; layout(binding = 0) buffer D { float d[]; };\n\
                    void main() { tile[gl_LocalInvocationIndex] = d[0]; d[1] = tile[0]; }";
        let reflection = Reflection::parse(&words(&glsl.replace("LEN + REST * 2", "LEN + uint(REST * 2)"))).unwrap();
        let told = |values: &[(u32, u64)]| {
            reflection.shared_bytes(&values.iter().copied().collect::<SpecValues>()).map_err(|error| error.to_string())
        };
        let expected = "`tile` has no elements where LEN is 0 (its default) and REST is 0: give another value by -c LEN=VALUE -c REST=VALUE";
        assert_eq!(told(&[(4, 0)]).unwrap_err(), expected);
        assert_eq!((told(&[(3, 2)]), told(&[(4, 3)])), (Ok(8), Ok(24)));
    }
}
