-- What a session may do and reach, and several Neovims on one session.
local T = dofile(vim.env.HARNESS)

--- Waits for a message with this text.
local function told(said, text)
  T.wait(function()
    return vim.iter(said):any(function(one)
      return one:find(text, 1, true) ~= nil
    end)
  end, function()
    return text .. ' in ' .. vim.inspect(said)
  end)
end

--- Another Neovim of this installation, in the same folder; its functions run there.
local function second_neovim()
  local cmd = { vim.v.progpath, '--embed', '--headless', '--clean', '-n', '-u', 'NONE', '-i', 'NONE' }
  vim.list_extend(cmd, { '--cmd', 'set rtp^=' .. vim.env.PLUGIN, '--cmd', 'runtime plugin/sandbox_agent.lua' })
  local channel = vim.fn.jobstart(cmd, { rpc = true })
  local other = {}
  function other.lua(code, ...)
    return vim.rpcrequest(channel, 'nvim_exec_lua', code, { ... })
  end
  function other.command(text)
    vim.rpcrequest(channel, 'nvim_command', 'SandboxAgent ' .. text)
  end
  function other.text()
    return other.lua([[
      local session = require('sandbox_agent.sessions').current()
      local buf = session and session.view.buf
      return buf and table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n') or ''
    ]])
  end
  function other.shown(text)
    T.wait(function()
      return other.text():find(text, 1, true) ~= nil
    end, function()
      return text .. ' in the other Neovim:\n' .. other.text()
    end)
  end
  function other.stop()
    vim.fn.jobstop(channel)
    vim.fn.jobwait({ channel })
  end
  return other
end

T.test('two Neovims on one session: either answers, asks and steers, and both show the same', function()
  T.folder()
  local session = T.ask('run `sh -c "echo 1 > one"`, then run `sh -c "echo 2 > two"`')
  local other = second_neovim()
  other.command('attach ' .. session.id)
  other.shown('May this run?')
  T.wait(function()
    return session.approvals[1] ~= nil
  end, 'the approval here too')
  local first = session.approvals[1]
  other.command('approve')
  T.wait(function()
    return session.approvals[1] and session.approvals[1].id ~= first.id
  end, 'the second approval, since the other has answered the first')
  vim.cmd('SandboxAgent approve')
  T.done(session, 1)
  other.command('model scripted')
  other.command('ask count slowly')
  T.shown(session, 'one two')
  vim.cmd('SandboxAgent steer from the first')
  other.shown('from the first')
  other.command('steer from the second')
  T.shown(session, 'from the second')
  T.done(session, 2)
  T.wait(function()
    return other.text() == T.text(session.view.buf)
  end, function()
    return 'the same text; here:\n' .. T.text(session.view.buf) .. '\nthere:\n' .. other.text()
  end)
  other.stop()
end)

T.test('rules: what is allowed for always is listed, and taken back', function()
  T.folder()
  local said = T.messages()
  local session = T.ask('run `sh -c "echo 1 > one"`')
  T.status(session, 'waitingApproval')
  vim.cmd('SandboxAgent! approve workspace')
  T.done(session, 1)
  local listed
  T.stub(vim.ui, 'select', function(rules, opts, done)
    listed = vim.tbl_map(opts.format_item, rules)
    done(rules[1], 1)
  end)
  vim.cmd('SandboxAgent rules')
  told(said, 'asks again')
  T.eq(1, #listed)
  T.has(listed[1], 'in this workspace')
  vim.cmd('SandboxAgent rules')
  told(said, 'Nothing is allowed for always here.')
end)

T.test('a checkpoint is taken; effort, ports and MCP servers are told in one line or a buffer', function()
  T.folder({ ['a.txt'] = 'alpha\n' })
  local said = T.messages()
  local session = T.ask('read a.txt')
  T.done(session, 1)
  vim.cmd('SandboxAgent checkpoint before I try')
  told(said, 'Checkpoint ')
  local summaries
  T.stub(vim.ui, 'select', function(list, _, done)
    summaries = vim.tbl_map(function(one)
      return one.summary
    end, list)
    done(nil)
  end)
  vim.cmd('SandboxAgent checkpoints')
  T.wait(function()
    return summaries
  end, 'the checkpoints')
  T.has(table.concat(summaries, '\n'), 'before I try')
  vim.cmd('SandboxAgent effort low')
  T.wait(function()
    return session.info.effort == 'low'
  end, 'the effort')
  vim.cmd('SandboxAgent preview many')
  told(said, 'The port is a number')
  vim.cmd('SandboxAgent preview 8080')
  told(said, 'no command here was allowed the network')
  vim.cmd('SandboxAgent mcp')
  told(said, 'No MCP server is configured.')
end)

T.test('where a port is reached stands in a buffer, with what every request must carry', function()
  T.folder()
  local session = T.ask('list the files')
  T.done(session, 1)
  T.stub(require('sandbox_agent.server'), 'request', function(command, params, done)
    T.eq({ 'preview', { sessionId = session.id, port = 8080 } }, { command, params })
    done(nil, { url = 'https://8080.example', headers = { { name = 'X-Token', value = 'abc' } } })
  end)
  vim.cmd('SandboxAgent preview 8080')
  T.eq('https://8080.example\nX-Token: abc', T.text(0))
  T.keys('q')
end)

T.test('a session that cannot be followed says so above its conversation, until it can', function()
  T.folder()
  local session = T.ask('list the files')
  T.done(session, 1)
  vim.api.nvim_set_current_win(vim.fn.bufwinid(session.view.buf))
  local seq = session.seq
  local function connection(event)
    event.type = 'connection/changed'
    session:apply({ sessionId = session.id, seq = seq, event = event })
    return require('sandbox_agent.status').winbar()
  end
  local away = connection({ connected = false, reason = 'No worker answers.', remedy = 'Start one.' })
  T.has(away, 'away')
  T.has(away, 'No worker answers. Start one.')
  T.lacks(connection({ connected = true, state = session.state }), 'away')
  T.eq(seq, session.seq)
end)

-- Each attachment counts the pieces of a stream from 0: what was shown before it comes again.
T.test('text that streams is whole after the session was attached again', function()
  T.folder()
  local session = T.ask('list the files')
  T.done(session, 1)
  local function piece(n, data)
    local event =
      { type = 'item/delta', itemId = 'streams', attempt = 1, stream = 'text', n = n, data = data, encoding = 'utf8' }
    session:apply({ sessionId = session.id, seq = session.seq, event = event })
  end
  session:add_item({ id = 'streams', kind = 'agentMessage', status = 'inProgress', seq = session.seq })
  piece(0, 'one ')
  piece(1, 'two ')
  session:take({ session = session.info, state = session.state, seq = session.seq, events = {} })
  piece(0, 'one two ')
  piece(1, 'three')
  T.eq('one two three', table.concat(session.live.streams.text))
end)

T.run()
