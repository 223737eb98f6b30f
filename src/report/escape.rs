//! Texts off a wire inside markup: nothing of them is markup, and nothing of them is hidden.

use std::fmt::{self, Display, Write};

use super::figures::is_hidden;

/// A text as content or attribute of XML and HTML. What is hidden is written as an escape; line ends and tabs stay.
pub struct Markup<'a>(pub &'a str);

impl Display for Markup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for one in self.0.chars() {
            match one {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' | '\t' => f.write_char(one)?,
                hidden if is_hidden(hidden) => write!(f, "{}", hidden.escape_unicode())?,
                one => f.write_char(one)?,
            }
        }
        Ok(())
    }
}

/// A text in a cell of a Markdown table.
pub struct Cell<'a>(pub &'a str);

impl Display for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for one in self.0.chars() {
            match one {
                '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '#' | '|' | '~' | '!' | '@' | '$' => {
                    write!(f, "\\{one}")?;
                }
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                hidden if is_hidden(hidden) => {
                    let shown = hidden.escape_unicode().to_string();
                    write!(f, "\\{shown}")?;
                }
                one => f.write_char(one)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_text() {
        let hostile = "<script>alert('1')</script> ]]> \u{1b}[31m \"&\"";
        assert_eq!(
            Markup(hostile).to_string(),
            "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; ]]&gt; \\u{1b}[31m &quot;&amp;&quot;"
        );
        assert_eq!(Cell("a|b `c`\n<i>").to_string(), "a\\|b \\`c\\`\\\\u{a}&lt;i&gt;");
    }
}
