//! `inkfast run` with real commands, and the recordings that it and `inkfast serve` make.

mod agents;
mod command;
mod recording;
