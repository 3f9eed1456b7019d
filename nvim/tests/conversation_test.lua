-- Conversations, end to end: the real server, worker and Temporal, with the demo model.
local T = dofile(vim.env.HARNESS)

--- Another editor on the same installation: a client of its own that attaches to a session and notes what comes.
local function other_editor(id)
  local other = { events = {} }
  other.rpc = require('sandbox_agent.rpc').start({ 'sandbox-agent', 'lsp' }, {}, {
    notification = function(_, params)
      if params.event and params.event.type ~= 'item/delta' then
        table.insert(other.events, params)
      end
    end,
    request = function() end,
    exit = function()
      other.ended = true
    end,
  })
  function other.call(method, params)
    local result
    other.rpc:request(method, params, function(err, answer)
      result = { err, answer }
    end)
    T.wait(function()
      return result
    end, method)
    T.eq(nil, result[1], method)
    return result[2]
  end
  other.call('initialize', { capabilities = vim.empty_dict(), initializationOptions = { clientName = 'the other' } })
  other.rpc:notify('initialized')
  other.attached = other.call('sandboxAgent/attach', { sessionId = id })
  return other
end

local function questions(choices)
  T.stub(vim.ui, 'select', function(items, opts, done)
    local choice = table.remove(choices, 1)
    local index = type(choice) == 'function' and choice(items, opts) or choice
    done(items[index], index)
  end)
end

T.test('ask: the answer comes, approvals are answered by keys, the edit is in the buffer', function()
  local dir = T.folder({ ['NOTES.md'] = '- a\n' })
  vim.cmd.edit('NOTES.md')
  local notes = vim.api.nvim_get_current_buf()
  local seen = {}
  vim.api.nvim_create_autocmd('User', {
    pattern = 'SandboxAgent*',
    callback = function(event)
      seen[event.match] = event.data
    end,
  })
  local session = T.ask('append "- The checks pass." to NOTES.md')
  T.status(session, 'waitingApproval')
  T.shown(session, 'May this run?')
  T.has(T.text(session.view.buf), '## You\nappend "- The checks pass." to NOTES.md')
  T.eq('sandboxagent', vim.bo[session.view.buf].filetype)
  vim.api.nvim_set_current_win(vim.fn.bufwinid(session.view.buf))
  T.has(require('sandbox_agent.status').winbar(), 'asks you')
  T.has(T.text(0), '    +- The checks pass.\n')
  vim.fn.search('▸ apply_patch', 'w')
  T.keys('o')
  T.wait(function()
    return vim.startswith(vim.api.nvim_buf_get_name(0), 'sandbox-agent-change://')
  end, 'the change')
  T.has(T.text(0), '*** Begin Patch\n')
  T.has(T.text(0), '\n+- The checks pass.\n')
  T.keys('q')
  vim.api.nvim_set_current_win(vim.fn.bufwinid(session.view.buf))
  T.keys('a')
  T.done(session, 1)
  T.eq('- a\n- The checks pass.\n', T.content(dir .. '/NOTES.md'))
  T.eq('- a\n- The checks pass.', T.text(notes))
  T.eq(false, vim.bo[notes].modified)
  T.lacks(T.text(session.view.buf), 'May this run?')
  T.has(require('sandbox_agent').statusline(), 'agent ready · local')
  for _, name in ipairs({ 'TurnStarted', 'TurnFinished', 'ApprovalRequested', 'ApprovalResolved', 'SessionChanged' }) do
    T.eq(session.id, (seen['SandboxAgent' .. name] or {}).session_id, name)
  end
end)

T.test('a tool call opens and closes; :e draws the same again; keys and help', function()
  T.folder({ ['a.txt'] = 'alpha\n' })
  local session = T.ask('read a.txt')
  T.done(session, 1)
  vim.api.nvim_set_current_win(vim.fn.bufwinid(session.view.buf))
  vim.fn.search('▸ read_file', 'w')
  T.keys('<Tab>')
  T.has(T.text(0), '▾ read_file')
  T.has(T.text(0), '    1\talpha')
  local text = T.text(0)
  vim.cmd.edit()
  T.eq(text, T.text(0), 'after :e')
  T.eq(false, vim.bo.modified)
  T.keys('za')
  T.lacks(T.text(0), '▾')
  vim.api.nvim_win_set_cursor(0, { vim.api.nvim_buf_line_count(0), 0 })
  T.keys('[[')
  T.eq('## You', vim.api.nvim_get_current_line())
  T.keys('g?')
  T.has(T.text(0), 'allow the tool call at the cursor')
  T.keys('q')
  T.eq(session.view.buf, vim.api.nvim_get_current_buf())
end)

T.test('zR and zM open and close all tool calls, also those that come; zo and zc one', function()
  T.folder({ ['a.txt'] = 'alpha\n', ['b.txt'] = 'beta\n' })
  local session = T.ask('read a.txt')
  T.done(session, 1)
  vim.api.nvim_set_current_win(vim.fn.bufwinid(session.view.buf))
  T.keys('zR')
  T.has(T.text(0), '    1\talpha')
  vim.fn.search('## You', 'w')
  vim.cmd('SandboxAgent ask read b.txt')
  T.done(session, 2)
  T.has(T.text(0), '    1\talpha')
  T.has(T.text(0), '    1\tbeta')
  T.eq('## You', vim.api.nvim_get_current_line(), 'the cursor stays')
  vim.fn.search('▾ read_file.*b.txt', 'w')
  T.keys('zc')
  T.keys('zc')
  T.lacks(T.text(0), '▾ read_file  b.txt')
  T.has(vim.api.nvim_get_current_line(), '▸ read_file')
  T.keys('zo')
  T.has(T.text(0), '▾ read_file  b.txt')
  T.keys('zM')
  T.has(vim.api.nvim_get_current_line(), '▸ read_file')
  vim.cmd.edit()
  T.lacks(T.text(0), '▾')
end)

T.test('the prompt sends by :w and by <CR>, and is emptied; a queued question waits', function()
  T.folder()
  local session = T.ask('run `sh -c "echo x > y"`')
  T.status(session, 'waitingApproval')
  local win = require('sandbox_agent.conversation').prompt(session)
  vim.api.nvim_set_current_win(win)
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'list the', 'files' })
  T.has(require('sandbox_agent.prompt').winbar(), 'Ask when the turn has ended')
  vim.cmd.write()
  T.wait(function()
    return T.text(0) == '' and #session.queued == 1
  end, 'the question is queued')
  T.eq(false, vim.bo.modified)
  questions({ 1, 2 })
  vim.cmd('SandboxAgent queue')
  T.wait(function()
    return #session.queued == 0
  end, 'the queue is empty')
  vim.cmd('SandboxAgent deny use another file')
  T.shown(session, '⊘')
  T.done(session, 1)
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'list the files' })
  T.keys('<CR>')
  T.done(session, 2)
  T.has(T.text(session.view.buf), '## You\nlist the files')
end)

T.test('a selection goes along, with text that is not saved', function()
  T.folder({ ['a.txt'] = 'one\ntwo\nthree\n' })
  vim.cmd.edit('a.txt')
  vim.api.nvim_buf_set_lines(0, 0, 1, false, { 'ONE' })
  require('sandbox_agent').setup({ model = 'demo' })
  vim.cmd('1,2SandboxAgent! ask list the files')
  local session
  T.wait(function()
    session = require('sandbox_agent.sessions').current()
    return session and session.info.turnId == 1 and session.items[1] ~= nil
  end, 'the turn')
  T.done(session, 1)
  local context = session.items[1].context
  T.eq({ 'selection', 0, 1 }, { context[1].kind, context[1].range.start.line, context[1].range['end'].line })
  T.eq({ 'file', true }, { context[2].kind, context[2].unsaved })
  T.has(T.text(session.view.buf), '↳ a.txt:1-2 (unsaved)')
  vim.cmd('bwipeout! a.txt')
end)

T.test('title, fork from a turn, the tree in the picker, checkpoints, diff, restore, destroy', function()
  local dir = T.folder({ ['NOTES.md'] = '- a\n' })
  local session = T.ask('append "- b" to NOTES.md', { approval = 'never', model = 'demo' })
  T.done(session, 1)
  vim.cmd('SandboxAgent title My notes')
  T.wait(function()
    return session.info.title == 'My notes'
  end, 'the title')
  vim.cmd('SandboxAgent fork turn=1 My try')
  local sessions = require('sandbox_agent.sessions')
  T.wait(function()
    return sessions.current().id ~= session.id and sessions.current().connected
  end, 'the fork')
  T.eq({ 'My try', session.id }, { sessions.current().info.title, sessions.current().info.parentId })
  local offered
  questions({
    function(items, opts)
      offered = vim.tbl_map(opts.format_item, items)
      return 1
    end,
  })
  vim.cmd('SandboxAgent sessions')
  T.wait(function()
    return sessions.current().id == session.id
  end, 'the choice')
  T.has(offered[1], 'My notes')
  T.has(offered[2], '└ My try (from turn 1)')

  vim.cmd('SandboxAgent diff')
  T.wait(function()
    return vim.bo.filetype == 'diff'
  end, 'the diff')
  T.has(T.text(0), '+- b')
  T.keys('a')
  T.keys('q')
  T.eq(1, #vim.api.nvim_list_tabpages())

  vim.cmd.edit(dir .. '/NOTES.md')
  local said = T.messages()
  questions({
    function(items)
      T.eq('Start of the session', items[1].summary)
      return 1
    end,
    2,
  })
  vim.cmd('SandboxAgent checkpoints')
  T.wait(function()
    return T.content(dir .. '/NOTES.md') == '- a\n' and said[1]
  end, 'the restore')
  T.has(said[1], 'Restored: 1')
  T.eq('- a', T.text(0), 'the buffer')

  questions({ 1, 2 })
  vim.cmd('SandboxAgent destroy')
  T.ok(sessions.known(session.id), 'the first answer keeps it')
  vim.cmd('SandboxAgent destroy')
  T.wait(function()
    return not sessions.known(session.id)
  end, 'the end')
  T.eq('- a\n', T.content(dir .. '/NOTES.md'))
end)

T.test('a hunk that is rejected is taken back, and the agent is told why', function()
  local dir = T.folder({ ['NOTES.md'] = '- a\n' })
  local session = T.ask('append "- b" to NOTES.md', { approval = 'never', model = 'demo' })
  T.done(session, 1)
  vim.cmd('SandboxAgent diff')
  T.wait(function()
    return vim.bo.filetype == 'diff'
  end, 'the diff')
  T.stub(vim.ui, 'input', function(_, done)
    done('no b please')
  end)
  T.keys('x')
  T.eq('- a\n', T.content(dir .. '/NOTES.md'))
  T.keys('q')
  T.done(session, 2)
  T.shown(session, 'I have taken this change back in NOTES.md: no b please')
end)

T.test('context: what the agent would see is listed, and nothing is asked', function()
  T.folder({ ['a.txt'] = 'one\ntwo\n' })
  vim.cmd.edit('a.txt')
  vim.cmd('2SandboxAgent! context explain @a.txt')
  T.wait(function()
    return vim.startswith(vim.api.nvim_buf_get_name(0), 'sandbox-agent-context://')
  end, 'the list')
  for _, part in ipairs({
    'systemPrompt',
    'tool          read_file',
    'question',
    'file          "a.txt" (mentioned)',
    'selection     "a.txt" lines 2-2',
    'tokens of the model demo',
  }) do
    T.has(T.text(0), part)
  end
  T.keys('q')
end)

T.test('two editors on one session see the same; either answers', function()
  T.folder()
  local session = T.ask('run `sh -c "echo 1 > one"`, then run `sh -c "echo 2 > two"`')
  local other = other_editor(session.id)
  T.status(session, 'waitingApproval')
  T.wait(function()
    return #session.approvals == 1
  end, 'the approval')
  local first = session.approvals[1]
  other.call('sandboxAgent/answerApproval', { sessionId = session.id, approvalId = first.id, decision = 'allow' })
  T.wait(function()
    return session.approvals[1] and session.approvals[1].id ~= first.id
  end, 'the second approval')
  vim.cmd('SandboxAgent approve')
  T.done(session, 1)
  T.wait(function()
    local last = other.events[#other.events]
    return last and last.seq == session.seq
  end, 'the other editor has all')
  local ids = vim.tbl_map(function(item)
    return item.id
  end, other.call('sandboxAgent/attach', { sessionId = session.id }).items)
  T.eq(
    ids,
    vim.tbl_map(function(item)
      return item.id
    end, session.items)
  )
  other.rpc:close()
  T.wait(function()
    return other.ended
  end, 'it ends at the end of its input')
end)

T.run()
