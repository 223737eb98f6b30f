//! The life of one request: everything that touches a socket.
pub mod encoding;
