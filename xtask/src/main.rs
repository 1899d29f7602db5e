//! `cargo xtask VERB`: a verb enters, its commands run, an exit code leaves: 0, or 1 after one line that says what failed.
//! One file a verb. Whatever continuous integration checks is a verb here, and nothing else.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the terminal is what this program is for")]

use std::process::ExitCode;

mod bench;
mod debian;
mod demo;
mod fuzz;
mod guests;
mod hostile;
mod process;
mod pypi;
mod suite;
mod test;
mod tidy;
mod wasm_target;

const USAGE: &str = "\
usage: cargo xtask VERB

  demo                          build everything, then show the main job and how hostile plugins end
  bench                         measure, as ratios to plain Wasmtime, and write docs/performance.md
  guests [--debian-toolchain]   build the sample plugins and lay them out in target/plugins and
                                target/hostile-plugins; the option forces the fallback toolchain
  hostile [WORD]...             make every attack of the hostile corpus, or those with such a word in their names,
                                beside good calls, and show how each ended; `load` is 64 at once under deadlines
  fuzz [--seconds N] [TARGET]   feed documents that no person would write to each target, for a minute or N seconds
  suite                         fetch the official JSON Schema test suite and the reference validator of Agent Skills,
                                if they are not there
  tidy                          check what needs no compiler
  test                          run every check there is, in order
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["demo"] => demo::run(),
        ["bench"] => bench::run(),
        ["guests"] => guests::build(guests::Toolchain::Available),
        ["guests", "--debian-toolchain"] => guests::build(guests::Toolchain::Debian),
        ["hostile", words @ ..] => hostile::run(words),
        ["fuzz", words @ ..] => fuzz::run(words),
        ["suite"] => suite::provide(),
        ["tidy"] => tidy::check(),
        ["test"] => test::run(),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(())
        }
        [] => Err(format!("no verb given\n\n{USAGE}")),
        [verb, ..] => Err(format!("`{verb}` with these arguments is not known\n\n{USAGE}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
