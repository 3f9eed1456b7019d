-- What goes wrong and what is much: a server that is killed, floods of output, a long answer.
local T = dofile(vim.env.HARNESS)

local patience = 600 -- ms: what takes the editor away does so for seconds, and the machines of CI are busy

--- Measures how long the editor is not there for a key press, while work goes on.
local function longest_pause(work)
  local longest, last = 0, vim.uv.hrtime()
  local timer = assert(vim.uv.new_timer())
  timer:start(
    0,
    2,
    vim.schedule_wrap(function()
      local now = vim.uv.hrtime()
      longest, last = math.max(longest, (now - last) / 1e6), now
    end)
  )
  work()
  timer:stop()
  timer:close()
  return longest
end

local function resident()
  return tonumber(T.content('/proc/self/status'):match('VmRSS:%s*(%d+)')) / 1024
end

T.test('a server that is killed: what waits fails, the session goes on, nothing is there twice', function()
  T.folder()
  local server = require('sandbox_agent.server')
  local session = T.ask('count slowly', { model = 'scripted' })
  T.shown(session, 'one two')
  local failed
  server.request('doctor', {}, function(err)
    failed = err or false
  end)
  T.stub(vim, 'notify', function() end)
  local pid = assert(server.pid())
  vim.uv.kill(pid, 'sigkill')
  T.wait(function()
    return failed ~= nil
  end, 'the pending call')
  T.eq('exited', failed.code)
  T.eq(false, session.connected)
  T.has(require('sandbox_agent').statusline(), 'agent away')
  T.wait(function()
    return server.pid() and server.pid() ~= pid and session.connected
  end, 'a new server')
  T.done(session, 1)
  local text = T.text(session.view.buf)
  local _, count = text:gsub('one two three', '')
  T.eq(1, count, text)
  T.has(text, 'nineteen twenty')
  local before = text
  session.view:redraw()
  T.eq(before, T.text(session.view.buf), 'drawn anew')
  os.remove(require('sandbox_agent.log').path()) -- it tells of the kill, rightly
end)

T.test('what was asked while the server died is asked again, once', function()
  T.folder()
  local server = require('sandbox_agent.server')
  local session = T.ask('first', { model = 'scripted' })
  T.done(session, 1)
  vim.uv.kill(assert(server.pid()), 'sigkill')
  vim.cmd('SandboxAgent ask second') -- nobody has noticed the death yet
  T.done(session, 2)
  T.has(T.text(session.view.buf), 'You said: second')
  T.eq(2, session.info.turnId)
  os.remove(require('sandbox_agent.log').path())
end)

T.test('a Neovim that attaches in mid-turn has what went before, once', function()
  T.folder()
  local session = T.ask('count slowly', { model = 'scripted' })
  T.shown(session, 'one two')
  local id = session.id
  vim.cmd('SandboxAgent detach')
  vim.cmd('SandboxAgent attach ' .. id:sub(1, 12))
  local sessions = require('sandbox_agent.sessions')
  T.wait(function()
    session = sessions.known(id)
    return session and session.connected and session.view.buf
  end, 'attached again')
  T.done(session, 1)
  local text = T.text(session.view.buf)
  T.has(text, 'one two three four five six seven eight nine ten')
  local _, count = text:gsub('## You', '')
  T.eq(1, count)
end)

T.test('interrupt keeps what was said; steer and queue reach the session', function()
  T.folder()
  local session = T.ask('count slowly', { model = 'scripted' })
  T.shown(session, 'one two')
  vim.cmd('SandboxAgent queue say hello')
  T.wait(function()
    return #session.queued == 1
  end, 'it waits')
  vim.cmd('SandboxAgent steer faster')
  T.shown(session, 'faster')
  vim.cmd('SandboxAgent interrupt')
  T.done(session, 2)
  T.has(T.text(session.view.buf), 'one two')
  T.has(T.text(session.view.buf), 'You said: say hello')
end)

T.test('stop ends one command, of the turn or in the background, and the turn goes on', function()
  T.folder()
  local session = T.ask('run two', { model = 'scripted', approval = 'never' })
  T.wait(function()
    return #session:commands() == 2
  end, 'both run')
  local commands = session:commands()
  T.eq('sleep 4718', commands[1].command)
  T.eq(session.background[1], commands[2])
  T.has(T.text(session.view.buf), 'went on in the background')

  local chosen
  T.stub(vim.ui, 'select', function(list, opts, choose)
    chosen = opts.format_item(list[2])
    choose(list[2])
  end)
  vim.cmd('SandboxAgent stop')
  T.has(chosen, 'sleep 4717')
  T.wait(function()
    return #session.background == 0
  end, 'the one in the background has ended')

  vim.api.nvim_set_current_win(vim.fn.bufwinid(session.view.buf))
  vim.cmd('normal x')
  T.done(session, 1)
  T.shown(session, 'Both were stopped.')
  T.has(T.text(session.view.buf), 'stopped by')
  local said = T.messages()
  vim.cmd('SandboxAgent stop')
  T.has(table.concat(said, '\n'), 'No command runs.')
end)

T.test('a turn that fails says why and what to do, also when it is drawn anew and to who attaches later', function()
  T.folder()
  local session = T.ask('fail now', { model = 'scripted' })
  T.done(session, 1)
  T.shown(session, '✗ Turn 1 failed: ')
  local text = T.text(session.view.buf)
  session.view:redraw()
  T.eq(text, T.text(session.view.buf))
  vim.api.nvim_set_current_win(vim.fn.bufwinid(session.view.buf))
  T.has(require('sandbox_agent.status').winbar(), 'wants an API key')
  local id = session.id
  vim.cmd('SandboxAgent detach')
  vim.cmd('SandboxAgent attach ' .. id)
  T.wait(function()
    session = require('sandbox_agent.sessions').known(id)
    return session and session.connected and session.view.buf
  end, 'attached again')
  T.has(T.text(session.view.buf), '✗ Turn 1 failed: ')
end)

T.test('35,001 lines of output: one line in the conversation, the whole on demand, the editor stays there', function()
  T.folder()
  local before = resident()
  local session
  local pause = longest_pause(function()
    session = T.ask('much output', { model = 'scripted', approval = 'never' })
    T.done(session, 1)
  end)
  T.ok(vim.api.nvim_buf_line_count(session.view.buf) < 40, 'it is folded')
  vim.api.nvim_set_current_win(vim.fn.bufwinid(session.view.buf))
  vim.fn.search('▸ exec_command', 'w')
  T.keys('<Tab>')
  T.ok(vim.api.nvim_buf_line_count(0) < 260, 'opened, it is bounded')
  T.has(T.text(0), 'the whole output')
  local reading = longest_pause(function()
    T.keys('o')
    T.wait(function()
      return vim.api.nvim_buf_line_count(0) >= 35002
    end, 'the whole output')
  end)
  T.eq('35001', vim.api.nvim_buf_get_lines(0, 35000, 35001, false)[1])
  vim.cmd.bwipeout()
  T.out(
    ('     longest pause: %.0f ms while it ran, %.0f ms while it was read; memory +%.0f MiB'):format(
      pause,
      reading,
      resident() - before
    )
  )
  T.ok(pause < patience and reading < patience, 'the editor was away')
end)

T.test('an answer of 1 MiB streams in, whole, while the editor stays there', function()
  T.folder()
  local before = resident()
  local session
  local pause = longest_pause(function()
    session = T.ask('a long answer', { model = 'scripted' })
    T.done(session, 1)
    T.wait(function()
      return #session.items[#session.items].text > 1048576
    end, 'the whole answer')
  end)
  local text = T.text(session.view.buf)
  T.ok(#text > 1048576, 'its length')
  for i = 1, 17000, 999 do
    T.has(text, ('\n%d. This line of a long answer has `code` and **bold** words in it.\n'):format(i))
  end
  session.view:redraw()
  T.ok(text == T.text(session.view.buf), 'drawn anew it is the same')
  T.out(('     longest pause: %.0f ms; memory +%.0f MiB'):format(pause, resident() - before))
  T.ok(pause < patience, 'the editor was away')
end)

T.run()
