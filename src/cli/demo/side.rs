//! One of the agent's two ways: its requests, what it does when one is refused, and what the provider counted.

use std::error::Error;

use hyper::StatusCode;

use super::{
    agent::{Agent, Said, answer},
    client::{Client, Response},
    script::{Event, Turn},
    tally::Tokens,
};
use crate::sim::{Answer, Format, Provider, Usage};

/// The status of an overloaded provider.
const OVERLOADED: u16 = 529;
/// A provider that still refuses after this many tries is a bug of the demo.
const TRIES: usize = 4;

/// One way to a provider.
pub struct Side<'a> {
    format: Format,
    agent: Agent,
    provider: &'a Provider,
    client: Client,
}

/// What came of a turn.
pub struct Played {
    /// Of the request that was answered.
    pub tokens: Tokens,
    /// Requests that the provider refused because thinking in them was bound to another prompt.
    pub refused: usize,
    /// All requests, the one that was answered included.
    pub requests: usize,
}

impl<'a> Side<'a> {
    /// An agent with an empty conversation that speaks to `provider`, by whatever way.
    pub fn new(format: Format, provider: &'a Provider) -> Self {
        Self {
            format,
            agent: Agent::new(format),
            provider,
            client: Client::new(),
        }
    }

    /// Plays one turn by way of the server at `base`.
    ///
    /// # Errors
    /// The request was not answered, for a reason that is not in the script.
    pub async fn play(&mut self, base: &str, number: usize, turn: &Turn) -> Result<Played, Box<dyn Error>> {
        let (scripted, said) = answer(self.format, number, turn);
        if turn.event == Event::Overloaded {
            self.provider.push(Answer::error(OVERLOADED, "Overloaded"));
        }
        self.provider.push(scripted);
        self.agent.prepare(turn);
        let (response, refused, requests) = self.ask(base).await?;
        let usage = self.usage().ok_or("the simulated provider counted nothing")?;
        let tokens = Tokens::new(self.format, usage, self.agent.continued());
        self.agent.note_answer(usage.total, heard(said, &response));
        Ok(Played {
            tokens,
            refused,
            requests,
        })
    }

    /// Sends the request until it is answered, as an agent would; says how often it was refused, and sent.
    async fn ask(&mut self, base: &str) -> Result<(Response, usize, usize), Box<dyn Error>> {
        let mut refused = 0;
        for requests in 1..=TRIES {
            let response = self.client.post(base, self.format, self.agent.body()).await?;
            if response.status == StatusCode::OK {
                return Ok((response, refused, requests));
            }
            if response.is_bound_elsewhere() {
                refused += 1;
                self.agent.drop_thinking();
            } else if response.status.as_u16() != OVERLOADED {
                return Err(response.complaint().into());
            }
        }
        Err("a request was refused again and again".into())
    }

    /// The provider's count of the request that it answered last.
    fn usage(&self) -> Option<Usage> {
        self.provider.recorded().last()?.usage
    }
}

/// What was said, with the signature that only the provider knows.
fn heard(mut said: Said, response: &Response) -> Said {
    if let Some((_, signature)) = &mut said.thinking {
        *signature = response.signature().unwrap_or_default();
    }
    said
}
