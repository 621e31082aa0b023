//! What the device does when it is tried: its clocks under a load that lasts, and small cases in two processes.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::checks::{CLOCK, FEATURES, FROM_DEVICE, LOAD, Pick, RESULTS, STEADY, TO_DEVICE, residency};
use crate::campaign::{Campaign, interrupt};
use crate::experiments::Setting;
use crate::measure::{
    self, Answer, Bench, Call, CaseKey, Event, Instrument, Job, Loss, Options, Order, Outcome, Pool, Rounds, Rule, Session,
    Task, Watch, answers_of,
};
use crate::model::{Cache, Case, Failure, PciAddress, Point};
use crate::output::Bar;
use crate::plan::Planned;
use crate::regular::{self, Kind};
use crate::stats::Interval;
use crate::worker::FoundDevice;

/// How long the device idles before its clocks are watched, and is kept busy then.
const REST: Duration = Duration::from_secs(1);
const LOAD_TIME: Duration = Duration::from_secs(10);

/// The time that a case may be timed.
const CASE_TIME: Duration = Duration::from_millis(250);
/// The noise that is precise enough to tell what is imitated from what is not.
const MAX_NOISE: f64 = 0.02;
const PROCESSES: usize = 2;

/// How often the link is looked at: between copies it may slow down.
const LOOKING_AT_LINK: Duration = Duration::from_millis(20);

const LINK: Kind = Kind { what: "a file of the kernel's", largest: 4096, may_stream: false };

/// A case that was tried, with what became of it.
#[derive(Clone, Debug)]
pub struct Tried {
    pub experiment: String,
    pub variant: String,
    pub point: Point,
    pub case: Case,
    /// `None` where it wasn't tried: the device was given up before.
    pub result: Option<Result<Times, Failure>>,
}

/// What passes of a case took, in nanoseconds, with the ends of the interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times {
    pub value: f64,
    pub low: f64,
    pub high: f64,
    pub rounds: Rounds,
}

impl From<measure::Measured> for Times {
    fn from(measured: measure::Measured) -> Self {
        let value = measured.value();
        let Interval { low, high } = measured.interval().unwrap_or(Interval { low: value, high: value });
        Self { value, low, high, rounds: measured.rounds }
    }
}

/// What was seen of a device.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub instrument: Option<Instrument>,
    pub watch: Option<Watch>,
    /// By what was picked; nothing for what the device can't run.
    pub tried: BTreeMap<String, Tried>,
    /// Reading more and more memory, the smallest size first.
    pub residency: Vec<Tried>,
    /// The link to the host, at its best while the device worked.
    pub link: Option<Link>,
    /// Why the device was given up, or couldn't be opened.
    pub failure: Option<Failure>,
    pub is_interrupted: bool,
}

/// A PCI Express link: gigatransfers a second, and lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    pub speed: f64,
    pub width: f64,
    pub most_speed: f64,
    pub most_width: f64,
}

impl Link {
    /// Bytes a second in one direction, at most: from the third generation on, 128 of 130 bits are data, before it 8 of 10.
    pub fn rate(speed: f64, width: f64) -> f64 {
        let share = if speed < 8.0 { 0.8 } else { 128.0 / 130.0 };
        speed * 1e9 / 8.0 * width * share
    }

    fn better(self, other: Option<Self>) -> Self {
        let rate = |link: &Self| Self::rate(link.speed, link.width);
        other.filter(|other| rate(other) > rate(&self)).unwrap_or(self)
    }
}

impl Seen {
    /// All cases that were to be tried.
    pub fn all(&self) -> impl Iterator<Item = &Tried> {
        self.tried.values().chain(&self.residency)
    }

    pub fn of(&self, pick: &Pick) -> Option<&Tried> {
        self.tried.get(&pick.name())
    }

    /// What was measured of a pick.
    pub fn measured(&self, pick: &Pick) -> Option<(&Tried, &Times)> {
        let tried = self.of(pick)?;
        Some((tried, tried.result.as_ref()?.as_ref().ok()?))
    }
}

/// Tries a device.
pub fn look(campaign: &Campaign, place: &FoundDevice, bar: &Bar) -> Seen {
    let mut seen = Seen::default();
    let (link, is_over) = (LinkFiles::of(place.info.pci_address), AtomicBool::new(false));
    thread::scope(|scope| {
        let watched = link.as_ref().map(|link| scope.spawn(|| link.best_until(&is_over)));
        if let Err(failure) = try_all(campaign, place, bar, &mut seen) {
            seen.failure = Some(failure);
        }
        is_over.store(true, Ordering::Relaxed);
        seen.link = watched.and_then(|watched| watched.join().ok()).flatten();
    });
    seen.is_interrupted = interrupt::is_asked();
    seen
}

fn try_all(campaign: &Campaign, place: &FoundDevice, bar: &Bar, seen: &mut Seen) -> Result<(), Failure> {
    let settings = &campaign.settings;
    let setting =
        Setting { device: &place.info, queue: settings.queue.of(&place.info), preset: settings.preset, seed: settings.seed };
    let planned = |pick: &Pick| pick.planned(setting).ok().flatten();
    if let Some(load) = planned(&LOAD) {
        bar.start("watching the clock under load");
        let key = CaseKey {
            experiment: load.experiment.name().to_owned(),
            variant: load.variant.to_owned(),
            point: load.point,
            cache: Cache::Warm,
        };
        let opening = settings.opening(place, CASE_TIME);
        let mut bench = campaign.targets.open(place, opening).map_err(|Loss(failure)| failure)?;
        seen.watch = Some(watch(bench.as_mut(), key)?);
    }
    if interrupt::is_asked() {
        return Ok(());
    }
    let of_features = FEATURES.iter().flat_map(|feature| [feature.claimed, feature.plain]);
    let all = of_features.chain(STEADY).chain(RESULTS).chain([CLOCK, TO_DEVICE, FROM_DEVICE]);
    let mut picks: Vec<Pick> = Vec::new();
    all.for_each(|pick| {
        if !picks.contains(&pick) {
            picks.push(pick);
        }
    });
    let (picks, cases): (Vec<Pick>, Vec<Tried>) =
        picks.into_iter().filter_map(|pick| Some((pick, Tried::planned(planned(&pick)?)?))).unzip();
    let (tried, instrument) = measure(campaign, place, bar, PROCESSES, cases)?;
    seen.instrument = Some(instrument);
    seen.tried = picks.iter().map(Pick::name).zip(tried.cases).collect();
    tried.failure.map_or(Ok(()), Err)?;
    let sizes: Vec<Tried> = residency(setting).into_iter().filter_map(Tried::planned).collect();
    if !sizes.is_empty() && !interrupt::is_asked() {
        // One size at a time fills the memory: further processes would wait for each other.
        let (tried, _) = measure(campaign, place, bar, 1, sizes)?;
        seen.residency = tried.cases;
        tried.failure.map_or(Ok(()), Err)?;
    }
    Ok(())
}

/// What was measured until a device was given up, if it was.
struct Measured {
    cases: Vec<Tried>,
    failure: Option<Failure>,
}

/// Measures cases in so many processes.
fn measure(
    campaign: &Campaign,
    place: &FoundDevice,
    bar: &Bar,
    processes: usize,
    cases: Vec<Tried>,
) -> Result<(Measured, Instrument), Failure> {
    let settings = &campaign.settings;
    let pool = Pool::new(processes, campaign.opener(place, settings.opening(place, CASE_TIME)))?;
    let options = Options { rule: Rule::Each, max_noise: MAX_NOISE, max_time: CASE_TIME, seed: settings.seed };
    let mut session = Session::new(pool, options).keeping_few_rounds();
    let instrument = session.instrument().clone();
    let tasks: Vec<Task> = cases.iter().map(|tried| Task { key: tried.key(), case: &tried.case, base: None }).collect();
    let outcomes = session.measure(&tasks, &mut |event| {
        show(bar, &event);
        if interrupt::is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let failure = session.given_up().cloned();
    drop((session, tasks));
    let ended = |(tried, outcome): (Tried, Option<Outcome>)| Tried {
        result: outcome.map(|outcome| outcome.result.map(Times::from)),
        ..tried
    };
    Ok((Measured { cases: cases.into_iter().zip(outcomes).map(ended).collect(), failure }, instrument))
}

impl Tried {
    /// A case that is to be tried; nothing for one that the device can't run.
    fn planned(planned: Planned) -> Option<Self> {
        let (experiment, variant) = (planned.experiment.name().to_owned(), planned.variant.to_owned());
        Some(Self { experiment, variant, point: planned.point, case: planned.case.ok()?, result: None })
    }

    fn key(&self) -> CaseKey {
        CaseKey {
            experiment: self.experiment.clone(),
            variant: self.variant.clone(),
            point: self.point.clone(),
            cache: Cache::Warm,
        }
    }

    /// As people name it.
    pub fn name(&self) -> String {
        let variant = if self.variant.is_empty() { String::new() } else { format!(":{}", self.variant) };
        format!("{}{variant} {}", self.experiment, self.point)
    }
}

fn show(bar: &Bar, event: &Event) {
    match event {
        Event::Loading(case) => {
            bar.start(&format!("checking {} {}", case.experiment, case.point));
            bar.step();
        }
        Event::Timing(case, round) => bar.start(&format!("round {round}: {} {}", case.experiment, case.point)),
        Event::Ended => bar.advance(1),
        _ => {}
    }
}

/// Loads a case, sizes it, and watches the device under it.
fn watch(bench: &mut dyn Bench, key: CaseKey) -> Result<Watch, Failure> {
    let job = Job { key, base: None, sizes: None, is_checked: true };
    for answer in answers_of(bench, Order::Load { jobs: vec![job], share: Some(1), is_ahead: false })? {
        match answer {
            Answer::Loaded(loading) => drop(loading.result?),
            Answer::Ready(ready) => ready?,
            _ => {}
        }
    }
    let call = Call { place: 0, left: LOAD_TIME, expected: LOAD_TIME, is_alone: true, most_samples: None, is_glance: false };
    for answer in answers_of(bench, Order::Size { calls: vec![call], is_race: false })? {
        if let Answer::Sized(sized) = answer {
            sized?;
        }
    }
    let mut found = Watch::default();
    for answer in answers_of(bench, Order::Watch { place: 0, rest: REST, time: LOAD_TIME })? {
        if let Answer::Watched(watched) = answer {
            found = watched?;
        }
    }
    Ok(found)
}

/// Where Linux tells of the link of a device: of its own end, and of the port at the other.
struct LinkFiles {
    card: PathBuf,
    port: Option<PathBuf>,
}

impl LinkFiles {
    fn of(address: Option<PciAddress>) -> Option<Self> {
        let folder = PathBuf::from("/sys/bus/pci/devices").join(address?.to_string());
        let files = Self::above(&folder.canonicalize().ok()?);
        files.read().map(|_| files)
    }

    /// Some cards have a switch of their own, whose inner link tells nothing: what counts is the outermost of their maker's.
    fn above(device: &Path) -> Self {
        let vendor = |folder: &Path| regular::read_text(&folder.join("vendor"), LINK).ok();
        let own = vendor(device);
        let mut card = device.to_owned();
        // A root port may be of the same maker as the card: nothing of the bus is above it.
        let is_root = |port: &Path| port.parent().is_none_or(|above| vendor(above).is_none());
        while let Some(above) = card.parent().filter(|above| own.is_some() && vendor(above) == own && !is_root(above)) {
            card = above.to_owned();
        }
        let port = card.parent().filter(|above| above.join("max_link_speed").exists()).map(Path::to_owned);
        Self { card, port }
    }

    fn read(&self) -> Option<Link> {
        let number = |folder: &Path, name: &str| {
            let text = regular::read_text(&folder.join(name), LINK).ok()?;
            text.split_whitespace().next()?.parse::<f64>().ok().filter(|number| *number > 0.0)
        };
        let most = |name: &str| {
            let own = number(&self.card, name)?;
            Some(self.port.as_deref().and_then(|port| number(port, name)).map_or(own, |port| port.min(own)))
        };
        Some(Link {
            speed: number(&self.card, "current_link_speed")?,
            width: number(&self.card, "current_link_width")?,
            most_speed: most("max_link_speed")?,
            most_width: most("max_link_width")?,
        })
    }

    fn best_until(&self, is_over: &AtomicBool) -> Option<Link> {
        let mut best = None;
        while !is_over.load(Ordering::Relaxed) {
            best = self.read().map(|link| link.better(best)).or(best);
            thread::sleep(LOOKING_AT_LINK);
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_read_and_the_best_stays() {
        let folder = tempfile::tempdir().unwrap();
        let files = LinkFiles { card: folder.path().to_owned(), port: None };
        assert_eq!(files.read(), None);
        let texts = [
            ("current_link_speed", "2.5 GT/s PCIe\n"),
            ("current_link_width", "8\n"),
            ("max_link_speed", "16.0 GT/s PCIe\n"),
            ("max_link_width", "16\n"),
        ];
        texts.iter().for_each(|(name, text)| std::fs::write(folder.path().join(name), text).unwrap());
        let slow = Link { speed: 2.5, width: 8.0, most_speed: 16.0, most_width: 16.0 };
        assert_eq!(files.read(), Some(slow));
        let fast = Link { speed: 16.0, ..slow };
        assert_eq!((slow.better(Some(fast)), fast.better(Some(slow)), slow.better(None)), (fast, fast, slow));
        assert!((Link::rate(16.0, 16.0) / 31.5e9 - 1.0).abs() < 1e-3 && (Link::rate(2.5, 16.0) - 4e9).abs() < 1.0);
        std::fs::write(folder.path().join("current_link_speed"), "Unknown\n").unwrap();
        assert_eq!(files.read(), None);
    }

    #[test]
    fn a_cards_own_switch_is_passed_and_the_ports_limits_count() {
        let root = tempfile::tempdir().unwrap();
        let port = root.path().join("port");
        let [switch, gpu] = ["port/switch", "port/switch/gpu"].map(|path| root.path().join(path));
        std::fs::create_dir_all(&gpu).unwrap();
        let write = |folder: &Path, vendor: &str, speed: &str, width: &str| {
            for (name, text) in [
                ("vendor", vendor),
                ("current_link_speed", speed),
                ("current_link_width", width),
                ("max_link_speed", speed),
                ("max_link_width", width),
            ] {
                std::fs::write(folder.join(name), text).unwrap();
            }
        };
        write(&gpu, "0x1002", "16.0 GT/s PCIe", "16");
        write(&switch, "0x1002", "16.0 GT/s PCIe", "16");
        write(&port, "0x8086", "8.0 GT/s PCIe", "4");
        std::fs::write(switch.join("current_link_width"), "4").unwrap();
        let link = LinkFiles::above(&gpu).read().unwrap();
        assert_eq!((link.width, link.most_speed, link.most_width), (4.0, 8.0, 4.0));
        write(&port, "0x1002", "8.0 GT/s PCIe", "4");
        let link = LinkFiles::above(&gpu).read().unwrap();
        assert_eq!((link.width, link.most_speed, link.most_width), (4.0, 8.0, 4.0), "a root port of the same maker");
    }
}
