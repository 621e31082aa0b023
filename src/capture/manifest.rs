//! A kernel of an application as a manifest, which `run`, `tune`, `trace` and `inspect` take.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::addresses::{Addresses, Holder};
use super::contents::{BoundRange, Snapshot, Wanted};
use super::rows::groups_text;
use crate::model::MemoryKind;
use crate::shader::{Access, BindingInfo, ScalarType};

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
        refused.or_else(|| missing.map(|info| format!("nothing is known of binding {}:{}", info.set, info.binding)))
    }

    /// # Errors
    /// Why it can't be run elsewhere, in words.
    pub fn manifest(
        &self,
        snapshot: &Snapshot,
        module: &str,
        files: &[RegionFiles],
        addresses: &Addresses,
    ) -> Result<String, String> {
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
        if snapshot.base != [0; 3] {
            let _ = writeln!(text, "base-groups = {:?}", snapshot.base);
        }
        // Writing to a string can't fail, here and below.
        if logged.required_subgroup_size > 0 {
            let _ = writeln!(text, "axis = {{ subgroup_size = {} }}", logged.required_subgroup_size);
        }
        if logged.has_full_subgroups {
            text += "full-subgroups = true\n";
        }
        let pushed = self.module.reflection.push_bytes as usize;
        if pushed > 0 {
            let mut bytes = snapshot.push.clone();
            bytes.resize(pushed, 0);
            addresses.clear(None, &mut bytes);
            let _ = writeln!(text, "push-bytes = \"{}\"", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        }
        if snapshot.is_compute {
            text += "queue = \"compute\"\n";
        }
        if snapshot.is_robust {
            text += "robust = true\n";
        }
        if let Some(share) = self.share {
            let _ = writeln!(text, "share = {share:.4}");
        }
        let reference: Vec<String> = self
            .compared(snapshot, files, addresses)
            .iter()
            .enumerate()
            .filter_map(|(at, [_, after])| Some(format!("m{at}={}", after.as_ref()?)))
            .collect();
        if !reference.is_empty() {
            let _ = writeln!(text, "reference = {}", quoted(&reference.join(",")));
        }
        text += &self.tables(snapshot, files, addresses);
        Ok(text)
    }

    fn access(&self, bound: &BoundRange) -> Access {
        let infos = &self.module.reflection.used_bindings;
        let info = infos.iter().find(|info| (info.set, info.binding) == (bound.set, bound.binding));
        info.map_or(Access::ReadOnly, |info| info.access)
    }

    /// The regions that it may do something with: of buffers that have an address only those to which one leads.
    pub fn used(&self, snapshot: &Snapshot, addresses: &Addresses) -> BTreeSet<usize> {
        let bound = snapshot.bound.iter().filter_map(|bound| Some(bound.range.as_ref().ok()?.0));
        bound.chain(addresses.led.values().map(|(region, _)| *region)).collect()
    }

    /// Files with what can be compared: where not all is known that the kernel found, nothing that it left.
    fn compared<'f>(&self, snapshot: &Snapshot, files: &'f [RegionFiles], addresses: &Addresses) -> &'f [RegionFiles] {
        let is_known = |at: &usize| files.get(*at).is_some_and(|[before, _]| before.is_some());
        if self.used(snapshot, addresses).iter().all(is_known) { files } else { &[] }
    }

    /// The regions that it writes.
    pub fn written(&self, snapshot: &Snapshot, addresses: &Addresses) -> BTreeSet<usize> {
        let is_written = |bound: &&BoundRange| self.access(bound) != Access::ReadOnly;
        let bound = snapshot.bound.iter().filter(is_written).filter_map(|bound| Some(bound.range.as_ref().ok()?.0));
        bound.chain(addresses.written.iter().copied()).collect()
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

    fn tables(&self, snapshot: &Snapshot, files: &[RegionFiles], addresses: &Addresses) -> String {
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
        let used = self.used(snapshot, addresses);
        let memory = |(at, region): (usize, &super::contents::Region)| {
            let ty = addresses.types.get(&at).copied().unwrap_or(ScalarType::U32);
            let count = region.bytes.next_multiple_of(4) / ty.bytes();
            let fill = files.get(at).and_then(|[before, _]| before.as_ref());
            let fill = fill.map_or_else(|| "random".to_owned(), |file| format!("file={file}"));
            let place = match region.place {
                MemoryKind::DeviceLocal | MemoryKind::DeviceHostVisible => "",
                MemoryKind::HostVisible => "host ",
                MemoryKind::HostCached => "cached ",
            };
            (format!("m{at}"), format!("{place}{ty}[{count}]:{fill}"))
        };
        table(&mut text, "memory", snapshot.regions.iter().enumerate().filter(|(at, _)| used.contains(at)).map(memory));
        let place = |bound: &BoundRange| {
            let infos = &self.module.reflection.used_bindings;
            let info = infos.iter().find(|info| (info.set, info.binding) == (bound.set, bound.binding));
            let element = info.filter(|info| info.count != 1).map_or_else(String::new, |_| format!("[{}]", bound.element));
            (format!("{}:{}{element}", bound.set, bound.binding), self.access(bound) != Access::ReadOnly)
        };
        let ranges = || snapshot.bound.iter().filter_map(|bound| Some((place(bound), bound.range.as_ref().ok()?)));
        table(
            &mut text,
            "buffer",
            ranges().map(|((place, _), (at, offset, bytes))| (place, format!("@m{at}[{offset}, {bytes}]"))),
        );
        // What wasn't copied afterwards can't be compared.
        let compared = self.compared(snapshot, files, addresses);
        let is_unknown = |at: usize| compared.get(at).is_none_or(|[_, after]| after.is_none());
        let unknown = ranges().filter(|((_, is_written), (at, ..))| *is_written && is_unknown(*at));
        let unknown = unknown.map(|((place, _), _)| place);
        let by_address = addresses.written.iter().filter(|at| is_unknown(**at)).map(|at| format!("m{at}"));
        table(&mut text, "check", unknown.chain(by_address).map(|place| (place, "none".to_owned())));
        let place = |(holder, at): (Holder, u64)| holder.map_or(format!("@{at}"), |region| format!("m{region}@{at}"));
        let led = addresses.led.iter().map(|(from, (to, byte))| (place(*from), format!("@m{to}[{byte}]")));
        table(&mut text, "address", led);
        text
    }
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
