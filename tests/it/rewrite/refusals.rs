//! See the head of the folder.
