#include "examples/shared/classifier.hpp"

#include "ddprun/pt_file.hpp"
#include "examples/shared/start_weights.hpp"

namespace ddprun::examples {

void train_classifier(worker::Trainer& trainer,
                      Classifier& classifier,
                      const PictureSets& pictures,
                      const JobOptions& job,
                      ResultLine& result,
                      const std::string& model) {
  worker::Session& session = trainer.session();
  load_weights(*classifier.net, job.weights, session.group());
  trainer.fit(classifier, pictures.training, pictures.validation);
  if (!result.accuracy()) {  // the last epoch has not ended, or had ended before this start
    result.set_accuracy(trainer.validate(classifier, pictures.validation).at("accuracy"));
  }
  if (session.is_rank_0()) {
    worker::write_pt_file(model, worker::to_value(worker::state_dict(*classifier.net)));
  }
}

}  // namespace ddprun::examples
