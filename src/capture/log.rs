//! One file of the layer's, which its own documentation describes (src/layer/log.rs).

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use crate::model::{Executable, StatValue};

/// The version of the format that this reads.
const VERSION: &str = "1";

/// A device of a process, and what was dispatched on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    pub program: String,
    /// Whether full barriers stand around each dispatch.
    pub is_isolated: bool,
    pub device: LoggedDevice,
    pub kernels: Vec<LoggedKernel>,
    pub dispatches: Vec<LoggedDispatch>,
    pub not_followed: BTreeMap<String, u64>,
    /// Ticks between two timestamps with nothing between them, as often as that was looked at.
    pub floors: Vec<u64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoggedDevice {
    /// In hex, without hyphens; empty where the instance didn't tell.
    pub device_uuid: String,
    pub driver_uuid: String,
    pub name: String,
    /// Nanoseconds of a tick.
    pub period: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoggedKernel {
    /// The module's file, without its ending; empty where the layer never saw it.
    pub module: String,
    pub entry: String,
    /// Specialization constants: `ID=BYTES`, joined by commas.
    pub constants: String,
    /// 0 where none was required.
    pub required_subgroup_size: u32,
    pub has_full_subgroups: bool,
    /// What the application calls it.
    pub name: String,
    /// What the driver's compiler tells of its pipeline.
    pub executables: Vec<Executable>,
}

/// What dispatches have in common that are told apart by nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoggedDispatch {
    /// By its place among the kernels.
    pub kernel: usize,
    /// Nothing where the device alone knows.
    pub groups: Option<[u32; 3]>,
    /// Bytes of the buffers that were bound.
    pub bound_bytes: u64,
    /// The label around the first one.
    pub label: String,
    /// How often it was recorded at least: more than half of the true number.
    pub recorded: u64,
}

/// One dispatch that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    pub submission: u64,
    pub family: u32,
    /// By its place among the dispatches.
    pub dispatch: usize,
    /// When it began, and how long it took, in ticks; nothing where it wasn't timed.
    pub time: Option<(u64, u64)>,
    /// The groups of an indirect one, as the device read them.
    pub groups: Option<[u32; 3]>,
}

impl Log {
    /// Reads a file, and gives each execution to `take` as it comes, with what is known until then: there may be millions. A last line
    /// without an end was being written when the process ended: it is left out.
    ///
    /// # Errors
    /// The line that isn't one of this format, or why reading failed.
    pub fn read(mut from: impl BufRead, mut take: impl FnMut(&Self, Execution)) -> io::Result<Self> {
        let mut new = Self::default();
        let mut line = String::new();
        for number in 1.. {
            line.clear();
            from.read_line(&mut line)?;
            let Some(line) = line.strip_suffix('\n') else { break };
            let fields: Vec<&str> = line.split('\t').collect();
            let known = new.take(&fields, &mut take);
            known.ok_or_else(|| io::Error::other(format!("line {number} isn't one of this format: {line}")))?;
        }
        Ok(new)
    }

    fn take(&mut self, fields: &[&str], take: &mut impl FnMut(&Self, Execution)) -> Option<()> {
        match *fields {
            ["capture", version, _, timing, program] => {
                program.clone_into(&mut self.program);
                self.is_isolated = timing == "isolated";
                (version == VERSION).then_some(())
            }
            ["device", device_uuid, driver_uuid, period, name] => {
                let [device_uuid, driver_uuid, name] = [device_uuid, driver_uuid, name].map(str::to_owned);
                self.device = LoggedDevice { device_uuid, driver_uuid, name, period: period.parse().ok()? };
                Some(())
            }
            ["kernel", number, module, entry, constants, size, name] => {
                let [module, entry, constants, name] = [module, entry, constants, name].map(str::to_owned);
                let (size, has_full_subgroups) = size.strip_suffix("full").map_or((size, false), |size| (size, true));
                let required_subgroup_size = size.parse().ok()?;
                let of = LoggedKernel {
                    module,
                    entry,
                    constants,
                    required_subgroup_size,
                    has_full_subgroups,
                    name,
                    ..LoggedKernel::default()
                };
                self.kernels.push(of);
                (number.parse() == Ok(self.kernels.len() - 1)).then_some(())
            }
            ["executable", kernel, size, name, ref statistics @ ..] => {
                let kernel = self.kernels.get_mut(kernel.parse::<usize>().ok()?)?;
                let statistics = statistics.iter().map(|told| statistic(told)).collect::<Option<_>>()?;
                let (name, subgroup_size) = (name.to_owned(), size.parse().ok()?);
                kernel.executables.push(Executable { name, subgroup_size, statistics, ..Executable::default() });
                Some(())
            }
            ["floor", ticks] => {
                self.floors.push(ticks.parse().ok()?);
                Some(())
            }
            ["dispatch", number, kernel, x, y, z, bytes, label] => {
                let kernel = kernel.parse().ok().filter(|kernel| *kernel < self.kernels.len())?;
                let groups = if x == "?" { None } else { Some([x.parse().ok()?, y.parse().ok()?, z.parse().ok()?]) };
                let (bound_bytes, label) = (bytes.parse().ok()?, label.to_owned());
                self.dispatches.push(LoggedDispatch { kernel, groups, bound_bytes, label, recorded: 0 });
                (number.parse() == Ok(self.dispatches.len() - 1)).then_some(())
            }
            ["recorded", dispatch, count] => {
                self.dispatches.get_mut(dispatch.parse::<usize>().ok()?)?.recorded = count.parse().ok()?;
                Some(())
            }
            ["times", submission, family, all] => {
                let (submission, family) = (submission.parse().ok()?, family.parse().ok()?);
                for one in all.split(' ').filter(|one| !one.is_empty()) {
                    let (one, groups) = match one.split_once('@') {
                        Some((one, groups)) => (one, Some(read_groups(groups)?)),
                        None => (one, None),
                    };
                    let (dispatch, time) = execution(one)?;
                    self.dispatches.get(dispatch)?;
                    take(self, Execution { submission, family, dispatch, time, groups });
                }
                Some(())
            }
            ["not-followed", kind, count] => {
                self.not_followed.insert(kind.to_owned(), count.parse().ok()?);
                Some(())
            }
            _ => None,
        }
    }
}

fn read_groups(text: &str) -> Option<[u32; 3]> {
    let numbers: Vec<u32> = text.split(',').map(|number| number.parse().ok()).collect::<Option<_>>()?;
    numbers.try_into().ok()
}

/// A dispatch by its place, and when it began and how long it took where it was timed.
fn execution(text: &str) -> Option<(usize, Option<(u64, u64)>)> {
    let mut parts = text.split(':');
    let dispatch = parts.next()?.parse().ok()?;
    let time = match parts.next() {
        Some(start) => Some((start.parse().ok()?, parts.next()?.parse().ok()?)),
        None => None,
    };
    Some((dispatch, time))
}

fn statistic(text: &str) -> Option<(String, StatValue)> {
    let (name, value) = text.rsplit_once('=')?;
    let (kind, number) = value.split_at_checked(1)?;
    let value = match kind {
        "b" => StatValue::Boolean(number == "1"),
        "i" => StatValue::Signed(number.parse().ok()?),
        "u" => StatValue::Unsigned(number.parse().ok()?),
        "f" => StatValue::Real(number.parse().ok()?),
        _ => return None,
    };
    Some((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "capture\t1\t77\tisolated\tapp\n\
        device\t00aa\t00bb\t2.5\tA GPU\n\
        kernel\t0\tabc\tmain\t0=01000000\t32full\tsaxpy\n\
        executable\t0\t32\tmain\tRegisters=u24\tA=B=f0.5\n\
        dispatch\t0\t0\t4\t1\t1\t4096\tloss\n\
        dispatch\t1\t0\t?\t?\t?\t0\t\n\
        recorded\t0\t8\n\
        not-followed\trender passes\t1\n\
        floor\t12\n\
        times\t3\t0\t0:100:20 1:130:8@5,6,7 1\n\
        not-followed\trender passes\t2\n";

    #[test]
    fn a_file_is_read_up_to_a_line_that_was_being_written() {
        let mut times = Vec::new();
        let text = format!("{TEXT}times\t4\t0\t0:1");
        let log = Log::read(text.as_bytes(), |_, of| times.push((of.dispatch, of.time, of.groups))).unwrap();
        assert_eq!((log.program.as_str(), log.device.name.as_str(), log.device.period), ("app", "A GPU", 2.5));
        assert_eq!((log.dispatches[0].label.as_str(), log.dispatches[0].recorded), ("loss", 8));
        assert!(log.kernels[0].has_full_subgroups && log.kernels[0].required_subgroup_size == 32);
        assert_eq!(times, [(0, Some((100, 20)), None), (1, Some((130, 8)), Some([5, 6, 7])), (1, None, None)]);
        assert_eq!((log.not_followed["render passes"], &log.floors[..]), (2, &[12][..]));
        let told = &log.kernels[0].executables[0];
        assert_eq!((told.get("Registers"), told.get("A=B")), (Some(StatValue::Unsigned(24)), Some(StatValue::Real(0.5))));
    }

    #[test]
    fn what_isnt_of_this_format_is_refused_with_its_line() {
        for text in ["what\n", "times\t1\t0\t9:1:1\n", "kernel\t5\ta\tb\tc\t0\td\n", "executable\t0\t32\tmain\tA=x\n"] {
            let why = Log::read(format!("{TEXT}{text}").as_bytes(), |_, _| ()).unwrap_err().to_string();
            assert!(why.starts_with("line 12 "), "{why}");
        }
        assert!(Log::read(&b"capture\t2\t1\tisolated\tapp\n"[..], |_, _| ()).is_err());
    }
}
