//! Recordings that were compressed as a whole: gzip, as log deliveries are, and zlib, as mitmproxy's `.zhar`.

use std::io::{BufRead, BufReader, Read};

use flate2::bufread::{MultiGzDecoder, ZlibDecoder};

const GZIP: &[u8] = b"\x1f\x8b\x08";
/// No text of any format starts with these.
const ZLIB: [&[u8]; 4] = [b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"];
/// As much of the beginning as tells formats apart.
const BEGINNING: u64 = 64 << 10;

/// The bytes that were compressed, or the bytes themselves.
pub fn unpack(mut input: impl BufRead + Send + 'static) -> Box<dyn BufRead + Send> {
    let first = input.fill_buf().unwrap_or_default();
    if first.starts_with(GZIP) {
        Box::new(BufReader::new(MultiGzDecoder::new(input)))
    } else if ZLIB.iter().any(|magic| first.starts_with(magic)) {
        Box::new(BufReader::new(ZlibDecoder::new(input)))
    } else {
        Box::new(input)
    }
}

/// What the first bytes of a recording decompress to.
pub fn beginning(first: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    let source = std::io::Cursor::new(first.to_vec());
    // The first bytes end early, which is an error behind all that they give.
    let _ = unpack(source).take(BEGINNING).read_to_end(&mut plain);
    plain
}
