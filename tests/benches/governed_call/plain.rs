//! The same component in plain Wasmtime, called in the same way: what an embedder without Airlock would write.

use std::time::Duration;

use wasmtime::component::{Component, HasSelf, Linker, ResourceTable};
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use bindings::airlock::plugin::{hook_types, registry, runtime, types};

mod bindings {
    #![allow(
        missing_docs,
        missing_debug_implementations,
        unreachable_pub,
        clippy::all,
        reason = "generated code"
    )]
    wasmtime::component::bindgen!({
        path: "../wit/0.1.0",
        world: "plugin",
        imports: { default: trappable },
        exports: { default: async },
    });
}

/// A component that was compiled and linked once.
pub(crate) struct Plain {
    engine: Engine,
    plugin: bindings::PluginPre<State>,
    ticker: Option<std::thread::JoinHandle<()>>,
}

struct State {
    wasi: WasiCtx,
    table: ResourceTable,
}

/// What is known to be fastest and still safe for code that nobody vouches for: fuel and epochs on, and a pool whose
/// pages are reset in place where the kernel can tell which were touched.
pub(crate) fn best_settings() -> Config {
    let mut config = Config::new();
    config.concurrency_support(false).epoch_interruption(true).consume_fuel(true).async_stack_zeroing(true);
    config.max_wasm_stack(512 << 10).async_stack_size(1 << 20);
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(64)
        .total_stacks(64)
        .total_core_instances(1024)
        .total_memories(128)
        .total_tables(256);
    pool.max_memory_size(64 << 20).table_elements(20_000);
    if PoolingAllocationConfig::is_pagemap_scan_available() {
        pool.pagemap_scan(Enabled::Yes).linear_memory_keep_resident(2 << 20);
    } else {
        pool.decommit_batch_size(16);
    }
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    config
}

/// Wasmtime as it comes, with fuel and epochs on, since a host without them could not stop a guest.
pub(crate) fn default_settings() -> Config {
    let mut config = Config::new();
    config.epoch_interruption(true).consume_fuel(true);
    config
}

impl Plain {
    pub(crate) fn new(component: &[u8], config: &Config) -> Self {
        let engine = Engine::new(config).unwrap();
        let component = Component::from_binary(&engine, component).unwrap();
        let mut linker = Linker::<State>::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).unwrap();
        bindings::Plugin::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state).unwrap();
        let plugin = bindings::PluginPre::new(linker.instantiate_pre(&component).unwrap()).unwrap();
        let weak = engine.weak();
        let ticker = std::thread::spawn(move || {
            while let Some(engine) = weak.upgrade() {
                engine.increment_epoch();
                drop(engine);
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        Self { engine, plugin, ticker: Some(ticker) }
    }

    /// One call in a fresh instance.
    pub(crate) async fn call(&self, arguments: &str) {
        let state = State { wasi: WasiCtx::builder().build(), table: ResourceTable::new() };
        let mut store = Store::new(&self.engine, state);
        store.set_fuel(1_000_000_000).unwrap();
        store.set_epoch_deadline(1);
        store.epoch_deadline_async_yield_and_update(1);
        let instance = self.plugin.instantiate_async(&mut store).await.unwrap();
        let call = types::ToolCall {
            call_id: "call-1".to_owned(),
            tool: "echo".to_owned(),
            params: arguments.to_owned(),
            factory: None,
            binding: None,
        };
        let answer =
            instance.airlock_plugin_guest().call_execute(&mut store, &call, &run_context()).await.unwrap();
        assert_eq!(answer.unwrap().content.len(), 1);
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        // The thread ends by itself once the engine is gone; nothing is gained by waiting for it.
        drop(self.ticker.take());
    }
}

fn run_context() -> types::RunContext {
    types::RunContext {
        agent_id: "bench".to_owned(),
        session_key: "bench".to_owned(),
        session_id: "bench".to_owned(),
        run_id: "run".to_owned(),
        parent_run: None,
        trigger: types::Trigger::User,
        interactive: false,
        workspace: None,
        model: None,
        channel: None,
        delivery: None,
        requester: None,
        authenticated_providers: Vec::new(),
        client_capabilities: Vec::new(),
        sandboxed: false,
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl types::Host for State {}
impl hook_types::Host for State {}

type Registered = wasmtime::Result<Result<(), registry::RegistrationError>>;

impl registry::Host for State {
    fn register_tool(&mut self, _: types::Tool, _: registry::Exposure) -> Registered {
        Ok(Err(registry::RegistrationError::Closed))
    }
    fn register_factory(&mut self, _: types::FactoryId, _: Vec<String>, _: registry::Exposure) -> Registered {
        Ok(Err(registry::RegistrationError::Closed))
    }
    fn on(&mut self, _: types::HandlerId, _: hook_types::HookName, _: hook_types::HookOptions) -> Registered {
        Ok(Err(registry::RegistrationError::Closed))
    }
}

impl runtime::Host for State {
    fn log(&mut self, _: runtime::Level, _: String) -> wasmtime::Result<()> {
        Ok(())
    }
    fn config(&mut self) -> wasmtime::Result<String> {
        Ok("{}".to_owned())
    }
    fn progress(&mut self, _: f64, _: Option<f64>, _: Option<String>) -> wasmtime::Result<()> {
        Ok(())
    }
}
