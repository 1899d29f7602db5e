//! The rows, by the rule that they show.

/// One row: a case, what is written, and the run where it is not any run of `writer`.
pub(super) struct Row {
    pub(super) case: &'static str,
    pub(super) config: &'static [&'static str],
    pub(super) run: &'static str,
}

const fn row(case: &'static str, config: &'static [&'static str], run: &'static str) -> Row {
    Row { case, config, run }
}

const SLACK: &str =
    r#"{"agent": "writer", "channel": {"name": "slack", "group": "C1"}, "requester": {"sender": "U1"}}"#;
const GPT: &str = r#"{"agent": "writer", "model": {"provider": "OpenAI", "model": "GPT-5"}}"#;
const CHILD: &str = r#"{"agent": "writer", "trigger": "subagent"}"#;

pub(super) const SECTIONS: &[(&str, &str, &[Row])] = &[
    (
        "Lists",
        "An absent `allow` restricts nothing, an empty one permits nothing, and `deny` wins over both.",
        &[
            row("nothing is written", &[], ""),
            row("an empty `allow` permits nothing", &["tools.allow = []"], ""),
            row("one name", &["tools.allow = ['read']"], ""),
            row("several names", &["tools.allow = ['read', 'github_search']"], ""),
            row("one deny", &["tools.deny = ['web_search']"], ""),
            row("an empty `deny` denies nothing", &["tools.deny = []"], ""),
            row(
                "`deny` wins in its own layer",
                &["tools.allow = ['read', 'ls']", "tools.deny = ['read']"],
                "",
            ),
            row("`deny` wins over `*`", &["tools.allow = ['*']", "tools.deny = ['notes_list']"], ""),
            row("`deny` of `*` leaves nothing", &["tools.allow = ['read']", "tools.deny = ['*']"], ""),
            row(
                "both rules of one layer are named",
                &["tools.allow = ['read']", "tools.deny = ['exec', 'web_search']"],
                "",
            ),
            row(
                "`also-allow` widens its own `allow`",
                &["tools.allow = ['read']", "tools.also-allow = ['ls']"],
                "",
            ),
            row("`also-allow` alone restricts nothing", &["tools.also-allow = ['ls']"], ""),
            row("`also-allow` never beats `deny`", &["tools.also-allow = ['ls']", "tools.deny = ['ls']"], ""),
            row(
                "`also-allow` beside an empty `allow`",
                &["tools.allow = []", "tools.also-allow = ['ls']"],
                "",
            ),
        ],
    ),
    (
        "Names and globs",
        "Entries are trimmed, lower-cased and run through the aliases of native tools; `*` is the only special character.",
        &[
            row("another case", &["tools.deny = ['GitHub_Search']"], ""),
            row("blanks around it", &["tools.deny = ['  github_search ']"], ""),
            row(
                "an alias of a native tool in `deny`",
                &["tools.also-allow = ['*']", "tools.deny = ['Bash']"],
                "",
            ),
            row("an alias in `allow`", &["tools.allow = ['bash', 'Apply-Patch']"], ""),
            row("a glob at the end", &["tools.allow = ['github_*']"], ""),
            row("a glob at the start", &["tools.allow = ['*_search']"], ""),
            row("a glob in the middle", &["tools.allow = ['n*_l*t']"], ""),
            row("a glob fits whole names only", &["tools.allow = ['search*']"], ""),
            row("a glob that the bare word does not fit", &["tools.allow = ['deploy_*']"], ""),
            row("a glob in `deny`", &["tools.deny = ['notes_*', 'web*']"], ""),
            row("a question mark is no wildcard", &["tools.allow = ['re?d']"], ""),
            row("neither is a bracket", &["tools.allow = ['[r]ead']"], ""),
            row("an empty entry", &["tools.allow = [' ']"], ""),
            row("a part of a name is not the name", &["tools.allow = ['notes_ad']"], ""),
            row("an entry that means nothing changes nothing", &["tools.deny = ['grep_files']"], ""),
        ],
    ),
    (
        "Groups and plugins",
        "`group:NAME` stands for the native tools that carry it, or for what the operator put in it; `group:plugins` for every \
         plugin's tools; `plugin:ID` and a bare id for one plugin's.",
        &[
            row("a built-in group", &["tools.allow = ['group:fs']"], ""),
            row("a built-in group that no tool carries", &["tools.deny = ['group:media']"], ""),
            row("a group in `deny`", &["tools.deny = ['group:fs']"], ""),
            row("every plugin's tools", &["tools.allow = ['group:plugins']"], ""),
            row("no plugin's tools", &["tools.deny = ['group:plugins']"], ""),
            row("one plugin by prefix", &["tools.allow = ['plugin:notes']"], ""),
            row("one plugin by its bare id", &["tools.allow = ['notes']"], ""),
            row("a plugin in `deny`", &["tools.deny = ['plugin:notes']"], ""),
            row("a bare id that is a tool's name means the tool", &["tools.allow = ['deploy']"], ""),
            row("the prefix means the plugin", &["tools.allow = ['plugin:deploy']"], ""),
            row("a plugin that is not installed", &["tools.deny = ['plugin:githob']"], ""),
            row(
                "a group of one's own",
                &[
                    "tools.groups.reporting = ['github_search', 'notes_*']",
                    "tools.allow = ['group:reporting']",
                ],
                "",
            ),
            row(
                "groups in groups",
                &[
                    "tools.groups.a = ['group:b', 'read']",
                    "tools.groups.b = ['ls', 'group:web']",
                    "tools.allow = ['group:a']",
                ],
                "",
            ),
            row("a group that does not exist", &["tools.allow = ['group:ffs']"], ""),
            row(
                "a group that contains itself",
                &["tools.groups.a = ['group:b']", "tools.groups.b = ['group:a']"],
                "",
            ),
            row("a built-in group's name", &["tools.groups.fs = ['read']"], ""),
            row(
                "an empty group permits nothing",
                &["tools.groups.none = []", "tools.allow = ['group:none']"],
                "",
            ),
        ],
    ),
    (
        "`write` and `apply_patch`",
        "Who may write may patch, and who may not write may not patch.",
        &[
            row("`write` admits `apply_patch`", &["tools.allow = ['write']"], ""),
            row("`apply_patch` does not admit `write`", &["tools.allow = ['apply_patch']"], ""),
            row(
                "denying `write` denies `apply_patch`",
                &["tools.allow = ['group:fs']", "tools.deny = ['write']"],
                "",
            ),
            row(
                "denying `apply_patch` leaves `write`",
                &["tools.allow = ['group:fs']", "tools.deny = ['apply_patch']"],
                "",
            ),
            row("a glob that fits `write`", &["tools.allow = ['wr*']"], ""),
        ],
    ),
    (
        "Optional tools",
        "An optional tool needs an explicit entry of an operator's layer that applies: its name, a glob, its plugin, `group:plugins` or \
         `*`. A profile, another group, a cap or an inherited surface never counts.",
        &[
            row("its name in `also-allow`", &["tools.also-allow = ['github_delete']"], ""),
            row("its name in `allow`", &["tools.allow = ['github_delete']"], ""),
            row("a glob", &["tools.allow = ['github_d*']"], ""),
            row("its plugin", &["tools.also-allow = ['plugin:github']"], ""),
            row("its plugin's bare id", &["tools.also-allow = ['github']"], ""),
            row("every plugin", &["tools.also-allow = ['group:plugins']"], ""),
            row("`*` means native ones too", &["tools.allow = ['*']"], ""),
            row("a group of native tools does not count", &["tools.allow = ['group:runtime', 'read']"], ""),
            row(
                "a group of one's own does not count",
                &["tools.groups.mine = ['exec']", "tools.allow = ['group:mine', 'read']"],
                "",
            ),
            row("a profile does not count", &["tools.profile = 'full'"], ""),
            row(
                "a profile of one's own does not count",
                &["tools.profiles.shell = ['exec']", "tools.profile = 'shell'"],
                "",
            ),
            row(
                "an entry beside the profile does",
                &["tools.profile = 'coding'", "tools.also-allow = ['exec']"],
                "",
            ),
            row("an agent's entry", &["agents.writer.tools.also-allow = ['exec']"], ""),
            row("another agent's entry does not apply", &["agents.reader.tools.also-allow = ['exec']"], ""),
            row(
                "a run's own cap does not count",
                &[],
                r#"{"agent": "writer", "tools-allow": ["exec", "read"]}"#,
            ),
            row(
                "opting in is not a permission",
                &["tools.also-allow = ['exec']", "agents.writer.tools.deny = ['exec']"],
                "",
            ),
            row("the subagent layer does not count", &["tools.subagents.allow = ['exec', 'read']"], CHILD),
        ],
    ),
    (
        "Profiles",
        "`minimal`, `coding`, `messaging` and `full` are built in; an agent's profile takes the global one's place, and nothing else.",
        &[
            row(
                "`minimal` is what `also-allow` names",
                &["tools.profile = 'minimal'", "tools.also-allow = ['read']"],
                "",
            ),
            row("`coding`", &["tools.profile = 'coding'"], ""),
            row("`messaging`", &["tools.profile = 'messaging'"], ""),
            row("`full` restricts nothing", &["tools.profile = 'full'"], ""),
            row(
                "one of one's own",
                &["tools.profiles.reviewer = ['group:fs', 'github_search']", "tools.profile = 'reviewer'"],
                "",
            ),
            row("a profile does not exist", &["tools.profile = 'codeing'"], ""),
            row("a built-in profile's name", &["tools.profiles.full = ['read']"], ""),
            row(
                "an agent's profile replaces the global one",
                &["tools.profile = 'messaging'", "agents.writer.tools.profile = 'coding'"],
                "",
            ),
            row(
                "and leaves the global lists",
                &[
                    "tools.profile = 'messaging'",
                    "tools.deny = ['ls']",
                    "agents.writer.tools.profile = 'coding'",
                ],
                "",
            ),
            row(
                "the global `also-allow` does not widen it",
                &[
                    "tools.profile = 'messaging'",
                    "tools.also-allow = ['notes_add']",
                    "agents.writer.tools.profile = 'coding'",
                ],
                "",
            ),
            row("a plugin's wish is not granted by itself", &["tools.profile = 'coding'"], ""),
            row(
                "it is where the operator says so",
                &["tools.profile = 'coding'", "plugins.entries.deploy.join-profiles = true"],
                "",
            ),
        ],
    ),
    (
        "Agents, providers, models",
        "All matching provider keys apply together; letters' case does not matter in them.",
        &[
            row("an agent's list", &["agents.writer.tools.allow = ['group:fs']"], ""),
            row(
                "the agent and the global list both hold",
                &["tools.allow = ['read', 'web_search']", "agents.writer.tools.allow = ['read', 'ls']"],
                "",
            ),
            row(
                "an agent's `deny` of `*` voids its `allow`",
                &["agents.writer.tools.allow = ['notes_add']", "agents.writer.tools.deny = ['*']"],
                "",
            ),
            row("a provider's key", &["tools.by-provider.openai.deny = ['web_search']"], GPT),
            row("a model's key", &["tools.by-provider.'openai/gpt-5'.deny = ['web_search']"], GPT),
            row(
                "both apply",
                &[
                    "tools.by-provider.openai.deny = ['ls']",
                    "tools.by-provider.'OPENAI/gpt-5'.allow = ['read', 'ls']",
                ],
                GPT,
            ),
            row(
                "blanks around a key do not matter",
                &["tools.by-provider.' OpenAI/GPT-5 '.deny = ['web_search']"],
                GPT,
            ),
            row("another model's key does not", &["tools.by-provider.'openai/gpt-4'.allow = []"], GPT),
            row("without a model none does", &["tools.by-provider.openai.allow = []"], ""),
            row("a provider's profile", &["tools.by-provider.openai.profile = 'messaging'"], GPT),
            row(
                "a provider's profile and the agent's",
                &["tools.by-provider.openai.profile = 'messaging'", "agents.writer.tools.profile = 'coding'"],
                GPT,
            ),
            row("an agent's provider key", &["agents.writer.tools.by-provider.openai.allow = ['read']"], GPT),
            row(
                "the provider brings its own tool",
                &[],
                r#"{"agent": "writer", "model": {"provider": "openai", "model": "gpt-5"}, "native-model-tools": ["web_search"]}"#,
            ),
        ],
    ),
    (
        "Channels, groups, senders",
        "Of the sender keys `CHANNEL:ID`, `ID` and `*` only the most specific applies.",
        &[
            row("a group's list", &["channels.slack.groups.C1.tools.deny = ['group:fs']"], SLACK),
            row("another group's does not apply", &["channels.slack.groups.C2.tools.allow = []"], SLACK),
            row(
                "nor the same group's on another channel",
                &["channels.mail.groups.C1.tools.allow = []"],
                SLACK,
            ),
            row(
                "the channel's name in another case",
                &["channels.Slack.groups.C1.tools.allow = ['read']"],
                SLACK,
            ),
            row("a sender by channel", &["tools.by-sender.'slack:U1'.allow = ['read']"], SLACK),
            row("a sender by id", &["tools.by-sender.U1.allow = ['read']"], SLACK),
            row("any sender", &["tools.by-sender.'*'.allow = ['read']"], SLACK),
            row(
                "only the most specific key",
                &[
                    "tools.by-sender.'slack:U1'.allow = ['read', 'ls']",
                    "tools.by-sender.U1.allow = []",
                    "tools.by-sender.'*'.allow = []",
                ],
                SLACK,
            ),
            row(
                "ids keep their case",
                &["tools.by-sender.u1.allow = []", "tools.by-sender.'*'.deny = ['ls']"],
                SLACK,
            ),
            row("a run that nobody is known to have asked for", &["tools.by-sender.'*'.deny = ['ls']"], ""),
        ],
    ),
    (
        "Sandbox, owner, child runs",
        "These apply to runs that are so, and to no other.",
        &[
            row(
                "a confined run",
                &["tools.sandbox.deny = ['group:web']"],
                r#"{"agent": "writer", "sandboxed": true}"#,
            ),
            row("an unconfined one", &["tools.sandbox.deny = ['group:web']"], ""),
            row(
                "known not to be the owner",
                &[],
                r#"{"agent": "writer", "requester": {"sender": "U2", "is-owner": false}}"#,
            ),
            row(
                "known to be the owner",
                &[],
                r#"{"agent": "writer", "requester": {"sender": "U1", "is-owner": true}}"#,
            ),
            row("nobody knows", &[], r#"{"agent": "writer", "requester": {"sender": "U1"}}"#),
            row("a child run", &[], CHILD),
            row(
                "what children are denied",
                &["tools.subagents.deny = ['group:messaging', 'notes_add']"],
                CHILD,
            ),
            row("what others are not", &["tools.subagents.deny = ['group:messaging', 'notes_add']"], ""),
        ],
    ),
    (
        "Caps of a run",
        "The host caps a run: by a list, by its purpose, by what an earlier run had. An empty cap permits nothing.",
        &[
            row("a list", &[], r#"{"agent": "writer", "tools-allow": ["read", "plugin:notes"]}"#),
            row("an empty list", &[], r#"{"agent": "writer", "tools-allow": []}"#),
            row(
                "a list that names nothing",
                &[],
                r#"{"agent": "writer", "tools-allow": ["reed", "group:ffs"]}"#,
            ),
            row(
                "a purpose",
                &["tools.purposes.memory-flush = ['notes_add']"],
                r#"{"agent": "writer", "purpose": "memory-flush"}"#,
            ),
            row(
                "a purpose that does not exist",
                &["tools.purposes.memory-flush = ['notes_add']"],
                r#"{"agent": "writer", "purpose": "memory-flash"}"#,
            ),
            row(
                "a scheduled run",
                &[],
                r#"{"agent": "writer", "trigger": "schedule", "captured": {"tools": [{"name": "read", "owner": "core"}, {"name": "exec", "owner": "core"}]}}"#,
            ),
            row(
                "what the parent had",
                &[],
                r#"{"agent": "writer", "inherited": {"tools": [{"name": "read", "owner": "core"}, {"name": "write", "owner": "core"}]}}"#,
            ),
            row(
                "a name whose owner changed is not inherited",
                &[],
                r#"{"agent": "writer", "inherited": {"tools": [{"name": "notes_add", "owner": "diary"}]}}"#,
            ),
            row(
                "the parent delegates a part",
                &[],
                r#"{"agent": "writer", "inherited": {"tools": [{"name": "read", "owner": "core"}, {"name": "ls", "owner": "core"}], "delegated": [["ls", "write"]]}}"#,
            ),
            row(
                "runs that start themselves end",
                &[],
                r#"{"agent": "writer", "inherited": {"tools": [{"name": "read", "owner": "core"}], "depth": 32}}"#,
            ),
            row(
                "the thirty-second is the last",
                &[],
                r#"{"agent": "writer", "inherited": {"tools": [{"name": "read", "owner": "core"}], "depth": 31}}"#,
            ),
        ],
    ),
];
