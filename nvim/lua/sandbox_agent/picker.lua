-- Choices by vim.ui.select: sessions as a tree, checkpoints, backends, models, what waits.
local say = require('sandbox_agent.say')
local server = require('sandbox_agent.server')
local sessions = require('sandbox_agent.sessions')

local M = {}

local function ago(at)
  local y, mo, d, h, mi, s = (at or ''):match('^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)')
  if not y then
    return ''
  end
  local stamp = os.time({ year = y, month = mo, day = d, hour = h, min = mi, sec = s, isdst = false })
  local now = os.time(os.date('!*t') --[[@as osdateparam]])
  local seconds = math.max(0, os.difftime(now, stamp))
  for _, unit in ipairs({ { 86400, 'd' }, { 3600, 'h' }, { 60, 'min' } }) do
    if seconds >= unit[1] then
      return ('%d %s ago'):format(seconds / unit[1], unit[2])
    end
  end
  return 'just now'
end

--- Orders sessions as a tree: forks below what they were forked from, each with its depth.
---@param list sandboxagent.Session[]
---@return { session: sandboxagent.Session, depth: integer }[]
function M.tree(list)
  local here, children, rows = {}, {}, {}
  for _, session in ipairs(list) do
    here[session.id] = true
  end
  for _, session in ipairs(list) do
    local parent = session.parentId and here[session.parentId] and session.parentId or ''
    children[parent] = children[parent] or {}
    table.insert(children[parent], session)
  end
  local function walk(parent, depth)
    for _, session in ipairs(children[parent] or {}) do
      rows[#rows + 1] = { session = session, depth = depth }
      walk(session.id, depth + 1)
    end
  end
  walk('', 0)
  return rows
end

local function row_text(row)
  local s = row.session
  local branch = row.depth > 0 and ('  '):rep(row.depth - 1) .. '└ ' or ''
  local fork = s.forkedAtTurn and s.forkedAtTurn > 0 and (' (from turn %d)'):format(s.forkedAtTurn) or ''
  return ('%s%s%s  %s  %s  %s'):format(branch, s.title, fork, s.state.status, s.backend.kind, ago(s.updatedAt))
end

---@param params sandboxagent.SessionsParams
---@param callback fun(session: sandboxagent.Session)
function M.session(params, callback)
  sessions.list(params, function(err, list)
    if err then
      return say.error(err)
    end
    if #list == 0 then
      return say.info('There is no session yet: begin one with :SandboxAgent ask.')
    end
    vim.ui.select(
      M.tree(list),
      { prompt = 'Session', kind = 'sandbox_agent.session', format_item = row_text },
      function(row)
        if row then
          callback(row.session)
        end
      end
    )
  end)
end

--- Finds the command that is meant among those that run: the only one, or the one that the user chooses.
---@param session sandbox_agent.Session
---@param callback fun(command: { itemId: string, command: string })
function M.command(session, callback)
  local list = session:commands()
  if #list == 0 then
    return say.info('No command runs.')
  end
  if #list == 1 then
    return callback(list[1])
  end
  local opts = {
    prompt = 'Command',
    kind = 'sandbox_agent.commands',
    format_item = function(c)
      return c.itemId .. '  ' .. c.command:gsub('\n', ' ')
    end,
  }
  vim.ui.select(list, opts, function(command)
    if command then
      callback(command)
    end
  end)
end

--- Lets the user choose from a list that a command answers with.
---@param request { command: string, params: table, list: string }
---@param prompt string
---@param format fun(entry: table): string
---@param callback fun(entry: table)
local function choose(request, prompt, format, callback)
  server.request(request.command, request.params, function(err, result)
    if err then
      return say.error(err)
    end
    local list = result[request.list]
    if #list == 0 then
      return say.info('There is nothing to choose from.')
    end
    local opts = { prompt = prompt, kind = 'sandbox_agent.' .. request.list, format_item = format }
    vim.ui.select(list, opts, function(entry)
      if entry then
        callback(entry)
      end
    end)
  end)
end

local function availability(entry, name)
  if entry.available then
    return name
  end
  return ('%s  (not available: %s)'):format(name, entry.reason or 'unknown why')
end

---@param callback fun(backend: sandboxagent.BackendInfo)
function M.backend(callback)
  choose({ command = 'backends', params = {}, list = 'backends' }, 'Backend', function(b)
    return availability(b, b.kind)
  end, callback)
end

---@param callback fun(model: sandboxagent.ModelInfo)
function M.model(callback)
  choose({ command = 'models', params = {}, list = 'models' }, 'Model', function(m)
    return availability(m, m.id)
  end, callback)
end

---@param session sandbox_agent.Session
---@param callback fun(checkpoint: sandboxagent.Checkpoint)
function M.checkpoint(session, callback)
  choose(
    { command = 'checkpoints', params = { sessionId = session.id }, list = 'checkpoints' },
    'Checkpoint',
    function(c)
      return ('%s  %s  %s'):format(c.id:sub(1, 12), c.summary, ago(c.at))
    end,
    callback
  )
end

---@param session sandbox_agent.Session
---@param callback fun(message: sandboxagent.QueuedMessage)
function M.queued(session, callback)
  choose({ command = 'queue', params = { sessionId = session.id, op = 'list' }, list = 'queued' }, 'Waits', function(q)
    return (q.text:gsub('\n', ' '))
  end, callback)
end

return M
