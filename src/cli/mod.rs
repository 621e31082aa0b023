//! The commands: what the stages are composed into.

mod args;
mod card;
mod cases;
mod catalogue;
mod chosen;
mod compare;
mod defines;
mod device_run;
mod devices;
mod estimate;
mod host;
mod inspect;
mod interrupt;
mod journal;
mod lanes;
mod limits;
mod lock;
mod merge;
mod named;
mod outputs;
mod overwriting;
mod packaging;
mod prose;
mod report;
mod resume;
mod run;
mod schema;
mod settings;
mod sink;
mod stdout;
mod target;
mod template;
mod tune;
mod turns;
mod version;
mod voice;

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use clap::Parser;

use crate::error::{EXIT_FAILED, EXIT_OK, Error};
use crate::model::name_text;
use crate::output::{in_a_line, say};
use crate::platform;
use crate::shader::apart;
use crate::worker::serve;
use args::colours::Colours;
use args::{Arguments, Command};

/// Parses the command line, runs the command, prints what went wrong, and gives the exit code.
pub fn main() -> u8 {
    do_without_threads_where_there_are_none();
    platform::outlive_full_files();
    let arguments = match parsed(std::env::args_os().collect()) {
        Ok(arguments) => arguments,
        Err(answer) => return answered(&answer),
    };
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

/// Threads that there has to be room for beside those that share checks: some that are just ending count for a moment longer.
const SPARE_THREADS: usize = 8;

/// Checks are shared among all processors. Where the system has no thread left for that, this one does them alone: else the first check
/// would end the process. It is settled now, since a pool that couldn't be built can't be built again.
fn do_without_threads_where_there_are_none() {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let pool = rayon::ThreadPoolBuilder::new();
    let pool = if is_room_for(processors + SPARE_THREADS) { pool } else { pool.num_threads(1).use_current_thread() };
    // What fails here has been set up already.
    let _ = pool.build_global();
}

/// Whether the system lets this process have so many more threads.
fn is_room_for(threads: usize) -> bool {
    let is_over = Arc::new(AtomicBool::new(false));
    let wait = |is_over: Arc<AtomicBool>| {
        move || {
            while !is_over.load(Ordering::Relaxed) {
                thread::park()
            }
        }
    };
    let spawn = |_| thread::Builder::new().stack_size(64 << 10).spawn(wait(is_over.clone())).ok();
    let waiting: Vec<thread::JoinHandle<()>> = (0..threads).map_while(spawn).collect();
    is_over.store(true, Ordering::Relaxed);
    waiting.iter().for_each(|one| one.thread().unpark());
    let started = waiting.len();
    waiting.into_iter().for_each(|one| drop(one.join()));
    started == threads
}

fn dispatch(arguments: Arguments) -> anyhow::Result<u8> {
    apart::work_apart();
    arguments.command.colours().into_iter().for_each(Colours::choose);
    match arguments.command {
        Command::Devices(devices) => devices::devices(&devices),
        Command::List(list) => catalogue::list(&list),
        Command::Describe(describe) => catalogue::describe(&describe),
        Command::Inspect(inspect) => inspect::inspect(&inspect),
        Command::Run(run) => run::run(*run),
        Command::Tune(tune) => tune::tune(*tune, std::env::args_os().skip(2)),
        Command::Merge(merge) => merge::merge(&merge),
        Command::Card(card) => card::card(&card),
        Command::Compare(compare) => compare::compare(&compare),
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
