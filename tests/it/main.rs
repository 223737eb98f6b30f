//! skeleton
mod encoding;
mod observe;
