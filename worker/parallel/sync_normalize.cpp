#include "worker/parallel/sync_normalize.hpp"

#include "ddprun/error.hpp"

#include <array>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace ddprun::worker {
namespace {

using torch::Tensor;
using torch::autograd::variable_list;

struct ChannelStatistics {
  Tensor mean;
  Tensor variance;  // biased
  double values_count;
};

/// (C,) as a factor for (N, C, ...).
Tensor per_channel(const Tensor& values, const Tensor& like) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(like.dim()), 1);
  shape[1] = values.size(0);
  return values.view(shape);
}

/// float16 and bfloat16 as float32; others as they are.
Tensor widened(const Tensor& tensor) {
  const auto type = tensor.scalar_type();
  const bool is_narrow = type == torch::kHalf || type == torch::kBFloat16;
  return is_narrow ? tensor.to(torch::kFloat) : tensor;
}

/// (3, C) float64: for each channel the count of values, their mean, and the sum of the squares of
/// what they are off it.
Tensor own_statistics(const Tensor& input) {
  const std::int64_t channels = input.size(1);
  const Tensor rows = torch::zeros({3, channels}, input.options().dtype(torch::kDouble));
  if (input.numel() == 0) return rows;
  const auto count = static_cast<double>(input.numel() / channels);
  const auto [mean, variance] = torch::batch_norm_update_stats(input, {}, {}, 0);
  rows[0].fill_(count);
  rows[1].copy_(mean);
  rows[2].copy_(variance.to(torch::kDouble).mul_(count));
  return rows;
}

/// Of all ranks' values, by the formula of Chan, Golub and LeVeque (1979), which loses no digits
/// where the mean is large.
ChannelStatistics joint_statistics(const Tensor& input, const ProcessGroup& group) {
  const Tensor own = own_statistics(input);
  const Tensor all = torch::zeros({group.size(), 3, own.size(1)}, own.options());
  all[group.rank()].copy_(own);
  group.all_reduce_sum(all);
  const Tensor counts = all.select(1, 0);
  const Tensor means = all.select(1, 1);
  const double total = counts.select(1, 0).sum().item<double>();
  if (total < 2) {
    throw Error(text("SyncBatchNorm got ",
                     total,
                     " values for each channel from all ranks together, which have no variance; "
                     "give it two or more, or call eval()"));
  }
  const Tensor mean = (counts * means).sum(0).div_(total);
  const Tensor squares = all.select(1, 2).sum(0) + (counts * (means - mean).square()).sum(0);
  const auto type = input.scalar_type();
  return {mean.to(type), squares.div_(total).to(type), total};
}

/// How an autograd node keeps a group.
struct KeptGroup : torch::CustomClassHolder {
  explicit KeptGroup(ProcessGroup value) : group(std::move(value)) {}
  ProcessGroup group;
};

class SyncNormalize : public torch::autograd::Function<SyncNormalize> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context,
                        const Tensor& input,
                        const Tensor& weight,
                        const Tensor& bias,
                        const ChannelStatistics& statistics,
                        double eps,
                        const ProcessGroup& group) {
    context->save_for_backward({input, weight, statistics.mean, statistics.variance});
    context->saved_data["values_count"] = statistics.values_count;
    context->saved_data["eps"] = eps;
    context->saved_data["group"] = c10::IValue::make_capsule(c10::make_intrusive<KeptGroup>(group));
    if (input.numel() == 0) return torch::empty_like(input);
    const Tensor output = std::get<0>(torch::native_batch_norm(widened(input),
                                                               widened(weight),
                                                               widened(bias),
                                                               statistics.mean,
                                                               statistics.variance,
                                                               false,
                                                               0,
                                                               eps));
    return output.to(input.scalar_type());
  }

  static variable_list backward(torch::autograd::AutogradContext* context,
                                const variable_list& gradients) {
    if (torch::GradMode::is_enabled()) {
      throw Error("SyncBatchNorm has no second derivative; call backward() without create_graph");
    }
    const variable_list saved = context->get_saved_variables();
    const Tensor input = widened(saved[0]);
    const Tensor& mean = saved[2];
    const Tensor& variance = saved[3];
    const double count = context->saved_data["values_count"].toDouble();
    const double eps = context->saved_data["eps"].toDouble();
    const auto kept = context->saved_data["group"].toCapsule();
    const Tensor weight = widened(saved[1]);
    const Tensor gradient = widened(gradients[0]);

    // (2, C): the sums of the gradient times the normalised input, and of the gradient.
    const Tensor deviation = (variance + eps).rsqrt_();
    Tensor own = torch::zeros({2, mean.size(0)}, mean.options());
    if (input.numel() > 0) {
      const auto [none, of_weight, of_bias] =
          torch::native_batch_norm_backward(gradient,
                                            input,
                                            weight,
                                            mean,
                                            variance,
                                            mean,  // for CUDA, which reads these two
                                            deviation,
                                            false,
                                            eps,
                                            std::array<bool, 3>{false, true, true});
      own = torch::stack({of_weight, of_bias});
    }
    const Tensor sums = own.clone();
    static_cast<KeptGroup&>(*kept).group.all_reduce_sum(sums);
    const Tensor scale = weight * deviation;
    const Tensor slope = (scale * deviation * sums[0]).div_(-count);
    const Tensor offset = (scale * sums[1]).div_(-count) - slope * mean;
    const Tensor of_input =
        torch::addcmul(per_channel(offset, input), input, per_channel(slope, input))
            .addcmul_(gradient, per_channel(scale, input))
            .to(saved[0].scalar_type());
    const auto type = saved[1].scalar_type();
    return {of_input, own[0].to(type), own[1].to(type), {}, {}, {}};
  }
};

}  // namespace

SyncNormalized sync_normalize(const Tensor& input,
                              const Tensor& weight,
                              const Tensor& bias,
                              double eps,
                              const ProcessGroup& group) {
  const ChannelStatistics statistics = [&] {
    const torch::NoGradGuard no_grad;
    return joint_statistics(widened(input.detach()), group);
  }();
  const double count = statistics.values_count;
  // LibTorch 1.13 takes no undefined tensor here.
  const Tensor factor = weight.defined() ? weight : torch::ones_like(statistics.mean);
  const Tensor summand = bias.defined() ? bias : torch::zeros_like(statistics.mean);
  return {SyncNormalize::apply(input, factor, summand, statistics, eps, group),
          statistics.mean,
          statistics.variance * (count / (count - 1))};
}

}  // namespace ddprun::worker
