-- Buffers named sandbox-agent://ID are conversations, sandbox-agent-prompt://ID what is written in them: `:e` shows the first
-- and `:w` sends the second.
local M = {}

local conversation, prompt = 'sandbox-agent://', 'sandbox-agent-prompt://'

---@param id string
function M.conversation(id)
  return conversation .. id
end

---@param id string
function M.prompt(id)
  return prompt .. id
end

--- Answers BufReadCmd and BufWriteCmd.
---@param event table
function M.handle(event)
  local is_prompt = vim.startswith(event.match, prompt)
  local id = event.match:sub(#(is_prompt and prompt or conversation) + 1)
  if event.event == 'BufWriteCmd' then
    require('sandbox_agent.prompt').send(id)
  elseif is_prompt then
    require('sandbox_agent.prompt').setup(event.buf, id)
  else
    require('sandbox_agent.conversation').setup(event.buf, id)
  end
end

return M
