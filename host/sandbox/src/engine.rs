//! The one engine: every setting that decides what untrusted code can do to the process, with its reason.

use std::num::NonZeroUsize;
use std::path::Path;

use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
    WasmBacktraceDetails,
};

/// Linear memory that one instance can ever have, in bytes: a slot of the pool is this large.
pub(crate) const MAX_MEMORY_BYTES: usize = 64 << 20;

/// Elements that all tables of one instance may have together: Python guests have 5,769, JavaScript 7,725.
pub(crate) const MAX_TABLE_ELEMENTS: usize = 20_000;

/// Memory of a used slot that is kept and rewritten in place instead of being given back to the kernel, in bytes.
/// Worth it only where the kernel can tell which pages were touched; else all of it would be cleared each time.
const KEEP_RESIDENT_BYTES: usize = 2 << 20;

/// How many freed slots are given back to the kernel at once where pages are not kept.
const DECOMMIT_BATCH: usize = 16;

/// Makes the engine. Everything that costs memory is sized for `concurrent_guests` instances at once.
pub(crate) fn engine(concurrent_guests: u32) -> wasmtime::Result<Engine> {
    let mut config = Config::new();
    // A deadline that a busy guest cannot miss, and a computing budget that is the same on every machine.
    config.epoch_interruption(true).consume_fuel(true);
    config.cranelift_opt_level(OptLevel::Speed);

    // Off: component-model concurrency (most of the advisories of 2026, and five times the price of a call), and
    // every proposal that no guest of ours needs.
    config.concurrency_support(false);
    config.wasm_memory64(false).wasm_multi_memory(false).wasm_relaxed_simd(false);
    config.wasm_custom_page_sizes(false).wasm_wide_arithmetic(false);

    // 512 KiB of wasm stack end an unbounded recursion; the fiber around it has room for host calls.
    config.max_wasm_stack(512 << 10).async_stack_size(1 << 20);
    // A fiber's stack is cleared before another guest gets it.
    config.async_stack_zeroing(true);

    // Names of frames for authors; never file contents, and never decided by the environment.
    config
        .wasm_backtrace_max_frames(NonZeroUsize::new(20))
        .wasm_backtrace_details(WasmBacktraceDetails::Disable);

    config.memory_init_cow(true);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(concurrent_guests)));
    Engine::new(&config)
}

fn pool(concurrent_guests: u32) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(concurrent_guests).total_stacks(concurrent_guests);
    // A Rust guest is 3 core instances, JavaScript 4, Python 14; each has one memory and up to 2 tables. Every total is
    // what all guests may have together, so that a slot of the queue always means a place in the pool.
    pool.total_core_instances(concurrent_guests.saturating_mul(32)).max_core_instances_per_component(32);
    pool.total_memories(concurrent_guests.saturating_mul(2)).max_memories_per_component(2);
    pool.total_tables(concurrent_guests.saturating_mul(4)).max_tables_per_component(4);
    // A module may have them all; by default it may have one.
    pool.max_tables_per_module(4);
    pool.max_memory_size(MAX_MEMORY_BYTES).table_elements(MAX_TABLE_ELEMENTS);
    // An instance's own data is a few kilobytes; a component that needs more is hostile.
    pool.max_component_instance_size(1 << 20).max_core_instance_size(1 << 20);
    pool.max_unused_warm_slots(concurrent_guests);
    if pages_can_be_kept() {
        pool.pagemap_scan(Enabled::Yes).linear_memory_keep_resident(KEEP_RESIDENT_BYTES);
    } else {
        pool.decommit_batch_size(DECOMMIT_BATCH);
    }
    pool
}

/// Whether touched pages can be found and reset in place. Wasmtime 48 does not see pages that were swapped out, so a
/// machine with swap must not use it: another guest could read what was left.
fn pages_can_be_kept() -> bool {
    PoolingAllocationConfig::is_pagemap_scan_available() && !has_swap(Path::new("/proc/swaps"))
}

/// Whether the kernel lists a swap area; a list that cannot be read counts as one.
fn has_swap(list: &Path) -> bool {
    std::fs::read_to_string(list)
        .map_or(true, |areas| areas.lines().skip(1).any(|line| !line.trim().is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_is_assumed_unless_the_kernel_says_that_there_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("swaps");
        assert!(has_swap(&list));
        std::fs::write(&list, "Filename Type Size Used Priority\n").unwrap();
        assert!(!has_swap(&list));
        std::fs::write(&list, "Filename Type Size Used Priority\n/dev/sda2 partition 1 0 -2\n").unwrap();
        assert!(has_swap(&list));
    }

    #[test]
    fn the_settings_are_consistent() {
        assert!(engine(2).is_ok());
    }

    /// A component that looks for a mark in all of its fresh memory, a page it grows included, and then writes the mark
    /// everywhere: 1 if an earlier instance's mark was still there.
    const MARKER: &str = r#"(component
        (core module $m
            (memory (export "memory") 17)
            (data (i32.const 8) "some data, so that there is an image to restore")
            (func (export "run") (result i32)
                (local $at i32) (local $found i32)
                (drop (memory.grow (i32.const 1)))
                (local.set $at (i32.const 64))
                (block $done (loop $next
                    (br_if $done (i32.ge_u (local.get $at) (i32.const 1179648)))
                    (if (i32.ne (i32.load (local.get $at)) (i32.const 0)) (then (local.set $found (i32.const 1))))
                    (i32.store (local.get $at) (i32.const 0xa55ac33c))
                    (local.set $at (i32.add (local.get $at) (i32.const 4)))
                    (br $next)))
                (local.get $found)))
        (core instance $i (instantiate $m))
        (func (export "run") (result u32) (canon lift (core func $i "run"))))"#;

    #[tokio::test]
    async fn a_slot_of_the_pool_shows_nothing_of_the_instance_before() {
        // One slot, so that every instance gets the memory of the one before; also one that was dropped half-way.
        let engine = engine(1).unwrap();
        let component =
            wasmtime::component::Component::new(&engine, wat::parse_str(MARKER).unwrap()).unwrap();
        let linker = wasmtime::component::Linker::<()>::new(&engine);
        let linked = linker.instantiate_pre(&component).unwrap();
        for round in 0..50 {
            let mut store = wasmtime::Store::new(&engine, ());
            store.set_fuel(if round % 5 == 4 { 100_000 } else { 100_000_000 }).unwrap();
            store.set_epoch_deadline(u64::MAX / 2);
            let instance = linked.instantiate_async(&mut store).await.unwrap();
            let run = instance.get_typed_func::<(), (u32,)>(&mut store, "run").unwrap();
            match run.call_async(&mut store, ()).await {
                Ok((found,)) => assert_eq!(found, 0, "round {round} saw an earlier instance's memory"),
                Err(error) => assert_eq!(error.downcast_ref(), Some(&wasmtime::Trap::OutOfFuel), "{error:?}"),
            }
        }
    }
}
