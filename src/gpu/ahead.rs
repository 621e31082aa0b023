//! Pipelines that are made on other threads before their cases are loaded, so that the device needn't wait for its compiler.
//!
//! Vulkan lets any number of threads make pipelines of one device, as long as they share no pipeline cache: there is none here.
//! What the validation layer says of a pipeline on such a thread is kept with it, and told when its case is loaded.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::error::Error;
use super::instance::MessageLog;
use super::logical::Logical;
use super::pipeline::{Compiled, PipelineSource};
use crate::model::{DeviceInfo, DeviceKind, Status};
use crate::shader::Specialized;

/// More threads than this only wait for each other within a driver.
const MOST_THREADS: usize = 16;

/// On how many threads pipelines are best made while the device measures: all cores but one; none where the device is software on them.
pub fn compile_threads(device: &DeviceInfo) -> usize {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    if device.kind == DeviceKind::Cpu { 0 } else { cores.saturating_sub(1).clamp(1, MOST_THREADS) }
}

/// The threads, and what they have made.
pub(super) struct Ahead {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    logical: Arc<Logical>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// In the order in which they are wanted.
    waiting: VecDeque<Arc<Recipe>>,
    /// And whether it is still wanted.
    under_way: Vec<(Arc<Recipe>, bool)>,
    done: Vec<(Arc<Recipe>, Made)>,
    is_closing: bool,
}

/// A pipeline, or why there is none, and what the validation layer said.
struct Made {
    compiled: Result<Compiled, Error>,
    messages: Vec<String>,
}

struct Recipe {
    name: String,
    specialized: Specialized,
    has_base: bool,
}

impl Recipe {
    fn of(source: &PipelineSource<'_>) -> Self {
        let PipelineSource { name, specialized, has_base } = source;
        Self { name: name.clone(), specialized: (*specialized).clone(), has_base: *has_base }
    }

    /// Whether the same pipeline would come of it.
    fn is(&self, source: &PipelineSource<'_>) -> bool {
        let (own, other) = (&self.specialized, source.specialized);
        self.name == source.name
            && self.has_base == source.has_base
            && (Arc::ptr_eq(&own.module, &other.module) || own.module.words == other.module.words)
            && own.entry == other.entry
            && own.entries == other.entries
            && own.data == other.data
            && own.push_bytes == other.push_bytes
            && own.required_subgroup_size == other.required_subgroup_size
            && own.full_subgroups == other.full_subgroups
    }
}

impl Ahead {
    /// Starts so many threads. Where the system grants none, whoever takes a pipeline makes it.
    pub(super) fn new(logical: &Arc<Logical>, threads: usize) -> Self {
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new() });
        let start = |_| {
            let (shared, logical) = (Arc::clone(&shared), Arc::clone(logical));
            thread::Builder::new().name("pipelines".to_owned()).spawn(move || shared.work(&logical)).ok()
        };
        let threads = (0..threads).filter_map(start).collect();
        Self { shared, threads, logical: Arc::clone(logical) }
    }

    pub(super) fn threads(&self) -> usize {
        self.threads.len()
    }

    pub(super) fn make(&self, source: &PipelineSource<'_>) {
        let mut state = self.shared.lock();
        let known = state.waiting.iter().chain(state.under_way.iter().map(|(recipe, _)| recipe));
        if !known.chain(state.done.iter().map(|(recipe, _)| recipe)).any(|recipe| recipe.is(source)) {
            state.waiting.push_back(Arc::new(Recipe::of(source)));
            self.shared.changed.notify_all();
        }
    }

    /// Takes a pipeline that was made, after waiting for it if need be; `None` for one that no thread has begun.
    pub(super) fn take(&self, source: &PipelineSource<'_>) -> Option<Result<Compiled, Error>> {
        let mut state = self.shared.lock();
        state.waiting.retain(|recipe| !recipe.is(source));
        loop {
            if let Some(at) = state.done.iter().position(|(recipe, _)| recipe.is(source)) {
                let (_, made) = state.done.swap_remove(at);
                self.logical.instance.log.add(made.messages);
                return Some(made.compiled);
            }
            if !state.under_way.iter().any(|(recipe, is_wanted)| *is_wanted && recipe.is(source)) {
                return None;
            }
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn forget(&self) {
        let mut state = self.shared.lock();
        state.waiting.clear();
        state.under_way.iter_mut().for_each(|(_, is_wanted)| *is_wanted = false);
        let done = std::mem::take(&mut state.done);
        drop(state);
        drop(done);
    }
}

/// What is under way ends before the device goes, unless that hangs: then nothing of it is destroyed, and nobody may wait for it.
impl Drop for Ahead {
    fn drop(&mut self) {
        self.forget();
        self.shared.lock().is_closing = true;
        self.shared.changed.notify_all();
        if self.logical.may_destroy() {
            // A thread can't panic: it catches that.
            self.threads.drain(..).for_each(|thread| drop(thread.join()));
        }
    }
}

impl Shared {
    /// A panic between two changes leaves the lists whole, so poison means nothing here.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, logical: &Arc<Logical>) {
        while let Some(recipe) = self.next() {
            let made = recipe.make(logical);
            let mut state = self.lock();
            let Some(at) = state.under_way.iter().position(|(other, _)| Arc::ptr_eq(other, &recipe)) else { continue };
            let (recipe, is_wanted) = state.under_way.swap_remove(at);
            if is_wanted {
                state.done.push((recipe, made));
            }
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Waits for something to do; `None` at the end.
    fn next(&self) -> Option<Arc<Recipe>> {
        let mut state = self.lock();
        loop {
            if state.is_closing {
                return None;
            }
            if let Some(recipe) = state.waiting.pop_front() {
                state.under_way.push((Arc::clone(&recipe), true));
                return Some(recipe);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Recipe {
    fn make(&self, logical: &Arc<Logical>) -> Made {
        let source = PipelineSource { name: self.name.clone(), specialized: &self.specialized, has_base: self.has_base };
        let compile = || catch_unwind(AssertUnwindSafe(|| Compiled::new(logical, &source)));
        let (compiled, messages) = MessageLog::aside(compile);
        let panicked = |_| Err(Error::new(Status::Error, format!("{}: making its pipeline panicked", self.name)));
        Made { compiled: compiled.unwrap_or_else(panicked), messages }
    }
}
