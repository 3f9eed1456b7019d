-- The subcommands of conversations: ask and answer, choose and end sessions.
local conversation = require('sandbox_agent.conversation')
local complete = require('sandbox_agent.complete')
local config = require('sandbox_agent.config')
local picker = require('sandbox_agent.picker')
local prompt = require('sandbox_agent.prompt')
local say = require('sandbox_agent.say')
local server = require('sandbox_agent.server')
local sessions = require('sandbox_agent.sessions')

---@type table<string, sandbox_agent.Subcommand>
local M = {}

--- Sends a request whose only answer to the user is an error, if any.
local function request(command, params, callback)
  params.requestId = prompt.request_id()
  server.request(command, params, function(err, result)
    if err then
      return say.error(err)
    end
    if callback then
      callback(result)
    end
  end)
end

local function nonempty(text)
  return text ~= '' and text or nil
end

--- The lines of a range as context of a question.
local function selection(range)
  if not range or vim.bo.buftype ~= '' then
    return nil
  end
  return require('sandbox_agent.mentions').lines(0, range[1], range[2])
end

local function show(id, focus)
  sessions.attach(id, function(err, session)
    if err then
      return say.error(err)
    end
    conversation.show(session, focus)
  end)
end

--- Makes a session in the current folder.
local function create(backend, callback)
  local settings = config.get()
  local kind = backend or nonempty(settings.backend)
  local folder = sessions.folder()
  server.add_folder(folder)
  request('new', {
    workspaceFolder = folder,
    backend = kind and { kind = kind } or nil,
    model = nonempty(settings.model),
    approvalMode = nonempty(settings.approval),
  }, function(result)
    sessions.attach(result.session.id, function(err, session)
      if err then
        return say.error(err)
      end
      callback(session)
    end)
  end)
end

--- Calls back with the session that a question goes to: the current one, the folder's latest, or a new one.
local function session_for_question(new, callback)
  local current = sessions.current()
  if new then
    return create(nil, callback)
  end
  if current and current.state.status ~= 'destroyed' then
    return callback(current)
  end
  server.add_folder(sessions.folder())
  sessions.list({ workspaceFolder = sessions.folder(), limit = 1, includeForks = false }, function(err, list)
    if err then
      return say.error(err)
    end
    if not list[1] then
      return create(nil, callback)
    end
    sessions.attach(list[1].id, function(problem, session)
      if problem then
        return say.error(problem)
      end
      callback(session)
    end)
  end)
end

local function ask(session, text, part)
  request('ask', {
    sessionId = session.id,
    workspaceFolder = session.info.workspaceFolder, -- whose unsaved text goes along
    text = text,
    context = require('sandbox_agent.mentions').context(text, session.info.workspaceFolder, part and { part }),
  })
end

M.ask = {
  run = function(context)
    local part = selection(context.range)
    session_for_question(context.bang, function(session)
      conversation.show(session, context.text == '' and 'prompt' or nil)
      if context.text ~= '' then
        return ask(session, context.text, part)
      end
      if part then
        prompt.add_context(session.id, part)
      end
    end)
  end,
}

M.open = {
  run = function()
    session_for_question(false, function(session)
      conversation.show(session, 'prompt')
    end)
  end,
}

M.new = {
  run = function(context)
    create(context.args[1], function(session)
      conversation.show(session, 'prompt')
    end)
  end,
  complete = complete.backends,
}

M.sessions = {
  run = function(context)
    local folder = not context.bang and sessions.folder() or nil
    picker.session({ workspaceFolder = folder, search = nonempty(context.text) }, function(session)
      show(session.id, 'transcript')
    end)
  end,
}

M.attach = {
  run = function(context)
    if context.text ~= '' then
      return complete.session(context.text, function(id)
        show(id, 'transcript')
      end)
    end
    sessions.with_current(function(err, session)
      if err then
        return say.error(err)
      end
      conversation.show(session, 'transcript')
    end)
  end,
  complete = complete.sessions,
}

M.detach = {
  session = true,
  run = function(context)
    conversation.close(context.session)
    sessions.detach(context.session)
  end,
}

M.interrupt = {
  session = true,
  run = function(context)
    local session = context.session
    if not session:busy() then
      return say.info('No turn runs.')
    end
    request('interrupt', { sessionId = session.id, turnId = session.info.turnId })
  end,
}

local function stop(session, item_id)
  request('stop', { sessionId = session.id, itemId = item_id }, function(result)
    say.info(result.how)
  end)
end

M.stop = {
  session = true,
  run = function(context)
    if context.args[1] then
      return stop(context.session, context.args[1])
    end
    picker.command(context.session, function(command)
      stop(context.session, command.itemId)
    end)
  end,
}

M.steer = {
  session = true,
  argument = 'text',
  run = function(context)
    local session = context.session
    request('steer', { sessionId = session.id, expectedTurnId = session.info.turnId, text = context.text })
  end,
}

local function change_queued(session, message)
  vim.ui.select({ 'edit', 'remove' }, { prompt = 'What shall become of it?' }, function(op)
    if op == 'remove' then
      return request('queue', { sessionId = session.id, op = 'remove', itemId = message.itemId })
    end
    if op == 'edit' then
      vim.ui.input({ prompt = 'Text: ', default = message.text }, function(text)
        if text and text ~= '' then
          request('queue', { sessionId = session.id, op = 'edit', itemId = message.itemId, text = text })
        end
      end)
    end
  end)
end

M.queue = {
  session = true,
  run = function(context)
    if context.text ~= '' then
      return ask(context.session, context.text)
    end
    picker.queued(context.session, function(message)
      change_queued(context.session, message)
    end)
  end,
}

local function answer(decision)
  return function(context)
    local approval = context.session.approvals[1]
    if not approval then
      return say.info('Nothing waits for an answer.')
    end
    local always = decision == 'allow' and context.bang
    local reason = decision == 'deny' and (nonempty(context.text) or context.bang) or nil
    require('sandbox_agent.approvals').answer(context.session, approval, always and 'allowAlways' or decision, {
      feedback = reason,
      scope = always and context.args[1] or nil,
    })
  end
end

M.approve = {
  session = true,
  run = answer('allow'),
  complete = function()
    return { 'session', 'workspace' }
  end,
}
M.deny = { session = true, run = answer('deny') }

M.title = {
  session = true,
  run = function(context)
    local function rename(title)
      if title and title ~= '' then
        request('title', { sessionId = context.session.id, title = title })
      end
    end
    if context.text ~= '' then
      return rename(context.text)
    end
    vim.ui.input({ prompt = 'Title: ', default = context.session.info.title }, rename)
  end,
}

local function pause(context)
  request('pause', { sessionId = context.session.id }, function()
    say.info('The session is kept for later; ask to go on.')
  end)
end

M.pause = { session = true, run = pause }
M.done = { session = true, run = pause }

M.destroy = {
  session = true,
  run = function(context)
    local session = context.session
    local function destroy()
      request('destroy', { sessionId = session.id }, function(result)
        conversation.close(session)
        sessions.forget(session.id)
        say.info(result.remains or 'The session is destroyed; your folder is as it was.')
      end)
    end
    if context.bang then
      return destroy()
    end
    local question = ('Destroy "%s" with its sandbox?'):format(session.info.title)
    vim.ui.select({ 'Keep it', 'Destroy it' }, { prompt = question }, function(_, index)
      if index == 2 then
        destroy()
      end
    end)
  end,
}

M.model = {
  session = true,
  run = function(context)
    local function set(model)
      request('configure', { sessionId = context.session.id, model = model })
    end
    if context.text ~= '' then
      return set(context.text)
    end
    picker.model(function(model)
      set(model.id)
    end)
  end,
  complete = complete.models,
}

M.effort = {
  session = true,
  argument = 'effort',
  run = function(context)
    request('configure', { sessionId = context.session.id, effort = context.args[1] })
  end,
  complete = function()
    return { 'minimal', 'low', 'medium', 'high' }
  end,
}

M.mode = {
  session = true,
  argument = 'mode',
  run = function(context)
    request('configure', { sessionId = context.session.id, approvalMode = context.args[1] })
  end,
  complete = function()
    return { 'ask', 'auto', 'never', 'readOnly' }
  end,
}

M.context = {
  run = function(context)
    local session, folder = sessions.current(), sessions.folder()
    local part = selection(context.range)
    server.add_folder(folder)
    request('context', {
      sessionId = not context.bang and session and session.id or nil,
      new = context.bang or nil,
      workspaceFolder = folder,
      text = nonempty(context.text),
      context = require('sandbox_agent.mentions').context(context.text, folder, part and { part }),
    }, function(result)
      local lines = {}
      for _, p in ipairs(result.parts) do
        local about = (p.detail and ' (' .. p.detail .. ')' or '') .. (p.problem and ' ! ' .. p.problem or '')
        local line = ('%8d  %-12s  %s%s'):format(p.tokens, p.kind, p.name, about)
        lines[#lines + 1] = (line:gsub('%c', ' '))
      end
      local total = ('%8d  of %d tokens of the model %s, about'):format(result.tokens, result.window, result.model)
      table.insert(lines, total)
      require('sandbox_agent.output').text('sandbox-agent-context://' .. (result.sessionId or 'new'), lines)
    end)
  end,
}

M.compact = {
  session = true,
  run = function(context)
    request('compact', { sessionId = context.session.id })
  end,
}

return M
