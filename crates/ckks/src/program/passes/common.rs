//! What is computed several times is computed once.

use std::collections::HashMap;

use super::draft::Draft;
use crate::encrypted_array::{ArrayOperation, GraphOperand};

/// The operation with its operands as a name; operands that may change places have one order.
fn name_of(operation: &ArrayOperation, operands: &[GraphOperand]) -> Option<String> {
    let mut operands = operands.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>().ok()?;
    if matches!(operation, ArrayOperation::Add | ArrayOperation::Mul | ArrayOperation::Multiply { .. }) {
        operands.sort();
    }
    Some(format!("{} {}", serde_json::to_string(operation).ok()?, operands.join(" ")))
}

/// The pass.
pub(super) fn merge(draft: &mut Draft<'_>) {
    let mut known = HashMap::new();
    draft.rewrite(|draft, index| {
        let operands = draft.operands(index);
        let name = name_of(&draft.old().nodes[index].operation, &operands)?;
        Some(*known.entry(name).or_insert_with(|| draft.copy(index)))
    });
}
