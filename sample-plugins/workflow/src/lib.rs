//! A text and the name of a pipeline enter; the text after all of the pipeline's steps leaves, with an account of them.
//! It never runs a step that the pipeline does not name.

use airlock_plugin::prelude::*;

mod pipeline;
mod step;

use crate::pipeline::PIPELINES;

#[arguments]
struct Workflow {
    /// Which pipeline to run: `tidy`, `slug`, `title-case`, `statistics`, `unique-lines` or `numbered`.
    pipeline: String,
    /// The text to run it on.
    text: String,
}

#[details]
struct Summary {
    /// The pipeline that ran.
    pipeline: String,
    /// Its steps, in order.
    steps: Vec<StepSummary>,
    /// How many characters the text had before the first step.
    characters_before: usize,
    /// How many characters it had after the last one.
    characters_after: usize,
}

#[details]
struct StepSummary {
    /// The step's name.
    step: String,
    /// Whether the step changed anything.
    changed: bool,
}

/// Runs one named pipeline of text steps and returns the resulting text.
///
/// `tidy` repairs white space, `slug` makes an identifier for a URL, `title-case` capitalises a heading, `statistics`
/// counts, `unique-lines` drops repeated lines, `numbered` numbers the lines.
#[tool(title = "Run a workflow")]
fn workflow_tool(arguments: Workflow) -> Result<Output<Summary>, ToolError> {
    let Some(pipeline) = PIPELINES.iter().find(|pipeline| pipeline.name == arguments.pipeline) else {
        let known: Vec<&str> = PIPELINES.iter().map(|pipeline| pipeline.name).collect();
        let message = format!("no pipeline `{}`; use one of: {}", arguments.pipeline, known.join(", "));
        return Err(ToolError::InvalidParams(message));
    };
    let characters_before = arguments.text.chars().count();
    let mut text = arguments.text;
    let mut steps = Vec::new();
    for step in pipeline.steps {
        let next = (step.run)(&text);
        steps.push(StepSummary { step: step.name.to_owned(), changed: next != text });
        text = next;
    }
    let summary = Summary {
        pipeline: arguments.pipeline,
        steps,
        characters_before,
        characters_after: text.chars().count(),
    };
    Ok(Output::new(text, summary))
}

plugin!(tools: [workflow_tool]);

#[cfg(test)]
mod tests {
    use airlock_plugin::serde_json::json;
    use airlock_plugin::testing;

    use super::*;

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        assert_eq!(testing::check_manifest::<Plugin>(include_str!("../airlock.plugin.json")), Ok(()));
    }

    #[test]
    fn a_pipeline_runs_step_by_step() {
        let arguments = json!({ "pipeline": "slug", "text": "  Ärger & Ruhe  " });
        let result = testing::call::<workflow_tool>(arguments).unwrap();
        assert_eq!(result.text(), "arger-ruhe");
        assert_eq!(
            result.json_details().unwrap(),
            json!({
                "pipeline": "slug",
                "steps": [
                    { "step": "fold-accents", "changed": true },
                    { "step": "lower-case", "changed": true },
                    { "step": "hyphenate", "changed": true },
                ],
                "characters_before": 16,
                "characters_after": 10,
            })
        );
    }

    #[test]
    fn an_unknown_pipeline_names_the_known_ones() {
        let arguments = json!({ "pipeline": "Tidy", "text": "" });
        let error = testing::call::<workflow_tool>(arguments).unwrap_err();
        let expected =
            "no pipeline `Tidy`; use one of: tidy, slug, title-case, statistics, unique-lines, numbered";
        assert_eq!(error, ToolError::invalid_params(expected));
    }

    #[test]
    fn every_pipeline_is_described() {
        let registered = testing::register::<Plugin>().unwrap();
        let (tool, _) = registered.tools.first().unwrap();
        for pipeline in PIPELINES {
            let name = format!("`{}`", pipeline.name);
            assert!(tool.description.contains(&name) && tool.parameters.contains(&name), "{name}");
        }
    }
}
