-- The one server process of this Neovim: started with the first request, started again after it died, with growing pauses.
-- It holds no truth: sessions attach again where they were.
local config = require('sandbox_agent.config')
local log = require('sandbox_agent.log')
local rpc = require('sandbox_agent.rpc')

local M = {}

local first_pause, last_pause = 200, 10000 -- ms before it is started again
local settled = 30000 -- ms after which a death is a new one

---@type "stopped"|"starting"|"ready"|"waiting"
M.status = 'stopped'
---@type string? why it is not there
M.problem = nil
---@type table? capabilities.experimental.sandboxAgent
M.capabilities = nil

local client ---@type sandbox_agent.Rpc?
local waiting = {} ---@type fun(err?: sandbox_agent.Error)[]
local folders = {} ---@type table<string, true> URIs
local pause = first_pause
local ready_at = 0
local leaving = false
local listeners = { ready = {}, event = {}, gone = {} } ---@type table<string, fun(...)[]>

--- Calls back: `ready` after every start, `event` with each EventMessage, `gone` when the process has ended.
---@param what "ready"|"event"|"gone"
---@param callback fun(...)
function M.on(what, callback)
  table.insert(listeners[what], callback)
end

local function tell(what, ...)
  for _, callback in ipairs(listeners[what]) do
    callback(...)
  end
end

local function settle(err)
  local calls = waiting
  waiting = {}
  for _, call in ipairs(calls) do
    call(err)
  end
end

local function folder_of(uri)
  return { uri = uri, name = vim.fs.basename(vim.uri_to_fname(uri)) }
end

local requests = {
  ['workspace/applyEdit'] = function(params)
    return require('sandbox_agent.workspace_edit').apply(params)
  end,
  ['workspace/workspaceFolders'] = function()
    return vim.tbl_map(folder_of, vim.tbl_keys(folders))
  end,
  ['window/showMessageRequest'] = function(params)
    require('sandbox_agent.say').info(params.message or '')
  end,
  ['window/showDocument'] = function()
    return { success = false } -- answers stand in the conversation
  end,
  ['window/workDoneProgress/create'] = function() end,
}

local function on_request(method, params)
  local handler = requests[method]
  if not handler then
    return nil, 'unknown'
  end
  return handler(params)
end

local function on_notification(method, params)
  if method == require('sandbox_agent.protocol').event_method then
    tell('event', params)
  elseif method == 'window/showMessage' then
    require('sandbox_agent.say').info(params.message or '')
  end
end

--- Plans the next start. Neovim must not be asked for ENTER because of it: conversations show it in their winbar.
local function on_exit(process, code, signal, stderr)
  if process ~= client then
    return
  end
  client = nil
  local last = vim.trim(stderr):match('[^\n]*$')
  M.problem = ('The server ended (%s).'):format(signal ~= 0 and 'signal ' .. signal or 'status ' .. code)
  if not leaving then
    log.write(M.problem .. ' ' .. last)
  end
  local was_ready = M.status == 'ready'
  M.status = 'stopped'
  local err =
    { code = 'exited', message = last ~= '' and last or M.problem, remedy = 'See :checkhealth sandbox_agent.' }
  if leaving or not was_ready then
    settle(err) -- else what waits is sent to the server that comes
  end
  tell('gone', err)
  if leaving or not (was_ready or pause > first_pause) then
    return -- it never came up: the next request tries again
  end
  if vim.uv.now() - ready_at > settled then
    pause = first_pause
  end
  M.status = 'waiting'
  vim.defer_fn(function()
    if M.status == 'waiting' then
      M.start()
    end
  end, pause)
  pause = math.min(pause * 2, last_pause)
end

local function initialize(process)
  local list = vim.tbl_map(folder_of, vim.tbl_keys(folders))
  process:request('initialize', {
    processId = vim.fn.getpid(),
    clientInfo = { name = 'Neovim', version = tostring(vim.version()) },
    rootUri = list[1] and list[1].uri or vim.NIL,
    workspaceFolders = list,
    capabilities = {
      workspace = { applyEdit = true, workspaceFolders = true, workspaceEdit = { documentChanges = true } },
      textDocument = { synchronization = { didSave = true } },
      general = { positionEncodings = { 'utf-16' } },
    },
    initializationOptions = { clientName = 'Neovim', executeCommands = false },
  }, function(err, result)
    if err then
      M.problem = err.message
      return process:close()
    end
    process:notify('initialized')
    M.capabilities = vim.tbl_get(result, 'capabilities', 'experimental', 'sandboxAgent') or {}
    M.status, M.problem, ready_at = 'ready', nil, vim.uv.now()
    tell('ready')
    settle()
  end)
end

--- Starts the server unless it is there; what waits for it is told when it is ready or cannot be.
function M.start()
  if client then
    return
  end
  local cmd = vim.list_extend(vim.deepcopy(config.get().cmd), { 'lsp' })
  if vim.fn.executable(cmd[1]) == 0 then
    M.status = 'stopped'
    M.problem = ('The program %s is not found.'):format(cmd[1])
    return settle({ code = 'missing', message = M.problem, remedy = 'See :checkhealth sandbox_agent.' })
  end
  M.status = 'starting'
  local process, problem
  process, problem = rpc.start(cmd, { env = config.get().env }, {
    notification = on_notification,
    request = on_request,
    exit = function(...)
      on_exit(process, ...)
    end,
  })
  if not process then
    M.status, M.problem = 'stopped', problem
    return settle({ code = 'missing', message = ('%s cannot be started: %s.'):format(cmd[1], problem) })
  end
  client = process
  initialize(process)
end

--- Sends a request as soon as the server is ready. The callback runs once. When the server ends before it has answered, the call
--- fails, but for one with a requestId: repeating that changes nothing that has been changed, so the next server is asked.
---@param command string a key of protocol.methods
---@param params? table
---@param callback fun(err?: sandbox_agent.Error, result: any)
function M.request(command, params, callback)
  local method = assert(require('sandbox_agent.protocol').methods[command], command)
  local repeatable = params and params.requestId ~= nil
  local function send(err)
    if err then
      return callback(err)
    end
    require('sandbox_agent.documents').flush()
    client:request(method, params, function(problem, result)
      if problem and problem.code == 'exited' and repeatable and not leaving then
        repeatable = false
        waiting[#waiting + 1] = send
        return
      end
      callback(problem, result)
    end)
  end
  if M.status == 'ready' then
    return send()
  end
  waiting[#waiting + 1] = send
  M.start()
end

--- Sends a notification; without a server it is dropped, since a new server is told everything anew.
---@param method string
---@param params table
function M.notify(method, params)
  if M.status == 'ready' then
    client:notify(method, params)
  end
end

--- Makes a folder one of the server's workspace folders.
---@param uri string
function M.add_folder(uri)
  if folders[uri] then
    return
  end
  folders[uri] = true
  M.notify('workspace/didChangeWorkspaceFolders', { event = { added = { folder_of(uri) }, removed = {} } })
  require('sandbox_agent.documents').adopt()
end

--- Reports whether a file is below one of the workspace folders.
---@param path string
---@return boolean
function M.has_file(path)
  for uri in pairs(folders) do
    local root = vim.uri_to_fname(uri):gsub('/$', '')
    if vim.startswith(path, root .. '/') then
      return true
    end
  end
  return false
end

--- The process id of the server, or nil.
---@return integer?
function M.pid()
  return client and client:pid()
end

vim.api.nvim_create_autocmd('VimLeavePre', {
  group = vim.api.nvim_create_augroup('sandbox_agent_server', {}),
  callback = function()
    leaving = true
    if client then
      client:close() -- the server ends, sessions and turns go on
    end
  end,
})

return M
