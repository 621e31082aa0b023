//! How thoroughly the tests look, and how one says that it can't look at all.

/// The form of scripts/test.sh that runs the tests, by LANESCOPE_TEST_FORM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// `--quick`, in two minutes, without a driver: of what is long, a sample.
    Quick,
    /// For continuous integration, and where nothing is said.
    Short,
    /// `--full`: each point on each driver.
    Full,
}

pub fn form() -> Form {
    match std::env::var("LANESCOPE_TEST_FORM").as_deref() {
        Err(_) | Ok("short") => Form::Short,
        Ok("quick") => Form::Quick,
        Ok("full") => Form::Full,
        Ok(other) => panic!("LANESCOPE_TEST_FORM is {other}: it is quick, short or full"),
    }
}

/// Of these, in the full form all; else the first and each one that follows so many on: in the short form, and in the quick one.
pub fn sample<T>(all: impl IntoIterator<Item = T>, short: usize, quick: usize) -> impl Iterator<Item = T> {
    all.into_iter().step_by(match form() {
        Form::Full => 1,
        Form::Short => short,
        Form::Quick => quick,
    })
}

/// Ends a test that can't be held here, for this reason. libtest calls it passed; scripts/run_tests.py counts it as skipped, and lists
/// it. tests/host/structure.rs refuses other ways out of a test.
macro_rules! skip {
    ($($reason:tt)+) => {{
        $crate::support::form::say_skipped(&format!($($reason)+));
        return;
    }};
}
pub(crate) use skip;

#[expect(clippy::print_stdout, reason = "scripts/run_tests.py reads it")]
pub fn say_skipped(reason: &str) {
    println!("skipped: {reason}");
}
