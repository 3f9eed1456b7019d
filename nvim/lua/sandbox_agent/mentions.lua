-- What a question can mention: files, which the server reads, and what only Neovim knows, the selection and diagnostics. How a
-- mention is written is the server's affair: here it is only completed, and what may be needed is sent along.
local M = {}

local max_diagnostics = 200
local max_files = 500 -- offered

--- The file that was looked at last.
local function last_file()
  local latest
  for _, info in ipairs(vim.fn.getbufinfo({ bufloaded = 1 })) do
    local file = vim.bo[info.bufnr].buftype == '' and info.name ~= ''
    if file and (not latest or info.lastused > latest.lastused) then
      latest = info
    end
  end
  return latest and latest.bufnr
end

--- Lines of a buffer as context of a question.
---@param buf integer
---@param first integer
---@param last integer
---@return sandboxagent.Context
function M.lines(buf, first, last)
  local lines = vim.api.nvim_buf_get_lines(buf, first - 1, last, false)
  local name = vim.api.nvim_buf_get_name(buf)
  return {
    kind = 'selection',
    uri = name ~= '' and vim.uri_from_fname(name) or nil,
    range = {
      start = { line = first - 1, character = 0 },
      ['end'] = { line = first + #lines - 2, character = vim.fn.strutf16len(lines[#lines] or '') },
    },
    text = table.concat(lines, '\n'),
    unsaved = vim.bo[buf].modified or nil,
  }
end

--- The lines that were selected last in the file that was looked at last.
local function selection()
  local buf = last_file()
  local first = buf and vim.api.nvim_buf_get_mark(buf, '<')[1] or 0
  local last = buf and vim.api.nvim_buf_get_mark(buf, '>')[1] or 0
  return first > 0 and last >= first and M.lines(buf, first, last) or nil
end

local severities = { 'error', 'warning', 'information', 'hint' }

--- What language servers and linters say of the open files of a folder.
local function diagnostics(folder)
  local all = vim.tbl_filter(function(d)
    return vim.startswith(vim.api.nvim_buf_get_name(d.bufnr), folder .. '/')
  end, vim.diagnostic.get())
  table.sort(all, function(a, b)
    return a.severity < b.severity
  end)
  local lines = {}
  for _, d in ipairs(vim.list_slice(all, 1, max_diagnostics)) do
    local name = vim.api.nvim_buf_get_name(d.bufnr):sub(#folder + 2)
    local message = d.message:gsub('%s+', ' ')
    lines[#lines + 1] = ('%s:%d:%d: %s: %s'):format(name, d.lnum + 1, d.col + 1, severities[d.severity], message)
  end
  if #all > max_diagnostics then
    lines[#lines + 1] = ('and %d more'):format(#all - max_diagnostics)
  end
  return { kind = 'diagnostics', text = #lines > 0 and table.concat(lines, '\n') or 'There are none.' }
end

--- What goes with a question because its text may mention it, besides what is given.
---@param text string
---@param folder string uri
---@param given? sandboxagent.Context[]
---@return sandboxagent.Context[]?
function M.context(text, folder, given)
  local parts = vim.list_slice(given or {})
  if
    text:find('@selection', 1, true)
    and not vim.tbl_contains(
      vim.tbl_map(function(p)
        return p.kind
      end, parts),
      'selection'
    )
  then
    parts[#parts + 1] = selection()
  end
  if text:find('@diagnostics', 1, true) then
    parts[#parts + 1] = diagnostics(vim.uri_to_fname(folder))
  end
  return #parts > 0 and parts or nil
end

--- What the mention that begins with base can be.
---@param folder string path
---@param base string with its @
---@return string[]
function M.candidates(folder, base)
  local typed = base:gsub('^@"?', '')
  local found = vim.tbl_filter(function(word)
    return vim.startswith(word, base)
  end, { '@selection', '@diagnostics' })
  local dir = typed:match('^(.*/)') or ''
  local names = {}
  for name, kind in vim.fs.dir(vim.fs.joinpath(folder, dir)) do
    local path = dir .. name
    if vim.startswith(path, typed) and (name:sub(1, 1) ~= '.' or vim.startswith(typed, dir .. '.')) then
      names[#names + 1] = path .. (kind == 'directory' and '/' or '')
    end
    if #names == max_files then
      break
    end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    found[#found + 1] = name:find('%s') and ('@"%s"'):format(name) or '@' .. name
  end
  return found
end

--- Completes mentions in a prompt; see 'omnifunc'.
---@param findstart integer
---@param base string
---@return integer|string[]
function M.complete(findstart, base)
  if findstart == 1 then
    local before = vim.api.nvim_get_current_line():sub(1, vim.api.nvim_win_get_cursor(0)[2])
    local start = before:find('@"[^"]*$') or before:find('@%S*$')
    return start and start - 1 or -3
  end
  local session = require('sandbox_agent.sessions').known(vim.b.sandbox_agent_session or '')
  local uri = session and session.info.workspaceFolder
  return uri and M.candidates(vim.uri_to_fname(uri), base) or {}
end

return M
