//! A module that notes how far it indexes its arrays.
//!
//! A device doesn't tell that a shader reads or writes beyond an array: at best it ignores that, at worst the process is gone. So
//! the module is rewritten here. Before each load, store and atomic operation, each index by which the pointer came about is held
//! against the largest one so far, in a variable of the invocation. Where the entry point returns and any of them lies beyond its
//! array, all go to a buffer of two words an array, with the array's length.
//!
//! The device must live through that. Buffers are the matter of robust buffer access. Shared memory, variables of the invocation, push
//! constants and built-in inputs have no such thing: what lies beyond them is the driver's own memory, or nobody's. There, an index
//! beyond the end is replaced by 0.
//!
//! Images count as arrays with an index for each dimension. Their size may follow a level, or one of several descriptors: so each
//! coordinate is held against it there and then, and only what lies beyond is noted. What a sampler reads never lies beyond.
//!
//! Where instructions say which line they are from, each line has notes of its own, and reads others than writes: then reads at some
//! lines can be accepted.
//!
//! Vectors and columns of matrices count as arrays here. Pointers are followed from variables, and from parameters that lead to
//! variables of the invocation, through access chains. What comes by another way (a buffer or an image as a parameter, a choice between
//! pointers) is counted, and so are cooperative matrices, which reach further than their pointer; they are otherwise left alone.

mod writer;

use rspirv::binary::Assemble;
use serde::{Deserialize, Serialize};

use super::edit::{RewriteError, keep_entry};
use super::lines::SourceLine;
use super::loader::load;
use super::validator::validate_rewritten;
use writer::Writer;

/// How many notes an invocation can keep to the end, before they cost more than lines are worth.
const MOST_NOTES: usize = 512;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noting {
    /// The module; the entry point is its only one.
    pub words: Vec<u32>,
    /// The set and binding of the storage buffer that it notes in, which must be filled with zeros before it runs.
    pub place: (u32, u32),
    /// One for each note: several are of the same array, at other lines.
    pub arrays: Vec<NotedArray>,
    /// Where each note is from, if its instructions say that.
    sites: Vec<Option<NotedSite>>,
    /// Loads, stores and atomic operations of which it can't be told how far they reach.
    pub unfollowed: usize,
    /// How many iterations of loops an invocation may have before that is noted, where they are counted.
    most_iterations: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
/// Where an array lies: in a buffer (or it is an array of buffers), in an image, in push constants, in memory that a workgroup shares, or with the
/// invocation, where its built-in inputs are as well.
pub enum Home {
    Buffer { set: u32, binding: u32 },
    Image { set: u32, binding: u32 },
    PushConstants,
    Shared,
    Invocation,
}

impl Home {
    /// Whether the application gives it, and nothing but results comes of leaving it. What is beyond others is the driver's own.
    pub fn is_given(self) -> bool {
        matches!(self, Self::Buffer { .. } | Self::Image { .. } | Self::PushConstants)
    }
}

/// What a coordinate of an image counts; those of texel buffers count elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    X,
    Y,
    Z,
    /// Layers of an array, or faces of cubes.
    Layer,
}

/// Where a note is from. Of those at one line, reads have other notes than writes and atomic operations.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct NotedSite {
    line: SourceLine,
    is_read: bool,
    is_accepted: bool,
}

/// What has notes of its own. Reads that are accepted have them in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    Arrays,
    Lines,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Notes {
    /// Nothing unless an invocation leaves one: thousands that raise the same words take their time.
    Overruns,
    Everything,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotedArray {
    pub home: Home,
    /// Its name, as in `lights[].weights`; empty where the module has none.
    pub path: String,
    /// Of an image.
    pub dimension: Option<Dimension>,
    pub is_runtime: bool,
    /// Whether all its indexes are signed: then those from 2^31 on are negative ones.
    is_signed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overrun {
    pub array: NotedArray,
    /// The largest index, or the last negative one.
    pub index: i64,
    pub length: u32,
    /// Where that is, in order; none where the module doesn't say it.
    pub lines: Vec<SourceLine>,
    /// Whether only reads do it: such lines can be accepted.
    pub is_read: bool,
}

impl Noting {
    /// Rewrites a module whose only purpose is this entry point. Where no invocation goes too far, it notes nothing.
    pub fn of_overruns(words: &[u32], entry: &str, most_iterations: Option<u32>) -> Result<Self, RewriteError> {
        Self::accepting(words, entry, most_iterations, &|_| false)
    }

    /// The same, but what is read at some lines is no overrun.
    pub fn accepting(
        words: &[u32],
        entry: &str,
        most_iterations: Option<u32>,
        accepts: &dyn Fn(&SourceLine) -> bool,
    ) -> Result<Self, RewriteError> {
        Self::rewrite(words, entry, Notes::Overruns, most_iterations, accepts)
    }

    /// The same, but it notes how far each array is indexed in any case: for seeing that it notes at all.
    pub fn of_everything(words: &[u32], entry: &str) -> Result<Self, RewriteError> {
        Self::rewrite(words, entry, Notes::Everything, None, &|_| false)
    }

    fn rewrite(
        original: &[u32],
        entry: &str,
        notes: Notes,
        most_iterations: Option<u32>,
        accepts: &dyn Fn(&SourceLine) -> bool,
    ) -> Result<Self, RewriteError> {
        let mut module = load(original)?;
        let function = keep_entry(&mut module, entry)?;
        let mut writer = Writer::new(module.clone(), accepts, Detail::Lines)?;
        writer.instrument(function);
        if writer.count() > MOST_NOTES {
            writer = Writer::new(module, accepts, Detail::Arrays)?;
            writer.instrument(function);
        }
        if let Some(most) = most_iterations {
            writer.count_iterations(function, most);
        }
        let (place, unfollowed) = (writer.place, writer.unfollowed);
        let (module, noted) = writer.finish(function, notes)?;
        let (arrays, sites) = noted.into_iter().unzip();
        let words = module.assemble();
        validate_rewritten(original, &words)?;
        Ok(Self { words, place, arrays, sites, unfollowed, most_iterations })
    }

    /// How large the buffer must be: two words for each array, and two for the iterations.
    pub fn bytes(&self) -> u64 {
        8 * (self.arrays.len() + 1) as u64
    }

    pub fn is_idle(&self) -> bool {
        self.arrays.is_empty() && self.most_iterations.is_none()
    }

    /// Whether an invocation came to as many iterations as are noted.
    pub fn loops_too_often(&self, noted: &[u8]) -> bool {
        let words = noted.chunks_exact(4).skip(2 * self.arrays.len());
        let count = words.map(|word| word.try_into().map_or(0, u32::from_ne_bytes)).next();
        self.most_iterations.zip(count).is_some_and(|(most, count)| count >= most)
    }

    /// What was noted that shouldn't be, each array once for each of its lengths. Arrays of which nothing was noted have no length.
    pub fn overruns(&self, noted: &[u8]) -> Vec<Overrun> {
        let mut all: Vec<Overrun> = Vec::new();
        for (array, site, [index, length]) in self.beyond(noted) {
            if site.is_some_and(|site| site.is_accepted) {
                continue;
            }
            let known =
                all.iter().position(|known| known.length == length && known.array.is_same(array)).unwrap_or_else(|| {
                    all.push(Overrun { array: array.clone(), index: 0, length, lines: Vec::new(), is_read: true });
                    all.len() - 1
                });
            let known = &mut all[known];
            let index = array.shown(index);
            if (index < 0, index) > (known.index < 0, known.index) {
                known.index = index;
            }
            known.is_read &= site.is_some_and(|site| site.is_read);
            known.lines.extend(site.map(|site| site.line.clone()));
        }
        for overrun in &mut all {
            overrun.lines.sort();
            overrun.lines.dedup();
        }
        all
    }

    /// The accepted lines at which a read left its array.
    pub fn accepted(&self, noted: &[u8]) -> Vec<SourceLine> {
        let sites = self.beyond(noted).filter_map(|(_, site, _)| site.filter(|site| site.is_accepted));
        sites.map(|site| site.line.clone()).collect()
    }

    /// The notes of indexes that lie beyond their arrays, each with the index and the length.
    fn beyond<'n>(&'n self, noted: &'n [u8]) -> impl Iterator<Item = (&'n NotedArray, Option<&'n NotedSite>, [u32; 2])> {
        let mut words = noted.chunks_exact(4).map(|word| word.try_into().map_or(0, u32::from_ne_bytes));
        let pairs = std::iter::from_fn(move || Some([words.next()?, words.next()?]));
        let all = self.arrays.iter().zip(&self.sites).zip(pairs);
        let is_beyond = |[index, length]: [u32; 2]| index >= length && index > 0;
        all.filter(move |(_, pair)| is_beyond(*pair)).map(|((array, site), pair)| (array, site.as_ref(), pair))
    }
}

impl NotedArray {
    fn is_same(&self, other: &Self) -> bool {
        (self.home, &self.path, self.dimension) == (other.home, &other.path, other.dimension)
    }

    /// An index as the shader has it.
    fn shown(&self, index: u32) -> i64 {
        if self.is_signed { i32::from_ne_bytes(index.to_ne_bytes()).into() } else { index.into() }
    }
}
