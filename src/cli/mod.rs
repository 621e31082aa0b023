//! The commands: what the stages are composed into.

mod args;
mod capture;
mod card;
mod catalogue;
mod chosen;
mod compare;
mod defines;
mod described;
mod devices;
mod doctor;
mod explain;
mod fleet;
mod guide;
mod inspect;
mod limits;
mod merge;
mod named;
mod overwriting;
mod packaging;
mod recorded;
mod report;
mod run;
mod schema;
mod settings;
mod stdout;
mod trace;
mod tune;
mod version;

use std::ffi::OsString;
use std::io::{self, ErrorKind};

use clap::Parser;

use crate::error::{EXIT_FAILED, EXIT_OK, Error};
use crate::model::name_text;
use crate::output::{in_a_line, say};
use crate::platform;
use crate::shader::apart;
use crate::worker::serve;
use args::colours::Colours;
use args::{Arguments, Command};

pub fn main() -> u8 {
    platform::outlive_full_files();
    let arguments = match parsed(typed()) {
        Ok(arguments) => arguments,
        Err(answer) => return answered(&answer),
    };
    // Checks are shared among all processors. Where the system has no threads left for that, the first check would end in a panic.
    if let Err(error) = rayon::ThreadPoolBuilder::new().build_global() {
        say(&format!("error: can't start a thread for each processor: {error}; set RAYON_NUM_THREADS=1 to do with one"));
        return EXIT_FAILED;
    }
    match dispatch(arguments) {
        Ok(code) => code,
        // A reader that has seen enough (`| head`) is no error.
        Err(error) if is_closed_pipe(&error) => EXIT_OK,
        Err(error) => {
            // Where the error stream is gone too, the exit code still tells.
            say(&format!("error: {error:#}"));
            error.downcast_ref::<Error>().map_or(EXIT_FAILED, Error::exit_code)
        }
    }
}

/// The command line, with stars filled in where no shell does that.
fn typed() -> Vec<OsString> {
    wild::args_os().collect()
}

/// Reads the command line. What clap answers instead, such as its help or an error, repeats arguments as they are: those that hold what
/// nobody can read are told in a form that can be read.
fn parsed(typed: Vec<OsString>) -> Result<Arguments, clap::Error> {
    let again = || typed.iter().map(|argument| in_a_line(&name_text(argument)));
    Arguments::try_parse_from(&typed).map_err(|error| Arguments::try_parse_from(again()).err().unwrap_or(error))
}

/// Shows what clap answers, where it wants that and in its colours, and gives the exit code.
fn answered(answer: &clap::Error) -> u8 {
    // Where nobody reads it, the exit code still tells.
    let _ = answer.print();
    u8::try_from(answer.exit_code()).unwrap_or(EXIT_FAILED)
}

fn dispatch(arguments: Arguments) -> anyhow::Result<u8> {
    apart::work_apart();
    arguments.command.colours().into_iter().for_each(Colours::choose);
    match arguments.command {
        Command::Devices(devices) => devices::devices(&devices),
        Command::Doctor(doctor) => doctor::doctor(&doctor),
        Command::List(list) => catalogue::list(&list),
        Command::Guide(asked) => guide::guide(&asked),
        Command::Describe(describe) => catalogue::describe(&describe),
        Command::Inspect(inspect) => inspect::inspect(&inspect),
        Command::Run(run) => run::run(*run),
        Command::Tune(given) => tune::tune(*given, typed().into_iter().skip(2)),
        Command::Trace(given) => trace::trace(*given, typed().into_iter().skip(2)),
        Command::Explain(given) => explain::explain(*given, typed().into_iter().skip(2)),
        Command::Capture(typed) => capture::capture(&typed),
        Command::Merge(merge) => merge::merge(&merge),
        Command::Card(card) => card::card(&card),
        Command::Compare(compare) => compare::compare(&compare),
        Command::Fleet(given) => fleet::fleet(&given),
        Command::Report(report) => report::report(&report),
        Command::Schema(schema) => schema::schema(&schema),
        Command::Completions { shell } => packaging::completions(shell),
        Command::Man { folder } => packaging::man(folder.as_deref()),
        Command::Worker(worker) => serve(&worker.platform()),
        Command::Compile => Ok(apart::serve().map(|()| EXIT_OK)?),
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let is_closed = |cause: &(dyn std::error::Error + 'static)| {
        let of_output = || match cause.downcast_ref::<Error>() {
            Some(Error::Output { cause, .. }) => Some(cause),
            _ => None,
        };
        cause.downcast_ref::<io::Error>().or_else(of_output).is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    };
    error.chain().any(is_closed)
}
