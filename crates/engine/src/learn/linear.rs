//! A frozen linear projection with every member's low-rank update: forward, and backward for the input and the factors.

use std::cell::OnceCell;

use lyceum_core::footprint::ROWS_TO_MERGE;
use lyceum_core::work::Projection;
use tch::{Device, Kind, Tensor};

use super::rows::MemberRows;
use crate::config::ModelConfig;
use crate::error::Result;
use crate::population::{Factors, LayerFactors};
use crate::product::{add_product, linear, product};

/// Projections that read the same input, with the adapters of the members that have rows.
#[derive(Debug)]
pub(super) struct AdaptedLinear<'a> {
    /// `[out, in]`
    weight: &'a Tensor,
    bias: Option<&'a Tensor>,
    adapted: Option<Adapted>,
    /// Whether merged weights may be kept.
    keep: bool,
    merged: OnceCell<Tensor>,
}

#[derive(Debug)]
struct Adapted {
    /// A of the adapted projections, stacked vertically: `[groups, Σ r, in]`
    a: Tensor,
    parts: Vec<Part>,
    scaling: f64,
}

#[derive(Debug)]
struct Part {
    projection: Projection,
    /// B times the scaling, `[groups, out, r]`
    b: Tensor,
    /// Offset of this projection in the joint outputs.
    output: i64,
    /// Offset in the `Σ r` inner columns.
    inner: i64,
}

impl<'a> AdaptedLinear<'a> {
    /// `projections` are in the order of their outputs; `factors` are the layer's stacked factors.
    pub(super) fn new(
        weight: &'a Tensor,
        bias: Option<&'a Tensor>,
        projections: &[Projection],
        factors: Option<(&LayerFactors, f64)>,
        rows: &MemberRows,
        config: &ModelConfig,
        keep: bool,
    ) -> Result<Self> {
        let adapted = match factors {
            Some((factors, scaling)) => Adapted::new(weight.kind(), projections, (factors, scaling), rows, config)?,
            None => None,
        };
        Ok(Self { weight, bias, adapted, keep, merged: OnceCell::new() })
    }

    /// Applies the projections to `x` `[T, in]`. Returns `[T, out]` and, if computed, the products with A `[T, Σ r]`,
    /// which the backward pass can use.
    pub(super) fn forward(&self, x: &Tensor, rows: &MemberRows) -> Result<(Tensor, Option<Tensor>)> {
        if let Some(merged) = self.merged(rows)? {
            return Ok((rows.linear(x, &merged, self.bias)?, None));
        }
        let outputs = linear(x, self.weight, self.bias)?;
        let Some(Adapted { a, parts, .. }) = &self.adapted else { return Ok((outputs, None)) };
        let inner = rows.product(x, &a.f_transpose(1, 2)?)?;
        for part in parts {
            let columns = outputs.f_narrow(1, part.output, part.b.size()[1])?;
            rows.add_product(&columns, &part.inner_of(&inner)?, &part.b.f_transpose(1, 2)?)?;
        }
        Ok((outputs, Some(inner)))
    }

    /// The merged weight of each member that has rows, `[groups, out, in]`, if there are enough rows to make it
    /// worthwhile. Only in fp32, where it rounds as the sum does.
    fn merged(&self, rows: &MemberRows) -> Result<Option<Tensor>> {
        if let Some(merged) = self.merged.get() {
            return Ok(Some(merged.shallow_clone()));
        }
        let Some(adapted) = &self.adapted else { return Ok(None) };
        let quicker = rows.fewest() >= i64::from(ROWS_TO_MERGE) && self.weight.device() == Device::Cpu;
        if !quicker || self.weight.kind() != Kind::Float {
            return Ok(None);
        }
        let merged = adapted.merged_with(self.weight)?;
        if self.keep && self.is_small_beside(rows) {
            let _ = self.merged.set(merged.shallow_clone());
        }
        Ok(Some(merged))
    }

    /// Whether the weight takes at most half the memory of the inputs and outputs for `rows`.
    fn is_small_beside(&self, rows: &MemberRows) -> bool {
        let (outputs, inputs) = (self.weight.size()[0], self.weight.size()[1]);
        2 * inputs * outputs <= rows.fewest() * (inputs + outputs)
    }

    /// Given the gradient of the outputs, adds the factors' gradients to `sums` and returns the gradient of the input.
    pub(super) fn backward(
        &self,
        gradient: &Tensor,
        x: &Tensor,
        inner: Option<Tensor>,
        rows: &MemberRows,
        sums: &LayerFactors,
    ) -> Result<Tensor> {
        let by_inner = self.factors_backward(gradient, x, inner, rows, sums)?;
        if let Some(merged) = self.merged(rows)? {
            return rows.product(gradient, &merged);
        }
        let by_input = product(gradient, self.weight)?;
        if let (Some(Adapted { a, .. }), Some(by_inner)) = (&self.adapted, by_inner) {
            rows.add_product(&by_input, &by_inner, a)?;
        }
        Ok(by_input)
    }

    /// Adds the gradients of the factors to `sums` and returns the gradient of the products with A.
    pub(super) fn factors_backward(
        &self,
        gradient: &Tensor,
        x: &Tensor,
        inner: Option<Tensor>,
        rows: &MemberRows,
        sums: &LayerFactors,
    ) -> Result<Option<Tensor>> {
        let Some(Adapted { a, parts, scaling }) = &self.adapted else { return Ok(None) };
        let mut inner = match inner {
            Some(inner) => inner,
            None => rows.product(x, &a.f_transpose(1, 2)?)?,
        };
        let inner = inner.f_mul_scalar_(*scaling)?;
        let by_inner = inner.f_empty_like()?;
        for part in parts {
            let columns = gradient.f_narrow(1, part.output, part.b.size()[1])?;
            let by_inner = part.inner_of(&by_inner)?;
            rows.write_product(&by_inner, &columns, &part.b)?;
            if let Some(Factors { a, b }) = sums.get(part.projection) {
                rows.add_transposed_product(b, &columns, &part.inner_of(&inner)?)?;
                rows.add_transposed_product(a, &by_inner, x)?;
            }
        }
        Ok(Some(by_inner))
    }
}

impl Adapted {
    fn new(
        kind: Kind,
        projections: &[Projection],
        (factors, scaling): (&LayerFactors, f64),
        rows: &MemberRows,
        config: &ModelConfig,
    ) -> Result<Option<Self>> {
        let (mut a, mut parts) = (Vec::new(), Vec::new());
        let (mut output, mut inner) = (0, 0);
        for &projection in projections {
            if let Some(Factors { a: down, b: up }) = factors.get(projection) {
                let rank = down.size()[1];
                a.push(rows.select(down)?.f_to_kind(kind)?);
                let b = rows.select(up)?.f_mul_scalar(scaling)?.f_to_kind(kind)?;
                parts.push(Part { projection, b, output, inner });
                inner += rank;
            }
            output += config.projection_sizes(projection).1;
        }
        if parts.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self { a: Tensor::f_cat(&a, 1)?, parts, scaling }))
    }

    /// `[groups, out, in]`: `weight` plus each member's update.
    fn merged_with(&self, weight: &Tensor) -> Result<Tensor> {
        let Self { a, parts, .. } = self;
        // Transposed, like the frozen weights: see `product::arranged`.
        let merged = weight.f_transpose(0, 1)?.f_unsqueeze(0)?.f_repeat([a.size()[0], 1, 1])?;
        for part in parts {
            let (outputs, rank) = (part.b.size()[1], part.b.size()[2]);
            let mut weight = merged.f_narrow(2, part.output, outputs)?;
            let a = a.f_narrow(1, part.inner, rank)?;
            add_product(&a.f_transpose(1, 2)?, &part.b.f_transpose(1, 2)?, &mut weight)?;
        }
        Ok(merged.f_transpose(1, 2)?)
    }
}

impl Part {
    fn inner_of(&self, inner: &Tensor) -> Result<Tensor> {
        Ok(inner.f_narrow(1, self.inner, self.b.size()[2])?)
    }
}
