//! The `airlock` program: arguments enter, one document or a readable page leaves, with an exit code that says how it went.
//!
//! Everything it shows comes from `airlock-core`; it adds no rule of its own.

mod arguments;
mod call;
mod failure;
mod page;
mod plugins;
mod setup;
mod tools;

use std::process::ExitCode;

use clap::Parser as _;

use arguments::{Arguments, Command};
use failure::Failure;

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::host(format!("no async runtime: {error}")))?;
    runtime.block_on(async {
        let setup = setup::set_up(&arguments.global).await?;
        let code = match &arguments.command {
            Command::Plugins(command) => plugins::run(command, &setup).await,
            Command::Tools(command) => tools::run(command, &setup).await,
            Command::Call(command) => call::run(command, &setup).await,
        };
        setup.report_statistics();
        code
    })
}
