"""From a seed and a step to weights that have moved: how `train embedding` goes, in order.

1. `embedding.train_embedding` collects voices (`mixing.voices`), once, and makes what follows.
2. `loop.train` numbers the batches of this process; of one that is alone (`processes`) by step.
3. `episodes.EpisodeMaker` draws from (seed, number) which voices meet, and who is heard when.
4. `rendering.Renderer.render` makes the sound of the windows; as MFCC, they are a `Batch`.
5. `steps.take_steps` hands it to `loop.Trainer.advance`, which sets the rate of the step.
6. `losses.episode_loss` says how far what f and g make of the windows is from where it belongs.
7. `processes.average` makes one gradient of those of all processes, and `gradients.clip` limits it.
8. The optimiser takes its step; now and then `development` judges the weights, `checkpoints` keeps
   them, and the next batch is that of the next number, whether or not there was an interruption.

`recordings` goes the same way; `activity` has `chunks` and `counting` in place of 3 to 7.
"""
