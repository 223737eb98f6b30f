//! The recording of a run: a file that has no name and goes with the process, or the one that `--record` names.

use std::{
    fs::File,
    io::{self, Seek, SeekFrom},
    path::Path,
};

use crate::{config::ConfigError, proxy::recorder::Recorder};

/// A recording, and where this run begins in it.
pub struct Recording {
    file: File,
    start: u64,
}

impl Recording {
    /// The file of that path, or one without a name.
    ///
    /// # Errors
    /// It cannot be written to, or cannot be read again.
    pub fn open(path: Option<&Path>) -> Result<Self, ConfigError> {
        let shown = || path.map_or_else(|| "a temporary file".into(), |path| path.display().to_string());
        let opened = match path {
            Some(path) => Recorder::open(path),
            None => tempfile::tempfile(),
        };
        let file = opened.and_then(|file| Ok((file.metadata()?, file)));
        let (metadata, file) = file.map_err(|error| ConfigError(format!("record: {}: {error}", shown())))?;
        if !metadata.is_file() {
            let reason = "`run` reads its recording again, so it must be a regular file";
            return Err(ConfigError(format!("record: {}: {reason}", shown())));
        }
        Ok(Self {
            file,
            start: metadata.len(),
        })
    }

    /// The end that the proxy writes to.
    ///
    /// # Errors
    /// Out of file descriptors.
    pub fn writer(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Nothing was recorded.
    ///
    /// # Errors
    /// The file cannot be asked.
    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(self.file.metadata()?.len() == self.start)
    }

    /// What was recorded in this run, to be read from here on. The proxy must have ended: it wrote by the same offset.
    ///
    /// # Errors
    /// The file cannot be read again.
    pub fn into_reader(mut self) -> io::Result<File> {
        self.file.seek(SeekFrom::Start(self.start))?;
        Ok(self.file)
    }
}
