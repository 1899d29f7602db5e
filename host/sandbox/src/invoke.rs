//! One invocation: a slot, a fresh instance, a bounded run, and nothing of it left behind.
//!
//! A guest starts on the thread that calls it, for one tick at most: most calls are over by then, and moving them to
//! another thread would cost several times what they take. Whatever is not over moves to the workers. Whoever drops the
//! future, and whichever limit is reached first, the guest is stopped and its memory returned.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use airlock_core::{Access, Limits, Micros, ProgressSink, Registrar, RunContext, Stop, TraceSink, Usage};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Either, select};
use wasmtime::{Store, UpdateDeadline};

use crate::bindings::{Plugin, PluginPre};
use crate::queue::Queue;
use crate::sandbox::Runtime;
use crate::state::{Meter, Outgoing, State};
use crate::stdio::CapturedOutput;
use crate::stop::{Phase, stop};
use crate::workers::{Tick, Turn};

/// Bytes that one host call, or the lifting of one result, may make the host allocate.
const HOST_CALL_FUEL_BYTES: usize = 4 << 20;

/// Component-model handles that one instance may hold, over all its tables.
const MAX_HANDLES: usize = 1_024;

/// What to run, and with what.
pub(crate) struct Request<T> {
    pub(crate) limits: Limits,
    pub(crate) configuration: Arc<str>,
    pub(crate) registrar: Option<Registrar>,
    pub(crate) progress: ProgressSink,
    /// `None` while it registers and makes tools.
    pub(crate) reach: Option<Reach>,
    pub(crate) export: Export<T>,
}

/// What a guest may reach.
pub(crate) struct Reach {
    pub(crate) access: Access,
    /// The run that it belongs to, if to any; a granted folder is its workspace.
    pub(crate) run: Option<Arc<RunContext>>,
    /// Where it is noted.
    pub(crate) traces: TraceSink,
}

/// Calls one export of a fresh instance.
pub(crate) type Export<T> = Box<
    dyn for<'store> FnOnce(&'store mut Store<State>, &'store Plugin) -> BoxFuture<'store, wasmtime::Result<T>>
        + Send,
>;

/// How it ended, and what is left of the store.
pub(crate) struct Ended<T> {
    pub(crate) end: Result<T, Stop>,
    pub(crate) usage: Usage,
    /// Comes back from a registration that was not cut off.
    pub(crate) registrar: Option<Registrar>,
}

pub(crate) async fn invoke<T: Send + 'static>(
    runtime: &Arc<Runtime>,
    plugin: &PluginPre<State>,
    queue: &Queue,
    request: Request<T>,
) -> Ended<T> {
    let asked = Instant::now();
    let Some(slot) = queue.slot(&runtime.ticker).await else {
        return Ended::without_running(Stop::Busy, request.registrar, asked.elapsed());
    };
    let started = Instant::now();
    let queued = started.duration_since(asked);
    let deadline = started + request.limits.timeout;

    let state = State::new(
        &request.limits,
        request.configuration,
        request.registrar,
        request.progress,
        request.reach,
        Outgoing { outbound: Arc::clone(&runtime.outbound), deadline },
    );
    let (meter, stdout, stderr) = (Arc::clone(&state.meter), state.stdout.clone(), state.stderr.clone());
    let (engine, plugin, turn) = (runtime.engine.clone(), plugin.clone(), runtime.workers.turn(queue.hogs()));
    let (limits, export) = (request.limits, request.export);
    let guest = async move {
        // Held until the instance is gone, also when this task is dropped half-way.
        let _slot = slot;
        let mut store = Store::new(&engine, state);
        let mut turn = turn;
        // Asked now and not earlier: of many that start together, the first ones show what the others are.
        let first = turn.begin();
        let end = match bound(&mut store, &limits, deadline, turn.clone()) {
            Ok(()) => {
                let guest = async {
                    if let Some(permit) = first {
                        permit.await;
                    }
                    run(&mut store, &plugin, export).await
                };
                turn.hold(AssertUnwindSafe(guest).catch_unwind()).await
            }
            Err(error) => Ok(Err((error, Phase::Instantiating))),
        };
        let fuel_left = store.get_fuel().unwrap_or_default();
        let mut state = store.into_data();
        state.meter.fuel.store(limits.fuel.saturating_sub(fuel_left), Ordering::Relaxed);
        let end = match end {
            Ok(Ok(value)) => Ok(value),
            Ok(Err((error, phase))) => Err(stop(&error, phase, &state.stderr)),
            Err(_panic) => Err(Stop::HostFault("the host panicked while it served the plugin".to_owned())),
        };
        (end, state.registrar.take())
    };

    let mut alarm = runtime.ticker.alarm(deadline);
    let mut guest = Box::pin(guest);
    let over = if queue.may_start_here() { runtime.workers.start_here(guest.as_mut()).await } else { None };
    let (end, registrar) = match over {
        Some(ended) => ended,
        None => {
            if meter.ticks.load(Ordering::Relaxed) > 1 {
                queue.took_a_tick();
            }
            match select(runtime.workers.spawn(guest), &mut alarm.fired).await {
                Either::Left((Some(ended), _)) => ended,
                Either::Left((None, _)) => (Err(Stop::HostFault("the worker was stopped".to_owned())), None),
                // The task goes with this tuple, and with it the guest.
                Either::Right(_) => (Err(Stop::TimedOut), None),
            }
        }
    };
    let usage = usage(&meter, &stdout, &stderr, started.elapsed(), queued);
    Ended { end, usage, registrar }
}

/// Puts every limit of a store in force.
fn bound(
    store: &mut Store<State>,
    limits: &Limits,
    deadline: Instant,
    mut turn: Turn,
) -> wasmtime::Result<()> {
    store.limiter(|state| &mut state.limiter);
    store.set_fuel(limits.fuel)?;
    store.set_hostcall_fuel(HOST_CALL_FUEL_BYTES);
    store.set_max_component_handles(MAX_HANDLES);
    store.set_epoch_deadline(1);
    let fuel_limit = limits.fuel;
    store.epoch_deadline_callback(move |context| {
        let used = fuel_limit.saturating_sub(context.get_fuel().unwrap_or_default());
        let meter = &context.data().meter;
        meter.fuel.store(used, Ordering::Relaxed);
        meter.ticks.fetch_add(1, Ordering::Relaxed);
        if Instant::now() >= deadline {
            return Ok(UpdateDeadline::Interrupt);
        }
        Ok(match turn.tick() {
            Tick::GoOn => UpdateDeadline::Continue(1),
            Tick::Yield => UpdateDeadline::Yield(1),
            Tick::Queue(wait) => UpdateDeadline::YieldCustom(1, Box::pin(wait)),
        })
    });
    Ok(())
}

async fn run<T>(
    store: &mut Store<State>,
    plugin: &PluginPre<State>,
    export: Export<T>,
) -> Result<T, (wasmtime::Error, Phase)> {
    let instance =
        plugin.instantiate_async(&mut *store).await.map_err(|error| (error, Phase::Instantiating))?;
    export(store, &instance).await.map_err(|error| (error, Phase::Running))
}

fn usage(
    meter: &Meter,
    stdout: &CapturedOutput,
    stderr: &CapturedOutput,
    wall: Duration,
    queued: Duration,
) -> Usage {
    let (out, out_dropped) = stdout.counts();
    let (err, err_dropped) = stderr.counts();
    Usage {
        fuel: meter.fuel.load(Ordering::Relaxed),
        peak_memory_bytes: meter.peak_memory_bytes.load(Ordering::Relaxed),
        wall: Micros(wall),
        queued: Micros(queued),
        host_calls: meter.host_calls.load(Ordering::Relaxed),
        log_lines: meter.log_lines.load(Ordering::Relaxed),
        log_lines_dropped: meter.log_lines_dropped.load(Ordering::Relaxed),
        stdio_bytes: out.saturating_add(err),
        stdio_bytes_dropped: out_dropped.saturating_add(err_dropped),
    }
}

impl<T> Ended<T> {
    fn without_running(stop: Stop, registrar: Option<Registrar>, queued: Duration) -> Self {
        let usage = Usage { queued: Micros(queued), ..Usage::default() };
        Self { end: Err(stop), usage, registrar }
    }
}
