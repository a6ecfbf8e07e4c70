"""Settings: what `config.toml` may hold, each with its default and a sentence.

Shapes and nothing else: `config` reads the file, `app` hands the values on.
"""

from askd.settings.instructions import InstructionSettings as InstructionSettings
from askd.settings.providers import SUPPORTED_DIALECTS as SUPPORTED_DIALECTS
from askd.settings.providers import LocalSettings as LocalSettings
from askd.settings.providers import ModelSettings as ModelSettings
from askd.settings.providers import ProviderSettings as ProviderSettings
from askd.settings.tools import ApprovalSettings as ApprovalSettings
from askd.settings.tools import ToolSettings as ToolSettings
from askd.settings.whole import LogSettings as LogSettings
from askd.settings.whole import RolloutSettings as RolloutSettings
from askd.settings.whole import Settings as Settings
from askd.settings.whole import show_settings as show_settings
