//! The share of each prompt that came from the provider's cache, over the requests of a conversation.

use std::io::{self, Write};

use crate::report::conversation::Conversation;

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 60.0;

/// Writes the line; nothing where fewer than two answers told.
pub fn write(conversation: &Conversation, to: &mut dyn Write) -> io::Result<()> {
    let turns = &conversation.turns;
    let told = turns.iter().filter(|turn| turn.hit_ratio.is_some()).count();
    if told < 2 {
        return Ok(());
    }
    let step = WIDTH / (turns.len() - 1).max(1) as f64;
    let points = turns.iter().enumerate().filter_map(|(at, turn)| {
        let ratio = turn.hit_ratio?;
        Some(format!("{:.1},{:.1}", at as f64 * step, HEIGHT - ratio * HEIGHT))
    });
    writeln!(
        to,
        "<figure class=\"chart\"><figcaption>share read from the cache, request by request</figcaption>\
         <svg viewBox=\"-4 -4 {} {}\" role=\"img\" aria-label=\"share read from the cache\">\
         <path d=\"M0,0H{WIDTH}M0,{HEIGHT}H{WIDTH}\" class=\"grid\"/><polyline points=\"{}\"/></svg></figure>",
        WIDTH + 8.0,
        HEIGHT + 8.0,
        points.collect::<Vec<_>>().join(" ")
    )
}
