//! The fuzz targets without a fuzzer: their committed seeds through the same checks.

use std::fs;
use std::path::Path;

#[path = "../../fuzz/src/lib.rs"]
mod checks;

#[test]
fn openai_chat() {
    requests("openai_chat");
}

#[test]
fn openai_responses() {
    requests("openai_responses");
}

#[test]
fn anthropic_messages() {
    requests("anthropic_messages");
}

#[test]
fn gemini() {
    requests("gemini");
}

#[test]
fn bedrock_converse() {
    requests("bedrock_converse");
}

#[test]
fn ollama() {
    requests("ollama");
}

#[test]
fn sse() {
    each("sse", checks::sse);
}

#[test]
fn ndjson() {
    each("ndjson", checks::ndjson);
}

#[test]
fn array() {
    each("array", checks::array);
}

#[test]
fn eventstream() {
    each("eventstream", checks::eventstream);
}

fn requests(format: &str) {
    each(format, |input| checks::requests(format, input));
}

fn each(target: &str, check: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/seeds")
        .join(target);
    let mut count = 0;
    for file in fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        println!("{}", path.display());
        check(&fs::read(&path).unwrap());
        count += 1;
    }
    assert!(count >= 12, "{target} has its seeds");
}
