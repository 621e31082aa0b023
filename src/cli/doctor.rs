//! `lanescope doctor`: the questions of anybody who is shown a figure, asked of the machine itself.

use std::sync::Arc;
use std::time::Duration;

use super::args::doctor::Doctor;
use super::stdout::print_as_is;
use crate::campaign::settings::Settings;
use crate::campaign::targets::names_mock;
use crate::campaign::voice::Voice;
use crate::campaign::{Campaign, TOOL_VERSION, host, lock};
use crate::doctor::loaded::Loaded;
use crate::doctor::machine::Machine;
use crate::doctor::{Finding, Harm, Report, Secrets, device_facts, judged, measured, report_text};
use crate::error::{EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, Error};
use crate::gpu::vulkan_folders;
use crate::output::json;
use crate::process::Listener;
use crate::worker::{Deadline, Deadlines, Platform};

/// How long drivers may take to tell what they are: people wait for it.
const DEADLINES: Deadlines =
    Deadlines { first: Deadline::fixed(Duration::from_secs(20)), usual: Deadline::fixed(Duration::from_secs(5)) };

/// About as many cases as are tried on a device.
const CASES: u64 = 30;

pub fn doctor(typed: &Doctor) -> anyhow::Result<u8> {
    let Some(report) = examined(typed)? else { return Ok(EXIT_INTERRUPTED) };
    print_as_is(&if typed.json { json(&report)? } else { report_text(&report) })?;
    Ok(if report.findings.is_empty() { EXIT_OK } else { EXIT_FAILED })
}

/// Nothing where the user interrupted it.
fn examined(typed: &Doctor) -> anyhow::Result<Option<Report>> {
    let settings = Settings::from(typed);
    let listener = Voice::new(settings.mode).listener();
    let secrets = Secrets::of_this_machine(host::name(), vulkan_folders());
    let (tool_version, is_quick) = (TOOL_VERSION.to_owned(), typed.quick);
    let mut report = Report { tool_version, is_quick, secrets, ..Report::default() };
    let (machine, loaded) = match names_mock(&settings.devices) {
        true => Default::default(),
        false => surroundings(&mut report, &listener),
    };
    // Who asks quickly doesn't wait for a driver that hangs once more.
    if typed.quick && loaded.hangs {
        return Ok(Some(report));
    }
    match Campaign::new(settings, None) {
        Ok(campaign) => Ok(tried(&campaign, &machine, &mut report)?.then_some(report)),
        Err(error) => match error.downcast_ref() {
            // What keeps all devices from being used is a finding by now; one that was chosen may be another matter.
            Some(Error::NoDevice(words)) => {
                if report.findings.iter().all(|finding| finding.harm != Harm::NoDevice) {
                    report.add(Vec::new(), vec![unusable(words)]);
                }
                Ok(Some(report))
            }
            _ => Err(error),
        },
    }
}

/// Looks at the machine, and at what processes load on it.
fn surroundings(report: &mut Report, listener: &Arc<dyn Listener>) -> (Machine, Loaded) {
    let machine =
        Machine::look(format!("{}, kernel {}", host::system(), host::kernel()), host::processor_name(), host::processors());
    report.add(machine.facts(), Vec::new());
    let platform = Platform::Vulkan { validation: false, driver: None };
    let loaded = Loaded::ask(&platform, DEADLINES, listener, host::variables());
    report.add(loaded.facts(), loaded.findings());
    report.add(Vec::new(), machine.findings(&loaded.usable()));
    (machine, loaded)
}

/// Looks at the devices, and tries them unless that isn't wanted. Whether it came to its end.
fn tried(campaign: &Campaign, machine: &Machine, report: &mut Report) -> anyhow::Result<bool> {
    let Campaign { settings, targets, voice } = campaign;
    let Some(_locks) = lock::take_all(settings, targets, voice)? else { return Ok(false) };
    let are_several = targets.devices().count() > 1;
    for (index, device) in targets.devices().enumerate() {
        let named = are_several.then(|| format!("{} ({})", device.index, device.name));
        let of_it = |finding: Finding| Finding { device: named.clone(), ..finding };
        let findings = machine.findings_of(device, &host::variables()).into_iter().map(of_it).collect();
        report.add(device_facts(device, machine.kernel_half(device)), findings);
        if settings.is_dry {
            continue;
        }
        let bar = voice.progress.bar("", CASES).untimed();
        let seen = measured::look(campaign, targets.device(index), &bar);
        if seen.is_interrupted {
            return Ok(false);
        }
        report.add(judged::facts(device, &seen), judged::findings(device, &seen).into_iter().map(of_it).collect());
    }
    Ok(true)
}

/// The device that was named can't be used.
fn unusable(words: &str) -> Finding {
    Finding {
        name: "no-device",
        harm: Harm::NoDevice,
        what: "The device that was named can't be used.".to_owned(),
        evidence: format!("{words}."),
        advice: "see `lanescope devices`, and name another one".to_owned(),
        ..Finding::default()
    }
}
