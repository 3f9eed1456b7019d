-- A small test harness without dependencies, and what the tests of this plugin share. A test file registers tests and ends with
-- T.run(); tests wait for conditions and never sleep.
local T = { tests = {} }

local undo = {}

local function out(text)
  io.stdout:write(text, '\n')
  io.stdout:flush()
end
T.out = out

function T.test(name, fn)
  T.tests[#T.tests + 1] = { name, fn }
end

function T.eq(want, got, what)
  if not vim.deep_equal(want, got) then
    error(('%s: want %s, got %s'):format(what or 'eq', vim.inspect(want), vim.inspect(got)), 2)
  end
end

function T.ok(value, what)
  return value or error(what or 'not ok', 2)
end

function T.has(text, part)
  if not tostring(text):find(part, 1, true) then
    error(('%q is not in:\n%s'):format(part, tostring(text)), 2)
  end
end

function T.lacks(text, part)
  if tostring(text):find(part, 1, true) then
    error(('%q is in:\n%s'):format(part, tostring(text)), 2)
  end
end

--- Runs the event loop until condition() is true.
function T.wait(condition, what, ms)
  if not vim.wait(ms or 20000, condition, 5) then
    error('timed out: ' .. (type(what) == 'function' and what() or what or '?'), 2)
  end
end

--- Replaces t[key] for the length of one test.
function T.stub(t, key, value)
  undo[#undo + 1] = { t, key, t[key] }
  t[key] = value
end

function T.text(buf)
  return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n')
end

function T.file(path, content)
  local file = assert(io.open(path, 'wb'))
  file:write(content)
  file:close()
end

function T.content(path)
  local file = assert(io.open(path, 'rb'))
  local content = file:read('*a')
  file:close()
  return content
end

--- A fresh folder with these files, which becomes the current one.
function T.folder(files)
  local dir = vim.fn.tempname()
  vim.fn.mkdir(dir, 'p')
  dir = vim.uv.fs_realpath(dir)
  for name, content in pairs(files or {}) do
    T.file(dir .. '/' .. name, content)
  end
  vim.cmd('silent! only!')
  vim.cmd.enew()
  vim.cmd.cd(vim.fn.fnameescape(dir))
  return dir
end

--- Notes what is told to the user from here on.
function T.messages()
  local said = {}
  T.stub(vim, 'notify', function(text)
    said[#said + 1] = text
  end)
  return said
end

--- Presses keys as a user would.
function T.keys(keys)
  vim.api.nvim_feedkeys(vim.keycode(keys), 'xt', false)
end

--- The current session once there is one that is attached.
function T.session()
  local sessions = require('sandbox_agent.sessions')
  T.wait(function()
    local session = sessions.current()
    return session and session.connected
  end, 'a session that is attached')
  return sessions.current()
end

--- Asks in a new session of this folder, with the demo model, and returns the session.
function T.ask(text, settings)
  require('sandbox_agent').setup(
    vim.tbl_extend('force', { model = 'demo', window = { position = 'right' } }, settings or {})
  )
  local sessions = require('sandbox_agent.sessions')
  local before = sessions.current()
  vim.cmd('SandboxAgent! ask ' .. text)
  T.wait(function()
    local session = sessions.current()
    return session and session ~= before and session.connected and session.info.turnId > 0
  end, 'a new session with a turn')
  return sessions.current()
end

function T.shown(session, text)
  T.wait(function()
    return T.text(session.view.buf):find(text, 1, true) ~= nil
  end, function()
    return text .. ' in the conversation:\n' .. T.text(session.view.buf)
  end)
end

function T.status(session, status)
  T.wait(function()
    return session.state.status == status
  end, function()
    return ('status %s, it is %s: %s'):format(status, session.state.status, session.state.reason or '')
  end)
end

local finished = {} ---@type table<string, integer> the last turn that ended, by session
vim.api.nvim_create_autocmd('User', {
  pattern = 'SandboxAgentTurnFinished',
  callback = function(event)
    finished[event.data.session_id] = event.data.turn_id
  end,
})

--- Waits for the end of a turn that began after the session was attached.
function T.done(session, turn)
  T.wait(function()
    return (finished[session.id] or 0) >= turn
  end, function()
    return ('the end of turn %d; it is %s: %s'):format(turn, session.state.status, session.state.reason or '')
  end)
end

local function run_one(fn)
  vim.v.errmsg = ''
  local ok, problem = xpcall(fn, function(e)
    return debug.traceback(tostring(e), 2)
  end)
  for i = #undo, 1, -1 do
    undo[i][1][undo[i][2]] = undo[i][3]
  end
  undo = {}
  -- errors in autocommands and callbacks reach no pcall
  if ok and vim.v.errmsg ~= '' then
    return false, 'v:errmsg: ' .. vim.v.errmsg
  end
  return ok, problem
end

--- Reports whether nothing went wrong inside the plugin, whose log would tell.
local function clean_log()
  local path = require('sandbox_agent.log').path()
  if not vim.uv.fs_stat(path) then
    return true
  end
  out('     the plugin logged:\n' .. T.content(path))
  os.remove(path)
  return false
end

function T.run()
  local passed, failed = 0, 0
  for _, test in ipairs(T.tests) do
    local start = vim.uv.hrtime()
    local ok, problem = run_one(test[2])
    if ok and not T.expect_log and not clean_log() then
      ok, problem = false, 'something failed inside the plugin'
    end
    if ok then
      passed = passed + 1
      out(('ok   %-64s %6.0f ms'):format(test[1], (vim.uv.hrtime() - start) / 1e6))
    else
      failed = failed + 1
      out('FAIL ' .. test[1] .. '\n     ' .. tostring(problem):gsub('\n', '\n     '))
    end
  end
  out(('%d passed, %d failed'):format(passed, failed))
  vim.cmd(failed > 0 and 'cquit 1' or 'qall!')
end

return T
