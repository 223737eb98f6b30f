#![no_main]

libfuzzer_sys::fuzz_target!(|body: &[u8]| inkfast_fuzz::requests("bedrock_converse", body));
