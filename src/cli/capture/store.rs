//! What the layer copied, as manifests with files.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use crate::capture::{RegionFiles, Snapshot, Wanted};
use crate::cli::tune;
use crate::digest::label;
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
    /// Of each, by its digest, the file's name and its bytes.
    kept: BTreeMap<String, (String, u64)>,
}

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
        for (of, head, snapshot) in found {
            if is_whole(snapshot) && changes(head, snapshot)? {
                return self.write(of, head, snapshot, true);
            }
        }
        match found.iter().find(|(.., snapshot)| is_whole(snapshot)).or(found.first()) {
            Some((of, head, snapshot)) => self.write(of, head, snapshot, false),
            None => Ok(Err("that dispatch was never recorded, or never ended; --call names another one".to_owned())),
        }
    }

    /// Writes a kernel's manifest and contents; or says why it can't be run elsewhere.
    fn write(
        &mut self,
        of: &Wanted<'_>,
        head: &Path,
        snapshot: &Snapshot,
        changes: bool,
    ) -> anyhow::Result<Result<Written, String>> {
        if let Some(why) = of.obstacle(snapshot) {
            return Ok(Err(why));
        }
        let mut files: Vec<RegionFiles> = Vec::new();
        for (number, region) in snapshot.regions.iter().enumerate() {
            let [before, after] = ["before", "after"].map(|when| contents(head, number, when));
            // What shows nothing is no reference.
            files.push([self.kept(region.has_before, &before)?, self.kept(region.has_after && changes, &after)?]);
        }
        let manifest = match of.manifest(snapshot, &format!("{}.spv", of.kernel.label()), &files) {
            Ok(manifest) => manifest,
            Err(why) => return Ok(Err(why)),
        };
        let path = self.folder.join(format!("{}.toml", of.name(Some(snapshot))));
        File::create_new(&path)?.write_all(manifest.as_bytes())?;
        let possible =
            || tune::kernel_of(&path, 0).map_err(|error| error.to_string())?.0.possible().map_err(|failure| failure.reason);
        if let Err(why) = possible() {
            fs::remove_file(path)?;
            return Ok(Err(why));
        }
        Ok(Ok(Written { changes }))
    }

    /// The name of a file with these contents, from the folder on; nothing where there are none.
    fn kept(&mut self, is_there: bool, path: &Path) -> anyhow::Result<Option<String>> {
        if !is_there {
            return Ok(None);
        }
        let mut bytes = regular::read(path, CONTENTS)?;
        // Buffers are whole words.
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        let digest = label('d', Sha256::new_with_prefix(&bytes));
        if let Some((name, _)) = self.kept.get(&digest) {
            return Ok(Some(name.clone()));
        }
        let start = &bytes[..bytes.len().min(TRIED)];
        #[expect(clippy::cast_precision_loss, reason = "a ratio")]
        let pays = compressed(start)?.len() as f64 <= PAYS * start.len() as f64;
        let name = format!("{DATA}/{digest}.{}", if pays { "bin.gz" } else { "bin" });
        let contents = if pays { compressed(&bytes)? } else { bytes };
        File::create_new(self.folder.join(&name))?.write_all(&contents)?;
        self.kept.insert(digest, (name.clone(), contents.len() as u64));
        Ok(Some(name))
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
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// Whether the kernel left something else than it found, so that its results can be compared.
    pub changes: bool,
}

/// Whether all was copied that the kernel found.
fn is_whole(snapshot: &Snapshot) -> bool {
    snapshot.regions.iter().all(|region| region.has_before)
}

/// Whether the kernel left something else than it found.
fn changes(head: &Path, snapshot: &Snapshot) -> anyhow::Result<bool> {
    let read = |number: usize, when: &str| regular::read(&contents(head, number, when), CONTENTS);
    let mut differs = false;
    for (number, region) in snapshot.regions.iter().enumerate() {
        differs = differs || (region.has_after && read(number, "before")? != read(number, "after")?);
    }
    Ok(differs)
}

/// Where the layer wrote what a region held.
fn contents(head: &Path, region: usize, when: &str) -> PathBuf {
    let mut name = head.as_os_str().to_owned();
    name.push(format!("-{region}.{when}"));
    name.into()
}

fn compressed(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}
