//! The `airlock` program: arguments enter, one document or a readable page leaves, with an exit code that says how it went.
//!
//! Everything it shows comes from `airlock-core`; it adds no rule of its own.

mod approvals;
mod approver;
mod arguments;
mod audit;
mod calibrate;
mod call;
mod check;
mod explain;
mod failure;
mod hooks;
mod page;
mod plugins;
mod project;
mod reach;
mod run;
mod schema;
mod search;
mod setup;
mod skills;
mod store;
mod time;
mod tools;

use std::process::ExitCode;

use clap::Parser as _;

use approver::CommandApprover;
use arguments::{Arguments, CalibrateCommand, CallCommand, Command};
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
            // The log can be read, and a grant revoked, whatever state the plugins are in.
            Command::Audit(command) => return audit::run(command, global).await,
            Command::Approvals(command) => return approvals::run(command, global).await,
            Command::Check(command) => setup::set_up_check(global, &command.path).await?,
            Command::Call(CallCommand { approve, .. })
            | Command::Calibrate(CalibrateCommand { approve, .. }) => {
                setup::set_up(global, Some(CommandApprover { decision: *approve })).await?
            }
            _ => setup::set_up(global, None).await?,
        };
        let code = match &arguments.command {
            Command::Plugins(command) => plugins::run(command, &setup).await,
            Command::Tools(command) => tools::run(command, &setup).await,
            Command::Search(command) => search::run(command, &setup).await,
            Command::Project(command) => project::run(command, &setup).await,
            Command::Skills(command) => skills::run(command, &setup).await,
            Command::Explain(command) => explain::run(command, &setup).await,
            Command::Hooks(command) => hooks::run(command, &setup).await,
            Command::Call(command) => call::run(command, &setup).await,
            Command::Calibrate(command) => calibrate::run(command, &setup).await,
            Command::Check(_) => check::run(&setup).await,
            Command::Schema(command) => schema::run(command),
            Command::Audit(command) => audit::run(command, global).await,
            Command::Approvals(command) => approvals::run(command, global).await,
        };
        setup.report_statistics();
        code
    })
}
