-- :checkhealth sandbox_agent.
local M = {}

local function report(check)
  local text = check.name .. ': ' .. check.detail
  if check.status == 'ok' then
    return vim.health.ok(text)
  end
  local tell = check.status == 'error' and vim.health.error or vim.health.warn
  tell(text, check.remedy and { check.remedy } or nil)
end

local function check_neovim()
  vim.health.start('Neovim')
  vim.health.ok(('Neovim %s'):format(tostring(vim.version())))
  if pcall(vim.treesitter.language.inspect, 'markdown') then
    vim.health.ok('there is a tree-sitter parser for Markdown')
  else
    vim.health.info('there is no tree-sitter parser for Markdown: conversations are shown without its colours')
  end
end

local function check_settings()
  vim.health.start('Settings')
  local problems = require('sandbox_agent.config').problems()
  if #problems == 0 then
    return vim.health.ok('they are right')
  end
  for _, problem in ipairs(problems) do
    vim.health.warn(problem, { 'See :help sandbox_agent-settings.' })
  end
end

--- Reports whether the program can be run.
local function check_program()
  vim.health.start('The program')
  local cmd = require('sandbox_agent.config').get().cmd[1]
  local path = vim.fn.exepath(cmd)
  if path == '' then
    vim.health.error(('%s is not found'):format(cmd), {
      'Put sandbox-agent and the programs beside it into a folder of your PATH,',
      "or name it: vim.g.sandbox_agent = { cmd = { '/path/to/sandbox-agent' } }",
    })
    return false
  end
  local done = vim.system({ path, 'version' }, { text = true }):wait(5000)
  local mine = require('sandbox_agent.protocol').version
  local theirs = (done.stdout or ''):match('%d+%.%d+%.%d+')
  if done.code ~= 0 or not theirs then
    vim.health.error(('%s does not run: %s'):format(path, vim.trim(done.stderr or '')), { 'Install it again.' })
    return false
  end
  if theirs == mine then
    vim.health.ok(('%s is version %s, as this plugin expects'):format(path, theirs))
  else
    vim.health.warn(('%s is version %s, this plugin is made for %s'):format(path, theirs, mine), {
      'Update the older of the two.',
    })
  end
  return true
end

local function check_server()
  vim.health.start('The server, the worker and what they need')
  local server = require('sandbox_agent.server')
  require('sandbox_agent.sessions')
  local err, result, done
  server.request('doctor', {}, function(e, r)
    err, result, done = e, r, true
  end)
  if not vim.wait(20000, function()
    return done
  end, 20) then
    return vim.health.error('the server does not answer', { 'See the logs below.' })
  end
  if err then
    return vim.health.error(err.message, err.remedy and { err.remedy } or nil)
  end
  for _, check in ipairs(result.checks) do
    report(check)
  end
end

local function check_logs()
  vim.health.start('Logs')
  local log = require('sandbox_agent.log')
  vim.health.info('of the server and the worker: ' .. log.server_folder())
  vim.health.info('of this plugin: ' .. log.path())
end

function M.check()
  if vim.fn.has('nvim-0.10') == 0 then -- which has no vim.health yet
    return vim.fn['health#report_error']('Neovim 0.10 or newer is needed', { 'Install a newer Neovim.' })
  end
  check_neovim()
  check_settings()
  if check_program() then
    check_server()
  end
  check_logs()
end

return M
