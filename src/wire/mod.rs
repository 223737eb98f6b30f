//! One file per wire format; pure.
pub mod anthropic_messages;
pub mod body;
pub mod canonical;
pub mod envelope;
pub mod head;
pub mod openai_chat;
pub mod scan;
