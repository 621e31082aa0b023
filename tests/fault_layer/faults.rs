//! The faults that are asked for, and whether one comes at a call.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::process;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    DeviceLost,
    OutOfMemory,
    PipelineError,
    InvalidShader,
    Wrong,
    Spin,
    /// An instruction of SPIR-V, by its opcode, and what takes its place.
    Opcode(u32, u32),
    Discrete,
    /// What compilers tell of every pipeline.
    Registers(u32),
    Unfinished,
    Hang,
    Abort,
    Segfault,
    Chatter,
    Clock(ClockFault),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ClockFault {
    Zero,
    Wrap,
    Backwards,
    Late,
    Spans(f64),
    Bits(u32),
    Period(f32),
}

/// Where a fault can come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Place {
    Instance,
    Devices,
    Open,
    Close,
    Memory,
    Buffer,
    Module,
    /// What is told of a device.
    Properties,
    Pipeline,
    Dispatch,
    Submit,
    /// Wherever timestamps are told of.
    Clock,
}

/// What conditions look at.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Call<'a> {
    /// Groups in x of each dispatch.
    pub(crate) groups: &'a [u32],
    pub(crate) constants: &'a [u8],
    pub(crate) bytes: u64,
}

#[derive(Clone, Debug, PartialEq)]
enum Condition {
    Groups(u32),
    Constant(u32),
    Bytes(u64),
    Driver(String),
}

impl Condition {
    fn holds(&self, call: &Call<'_>) -> bool {
        match self {
            Self::Groups(groups) => call.groups.contains(groups),
            Self::Constant(word) => call.constants.chunks_exact(4).any(|bytes| bytes == word.to_ne_bytes()),
            Self::Bytes(least) => call.bytes >= *least,
            Self::Driver(part) => variable("VK_DRIVER_FILES").is_some_and(|files| files.contains(part)),
        }
    }

    fn is_for(&self, place: Place) -> bool {
        match self {
            Self::Groups(_) => matches!(place, Place::Submit | Place::Dispatch),
            Self::Constant(_) => place == Place::Pipeline,
            Self::Bytes(_) => matches!(place, Place::Memory | Place::Buffer),
            Self::Driver(_) => matches!(place, Place::Instance | Place::Devices),
        }
    }
}

/// Which of the calls that meet the condition, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Which {
    Only(u64),
    From(u64),
}

impl Which {
    const ALL: Self = Self::From(1);

    fn is(self, number: u64) -> bool {
        match self {
            Self::Only(only) => number == only,
            Self::From(first) => number >= first,
        }
    }
}

#[derive(Debug)]
struct Fault {
    kind: Kind,
    place: Place,
    which: Which,
    condition: Option<Condition>,
    /// The file whose maker alone has the fault.
    once: Option<String>,
    calls: AtomicU64,
    /// Whether this process has a fault of timestamps.
    has: OnceLock<bool>,
}

impl Fault {
    fn comes(&self, place: Place, call: &Call<'_>) -> bool {
        let is_meant = self.place == place && self.condition.as_ref().is_none_or(|condition| condition.holds(call));
        is_meant && {
            let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
            self.which.is(number) && self.claim()
        }
    }

    fn claim(&self) -> bool {
        let Some(path) = &self.once else { return true };
        match OpenOptions::new().write(true).create_new(true).open(path) {
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
            Err(error) => give_up(&format!("LANESCOPE_FAULT_ONCE: {path}: {error}")),
        }
    }
}

/// Lets the faults of this call come. Those that any call can play are played here; the others are given to the caller.
pub(crate) fn at(place: Place, call: Call<'_>) -> Vec<Kind> {
    let coming = faults().iter().filter(|fault| fault.comes(place, &call)).map(|fault| fault.kind);
    // Each in turn: after a crash there is none.
    coming.inspect(|kind| play(*kind)).collect()
}

fn play(kind: Kind) {
    match kind {
        Kind::Hang => block(),
        Kind::Abort => process::abort(),
        Kind::Segfault => segfault(),
        Kind::Chatter => eprintln!("fault_layer: a driver's log\nfault_layer: WARNING: of two lines"),
        _ => {}
    }
}

pub(crate) fn of_clock() -> impl Iterator<Item = ClockFault> {
    faults().iter().filter_map(|fault| match fault.kind {
        Kind::Clock(kind) => fault.has.get_or_init(|| fault.claim()).then_some(kind),
        _ => None,
    })
}

/// Never returns, as calls to a device that hangs.
pub(crate) fn block() -> ! {
    loop {
        thread::sleep(Duration::from_secs(3600));
    }
}

fn segfault() -> ! {
    // The first page is never mapped. Not its first byte: to a null pointer Rust would say so.
    let nowhere = ptr::without_provenance_mut::<u32>(16);
    // SAFETY: there is none: this is to end the process, as a driver that does the same.
    unsafe { nowhere.write_volatile(0) };
    give_up("address 16 can be written to")
}

/// Ends the process, for what makes a test meaningless.
pub(crate) fn give_up(why: &str) -> ! {
    eprintln!("fault_layer: {why}");
    process::abort();
}

// ---- the grammar ----------------------------------------------------------------------------------------------------------

fn faults() -> &'static [Fault] {
    static FAULTS: OnceLock<Vec<Fault>> = OnceLock::new();
    FAULTS.get_or_init(|| match variable("LANESCOPE_FAULT") {
        Some(text) => parse(&text, variable("LANESCOPE_FAULT_ONCE").as_deref()).unwrap_or_else(|why| give_up(&why)),
        None => Vec::new(),
    })
}

pub(crate) fn variable(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?;
    Some(value.into_string().unwrap_or_else(|_| give_up(&format!("{name} is no text"))))
}

fn parse(text: &str, once: Option<&str>) -> Result<Vec<Fault>, String> {
    let once = |index| once.map(|path| if index == 0 { path.to_owned() } else { format!("{path}.{index}") });
    let parse_one = |(index, item)| parse_fault(item, once(index)).map_err(|why| format!("LANESCOPE_FAULT: `{item}`: {why}"));
    text.split(',').enumerate().map(parse_one).collect()
}

fn parse_fault(text: &str, once: Option<String>) -> Result<Fault, String> {
    let mut parts = text.split(':');
    let (kind, places) = parse_kind(parts.next().unwrap_or_default())?;
    let (mut place, mut which, mut condition) = (places[0], Which::ALL, None);
    let mut rest = parts.peekable();
    if let Some((named, value)) = rest.peek().and_then(|part| parse_place(part)) {
        (place, which) = (named, value.map_or(Ok(Which::ALL), parse_which)?);
        rest.next();
    }
    if let Some(part) = rest.next() {
        condition = Some(parse_condition(part)?);
    }
    if let Some(part) = rest.next() {
        return Err(format!("`{part}` is too much"));
    }
    if !places.contains(&place) {
        return Err(format!("not at {place:?}; possible: {places:?}"));
    }
    if condition.as_ref().is_some_and(|condition| !condition.is_for(place)) {
        return Err(format!("the condition isn't for {place:?}"));
    }
    Ok(Fault { kind, place, which, condition, once, calls: AtomicU64::new(0), has: OnceLock::new() })
}

/// Calls that can crash or hang whatever they do.
const ANYWHERE: [Place; 8] =
    [Place::Submit, Place::Pipeline, Place::Memory, Place::Buffer, Place::Instance, Place::Devices, Place::Open, Place::Close];

fn parse_kind(text: &str) -> Result<(Kind, &'static [Place]), String> {
    let (name, value) = with_value(text);
    let clock = |fault| (Kind::Clock(fault), &[Place::Clock][..]);
    Ok(match (name, value) {
        ("device_lost", None) => (Kind::DeviceLost, &[Place::Submit, Place::Open]),
        ("out_of_memory", None) => (Kind::OutOfMemory, &[Place::Memory, Place::Buffer, Place::Open]),
        ("pipeline_error", None) => (Kind::PipelineError, &[Place::Pipeline]),
        ("invalid_shader", None) => (Kind::InvalidShader, &[Place::Pipeline]),
        ("wrong", None) => (Kind::Wrong, &[Place::Dispatch]),
        ("spin", None) => (Kind::Spin, &[Place::Pipeline]),
        ("discrete", None) => (Kind::Discrete, &[Place::Properties]),
        ("registers", Some(count)) => (Kind::Registers(number(count)?), &[Place::Properties]),
        ("opcode", Some(opcodes)) => match opcodes.split_once('/') {
            Some((from, to)) => (Kind::Opcode(number(from)?, number(to)?), &[Place::Module]),
            None => return Err("two opcodes are needed, FROM/TO".to_owned()),
        },
        ("unfinished", None) => (Kind::Unfinished, &[Place::Submit]),
        ("hang", None) => (Kind::Hang, &ANYWHERE),
        ("abort", None) => (Kind::Abort, &ANYWHERE),
        ("segfault", None) => (Kind::Segfault, &ANYWHERE),
        ("chatter", None) => (Kind::Chatter, &ANYWHERE),
        ("timestamps", Some("zero")) => clock(ClockFault::Zero),
        ("timestamps", Some("wrap")) => clock(ClockFault::Wrap),
        ("timestamps", Some("backwards")) => clock(ClockFault::Backwards),
        ("timestamps", Some("late")) => clock(ClockFault::Late),
        ("timestamp_spans", Some(factor)) => match factor.parse() {
            Ok(factor) if (0.0..=1000.0).contains(&factor) => clock(ClockFault::Spans(factor)),
            _ => return Err("a factor from 0 to 1000 is needed".to_owned()),
        },
        ("timestamp_bits", Some(bits)) => match number(bits)? {
            bits @ 0..=64 => clock(ClockFault::Bits(bits)),
            _ => return Err("from 0 to 64 bits are possible".to_owned()),
        },
        ("timestamp_period", Some(period)) => match period.parse() {
            Ok(period) if period >= 0.0 => clock(ClockFault::Period(period)),
            _ => return Err("nanoseconds are needed, 0 or inf".to_owned()),
        },
        _ => return Err("an unknown kind, or one with a wrong value".to_owned()),
    })
}

fn parse_place(text: &str) -> Option<(Place, Option<&str>)> {
    let (name, value) = with_value(text);
    let place = match name {
        "instance" => Place::Instance,
        "devices" => Place::Devices,
        "open" => Place::Open,
        "close" => Place::Close,
        "memory" => Place::Memory,
        "buffer" => Place::Buffer,
        "module" => Place::Module,
        "pipeline" => Place::Pipeline,
        "dispatch" => Place::Dispatch,
        "submit" => Place::Submit,
        _ => return None,
    };
    Some((place, value))
}

fn parse_which(text: &str) -> Result<Which, String> {
    match text.strip_suffix('+') {
        Some(first) => number(first).map(Which::From),
        None => number(text).map(Which::Only),
    }
}

fn parse_condition(text: &str) -> Result<Condition, String> {
    match with_value(text) {
        ("groups", Some(value)) => number(value).map(Condition::Groups),
        ("constant", Some(value)) => number(value).map(Condition::Constant),
        ("bytes", Some(value)) => number(value).map(Condition::Bytes),
        ("driver", Some(value)) => Ok(Condition::Driver(value.to_owned())),
        _ => Err(format!("`{text}` is neither a place nor a condition")),
    }
}

fn with_value(text: &str) -> (&str, Option<&str>) {
    text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)))
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is no number here"))
}
