//! One file per wire format; pure.
pub mod answer;
pub mod anthropic_messages;
pub mod body;
pub mod canonical;
pub mod envelope;
pub mod format;
pub mod head;
pub mod openai_chat;
pub mod scan;
pub mod sse;
pub mod usage;
