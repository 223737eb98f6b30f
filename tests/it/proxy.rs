//! The proxy as a client and an upstream see it: what crosses, what does not, when, and what is said if
//! nothing can.

mod failures;
mod life;
mod process;
mod transparency;
