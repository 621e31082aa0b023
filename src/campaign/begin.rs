//! A campaign begins: its devices are found.

use super::interrupt;
use super::settings::Settings;
use super::targets::Targets;
use super::voice::Voice;
use crate::measure::Opener;
use crate::model::Published;
use crate::worker::{FoundDevice, Opening};

/// What is to be done on which devices, and who hears of it.
pub struct Campaign {
    pub settings: Settings,
    pub targets: Targets,
    pub voice: Voice,
}

impl Campaign {
    /// Finds the devices, which have the user's own `limits` where those are given. From here on interrupts end what is under way: what is
    /// read before may be a stream that nobody writes to.
    /// Errors: no loader, no driver, no usable device, or none that is meant.
    pub fn new(settings: Settings, limits: Option<&Published>) -> anyhow::Result<Self> {
        interrupt::listen()?;
        let voice = Voice::new(settings.mode);
        let mut targets = Targets::resolve(&settings, &voice)?;
        limits.into_iter().for_each(|own| targets.limit(own));
        Ok(Self { settings, targets, voice })
    }

    /// Opens a device, process after process.
    pub fn opener<'r>(&'r self, place: &'r FoundDevice, opening: Opening) -> Opener<'r> {
        let mut process = 0;
        Box::new(move |known| {
            process += 1;
            let timer = known.map(|known| known.timer);
            let sentinel = known.map(|known| known.sentinel).or(opening.sentinel);
            self.targets.open(place, Opening { timer, sentinel, process, ..opening.clone() }).map(|bench| bench as _)
        })
    }
}
