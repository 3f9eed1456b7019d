-- Lines that the user has changed and not saved, and that were changed on disk too: both stay until the user has chosen. The
-- question waits until the user is in that buffer and not typing.
local merge = require('sandbox_agent.merge')
local say = require('sandbox_agent.say')

local M = {}

local group = vim.api.nvim_create_augroup('sandbox_agent_conflicts', {})
local waiting = {} ---@type table<integer, true> buffers whose question waits or is open

--- Shows a buffer beside its file, as a diff in a tab. What is written afterwards is what the user has made of both.
---@param buf integer
function M.compare(buf)
  local theirs = require('sandbox_agent.disk').read(buf)
  if not theirs then
    return say.info('This buffer shows no file.')
  end
  local filetype = vim.bo[buf].filetype
  vim.cmd('tab split')
  vim.api.nvim_win_set_buf(0, buf)
  vim.cmd.diffthis()
  local other = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(other, 0, -1, false, theirs)
  vim.bo[other].bufhidden, vim.bo[other].modifiable = 'wipe', false
  vim.api.nvim_open_win(other, true, { split = 'right', win = 0 })
  vim.bo[other].filetype = filetype
  vim.wo[0][0].winbar = ' on disk: do takes a change from here into yours'
  vim.cmd.diffthis()
  vim.cmd.wincmd('p')
  require('sandbox_agent.buffers').seen(buf, theirs)
end

local function keep(buf)
  local theirs = require('sandbox_agent.disk').read(buf)
  if theirs then
    require('sandbox_agent.buffers').seen(buf, theirs)
  end
end

local function take(buf)
  local theirs = require('sandbox_agent.disk').read(buf)
  local doc = require('sandbox_agent.documents').get(buf)
  if not theirs or not doc then
    return
  end
  local ours = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  local wanted = merge.preferring_theirs(doc.base or ours, ours, theirs)
  local buffers = require('sandbox_agent.buffers')
  buffers.edit(buf, (merge.edits(ours, ours, wanted)))
  buffers.seen(buf, theirs)
end

local choices = { { 'Merge them in a tab', M.compare }, { 'Keep mine', keep }, { 'Take theirs', take } }

local function name_of(buf)
  return vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ':t')
end

local function open(buf)
  local opts = {
    prompt = ('You and the file on disk changed the same lines of %s'):format(name_of(buf)),
    kind = 'sandbox_agent.conflict',
    format_item = function(choice)
      return choice[1]
    end,
  }
  vim.ui.select(choices, opts, function(choice)
    waiting[buf] = nil
    if choice and vim.api.nvim_buf_is_loaded(buf) then
      choice[2](buf)
    end
  end)
end

local function is_there(buf)
  return vim.api.nvim_get_current_buf() == buf and vim.api.nvim_get_mode().mode == 'n'
end

--- Asks what shall become of changes that met unsaved text. One question for each buffer at a time.
---@param buf integer
---@param count integer
function M.ask(buf, count)
  if waiting[buf] then
    return
  end
  waiting[buf] = true
  local function ask_if_there()
    if is_there(buf) and waiting[buf] then
      vim.api.nvim_clear_autocmds({ group = group, buffer = buf })
      open(buf)
    end
  end
  if not is_there(buf) then
    local changes = count == 1 and '1 change' or count .. ' changes'
    say.warn(('%s in %s met your unsaved text, which stays; you are asked there.'):format(changes, name_of(buf)))
    vim.api.nvim_create_autocmd({ 'BufEnter', 'InsertLeave', 'CursorHold' }, {
      group = group,
      buffer = buf,
      callback = vim.schedule_wrap(ask_if_there),
    })
  end
  vim.schedule(ask_if_there)
end

return M
