//! Memory in which several buffers lie: it is one buffer of the case, and what is bound are ranges of that.

use std::ops::Range;

use super::buffers;
use super::kernel::said;
use super::resources::World;
use super::sized::Sized;
use super::spec::Within;
use super::variables::Variables;
use crate::model::Failure;

pub(super) struct Memory {
    pub(super) name: String,
    /// Its buffer, by its index.
    pub(super) resource: usize,
    pub(super) sized: Sized,
    pub(super) reads: Vec<Range<u64>>,
    pub(super) writes: Vec<Range<u64>>,
}

impl Memory {
    /// As the user says it, for what will be the resource at this index.
    pub(super) fn of(name: &str, resource: usize, world: &World<'_>) -> Result<Self, Failure> {
        let all = &world.subject.memories;
        let Some(spec) = all.iter().rfind(|spec| spec.place == name) else {
            return Err(said(format!("there is no memory `{name}`: --memory {name}=TYPE[COUNT]:FILL describes it")));
        };
        let sized = buffers::sized_memory(spec, world.variables)?;
        Ok(Self { name: name.to_owned(), resource, sized, reads: Vec::new(), writes: Vec::new() })
    }

    /// The bytes of it that are meant.
    pub(super) fn range(&self, within: &Within, called: &str, variables: &Variables) -> Result<Range<u64>, Failure> {
        let number = |text: &Option<String>, otherwise: u64| match text {
            Some(text) => variables.integer(text, &format!("the range of buffer `{called}`")),
            None => Ok(otherwise),
        };
        let whole = self.sized.bytes();
        let start = number(&within.offset, 0)?;
        let bytes = number(&within.bytes, whole.saturating_sub(start))?;
        match start.checked_add(bytes).filter(|end| bytes > 0 && *end <= whole) {
            Some(end) => Ok(start..end),
            None => Err(said(format!(
                "buffer `{called}` has {bytes} bytes from byte {start} on, and memory `{}` has {whole}",
                self.name
            ))),
        }
    }

    /// Whether the kernel finds what it wrote itself.
    pub(super) fn reads_own(&self) -> bool {
        let meets = |read: &Range<u64>| self.writes.iter().any(|write| read.start < write.end && write.start < read.end);
        self.reads.iter().any(meets)
    }
}
