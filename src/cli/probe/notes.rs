//! What the probe tells the ledger that `serve` reads: which rows of the table the upstream does not take.

use std::error::Error;

use super::{
    target::{self, Target},
    trial::{Accepted, Trial},
};
use crate::{
    config::Config,
    ledger::{Learned, Ledger},
    proxy::now_ms,
    route,
};

/// The routes that lead to what is probed, in the state of this configuration.
pub struct Notes<'a> {
    config: &'a Config,
    routes: Vec<String>,
}

impl<'a> Notes<'a> {
    /// The routes of every upstream whose URL is the beginning of what is probed.
    pub fn new(config: &'a Config, target: &Target, model: &str) -> Self {
        let names = target::leading(config, &target.uri).map(|upstream| &upstream.name);
        Self {
            config,
            routes: names
                .map(|name| route::key(name, target.shape.format, model))
                .collect(),
        }
    }
}

impl Notes<'_> {
    /// Forgets what was learned of these routes before, and notes the rows of the table that do not work. Says what was
    /// done; none where there is no route or no state to tell.
    ///
    /// # Errors
    /// The state cannot be used.
    pub async fn keep(&self, trials: &[Trial]) -> Result<Option<String>, Box<dyn Error>> {
        let Some(file) = self.config.state.file()?.filter(|_| !self.routes.is_empty()) else {
            return Ok(None);
        };
        let routes = self.routes.join(" and ");
        if trials
            .iter()
            .any(|trial| matches!(trial.accepted, Accepted::Unknown(_)))
        {
            return Ok(Some(format!(
                "nothing was noted for {routes}: not every row was answered"
            )));
        }
        let ledger = Ledger::open(&file)?;
        let mut noted = 0;
        for route in &self.routes {
            ledger.unlearn(route).await?;
            for trial in trials.iter().filter(|trial| trial.listed) {
                if let Some(finding) = trial.finding() {
                    let note = Learned::new(route::row_name(&trial.row), finding, now_ms());
                    ledger.learn(route, note).await?;
                    noted += 1;
                }
            }
        }
        ledger.close().await;
        Ok(Some(format!(
            "what was learned of {routes} before is forgotten; rows noted as not working: {noted}"
        )))
    }
}
