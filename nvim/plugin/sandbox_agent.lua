-- Defines the command, the <Plug> maps and the buffer names of Sandbox Agent; everything else is loaded when it is first used.
if vim.g.loaded_sandbox_agent then
  return
end
vim.g.loaded_sandbox_agent = true

local old = vim.fn.has('nvim-0.10') == 0

vim.api.nvim_create_user_command('SandboxAgent', function(args)
  if old then
    return vim.api.nvim_echo({ { 'Sandbox Agent needs Neovim 0.10 or newer.', 'WarningMsg' } }, true, {})
  end
  require('sandbox_agent.command').run(args)
end, {
  nargs = '*',
  bang = true,
  range = true,
  complete = function(lead, line, cursor)
    return old and {} or require('sandbox_agent.command').complete(lead, line, cursor)
  end,
  desc = 'Ask Sandbox Agent and control its sessions',
})

-- name → subcommand; the map in Visual mode takes the selection along
for name, sub in pairs({
  Open = 'open',
  Ask = 'ask',
  Sessions = 'sessions',
  Approve = 'approve',
  Deny = 'deny',
  Interrupt = 'interrupt',
  Stop = 'stop',
  Diff = 'diff',
}) do
  local plug = '<Plug>(SandboxAgent' .. name .. ')'
  vim.keymap.set('n', plug, '<Cmd>SandboxAgent ' .. sub .. '<CR>', { desc = 'Sandbox Agent: ' .. sub })
end
vim.keymap.set(
  'x',
  '<Plug>(SandboxAgentAsk)',
  ':SandboxAgent ask<CR>',
  { silent = true, desc = 'Sandbox Agent: ask about this' }
)

if old then
  return
end

vim.api.nvim_create_autocmd({ 'BufReadCmd', 'BufWriteCmd' }, {
  group = vim.api.nvim_create_augroup('sandbox_agent', {}),
  pattern = { 'sandbox-agent://*', 'sandbox-agent-prompt://*' },
  callback = function(event)
    require('sandbox_agent.uri').handle(event)
  end,
})
