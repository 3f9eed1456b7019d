-- Brings what the agent changed on disk into loaded buffers: the smallest edits, one undo block, marks and unsaved text kept.
local disk = require('sandbox_agent.disk')
local documents = require('sandbox_agent.documents')
local merge = require('sandbox_agent.merge')

local M = {}

local group = vim.api.nvim_create_augroup('sandbox_agent_buffers', {})
local quiet = {} ---@type table<integer, boolean> buffers whose file is looked at by us

--- Ends the current undo block of a buffer.
local function break_undo(buf)
  vim.bo[buf].undolevels = vim.bo[buf].undolevels
end

--- Replaces one line by changing only the characters that differ.
local function edit_line(buf, row, old, new)
  if old == new then
    return
  end
  local head = 0
  local shortest = math.min(#old, #new)
  while head < shortest and old:byte(head + 1) == new:byte(head + 1) do
    head = head + 1
  end
  local tail = 0
  while tail < shortest - head and old:byte(#old - tail) == new:byte(#new - tail) do
    tail = tail + 1
  end
  vim.api.nvim_buf_set_text(buf, row, head, row, #old - tail, { new:sub(head + 1, #new - tail) })
end

---@param buf integer
---@param edit sandbox_agent.Edit
local function apply(buf, edit)
  local both = math.min(edit.count, #edit.lines)
  local old = vim.api.nvim_buf_get_lines(buf, edit.at - 1, edit.at - 1 + edit.count, false)
  for i = 1, both do
    edit_line(buf, edit.at - 2 + i, old[i], edit.lines[i])
  end
  local rest = edit.at - 1 + both
  vim.api.nvim_buf_set_lines(buf, rest, edit.at - 1 + edit.count, false, vim.list_slice(edit.lines, both + 1))
end

--- Applies edits of somebody else's making, which the file has already or will get: one undo block of their own, after which the
--- buffer counts as modified only if it did before.
---@param buf integer
---@param edits sandbox_agent.Edit[] last one first
local function apply_all(buf, edits)
  local modifiable, clean = vim.bo[buf].modifiable, not vim.bo[buf].modified
  vim.bo[buf].modifiable = true
  break_undo(buf)
  -- The state before an edit is remembered as unmodified, and an undo would come back to it as such, though the file is another.
  vim.bo[buf].modified = true
  for _, edit in ipairs(edits) do
    apply(buf, edit)
  end
  break_undo(buf)
  vim.bo[buf].modifiable = modifiable
  if clean then
    vim.bo[buf].modified = false
  end
end

--- Edits a buffer as the user would: one undo block, and it counts as modified.
---@param buf integer
---@param edits sandbox_agent.Edit[] last one first
function M.edit(buf, edits)
  apply_all(buf, edits)
  vim.bo[buf].modified = true
end

--- Lets Neovim note the time of the file, so that it neither warns nor reloads.
local function note_time(buf)
  quiet[buf] = true
  local autoread = vim.bo[buf].autoread
  vim.bo[buf].autoread = false
  pcall(vim.cmd.checktime, { args = { tostring(buf) }, mods = { silent = true } })
  vim.bo[buf].autoread = autoread
  quiet[buf] = nil
end

local allow_write

--- The next write of the buffer would ask whether to overwrite a file that "has been changed since reading it". It has been read.
function allow_write(buf)
  vim.api.nvim_clear_autocmds({ group = group, buffer = buf, event = 'BufWriteCmd' })
  vim.api.nvim_create_autocmd('BufWriteCmd', {
    group = group,
    buffer = buf,
    once = true,
    nested = true,
    callback = function(event)
      local path = vim.api.nvim_buf_get_name(buf)
      local own = vim.fn.fnamemodify(event.match, ':p') == path
      local up_to_date = own and M.refresh(buf)
      vim.api.nvim_clear_autocmds({ group = group, buffer = buf, event = 'BufWriteCmd' })
      if not own then
        allow_write(buf)
      end
      local bang = (up_to_date or vim.v.cmdbang == 1) and '!' or ''
      local target = own and '' or ' ' .. vim.fn.fnameescape(event.match)
      vim.cmd(('write%s %s%s'):format(bang, vim.v.cmdarg, target))
    end,
  })
end

--- Notes that the user knows what the file has now: the next write keeps the buffer, without a question.
---@param buf integer
---@param theirs string[] lines of the file
function M.seen(buf, theirs)
  local doc = documents.get(buf)
  if not doc then
    return
  end
  doc.base, doc.stamp = theirs, disk.stamp(buf)
  note_time(buf)
  allow_write(buf)
end

--- Brings a buffer up to its file. Reports whether it has everything that is in the file.
---@param buf integer
---@return boolean
function M.refresh(buf)
  local doc = documents.get(buf)
  if not doc or not vim.api.nvim_buf_is_loaded(buf) then
    return false
  end
  local theirs, eol = disk.read(buf)
  if not theirs then
    return false -- gone, or in another form: Neovim itself tells
  end
  local ours = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  local base = ours
  if vim.bo[buf].modified then
    base = doc.base
  end
  if not base then
    return false -- what the unsaved text began with is not known
  end
  local edits, conflicts = merge.edits(base, ours, theirs)
  if #edits > 0 then
    apply_all(buf, edits)
  end
  if not vim.bo[buf].modified and vim.bo[buf].endofline ~= eol then
    vim.bo[buf].endofline = eol
    vim.bo[buf].modified = false -- the option counts as a change
  end
  doc.stamp = disk.stamp(buf)
  if #edits > 0 or not vim.deep_equal(base, theirs) then
    note_time(buf)
    if conflicts == 0 then
      allow_write(buf)
    end
  end
  if conflicts > 0 then
    require('sandbox_agent.conflicts').ask(buf, conflicts)
    doc.base = doc.base or base
    return false
  end
  if vim.bo[buf].modified then
    doc.base = theirs
  else
    documents.saved(buf)
  end
  return true
end

--- Brings all loaded buffers of the workspaces up to their files.
function M.refresh_all()
  if not require('sandbox_agent.config').get().refresh then
    return
  end
  for _, buf in ipairs(documents.buffers()) do
    if documents.get(buf).stamp ~= disk.stamp(buf) then
      M.refresh(buf)
    end
  end
end

--- Whether a change of the buffer's file is ours to bring in.
local function takes_over(buf)
  local doc = documents.get(buf)
  if not doc or vim.v.fcs_reason == 'deleted' or not require('sandbox_agent.config').get().refresh then
    return false
  end
  local known = vim.bo[buf].modified and doc.base or vim.bo[buf].autoread
  return known and disk.read(buf) ~= nil
end

--- Takes the place of Neovim's question about a file that has changed under unsaved text.
---@param buf integer
function M.guard(buf)
  vim.api.nvim_clear_autocmds({ group = group, buffer = buf, event = 'FileChangedShell' })
  vim.api.nvim_create_autocmd('FileChangedShell', {
    group = group,
    buffer = buf,
    callback = function()
      if quiet[buf] then
        vim.v.fcs_choice = ''
        return
      end
      local ours = takes_over(buf)
      vim.v.fcs_choice = ours and '' or 'ask'
      if ours then
        vim.schedule(function()
          M.refresh(buf)
        end)
      end
    end,
  })
end

return M
