//! What holds of any bytes that a worker may find on its input, or its supervisor on the worker's output.

use std::fmt::Debug;

use lanescope::worker::protocol::{LONGEST_REPLY, LONGEST_REQUEST, Line, Reply, Request, read, write};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads lines as either side does. Tells how many messages there were.
pub fn check(bytes: &[u8]) -> usize {
    check_side::<Request>(bytes) + check_side::<Reply>(bytes)
}

/// Every line that isn't blank is a message or words, and a message that is said again is understood as the same.
fn check_side<T: Serialize + DeserializeOwned + Debug>(bytes: &[u8]) -> usize {
    let (mut input, mut messages, mut lines) = (bytes, 0, 0);
    while let Some(line) = read::<T>(&mut input, LONGEST_REQUEST).unwrap() {
        lines += 1;
        if let Line::Message(message) = line {
            messages += 1;
            assert_eq!(said(&message), said(&heard::<T>(&said(&message))), "{message:?}");
        }
    }
    assert!(lines <= bytes.split(|byte| *byte == b'\n').count(), "no line is made up");
    messages
}

fn said(message: &impl Serialize) -> Vec<u8> {
    let mut pipe = Vec::new();
    write(&mut pipe, message).unwrap();
    pipe
}

fn heard<T: DeserializeOwned + Debug>(mut pipe: &[u8]) -> T {
    match read(&mut pipe, LONGEST_REPLY).unwrap() {
        Some(Line::Message(message)) => message,
        other => panic!("not understood: {other:?}"),
    }
}
