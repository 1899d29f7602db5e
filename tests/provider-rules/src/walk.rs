//! A schema → its nodes, which are the schemas in it, by structure: what stands below `properties`, `patternProperties`,
//! `$defs`, `definitions` and `dependentSchemas` is a name, and what stands in `enum`, `const`, `default` and `examples` is
//! data. Neither is ever taken for a keyword.

use serde_json::{Map, Value};

/// How a node hangs below another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Root,
    /// A property, and whether the object above requires it.
    Property {
        required: bool,
    },
    Item,
    Definition,
    /// Everything else: branches, conditions, additional properties.
    Other,
}

/// One schema in a schema.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    pub(crate) pointer: String,
    pub(crate) schema: &'a Value,
    pub(crate) role: Role,
    /// The index of the node above.
    pub(crate) parent: Option<usize>,
    /// Levels of properties and items above it.
    pub(crate) depth: usize,
    /// The pointer of the resource that it belongs to, which is what `#` means in it.
    pub(crate) resource: String,
}

impl<'a> Node<'a> {
    pub(crate) fn members(&self) -> Option<&'a Map<String, Value>> {
        self.schema.as_object()
    }

    pub(crate) fn get(&self, keyword: &str) -> Option<&'a Value> {
        self.schema.get(keyword)
    }

    /// Whether `type` says, alone or among others, that it is of this kind.
    pub(crate) fn is_of(&self, kind: &str) -> bool {
        match self.get("type") {
            Some(Value::String(one)) => one == kind,
            Some(Value::Array(kinds)) => kinds.iter().any(|one| one == kind),
            _ => false,
        }
    }

    /// Whether it describes objects.
    pub(crate) fn is_object(&self) -> bool {
        self.is_of("object") || self.get("properties").is_some()
    }

    pub(crate) fn properties(&self) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
        self.get("properties").and_then(Value::as_object).into_iter().flatten()
    }

    pub(crate) fn required(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }
}

/// One step of a JSON pointer.
pub(crate) fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// All nodes of a schema, parents before children.
pub(crate) fn nodes(schema: &Value) -> Vec<Node<'_>> {
    let mut nodes = Vec::new();
    let root = Node {
        pointer: String::new(),
        schema,
        role: Role::Root,
        parent: None,
        depth: 0,
        resource: String::new(),
    };
    let mut waiting = vec![root];
    while let Some(node) = waiting.pop() {
        let index = nodes.len();
        if let Some(members) = node.members() {
            for (keyword, value) in members {
                below(&node, index, keyword, value, &mut waiting);
            }
        }
        nodes.push(node);
    }
    nodes
}

fn below<'a>(node: &Node<'a>, parent: usize, keyword: &str, value: &'a Value, waiting: &mut Vec<Node<'a>>) {
    let pointer = format!("{}/{}", node.pointer, escape(keyword));
    let mut add = |pointer: String, schema: &'a Value, role: Role| {
        let deeper = matches!(role, Role::Property { .. } | Role::Item);
        let is_resource = schema.get("$id").is_some_and(Value::is_string);
        let resource = if is_resource { pointer.clone() } else { node.resource.clone() };
        let depth = node.depth + usize::from(deeper);
        waiting.push(Node { pointer, schema, role, parent: Some(parent), depth, resource });
    };
    match (keyword, value) {
        ("properties", Value::Object(named)) => {
            for (name, schema) in named {
                let required = node.required().any(|required| required == name);
                add(format!("{pointer}/{}", escape(name)), schema, Role::Property { required });
            }
        }
        ("$defs" | "definitions", Value::Object(named)) => {
            for (name, schema) in named {
                add(format!("{pointer}/{}", escape(name)), schema, Role::Definition);
            }
        }
        ("patternProperties" | "dependentSchemas", Value::Object(named)) => {
            for (name, schema) in named {
                add(format!("{pointer}/{}", escape(name)), schema, Role::Other);
            }
        }
        ("prefixItems" | "items", Value::Array(list)) => {
            for (index, schema) in list.iter().enumerate() {
                add(format!("{pointer}/{index}"), schema, Role::Item);
            }
        }
        ("allOf" | "anyOf" | "oneOf", Value::Array(list)) => {
            for (index, schema) in list.iter().enumerate() {
                add(format!("{pointer}/{index}"), schema, Role::Other);
            }
        }
        ("items", schema) => add(pointer, schema, Role::Item),
        (
            "additionalProperties"
            | "unevaluatedProperties"
            | "unevaluatedItems"
            | "contains"
            | "propertyNames"
            | "not"
            | "if"
            | "then"
            | "else"
            | "contentSchema",
            schema,
        ) => add(pointer, schema, Role::Other),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_and_data_are_no_keywords() {
        let schema = json!({
            "type": "object",
            "properties": {
                "properties": { "type": "string" }, "$ref": { "type": "string" }, "enum": { "items": {} },
                "a/b": true,
            },
            "$defs": { "anyOf": { "not": {} } },
            "default": { "properties": { "x": {} } },
            "enum": [{ "items": {} }],
        });
        let mut pointers: Vec<String> = nodes(&schema).into_iter().map(|node| node.pointer).collect();
        pointers.sort();
        let expected = [
            "",
            "/$defs/anyOf",
            "/$defs/anyOf/not",
            "/properties/$ref",
            "/properties/a~1b",
            "/properties/enum",
            "/properties/enum/items",
            "/properties/properties",
        ];
        assert_eq!(pointers, expected);
    }
}
