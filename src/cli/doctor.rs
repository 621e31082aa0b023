//! `lanescope doctor`: the questions of anybody who is shown a figure, asked of the machine itself.

use std::sync::Arc;

use super::args::doctor::Doctor;
use super::devices::DEADLINES;
use super::stdout::print_as_is;
use crate::campaign::settings::Settings;
use crate::campaign::voice::Voice;
use crate::campaign::{Campaign, TOOL_VERSION, host, lock};
use crate::doctor::loaded::Loaded;
use crate::doctor::machine::Machine;
use crate::doctor::{Finding, Harm, Report, Secrets, device_facts, judged, measured, report_text};
use crate::error::{EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, Error};
use crate::gpu::driver_folders;
use crate::output::json;
use crate::process::Listener;
use crate::worker::Platform;

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
    let campaign = Campaign::new(settings, None);
    let secrets = Secrets::of_this_machine(host::name(), driver_folders());
    let (tool_version, is_quick) = (TOOL_VERSION.to_owned(), typed.quick);
    let mut report = Report { tool_version, is_quick, secrets, ..Report::default() };
    let is_mock = campaign.as_ref().is_ok_and(|campaign| campaign.targets.are_mock());
    let machine = if is_mock { Machine::default() } else { surroundings(&mut report, &listener) };
    match campaign {
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
fn surroundings(report: &mut Report, listener: &Arc<dyn Listener>) -> Machine {
    let machine = Machine::look(format!("{}, kernel {}", host::system(), host::kernel()), host::processors());
    report.add(machine.facts(), Vec::new());
    let platform = Platform::Vulkan { validation: false, driver: None };
    let loaded = Loaded::ask(&platform, DEADLINES, listener, host::variables());
    report.add(loaded.facts(), loaded.findings());
    report.add(Vec::new(), machine.findings(&loaded.usable()));
    machine
}

/// Looks at the devices, and tries them unless that isn't wanted. Whether it came to its end.
fn tried(campaign: &Campaign, machine: &Machine, report: &mut Report) -> anyhow::Result<bool> {
    let Campaign { settings, targets, voice } = campaign;
    let Some(_locks) = lock::take_all(settings, targets, voice)? else { return Ok(false) };
    for (index, device) in targets.devices().enumerate() {
        let findings = machine.findings_of(device, &host::variables()).into_iter().collect();
        report.add(device_facts(device, machine.kernel_half(device)), findings);
        if settings.is_dry {
            continue;
        }
        let bar = voice.progress.bar(&device.name, CASES);
        let seen = measured::look(campaign, targets.device(index), &bar);
        if seen.is_interrupted {
            return Ok(false);
        }
        report.add(judged::facts(device, &seen), judged::findings(device, &seen));
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
    }
}
