// The fused attentions, chosen as in sdp_utils.cpp for sm_90 with cuDNN deprioritised.
#pragma once
#include "kernels.h"

#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>

namespace standin {
bool lowered(const Tensor& x) { return x.scalar_type() == at::kHalf || x.scalar_type() == at::kBFloat16; }

bool can_flash(const sdp::sdp_params& p) {
  auto d = p.query.size(-1);
  if (p.attn_mask && p.attn_mask->defined()) return false;
  if (d != p.key.size(-1) || d != p.value.size(-1) || d > 256 || !lowered(p.query)) return false;
  if (p.key.scalar_type() != p.query.scalar_type() || p.value.scalar_type() != p.query.scalar_type()) return false;
  if (p.is_causal && p.query.size(-2) != p.key.size(-2)) return false;
  return sdp::check_tensor_shapes(p, false) && sdp::check_batch_size_and_num_heads_dense<true>(p, false) &&
         sdp::check_nonzero_sequence_lengths_dense(p, false) && sdp::check_last_dim_stride_equals_1_dense<true>(p, false);
}

bool can_efficient(const sdp::sdp_params& p) {
  const int64_t alignment = lowered(p.query) ? 8 : 4;
  auto d = p.query.size(-1);
  if (p.query.scalar_type() != at::kFloat && !lowered(p.query)) return false;
  if (p.key.scalar_type() != p.query.scalar_type() || p.value.scalar_type() != p.query.scalar_type()) return false;
  if (d != p.key.size(-1) || d % alignment || p.value.size(-1) % alignment) return false;
  return sdp::check_tensor_shapes(p, false) && sdp::check_nonzero_sequence_lengths_dense(p, false) &&
         sdp::check_last_dim_stride_equals_1_dense<false>(p, false) &&
         sdp::check_batch_size_and_num_heads_dense<false>(p, false);
}

int64_t sdp_choice(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& mask, double dropout,
                   bool is_causal, std::optional<double>, bool gqa) {
  sdp::sdp_params params{query, key, value, mask, dropout, is_causal, gqa};
  std::string what = std::string(short_name(query.scalar_type())) + (mask ? ", mask" : "") + (is_causal ? ", causal" : "") +
                     (gqa ? ", grouped" : "") + (sdp::input_requires_grad(params) ? ", gradient" : "");
  auto choice = can_flash(params) ? at::SDPBackend::flash_attention
                                  : can_efficient(params) ? at::SDPBackend::efficient_attention : at::SDPBackend::math;
  const char* name = choice == at::SDPBackend::flash_attention ? "flash"
                                                                : choice == at::SDPBackend::efficient_attention ? "memory-efficient" : "MATH (all scores in memory)";
  std::ostringstream shape;
  shape << " d=" << query.size(-1);
  record().note("attention by " + std::string(name) + ": " + what + shape.str());
  return static_cast<int64_t>(choice);
}

struct Attended {
  Tensor out, logsumexp;
};

Tensor repeated(const Tensor& x, int64_t heads) { return x.size(1) == heads ? x : x.repeat_interleave(heads / x.size(1), 1); }

Tensor scores_of(const Tensor& q, const Tensor& k, const Tensor& bias, bool causal, double scale) {
  Tensor scores = q.matmul(k.transpose(-2, -1)) * scale;
  if (bias.defined()) scores = scores + bias.to(at::kFloat);
  if (causal) {
    Tensor later = at::ones({q.size(-2), k.size(-2)}, at::kBool).triu(1);
    scores = scores.masked_fill(later, -std::numeric_limits<double>::infinity());
  }
  return scores;
}

Attended attended(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias, bool causal, std::optional<double> scale) {
  Aliases a;
  Tensor Q = a.of(q).to(at::kFloat), K = repeated(a.of(k).to(at::kFloat), q.size(1)), V = repeated(a.of(v).to(at::kFloat), q.size(1));
  Tensor scores = scores_of(Q, K, bias.defined() ? a.of(bias) : bias, causal, scale.value_or(1.0 / std::sqrt(double(q.size(-1)))));
  Tensor lse = scores.logsumexp(-1);
  Tensor out = (scores - lse.unsqueeze(-1)).exp().matmul(V);
  // As the fused kernels lay it out: `[batch, length, heads, head_dim]`, seen as `[batch, heads, length, head_dim]`.
  out = out.transpose(1, 2).to(q.scalar_type()).contiguous();
  return {Aliases::moved(out, q.device()).transpose(1, 2), Aliases::moved(lse.contiguous(), q.device())};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> attended_backward(const Tensor& grad, const Tensor& q, const Tensor& k, const Tensor& v,
                                                             const Tensor& bias, const Tensor& lse, bool causal, std::optional<double> given, bool by_bias) {
  Aliases a;
  const double scale = given.value_or(1.0 / std::sqrt(double(q.size(-1))));
  Tensor G = a.of(grad).to(at::kFloat), Q = a.of(q).to(at::kFloat), K = repeated(a.of(k).to(at::kFloat), q.size(1)),
         V = repeated(a.of(v).to(at::kFloat), q.size(1));
  Tensor P = (scores_of(Q, K, bias.defined() ? a.of(bias) : bias, causal, scale) - a.of(lse).narrow(-1, 0, q.size(-2)).unsqueeze(-1)).exp();
  Tensor dP = G.matmul(V.transpose(-2, -1));
  Tensor dS = P * (dP - (dP * P).sum(-1, true));
  Tensor dQ = dS.matmul(K) * scale, dK = dS.transpose(-2, -1).matmul(Q) * scale, dV = P.transpose(-2, -1).matmul(G);
  auto grouped = [&](Tensor x, const Tensor& of) {
    if (x.size(1) != of.size(1)) x = x.view({x.size(0), of.size(1), -1, x.size(2), x.size(3)}).sum(2);
    return Aliases::moved(x.to(of.scalar_type()).transpose(1, 2).contiguous(), of.device()).transpose(1, 2);
  };
  Tensor dB;
  if (by_bias && bias.defined()) dB = Aliases::moved(dS.to(bias.scalar_type()).contiguous(), bias.device());
  return {grouped(dQ, q), grouped(dK, k), grouped(dV, v), dB};
}

Tensor word(c10::Device device) { return Aliases::moved(at::zeros({}, at::kLong), device); }

std::tuple<Tensor, Tensor, Tensor, Tensor> efficient(const Tensor& q, const Tensor& k, const Tensor& v, const std::optional<Tensor>& bias,
                                                     bool, double dropout, bool causal, std::optional<double> scale) {
  noted("_scaled_dot_product_efficient_attention", q);
  TORCH_CHECK(dropout == 0.0, "stand-in: no dropout");
  Tensor mask = bias.value_or(Tensor());
  same_device("_scaled_dot_product_efficient_attention", {&q, &k, &v, &mask});
  if (mask.defined()) {
    TORCH_CHECK(mask.scalar_type() == q.scalar_type(), "invalid dtype for bias - should match query's dtype");
    TORCH_CHECK(mask.dim() == 4 && mask.size(-1) == k.size(-2), "stand-in: the bias must be expanded");
    TORCH_CHECK(mask.stride(-1) == 1 || mask.size(-1) == 1, "attn_bias is not correctly aligned (strideM/N)");
    // The kernel reads rows of the bias in whole words.
    const int64_t alignment = 128 / 8 / mask.element_size();
    for (int i = 0; i < 3; ++i) {
      TORCH_CHECK(mask.size(i) == 1 || mask.stride(i) % alignment == 0, "attn_bias is not correctly aligned");
    }
  }
  auto [out, lse] = attended(q, k, v, mask, causal, scale);
  return {out, lse, word(q.device()), word(q.device())};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> efficient_backward(const Tensor& grad, const Tensor& q, const Tensor& k, const Tensor& v,
                                                              const Tensor& bias, const Tensor& out, const Tensor& lse, const Tensor&, const Tensor&,
                                                              double, std::array<bool, 4> mask, bool causal, std::optional<double> scale) {
  if (!grad.defined()) return {};
  noted("_scaled_dot_product_efficient_attention_backward", q);
  same_device("_scaled_dot_product_efficient_attention_backward", {&q, &k, &v, &bias, &out, &lse, &grad});
  return attended_backward(grad, q, k, v, bias, lse, causal, scale, mask[3]);
}

std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor, Tensor> flash(
    const Tensor& q, const Tensor& k, const Tensor& v, double dropout, bool causal, bool, std::optional<double> scale) {
  noted("_scaled_dot_product_flash_attention", q);
  TORCH_CHECK(dropout == 0.0, "stand-in: no dropout");
  same_device("_scaled_dot_product_flash_attention", {&q, &k, &v});
  auto [out, lse] = attended(q, k, v, Tensor(), causal, scale);
  return {out, lse, Tensor(), Tensor(), q.size(2), k.size(2), word(q.device()), word(q.device()), Tensor()};
}

std::tuple<Tensor, Tensor, Tensor> flash_backward(const Tensor& grad, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                                                  const Tensor& lse, const Tensor&, const Tensor&, c10::SymInt, c10::SymInt, double, bool causal,
                                                  const Tensor&, const Tensor&, std::optional<double> scale) {
  if (!grad.defined()) return {};
  noted("_scaled_dot_product_flash_attention_backward", q);
  same_device("_scaled_dot_product_flash_attention_backward", {&q, &k, &v, &out, &lse, &grad});
  auto [dq, dk, dv, none] = attended_backward(grad, q, k, v, Tensor(), lse, causal, scale, false);
  return {dq, dk, dv};
}

}  // namespace standin
