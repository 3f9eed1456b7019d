-- Tells the server of the files that are open here, so that unsaved text counts. Nothing is sent while the user types: what has
-- changed goes before the next request, or when the user pauses.
local M = {}

local max_bytes = 900 * 1024 -- a message stays below 1 MiB
local pause = 500 -- ms

---@class sandbox_agent.Document
---@field uri string
---@field open boolean the server knows it
---@field dirty boolean it has changed since it was sent
---@field version integer that was sent last
---@field base? string[] the lines on disk before the first unsaved change
---@field stamp string of the file as it was last looked at
---@field too_large? boolean

local documents = {} ---@type table<integer, sandbox_agent.Document>
local timer ---@type uv.uv_timer_t?
local group = vim.api.nvim_create_augroup('sandbox_agent_documents', {})

local function server()
  return require('sandbox_agent.server')
end

--- The text as a save would write it, but for its encoding.
local function text_of(buf)
  local eol = ({ dos = '\r\n', mac = '\r' })[vim.bo[buf].fileformat] or '\n'
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  local text = table.concat(lines, eol)
  return vim.bo[buf].endofline and text .. eol or text
end

local function send_change(buf, doc)
  local text = text_of(buf)
  if #text > max_bytes then
    doc.too_large = true
    return
  end
  doc.version = vim.api.nvim_buf_get_changedtick(buf)
  server().notify('textDocument/didChange', {
    textDocument = { uri = doc.uri, version = doc.version },
    contentChanges = { { text = text } },
  })
end

--- Opens a document as it is on disk, then sends what differs here: so the server knows what is unsaved. A buffer that is not
--- modified is saved also where the file has changed and Neovim has not read it again, which the server could not tell.
local function send_open(buf, doc)
  local modified = vim.bo[buf].modified
  local text = modified and doc.base and table.concat(doc.base, '\n') .. '\n' or text_of(buf)
  if #text > max_bytes then
    doc.too_large = true
    return
  end
  server().notify('textDocument/didOpen', {
    textDocument = { uri = doc.uri, languageId = vim.bo[buf].filetype, version = 0, text = text },
  })
  doc.open, doc.dirty, doc.version = true, modified, 0
  if not modified then
    server().notify('textDocument/didSave', { textDocument = { uri = doc.uri } })
  end
end

--- Sends everything that the server does not know yet.
function M.flush()
  if server().status ~= 'ready' then
    return
  end
  for buf, doc in pairs(documents) do
    if not doc.open and not doc.too_large then
      send_open(buf, doc)
    end
    if doc.open and doc.dirty then
      doc.dirty = false
      send_change(buf, doc)
    end
  end
end

local function flush_soon()
  timer = timer or vim.uv.new_timer()
  timer:start(pause, 0, vim.schedule_wrap(M.flush))
end

local function forget(buf)
  local doc = documents[buf]
  documents[buf] = nil
  if doc and doc.open then
    server().notify('textDocument/didClose', { textDocument = { uri = doc.uri } })
  end
end

local function watch(buf, doc)
  vim.api.nvim_buf_attach(buf, false, {
    on_lines = function()
      if documents[buf] ~= doc then
        return true
      end
      doc.base = doc.base or require('sandbox_agent.disk').read(buf)
      if not doc.dirty then
        doc.dirty = true
        flush_soon()
      end
    end,
    on_reload = function()
      doc.base, doc.dirty = nil, true
    end,
    on_detach = function()
      if documents[buf] == doc then
        forget(buf)
      end
    end,
  })
end

--- Takes a buffer in if it shows a file of a workspace.
---@param buf integer
function M.add(buf)
  if documents[buf] or not vim.api.nvim_buf_is_loaded(buf) or vim.bo[buf].buftype ~= '' then
    return
  end
  local name = vim.api.nvim_buf_get_name(buf)
  if name == '' or name:find('^%a+://') or not server().has_file(name) then
    return
  end
  local doc = {
    uri = vim.uri_from_fname(name),
    open = false,
    dirty = false,
    version = 0,
    stamp = require('sandbox_agent.disk').stamp(buf),
  }
  if vim.bo[buf].modified then
    doc.base = require('sandbox_agent.disk').read(buf)
  end
  documents[buf] = doc
  watch(buf, doc)
  require('sandbox_agent.buffers').guard(buf)
  if server().status == 'ready' then
    send_open(buf, doc)
  end
end

--- Takes in all buffers that are loaded.
function M.adopt()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    M.add(buf)
  end
end

--- The document of a buffer, if it is one of a workspace.
---@param buf integer
---@return sandbox_agent.Document?
function M.get(buf)
  return documents[buf]
end

--- All buffers that are documents.
---@return integer[]
function M.buffers()
  return vim.tbl_keys(documents)
end

--- Notes that a buffer shows what is on disk.
---@param buf integer
function M.saved(buf)
  local doc = documents[buf]
  if not doc then
    return
  end
  doc.base, doc.stamp = nil, require('sandbox_agent.disk').stamp(buf)
  if doc.open then
    M.flush()
    server().notify('textDocument/didSave', { textDocument = { uri = doc.uri } })
  end
end

--- Begins to watch for files that are opened, saved, renamed and closed.
function M.enable()
  local function on(events, callback)
    vim.api.nvim_create_autocmd(events, {
      group = group,
      callback = function(event)
        callback(event.buf)
      end,
    })
  end
  on({ 'BufReadPost', 'BufNewFile' }, M.add)
  on('BufWritePost', function(buf)
    M.add(buf)
    M.saved(buf)
  end)
  on('BufFilePost', function(buf)
    forget(buf)
    M.add(buf)
  end)
  server().on('gone', function()
    for _, doc in pairs(documents) do
      doc.open = false
    end
  end)
  server().on('ready', M.flush)
end

return M
