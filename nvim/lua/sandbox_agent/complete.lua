-- What the arguments of subcommands can be. The server is asked, but never for longer than a key press may take.
local server = require('sandbox_agent.server')
local sessions = require('sandbox_agent.sessions')

local M = {}

local patience = 400 -- ms

--- Waits a moment for the answer to a request; what came before is used when it does not come.
local function ask(command, params)
  local answer
  server.request(command, params, function(_, result)
    answer = result
  end)
  vim.wait(patience, function()
    return answer ~= nil
  end, 5)
  return answer
end

--- Ids of sessions, short enough to type.
---@return string[]
function M.sessions()
  local answer = ask('sessions', { workspaceFolder = sessions.folder() })
  local list = answer and answer.sessions or sessions.last_list()
  return vim.tbl_map(function(session)
    return session.id:sub(1, 8)
  end, list)
end

--- Finds the session whose id, or only the beginning of it, is given.
---@param given string
---@param callback fun(id: string)
function M.session(given, callback)
  sessions.list({ limit = 200 }, function(err, list)
    local say = require('sandbox_agent.say')
    if err then
      return say.error(err)
    end
    local fitting = vim.tbl_filter(function(session)
      return vim.startswith(session.id, given) or session.title == given
    end, list)
    if #fitting == 1 then
      return callback(fitting[1].id)
    end
    say.warn(('%s session has an id that begins with %s.'):format(#fitting == 0 and 'No' or 'More than one', given))
  end)
end

---@return string[]
function M.backends()
  return { 'local', 'docker', 'e2b', 'daytona' }
end

---@return string[]
function M.models()
  local known = server.capabilities and server.capabilities.models or {}
  return vim.tbl_map(function(model)
    return model.id
  end, known)
end

---@return string[]
function M.checkpoints()
  local session = sessions.current()
  local answer = session and ask('checkpoints', { sessionId = session.id })
  local ids = {}
  for _, checkpoint in ipairs(answer and answer.checkpoints or {}) do
    table.insert(ids, 1, checkpoint.id:sub(1, 12))
  end
  return ids
end

--- The options of fork: turns and backends.
---@return string[]
function M.fork()
  local session = sessions.current()
  local options = {}
  for turn = session and session.info.turnId or 0, 1, -1 do
    options[#options + 1] = 'turn=' .. turn
  end
  for _, kind in ipairs(M.backends()) do
    options[#options + 1] = 'backend=' .. kind
  end
  return options
end

return M
