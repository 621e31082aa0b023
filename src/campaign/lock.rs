//! One run at a time on a device: two would measure each other.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use fs4::fs_std::FileExt;

use super::interrupt;
use super::settings::{Locking, Settings};
use super::targets::Targets;
use super::voice::Voice;
use crate::error::Error;
use crate::model::{DeviceInfo, DeviceKind, Shown};
use crate::{platform, regular};

/// The variable that names the folder of the locks.
const FOLDER: &str = "LANESCOPE_LOCK_DIR";

/// How often to look whether a device that another run has is free.
const LOOKING_AGAIN: Duration = Duration::from_millis(100);

/// A device that no other run measures on, as long as this lives. The system lets it go however the process ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    fn try_take(device: &DeviceInfo) -> Result<Option<Self>, Error> {
        let path = path(device);
        // Whoever is faster makes it. Another user's will do.
        let locked = regular::shared_lock(&path).and_then(|(file, is_new)| {
            if is_new {
                // Where this can't be had, the others are told that they can't lock the device.
                let _ = platform::set_mode(&file, 0o644);
            }
            Ok((FileExt::try_lock_exclusive(&file)?, file))
        });
        match locked {
            Ok((is_taken, file)) => Ok(is_taken.then_some(Self { _file: file })),
            // Where there is no place for a lock, there is none; that others can't have one either isn't certain.
            Err(error) => Err(Error::Usage(format!(
                "can't lock {} by {}: {error}. Set {FOLDER} to a folder that all users of this machine can write to; or, if nothing \
                 else measures, use --no-lock",
                device.name,
                path.shown()
            ))),
        }
    }
}

/// How long to wait for devices that other runs have, and what to do meanwhile.
struct Waiting<'w> {
    /// How long, at most; `None` for not at all, `Some(None)` for as long as it takes.
    patience: Option<Option<Duration>>,
    started: Instant,
    /// Hears once of each device that is waited for.
    say: &'w dyn Fn(&str),
    is_over: &'w dyn Fn() -> bool,
}

impl Waiting<'_> {
    /// Takes all of them, each once. All runs take devices in the same order: two that want the same ones would else wait for each other.
    fn take_all<'d>(&self, devices: impl Iterator<Item = &'d DeviceInfo>) -> Result<Option<Vec<Lock>>, Error> {
        let by_path: BTreeMap<PathBuf, &DeviceInfo> = devices.map(|device| (path(device), device)).collect();
        by_path.into_values().map(|device| self.take(device)).collect::<Result<Option<Vec<_>>, _>>()
    }

    /// Takes a device as soon as no other run has it; nothing where the user wanted to wait no longer.
    /// Errors: that another run has it, and there is no time left to wait: a failure that another try may mend.
    fn take(&self, device: &DeviceInfo) -> Result<Option<Lock>, Error> {
        let mut is_first = true;
        loop {
            if let Some(lock) = Lock::try_take(device)? {
                return Ok(Some(lock));
            }
            let left = self.left();
            if left.is_zero() {
                return Err(busy(device, self.patience.is_some()));
            }
            if is_first {
                (self.say)(&waiting(device));
            }
            is_first = false;
            if (self.is_over)() {
                return Ok(None);
            }
            std::thread::sleep(left.min(LOOKING_AGAIN));
        }
    }

    fn left(&self) -> Duration {
        self.patience
            .map_or(Duration::ZERO, |most| most.map_or(Duration::MAX, |most| most.saturating_sub(self.started.elapsed())))
    }
}

fn waiting(device: &DeviceInfo) -> String {
    format!("waiting for {}: another run measures on it and holds {}", locked(device), path(device).shown())
}

fn busy(device: &DeviceInfo, has_waited: bool) -> Error {
    let (name, path) = (locked(device), path(device).shown());
    Error::Busy(match has_waited {
        true => format!("another run still measures on {name} (it holds {path}): wait longer"),
        false => format!(
            "another run measures on {name} (it holds {path}): wait for it by --wait, or use --no-lock and doubt the figures"
        ),
    })
}

/// What a lock is of.
fn locked(device: &DeviceInfo) -> String {
    match device.kind {
        DeviceKind::Cpu => format!("the processor, which {} uses", device.name),
        _ => device.name.clone(),
    }
}

/// One file per device, whatever driver serves it, and one for all software devices, in a folder that all users of the machine share.
/// Not where they have their temporary files: schedulers give each job a folder for those. Who has another one in common names it.
fn path(device: &DeviceInfo) -> PathBuf {
    let name = if device.kind == DeviceKind::Cpu { "processor".to_owned() } else { device.device_uuid.to_string() };
    let named = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty());
    let folder = named.map_or_else(platform::shared_folder, PathBuf::from);
    folder.join(format!("lanescope-{name}.lock"))
}

/// Keeps other runs off the devices, where that is asked for. Nothing where the user interrupted the wait for one.
/// Errors: that another run has a device, which another try may mend; and that one can't be locked.
pub fn take_all(settings: &Settings, targets: &Targets, voice: &Voice) -> Result<Option<Vec<Lock>>, Error> {
    let patience = match settings.locking {
        Locking::Try => None,
        Locking::Wait(most) => Some(most),
        Locking::None => return Ok(Some(Vec::new())),
    };
    if targets.are_mock() {
        return Ok(Some(Vec::new()));
    }
    let (say, is_over) = (|words: &str| voice.progress.note(words), interrupt::is_asked);
    let waiting = Waiting { patience, started: Instant::now(), say: &say, is_over: &is_over };
    interrupt::while_waiting(|| waiting.take_all(targets.devices()))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::model::Uuid;

    /// A device that no other test has.
    fn device(number: u8) -> DeviceInfo {
        let mut uuid = [number; 16];
        uuid[..4].copy_from_slice(&std::process::id().to_le_bytes());
        DeviceInfo { kind: DeviceKind::Discrete, device_uuid: Uuid(uuid), ..DeviceInfo::mock() }
    }

    /// Takes devices, and tells what was said.
    fn taken(
        devices: &[&DeviceInfo],
        patience: Option<Option<Duration>>,
        is_over: &dyn Fn() -> bool,
    ) -> (Result<Option<usize>, Error>, Vec<String>) {
        let said = RefCell::new(Vec::new());
        let say = |words: &str| said.borrow_mut().push(words.to_owned());
        let waiting = Waiting { patience, started: Instant::now(), say: &say, is_over };
        let taken = waiting.take_all(devices.iter().copied()).map(|locks| locks.map(|locks| locks.len()));
        (taken, said.into_inner())
    }

    #[test]
    fn a_device_is_taken_once_at_a_time() {
        let (one, other) = (device(1), device(2));
        let lock = Lock::try_take(&one).unwrap().unwrap();
        let (refused, said) = taken(&[&one], None, &|| false);
        assert!(matches!(refused, Err(Error::Busy(said)) if said.contains("--no-lock") && said.contains("--wait")));
        assert_eq!(said, Vec::<String>::new());
        assert_eq!(taken(&[&other, &other], None, &|| false).0.unwrap(), Some(1), "once for both");
        drop(lock);
        assert_eq!(taken(&[&one, &other], None, &|| false).0.unwrap(), Some(2));
        [one, other].iter().for_each(|device| std::fs::remove_file(path(device)).unwrap());
    }

    #[test]
    fn who_waits_gets_the_device_once_it_is_free() {
        let device = device(3);
        let lock = RefCell::new(Lock::try_take(&device).unwrap());
        // The other run ends when this one has looked three times.
        let looks = RefCell::new(0);
        let is_over = || {
            *looks.borrow_mut() += 1;
            if *looks.borrow() == 3 {
                lock.borrow_mut().take();
            }
            false
        };
        let (got, said) = taken(&[&device], Some(None), &is_over);
        assert_eq!((got.unwrap(), *looks.borrow()), (Some(1), 3));
        assert_eq!(said, [waiting(&device)], "once");
        assert!(said[0].contains(&path(&device).shown()), "{said:?}");
        std::fs::remove_file(path(&device)).unwrap();
    }

    #[test]
    fn the_wait_ends_with_the_time_and_with_the_user() {
        let device = device(4);
        let _lock = Lock::try_take(&device).unwrap().unwrap();
        let (late, said) = taken(&[&device], Some(Some(Duration::from_millis(30))), &|| false);
        assert!(matches!(late, Err(Error::Busy(said)) if said.contains("still measures")) && said.len() == 1);
        assert!(matches!(taken(&[&device], Some(None), &|| true).0, Ok(None)));
        std::fs::remove_file(path(&device)).unwrap();
    }

    /// Anybody may put anything there: the folder is for all.
    #[cfg(unix)]
    #[test]
    fn what_is_no_lock_is_told_of_and_not_waited_for() {
        let device = device(5);
        std::os::unix::fs::symlink("/dev/zero", path(&device)).unwrap();
        let (refused, _) = taken(&[&device], Some(None), &|| false);
        assert!(matches!(refused, Err(Error::Usage(said)) if said.contains("remove it") && said.contains("--no-lock")));
        std::fs::remove_file(path(&device)).unwrap();
    }

    #[test]
    fn software_devices_share_the_processor() {
        let [one, two] =
            [1, 2].map(|id| DeviceInfo { kind: DeviceKind::Cpu, device_uuid: Uuid([id; 16]), ..DeviceInfo::mock() });
        assert_eq!(path(&one), path(&two));
    }
}
