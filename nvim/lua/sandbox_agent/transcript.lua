-- The conversation in a buffer: items as blocks of lines, the last of which grow while they are made.
local config = require('sandbox_agent.config')
local lines_in = require('sandbox_agent.lines')
local render = require('sandbox_agent.render')

local M = {}

local batch = 30 -- ms between two appends

---@class sandbox_agent.Entry
---@field id string of the item
---@field height integer lines
---@field opened boolean
---@field column? integer bytes in the last line of text, while it streams

---@class sandbox_agent.Transcript
---@field session sandbox_agent.Session
---@field buf? integer
---@field entries sandbox_agent.Entry[]
---@field by_id table<string, sandbox_agent.Entry>
---@field private dirty table<string, true> items with text that is not shown yet
---@field private timer? uv.uv_timer_t
---@field private places? table<integer, table> views of windows
---@field private unfolded? boolean what opens and closes begins so; nil: as is usual for it
---@field parsed? boolean Markdown's colours are on; nil: not decided
local Transcript = {}
Transcript.__index = Transcript

---@param session sandbox_agent.Session
---@return sandbox_agent.Transcript
function M.new(session)
  return setmetatable({ session = session, entries = {}, by_id = {}, dirty = {} }, Transcript)
end

---@private
function Transcript:shown()
  return self.buf and vim.api.nvim_buf_is_loaded(self.buf)
end

--- Changes the buffer; windows whose cursor is at the end stay at the end.
---@private
function Transcript:edit(change)
  local buf = self.buf --[[@as integer]]
  local last = vim.api.nvim_buf_line_count(buf)
  local following = vim.tbl_filter(function(win)
    return vim.api.nvim_win_get_cursor(win)[1] >= last
  end, vim.fn.win_findbuf(buf))
  vim.bo[buf].modifiable = true
  change(buf)
  vim.bo[buf].modifiable, vim.bo[buf].modified = false, false
  self.parsed = lines_in.colour(buf, self.parsed) -- before anything is drawn, since that would parse it all
  last = vim.api.nvim_buf_line_count(buf)
  for _, win in ipairs(following) do
    vim.api.nvim_win_set_cursor(win, { last, 0 })
  end
end

--- The row (0-based) where an entry begins. Changes are near the end, so it is counted from there.
---@private
function Transcript:row_of(entry)
  local row = vim.api.nvim_buf_line_count(self.buf) - 1 -- the last line is always empty
  for i = #self.entries, 1, -1 do
    row = row - self.entries[i].height
    if self.entries[i] == entry then
      return row
    end
  end
end

---@private
function Transcript:rendered(entry)
  if entry.id == 'older' then
    return render.older()
  end
  local turn = tonumber(entry.id:match('^turn (%d+)$'))
  if turn then
    return render.failure(turn, self.session.failures[turn], self.session.failures[turn - 1])
  end
  local keys = config.get().keys.transcript
  local item = self.session.by_id[entry.id]
  local approval
  for _, a in ipairs(self.session.approvals) do
    approval = approval or (a.itemId == entry.id and a) or nil
  end
  local live = self.session.live[entry.id]
  if live then
    live.shown = #live.text
  end
  return render.item(item, {
    live = live,
    approval = approval,
    opened = entry.opened,
    most = config.get().output_lines,
    keys = vim.tbl_map(function(lhs)
      return type(lhs) == 'table' and lhs[1] or lhs
    end, keys),
  })
end

--- Draws an entry in the place of its last drawing.
---@private
function Transcript:draw(entry)
  local out = self:rendered(entry)
  local row = self:row_of(entry)
  self:edit(function(buf)
    lines_in.replace(buf, row, entry.height, out)
  end)
  entry.height = #out.lines
  local item = self.session.by_id[entry.id]
  local streams = item and item.kind == 'agentMessage' and item.status == 'inProgress'
  local live = self.session.live[entry.id]
  entry.column = streams and live and live.bytes > 0 and #out.lines[#out.lines - 1] or nil
end

--- Whether an item that comes is open.
---@private
function Transcript:starts_open(id)
  if self.unfolded == nil then
    return render.starts_open(self.session.by_id[id])
  end
  return self.unfolded
end

---@private
function Transcript:add(id)
  local entry = { id = id, height = 0, opened = self:starts_open(id) }
  table.insert(self.entries, entry)
  self.by_id[id] = entry
  self:draw(entry)
end

--- What there is to draw, in order: items, and after those of a turn why it failed.
---@private
function Transcript:ids()
  local ids = self.session.before and { 'older' } or {}
  local turn = 0
  local function close(next_turn)
    if turn ~= next_turn and self.session.failures[turn] then
      ids[#ids + 1] = 'turn ' .. turn
    end
    turn = next_turn
  end
  for _, item in ipairs(self.session.items) do
    close(item.turnId)
    ids[#ids + 1] = item.id
  end
  close(-1)
  return ids
end

--- Draws everything anew, in one change.
function Transcript:redraw()
  self:changed()
  if not self:shown() then
    return
  end
  local opened = {}
  for _, entry in ipairs(self.entries) do
    opened[entry.id] = entry.opened
  end
  self.entries, self.by_id, self.dirty = {}, {}, {}
  local lines, marks = {}, {}
  for _, id in ipairs(self:ids()) do
    local entry = { id = id, height = 0, opened = opened[id] }
    if entry.opened == nil then
      entry.opened = self:starts_open(id)
    end
    local out = self:rendered(entry)
    for _, m in ipairs(out.marks) do
      marks[#marks + 1] = { m[1] + #lines, m[2] }
    end
    vim.list_extend(lines, out.lines)
    entry.height = #out.lines
    table.insert(self.entries, entry)
    self.by_id[id] = entry
  end
  lines[#lines + 1] = ''
  self:edit(function(buf)
    lines_in.replace(buf, 0, vim.api.nvim_buf_line_count(buf), { lines = lines, marks = marks })
  end)
  self:restart_streams()
end

--- Lets the messages that are being made grow where they have been drawn.
---@private
function Transcript:restart_streams()
  for id, live in pairs(self.session.live) do
    local entry, item = self.by_id[id], self.session.by_id[id]
    if entry and item.kind == 'agentMessage' and item.status == 'inProgress' and live.bytes > 0 then
      local row = self:row_of(entry) + entry.height - 2
      entry.column = #vim.api.nvim_buf_get_lines(self.buf, row, row + 1, false)[1]
    end
  end
end

--- Shows older items above all others, keeping what is on the screen.
function Transcript:prepend()
  if not self:shown() then
    return
  end
  local before = vim.api.nvim_buf_line_count(self.buf)
  self:remember()
  self:redraw()
  self:restore(vim.api.nvim_buf_line_count(self.buf) - before)
end

--- Notes where the cursors are, before the text goes.
function Transcript:remember()
  self.places = {}
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    self.places[win] = vim.api.nvim_win_call(win, vim.fn.winsaveview)
  end
end

--- Brings the cursors back to where they were noted.
---@param more? integer lines that are above now
function Transcript:restore(more)
  for win, place in pairs(self.places or {}) do
    place.lnum, place.topline = place.lnum + (more or 0), place.topline + (more or 0)
    if vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_buf(win) == self.buf then
      vim.api.nvim_win_call(win, function()
        vim.fn.winrestview(place)
      end)
    end
  end
  self.places = nil
end

---@param item sandboxagent.Item
function Transcript:item_added(item)
  if self:shown() then
    self:add(item.id)
  end
end

--- Whether the buffer shows the whole text of an item already, because it was streamed.
local function streamed_whole(entry, live, item)
  return entry.column and live and live.shown == #live.text and table.concat(live.text) == item.text
end

---@param item sandboxagent.Item
function Transcript:item_changed(item)
  local entry = self:shown() and self.by_id[item.id]
  if not entry then
    return
  end
  self:flush()
  if item.status ~= 'inProgress' and streamed_whole(entry, self.session.live[item.id], item) then
    entry.column = nil
    return
  end
  self:draw(entry)
end

---@param turn integer
function Transcript:turn_failed(turn)
  if self:shown() and not self.by_id['turn ' .. turn] then
    self:add('turn ' .. turn)
  end
end

---@param approval sandboxagent.Approval
function Transcript:approval_changed(approval)
  self:changed()
  local entry = self:shown() and self.by_id[approval.itemId]
  if entry then
    self:draw(entry)
  end
end

--- Shows what an item has produced, soon.
---@param id string
function Transcript:streamed(id)
  if not self:shown() then
    return
  end
  self.dirty[id] = true
  self.timer = self.timer or vim.uv.new_timer()
  if not self.timer:is_active() then
    self.timer:start(
      batch,
      0,
      vim.schedule_wrap(function()
        self:flush()
      end)
    )
  end
end

---@private
function Transcript:grow(entry, live)
  local text = table.concat(live.text, '', live.shown + 1)
  live.shown = #live.text
  local pieces = vim.split(text, '\n', { plain = true })
  local row = self:row_of(entry) + entry.height - 2
  self:edit(function(buf)
    vim.api.nvim_buf_set_text(buf, row, entry.column, row, entry.column, pieces)
  end)
  entry.height = entry.height + #pieces - 1
  entry.column = #pieces == 1 and entry.column + #pieces[1] or #pieces[#pieces]
end

--- Shows now what has come since the last time.
function Transcript:flush()
  if not self:shown() then
    return
  end
  local dirty = self.dirty
  self.dirty = {}
  for id in pairs(dirty) do
    local entry, live = self.by_id[id], self.session.live[id]
    if entry and live and entry.column then
      if live.shown < #live.text then
        self:grow(entry, live)
      end
    elseif entry and live then
      self:draw(entry)
    end
  end
end

--- Shows the session's state, which is not part of the text.
function Transcript.changed()
  require('sandbox_agent.status').refresh()
end

--- The entry at a line (1-based), and the row where it begins.
---@param line integer
---@return sandbox_agent.Entry?
---@return integer row
function Transcript:at(line)
  local row = vim.api.nvim_buf_line_count(self.buf) - 1
  for i = #self.entries, 1, -1 do
    row = row - self.entries[i].height
    if line - 1 >= row then
      return self.entries[i], row
    end
  end
  return nil, 0
end

--- Opens or closes the entry at a line; reports whether it can be.
---@param line integer
---@param opened? boolean default: the other of what it is
---@return boolean
function Transcript:toggle(line, opened)
  local entry = self:at(line)
  local item = entry and self.session.by_id[entry.id]
  if not entry or not item or not render.opens(item) then
    return false
  end
  if opened == nil then
    opened = not entry.opened
  end
  if opened ~= entry.opened then
    entry.opened = opened
    self:draw(entry)
  end
  return true
end

--- Opens or closes everything there is, and what comes. The cursor stays at its entry.
---@param line integer of the cursor
---@param opened boolean
function Transcript:toggle_all(line, opened)
  local entry = self:at(line)
  self.unfolded = opened
  for _, one in ipairs(self.entries) do
    one.opened = opened
  end
  self:redraw()
  local here = entry and self.by_id[entry.id]
  if here then
    vim.api.nvim_win_set_cursor(0, { self:row_of(here) + 1, 0 })
  end
end

--- The rows (0-based) where the user's messages begin.
---@return integer[]
function Transcript:questions()
  local rows, row = {}, 0
  for _, entry in ipairs(self.entries) do
    local item = self.session.by_id[entry.id]
    if item and item.kind == 'userMessage' then
      rows[#rows + 1] = row
    end
    row = row + entry.height
  end
  return rows
end

return M
