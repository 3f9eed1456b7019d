-- The keys of our own buffers: what each does, where it can be changed, and the list that g? shows.
local config = require('sandbox_agent.config')

local M = {}

--- The session of the current buffer; tells when it is not followed any more.
local function session()
  local known = require('sandbox_agent.sessions').known(vim.b.sandbox_agent_session or '')
  if not known then
    require('sandbox_agent.say').info('This conversation is not followed any more; :e tries to attach again.')
  end
  return known
end

--- Calls fn with the session of the current buffer and the line of the cursor.
local function with_session(fn)
  return function()
    local s = session()
    if s then
      fn(s, vim.api.nvim_win_get_cursor(0)[1])
    end
  end
end

--- The approval at the cursor, else the oldest one.
local function approval(s, line)
  local entry = s.view:at(line)
  for _, a in ipairs(s.approvals) do
    if entry and a.itemId == entry.id then
      return a
    end
  end
  return s.approvals[1]
end

local function decide(decision, with_feedback)
  return with_session(function(s, line)
    local which = approval(s, line)
    if not which then
      return require('sandbox_agent.say').info('Nothing waits for an answer.')
    end
    require('sandbox_agent.approvals').answer(s, which, decision, { feedback = with_feedback })
  end)
end

local function stop(s, line)
  local entry = s.view:at(line)
  for _, command in ipairs(s:commands()) do
    if entry and command.itemId == entry.id then
      return vim.cmd('SandboxAgent stop ' .. command.itemId)
    end
  end
  vim.cmd('SandboxAgent stop')
end

local function run(command)
  return function()
    vim.cmd('SandboxAgent ' .. command)
  end
end

local function jump(step)
  return with_session(function(s, line)
    local target
    for _, row in ipairs(s.view:questions()) do
      if step > 0 and row + 1 > line then
        target = target or row + 1
      elseif step < 0 and row + 1 < line then
        target = row + 1
      end
    end
    if target then
      vim.api.nvim_win_set_cursor(0, { target, 0 })
    end
  end)
end

local function hunk(flags)
  return function()
    vim.fn.search('^@@ ', flags)
  end
end

--- Calls a function of a module with the line of the cursor.
local function at_line(module, name)
  return function()
    require('sandbox_agent.' .. module)[name](vim.api.nvim_win_get_cursor(0)[1])
  end
end

local function send(steer)
  return function()
    require('sandbox_agent.prompt').send(vim.b.sandbox_agent_session, steer)
  end
end

local function help(place)
  return function()
    M.help(place)
  end
end

local function close()
  vim.cmd('silent! close')
end

--- Opens or closes what is at the cursor.
local function fold(opened)
  return with_session(function(s, line)
    s.view:toggle(line, opened)
  end)
end

local function fold_all(opened)
  return with_session(function(s, line)
    s.view:toggle_all(line, opened)
  end)
end

local open = with_session(function(s, line)
  require('sandbox_agent.output').open(s, line)
end)

local whole = with_session(function(s, line)
  require('sandbox_agent.output').whole(s, line)
end)

local write = with_session(function(s)
  require('sandbox_agent.conversation').show(s, 'prompt')
end)

---@class sandbox_agent.Action
---@field [1] string its name in the settings
---@field [2] string what it does
---@field [3] function
---@field mode? string

---@type table<string, sandbox_agent.Action[]>
local actions = {
  transcript = {
    { 'allow', 'allow the tool call at the cursor, else the oldest that waits', decide('allow') },
    { 'allow_always', 'allow it, and what is like it from now on', decide('allowAlways') },
    { 'deny', 'deny it', decide('deny') },
    { 'deny_feedback', 'deny it and say why', decide('deny', true) },
    { 'toggle', 'open or close what is at the cursor', fold() },
    { 'unfold', 'open it', fold(true) },
    { 'fold', 'close it', fold(false) },
    { 'unfold_all', 'open all tool calls, also those that come', fold_all(true) },
    { 'fold_all', 'close all', fold_all(false) },
    { 'open', 'open the file at the cursor, older items, or what is closed', open },
    { 'whole', 'show the whole output, answer or diff', whole },
    { 'prompt', 'write into the prompt', write },
    { 'interrupt', 'interrupt the turn', run('interrupt') },
    { 'stop', 'stop the command at the cursor, else the one that runs', with_session(stop) },
    { 'next', 'go to your next message', jump(1) },
    { 'previous', 'go to your message before', jump(-1) },
    { 'diff', 'show what the session has changed', run('diff') },
    { 'sessions', 'choose another session', run('sessions') },
    { 'close', 'close the window; the turn goes on', close },
    { 'help', 'list the keys', help('transcript') },
  },
  prompt = {
    { 'send', 'send', send() },
    { 'send_insert', 'send, in Insert mode', send(), mode = 'i' },
    { 'steer', 'send to the running turn', send(true) },
    { 'interrupt', 'interrupt the turn', run('interrupt') },
    { 'help', 'list the keys', help('prompt') },
  },
  diff = {
    { 'accept', 'accept the hunk at the cursor: it is done with', at_line('diff', 'accept') },
    { 'reject', 'reject it: take it back in the file and tell the agent why', at_line('diff', 'reject') },
    { 'open', 'open the file at the line of the cursor', at_line('diff', 'open') },
    { 'next', 'go to the next hunk', hunk('W') },
    { 'previous', 'go to the hunk before', hunk('bW') },
    { 'close', 'close; this decides nothing', close },
    { 'help', 'list the keys', help('diff') },
  },
}

local function keys_of(place, action)
  local lhs = config.get().keys[place][action]
  return type(lhs) == 'table' and lhs or lhs and { lhs } or {}
end

--- Maps the keys of a place in a buffer.
---@param buf integer
---@param place "transcript"|"prompt"|"diff"
function M.map(buf, place)
  for _, action in ipairs(actions[place]) do
    for _, lhs in ipairs(keys_of(place, action[1])) do
      local opts = { buffer = buf, nowait = true, desc = 'Sandbox Agent: ' .. action[2] }
      vim.keymap.set(action.mode or 'n', lhs, action[3], opts)
    end
  end
end

--- Shows the keys of a place in a small window that any of q, <Esc> and g? closes.
---@param place "transcript"|"prompt"|"diff"
function M.help(place)
  local lines, width = {}, 0
  for _, action in ipairs(actions[place]) do
    local keys = table.concat(keys_of(place, action[1]), ' ')
    if keys ~= '' then
      lines[#lines + 1] = (' %-14s %s '):format(keys, action[2])
      width = math.max(width, #lines[#lines])
    end
  end
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable, vim.bo[buf].bufhidden = false, 'wipe'
  width = math.min(width, vim.o.columns - 4)
  vim.api.nvim_open_win(buf, true, {
    relative = 'editor',
    width = width,
    height = #lines,
    row = math.max(0, math.floor((vim.o.lines - #lines) / 2) - 1),
    col = math.max(0, math.floor((vim.o.columns - width) / 2)),
    style = 'minimal',
    border = 'rounded',
    title = ' Keys ',
  })
  for _, lhs in ipairs({ 'q', '<Esc>', 'g?' }) do
    vim.keymap.set('n', lhs, '<Cmd>close<CR>', { buffer = buf, nowait = true })
  end
end

return M
