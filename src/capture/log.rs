//! One file of the layer's, which its own documentation describes (src/layer/log.rs).

use std::collections::{BTreeMap, VecDeque};

/// The version of the format that this reads.
const VERSION: &str = "1";

/// A device of a process, and all that was dispatched on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    pub program: String,
    pub device: LoggedDevice,
    pub kernels: Vec<LoggedKernel>,
    pub dispatches: Vec<LoggedDispatch>,
    /// In the order in which they were submitted.
    pub executions: Vec<Execution>,
    pub not_followed: BTreeMap<String, u64>,
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

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoggedKernel {
    /// The module's file, without its ending; empty where the layer never saw it.
    pub module: String,
    pub entry: String,
    /// Specialization constants: `ID=BYTES`, joined by commas.
    pub constants: String,
    /// 0 where none was required.
    pub required_subgroup_size: u32,
    /// What the application calls it.
    pub name: String,
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
}

/// One dispatch that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    pub submission: u64,
    /// By its place among the dispatches.
    pub dispatch: usize,
    /// When it began, and how long it took, in ticks; nothing where it wasn't timed.
    pub time: Option<(u64, u64)>,
    /// The groups of an indirect one, as the device read them.
    pub groups: Option<[u32; 3]>,
}

impl Log {
    /// Reads a file. A last line without an end was being written when the process ended: it is left out.
    ///
    /// # Errors
    /// The line that isn't one of this format.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut new = Self::default();
        // Of each submission, the groups of its indirect dispatches, in order.
        let mut groups: VecDeque<[u32; 3]> = VecDeque::new();
        for (number, line) in (1..).zip(text.split_inclusive('\n')) {
            let Some(line) = line.strip_suffix('\n') else { break };
            let fields: Vec<&str> = line.split('\t').collect();
            new.take(&fields, &mut groups).ok_or_else(|| format!("line {number} isn't one of this format: {line}"))?;
        }
        Ok(new)
    }

    fn take(&mut self, fields: &[&str], groups: &mut VecDeque<[u32; 3]>) -> Option<()> {
        match *fields {
            ["capture", version, _, program] => {
                program.clone_into(&mut self.program);
                (version == VERSION).then_some(())
            }
            ["device", device_uuid, driver_uuid, period, name] => {
                let [device_uuid, driver_uuid, name] = [device_uuid, driver_uuid, name].map(str::to_owned);
                self.device = LoggedDevice { device_uuid, driver_uuid, name, period: period.parse().ok()? };
                Some(())
            }
            ["kernel", number, module, entry, constants, size, name] => {
                let [module, entry, constants, name] = [module, entry, constants, name].map(str::to_owned);
                let required_subgroup_size = size.parse().ok()?;
                self.kernels.push(LoggedKernel { module, entry, constants, required_subgroup_size, name });
                (number.parse() == Ok(self.kernels.len() - 1)).then_some(())
            }
            ["dispatch", number, kernel, x, y, z, bytes, label] => {
                let kernel = kernel.parse().ok().filter(|kernel| *kernel < self.kernels.len())?;
                let groups = if x == "?" { None } else { Some([x.parse().ok()?, y.parse().ok()?, z.parse().ok()?]) };
                let (bound_bytes, label) = (bytes.parse().ok()?, label.to_owned());
                self.dispatches.push(LoggedDispatch { kernel, groups, bound_bytes, label });
                (number.parse() == Ok(self.dispatches.len() - 1)).then_some(())
            }
            ["groups", _, all] => {
                for one in all.split(' ') {
                    let mut numbers = one.split_once(':')?.1.split(',').map(str::parse);
                    let mut next = || numbers.next()?.ok();
                    groups.push_back([next()?, next()?, next()?]);
                }
                Some(())
            }
            ["times", submission, _, all] => {
                let submission = submission.parse().ok()?;
                all.split(' ').filter(|one| !one.is_empty()).try_for_each(|one| self.execution(submission, one, groups))
            }
            ["not-followed", kind, count] => {
                self.not_followed.insert(kind.to_owned(), count.parse().ok()?);
                Some(())
            }
            _ => None,
        }
    }

    fn execution(&mut self, submission: u64, text: &str, groups: &mut VecDeque<[u32; 3]>) -> Option<()> {
        let mut parts = text.split(':');
        let dispatch: usize = parts.next()?.parse().ok()?;
        let time = match parts.next() {
            Some(start) => Some((start.parse().ok()?, parts.next()?.parse().ok()?)),
            None => None,
        };
        let is_indirect = self.dispatches.get(dispatch)?.groups.is_none();
        let groups = if is_indirect { groups.pop_front() } else { None };
        self.executions.push(Execution { submission, dispatch, time, groups });
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "capture\t1\t77\tapp\n\
        device\t00aa\t00bb\t2.5\tA GPU\n\
        kernel\t0\tabc\tmain\t0=01000000\t32\tsaxpy\n\
        dispatch\t0\t0\t4\t1\t1\t4096\tloss\n\
        dispatch\t1\t0\t?\t?\t?\t0\t\n\
        not-followed\trender passes\t1\n\
        groups\t3\t1:5,6,7\n\
        times\t3\t0\t0:100:20 1:130:8 0\n\
        not-followed\trender passes\t2\n";

    #[test]
    fn a_file_is_read_up_to_a_line_that_was_being_written() {
        let log = Log::parse(&format!("{TEXT}times\t4\t0\t0:1")).unwrap();
        assert_eq!((log.program.as_str(), log.device.name.as_str(), log.device.period), ("app", "A GPU", 2.5));
        assert_eq!(log.dispatches[0].label, "loss");
        let times: Vec<_> = log.executions.iter().map(|of| (of.dispatch, of.time, of.groups)).collect();
        assert_eq!(times, [(0, Some((100, 20)), None), (1, Some((130, 8)), Some([5, 6, 7])), (0, None, None)]);
        assert_eq!(log.not_followed["render passes"], 2);
    }

    #[test]
    fn what_isnt_of_this_format_is_refused_with_its_line() {
        for (line, text) in [(10, "what\n"), (10, "times\t1\t0\t9:1:1\n"), (10, "kernel\t5\ta\tb\tc\t0\td\n")] {
            let why = Log::parse(&format!("{TEXT}{text}")).unwrap_err();
            assert!(why.starts_with(&format!("line {line} ")), "{why}");
        }
        assert!(Log::parse("capture\t2\t1\tapp\n").is_err());
    }
}
