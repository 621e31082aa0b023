//! What kernels are called, as the application says or else as their modules do; and what else a module tells.

use sha2::{Digest, Sha256};

use super::log::LoggedKernel;
use crate::digest::label;
use crate::shader::{Module, SpecValues, load};

/// The most letters of a name.
const LONGEST: usize = 48;

/// What a module tells of a kernel; nothing where it can't be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// As rows have it.
    pub spirv_hash: String,
    /// Invocations of a workgroup in x, y and z.
    pub local_size: Option<[u32; 3]>,
    pub shared_bytes: Option<u64>,
    /// The file that it was compiled from.
    source: String,
    /// The blocks that it binds.
    blocks: Vec<String>,
}

impl Told {
    pub fn of(words: Option<Vec<u32>>, LoggedKernel { entry, constants, .. }: &LoggedKernel) -> Self {
        let Some(words) = words else { return Self::default() };
        let source = source(&words).unwrap_or_default();
        let Ok(module) = Module::of_spirv(words, Some(entry)) else { return Self { source, ..Self::default() } };
        let (reflection, values) = (&module.reflection, values(constants));
        let entry = reflection.entry_points.iter().find(|own| own.name == *entry);
        Self {
            spirv_hash: module.spirv_hash.clone(),
            local_size: entry.and_then(|entry| reflection.local_size(entry, &values).ok()),
            shared_bytes: reflection.shared_bytes(&values).ok(),
            source,
            blocks: reflection.bindings.iter().map(|binding| plain(&binding.name)).filter(|name| !name.is_empty()).collect(),
        }
    }
}

/// The values of constants, as they are logged: `ID=BYTES`, joined by commas.
pub(super) fn values(constants: &str) -> SpecValues {
    let bits = |bytes: &str| u64::from_str_radix(bytes, 16).ok().map(|bits| bits.swap_bytes() >> (64 - 4 * bytes.len()));
    let of = |text: &str| {
        let (id, bytes) = text.split_once('=')?;
        Some((id.parse().ok()?, bits(bytes).filter(|_| !bytes.is_empty())?))
    };
    constants.split(',').filter_map(of).collect()
}

/// The name of the file that a module says it was compiled from, without its folder.
fn source(words: &[u32]) -> Option<String> {
    use rspirv::dr::Operand;
    use rspirv::spirv::Op;
    let module = load(words).ok()?;
    let all = &module.debug_string_source;
    let file = all.iter().filter(|of| of.class.opcode == Op::Source).find_map(|of| of.operands.get(2))?;
    let text = all.iter().find(|of| of.class.opcode == Op::String && file.id_ref_any() == of.result_id)?;
    let Some(Operand::LiteralString(name)) = text.operands.first() else { return None };
    name.rsplit(['/', '\\']).next().map(str::to_owned)
}

/// The first of these that there is: a debug name, the label around its first dispatch, the entry point where it isn't `main`, the file
/// that it was compiled from, the names of the blocks that it binds, and its module's hash.
pub fn name(LoggedKernel { name, entry, module, .. }: &LoggedKernel, label: &str, told: &Told) -> String {
    let entry = if entry == "main" { "" } else { entry };
    let said = [name, label, entry, &told.source].into_iter().map(plain).find(|name| !name.is_empty());
    let of_blocks =
        || (!told.blocks.is_empty()).then(|| cut(&told.blocks[..told.blocks.len().min(3)].join("-"), LONGEST).to_owned());
    let of_module = || if module.is_empty() { "unknown".to_owned() } else { format!("module-{}", cut(module, 8)) };
    said.or_else(of_blocks).unwrap_or_else(of_module)
}

impl LoggedKernel {
    /// What is the same on another driver: the module, entry point, constants and required subgroup size.
    pub fn hash(&self) -> String {
        let Self { module, entry, constants, required_subgroup_size, has_full_subgroups, .. } = self;
        let full = if *has_full_subgroups { "full" } else { "" };
        let text = format!("{module}\n{entry}\n{constants}\n{required_subgroup_size}{full}");
        label('k', Sha256::new_with_prefix(text)).chars().take(9).collect()
    }
}

/// Without what a file's name, or a filter, can't have. Of a path its end.
fn plain(text: &str) -> String {
    let text = text.trim();
    let is_path = text.starts_with(['/', '~']) || text.get(1..3).is_some_and(|drive| [":/", ":\\"].contains(&drive));
    let text = if is_path { text.rsplit(['/', '\\']).next().unwrap_or_default() } else { text };
    let letters =
        text.trim().chars().map(|letter| if letter.is_ascii_alphanumeric() || "_-.".contains(letter) { letter } else { '-' });
    let name: String = letters.take(LONGEST).collect();
    name.trim_matches(['-', '.']).to_owned()
}

fn cut(text: &str, most: usize) -> &str {
    text.get(..most).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SpirvTarget;
    use crate::shader::{Compiler, Library};

    fn named(name_of: &str, label: &str, entry: &str, module: &str, told: &Told) -> String {
        let [name_of, entry, module] = [name_of, entry, module].map(str::to_owned);
        name(&LoggedKernel { name: name_of, entry, module, ..LoggedKernel::default() }, label, told)
    }

    #[test]
    fn an_application_names_its_kernels_first() {
        let nothing = Told::default();
        assert_eq!(named("mul mat/vec", "a", "b", "c", &nothing), "mul-mat-vec");
        assert_eq!(named("/home/alice/x.comp", "a", "b", "c", &nothing), "x.comp");
        assert_eq!(named("C:\\Users\\alice\\x.comp", "a", "b", "c", &nothing), "x.comp");
        assert_eq!(named("", " blk.0 ", "b", "c", &nothing), "blk.0");
        assert_eq!(named("", "", "csMain", "c", &nothing), "csMain");
        assert_eq!(named("", "", "main", "0123456789", &nothing), "module-01234567");
        assert_eq!(named("../", "", "main", "", &nothing), "unknown");
        let told = Told { source: "saxpy.comp".to_owned(), blocks: vec!["x".to_owned()], ..nothing };
        assert_eq!(named("", "", "main", "c", &told), "saxpy.comp");
        assert_eq!(named("", "", "main", "c", &Told { source: String::new(), ..told }), "x");
    }

    #[test]
    fn a_module_tells_its_size_under_its_constants_and_its_file() {
        let text = "#version 450\nlayout(local_size_x_id = 0) in;\nlayout(constant_id = 1) const uint N = 1;\nshared uint tile[N];\n\
                    layout(binding = 0) buffer Out { uint o[]; };\nvoid main() { tile[0] = 1; o[0] = tile[0]; }\n";
        let library = Library::embedded().with("of/saxpy.comp", text);
        let module =
            Compiler::new(library).unwrap().with_lines().compile("of/saxpy.comp", &[], SpirvTarget::default()).unwrap();
        let kernel =
            LoggedKernel { entry: "main".to_owned(), constants: "0=40000000,1=00010000".to_owned(), ..LoggedKernel::default() };
        let told = Told::of(Some(module.words.clone()), &kernel);
        assert_eq!((told.local_size, told.shared_bytes), (Some([64, 1, 1]), Some(1024)));
        assert_eq!((told.source.as_str(), &told.spirv_hash), ("saxpy.comp", &module.spirv_hash));
    }
}
