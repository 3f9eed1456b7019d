-- What needs no server: settings, the merge of lines, how items are drawn, and messages for what cannot be.
local T = dofile(vim.env.HARNESS)

local function merged(base, ours, theirs)
  local edits, conflicts = require('sandbox_agent.merge').edits(base, ours, theirs)
  local lines = vim.deepcopy(ours)
  for _, edit in ipairs(edits) do
    for _ = 1, edit.count do
      table.remove(lines, edit.at)
    end
    for i, line in ipairs(edit.lines) do
      table.insert(lines, edit.at + i - 1, line)
    end
  end
  return lines, conflicts
end

local function chars(text)
  return vim.split(text, '')
end

T.test('merge: both sides in different lines', function()
  for _, case in ipairs({
    { 'abcd', 'Abcd', 'abcD', 'AbcD', 0 },
    { 'abcd', 'abcd', 'abd', 'abd', 0 },
    { 'abcd', 'xabcd', 'abcdy', 'xabcdy', 0 },
    { 'abcd', 'acd', 'abcDD', 'acDD', 0 },
    { 'abcd', 'aXYbcd', 'abcd', 'aXYbcd', 0 },
    { 'abcd', 'abcd', '1234', '1234', 0 },
    { 'abcd', 'Abcd', 'Abcd', 'Abcd', 0 }, -- the same change
    { 'abcd', 'aXcd', 'aYcd', 'aXcd', 1 },
    { 'abcd', 'aXcD', 'AbcY', 'AXcD', 1 },
    { 'ab', 'abX', 'abY', 'abX', 1 },
    { 'abcdef', 'abXXef', 'abcdeF', 'abXXeF', 0 },
  }) do
    local lines, conflicts = merged(chars(case[1]), chars(case[2]), chars(case[3]))
    T.eq({ case[4], case[5] }, { table.concat(lines), conflicts }, table.concat(case, ' '))
  end
end)

T.test('merge: what one side did alone always comes out whole', function()
  math.randomseed(7)
  local letters = { 'a', 'b', 'c', 'd' }
  local function random(most)
    local lines = {}
    for i = 1, math.random(0, most) do
      lines[i] = letters[math.random(#letters)]
    end
    return lines
  end
  for _ = 1, 500 do
    local base, theirs = random(12), random(12)
    local lines, conflicts = merged(base, base, theirs)
    T.eq({ theirs, 0 }, { lines, conflicts })
    lines, conflicts = merged(base, theirs, theirs)
    T.eq({ theirs, 0 }, { lines, conflicts })
  end
end)

T.test('merge: preferring theirs keeps what ours did elsewhere', function()
  local merge = require('sandbox_agent.merge')
  local function check(base, ours, theirs, want)
    local function lines(text)
      return vim.split(text, '')
    end
    T.eq(want, table.concat(merge.preferring_theirs(lines(base), lines(ours), lines(theirs))))
  end
  check('a-b-c', 'a-b-c', 'a-B-c', 'a-B-c')
  check('a-b-c', 'A-b-c', 'a-b-C', 'A-b-C')
  check('a-b-c', 'a-x-C', 'a-y-c', 'a-y-C')
  check('a-b-c', 'a-c', 'a-y-c', 'a-y-c')
  check('a-b', 'a1-b', 'a2-b', 'a2-b')
  check('a-b', '1a-b', 'a-b2', '1a-b2')
end)

T.test('settings: wrong and unknown ones are told in one line, right ones count', function()
  local config = require('sandbox_agent.config')
  local said = T.messages()
  config.setup({
    modle = 'x',
    window = { size = 0.3, position = 'middle' },
    keys = { transcript = { allow = 'y', deny = false } },
  })
  T.eq(1, #said)
  T.has(table.concat(config.problems(), '\n'), 'modle is not a setting')
  T.has(table.concat(config.problems(), '\n'), 'window.position must be one of')
  T.eq({ 0.3, 'right' }, { config.get().window.size, config.get().window.position })
  T.eq(
    { 'y', false, 'A' },
    { config.get().keys.transcript.allow, config.get().keys.transcript.deny, config.get().keys.transcript.allow_always }
  )
  config.setup({})
  vim.g.sandbox_agent = { model = 'demo' }
  config.setup()
  T.eq('demo', config.get().model)
  config.setup({ model = 'other' })
  T.eq('other', config.get().model, 'setup wins')
  vim.g.sandbox_agent = nil
  config.setup()
end)

local function drawn(item, context)
  local render = require('sandbox_agent.render')
  item = vim.tbl_extend('keep', item, { id = 'i1', status = 'completed' })
  local base =
    { opened = false, most = 200, keys = { allow = 'a', allow_always = 'A', deny = 'd', deny_feedback = 'D' } }
  return table.concat(render.item(item, vim.tbl_extend('force', base, context or {})).lines, '\n')
end

T.test('drawing: a tool call is one line until it is opened', function()
  local item = {
    kind = 'toolCall',
    tool = 'exec_command',
    text = 'make\ntest',
    exitCode = 2,
    durationMs = 1500,
    output = { head = 'one\n\27[31mtwo\27[0m\n10 %\r20 %\r\n', totalBytes = 27, stream = 'stdout' },
  }
  T.eq('▸ exec_command  make …  ✓  exit 2  1.5 s\n', drawn(item))
  T.eq('▾ exec_command  make …  ✓  exit 2  1.5 s\n    one\n    two\n    20 %\n', drawn(item, { opened = true }))
  item.output = { head = ('x\n'):rep(1000), totalBytes = 2000, stream = 'stdout' }
  local lines = vim.split(drawn(item, { opened = true, most = 20 }), '\n')
  T.ok(#lines < 26, '#lines')
  T.has(table.concat(lines, '\n'), 'the whole output, 2000 bytes: o')
end)

T.test('drawing: why a turn failed, and a second one for the same reason in one line', function()
  local render = require('sandbox_agent.render')
  local failure = { message = 'There is no key.', remedy = "Set it (with the editor's Set API Key command)." }
  T.eq({
    '✗ Turn 1 failed: There is no key.',
    '    Set it (with :SandboxAgent key OPENAI_API_KEY).',
    '',
  }, render.failure(1, failure).lines)
  T.eq({ '✗ Turn 2 failed for the same reason.', '' }, render.failure(2, failure, failure).lines)
  T.eq(3, #render.failure(2, failure, { message = 'Another.' }).lines)
end)

T.test('drawing: an approval names its keys, and always only where it is offered', function()
  local approval = { id = 'a', itemId = 'i1', subject = 'rm x', reason = 'it removes', options = { 'allow', 'deny' } }
  local item = { kind = 'toolCall', tool = 'exec_command', text = 'rm x', status = 'inProgress' }
  local text = drawn(item, { approval = approval })
  T.has(text, 'a allow · d deny · D deny and say why')
  approval.options = { 'allow', 'allowAlways', 'deny' }
  approval.pattern = 'rm *'
  T.has(drawn(item, { approval = approval }), 'A always (rm *)')
end)

T.test('drawing: the change that is asked about is shown, as far as there is room', function()
  local approval =
    { id = 'a', itemId = 'i1', subject = 'change x', reason = 'it writes', options = { 'allow', 'deny' } }
  local item = { kind = 'toolCall', tool = 'apply_patch', text = 'change x', status = 'inProgress' }
  item.arguments = vim.json.encode({ patch = '@@\n-old\n+new' })
  local text = drawn(item, { approval = approval })
  T.has(text, '    @@\n    -old\n    +new\n    May this run?')
  item.arguments = vim.json.encode({ patch = ('+line\n'):rep(30) })
  T.has(drawn(item, { approval = approval }), '    … the rest of the change: o')
  item.arguments = item.arguments:sub(1, 40)
  T.has(
    drawn(item, { approval = approval }),
    '▸ apply_patch  change x  …\n    … what it would change: o\n    May this run?'
  )
end)

T.test('drawing: a bound that is reached asks in its notice', function()
  local approval =
    { id = 'a', itemId = 'i1', subject = '9 calls', reason = 'The budget is reached', options = { 'allow', 'deny' } }
  local text = drawn({ kind = 'notice', text = '9 calls.', status = 'inProgress' }, { approval = approval })
  T.has(text, '> 9 calls.\n    May it go on? The budget is reached')
  T.has(text, 'a allow · d deny')
end)

T.test('command: what is wrong is one line', function()
  local said = T.messages()
  vim.cmd('SandboxAgent nonsense')
  T.has(said[1], 'The subcommand nonsense is not one')
  vim.cmd('SandboxAgent s')
  T.has(said[2], 'could be sessions, steer, stop, switch')
  vim.cmd('SandboxAgent key')
  T.eq('Sandbox Agent: :SandboxAgent key needs {name}.', said[3])
  for _, line in ipairs(said) do
    T.lacks(line, '\n')
    T.ok(vim.fn.strdisplaywidth(line) < vim.o.columns, line)
  end
end)

T.test('command: subcommands and arguments complete', function()
  local function complete(typed)
    return vim.fn.getcompletion(typed, 'cmdline')
  end
  T.eq({ 'checkpoint', 'checkpoints', 'compact', 'context' }, complete('SandboxAgent c'))
  T.eq({ 'docker' }, complete('SandboxAgent switch do'))
  T.eq({ 'adopt', 'approve', 'ask', 'attach' }, complete('SandboxAgent a'))
  T.has(table.concat(complete('3,5SandboxAgent! as'), ' '), 'ask')
end)

T.test('a program that is missing is one line, and the health check tells the rest', function()
  local said = T.messages()
  require('sandbox_agent').setup({ cmd = { 'no-such-program' } })
  vim.cmd('SandboxAgent sessions')
  T.eq(1, #said)
  T.has(said[1], 'no-such-program is not found')
  vim.cmd('checkhealth sandbox_agent')
  T.has(T.text(0), 'Put sandbox-agent and the programs beside it')
  vim.cmd.bwipeout()
  require('sandbox_agent').setup()
end)

T.test('a program that ends at once is one line, and is tried again with the next request only', function()
  local said = T.messages()
  require('sandbox_agent').setup({ cmd = { 'false' } })
  vim.cmd('SandboxAgent sessions')
  T.wait(function()
    return #said == 1
  end, 'the message')
  T.eq('stopped', require('sandbox_agent.server').status)
  os.remove(require('sandbox_agent.log').path())
  require('sandbox_agent').setup()
end)

T.test('mentions: files, the selection and what is wrong with the code', function()
  local mentions = require('sandbox_agent.mentions')
  local dir = T.folder({ ['a.lua'] = 'one\ntwo\nthree\n', ['b c.lua'] = '', ['.hidden'] = '' })
  vim.fn.mkdir(dir .. '/sub')
  T.file(dir .. '/sub/d.lua', '')
  T.eq({ '@selection', '@diagnostics', '@a.lua', '@"b c.lua"', '@sub/' }, mentions.candidates(dir, '@'))
  T.eq({ '@sub/d.lua' }, mentions.candidates(dir, '@sub/'))
  T.eq({ '@"b c.lua"' }, mentions.candidates(dir, '@"b'))
  T.eq({ '@.hidden' }, mentions.candidates(dir, '@.h'))
  T.eq({}, mentions.candidates(dir, '@nowhere/x'))

  vim.cmd.edit('a.lua')
  T.keys('2GVG<Esc>')
  local buf = vim.api.nvim_get_current_buf()
  local ns = vim.api.nvim_create_namespace('mentions test')
  vim.diagnostic.set(ns, buf, { { lnum = 1, col = 2, message = 'no\nsuch', severity = vim.diagnostic.severity.ERROR } })
  local folder = vim.uri_from_fname(dir)
  T.eq(nil, mentions.context('hello', folder))
  local parts = mentions.context('explain @selection with @diagnostics', folder)
  T.eq({ 'selection', 'diagnostics' }, { parts[1].kind, parts[2].kind })
  T.eq('two\nthree', parts[1].text)
  T.eq({ 1, 2 }, { parts[1].range.start.line, parts[1].range['end'].line })
  T.eq('a.lua:2:3: error: no such', parts[2].text)
  T.eq(1, #mentions.context('@selection', folder, { parts[1] }))
  vim.diagnostic.reset(ns)
  T.eq('There are none.', mentions.context('@diagnostics', folder)[1].text)
end)

T.run()
