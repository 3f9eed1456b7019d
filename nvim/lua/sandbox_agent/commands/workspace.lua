-- The subcommands of workspaces: move, fork, bring back, compare, restore.
local complete = require('sandbox_agent.complete')
local conversation = require('sandbox_agent.conversation')
local picker = require('sandbox_agent.picker')
local prompt = require('sandbox_agent.prompt')
local say = require('sandbox_agent.say')
local server = require('sandbox_agent.server')
local sessions = require('sandbox_agent.sessions')

---@type table<string, sandbox_agent.Subcommand>
local M = {}

local function refresh()
  require('sandbox_agent.buffers').refresh_all()
end

local function undo_hint(undo)
  return undo and undo ~= '' and ('; undo: :SandboxAgent restore %s'):format(undo:sub(1, 12)) or ''
end

---@param carry sandboxagent.Carry
local function summary(carry)
  local parts = {}
  for _, part in ipairs({ { 'added', 'added' }, { 'changed', 'changed' }, { 'removed', 'removed' } }) do
    if (carry[part[1]] or 0) > 0 then
      parts[#parts + 1] = ('%d %s'):format(carry[part[1]], part[2])
    end
  end
  return #parts > 0 and table.concat(parts, ', ') or 'nothing to bring'
end

--- Lets the user decide about conflicts, then tries again with the decision.
local function decide(carry, again)
  local first = carry.conflicts[1]
  local count = carry.conflictsAll or #carry.conflicts
  local what = ('%d conflict%s (%s); nothing was changed'):format(count, count == 1 and '' or 's', first.path)
  vim.ui.select({ 'Leave it', 'Keep my version', "Take the session's version" }, { prompt = what }, function(_, index)
    if index and index > 1 then
      again(index == 2 and 'mine' or 'theirs')
    end
  end)
end

--- Sends a request that carries files somewhere.
local function carry(command, params, done)
  params.requestId = prompt.request_id()
  server.request(command, params, function(err, result)
    if err then
      return say.error(err)
    end
    if (result.carry.conflictsAll or 0) > 0 and not params.onConflict then
      return decide(result.carry, function(choice)
        carry(command, vim.tbl_extend('force', params, { onConflict = choice }), done)
      end)
    end
    refresh()
    done(result)
  end)
end

local function switch(session, backend)
  carry('switch', { sessionId = session.id, backend = backend }, function(result)
    if result.queued then
      return say.info(('It moves to %s when the turn has ended.'):format(backend.kind))
    end
    say.info(('It runs in %s now: %s%s'):format(result.backend.kind, summary(result.carry), undo_hint(result.undo)))
  end)
end

M.switch = {
  session = true,
  run = function(context)
    if context.args[1] then
      return switch(context.session, { kind = context.args[1], image = context.args[2] })
    end
    picker.backend(function(backend)
      if not backend.available then
        return say.warn(('%s is not available: %s %s'):format(backend.kind, backend.reason or '', backend.remedy or ''))
      end
      switch(context.session, { kind = backend.kind })
    end)
  end,
  complete = complete.backends,
}

M.fork = {
  session = true,
  run = function(context)
    local title, options = {}, {}
    for _, word in ipairs(context.args) do
      local key, value = word:match('^(turn)=(%d+)$')
      if not key then
        key, value = word:match('^(backend)=(%a[%w]*)$')
      end
      if key then
        options[key] = value
      else
        title[#title + 1] = word
      end
    end
    server.request('fork', {
      sessionId = context.session.id,
      title = #title > 0 and table.concat(title, ' ') or nil,
      turnId = tonumber(options.turn),
      backend = options.backend and { kind = options.backend } or nil,
      requestId = prompt.request_id(),
    }, function(err, result)
      if err then
        return say.error(err)
      end
      sessions.attach(result.session.id, function(problem, fork)
        if problem then
          return say.error(problem)
        end
        conversation.show(fork, 'prompt')
        if result.notice then
          say.info(result.notice)
        end
      end)
    end)
  end,
  complete = complete.fork,
}

M.adopt = {
  session = true,
  run = function(context)
    carry('adopt', { sessionId = context.session.id }, function(result)
      say.info(('The parent has it: %s%s'):format(summary(result.carry), undo_hint(result.undo)))
    end)
  end,
}

M.diff = {
  session = true,
  run = function(context)
    require('sandbox_agent.diff').show(context.session, context.args[1], context.args[2])
  end,
  complete = complete.checkpoints,
}

local function restore(session, checkpoint)
  server.request('restore', {
    sessionId = session.id,
    checkpointId = checkpoint,
    requestId = prompt.request_id(),
  }, function(err, result)
    if err then
      return say.error(err)
    end
    refresh()
    local left = #(result.conflicts or {}) + #(result.kept or {})
    local stays = left > 0 and (', %d stay as they are'):format(left) or ''
    say.info(('Restored: %d%s%s'):format(#result.restored, stays, undo_hint(result.undo)))
  end)
end

M.restore = {
  session = true,
  run = function(context)
    if context.args[1] then
      return restore(context.session, context.args[1])
    end
    picker.checkpoint(context.session, function(checkpoint)
      restore(context.session, checkpoint.id)
    end)
  end,
  complete = complete.checkpoints,
}

M.checkpoint = {
  session = true,
  run = function(context)
    server.request('checkpoint', {
      sessionId = context.session.id,
      summary = context.text ~= '' and context.text or nil,
      requestId = prompt.request_id(),
    }, function(err, result)
      if err then
        return say.error(err)
      end
      local id = result.checkpoint.id:sub(1, 12)
      local left = result.skippedAll > 0 and (', %d left out'):format(result.skippedAll) or ''
      local what = result.unchanged and 'nothing has changed since the one before' or result.files .. ' files'
      say.info(('Checkpoint %s: %s%s'):format(id, what, left))
    end)
  end,
}

M.checkpoints = {
  session = true,
  run = function(context)
    picker.checkpoint(context.session, function(checkpoint)
      local choices = { 'Show what changed since', 'Restore the workspace to it' }
      vim.ui.select(choices, { prompt = checkpoint.summary }, function(_, index)
        if index == 1 then
          require('sandbox_agent.diff').show(context.session, checkpoint.id)
        elseif index == 2 then
          restore(context.session, checkpoint.id)
        end
      end)
    end)
  end,
}

M.merge = {
  run = function()
    require('sandbox_agent.conflicts').compare(vim.api.nvim_get_current_buf())
  end,
}

return M
