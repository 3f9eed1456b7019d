-- What an item left out of the conversation, in a buffer of its own, read piece by piece; and the files that an item names.
local say = require('sandbox_agent.say')
local server = require('sandbox_agent.server')

local M = {}

local page = 192 * 1024 -- bytes of one read
local max_bytes = 64 * 1024 * 1024 -- shown; the rest is in no buffer

local function scratch(name, filetype)
  local old = vim.fn.bufnr('^' .. name .. '$')
  if old > 0 then
    vim.api.nvim_buf_delete(old, { force = true })
  end
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buf, name)
  vim.bo[buf].bufhidden, vim.bo[buf].undolevels = 'wipe', -1
  vim.bo[buf].filetype = filetype
  vim.cmd('botright split')
  vim.api.nvim_win_set_buf(0, buf)
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = buf, nowait = true, desc = 'Close' })
  return buf
end

local function append(buf, text)
  local last = vim.api.nvim_buf_line_count(buf) - 1
  local column = #vim.api.nvim_buf_get_lines(buf, last, last + 1, false)[1]
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_text(buf, last, column, last, column, vim.split(text, '\n', { plain = true }))
  vim.bo[buf].modifiable, vim.bo[buf].modified = false, false
end

--- Shows lines in a buffer of their own.
---@param name string
---@param lines string[]
function M.text(name, lines)
  append(scratch(name, ''), table.concat(lines, '\n'))
end

--- Reads one stream from its beginning to its end into a buffer.
local function read(buf, params)
  server.request('readOutput', params, function(err, result)
    if not vim.api.nvim_buf_is_valid(buf) then
      return -- closed meanwhile: nobody wants the rest
    end
    if err then
      return say.error(err)
    end
    append(buf, result.encoding == 'base64' and vim.base64.decode(result.data) or result.data)
    local more = result['end'] < result.total and result['end'] > result.offset
    if more and result['end'] < max_bytes then
      params.offset = result['end']
      read(buf, params)
    elseif more then
      append(buf, '\n… the rest is not shown: it is too large.')
    end
  end)
end

--- Reads one stream as a whole, then calls back with it.
local function read_all(params, callback, pieces)
  pieces = pieces or {}
  server.request('readOutput', params, function(err, result)
    if err then
      return say.error(err)
    end
    pieces[#pieces + 1] = result.encoding == 'base64' and vim.base64.decode(result.data) or result.data
    if result['end'] >= result.total or result['end'] <= result.offset then
      return callback(table.concat(pieces))
    end
    params.offset = result['end']
    read_all(params, callback, pieces)
  end)
end

--- Shows the change that a call would make.
local function proposal(session, item)
  local params = { sessionId = session.id, itemId = item.id, stream = 'arguments', offset = 0, limit = page }
  read_all(params, function(arguments)
    local buf = scratch(('sandbox-agent-change://%s/%s'):format(session.id, item.id), 'diff')
    append(buf, require('sandbox_agent.render').patch(arguments) or arguments)
  end)
end

local function stream_of(item)
  if item.kind ~= 'toolCall' then
    return 'text', 'markdown'
  elseif item.diff and item.diff ~= '' then
    return 'diff', 'diff'
  end
  return item.output and item.output.stream or 'stdout', ''
end

local function item_at(session, line)
  local entry = session and session.view:at(line)
  return entry and session.by_id[entry.id], entry
end

--- Shows the whole of what an item has made.
---@param session sandbox_agent.Session
---@param line integer
function M.whole(session, line)
  local item = item_at(session, line)
  if not item then
    return
  end
  if item.status == 'inProgress' and item.tool == require('sandbox_agent.render').patch_tool then
    return proposal(session, item)
  end
  local stream, filetype = stream_of(item)
  local buf = scratch(('sandbox-agent-output://%s/%s'):format(session.id, item.id), filetype)
  read(buf, { sessionId = session.id, itemId = item.id, stream = stream, offset = 0, limit = page })
end

--- The path of a file of the session's workspace, if that is on this machine's disk.
---@param session sandbox_agent.Session
---@param path string relative to the workspace
---@return string?
function M.local_path(session, path)
  local backend = session.info.backend
  if backend.kind ~= 'local' then
    return nil
  end
  local root = backend.workspaceRoot ~= nil and backend.workspaceRoot ~= '' and backend.workspaceRoot
    or vim.uri_to_fname(session.info.workspaceFolder)
  return vim.startswith(path, '/') and path or vim.fs.joinpath(root, path)
end

--- Opens a file in a window that shows a file, or in a new one.
---@param path string
---@param line? integer
function M.edit(path, line)
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.bo[vim.api.nvim_win_get_buf(win)].buftype == '' then
      vim.api.nvim_set_current_win(win)
      vim.cmd.edit({ args = { path }, magic = { file = false } })
      return line and pcall(vim.api.nvim_win_set_cursor, 0, { line, 0 })
    end
  end
  vim.cmd.vsplit({ args = { path }, mods = { split = 'topleft' }, magic = { file = false } })
  return line and pcall(vim.api.nvim_win_set_cursor, 0, { line, 0 })
end

local function older(session)
  session:older(function(err)
    if err then
      return say.error(err)
    end
    session.view:prepend()
  end)
end

--- Does what <CR> stands for at a line: older items, the file of a change, or what is closed.
---@param session sandbox_agent.Session
---@param line integer
function M.open(session, line)
  local item, entry = item_at(session, line)
  if entry and entry.id == 'older' then
    return older(session)
  end
  if not item then
    return
  end
  local file = entry.opened and item.files and item.files[1]
  local path = file and file.kind ~= 'removed' and M.local_path(session, file.path)
  if not path then
    session.view:toggle(line)
    return
  end
  M.edit(path, tonumber((item.diff or ''):match('\n@@ %-%d+,?%d* %+(%d+)')))
end

return M
