//! skeleton
mod observe;
