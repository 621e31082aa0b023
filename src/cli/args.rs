//! The command line, literally: what each flag means is resolved elsewhere, against devices and files.

pub mod capture;
pub mod colours;
pub mod compare;
pub mod described;
pub mod doctor;
pub mod explain;
pub mod fleet;
pub mod limits;
pub mod measuring;
pub mod recorded;
pub mod report;
pub mod run;
pub mod trace;
pub mod tune;
pub mod values;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use super::version;
use crate::model::PipelineDetail;
use crate::output::Format;
use crate::shader::apart::COMMAND;
use crate::worker::Platform;
use capture::Capture;
use colours::Colours;
use compare::Compare;
use doctor::Doctor;
use explain::Explain;
use fleet::Fleet;
use limits::LimitsFile;
use report::Report;
use run::Run;
use trace::Trace;
use tune::Tune;
use values::{TargetEnv, duration};

/// A Vulkan-native low-level compute profiler: measured, checked rows of how a device behaves.
#[derive(Debug, Parser)]
#[command(name = "lanescope", version = version::SHORT, long_version = version::LONG.as_str(), about, max_term_width = 100)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show every device of every installed driver, and why one can't be used
    Devices(Devices),
    /// Find out whether this machine is fit to be measured on, and what is wrong with it
    Doctor(Doctor),
    /// List the experiments with their axes
    List(List),
    /// Explain what an experiment measures and how to read it
    Describe(Describe),
    /// Describe a shader of yours: its resources, constants, workgroup size and instructions
    Inspect(Inspect),
    /// Measure: all experiments in a quick overview, or those that match
    Run(Box<Run>),
    /// Find the fastest workgroup size and constants of a shader of yours
    #[command(args_override_self = true)]
    Tune(Box<Tune>),
    /// Record every access of a shader of yours, or of a case of the catalogue (`lanescope trace memory/stride -a stride=8`), and say
    /// what it costs the memory system
    #[command(args_override_self = true)]
    Trace(Box<Trace>),
    /// Say what limits a shader of yours, or a case of the catalogue: the least time for what it must move and compute, beside the time
    /// that it takes, and what it would gain without some of its costs
    #[command(args_override_self = true)]
    Explain(Box<Explain>),
    /// Run an application, and say which kernels it runs through Vulkan, how often, and how long each takes
    Capture(Capture),
    /// Put the files of a run's shards together, and check that no case is missing or contradicted
    Merge(Merge),
    /// Say in a few lines what devices are, from files of rows
    Card(Card),
    /// Say what changed from one file of rows to another, by how much, and whether it is real
    Compare(Compare),
    /// Say which machines deviate from the others of their kind, from files of rows of all of them
    Fleet(Fleet),
    /// Show rows on a page with figures, or write the figures as SVG files
    Report(Report),
    /// Read a guide by its topic, or list the guides
    Guide(Guide),
    /// Show the columns of a table
    Schema(Schema),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, or write those of all commands into a folder
    Man {
        /// The folder; it must exist
        folder: Option<PathBuf>,
    },
    /// Own a device for a run that supervises
    #[command(hide = true)]
    Worker(Worker),
    /// Compile and check shaders for a process that asks
    #[command(hide = true, name = COMMAND)]
    Compile,
}

impl Command {
    /// Whether what it shows has colours, where it shows any.
    pub fn colours(&self) -> Option<Colours> {
        match self {
            Self::Inspect(inspect) => Some(inspect.colours),
            Self::Run(run) => Some(run.measuring.colours),
            Self::Tune(tune) => Some(tune.measuring.colours),
            Self::Trace(trace) => Some(trace.case.colours),
            Self::Explain(explain) => Some(explain.case.colours),
            Self::Capture(capture) => Some(capture.colours),
            Self::Merge(merge) => Some(merge.colours),
            Self::Card(card) => Some(card.colours),
            Self::Compare(compare) => Some(compare.colours),
            Self::Fleet(fleet) => Some(fleet.colours),
            _ => None,
        }
    }
}

#[derive(Debug, Args)]
pub struct Worker {
    /// Simulate a device that is told this; may come several times
    #[arg(long, value_name = "OPTIONS", conflicts_with = "validation")]
    pub mock: Vec<String>,

    /// Turn on the Khronos validation layer
    #[arg(long)]
    pub validation: bool,
}

impl Worker {
    pub fn platform(&self) -> Platform {
        if self.mock.is_empty() {
            Platform::Vulkan { validation: self.validation, driver: None }
        } else {
            Platform::Mock(self.mock.clone())
        }
    }
}

#[derive(Debug, Args)]
pub struct Devices {
    /// As JSON, with every limit and feature
    #[arg(long)]
    pub json: bool,

    /// All features, formats, memory types and matrices, however long the lists are, and what drivers print
    #[arg(short, long)]
    pub verbose: bool,

    #[command(flatten)]
    pub limits: LimitsFile,
}

#[derive(Debug, Args)]
pub struct List {
    /// Show only experiments with all of these words in their names and summaries (memory, bandwidth), else in their descriptions
    /// (texels). A name or a glob, as `run` takes it (memory/stream, '*/*atomic*'), adds the experiments that it matches
    #[arg(value_name = "WORD")]
    pub words: Vec<String>,

    /// Show the defaults of this device: by index, part of its name, or UUID, as `devices` shows them (default: those of a discrete
    /// GPU, without asking a driver)
    #[arg(short, long, value_name = "INDEX|NAME|UUID")]
    pub device: Option<String>,

    /// As JSON: everything, with the figures of each experiment and an estimate of how long it takes
    #[arg(long)]
    pub json: bool,

    /// Show variants and axes, however many experiments there are
    #[arg(short, long)]
    pub verbose: bool,
}

#[derive(Debug, Args)]
pub struct Describe {
    /// The experiment, such as memory/stream
    pub name: String,
}

#[derive(Debug, Args)]
pub struct Guide {
    /// The topic, such as tune (default: the list of all)
    pub topic: Option<String>,

    /// Print it as Markdown
    #[arg(long, requires = "topic")]
    pub markdown: bool,
}

#[derive(Debug, Args)]
pub struct Inspect {
    /// A compute shader: GLSL, SPIR-V of either byte order, or a manifest (*.toml), as of a captured kernel
    pub shader: PathBuf,

    /// Define a macro for GLSL (NAME alone is 1)
    #[arg(short = 'D', long, value_name = "NAME[=VALUE]")]
    pub define: Vec<String>,

    /// GLSL that is put behind the shader's #version, or in front of a shader that has none
    #[arg(long, value_name = "FILE")]
    pub preamble: Option<PathBuf>,

    /// Where #include looks after the including file's own folder
    #[arg(short = 'I', long, value_name = "FOLDER")]
    pub include: Vec<PathBuf>,

    /// Describe one entry point: the others, and what only they use, are left out (default: all)
    #[arg(short, long, value_name = "NAME")]
    pub entry: Option<String>,

    /// Give a specialization constant a value, by its name or its constant_id
    #[arg(short, long, value_name = "NAME|ID=VALUE")]
    pub constant: Vec<String>,

    /// What to compile GLSL for: newer versions allow newer SPIR-V
    #[arg(long, value_enum, default_value_t, value_name = "VERSION")]
    pub target_env: TargetEnv,

    /// Take SPIR-V that isn't valid, too: drivers may crash, or make anything of it
    #[arg(long)]
    pub no_validate: bool,

    /// Say what a device makes of it, too: device by index, part of its name, or UUID, as `devices` shows them; `mock` simulates one;
    /// `all` is all that can compile, whether or not they can run anything
    #[arg(short, long, value_name = "INDEX|NAME|UUID")]
    pub device: Vec<String>,

    /// Write what each device's compiler made of it, as far as it shows its code, to a file of the device in this folder
    #[arg(long, value_name = "FOLDER", requires = "device")]
    pub isa: Option<PathBuf>,

    /// Deadline for compiling it on a device; beyond, the compiler's process is killed
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "60s")]
    pub timeout: Duration,

    /// How to describe it
    #[arg(long, value_enum, default_value_t = InspectFormat::Text)]
    pub format: InspectFormat,

    /// Also what drivers print
    #[arg(short, long)]
    pub verbose: bool,

    #[command(flatten)]
    pub colours: Colours,
}

impl Inspect {
    /// What to ask drivers about the pipeline.
    pub fn detail(&self) -> PipelineDetail {
        if self.isa.is_some() { PipelineDetail::Code } else { PipelineDetail::Statistics }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InspectFormat {
    /// For people
    Text,
    /// All of it, for programs
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Table {
    Rows,
    Trace,
    Accesses,
    /// What trace --check writes: a row for each finding
    Findings,
}

#[derive(Debug, Args)]
pub struct Schema {
    /// Whose columns: those of measured rows, of `trace -o` (a row an instruction), or of `trace --records` (a row an access)
    #[arg(value_enum, default_value_t = Table::Rows)]
    pub table: Table,

    /// As JSON
    #[arg(long)]
    pub json: bool,

    /// As the SQL that reads a file of rows into DuckDB, every fixed column with its type
    #[arg(long, conflicts_with = "json")]
    pub duckdb: bool,

    /// As the Python that reads a file of rows into pandas, every fixed column with its type
    #[arg(long, conflicts_with_all = ["json", "duckdb"])]
    pub pandas: bool,
}

#[derive(Debug, Args)]
pub struct Merge {
    /// CSV files of shards, of parts of a run or of whole runs, in any order; one of `run --dry-run` lets missing cases be named.
    /// `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// File to write once all is well, its format by its ending (.csv, .jsonl, .md, .txt), also one of those read; `-` is
    /// standard output, as is none
    #[arg(short, long, value_name = "FILE")]
    pub output: Vec<PathBuf>,

    /// Format of standard output, and of files whose ending doesn't tell (default: table on a terminal, else csv)
    #[arg(long, value_enum)]
    pub format: Option<Format>,

    /// Write these columns alone, as `schema` lists them (of CSV and JSON lines): NAME,...; the key of a row, its schema, its status and
    /// its axes are always there
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub columns: Vec<String>,

    /// Leave the host's name out of the rows
    #[arg(long)]
    pub anonymous: bool,

    /// Where cases are missing, only say which, and write the others: they can be merged with the rest later
    #[arg(long)]
    pub partial: bool,

    /// Add the fastest workgroup that rows of algo/adaptive show for each algorithm and problem size to this tuning table, as
    /// `tune --save-table` does
    #[arg(long, value_name = "FILE")]
    pub save_table: Option<PathBuf>,

    /// No remarks
    #[arg(short, long)]
    pub quiet: bool,

    #[command(flatten)]
    pub colours: Colours,
}

#[derive(Debug, Args)]
pub struct Card {
    /// CSV files of rows, such as `lanescope run -o rows.csv` writes; each device has a column. `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// File to write the card to (default: standard output)
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    #[command(flatten)]
    pub limits: LimitsFile,

    #[command(flatten)]
    pub colours: Colours,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
