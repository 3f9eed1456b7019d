-- Conversations in windows: the buffer of a session, the window it stands in, the prompt below it.
local config = require('sandbox_agent.config')
local sessions = require('sandbox_agent.sessions')

local M = {}

local group = vim.api.nvim_create_augroup('sandbox_agent_conversation', {})

local links = {
  User = 'Title',
  Tool = 'Function',
  ToolFailed = 'DiagnosticError',
  Approval = 'DiagnosticWarn',
  ApprovalSubject = 'String',
  Notice = 'DiagnosticInfo',
  Reasoning = 'Comment',
  Output = 'Comment',
  Hint = 'NonText',
  DiffAdd = 'Added',
  DiffDelete = 'Removed',
  DiffHunk = 'Changed',
  Running = 'DiagnosticInfo',
  Idle = 'DiagnosticOk',
}

local function highlight()
  for name, link in pairs(links) do
    vim.api.nvim_set_hl(0, 'SandboxAgent' .. name, { link = link, default = true })
  end
end

--- The names of the highlight groups, for the tests of the help.
---@return string[]
function M.highlights()
  return vim.tbl_map(function(name)
    return 'SandboxAgent' .. name
  end, vim.tbl_keys(links))
end

local function window_options(win)
  local wo = vim.wo[win][0]
  wo.winbar = "%{%v:lua.require'sandbox_agent.status'.winbar()%}"
  wo.wrap, wo.linebreak, wo.breakindent = true, true, true
  wo.number, wo.relativenumber, wo.signcolumn = false, false, 'no'
  wo.statusline = "%{%v:lua.require'sandbox_agent.status'.title()%}"
  wo.foldenable, wo.spell, wo.list = false, false, false
end

--- Makes a buffer the conversation of a session, when it is read for the first time or again.
---@param buf integer
---@param id string
function M.setup(buf, id)
  highlight()
  local session = sessions.get(id)
  session.view.buf, session.view.parsed = buf, nil
  vim.b[buf].sandbox_agent_session = id
  local bo = vim.bo[buf]
  bo.buftype, bo.bufhidden, bo.swapfile, bo.undolevels = 'acwrite', 'hide', false, -1
  bo.filetype = 'sandboxagent'
  require('sandbox_agent.keys').map(buf, 'transcript')
  vim.api.nvim_clear_autocmds({ group = group, buffer = buf })
  vim.api.nvim_create_autocmd('BufWinEnter', {
    group = group,
    buffer = buf,
    callback = function()
      window_options(vim.api.nvim_get_current_win())
    end,
  })
  vim.api.nvim_create_autocmd('BufEnter', {
    group = group,
    buffer = buf,
    callback = function()
      sessions.use(session)
    end,
  })
  vim.api.nvim_create_autocmd('BufUnload', {
    group = group,
    buffer = buf,
    callback = function()
      session.view:remember()
    end,
  })
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    window_options(win)
  end
  session.view:redraw()
  session.view:restore()
  if not session.connected then
    sessions.attach(id, function(err)
      if err then
        require('sandbox_agent.say').error(err)
      end
    end)
  end
end

local function window_config()
  local window = config.get().window
  local vertical = window.position == 'right' or window.position == 'left'
  local whole = vertical and vim.o.columns or vim.o.lines
  local size = math.floor(window.size < 1 and whole * window.size or window.size)
  local side = ({ top = 'above', bottom = 'below' })[window.position] or window.position
  return { split = side, win = -1, [vertical and 'width' or 'height'] = math.max(size, 10) }
end

local function buffer_named(name)
  local buf = vim.fn.bufadd(name)
  vim.bo[buf].buflisted = false
  if not vim.api.nvim_buf_is_loaded(buf) then
    vim.fn.bufload(buf)
  end
  return buf
end

local function window_of(buf)
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.api.nvim_win_get_buf(win) == buf then
      return win
    end
  end
end

local function session_of(win)
  return vim.b[vim.api.nvim_win_get_buf(win)].sandbox_agent_session
end

local function is(win, filetype)
  return vim.bo[vim.api.nvim_win_get_buf(win)].filetype == filetype
end

local function new_window(buf)
  local position = config.get().window.position
  if position == 'tab' then
    vim.cmd('tab split')
  end
  if position == 'tab' or position == 'current' then
    vim.api.nvim_win_set_buf(0, buf)
    return vim.api.nvim_get_current_win()
  end
  -- another conversation makes room for this one
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if is(win, 'sandboxagent') then
      vim.api.nvim_win_set_buf(win, buf)
      return win
    end
  end
  return vim.api.nvim_open_win(buf, false, window_config())
end

--- The windows of the current tab with a prompt whose conversation is in none of them.
local function lonely_prompts()
  local here = vim.api.nvim_tabpage_list_wins(0)
  local shown = {}
  for _, win in ipairs(here) do
    if is(win, 'sandboxagent') then
      shown[session_of(win) or ''] = true
    end
  end
  return vim.tbl_filter(function(win)
    return is(win, 'sandboxagentprompt') and not shown[session_of(win) or '']
  end, here)
end

local function close_lonely_prompts()
  for _, win in ipairs(lonely_prompts()) do
    if #vim.api.nvim_list_tabpages() == 1 and #vim.api.nvim_tabpage_list_wins(0) == 1 then
      return vim.cmd('silent! quit')
    end
    pcall(vim.api.nvim_win_close, win, false)
  end
end

--- Shows the prompt of a session below its conversation.
---@param session sandbox_agent.Session
---@return integer win
function M.prompt(session)
  local buf = buffer_named(require('sandbox_agent.uri').prompt(session.id))
  local win = window_of(buf)
  if win then
    return win
  end
  win = lonely_prompts()[1]
  if win then
    vim.api.nvim_win_set_buf(win, buf)
  else
    local above = window_of(session.view.buf) or vim.api.nvim_get_current_win()
    win =
      vim.api.nvim_open_win(buf, false, { split = 'below', win = above, height = config.get().window.prompt_height })
  end
  vim.wo[win][0].winfixheight = true
  require('sandbox_agent.prompt').window_options(win)
  return win
end

--- Removes the buffers of a session, of which nothing more is to be seen.
---@param session sandbox_agent.Session
function M.close(session)
  local uri = require('sandbox_agent.uri')
  for _, name in ipairs({ uri.prompt(session.id), uri.conversation(session.id) }) do
    local buf = vim.fn.bufnr('^' .. name .. '$')
    if buf > 0 then
      vim.api.nvim_buf_delete(buf, { force = true })
    end
  end
end

--- Shows a session and its prompt in the current tab.
---@param session sandbox_agent.Session
---@param focus? "prompt"|"transcript" where the cursor goes, into the prompt to write; default: where it was
function M.show(session, focus)
  local buf = buffer_named(require('sandbox_agent.uri').conversation(session.id))
  local win = window_of(buf)
  if not win then
    win = new_window(buf)
    vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(buf), 0 })
  end
  local prompt = M.prompt(session)
  sessions.use(session)
  if focus then
    vim.api.nvim_set_current_win(focus == 'prompt' and prompt or win)
  end
  if focus == 'prompt' then
    vim.cmd.startinsert({ bang = true })
  end
end

--- Reports whether a conversation is in a window of the current tab.
---@param session sandbox_agent.Session
---@return boolean
function M.visible(session)
  return session.view.buf ~= nil and window_of(session.view.buf) ~= nil
end

vim.api.nvim_create_autocmd('WinClosed', {
  group = group,
  callback = function(event)
    if vim.bo[event.buf].filetype == 'sandboxagent' then
      vim.schedule(close_lonely_prompts)
    end
  end,
})

vim.api.nvim_create_autocmd('ColorScheme', { group = group, callback = highlight })

return M
