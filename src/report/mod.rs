//! What is told of an audit: one model, many forms.
//!
//! A [`Report`] is filled from observations and written as text, JSON, JUnit, SARIF, Markdown or HTML. It holds no prompt
//! text unless the observations do.
