#![no_main]

libfuzzer_sys::fuzz_target!(|stream: &[u8]| inkfast_fuzz::eventstream(stream));
