-- Answers approvals, and tells of those whose conversation is not shown.
local say = require('sandbox_agent.say')
local server = require('sandbox_agent.server')

local M = {}

local function send(session, approval, decision, more)
  server.request('answerApproval', {
    sessionId = session.id,
    approvalId = approval.id,
    decision = decision,
    feedback = more.feedback,
    scope = more.scope,
    requestId = require('sandbox_agent.prompt').request_id(),
  }, function(err, result)
    if err then
      return say.error(err)
    end
    if result.already then
      say.info(('%s had answered already: %s.'):format(result.decidedBy, result.decision))
    end
  end)
end

---@class sandbox_agent.Answer
---@field feedback? string|true why it is denied; true: the user is asked
---@field scope? "session"|"workspace" where it is allowed for always

--- Answers an approval.
---@param session sandbox_agent.Session
---@param approval sandboxagent.Approval
---@param decision "allow"|"allowAlways"|"deny"
---@param more? sandbox_agent.Answer
function M.answer(session, approval, decision, more)
  more = more or {}
  if more.feedback ~= true then
    return send(session, approval, decision, more)
  end
  vim.ui.input({ prompt = 'Why not? ' }, function(text)
    if text and text ~= '' then
      send(session, approval, decision, { feedback = text })
    end
  end)
end

vim.api.nvim_create_autocmd('User', {
  group = vim.api.nvim_create_augroup('sandbox_agent_approvals', {}),
  pattern = { 'SandboxAgentApprovalRequested', 'SandboxAgentTurnFinished' },
  callback = function(event)
    local session = require('sandbox_agent.sessions').known(event.data.session_id)
    local notify = require('sandbox_agent.config').get().notify
    if not session or not notify or require('sandbox_agent.conversation').visible(session) then
      return
    end
    if event.match == 'SandboxAgentApprovalRequested' then
      say.info('It asks to run: ' .. (event.data.subject or '') .. '  (:SandboxAgent approve, deny or open)')
    else
      say.info(('Turn %d %s: %s'):format(event.data.turn_id, event.data.status, session.info.title))
    end
  end,
})

return M
