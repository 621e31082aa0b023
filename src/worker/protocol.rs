//! What supervisor and worker say to each other.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::host::{Hello, Opening};
use super::questions::AnyQuestion;
use crate::measure::{Answer, Instrument, Order};
use crate::model::Failure;
use crate::regular::SHADER;
use crate::validate::Learned;

pub use crate::process::messages::{Line, read, write};

/// The longest request that is sent and read, in bytes: a module's word has four bytes, and takes up to eleven as digits.
pub const LONGEST_REQUEST: u64 = 8 * SHADER.largest;
/// The longest reply that is read: far longer than any that is written. Whatever else a driver prints is read up to there at a time.
pub const LONGEST_REPLY: u64 = 16 << 20;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Open and calibrate a device. Answered by [`Reply::Calibrated`], then [`Reply::Opened`], or by [`Reply::Refused`].
    Open(Box<Opening>),
    /// Do this on it. Answered by [`Reply::Answer`]s, then [`Reply::Done`] or [`Reply::Lost`].
    Order(Order),
    /// Leave out the rest of the order under way.
    Halt,
    /// Answer this. Answered by [`Reply::Answered`].
    Ask(AnyQuestion),
    /// Close the device and end. Answered by [`Reply::Closed`].
    Close,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The drivers are loaded; said once, unasked.
    Hello(Box<Hello>),
    /// The drivers can't be loaded, in words for the user. The worker ends.
    NoDrivers(String),
    /// The device is open and calibrated; what the reference does comes next, if there is one.
    Calibrated,
    Opened(Box<Instrument>, Learned),
    Refused(Failure),
    Answer(Box<Answer>),
    Done,
    /// The device is lost, or hangs: the worker ends without touching it again.
    Lost(Failure),
    /// To the question, in JSON of its own, or why there is no answer.
    Answered(Result<Value, Failure>),
    /// The device is closed. What the validation layer had to say about that.
    Closed(Vec<String>),
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::measure::{CaseKey, Job, Visit, Visited};
    use crate::model::Point;

    fn passed(replies: &[Reply]) -> Vec<Reply> {
        let mut pipe = Vec::new();
        for reply in replies {
            pipe.extend(b"a driver's words without an end");
            write(&mut pipe, reply).unwrap();
        }
        let mut input = pipe.as_slice();
        let mut all = Vec::new();
        while let Some(line) = read(&mut input, LONGEST_REPLY).unwrap() {
            match line {
                Line::Message(reply) => all.push(reply),
                Line::Words(words) => assert_eq!(words, "a driver's words without an end"),
            }
        }
        all
    }

    #[test]
    fn replies_arrive_as_they_were_sent() {
        let visit = Visit { samples: vec![1.0 / 3.0, f64::INFINITY], host_times: vec![-0.0], ..Visit::default() };
        let conditions =
            crate::measure::Conditions { lost: Some(0.01), mhz: Some(1836.5), ..crate::measure::Conditions::UNTOLD };
        let visited = Visited { visit, conditions, spent: Duration::from_nanos(123_456_789_012) };
        let lost = Failure::new(crate::model::Status::DeviceLost, "gone\nand \"lost\"");
        let replies = [
            Reply::Hello(Box::default()),
            Reply::Answer(Box::new(Answer::Visited(Ok(visited)))),
            Reply::Answer(Box::new(Answer::Checked(Err(lost.clone())))),
            Reply::Done,
            Reply::Lost(lost),
        ];
        assert_eq!(passed(&replies), replies);
    }

    #[test]
    fn orders_arrive_as_they_were_sent() {
        let point = Point::new([("n".into(), 4_u64.into()), ("op".into(), "copy".into())]);
        let key =
            CaseKey { experiment: "memory/stream".into(), variant: String::new(), point, cache: crate::model::Cache::Warm };
        let job = Job { key: key.clone(), base: Some(key), sizes: None, is_checked: true };
        let request = Request::Order(Order::Load { jobs: vec![job], share: Some(3), is_ahead: true });
        let mut pipe = Vec::new();
        write(&mut pipe, &request).unwrap();
        assert_eq!(read(&mut pipe.as_slice(), LONGEST_REQUEST).unwrap(), Some(Line::Message(request)));
        assert_eq!(read::<Request>(&mut "\n\n".as_bytes(), LONGEST_REQUEST).unwrap(), None);
    }

    #[test]
    fn the_largest_module_fits_into_a_line() {
        let words = vec![u32::MAX; 1000];
        let mut line = Vec::new();
        write(&mut line, &words).unwrap();
        assert!(line.len() as u64 * (SHADER.largest / 4000) < LONGEST_REQUEST);
    }
}
