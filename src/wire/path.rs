//! What a path says of a prompt, for APIs that name the model there.

use percent_encoding::percent_decode_str;

/// What stands in front of Bedrock's name of a model.
const BEDROCK: &str = "/model/";

/// The model of a path of Bedrock's runtime, `/model/NAME/OPERATION`: an id, an inference profile, or an ARN with its
/// separators encoded. None where the path has no such name or it is no text.
pub fn model(path: &str) -> Option<String> {
    let (_, rest) = path.split_once(BEDROCK)?;
    let (name, _) = rest.rsplit_once('/')?;
    let name = percent_decode_str(name).decode_utf8().ok()?;
    (!name.is_empty()).then(|| name.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_decoded() {
        for (path, name) in [
            (
                "/model/amazon.nova-pro-v1%3A0/converse",
                Some("amazon.nova-pro-v1:0"),
            ),
            (
                "/gw/model/us.anthropic.claude-opus-5/invoke",
                Some("us.anthropic.claude-opus-5"),
            ),
            (
                "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Feu.x/converse-stream",
                Some("arn:aws:bedrock:us-east-1:1:inference-profile/eu.x"),
            ),
            (
                "/model/arn:aws:bedrock:::inference-profile/x/invoke",
                Some("arn:aws:bedrock:::inference-profile/x"),
            ),
            ("/model/%FF/converse", None),
            ("/model//converse", None),
            ("/model/converse", None),
            ("/converse", None),
        ] {
            assert_eq!(model(path).as_deref(), name, "{path}");
        }
    }
}
