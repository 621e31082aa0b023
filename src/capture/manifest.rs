//! A kernel of an application as a manifest, which `run`, `tune`, `trace` and `inspect` take.

use std::fmt::Write;

use super::contents::{BoundRange, Snapshot, Wanted};
use super::rows::groups_text;
use crate::model::MemoryKind;
use crate::shader::{Access, BindingInfo, Capability};

/// The files that a region's bytes are in, before the dispatch and after it.
pub type RegionFiles = [Option<String>; 2];

impl Wanted<'_> {
    /// What rows call it, behind `kernel/`, and its manifest's file without the ending.
    pub fn name(&self, snapshot: Option<&Snapshot>) -> String {
        // The device may have read another number in the second run.
        let groups = snapshot.and_then(|snapshot| snapshot.groups).or(self.kernel.groups);
        format!("{}-{}", self.kernel.label(), groups_text(groups))
    }

    /// What can't be run elsewhere, and why.
    pub fn obstacle(&self, snapshot: &Snapshot) -> Option<String> {
        let bindings = self.bindings();
        let is_bound =
            |info: &&BindingInfo| snapshot.bound.iter().any(|bound| (bound.set, bound.binding) == (info.set, info.binding));
        let missing = bindings.iter().find(|info| !is_bound(info));
        let refused = snapshot.bound.iter().find_map(|bound| {
            let why = bound.range.as_ref().err()?;
            Some(format!("binding {}:{} can't be taken: {why}", bound.set, bound.binding))
        });
        if self.module.reflection.capabilities.contains(&Capability::PhysicalStorageBufferAddresses) {
            return Some("it reaches buffers by their addresses".to_owned());
        }
        if snapshot.base != [0; 3] {
            return Some("its workgroups don't begin at 0".to_owned());
        }
        refused.or_else(|| missing.map(|info| format!("nothing is known of binding {}:{}", info.set, info.binding)))
    }

    /// # Errors
    /// Why it can't be run elsewhere, in words.
    pub fn manifest(&self, snapshot: &Snapshot, module: &str, files: &[RegionFiles]) -> Result<String, String> {
        let groups = snapshot.groups.ok_or("nobody knows how many workgroups it had")?;
        let logged = &self.kernel.logged;
        let mut text = format!(
            "# A kernel of an application, with what its buffers held: see `lanescope guide capture`.\n\
             name = {}\nshader = {}\nentry = {}\n",
            quoted(&self.name(Some(snapshot))),
            quoted(module),
            quoted(&logged.entry)
        );
        text += &self.dispatched(groups);
        // Writing to a string can't fail, here and below.
        if logged.required_subgroup_size > 0 {
            let _ = writeln!(text, "axis = {{ subgroup_size = {} }}", logged.required_subgroup_size);
        }
        if logged.has_full_subgroups {
            text += "full-subgroups = true\n";
        }
        let pushed = self.module.reflection.push_bytes as usize;
        if pushed > 0 {
            let known = snapshot.push.iter().copied().chain(std::iter::repeat(0)).take(pushed);
            let _ = writeln!(text, "push-bytes = \"{}\"", known.map(|byte| format!("{byte:02x}")).collect::<String>());
        }
        if snapshot.is_compute {
            text += "queue = \"compute\"\n";
        }
        let reference: Vec<String> = compared(files)
            .iter()
            .enumerate()
            .filter_map(|(at, [_, after])| Some(format!("m{at}={}", after.as_ref()?)))
            .collect();
        if !reference.is_empty() {
            let _ = writeln!(text, "reference = {}", quoted(&reference.join(",")));
        }
        text += &self.tables(snapshot, files);
        Ok(text)
    }

    /// How many workgroups there are: where the kernel's work is cut into invocations, as many as cover those, so that `tune` may choose
    /// the workgroup's size.
    fn dispatched(&self, groups: [u32; 3]) -> String {
        let size = self.kernel.told.local_size.filter(|_| self.module.reflection.counts_invocations);
        let threads = size.map(|size| [0, 1, 2].map(|at| u64::from(size[at]) * u64::from(groups[at])));
        match threads {
            Some(threads) => format!("# {} workgroups\nthreads = {threads:?}\n", groups_text(Some(groups))),
            None => format!("groups = {groups:?}\n"),
        }
    }

    fn tables(&self, snapshot: &Snapshot, files: &[RegionFiles]) -> String {
        let mut text = String::new();
        let constants: Vec<(&str, &str)> = self
            .kernel
            .logged
            .constants
            .split(',')
            .filter_map(|of| of.split_once('='))
            .filter(|(_, bytes)| !bytes.is_empty())
            .collect();
        table(&mut text, "constant-bytes", constants.into_iter().map(|(id, bytes)| (id.to_owned(), bytes.to_owned())));
        let memory = |(at, region): (usize, &super::contents::Region)| {
            let words = region.bytes.div_ceil(4);
            let fill = files.get(at).and_then(|[before, _]| before.as_ref());
            let fill = fill.map_or_else(|| "random".to_owned(), |file| format!("file={file}"));
            let place = match region.place {
                MemoryKind::DeviceLocal | MemoryKind::DeviceHostVisible => "",
                MemoryKind::HostVisible => "host ",
                MemoryKind::HostCached => "cached ",
            };
            (format!("m{at}"), format!("{place}uint[{words}]:{fill}"))
        };
        table(&mut text, "memory", snapshot.regions.iter().enumerate().map(memory));
        let place = |bound: &BoundRange| {
            let infos = &self.module.reflection.used_bindings;
            let info = infos.iter().find(|info| (info.set, info.binding) == (bound.set, bound.binding));
            let element = info.filter(|info| info.count != 1).map_or_else(String::new, |_| format!("[{}]", bound.element));
            (format!("{}:{}{element}", bound.set, bound.binding), info.is_some_and(|info| info.access != Access::ReadOnly))
        };
        let ranges = || snapshot.bound.iter().filter_map(|bound| Some((place(bound), bound.range.as_ref().ok()?)));
        table(
            &mut text,
            "buffer",
            ranges().map(|((place, _), (at, offset, bytes))| (place, format!("@m{at}[{offset}, {bytes}]"))),
        );
        // What wasn't copied afterwards can't be compared.
        let is_unknown = |at: usize| compared(files).get(at).is_none_or(|[_, after]| after.is_none());
        let unknown = ranges().filter(|((_, is_written), (at, ..))| *is_written && is_unknown(*at));
        table(&mut text, "check", unknown.map(|((place, _), _)| (place, "none".to_owned())));
        text
    }
}

/// Files with what can be compared: where not all is known that the kernel found, nothing that it left.
fn compared(files: &[RegionFiles]) -> &[RegionFiles] {
    if files.iter().all(|[before, _]| before.is_some()) { files } else { &[] }
}

fn table(text: &mut String, name: &str, entries: impl Iterator<Item = (String, String)>) {
    let entries: Vec<String> = entries.map(|(key, value)| format!("{} = {}\n", quoted(&key), quoted(&value))).collect();
    if !entries.is_empty() {
        let _ = write!(text, "\n[{name}]\n{}", entries.concat());
    }
}

/// A basic string of TOML, whose escapes are JSON's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
