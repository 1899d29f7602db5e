//! The functions that the host offers: a plugin's requests enter, the host's answers leave. In a component they are the
//! contract's imports; natively a stand-in for tests takes their place. It never decides anything.

#[cfg(target_arch = "wasm32")]
pub(crate) use component::*;
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use native::*;

#[cfg(target_arch = "wasm32")]
mod component {
    use crate::bindings::airlock::plugin::hook_types::HookName;
    use crate::bindings::airlock::plugin::hook_types::HookOptions;
    use crate::bindings::airlock::plugin::registry;
    use crate::bindings::airlock::plugin::registry::Exposure;
    use crate::bindings::airlock::plugin::registry::RegistrationError;
    use crate::bindings::airlock::plugin::runtime;
    use crate::bindings::airlock::plugin::types::FactoryId;
    use crate::bindings::airlock::plugin::types::HandlerId;
    use crate::bindings::airlock::plugin::types::Tool;

    pub(crate) fn log(level: runtime::Level, message: &str) {
        runtime::log(level, message);
    }

    pub(crate) fn config() -> String {
        runtime::config()
    }

    pub(crate) fn progress(done: f64, total: Option<f64>, message: Option<&str>) {
        runtime::progress(done, total, message);
    }

    pub(crate) fn register_tool(tool: Tool, exposure: Exposure) -> Result<(), RegistrationError> {
        registry::register_tool(&tool, exposure)
    }

    pub(crate) fn register_factory(
        factory: FactoryId,
        names: Vec<String>,
        exposure: Exposure,
    ) -> Result<(), RegistrationError> {
        registry::register_factory(factory, &names, exposure)
    }

    pub(crate) fn on(
        handler: HandlerId,
        hook: HookName,
        options: HookOptions,
    ) -> Result<(), RegistrationError> {
        registry::on(handler, hook, &options)
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod native {
    #![allow(clippy::print_stderr, reason = "standard error is where a test looks for logs")]
    #![allow(clippy::unnecessary_wraps, reason = "the host may refuse, the stand-in takes everything")]

    use std::cell::RefCell;

    use crate::bindings::airlock::plugin::hook_types::HookName;
    use crate::bindings::airlock::plugin::hook_types::HookOptions;
    use crate::bindings::airlock::plugin::registry::Exposure;
    use crate::bindings::airlock::plugin::registry::RegistrationError;
    use crate::bindings::airlock::plugin::runtime::Level;
    use crate::bindings::airlock::plugin::types::FactoryId;
    use crate::bindings::airlock::plugin::types::HandlerId;
    use crate::bindings::airlock::plugin::types::Tool;
    use crate::testing::Registered;
    use crate::testing::RegisteredFactory;
    use crate::testing::RegisteredHandler;

    thread_local! {
        // Tests run in parallel, one thread each: a thread is one plugin.
        static CONFIG: RefCell<String> = RefCell::new("{}".to_owned());
        static REGISTERED: RefCell<Registered> = RefCell::default();
    }

    pub(crate) fn log(level: Level, message: &str) {
        eprintln!("{level:?}: {message}");
    }

    pub(crate) fn config() -> String {
        CONFIG.with_borrow(Clone::clone)
    }

    pub(crate) fn set_config(config: String) {
        CONFIG.set(config);
    }

    pub(crate) fn progress(done: f64, total: Option<f64>, message: Option<&str>) {
        let total = total.map(|total| format!(" of {total}")).unwrap_or_default();
        eprintln!("progress: {done}{total} {}", message.unwrap_or_default());
    }

    pub(crate) fn register_tool(tool: Tool, exposure: Exposure) -> Result<(), RegistrationError> {
        REGISTERED.with_borrow_mut(|registered| registered.tools.push((tool, exposure)));
        Ok(())
    }

    pub(crate) fn register_factory(
        factory: FactoryId,
        names: Vec<String>,
        exposure: Exposure,
    ) -> Result<(), RegistrationError> {
        let factory = RegisteredFactory { id: factory, names, exposure };
        REGISTERED.with_borrow_mut(|registered| registered.factories.push(factory));
        Ok(())
    }

    pub(crate) fn on(
        handler: HandlerId,
        hook: HookName,
        options: HookOptions,
    ) -> Result<(), RegistrationError> {
        let HookOptions { priority, timeout_ms, tools } = options;
        let handler = RegisteredHandler { id: handler, hook, priority, timeout_ms, tools };
        REGISTERED.with_borrow_mut(|registered| registered.handlers.push(handler));
        Ok(())
    }

    pub(crate) fn take_registered() -> Registered {
        REGISTERED.take()
    }
}
