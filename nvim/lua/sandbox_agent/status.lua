-- What a session is doing, in one line: for winbars and the user's statusline.
local M = {}

local words = {
  idle = 'ready',
  running = 'running',
  waitingApproval = 'asks you',
  paused = 'paused',
  switching = 'moving',
  recovering = 'recovering',
  failed = 'failed',
  destroyed = 'destroyed',
}

local groups = {
  running = 'SandboxAgentRunning',
  switching = 'SandboxAgentRunning',
  recovering = 'SandboxAgentRunning',
  waitingApproval = 'SandboxAgentApproval',
  failed = 'SandboxAgentToolFailed',
}

local function tokens(usage)
  local count = (usage.inputTokens or 0) + (usage.outputTokens or 0)
  if count < 1000 then
    return count .. ' tokens'
  end
  return count < 1e6 and ('%.1fk tokens'):format(count / 1000) or ('%.1fM tokens'):format(count / 1e6)
end

local function escaped(text)
  return (text:gsub('[%c]', ' '):gsub('%%', '%%%%'))
end

local function short(text, width)
  return vim.fn.strdisplaywidth(text) > width and vim.fn.strcharpart(text, 0, width - 1) .. '…' or text
end

--- Why the session is in its state, or what stands between it and us.
---@param session sandbox_agent.Session
---@return string status
---@return string reason
local function state(session)
  if not session.connected or session.away then
    return 'failed', session.away or session.problem or 'Connecting.'
  end
  return session.state.status, session.state.reason or ''
end

local function word_for(session, status)
  return session.connected and not session.away and words[status] or 'away'
end

--- The winbar of a conversation, for the window that is being drawn.
---@return string
function M.winbar()
  -- while a winbar is evaluated, its window is the current one
  local session = require('sandbox_agent.sessions').known(vim.b.sandbox_agent_session or '')
  if not session then
    return ''
  end
  local width = vim.api.nvim_win_get_width(0)
  local status, reason = state(session)
  local word = word_for(session, status)
  local waiting = (#session.queued > 0 and ('  %d wait'):format(#session.queued) or '')
    .. (#session.background > 0 and ('  %d in the background'):format(#session.background) or '')
  local info = session.info
  local right = ('%s  %s  %s'):format(info.backend.kind, info.model, tokens(info.usage))
  if status == 'failed' then
    right = info.backend.kind -- the reason needs the room
  end
  local room = width - vim.fn.strdisplaywidth(right) - #word - #waiting - 6
  local left = reason ~= '' and reason or info.title
  left = room > 8 and short(left, room) or ''
  return ('%%#%s# %s%%* %s%s%%=%s '):format(
    groups[status] or 'SandboxAgentIdle',
    word,
    escaped(left),
    waiting,
    escaped(short(right, math.max(width - #word - 4, 1)))
  )
end

--- The statusline of a conversation's window: its title and where it works.
---@return string
function M.title()
  local session = require('sandbox_agent.sessions').known(vim.b.sandbox_agent_session or '')
  return session and ' ' .. escaped(session.info.title) .. '%=%P ' or ''
end

--- One short text about the current session for a statusline; "" when there is none.
---@return string
function M.statusline()
  if not package.loaded['sandbox_agent.sessions'] then
    return ''
  end
  local session = require('sandbox_agent.sessions').current()
  if not session then
    return ''
  end
  local status = state(session)
  local word = word_for(session, status)
  return escaped(('agent %s · %s · %s'):format(word, session.info.backend.kind, tokens(session.info.usage)))
end

local planned = false

--- Draws winbars and statuslines anew, once for many changes.
function M.refresh()
  if planned then
    return
  end
  planned = true
  vim.schedule(function()
    planned = false
    vim.cmd.redrawstatus({ bang = true })
  end)
end

return M
