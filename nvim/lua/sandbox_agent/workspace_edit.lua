-- Answers workspace/applyEdit: the agent's change of a document with unsaved text is made here, unsaved like that. Everything is
-- changed or nothing, and nothing where the text is another than the server knew.
local buffers = require('sandbox_agent.buffers')
local documents = require('sandbox_agent.documents')
local merge = require('sandbox_agent.merge')

local M = {}

local function refused(reason)
  return { applied = false, failureReason = reason }
end

--- The changes of an edit, in the one form that matters here; nil when it does more than change text.
local function changes_of(edit)
  local changes = {}
  for uri, edits in pairs(edit.changes or {}) do
    changes[#changes + 1] = { uri = uri, edits = edits }
  end
  for _, change in ipairs(edit.documentChanges or {}) do
    if not change.textDocument then
      return nil
    end
    local document = change.textDocument
    changes[#changes + 1] = { uri = document.uri, version = document.version, edits = change.edits }
  end
  return changes
end

--- Whether the buffer is another than the text that a change is meant for.
local function differs(buf, version)
  local doc = documents.get(buf)
  return doc ~= nil and version ~= nil and (doc.dirty or doc.version ~= version)
end

--- Orders edits so that none moves the place of a later one.
local function last_first(edits)
  local ordered = {}
  for i, edit in ipairs(edits) do
    ordered[i] = { edit = edit, number = i }
  end
  table.sort(ordered, function(a, b)
    local x, y = a.edit.range.start, b.edit.range.start
    if x.line ~= y.line then
      return x.line > y.line
    end
    if x.character ~= y.character then
      return x.character > y.character
    end
    return a.number > b.number
  end)
  return ordered
end

--- The line (1-based) and the byte offset in it of an LSP position; what is past an end stands for the end.
local function place(lines, position)
  if position.line >= #lines then
    return #lines, #lines[#lines]
  end
  local line = lines[position.line + 1]
  local byte = vim.fn.byteidx(line, position.character, true)
  return position.line + 1, byte < 0 and #line or byte
end

--- The lines of a buffer as edits make them, and whether the last one has an end.
local function edited(buf, edits)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  if vim.bo[buf].endofline then
    lines[#lines + 1] = '' -- where LSP has a position behind the last line
  end
  for _, ordered in ipairs(last_first(edits)) do
    local range = ordered.edit.range
    local first, head = place(lines, range.start)
    local last, tail = place(lines, range['end'])
    local text = lines[first]:sub(1, head) .. ordered.edit.newText:gsub('\r\n?', '\n') .. lines[last]:sub(tail + 1)
    local new = vim.split(text, '\n', { plain = true })
    lines = vim.iter({ vim.list_slice(lines, 1, first - 1), new, vim.list_slice(lines, last + 1) }):flatten():totable()
  end
  local eol = #lines > 1 and lines[#lines] == ''
  if eol then
    lines[#lines] = nil
  end
  return lines, eol
end

---@param params table
---@return table
function M.apply(params)
  local changes = changes_of(params.edit or {})
  if not changes then
    return refused('files are made, renamed and removed on disk, not in the editor')
  end
  for _, change in ipairs(changes) do
    change.buf = vim.uri_to_bufnr(change.uri)
    vim.fn.bufload(change.buf)
    if differs(change.buf, change.version) then
      return refused('the user has typed meanwhile')
    end
    change.lines, change.eol = edited(change.buf, change.edits)
  end
  for _, change in ipairs(changes) do
    local before = vim.api.nvim_buf_get_lines(change.buf, 0, -1, false)
    buffers.edit(change.buf, (merge.edits(before, before, change.lines)))
    vim.bo[change.buf].endofline = change.eol
  end
  documents.flush() -- the server waits to hear of the text as it is now
  return { applied = true }
end

return M
