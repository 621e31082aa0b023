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
use crate::doctor::{Report, device_facts, judged, measured, report_text};
use crate::error::{EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, Error};
use crate::output::json;
use crate::process::Listener;
use crate::worker::Platform;

/// About as many cases as are tried on a device.
const CASES: u64 = 22;

pub fn doctor(typed: &Doctor) -> anyhow::Result<u8> {
    let Some(report) = examined(typed)? else { return Ok(EXIT_INTERRUPTED) };
    print_as_is(&if typed.json { json(&report)? } else { report_text(&report) })?;
    Ok(if report.findings.is_empty() { EXIT_OK } else { EXIT_FAILED })
}

/// Nothing where the user interrupted it.
fn examined(typed: &Doctor) -> anyhow::Result<Option<Report>> {
    let mut report = Report { tool_version: TOOL_VERSION.to_owned(), is_quick: typed.quick, ..Report::default() };
    let settings = Settings::from(typed);
    let listener: Arc<dyn Listener> = Voice::new(settings.mode).listener();
    let campaign = Campaign::new(settings, None);
    let is_mock = campaign.as_ref().is_ok_and(|campaign| campaign.targets.are_mock());
    let machine = if is_mock {
        Machine::default()
    } else {
        Machine::look(format!("{}, kernel {}", host::system(), host::kernel()), host::processors())
    };
    report.add(machine.facts(), Vec::new());
    let mut loaded = Loaded::default();
    if !is_mock {
        let platform = Platform::Vulkan { validation: false, driver: None };
        loaded = Loaded::ask(&platform, DEADLINES, &listener, host::variables());
        report.add(loaded.facts(), loaded.findings());
    }
    let campaign = match campaign {
        // What keeps all devices from being used is a finding by now.
        Err(error) if !report.findings.is_empty() && matches!(error.downcast_ref(), Some(Error::NoDevice(_))) => {
            report.add(Vec::new(), machine.findings(None, &loaded.variables));
            return Ok(Some(report));
        }
        campaign => campaign?,
    };
    let Some(_locks) = lock::take_all(&campaign.settings, &campaign.targets, &campaign.voice)? else { return Ok(None) };
    for (index, device) in campaign.targets.devices().enumerate() {
        report.add(device_facts(device, machine.kernel_half(device)), machine.findings(Some(device), &loaded.variables));
        if typed.quick {
            continue;
        }
        let bar = campaign.voice.progress.bar(&device.name, CASES);
        let seen = measured::look(&campaign, campaign.targets.device(index), &bar);
        if seen.is_interrupted {
            return Ok(None);
        }
        report.add(judged::facts(device, &seen), judged::findings(device, &seen));
    }
    Ok(Some(report))
}
