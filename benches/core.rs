//! The pure core, measured against BLAKE3 over the same bytes.

fn main() {}
