//! The `airlock` program: arguments enter, one document or a readable page leaves, with an exit code that says how it went.
//!
//! Everything it shows comes from `airlock-core`; it adds no rule of its own.

mod arguments;
mod call;
mod check;
mod explain;
mod failure;
mod page;
mod plugins;
mod run;
mod schema;
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
        let global = &arguments.global;
        let setup = match &arguments.command {
            Command::Schema(command) => return schema::run(command),
            Command::Check(command) => setup::set_up_check(global, &command.path).await?,
            _ => setup::set_up(global).await?,
        };
        let code = match &arguments.command {
            Command::Plugins(command) => plugins::run(command, &setup).await,
            Command::Tools(command) => tools::run(command, &setup).await,
            Command::Explain(command) => explain::run(command, &setup).await,
            Command::Call(command) => call::run(command, &setup).await,
            Command::Check(_) => check::run(&setup).await,
            Command::Schema(command) => schema::run(command),
        };
        setup.report_statistics();
        code
    })
}
