//! A run enters, where its messages go by default leaves, if this plugin knows the run's channel and the host may speak
//! there. It never makes up a recipient.

use airlock_plugin::prelude::*;

/// A channel that the plugin can write for.
#[binding]
#[derive(Debug, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Channel {
    /// People are in rooms, and rooms have threads.
    Slack,
    /// People have addresses, and messages have subjects.
    Mail,
}

impl Channel {
    /// The channel's name, which is also the name of the provider whose credential the host needs to speak there.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Slack => "slack",
            Self::Mail => "mail",
        }
    }
}

/// What the factory binds to the tool.
#[binding]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Target {
    pub(crate) channel: Channel,
    /// Who gets a message that names nobody, if the run says so.
    pub(crate) recipient: Option<String>,
    /// The recipient's thread.
    pub(crate) thread: Option<String>,
}

impl Target {
    /// The run's default target: where the host delivers to, or else where the requester is.
    pub(crate) fn of(run: &RunContext) -> Option<Self> {
        let spoken = run.channel.as_ref()?;
        let channel =
            [Channel::Slack, Channel::Mail].into_iter().find(|known| known.name() == spoken.name)?;
        if !run.is_authenticated(channel.name()) {
            return None;
        }
        // Deliveries of a run may go elsewhere than its channel; they say nothing about this one then.
        if let Some(delivery) = run.delivery.as_ref().filter(|delivery| delivery.channel == spoken.name) {
            let recipient = Some(delivery.recipient.clone());
            return Some(Self { channel, recipient, thread: delivery.thread.clone() });
        }
        let (recipient, thread) = match channel {
            Channel::Slack => (spoken.group.clone(), spoken.thread.clone()),
            Channel::Mail => (run.requester.as_ref().map(|requester| requester.sender_id.clone()), None),
        };
        Some(Self { channel, recipient, thread })
    }

    /// The default target, as the model is told.
    pub(crate) fn sentence(&self) -> String {
        let channel = self.channel.name();
        match (&self.recipient, &self.thread) {
            (Some(recipient), Some(thread)) => {
                format!("It is for {channel}; without `to` it is addressed to {recipient}, thread {thread}.")
            }
            (Some(recipient), None) => {
                format!("It is for {channel}; without `to` it is addressed to {recipient}.")
            }
            (None, _) => format!("It is for {channel}, where this run has no default recipient: give `to`."),
        }
    }
}

#[cfg(test)]
mod tests {
    use airlock_plugin::testing::run_context;

    use super::*;

    #[track_caller]
    fn check(run: &RunContext, expected: Option<(Channel, Option<&str>, Option<&str>)>) {
        let target = Target::of(run);
        let found = target
            .as_ref()
            .map(|target| (target.channel, target.recipient.as_deref(), target.thread.as_deref()));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_delivery_on_the_same_channel_is_the_default() {
        let slack = run_context().on_channel("slack").authenticated_with("slack");
        check(
            &slack.clone().delivering_to("slack", "#releases"),
            Some((Channel::Slack, Some("#releases"), None)),
        );
        check(&slack.delivering_to("mail", "ada@example.org"), Some((Channel::Slack, None, None)));
    }

    #[test]
    fn otherwise_it_is_where_the_requester_is() {
        let mut slack = run_context().on_channel("slack").authenticated_with("slack");
        if let Some(channel) = &mut slack.channel {
            channel.group = Some("#general".to_owned());
            channel.thread = Some("17".to_owned());
        }
        check(&slack, Some((Channel::Slack, Some("#general"), Some("17"))));

        let mail = run_context().on_channel("mail").authenticated_with("mail");
        check(&mail, Some((Channel::Mail, None, None)));
        check(
            &mail.requested_by("ada@example.org", None),
            Some((Channel::Mail, Some("ada@example.org"), None)),
        );
    }

    #[test]
    fn without_a_known_channel_or_its_credential_there_is_none() {
        check(&run_context().authenticated_with("slack").delivering_to("slack", "#releases"), None);
        check(&run_context().on_channel("slack").authenticated_with("mail"), None);
        check(&run_context().on_channel("fax").authenticated_with("fax"), None);
    }
}
