//! Content encodings: what decodes, what is refused, and how soon a flushed event comes out.
#![allow(clippy::unwrap_used)]

use std::pin::Pin;

use async_compression::{
    Level,
    tokio::write::{BrotliEncoder, DeflateEncoder, GzipEncoder, ZlibEncoder, ZstdEncoder},
};
use bytes::Bytes;
use inkfast::encoding::{DecodeError, Limits, SideDecoder, decode};
use proptest::prelude::*;
use tokio::io::{AsyncWrite, AsyncWriteExt};

const LIMITS: Limits = Limits {
    max_bytes: 8 << 20,
    max_ratio: 100,
};

/// Name for `Content-Encoding` and the encoder behind it; deflate in both its forms.
const CODINGS: [(&str, &str); 5] = [
    ("gzip", "gzip"),
    ("zstd", "zstd"),
    ("br", "br"),
    ("deflate", "zlib"),
    ("deflate", "raw"),
];

fn encoder(kind: &str, sink: Vec<u8>) -> Pin<Box<dyn Encoder>> {
    match kind {
        "gzip" => Box::pin(GzipEncoder::new(sink)),
        "zstd" => Box::pin(ZstdEncoder::new(sink)),
        "br" => Box::pin(BrotliEncoder::with_quality(sink, Level::Fastest)),
        "zlib" => Box::pin(ZlibEncoder::new(sink)),
        _ => Box::pin(DeflateEncoder::new(sink)),
    }
}

/// An encoder whose output so far can be seen.
trait Encoder: AsyncWrite {
    fn output(self: Pin<&mut Self>) -> Vec<u8>;
}

macro_rules! encoders {
    ($($name:ident)*) => {$(
        impl Encoder for $name<Vec<u8>> {
            fn output(self: Pin<&mut Self>) -> Vec<u8> {
                std::mem::take(self.get_mut().get_mut())
            }
        }
    )*};
}
encoders!(BrotliEncoder DeflateEncoder GzipEncoder ZlibEncoder ZstdEncoder);

pub async fn encode(kind: &str, plain: &[u8]) -> Bytes {
    let mut encoder = encoder(kind, Vec::new());
    encoder.write_all(plain).await.unwrap();
    encoder.shutdown().await.unwrap();
    encoder.as_mut().output().into()
}

/// A body that compresses about as well as a chat request does.
fn body() -> Vec<u8> {
    (0..20_000u32)
        .flat_map(|n| n.wrapping_mul(2_654_435_761).to_string().into_bytes())
        .collect()
}

#[tokio::test]
async fn every_encoding_gives_the_body_back() {
    let plain = body();
    for (name, kind) in CODINGS {
        let encoded = encode(kind, &plain).await;
        assert_ne!(encoded, plain);
        assert_eq!(decode(&encoded, name, LIMITS).unwrap(), plain, "{kind}");
        let upper = format!(" {} ", name.to_uppercase());
        assert_eq!(decode(&encoded, &upper, LIMITS).unwrap(), plain, "{kind}");
    }
    let plain = Bytes::from(plain);
    for name in ["", "identity", "identity, identity"] {
        assert_eq!(decode(&plain, name, LIMITS).unwrap().as_ptr(), plain.as_ptr());
    }
}

#[tokio::test]
async fn lists_are_undone_from_the_right() {
    let encoded = encode("gzip", &encode("zstd", b"plain").await).await;
    assert_eq!(decode(&encoded, "zstd, identity,gzip", LIMITS).unwrap(), "plain");
    assert_eq!(decode(&encoded, "gzip, zstd", LIMITS), Err(DecodeError::Corrupt));
}

#[tokio::test]
async fn members_and_frames_in_a_row_are_one_body() {
    for kind in ["gzip", "zstd"] {
        let twice = [encode(kind, b"one ").await, encode(kind, b"two").await].concat();
        assert_eq!(decode(&twice.into(), kind, LIMITS).unwrap(), "one two");
    }
}

#[tokio::test]
async fn unknown_encodings_are_their_own_error() {
    let body = Bytes::from_static(b"x");
    for name in [
        "compress",
        "aws-chunked",
        "gzip, snappy",
        "gzip;q=1",
        "br,br,br,br,br",
    ] {
        assert_eq!(decode(&body, name, LIMITS), Err(DecodeError::Unknown), "{name}");
    }
    assert!(SideDecoder::new("gzip, snappy").is_none());
}

#[tokio::test]
async fn a_truncated_body_is_an_error() {
    for (name, kind) in CODINGS {
        let encoded = encode(kind, &body()).await;
        for cut in [0, 1, 5, encoded.len() / 2, encoded.len() - 1] {
            let result = decode(&encoded.slice(..cut), name, LIMITS);
            assert_eq!(result, Err(DecodeError::Truncated), "{kind} cut at {cut}");
        }
    }
}

#[tokio::test]
async fn garbage_is_an_error() {
    for (name, _) in CODINGS {
        let result = decode(
            &Bytes::from_static(b"{\"model\":\"gpt-5.5\",\"messages\":[]}"),
            name,
            LIMITS,
        );
        assert!(result.is_err(), "{name}");
    }
    let mut flipped = encode("gzip", &body()).await.to_vec();
    let at = flipped.len() - 6;
    flipped[at] ^= 1;
    assert_eq!(decode(&flipped.into(), "gzip", LIMITS), Err(DecodeError::Corrupt));
}

#[tokio::test]
async fn bombs_stop_at_the_limits() {
    let zeros = vec![0; 9 << 20];
    let any_ratio = Limits {
        max_ratio: usize::MAX,
        ..LIMITS
    };
    for (name, kind) in CODINGS {
        let bomb = encode(kind, &zeros).await;
        assert_eq!(decode(&bomb, name, LIMITS), Err(DecodeError::Ratio), "{kind}");
        assert_eq!(
            decode(&bomb, name, any_ratio),
            Err(DecodeError::TooLarge),
            "{kind}"
        );
    }
    // Small bodies may be as repetitive as they like.
    let dull = encode("zstd", &zeros[..512 << 10]).await;
    assert_eq!(decode(&dull, "zstd", LIMITS).unwrap().len(), 512 << 10);
}

#[tokio::test]
async fn a_layer_in_between_is_bounded_too() {
    let members = encode("gzip", b"").await.repeat(1 << 16);
    let bomb = encode("zstd", &members).await;
    assert_eq!(decode(&bomb, "gzip, zstd", LIMITS).unwrap(), "");
    let limits = Limits {
        max_bytes: members.len() - 5,
        ..LIMITS
    };
    assert_eq!(decode(&bomb, "gzip, zstd", limits), Err(DecodeError::Truncated));
}

#[tokio::test]
async fn the_side_copy_of_a_bomb_is_given_up() {
    let bomb = encode("zstd", &vec![0; 40 << 20]).await;
    let mut side = SideDecoder::new("zstd").unwrap();
    let mut seen = 0;
    side.push(bomb.clone(), |bytes| seen += bytes.len());
    assert!(!side.failed() && seen == 40 << 20);
    side.push(bomb, |bytes| seen += bytes.len());
    assert!(side.failed() && seen <= 64 << 20);
}

/// Each event that the server flushes comes out of the push that brings it, whatever the reads cut it into.
#[tokio::test]
async fn side_decoder_gives_each_flushed_event_at_once() {
    for (name, kind) in CODINGS {
        let mut encoder = encoder(kind, Vec::new());
        let mut side = SideDecoder::new(name).unwrap();
        for n in 0..50 {
            let event = format!("data: {{\"n\":{n},\"text\":\"some words of event {n}\"}}\n\n");
            encoder.write_all(event.as_bytes()).await.unwrap();
            encoder.flush().await.unwrap();
            let encoded = encoder.as_mut().output();
            let mut decoded = Vec::new();
            for piece in encoded.chunks(1 + n) {
                side.push(Bytes::copy_from_slice(piece), |bytes| {
                    decoded.extend_from_slice(bytes)
                });
            }
            assert_eq!(String::from_utf8(decoded).unwrap(), event, "{kind}");
        }
        assert!(!side.failed());
    }
}

#[test]
fn side_decoder_goes_quiet_on_garbage() {
    for (name, _) in CODINGS {
        let mut side = SideDecoder::new(name).unwrap();
        for _ in 0..3 {
            side.push(Bytes::from_static(&[0xfe; 64]), |_| {});
        }
        assert!(side.failed(), "{name}");
    }
    let mut plain = SideDecoder::new("identity").unwrap();
    let mut seen = Vec::new();
    plain.push(Bytes::from_static(b"data: x\n\n"), |bytes| {
        seen.extend_from_slice(bytes)
    });
    assert_eq!(seen, b"data: x\n\n");
}

proptest! {
    #[test]
    fn no_bytes_make_a_decoder_fail_otherwise(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        header in prop::sample::select(vec![
            &b""[..], b"\x1f\x8b\x08\0\0\0\0\0\0\x03", b"\x28\xb5\x2f\xfd", b"\x78\x9c", b"\x0b",
        ]),
    ) {
        let bytes = Bytes::from([header, &bytes].concat());
        for (name, _) in CODINGS {
            decode(&bytes, name, LIMITS).ok();
            let mut side = SideDecoder::new(name).unwrap();
            bytes.chunks(7).for_each(|piece| side.push(Bytes::copy_from_slice(piece), |_| {}));
        }
    }
}
