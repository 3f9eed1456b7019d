-- The help names everything there is, nothing deprecated is used, and starting costs nothing.
local T = dofile(vim.env.HARNESS)

local help = T.content(vim.env.PLUGIN .. '/doc/sandbox_agent.txt')

T.test('help: a tag for every subcommand, map, event and highlight; every setting and key is named', function()
  for name in pairs(require('sandbox_agent.command').subcommands()) do
    T.has(help, '*:SandboxAgent-' .. name .. '*')
  end
  for _, map in ipairs(vim.api.nvim_get_keymap('n')) do
    if vim.startswith(map.lhs, '<Plug>(SandboxAgent') then
      T.has(help, '*' .. map.lhs .. '*')
    end
  end
  for _, group in ipairs(require('sandbox_agent.conversation').highlights()) do
    T.has(help, '*hl-' .. group .. '*')
  end
  for _, event in ipairs({ 'TurnStarted', 'TurnFinished', 'ApprovalRequested', 'ApprovalResolved', 'SessionChanged' }) do
    T.has(help, '*SandboxAgent' .. event .. '*')
  end
  local defaults = require('sandbox_agent.config').defaults()
  for name in pairs(defaults) do
    T.has(help, '\n      ' .. name .. ' = ')
  end
  for _, actions in pairs(defaults.keys) do
    for action in pairs(actions) do
      T.ok(help:find('%f[%w_]' .. action .. '%f[^%w_]'), action .. ' is not in the help')
    end
  end
end)

T.test('help: its tags are right and found', function()
  local dir = T.folder({ ['sandbox_agent.txt'] = help })
  vim.cmd.helptags(dir)
  T.has(T.content(dir .. '/tags'), 'sandbox_agent.setup()')
  for reference in help:gmatch('|([^|%s]+)|') do
    if reference ~= 'User' then
      T.has(T.content(dir .. '/tags'), reference .. '\t')
    end
  end
  for line in help:gmatch('[^\n]+') do
    T.ok(vim.fn.strdisplaywidth(line) <= 82, 'too wide: ' .. line)
  end
end)

T.test('starting costs less than a millisecond and loads no module', function()
  local times = {}
  for i = 1, 7 do
    local log = vim.fn.tempname()
    local cmd = { vim.v.progpath, '--headless', '--startuptime', log, '-u', 'NONE', '-i', 'NONE', '--cmd' }
    vim.list_extend(cmd, { 'set rtp^=' .. vim.env.PLUGIN, '-c', 'runtime plugin/sandbox_agent.lua' })
    vim.list_extend(cmd, { '-c', 'lua assert(vim.fn.exists(":SandboxAgent") == 2)' })
    vim.list_extend(
      cmd,
      { '-c', 'lua for m in pairs(package.loaded) do assert(not m:find("^sandbox_agent")) end', '-c', 'qa!' }
    )
    T.eq(0, vim.system(cmd):wait(10000).code)
    times[i] = tonumber(T.content(log):match('\n%S+ +(%S+) +%S+: sourcing [^\n]*plugin/sandbox_agent.lua'))
  end
  table.sort(times)
  T.out(('     %.2f ms, the median of %d starts (least %.2f)'):format(times[4], #times, times[1]))
  T.ok(times[1] < 1, 'it takes too long')
end)

T.test('nothing that is deprecated was used', function()
  if vim.fn.has('nvim-0.12') == 0 then
    return T.out('     (Neovim lists what is deprecated from 0.12 on)')
  end
  T.folder({ ['NOTES.md'] = '- a\n' })
  vim.cmd.edit('NOTES.md')
  local session = T.ask('append "- b" to NOTES.md', { approval = 'never', model = 'demo' })
  T.done(session, 1)
  vim.cmd('checkhealth sandbox_agent')
  T.has(T.text(0), 'as this plugin expects')
  T.has(T.text(0), 'OPENAI_API_KEY')
  T.has(T.text(0), 'sandbox-agent/log')
  vim.cmd('checkhealth vim.deprecated')
  T.has(T.text(0), 'No deprecated functions detected')
  vim.cmd.bwipeout()
end)

T.run()
