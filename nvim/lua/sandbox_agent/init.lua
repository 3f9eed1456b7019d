-- What users call: setup, which is not needed, and the text for a statusline.
local M = {}

--- Changes settings. Without it, vim.g.sandbox_agent and the defaults count.
---@param settings? table see |sandbox_agent-settings|
function M.setup(settings)
  require('sandbox_agent.config').setup(settings)
end

--- One short text about the current session: "agent running · local · 12.3k tokens", or "".
---@return string
function M.statusline()
  return require('sandbox_agent.status').statusline()
end

return M
