-- The keys of our own buffers: what each does, where it can be changed, and the list that g? shows.
local config = require('sandbox_agent.config')

local M = {}

local function session()
  return require('sandbox_agent.sessions').known(vim.b.sandbox_agent_session or '')
end

local function line()
  return vim.api.nvim_win_get_cursor(0)[1]
end

--- The approval at the cursor, else the oldest one.
local function approval(s)
  local entry = s.view:at(line())
  for _, a in ipairs(s.approvals) do
    if entry and a.itemId == entry.id then
      return a
    end
  end
  return s.approvals[1]
end

local function decide(decision, with_feedback)
  return function()
    local s = session()
    local which = s and approval(s)
    if not which then
      return require('sandbox_agent.say').info('Nothing waits for an answer.')
    end
    require('sandbox_agent.approvals').answer(s, which, decision, with_feedback)
  end
end

local function run(command)
  return function()
    vim.cmd('SandboxAgent ' .. command)
  end
end

local function jump(step)
  return function()
    local s = session()
    local rows = s and s.view:questions() or {}
    local here, target = line(), nil
    for _, row in ipairs(rows) do
      if step > 0 and row + 1 > here then
        target = target or row + 1
      elseif step < 0 and row + 1 < here then
        target = row + 1
      end
    end
    if target then
      vim.api.nvim_win_set_cursor(0, { target, 0 })
    end
  end
end

local function hunk(step)
  return function()
    vim.fn.search('^@@ ', step > 0 and 'W' or 'bW')
  end
end

---@type table<string, { [1]: string, [2]: string, [3]: function, mode?: string }[]> place → action, what it does, how
local actions = {
  transcript = {
    { 'allow', 'allow the tool call at the cursor, else the oldest that waits', decide('allow') },
    { 'allow_always', 'allow it, and what is like it from now on', decide('allowAlways') },
    { 'deny', 'deny it', decide('deny') },
    { 'deny_feedback', 'deny it and say why', decide('deny', true) },
    {
      'toggle',
      'open or close what is at the cursor',
      function()
        local s = session()
        return s and s.view:toggle(line())
      end,
    },
    {
      'open',
      'open the file at the cursor, older items, or what is closed',
      function()
        require('sandbox_agent.output').open(session(), line())
      end,
    },
    {
      'whole',
      'show the whole output, answer or diff',
      function()
        require('sandbox_agent.output').whole(session(), line())
      end,
    },
    {
      'prompt',
      'write into the prompt',
      function()
        vim.api.nvim_set_current_win(require('sandbox_agent.conversation').prompt(session()))
        vim.cmd.startinsert({ bang = true })
      end,
    },
    { 'interrupt', 'interrupt the turn', run('interrupt') },
    { 'next', 'go to your next message', jump(1) },
    { 'previous', 'go to your message before', jump(-1) },
    { 'diff', 'show what the session has changed', run('diff') },
    { 'sessions', 'choose another session', run('sessions') },
    {
      'close',
      'close the window; the turn goes on',
      function()
        vim.cmd('silent! close')
      end,
    },
    {
      'help',
      'list the keys',
      function()
        M.help('transcript')
      end,
    },
  },
  prompt = {
    {
      'send',
      'send',
      function()
        require('sandbox_agent.prompt').send(vim.b.sandbox_agent_session)
      end,
    },
    {
      'send_insert',
      'send, in Insert mode',
      function()
        require('sandbox_agent.prompt').send(vim.b.sandbox_agent_session)
      end,
      mode = 'i',
    },
    {
      'steer',
      'send to the running turn',
      function()
        require('sandbox_agent.prompt').send(vim.b.sandbox_agent_session, true)
      end,
    },
    { 'interrupt', 'interrupt the turn', run('interrupt') },
    {
      'help',
      'list the keys',
      function()
        M.help('prompt')
      end,
    },
  },
  diff = {
    {
      'accept',
      'accept the hunk at the cursor: it is done with',
      function()
        require('sandbox_agent.diff').accept(line())
      end,
    },
    {
      'reject',
      'reject it: take it back in the file and tell the agent why',
      function()
        require('sandbox_agent.diff').reject(line())
      end,
    },
    {
      'open',
      'open the file at the line of the cursor',
      function()
        require('sandbox_agent.diff').open(line())
      end,
    },
    { 'next', 'go to the next hunk', hunk(1) },
    { 'previous', 'go to the hunk before', hunk(-1) },
    {
      'close',
      'close; this decides nothing',
      function()
        vim.cmd('silent! close')
      end,
    },
    {
      'help',
      'list the keys',
      function()
        M.help('diff')
      end,
    },
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
