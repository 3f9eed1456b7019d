-- What a session has changed, in a tab: each hunk can be accepted, or rejected with the reason, which takes it back and tells
-- the agent. Closing the tab decides nothing.
local say = require('sandbox_agent.say')
local server = require('sandbox_agent.server')

local M = {}

local ns = vim.api.nvim_create_namespace('sandbox_agent_diff')

---@class sandbox_agent.Hunk
---@field path string
---@field row integer (0-based) of its header in the diff
---@field lines string[] with their signs
---@field to integer line in the file as it is now
---@field decided? "accepted"|"rejected"

local shown = {} ---@type table<integer, { session: sandbox_agent.Session, hunks: sandbox_agent.Hunk[] }> by buffer

--- Finds the hunks in the lines of a file's patch.
local function hunks_of(path, lines, from)
  local hunks, hunk = {}, nil
  for i, line in ipairs(lines) do
    local to = line:match('^@@ %-%d+,?%d* %+(%d+)')
    if to then
      hunk = { path = path, row = from + i - 1, lines = {}, to = tonumber(to) }
      hunks[#hunks + 1] = hunk
    elseif hunk and line:match('^[ +-]') then
      table.insert(hunk.lines, line)
    end
  end
  return hunks
end

local function page(files, truncated)
  local lines, hunks = {}, {}
  for _, file in ipairs(files) do
    local patch = vim.split((file.patch or ''):gsub('\n$', ''), '\n', { plain = true })
    if not file.patch or file.patch == '' then
      patch = { ('diff %s (%s%s)'):format(file.path, file.kind, file.binary and ', binary' or '') }
    end
    vim.list_extend(hunks, hunks_of(file.path, patch, #lines))
    vim.list_extend(lines, patch)
  end
  if truncated then
    lines[#lines + 1] = 'More differs than is shown here.'
  end
  return lines, hunks
end

--- Shows what differs between two checkpoints.
---@param session sandbox_agent.Session
---@param from? string default: the session's start
---@param to? string default: now
function M.show(session, from, to)
  server.request('diff', { sessionId = session.id, from = from, to = to }, function(err, result)
    if err then
      return say.error(err)
    end
    if #result.files == 0 then
      return say.info('Nothing differs.')
    end
    local lines, hunks = page(result.files, result.truncated)
    local buf = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
    vim.bo[buf].modifiable, vim.bo[buf].bufhidden = false, 'wipe'
    vim.cmd('tab split')
    vim.api.nvim_win_set_buf(0, buf)
    vim.bo[buf].filetype = 'diff'
    vim.b[buf].sandbox_agent_session = session.id
    vim.wo[0][0].winbar = '%#SandboxAgentHint# a accepts a hunk · x rejects it · g? lists the keys%*'
    shown[buf] = { session = session, hunks = hunks }
    vim.api.nvim_create_autocmd('BufWipeout', {
      buffer = buf,
      callback = function()
        shown[buf] = nil
      end,
    })
    require('sandbox_agent.keys').map(buf, 'diff')
    vim.fn.search('^@@ ', 'W')
  end)
end

local function hunk_at(line)
  local page_here = shown[vim.api.nvim_get_current_buf()]
  local found
  for _, hunk in ipairs(page_here and page_here.hunks or {}) do
    if hunk.row < line then
      found = hunk
    end
  end
  if not found then
    say.info('There is no hunk at the cursor.')
  end
  return found, page_here and page_here.session
end

local function decide(hunk, decision)
  hunk.decided = decision
  local group = decision == 'accepted' and 'SandboxAgentIdle' or 'SandboxAgentToolFailed'
  vim.api.nvim_buf_set_extmark(0, ns, hunk.row, 0, { virt_text = { { '  ' .. decision, group } } })
  vim.fn.search('^@@ ', 'W')
end

---@param line integer
function M.accept(line)
  local hunk = hunk_at(line)
  if hunk and not hunk.decided then
    decide(hunk, 'accepted')
  end
end

--- The two sides of a hunk.
local function sides(hunk)
  local before, after = {}, {}
  for _, line in ipairs(hunk.lines) do
    local sign, text = line:sub(1, 1), line:sub(2)
    if sign ~= '+' then
      before[#before + 1] = text
    end
    if sign ~= '-' then
      after[#after + 1] = text
    end
  end
  return before, after
end

--- Where lines stand in others, looking around a line first; nil when they do not.
local function find(lines, wanted, near)
  local function fits(at)
    for i, line in ipairs(wanted) do
      if lines[at + i - 1] ~= line then
        return false
      end
    end
    return true
  end
  for distance = 0, #lines do
    for _, at in ipairs({ near - distance, near + distance }) do
      if at >= 1 and fits(at) then
        return at
      end
    end
  end
end

--- Takes a hunk back in its file. Reports whether the hunk was still there.
local function take_back(session, hunk)
  local path = require('sandbox_agent.output').local_path(session, hunk.path)
  if not path or not vim.uv.fs_stat(path) then
    return false
  end
  local buf = vim.fn.bufadd(path)
  vim.fn.bufload(buf)
  local before, after = sides(hunk)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  local at = find(lines, after, hunk.to)
  if not at or #after == 0 then
    return false
  end
  local clean = not vim.bo[buf].modified
  require('sandbox_agent.buffers').edit(buf, { { at = at, count = #after, lines = before } })
  if clean then
    vim.api.nvim_buf_call(buf, function()
      vim.cmd('silent keepalt write')
    end)
  end
  return true
end

local function tell_agent(session, hunk, reason, taken)
  local what = taken and 'I have taken this change back' or 'Take this change back'
  local why = reason ~= '' and ': ' .. reason or '.'
  local text = ('%s in %s%s\n\n```diff\n%s\n```'):format(what, hunk.path, why, table.concat(hunk.lines, '\n'))
  server.request('ask', {
    sessionId = session.id,
    text = text,
    requestId = require('sandbox_agent.prompt').request_id(),
  }, function(err)
    if err then
      say.error(err)
    end
  end)
end

---@param line integer
function M.reject(line)
  local hunk, session = hunk_at(line)
  if not hunk or hunk.decided then
    return
  end
  vim.ui.input({ prompt = 'What is wrong with it? ' }, function(reason)
    if not reason then
      return
    end
    decide(hunk, 'rejected')
    tell_agent(session, hunk, reason, take_back(session, hunk))
  end)
end

---@param line integer
function M.open(line)
  local hunk, session = hunk_at(line)
  local path = hunk and require('sandbox_agent.output').local_path(session, hunk.path)
  if not path then
    return
  end
  local at = hunk.to
  for i = 1, line - hunk.row - 2 do
    at = at + (hunk.lines[i] and hunk.lines[i]:sub(1, 1) ~= '-' and 1 or 0)
  end
  vim.cmd('tabprevious')
  require('sandbox_agent.output').edit(path, at)
end

return M
