//! Campaigns: tasks are measured on devices, through workers, and become rows in files.
//!
//! ```text
//! settings      what is to be done, resolved
//! begin         finding the devices
//! targets       the devices that are meant, and opening them
//! lock          one run at a time on a device
//! claim         a campaign's devices and files, and what becomes of the files
//! journal       the visits of what has no row yet
//! earlier       the rows of an earlier run, which stay until others take their place
//! resumable     which of them an earlier run may leave
//! resumed_file  the file that has them beside those that supersede them
//! assembled     a case and its outcome become a row
//! sink          where rows go
//! device        one device at work: its session, and its visits kept
//! kernels       kernels of users as experiments of plans
//! plan_run      the cases of plans: `run`
//! plan_judge    which of those have rows already
//! search        configurations of a kernel: `tune`
//! lanes         several devices: side by side, one after the other, or by turns
//! ```

pub mod assembled;
mod begin;
mod claim;
mod device;
pub mod earlier;
pub mod host;
pub mod interrupt;
pub mod journal;
pub mod kernels;
pub mod lanes;
pub mod lock;
pub mod merged;
pub mod plan_judge;
pub mod plan_run;
pub mod resumable;
mod resumed_file;
pub mod search;
pub mod settings;
pub mod sink;
pub mod targets;
mod template;
pub mod trace;
mod turns;
pub mod voice;

pub use begin::Campaign;
pub use claim::{Claim, Continued, Ledger};
pub use device::{DeviceSession, Numbered};
pub use template::TOOL_VERSION;
