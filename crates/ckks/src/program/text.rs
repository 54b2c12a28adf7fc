//! Programs as text: what was chosen and predicted, and the operations one below the other.

use std::fmt;

use clathrate_arith::text::counted;
use serde_json::Value;

use super::{Program, Saving, ValueForecast};
use crate::encrypted_array::{ArrayGraph, ArrayOperation, GraphOperand};

/// Bytes per mebibyte.
const MIB: f64 = 1_048_576.0;

/// The longest list that is written out.
const LONGEST_LIST: usize = 12;

/// A shape as Python writes it.
fn shape_text(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// An argument of an operation; long lists by their length.
fn argument_text(value: &Value) -> String {
    match value {
        Value::Array(items) if items.len() > LONGEST_LIST => counted(items.len(), "number"),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(argument_text).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// The name of an operation and its arguments, without those that are left out.
fn operation_text(operation: &ArrayOperation) -> (String, Vec<String>) {
    match serde_json::to_value(operation) {
        Ok(Value::String(name)) => (name, Vec::new()),
        Ok(Value::Object(fields)) => {
            fields.into_iter().next().map_or_else(Default::default, |(name, arguments)| {
                let arguments = arguments.as_object().cloned().unwrap_or_default();
                let text =
                    arguments.iter().filter(|(_, value)| !value.is_null() && **value != Value::Bool(false));
                (name, text.map(|(name, value)| format!("{name}={}", argument_text(value))).collect())
            })
        }
        _ => Default::default(),
    }
}

/// The name of an operation.
pub(super) fn operation_name(operation: &ArrayOperation) -> String {
    operation_text(operation).0
}

/// The operations of a graph, one in a line.
pub(super) fn graph_text(graph: &ArrayGraph, names: &[&str], plain: &[&str]) -> String {
    let value = |value: usize| match names.get(value) {
        Some(name) => (*name).to_owned(),
        None => format!("v{value}"),
    };
    let mut text = String::new();
    for (index, node) in graph.nodes.iter().enumerate() {
        let (name, arguments) = operation_text(&node.operation);
        let operand = |operand: &GraphOperand| match *operand {
            GraphOperand::Value(own) => value(own),
            GraphOperand::Number(number) => format!("{number:?}"),
            GraphOperand::Integer(number) => format!("{number}"),
            GraphOperand::Plain(input) => plain[input].to_owned(),
            GraphOperand::Constant(constant) => {
                format!("c{constant}{}", shape_text(&graph.constants[constant].shape))
            }
        };
        let parts: Vec<String> = node.operands.iter().map(operand).chain(arguments).collect();
        let stage = if node.stage.is_empty() { String::new() } else { format!("    # {}", node.stage) };
        text.push_str(&format!("v{} = {name}({}){stage}\n", graph.inputs + index, parts.join(", ")));
    }
    text
}

/// Functions whose errors are listed.
const MOST_FUNCTIONS: usize = 6;

fn result_text(name: &str, result: &ValueForecast) -> String {
    let name = if name.is_empty() { String::new() } else { format!("{name} ") };
    let bound = result.bound.map_or_else(String::new, |bound| format!(", numbers up to {bound:.3e}"));
    let error = match (result.error_rms, result.error_bound) {
        (Some(rms), Some(bound)) => format!(", errors {rms:.1e} on average (rms), at most {bound:.1e}"),
        _ => ", errors unknown".to_owned(),
    };
    format!(
        "{name}{} in {} at level {}{bound}{error}",
        shape_text(&result.shape),
        result.encoding.name(),
        result.level
    )
}

/// What a pass saved; of operations it may need more.
fn saving_text(saving: &Saving) -> String {
    let mut parts = Vec::new();
    if let Some(levels) = saving.levels.0.checked_sub(saving.levels.1).filter(|levels| *levels > 0) {
        parts.push(counted(levels, "level"));
    }
    if let Some(operations) = saving.operations.0.checked_sub(saving.operations.1).filter(|own| *own > 0) {
        parts.push(counted(operations, "operation"));
    }
    if saving.time >= 0.01 {
        parts.push(format!("{:.0} % of the time at equal parameters", 100.0 * saving.time));
    }
    format!("{} saved {}", saving.pass.name(), parts.join(", "))
}

impl Program {
    /// The operations as text, one in a line.
    #[must_use]
    pub fn graph_text(&self) -> String {
        let names = |is_plain: bool| {
            let own = self.inputs().iter().filter(move |input| input.is_plain == is_plain);
            own.map(|input| input.name.as_str()).collect::<Vec<_>>()
        };
        graph_text(self.graph(), &names(false), &names(true))
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (params, forecast) = (self.params(), self.forecast());
        writeln!(f, "program of {}", counted(self.graph().nodes.len(), "operation"))?;
        writeln!(
            f,
            "  parameters  {}: degree {}, {}, {:.0} bits of security{}",
            params.spec().name,
            params.degree(),
            counted(params.max_level().0, "level"),
            params.security_bits(),
            if params.is_insecure() { ", INSECURE" } else { "" }
        )?;
        for input in self.inputs() {
            let bound = input.bound.map_or_else(String::new, |bound| format!(", numbers up to {bound:.3e}"));
            if input.is_plain {
                writeln!(f, "  input       {} {} in the clear{bound}", input.name, shape_text(&input.shape))?;
                continue;
            }
            let shared = if input.lanes { ", rows share polynomials" } else { "" };
            writeln!(
                f,
                "  input       {} {} in {} at level {}{bound}{shared}",
                input.name,
                shape_text(&input.shape),
                input.encoding.name(),
                self.choices().level
            )?;
        }
        for (name, result) in self.arrangement().names().iter().zip(forecast.results()) {
            writeln!(f, "  result      {}", result_text(name, result))?;
        }
        // Functions become polynomials; there may be many of them.
        let mut functions: Vec<String> = Vec::new();
        for node in &self.graph().nodes {
            if let (Some(name), Some(error)) = (node.operation.function_name(), node.operation.error()) {
                let text = format!("{name} within {error:e}");
                if !functions.contains(&text) {
                    functions.push(text);
                }
            }
        }
        if functions.len() > MOST_FUNCTIONS {
            let more = functions.len() - MOST_FUNCTIONS;
            functions.truncate(MOST_FUNCTIONS);
            functions.push(format!("and {more} more"));
        }
        if !functions.is_empty() {
            writeln!(f, "  functions   {}", functions.join(", "))?;
        }
        let savings: Vec<String> = self.savings().iter().map(saving_text).collect();
        if !savings.is_empty() {
            writeln!(f, "  passes      {}", savings.join("; "))?;
        }
        let listed = |values: &[usize]| {
            let values: Vec<String> = values.iter().map(|value| format!("v{value}")).collect();
            values.join(", ")
        };
        let gathered = &self.choices().gathered;
        if !gathered.is_empty() {
            writeln!(f, "  gathered    {}, in fewer polynomials", listed(gathered))?;
        }
        let mut bootstraps = Vec::new();
        if self.choices().bootstraps() {
            let count = forecast.recording().bootstraps();
            bootstraps.push(format!("{count} {}", if count == 1 { "polynomial" } else { "polynomials" }));
        }
        if let Some(below) = self.choices().bootstrap_below {
            bootstraps.push(format!("operands below level {below} are bootstrapped"));
        }
        if !self.choices().bootstrapped.is_empty() {
            bootstraps.push(format!("bootstrapped: {}", listed(&self.choices().bootstrapped)));
        }
        if !bootstraps.is_empty() {
            writeln!(f, "  bootstraps  {}", bootstraps.join("; "))?;
        }
        writeln!(f, "  keys        {:.1} MiB in memory", forecast.key_bytes() as f64 / MIB)?;
        write!(f, "{}", forecast.recording())?;
        if self.params().has_built_in_profile() {
            f.write_str("; times are those of a fast machine: `clathrate tune` measures this one")?;
        }
        Ok(())
    }
}
