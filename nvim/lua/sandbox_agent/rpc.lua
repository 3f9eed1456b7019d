-- JSON-RPC 2.0 with LSP framing over the stdio of one process. Messages are decoded as they come and handed out on the main
-- loop, in order and in slices, so that a flood of them leaves room for the user's keys.
local M = {}

local slice_ms = 8 -- of handling messages before the editor gets its turn
local skip_limit = 8 * 1024 * 1024 -- a longer message is no message of our server

---@class sandbox_agent.Error
---@field code string one of protocol.codes, or "exited" when the server ended before it answered
---@field message string one sentence
---@field remedy? string
---@field retryable? boolean

---@class sandbox_agent.RpcHandlers
---@field notification fun(method: string, params: table)
---@field request fun(method: string, params: table): any, string? result, or nil and an error message
---@field exit fun(code: integer, signal: integer, stderr: string)

---@class sandbox_agent.Rpc
---@field private process vim.SystemObj
---@field private handlers sandbox_agent.RpcHandlers
---@field private pending table<integer, fun(err?: sandbox_agent.Error, result: any)>
---@field private next_id integer
---@field private queue table[] decoded messages
---@field private first integer index of the oldest one in the queue
---@field private draining boolean
---@field private chunks string[] input that is no whole message yet
---@field private have integer bytes in chunks
---@field private want? integer bytes of the body that comes
---@field private last_words string the end of stderr
---@field closed boolean
local Rpc = {}
Rpc.__index = Rpc

--- Makes the object whose JSON is {}: an empty Lua table would be sent as [].
local function object(params)
  return (params == nil or next(params) == nil) and vim.empty_dict() or params
end

--- Starts a program and speaks to it.
---@param cmd string[]
---@param opts { env?: table<string, string>, cwd?: string }
---@param handlers sandbox_agent.RpcHandlers
---@return sandbox_agent.Rpc? rpc
---@return string? problem
function M.start(cmd, opts, handlers)
  local self = setmetatable({
    handlers = handlers,
    pending = {},
    next_id = 1,
    queue = {},
    first = 1,
    draining = false,
    chunks = {},
    have = 0,
    last_words = '',
    closed = false,
  }, Rpc)
  local ok, process = pcall(vim.system, cmd, {
    stdin = true,
    env = opts.env,
    cwd = opts.cwd,
    stdout = function(_, data)
      self:receive(data)
    end,
    stderr = function(_, data)
      self.last_words = (self.last_words .. (data or '')):sub(-2000)
    end,
  }, function(result)
    self:enqueue({ exit = result })
  end)
  if not ok then
    return nil, (tostring(process):gsub('^.-: ', ''))
  end
  self.process = process
  return self
end

--- Sends a request; the callback runs once, on the main loop, whatever happens.
---@param method string
---@param params? table
---@param callback fun(err?: sandbox_agent.Error, result: any)
---@return integer id
function Rpc:request(method, params, callback)
  local id = self.next_id
  self.next_id = id + 1
  self.pending[id] = callback
  self:send({ jsonrpc = '2.0', id = id, method = method, params = object(params) })
  return id
end

---@param method string
---@param params? table
function Rpc:notify(method, params)
  self:send({ jsonrpc = '2.0', method = method, params = object(params) })
end

--- Ends the conversation by the end of its input, which is no end to any session.
function Rpc:close()
  if not self.closed then
    pcall(self.process.write, self.process, nil)
  end
end

--- Kills the process, for one that does not react to the end of its input.
function Rpc:kill()
  pcall(self.process.kill, self.process, 'sigkill')
end

---@return integer
function Rpc:pid()
  return self.process.pid
end

---@private
function Rpc:send(message)
  if self.closed then
    return -- the exit has failed all pending calls, or is about to
  end
  local body = vim.json.encode(message)
  pcall(self.process.write, self.process, ('Content-Length: %d\r\n\r\n%s'):format(#body, body))
end

---@private
function Rpc:receive(data)
  if not data then
    return
  end
  self.chunks[#self.chunks + 1] = data
  self.have = self.have + #data
  while self:take() do
  end
end

--- Takes one message out of the input; reports whether there was one.
---@private
function Rpc:take()
  if self.want and self.have < self.want then
    return false
  end
  local input = #self.chunks == 1 and self.chunks[1] or table.concat(self.chunks)
  if not self.want then
    local head, finish = input:find('\r\n\r\n', 1, true)
    self.chunks = { input }
    if not head then
      return false
    end
    local length = tonumber(input:sub(1, head):lower():match('content%-length:%s*(%d+)'))
    if not length or length > skip_limit then
      self:kill()
      return false
    end
    input = input:sub(finish + 1)
    self.want, self.chunks, self.have = length, { input }, #input
    return true
  end
  local ok, message = pcall(vim.json.decode, input:sub(1, self.want), { luanil = { object = true, array = true } })
  input = input:sub(self.want + 1)
  self.want, self.chunks, self.have = nil, { input }, #input
  if ok and type(message) == 'table' then
    self:enqueue(message)
  end
  return true
end

---@private
function Rpc:enqueue(message)
  self.queue[#self.queue + 1] = message
  if not self.draining then
    self.draining = true
    vim.schedule(function()
      self:drain()
    end)
  end
end

--- Handles messages until there are none or the slice is over.
---@private
function Rpc:drain()
  local finish = vim.uv.hrtime() + slice_ms * 1e6
  while self.queue[self.first] do
    local message = self.queue[self.first]
    self.queue[self.first] = false
    self.first = self.first + 1
    local ok, problem = xpcall(self.handle, debug.traceback, self, message)
    if not ok then
      require('sandbox_agent.log').write('handling a message: ' .. tostring(problem))
    end
    if vim.uv.hrtime() > finish then
      break
    end
  end
  if not self.queue[self.first] then
    self.queue, self.first, self.draining = {}, 1, false
    return
  end
  vim.defer_fn(function()
    self:drain()
  end, 1)
end

---@private
function Rpc:handle(message)
  if message.exit then
    return self:ended(message.exit)
  end
  if message.method and message.id ~= nil then
    return self:answer(message)
  end
  if message.method then
    return self.handlers.notification(message.method, message.params or {})
  end
  local callback = self.pending[message.id]
  self.pending[message.id or false] = nil
  if callback then
    callback(message.error and M.error_of(message.error), message.result)
  end
end

---@private
function Rpc:answer(message)
  local reply = { jsonrpc = '2.0', id = message.id }
  local ok, result, problem = pcall(self.handlers.request, message.method, message.params or {})
  if not ok or problem then
    reply.error = { code = problem == 'unknown' and -32601 or -32603, message = tostring(problem or result) }
  else
    reply.result = result == nil and vim.NIL or result
  end
  self:send(reply)
end

--- Fails what waits for an answer, then tells of the end.
---@private
function Rpc:ended(result)
  self.closed = true
  local pending = self.pending
  self.pending = {}
  for _, callback in pairs(pending) do
    callback({
      code = 'exited',
      message = 'The server ended before it answered.',
      remedy = 'See :checkhealth sandbox_agent.',
      retryable = true,
    })
  end
  self.handlers.exit(result.code, result.signal, self.last_words)
end

--- Brings an error of the wire into the one form that the plugin knows.
---@param wire table
---@return sandbox_agent.Error
function M.error_of(wire)
  local data = type(wire.data) == 'table' and wire.data or {}
  return {
    code = data.code or 'internal',
    message = tostring(wire.message or 'The server failed without a reason.'),
    remedy = data.remedy,
    retryable = data.retryable,
  }
end

return M
