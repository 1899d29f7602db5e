//! A run enters, a tool that writes for its channel leaves, bound to where the run's messages go by default; a message
//! enters, the envelope that the channel would be handed leaves. It never sends anything: plugins reach no network yet.
//!
//! The tool `send_message` comes from the factory `messengers`. On `slack` and on `mail` it has another default target and
//! another description; elsewhere, and where the host holds no credential for the channel, it is not there.

use airlock_plugin::prelude::*;

mod target;

use crate::target::Channel;
use crate::target::Target;

#[arguments]
struct Message {
    /// What to say.
    text: String,
    /// To whom: a room or a person of the channel. By default the run's own target.
    to: Option<String>,
    /// What it is about; by default its first line. Only mail has subjects, elsewhere it is left out.
    subject: Option<String>,
}

#[details]
struct Envelope {
    /// The channel that would carry it.
    channel: String,
    /// Who would get it.
    to: String,
    /// The recipient's thread, if it has one.
    thread: Option<String>,
    /// What it is about, where the channel has subjects.
    subject: Option<String>,
    /// What it says.
    body: String,
    /// Always false: nothing was sent.
    sent: bool,
}

/// Prepares a message for the channel of this conversation and returns its envelope. It does not send it.
#[tool(title = "Prepare a message")]
fn send_message(message: Message, #[bound] target: Target) -> Result<Output<Envelope>, ToolError> {
    // The thread belongs to the default recipient; another one has its own.
    let (to, thread) = match (message.to, target.recipient) {
        (Some(to), _) => (to, None),
        (None, Some(recipient)) => (recipient, target.thread),
        (None, None) => {
            let channel = target.channel.name();
            let text = format!("this run has no default recipient on {channel}: name one in `to`");
            return Err(ToolError::InvalidParams(text));
        }
    };
    let subject = match target.channel {
        Channel::Slack => None,
        Channel::Mail => Some(message.subject.unwrap_or_else(|| first_line(&message.text))),
    };
    let channel = target.channel.name().to_owned();
    let envelope = Envelope { channel, to, thread, subject, body: message.text, sent: false };
    Ok(Output::new(envelope.to_string(), envelope))
}

#[factory(tools = [send_message])]
fn messengers(run: &RunContext) -> Option<BoundTool> {
    let target = Target::of(run)?;
    Some(send_message::bound(&target).note(target.sentence()))
}

plugin!(factories: [messengers]);

impl std::fmt::Display for Envelope {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(formatter, "Prepared for {}, not sent.\nTo: {}", self.channel, self.to)?;
        for (name, value) in [("Thread", &self.thread), ("Subject", &self.subject)] {
            if let Some(value) = value {
                writeln!(formatter, "{name}: {value}")?;
            }
        }
        write!(formatter, "\n{}", self.body)
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use airlock_plugin::serde_json::json;
    use airlock_plugin::testing;
    use airlock_plugin::testing::Materialized;
    use airlock_plugin::testing::run_context;

    use super::*;

    fn slack() -> RunContext {
        run_context().on_channel("slack").delivering_to("slack", "#releases").authenticated_with("slack")
    }

    fn mail() -> RunContext {
        run_context().on_channel("mail").requested_by("ada@example.org", None).authenticated_with("mail")
    }

    fn only_tool(run: &RunContext) -> Materialized {
        let tools = testing::materialize::<messengers>(run).unwrap();
        let [tool] = tools.as_slice() else { panic!("{tools:?}") };
        tool.clone()
    }

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        assert_eq!(testing::check_manifest::<Plugin>(include_str!("../airlock.plugin.json")), Ok(()));
    }

    #[test]
    fn each_channel_has_its_own_default() {
        let (slack, mail) = (only_tool(&slack()), only_tool(&mail()));
        assert!(
            slack.description().ends_with("\n\nIt is for slack; without `to` it is addressed to #releases.")
        );
        assert!(
            mail.description().ends_with("It is for mail; without `to` it is addressed to ada@example.org.")
        );
        assert_eq!(slack.binding(), json!({ "channel": "slack", "recipient": "#releases", "thread": null }));
        assert_eq!(
            mail.binding(),
            json!({ "channel": "mail", "recipient": "ada@example.org", "thread": null })
        );
    }

    #[test]
    fn the_default_target_comes_back_with_the_call() {
        let result = only_tool(&slack()).call(json!({ "text": "0.2 is out" })).unwrap();
        assert_eq!(result.text(), "Prepared for slack, not sent.\nTo: #releases\n\n0.2 is out");

        let result = only_tool(&mail()).call(json!({ "text": "0.2 is out\nEnjoy." })).unwrap();
        let expected =
            "Prepared for mail, not sent.\nTo: ada@example.org\nSubject: 0.2 is out\n\n0.2 is out\nEnjoy.";
        assert_eq!(result.text(), expected);
        assert_eq!(result.json_details().unwrap()["sent"], json!(false));
    }

    #[test]
    fn a_recipient_that_is_named_wins() {
        let arguments = Message { text: "hi".to_owned(), to: Some("#quiet".to_owned()), subject: None };
        let target = Target {
            channel: Channel::Slack,
            recipient: Some("#releases".to_owned()),
            thread: Some("17".to_owned()),
        };
        let envelope = send_message(arguments, target).unwrap().details;
        assert_eq!((envelope.to.as_str(), envelope.thread), ("#quiet", None));
    }

    #[test]
    fn without_any_recipient_one_is_asked_for() {
        let run = run_context().on_channel("slack").authenticated_with("slack");
        let tool = only_tool(&run);
        assert!(tool.description().ends_with("no default recipient: give `to`."), "{}", tool.description());
        let error = tool.call(json!({ "text": "hi" })).unwrap_err();
        let expected = "this run has no default recipient on slack: name one in `to`";
        assert_eq!(error, ToolError::invalid_params(expected));
    }

    #[test]
    fn a_run_without_channel_or_credential_has_no_tool() {
        for run in
            [run_context(), mail().on_channel("slack"), slack().on_channel("mail"), slack().on_channel("fax")]
        {
            assert_eq!(testing::materialize::<messengers>(&run).unwrap().len(), 0);
        }
    }

    #[test]
    fn a_call_without_the_binding_fails() {
        let error = testing::call::<send_message>(json!({ "text": "hi" })).unwrap_err();
        assert!(error.to_string().starts_with("`send_message` was called without the binding"), "{error}");
    }
}
