//! What the layer copied, as manifests with files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::capture::{Addresses, Region, RegionFiles, Snapshot, Wanted};
use crate::cli::tune;
use crate::digest::of_contents;
use crate::regular::{self, Kind};

/// The folder of the contents, within the output.
const DATA: &str = "data";

/// A description that the layer wrote.
const DESCRIPTION: Kind = Kind { what: "a description of the layer's", largest: 64 << 20, may_stream: false };

/// What a buffer holds.
const CONTENTS: Kind = Kind { what: "the contents of a buffer", largest: 1 << 40, may_stream: false };

/// Bytes by which it is seen whether compressing pays, and by how much it has to.
const TRIED: usize = 1 << 20;
const PAYS: f64 = 0.9;

/// Contents by what they are: two that are equal are one file.
pub struct Store<'f> {
    folder: &'f Path,
    kept: Kept,
}

/// Of each contents, by its digest, the file's name and its bytes.
type Kept = BTreeMap<String, (String, u64)>;

impl<'f> Store<'f> {
    pub fn new(folder: &'f Path) -> anyhow::Result<Self> {
        fs::create_dir(folder.join(DATA))?;
        Ok(Self { folder, kept: BTreeMap::new() })
    }

    /// What all of its files have.
    pub fn bytes(&self) -> u64 {
        self.kept.values().map(|(_, bytes)| bytes).sum()
    }

    /// Writes the first of these calls that changes something, or else the first one.
    pub fn write_best(&mut self, found: &[(&Wanted<'_>, &Path, &Snapshot)]) -> anyhow::Result<Result<Written, String>> {
        let mut best: Option<Found<'_>> = None;
        let mut refusal = None;
        for (of, head, snapshot) in found {
            match Found::of(of, head, snapshot) {
                Ok(own) if own.is_whole() && own.changes()? => return self.write(&own, true),
                Ok(own) if best.as_ref().is_none_or(|best| own.is_whole() && !best.is_whole()) => best = Some(own),
                Ok(_) => {}
                Err(why) => drop(refusal.get_or_insert(why)),
            }
        }
        match (best, refusal) {
            (Some(best), _) => self.write(&best, false),
            (None, Some(why)) => Ok(Err(why)),
            (None, None) => Ok(Err("that dispatch was never recorded, or never ended; --call names another one".to_owned())),
        }
    }

    /// Writes a kernel's manifest and contents; or says why it can't be run elsewhere.
    fn write(&mut self, found: &Found<'_>, changes: bool) -> anyhow::Result<Result<Written, String>> {
        let Found { of, snapshot, addresses, used, written, .. } = found;
        let before = self.kept.clone();
        let mut files: Vec<RegionFiles> = Vec::new();
        for (number, region) in snapshot.regions.iter().enumerate() {
            let is_used = used.contains(&number);
            let read = |is_there: bool, when: &str| (is_there && is_used).then(|| found.read(number, when)).transpose();
            // What shows nothing is no reference.
            let has_after = region.has_after && changes && written.contains(&number);
            let mut both = [read(region.has_before, "before")?, read(has_after, "after")?];
            both.iter_mut().flatten().for_each(|bytes| addresses.clear(Some(number), bytes));
            let [before, after] = both.map(|bytes| bytes.map(|bytes| self.kept(bytes)).transpose());
            files.push([before?, after?]);
        }
        let manifest = match of.manifest(snapshot, &format!("{}.spv", of.kernel.label()), &files, addresses) {
            Ok(manifest) => manifest,
            Err(why) => return self.refused(before, why),
        };
        let path = self.folder.join(format!("{}.toml", of.name(Some(snapshot))));
        File::create_new(&path)?.write_all(manifest.as_bytes())?;
        let possible =
            || tune::kernel_of(&path, 0).map_err(|error| error.to_string())?.0.possible().map_err(|failure| failure.reason);
        if let Err(why) = possible() {
            fs::remove_file(&path)?;
            return self.refused(before, why);
        }
        let disturbed = found.is_disturbed()?.then(|| of.name(Some(snapshot)));
        Ok(Ok(Written { changes, disturbed }))
    }

    /// Takes back what a kernel's contents were, which can't be run elsewhere: nobody would read them.
    fn refused(&mut self, before: Kept, why: String) -> anyhow::Result<Result<Written, String>> {
        for (name, _) in self.kept.iter().filter_map(|(digest, file)| (!before.contains_key(digest)).then_some(file)) {
            fs::remove_file(self.folder.join(name))?;
        }
        self.kept = before;
        Ok(Err(why))
    }

    /// The name of a file with these contents, from the folder on.
    fn kept(&mut self, mut bytes: Vec<u8>) -> anyhow::Result<String> {
        // Buffers are whole words.
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        let digest = of_contents(&bytes);
        if let Some((name, _)) = self.kept.get(&digest) {
            return Ok(name.clone());
        }
        let start = &bytes[..bytes.len().min(TRIED)];
        #[expect(clippy::cast_precision_loss, reason = "a ratio")]
        let pays = compressed(start)?.len() as f64 <= PAYS * start.len() as f64;
        let name = format!("{DATA}/{digest}.{}", if pays { "bin.gz" } else { "bin" });
        let contents = if pays { compressed(&bytes)? } else { bytes };
        File::create_new(self.folder.join(&name))?.write_all(&contents)?;
        self.kept.insert(digest, (name.clone(), contents.len() as u64));
        Ok(name)
    }
}

/// What was copied: where its files are, and the description.
pub fn snapshots(logs: &Path) -> anyhow::Result<Vec<(PathBuf, Snapshot)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(logs)? {
        let path = entry?.path();
        let is_it = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("contents-"));
        if is_it && path.extension().is_some_and(|end| end == "txt") {
            all.extend(
                Snapshot::read(&regular::read_text(&path, DESCRIPTION)?).map(|snapshot| (path.with_extension(""), snapshot)),
            );
        }
    }
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(all)
}

/// A manifest that was written.
#[derive(Clone, Debug)]
pub struct Written {
    /// What it is called, if something changed while it ran that it doesn't write.
    pub disturbed: Option<String>,
    /// Whether the kernel left something else than it found, so that its results can be compared.
    pub changes: bool,
}

/// A dispatch that was copied.
struct Found<'f> {
    of: &'f Wanted<'f>,
    /// How its files begin.
    head: &'f Path,
    snapshot: &'f Snapshot,
    addresses: Addresses,
    /// The regions that count, and those of them that the kernel writes.
    used: BTreeSet<usize>,
    written: BTreeSet<usize>,
}

impl<'f> Found<'f> {
    /// It fails where the kernel can't be run elsewhere.
    fn of(of: &'f Wanted<'f>, head: &'f Path, snapshot: &'f Snapshot) -> Result<Self, String> {
        if let Some(why) = of.obstacle(snapshot) {
            return Err(why);
        }
        let new = Self { of, head, snapshot, addresses: Addresses::default(), used: BTreeSet::new(), written: BTreeSet::new() };
        let mut contents =
            |region: usize, when: &str| snapshot.regions[region].has_before.then(|| new.read(region, when).ok()).flatten();
        let addresses = of.addresses(snapshot, &mut contents)?;
        let (used, written) = (of.used(snapshot, &addresses), of.written(snapshot, &addresses));
        Ok(Self { used, written, addresses, ..new })
    }

    fn regions(&self) -> impl Iterator<Item = (usize, &Region)> {
        self.used.iter().map(|at| (*at, &self.snapshot.regions[*at]))
    }

    /// Whether all was copied that the kernel found.
    fn is_whole(&self) -> bool {
        self.regions().all(|(_, region)| region.has_before)
    }

    /// Whether the kernel left something else than it found.
    fn changes(&self) -> anyhow::Result<bool> {
        self.differs(true)
    }

    /// Whether something else changed while it ran: what it found there isn't known.
    fn is_disturbed(&self) -> anyhow::Result<bool> {
        self.differs(false)
    }

    /// Whether what it writes, or what it doesn't, is something else afterwards.
    fn differs(&self, of_written: bool) -> anyhow::Result<bool> {
        let is_meant = |number: &usize| self.written.contains(number) == of_written;
        for (number, _) in self.regions().filter(|(number, region)| region.has_after && is_meant(number)) {
            if self.read(number, "before")? != self.read(number, "after")? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn read(&self, region: usize, when: &str) -> anyhow::Result<Vec<u8>> {
        let mut name = self.head.as_os_str().to_owned();
        name.push(format!("-{region}.{when}"));
        Ok(regular::read(Path::new(&name), CONTENTS)?)
    }
}

fn compressed(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}
