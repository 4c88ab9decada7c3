from .biases import cue_bias as cue_bias
from .biases import item_contrast as item_contrast
from .families import compare_groupings as compare_groupings
from .families import family_scores as family_scores
from .families import family_tests as family_tests
from .families import regime_family_contrasts as regime_family_contrasts
from .leaderboards import reconstruct_leaderboard as reconstruct_leaderboard
from .leaderboards import reconstruct_score as reconstruct_score
from .plots import plot_condition_map as plot_condition_map
from .plots import plot_radar as plot_radar
from .representations import representation_similarity as representation_similarity

__all__ = [
    "compare_groupings",
    "cue_bias",
    "family_scores",
    "family_tests",
    "item_contrast",
    "plot_condition_map",
    "plot_radar",
    "reconstruct_leaderboard",
    "reconstruct_score",
    "regime_family_contrasts",
    "representation_similarity",
]
