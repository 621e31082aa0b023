//! One run at a time on a device: two would measure each other.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::PathBuf;

use fs4::fs_std::FileExt;

use super::settings::Settings;
use super::target::Targets;
use crate::error::Error;
use crate::model::{DeviceInfo, DeviceKind};

/// A device that no other run measures on, as long as this lives. The system lets it go however the process ends.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Whether it keeps others off this device.
    pub fn is_of(&self, device: &DeviceInfo) -> bool {
        self.path == path(device)
    }

    /// Takes a device.
    ///
    /// # Errors
    /// That another run has it: a failure that another try may mend.
    pub fn take(device: &DeviceInfo) -> Result<Self, Error> {
        let path = path(device);
        let locked = open(&path).and_then(|file| Ok((FileExt::try_lock_exclusive(&file)?, file)));
        match locked {
            Ok((true, file)) => Ok(Self { path, _file: file }),
            Ok((false, _)) => Err(Error::Busy(format!(
                "another run measures on {} (it holds {}): wait for it, or use --no-lock and doubt the figures",
                device.name,
                path.display()
            ))),
            // Where there is no place for a lock, there is none; that others can't have one either isn't certain.
            Err(error) => {
                Err(Error::Busy(format!("can't lock {} by {}: {error}; --no-lock does without", device.name, path.display())))
            }
        }
    }
}

/// One file per device, whatever driver serves it, and one for all that are software on the processor. In the folder for temporary
/// files, which all users of a machine share.
fn path(device: &DeviceInfo) -> PathBuf {
    let name = if device.kind == DeviceKind::Cpu { "processor".to_owned() } else { device.device_uuid.to_string() };
    std::env::temp_dir().join(format!("lanescope-{name}.lock"))
}

/// For reading if it is there: another user's can't be written, and needn't be.
fn open(path: &PathBuf) -> io::Result<File> {
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Whoever is faster creates it.
            match OpenOptions::new().write(true).create_new(true).open(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => File::open(path),
                created => created.inspect(let_others_read),
            }
        }
        opened => opened,
    }
}

/// Other users have to open it, whatever this one's mask for new files says.
fn let_others_read(file: &File) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Where this can't be had, the others are told that they can't lock the device.
        let _ = file.set_permissions(std::fs::Permissions::from_mode(0o644));
    }
    #[cfg(not(unix))]
    let _ = file;
}

/// Keeps other runs off the devices, where that is asked for. Software devices share the processor, and with it one lock.
///
/// # Errors
/// As [`Lock::take`].
pub fn take_all(settings: &Settings, targets: &Targets) -> Result<Vec<Lock>, Error> {
    if !settings.is_locking || targets.are_mock() {
        return Ok(Vec::new());
    }
    let mut locks: Vec<Lock> = Vec::new();
    for device in targets.devices() {
        if !locks.iter().any(|lock| lock.is_of(device)) {
            locks.push(Lock::take(device)?);
        }
    }
    Ok(locks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Uuid;

    #[test]
    fn a_device_is_taken_once_at_a_time() {
        let mut uuid = [0; 16];
        uuid[..4].copy_from_slice(&std::process::id().to_le_bytes());
        let device = DeviceInfo { kind: DeviceKind::Discrete, device_uuid: Uuid(uuid), ..DeviceInfo::mock() };
        let other = DeviceInfo { device_uuid: Uuid([7; 16]), ..device.clone() };
        let lock = Lock::take(&device).unwrap();
        assert!(matches!(Lock::take(&device), Err(Error::Busy(said)) if said.contains("--no-lock")));
        assert!(path(&device) != path(&other));
        drop(lock);
        assert!(Lock::take(&device).is_ok());
        std::fs::remove_file(path(&device)).unwrap();
    }

    #[test]
    fn software_devices_share_the_processor() {
        let [one, two] =
            [1, 2].map(|id| DeviceInfo { kind: DeviceKind::Cpu, device_uuid: Uuid([id; 16]), ..DeviceInfo::mock() });
        assert_eq!(path(&one), path(&two));
    }
}
