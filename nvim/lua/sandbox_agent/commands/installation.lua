-- The subcommands of the installation: what is wrong, the log, the keys.
local say = require('sandbox_agent.say')
local server = require('sandbox_agent.server')

---@type table<string, sandbox_agent.Subcommand>
local M = {}

M.doctor = {
  run = function()
    vim.cmd.checkhealth('sandbox_agent')
  end,
}

M.log = {
  run = function()
    local log = require('sandbox_agent.log')
    local found = {}
    for name, kind in vim.fs.dir(log.server_folder()) do
      if kind == 'file' then
        found[#found + 1] = vim.fs.joinpath(log.server_folder(), name)
      end
    end
    table.sort(found)
    if vim.uv.fs_stat(log.path()) then
      found[#found + 1] = log.path()
    end
    if #found == 0 then
      return say.info('There is no log yet below ' .. log.server_folder())
    end
    vim.ui.select(found, { prompt = 'Log' }, function(path)
      if path then
        vim.cmd('botright split')
        vim.cmd.view({ args = { path }, magic = { file = false } })
        vim.cmd('normal! G')
      end
    end)
  end,
}

local keys = { 'OPENAI_API_KEY', 'E2B_API_KEY', 'DAYTONA_API_KEY' }

M.key = {
  argument = 'name',
  run = function(context)
    local name = context.args[1]
    if not vim.list_contains(keys, name) then
      return say.warn('The keys are ' .. table.concat(keys, ', ') .. '.')
    end
    -- inputsecret and not vim.ui.input: what is typed must neither be seen nor come into a history
    local value = vim.fn.inputsecret(name .. ' (empty: forget it): ')
    server.request('setSecret', { name = name, value = value }, function(err)
      if err then
        return say.error(err)
      end
      say.info(value == '' and 'The worker has forgotten the key.' or 'The worker has the key, in its memory only.')
    end)
  end,
  complete = function()
    return keys
  end,
}

return M
