//! The integration tests, in one binary: one link instead of a dozen.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    missing_docs,
    reason = "a test fails by panicking, and its name is its documentation"
)]

mod answers;
mod audit;
mod bedrock;
mod binary;
mod captures;
mod cases;
mod causes_page;
mod clients;
mod config;
mod conversations;
mod dashboards;
mod demo;
mod encoding;
mod family;
mod fixtures;
mod formats;
mod gemini;
mod golden;
mod harness;
mod import_rules;
mod invariants;
mod kill;
mod ledger;
mod log_line;
mod losses;
mod metrics;
mod model_switch;
mod observe;
mod ollama;
mod probe;
mod prompt;
mod proxy;
mod recordings;
mod regression;
mod replay;
mod report;
mod responses;
mod rewrite;
mod routes;
mod run;
mod seeds;
mod sequences;
mod service;
mod signing;
mod sim;
mod streams;
mod support;
mod take_over;
mod translate;
mod verdicts;
mod websocket;
