-- The sessions that this Neovim is attached to, and which one a command means.
local config = require('sandbox_agent.config')
local server = require('sandbox_agent.server')

local M = {}

local attached = {} ---@type table<string, sandbox_agent.Session>
local latest = {} ---@type table<string, string> workspace folder URI → id of the session used last here
local known = {} ---@type sandboxagent.Session[] the last list, for completion
local last_id ---@type string?

--- The workspace folder of the current buffer, as a URI.
---@return string
function M.folder()
  local id = vim.b.sandbox_agent_session
  if id and attached[id] and attached[id].info.workspaceFolder then
    return attached[id].info.workspaceFolder
  end
  local name = vim.bo.buftype == '' and vim.api.nvim_buf_get_name(0) or ''
  local root = config.get().root(name)
  if not root and name ~= '' and not name:find('^%a+://') then
    root = vim.fs.root(name, '.git')
  end
  root = root or vim.fn.getcwd()
  return (vim.uri_from_fname(vim.fs.normalize(vim.fn.fnamemodify(root, ':p'))):gsub('(.)/$', '%1'))
end

--- The session of this id, attached or about to be.
---@param id string
---@return sandbox_agent.Session
function M.get(id)
  if not attached[id] then
    attached[id] = require('sandbox_agent.session').new(id)
    attached[id].view = require('sandbox_agent.transcript').new(attached[id])
  end
  return attached[id]
end

--- The session if this Neovim knows it.
---@param id string
---@return sandbox_agent.Session?
function M.known(id)
  return attached[id]
end

--- Notes that a session was used, so that commands mean it.
---@param session sandbox_agent.Session
function M.use(session)
  last_id = session.id
  if session.info.workspaceFolder then
    latest[session.info.workspaceFolder] = session.id
  end
end

--- The session that a command means: that of the current buffer, else the one used last in this folder.
---@return sandbox_agent.Session?
function M.current()
  local id = vim.b.sandbox_agent_session or latest[M.folder()] or last_id
  return id and attached[id] or nil
end

--- Attaches to a session unless it is attached.
---@param id string
---@param callback fun(err?: sandbox_agent.Error, session?: sandbox_agent.Session)
function M.attach(id, callback)
  local session = M.get(id)
  if session.connected then
    M.use(session)
    return callback(nil, session)
  end
  session:attach(function(err)
    if err then
      if err.code == 'notFound' and not session.seq then
        attached[id] = nil
      end
      return callback(err)
    end
    M.use(session)
    callback(nil, session)
  end)
end

--- Calls back with the current session, attaching to the folder's latest if none is.
---@param callback fun(err?: sandbox_agent.Error, session?: sandbox_agent.Session)
function M.with_current(callback)
  local session = M.current()
  if session then
    return callback(nil, session)
  end
  M.list({ workspaceFolder = M.folder(), limit = 1 }, function(err, list)
    if err then
      return callback(err)
    end
    if not list[1] then
      local remedy = 'Begin one with :SandboxAgent ask.'
      return callback({ code = 'notFound', message = 'This folder has no session yet.', remedy = remedy })
    end
    M.attach(list[1].id, callback)
  end)
end

--- Lists sessions, newest first.
---@param params sandboxagent.SessionsParams
---@param callback fun(err?: sandbox_agent.Error, list?: sandboxagent.Session[])
function M.list(params, callback)
  server.request('sessions', params, function(err, result)
    if err then
      return callback(err)
    end
    known = result.sessions
    callback(nil, result.sessions)
  end)
end

--- The last list that was read.
---@return sandboxagent.Session[]
function M.last_list()
  return known
end

--- Stops to follow a session; it goes on by itself.
---@param session sandbox_agent.Session
function M.detach(session)
  session.connected = false
  attached[session.id] = nil
  server.request('detach', { sessionId = session.id }, function() end)
end

--- Forgets a session that was destroyed.
---@param id string
function M.forget(id)
  attached[id] = nil
  for folder, latest_id in pairs(latest) do
    latest[folder] = latest_id ~= id and latest_id or nil
  end
  last_id = last_id ~= id and last_id or nil
end

server.on('event', function(message)
  local session = attached[message.sessionId]
  if session and session.seq then
    session:apply(message)
  end
end)

server.on('gone', function(err)
  for _, session in pairs(attached) do
    session.connected, session.problem = false, err.message
    session.live = {}
    session:tell('redraw')
  end
end)

server.on('ready', function()
  for _, session in pairs(attached) do
    if session.seq then
      session:attach()
    end
  end
end)

require('sandbox_agent.documents').enable()

return M
