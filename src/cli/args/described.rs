//! How a user describes a shader of their own, as typed or as a manifest says it.

use std::path::PathBuf;

use clap::Args;

use super::values::{Hex, TargetEnv, count, groups, with_path};

/// A shader, and what it needs to run.
#[derive(Clone, Debug, Args)]
pub struct Described {
    /// The shader: GLSL, or SPIR-V of either byte order; a literal workgroup size is made specializable
    #[arg(required_unless_present = "manifest")]
    pub shader: Option<PathBuf>,

    /// Read flags from this TOML file: keys are their names, paths count from its folder. Flags of the command line win
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,

    /// What rows call it, behind `tune/` (default: the shader's file name)
    #[arg(long)]
    pub name: Option<String>,

    /// The problem's size: elements of buffers, invocations, and `n` in expressions
    #[arg(short, long, value_name = "NUMBER", value_parser = count, default_value = "2^20")]
    pub n: u64,

    /// Give a specialization constant one value in every configuration, by its name or its constant_id
    #[arg(short, long, value_name = "NAME=VALUE")]
    pub constant: Vec<String>,

    /// Give a specialization constant these bytes, in hex, by its constant_id, also if it sets the workgroup's size: 0=40000000 is 64.
    /// The shader as it is written then has them. Ids that the shader hasn't are passed over
    #[arg(long, value_name = "ID=BYTES")]
    pub constant_bytes: Vec<String>,

    /// Give an array in shared memory other lengths than the numbers that the shader says, as in tile=local_size_x or
    /// tile=local_size_y,local_size_x + 1
    #[arg(long, value_name = "NAME=LENGTH[,LENGTH...]")]
    pub shared: Vec<String>,

    /// Define a macro for GLSL (NAME alone is 1); several values, as in UNROLL=1,2,4, are an axis
    #[arg(short = 'D', long, value_name = "NAME[=VALUES]")]
    pub define: Vec<String>,

    /// A buffer by its name or binding: its type, count and fill (random, zero, iota, constant=VALUE, file=PATH), as in
    /// data=float[n * 4]:random or 2=:zero; the type of a texel buffer is a format, as in texels=r32f (default: rgba32f)
    #[arg(short, long, value_name = "PLACE=TYPE[COUNT]:FILL", value_parser = with_path())]
    pub buffer: Vec<String>,

    /// Memory that several buffers lie in, overlapping or not: --memory heap=uint[n] --buffer a=@heap[0,4096] --buffer b=@heap[256],
    /// with ranges in bytes, from where on and how many (default: a file's count, if file=PATH fills it). `host uint` is in the host's
    /// memory, `cached uint` in what the host's caches hold of it
    #[arg(long, value_name = "NAME=[host|cached] TYPE[COUNT]:FILL", value_parser = with_path())]
    pub memory: Vec<String>,

    /// An image by its name or binding: its format, extent (layers come last) and fill, as in picture=rgba16f[width, height]:random
    /// or 1=[64,64] (default: the format that the shader declares, else rgba8, rgba32i or rgba32ui, and n texels, as many in each
    /// direction, or what --threads says where that has two)
    #[arg(long, value_name = "PLACE=FORMAT[WIDTH,HEIGHT,DEPTH]:FILL", value_parser = with_path())]
    pub image: Vec<String>,

    /// How an image is sampled, by the name or binding of a sampler or of an image combined with one: linear or nearest; clamp,
    /// repeat or mirror; unnormalized (default: linear, but nearest for whole numbers, and clamp)
    #[arg(long, value_name = "PLACE=FILTER[,ADDRESS][,unnormalized]")]
    pub sampler: Vec<String>,

    /// A push constant, or a member of a uniform block: NAME=EXPRESSION, several for vectors; of structs and arrays as in
    /// light.position=1,2,3 and weights[3]=0.5; without names by where it begins, in bytes: @16=VALUE, 0:1@16=VALUE in the uniform
    /// block at set 0, binding 1 (default: counts are n, those called size, width, rows or alike the --threads, floats 1)
    #[arg(long, value_name = "NAME=EXPRESSION")]
    pub push: Vec<String>,

    /// All push constants as bytes, in hex, in the place of --push; more than the shader has are cut off
    #[arg(long, value_name = "BYTES")]
    pub push_bytes: Option<Hex>,

    /// Put the address of a byte of memory where the shader looks for it: in a member of push constants or of a buffer, as in
    /// data=@heap[256]; or at a byte: @8=@heap in push constants, heap@8=@nodes in memory, 0:1@8=@heap at set 0, binding 1
    #[arg(long, value_name = "PLACE=@MEMORY[OFFSET]")]
    pub address: Vec<String>,

    /// Invocations in x, y and z, as in `n` or `width, height`: rounded up to whole workgroups (default: n in all, as many in
    /// each direction that the shader has)
    #[arg(long, value_name = "X[,Y[,Z]]")]
    pub threads: Option<String>,

    /// Workgroups in x, y and z instead, as in `ceil_div(n, local_size_x * 4)`
    #[arg(long, value_name = "X[,Y[,Z]]", conflicts_with = "threads")]
    pub groups: Option<String>,

    /// Begin at this workgroup in x, y and z, as vkCmdDispatchBase does
    #[arg(long, value_name = "X,Y,Z", value_parser = groups)]
    pub base_groups: Option<[u32; 3]>,

    /// Require full subgroups: local_size_x is a multiple of their size, and no lane is left over
    #[arg(long)]
    pub full_subgroups: bool,

    /// GLSL that is put behind the shader's #version, or in front of a shader that has none
    #[arg(long, value_name = "FILE")]
    pub preamble: Option<PathBuf>,

    /// Where #include looks after the including file's own folder
    #[arg(short = 'I', long, value_name = "FOLDER")]
    pub include: Vec<PathBuf>,

    /// What to compile GLSL for
    #[arg(long, value_enum, default_value_t, value_name = "VERSION")]
    pub target_env: TargetEnv,

    /// The entry point, where the module has several
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,

    /// Take SPIR-V that isn't valid, too: drivers may crash, or make anything of it; rows say invalid_spirv
    #[arg(long, conflicts_with = "validation")]
    pub no_validate: bool,
}
