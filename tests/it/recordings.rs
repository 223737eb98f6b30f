//! Recordings of other tools: the same conversation in every format is judged alike, and nothing that a file holds is a panic.

mod broken;
mod formats;
mod quirks;
mod tools;
mod walk;
