//! Arguments, configuration, command, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    inkfast::cli::main()
}
