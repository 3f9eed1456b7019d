-- One session as this Neovim sees it: what it is, its items, its approvals. It follows the events and tells its view.
local server = require('sandbox_agent.server')

local M = {}

local live_bytes = 8 * 1024 -- kept of a running command's output
local whole_bytes = 2 * 1024 * 1024 -- of a message that was cut on its way; a longer one is read when it is opened
local whole_items = 20 -- the latest ones of a snapshot, of which the whole is read
local page = 192 * 1024 -- bytes of one read

---@class sandbox_agent.Live what an item has produced so far
---@field attempt integer
---@field next table<string, integer> the next n of each stream
---@field text string[] pieces of text
---@field shown integer pieces of text that the view shows
---@field bytes integer of text so far
---@field reasoning string the end of it
---@field output string the end of it

---@class sandbox_agent.Failure
---@field message string
---@field remedy? string

---@class sandbox_agent.Session
---@field id string
---@field info sandboxagent.Session
---@field state sandboxagent.State
---@field seq? integer of the last durable event that is known; nil before the first attach
---@field items sandboxagent.Item[] in order
---@field by_id table<string, sandboxagent.Item>
---@field live table<string, sandbox_agent.Live>
---@field approvals sandboxagent.Approval[] that wait for an answer, oldest first
---@field queued sandboxagent.QueuedMessage[]
---@field background sandboxagent.BackgroundCommand[] commands that go on in the background, oldest first
---@field failures table<integer, sandbox_agent.Failure> why turns failed, by turn
---@field before? string cursor of older items
---@field connected boolean events flow
---@field problem? string why they do not
---@field away? string why the session cannot be followed though the server is there
---@field view? sandbox_agent.Transcript
local Session = {}
Session.__index = Session

---@param id string
---@return sandbox_agent.Session
function M.new(id)
  local unknown = { id = id, title = '', backend = { kind = '' }, usage = {}, model = '', turnId = 0 }
  return setmetatable({
    id = id,
    info = unknown,
    state = { status = 'idle' },
    items = {},
    by_id = {},
    live = {},
    approvals = {},
    queued = {},
    background = {},
    failures = {},
    connected = false,
  }, Session)
end

--- Reports whether a turn runs.
---@return boolean
function Session:busy()
  return vim.list_contains({ 'running', 'waitingApproval', 'switching', 'recovering' }, self.state.status)
end

--- The commands that run: of tool calls that are under way, and in the background.
---@return { itemId: string, command: string }[]
function Session:commands()
  local list = {}
  for _, item in ipairs(self.items) do
    if item.kind == 'toolCall' and item.status == 'inProgress' then
      list[#list + 1] = { itemId = item.id, command = item.text or item.tool or '' }
    end
  end
  vim.list_extend(list, self.background)
  return list
end

---@private
function Session:tell(what, ...)
  local view = self.view
  if view and view[what] then
    view[what](view, ...)
  end
end

---@private
function Session:add_item(item)
  local known = self.by_id[item.id]
  if known then
    for i = #self.items, 1, -1 do
      if self.items[i] == known then
        self.items[i] = item
        break
      end
    end
  else
    table.insert(self.items, item)
  end
  self.by_id[item.id] = item
  return known == nil
end

--- Attaches, or attaches again from the last event that is known.
---@param callback? fun(err?: sandbox_agent.Error)
function Session:attach(callback)
  server.request('attach', { sessionId = self.id, afterSeq = self.seq }, function(err, result)
    if err then
      self.connected, self.problem = false, err.message
      self:tell('changed')
    else
      self.connected, self.problem = true, nil
      self:take(result)
    end
    if callback then
      callback(err)
    end
  end)
end

--- Whether only the beginning of a message's text came with it.
local function cut(item)
  local message = item.kind == 'agentMessage' or item.kind == 'userMessage'
  return message and (item.textBytes or 0) > #(item.text or '') and item.textBytes <= whole_bytes
end

--- Takes a snapshot or what was missed.
---@param result sandboxagent.AttachResult
---@private
function Session:take(result)
  if result.session.workspaceFolder then
    server.add_folder(result.session.workspaceFolder)
  end
  if result.items then
    self.items, self.by_id, self.live = {}, {}, {}
    for _, item in ipairs(result.items) do
      self:add_item(item)
    end
    self.before, self.seq = result.before, result.seq
  end
  for _, live in pairs(self.live) do
    live.stale = true -- each attachment counts its deltas from 0
  end
  for _, message in ipairs(result.events or {}) do
    self:apply(message)
  end
  self.info, self.state, self.away = result.session, result.state, nil
  self.seq = math.max(self.seq or 0, result.seq)
  self.approvals, self.queued = result.pendingApprovals or {}, result.queued or {}
  self.background = result.background or {}
  if self.state.status == 'failed' and not self.failures[self.info.turnId] then
    self.failures[self.info.turnId] = { message = self.state.reason or 'The turn failed.', remedy = self.state.remedy }
  end
  self:tell('redraw')
  for i = math.max(1, #self.items - whole_items + 1), #self.items do
    if cut(self.items[i]) and self.items[i].status ~= 'inProgress' then
      self:complete(self.items[i])
    end
  end
end

--- Reads the whole text of a message, piece by piece, then shows it.
---@private
function Session:complete(item, pieces)
  pieces = pieces or { bytes = 0 }
  local params = { sessionId = self.id, itemId = item.id, stream = 'text', offset = pieces.bytes, limit = page }
  server.request('readOutput', params, function(err, result)
    if err or self.by_id[item.id] ~= item or result['end'] <= pieces.bytes then
      return -- the hint below its beginning stays
    end
    table.insert(pieces, result.encoding == 'base64' and vim.base64.decode(result.data) or result.data)
    pieces.bytes = result['end']
    if pieces.bytes < result.total then
      return self:complete(item, pieces)
    end
    item.text, item.textBytes = table.concat(pieces), nil
    self:tell('item_changed', item)
  end)
end

--- Takes the text of a message from its stream if all of it was there; else it is to be read.
---@private
function Session:fill(item)
  if not cut(item) then
    return false
  end
  local live = self.live[item.id]
  if live and live.bytes == item.textBytes then
    local text = table.concat(live.text)
    if vim.startswith(text, item.text) then
      item.text, item.textBytes = text, nil
      return false
    end
  end
  return true
end

--- Reads the page of items before the ones that are known.
---@param callback fun(err?: sandbox_agent.Error)
function Session:older(callback)
  local cursor = self.before
  if not cursor then
    return
  end
  server.request('history', { sessionId = self.id, before = cursor }, function(err, result)
    if err or self.before ~= cursor then
      return callback(err)
    end
    self.before = result.before
    for i = #result.items, 1, -1 do
      local item = result.items[i]
      if not self.by_id[item.id] then
        table.insert(self.items, 1, item)
        self.by_id[item.id] = item
      end
    end
    callback()
  end)
end

local function live_of(self, item_id, attempt)
  local live = self.live[item_id]
  if live and not live.stale and attempt < live.attempt then
    return nil
  end
  if not live or live.stale or attempt > live.attempt then
    local again = live ~= nil
    live = { attempt = attempt, next = {}, text = {}, shown = 0, bytes = 0, reasoning = '', output = '' }
    self.live[item_id] = live
    if again then
      self:tell('item_changed', self.by_id[item_id]) -- what it has shown so far is void
    end
  end
  return live
end

---@private
function Session:delta(event)
  local live = self.by_id[event.itemId] and live_of(self, event.itemId, event.attempt)
  local expected = live and (live.next[event.stream] or 0)
  if not live or event.n < expected then
    return
  end
  live.next[event.stream] = event.n + 1
  local data = event.encoding == 'base64' and vim.base64.decode(event.data) or event.data
  if event.n > expected then
    data = '…\n' .. data -- a piece was lost; item/completed brings the whole
  end
  if event.stream == 'text' then
    live.text[#live.text + 1] = data
    live.bytes = live.bytes + #data
  elseif event.stream == 'reasoning' then
    live.reasoning = (live.reasoning .. data):sub(-live_bytes)
  elseif event.stream ~= 'arguments' then
    live.output = (live.output .. data):sub(-live_bytes)
  end
  self:tell('streamed', event.itemId)
end

local function emit(name, session, more)
  local data = vim.tbl_extend('force', { session_id = session.id }, more or {})
  vim.api.nvim_exec_autocmds('User', { pattern = 'SandboxAgent' .. name, modeline = false, data = data })
end

---@param id string
---@param list sandboxagent.Approval[]
local function without(list, id)
  return vim.tbl_filter(function(a)
    return a.id ~= id
  end, list)
end

---@type table<string, fun(self: sandbox_agent.Session, event: table)>
local on = {
  ['session/updated'] = function(self, event)
    self.info = event.session
    self:tell('changed')
    emit('SessionChanged', self)
  end,
  ['state/changed'] = function(self, event)
    self.state = event.state
    self:tell('changed')
    emit('SessionChanged', self)
  end,
  ['backend/changed'] = function(self, event)
    self.info.backend = event.backend
    self:tell('changed')
    emit('SessionChanged', self)
  end,
  ['connection/changed'] = function(self, event)
    self.away = not event.connected and ('%s %s'):format(event.reason or '', event.remedy or '') or nil
    self.state = event.state or self.state
    self:tell('changed')
    emit('SessionChanged', self)
  end,
  ['usage/updated'] = function(self, event)
    self.info.usage = event.usage
    self:tell('changed')
  end,
  ['queue/changed'] = function(self, event)
    self.queued = event.queued
    self:tell('changed')
  end,
  ['background/changed'] = function(self, event)
    self.background = event.background
    self:tell('changed')
  end,
  ['turn/started'] = function(self, event)
    self.info.turnId = event.turnId
    emit('TurnStarted', self, { turn_id = event.turnId })
  end,
  ['turn/completed'] = function(self, event)
    if event.status == 'failed' then
      local remedy = event.error and event.error.remedy or self.state.remedy
      self.failures[event.turnId] =
        { message = event.message or self.state.reason or 'The turn failed.', remedy = remedy }
      self:tell('turn_failed', event.turnId)
    end
    require('sandbox_agent.buffers').refresh_all()
    emit('TurnFinished', self, { turn_id = event.turnId, status = event.status })
  end,
  ['item/started'] = function(self, event)
    if self:add_item(event.item) then
      self:tell('item_added', event.item)
    else
      self:tell('item_changed', event.item)
    end
  end,
  ['item/completed'] = function(self, event)
    local added, incomplete = self:add_item(event.item), self:fill(event.item)
    self:tell(added and 'item_added' or 'item_changed', event.item)
    self.live[event.item.id] = nil
    if incomplete then
      self:complete(event.item)
    end
    if event.item.files then
      require('sandbox_agent.buffers').refresh_all()
    end
  end,
  ['approval/requested'] = function(self, event)
    self.approvals = without(self.approvals, event.approval.id)
    table.insert(self.approvals, event.approval)
    self:tell('approval_changed', event.approval)
    emit('ApprovalRequested', self, { approval_id = event.approval.id, subject = event.approval.subject })
  end,
  ['approval/resolved'] = function(self, event)
    self.approvals = without(self.approvals, event.approval.id)
    self:tell('approval_changed', event.approval)
    emit('ApprovalResolved', self, { approval_id = event.approval.id, decision = event.approval.decision })
  end,
}

--- Applies one event. A durable one that is known already changes nothing.
---@param message sandboxagent.EventMessage
function Session:apply(message)
  local event = message.event
  if event.type == 'item/delta' then
    return self:delta(event)
  end
  local durable = event.type ~= 'connection/changed'
  if durable and self.seq and message.seq <= self.seq then
    return
  end
  self.seq = durable and message.seq or self.seq
  local handler = on[event.type]
  if handler then
    handler(self, event)
  end
end

return M
