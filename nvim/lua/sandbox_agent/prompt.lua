-- The prompt: a small buffer below the conversation whose text is sent by `:w` or by a key. It is emptied only when the server
-- has the text, so that nothing that was written is lost.
local server = require('sandbox_agent.server')
local sessions = require('sandbox_agent.sessions')

local M = {}

local sending = {} ---@type table<integer, boolean> buffers whose text is on its way
local tries = {} ---@type table<integer, { text: string, id: string }> what was sent last, to repeat it under the same id
local contexts = {} ---@type table<string, sandboxagent.Context[]> by session: what goes with the next question

---@param buf integer
---@param id string
function M.setup(buf, id)
  vim.b[buf].sandbox_agent_session = id
  local bo = vim.bo[buf]
  bo.buftype, bo.bufhidden, bo.swapfile = 'acwrite', 'hide', false
  bo.filetype = 'sandboxagentprompt'
  bo.omnifunc = "v:lua.require'sandbox_agent.mentions'.complete"
  bo.modified = false
  pcall(vim.treesitter.start, buf, 'markdown')
  require('sandbox_agent.keys').map(buf, 'prompt')
end

---@param win integer
function M.window_options(win)
  local wo = vim.wo[win][0]
  wo.winbar = "%{%v:lua.require'sandbox_agent.prompt'.winbar()%}"
  wo.statusline = ' prompt%( %m%)'
  wo.number, wo.relativenumber, wo.signcolumn = false, false, 'no'
  wo.wrap, wo.linebreak, wo.spell, wo.list = true, true, false, false
end

--- The line above the prompt: what sending would do.
---@return string
function M.winbar()
  local id = vim.b.sandbox_agent_session or ''
  local session = sessions.known(id)
  if not session then
    return ''
  end
  local what = session:busy() and 'Ask when the turn has ended' or 'Ask'
  local count = #(contexts[id] or {})
  local with = count > 0 and (' · with %d selection%s'):format(count, count == 1 and '' or 's') or ''
  return '%#SandboxAgentHint# ' .. what .. with .. ' · g? lists the keys%*'
end

--- Lets something of the editor go with the next question.
---@param id string
---@param context sandboxagent.Context
function M.add_context(id, context)
  contexts[id] = contexts[id] or {}
  table.insert(contexts[id], context)
  require('sandbox_agent.status').refresh()
end

local function prompt_buffer(id)
  local buf = vim.fn.bufnr('^' .. require('sandbox_agent.uri').prompt(id) .. '$')
  return buf > 0 and vim.api.nvim_buf_is_loaded(buf) and buf or nil
end

local function text_of(buf)
  return vim.trim(table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n'))
end

local counter = 0

--- An id by which the server knows a request that is sent again.
---@return string
function M.request_id()
  counter = counter + 1
  return ('nvim-%d-%d-%d'):format(vim.fn.getpid(), vim.uv.hrtime() / 1e6, counter)
end

local function id_for(buf, text)
  local last = tries[buf]
  if not last or last.text ~= text then
    tries[buf] = { text = text, id = M.request_id() }
  end
  return tries[buf].id
end

--- Sends the text of the prompt, as a question or to the running turn.
---@param id string of the session
---@param steer? boolean
function M.send(id, steer)
  local buf = prompt_buffer(id)
  local text = buf and text_of(buf) or ''
  if text == '' then
    return require('sandbox_agent.say').info('There is nothing to send: write into the prompt first.')
  end
  if sending[buf] then
    return
  end
  sending[buf] = true
  local session = sessions.known(id)
  local params = { sessionId = id, text = text, requestId = id_for(buf, text) }
  if steer then
    params.expectedTurnId = session and session.info.turnId or 0
  else
    params.workspaceFolder = session and session.info.workspaceFolder -- whose unsaved text goes along
    params.context = require('sandbox_agent.mentions').context(text, params.workspaceFolder or '', contexts[id])
  end
  server.request(steer and 'steer' or 'ask', params, function(err)
    sending[buf] = nil
    if err then
      return require('sandbox_agent.say').error(err)
    end
    tries[buf] = nil
    contexts[id] = not steer and nil or contexts[id]
    if vim.api.nvim_buf_is_valid(buf) and text_of(buf) == text then
      vim.api.nvim_buf_set_lines(buf, 0, -1, false, {})
      vim.bo[buf].modified = false
    end
    require('sandbox_agent.status').refresh()
  end)
end

return M
