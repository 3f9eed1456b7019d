-- :SandboxAgent {subcommand}: finds what is meant, completes it, and turns every mistake into one line.
local say = require('sandbox_agent.say')

local M = {}

---@class sandbox_agent.CommandContext
---@field text string what follows the subcommand
---@field args string[] its words
---@field bang boolean
---@field range? { [1]: integer, [2]: integer } lines
---@field session? sandbox_agent.Session set for subcommands that need one

---@class sandbox_agent.Subcommand
---@field run fun(context: sandbox_agent.CommandContext)
---@field session? boolean it works on the current session
---@field argument? string name of what must follow
---@field complete? fun(lead: string, words: string[]): string[]

---@type table<string, sandbox_agent.Subcommand>?
local subcommands

--- All subcommands by name.
---@return table<string, sandbox_agent.Subcommand>
function M.subcommands()
  if not subcommands then
    subcommands = vim.tbl_extend(
      'error',
      require('sandbox_agent.commands.conversation'),
      require('sandbox_agent.commands.workspace'),
      require('sandbox_agent.commands.inspecting'),
      require('sandbox_agent.commands.installation')
    )
  end
  return subcommands
end

---@param list string[]
---@param lead string
---@return string[]
function M.starting_with(list, lead)
  return vim.tbl_filter(function(word)
    return vim.startswith(word:lower(), lead:lower())
  end, list)
end

local function names()
  local list = vim.tbl_keys(M.subcommands())
  table.sort(list)
  return list
end

local function find(name)
  local exact = M.subcommands()[name]
  if exact then
    return exact
  end
  local fitting = M.starting_with(names(), name)
  if #fitting == 1 then
    return M.subcommands()[fitting[1]]
  end
  local known = #fitting > 1 and 'could be ' .. table.concat(fitting, ', ') or 'is not one; <Tab> completes'
  say.warn(('The subcommand %s %s.'):format(name, known))
end

local function call(sub, context)
  local ok, problem = xpcall(sub.run, debug.traceback, context)
  if not ok then
    require('sandbox_agent.log').write('running a command: ' .. tostring(problem))
    say.warn('That failed inside the plugin; its log has the reason: ' .. require('sandbox_agent.log').path())
  end
end

--- Runs what the user typed.
---@param args table as of nvim_create_user_command
function M.run(args)
  require('sandbox_agent.approvals')
  local name, text = args.args:match('^(%S*)%s*(.-)%s*$')
  local sub = find(name == '' and 'open' or name)
  if not sub then
    return
  end
  if sub.argument and text == '' then
    return say.warn((':SandboxAgent %s needs {%s}.'):format(name, sub.argument))
  end
  local context = {
    text = text,
    args = vim.split(text, '%s+', { trimempty = true }),
    bang = args.bang,
    range = args.range > 0 and { args.line1, args.line2 } or nil,
  }
  if not sub.session then
    return call(sub, context)
  end
  require('sandbox_agent.sessions').with_current(function(err, session)
    if err then
      return say.error(err)
    end
    context.session = session
    call(sub, context)
  end)
end

--- Completes subcommands and their arguments.
---@param lead string
---@param line string
---@param cursor integer
---@return string[]
function M.complete(lead, line, cursor)
  local typed = line:sub(1, cursor):gsub('^.-SandboxAgent!?%s*', '')
  local words = vim.split(typed, '%s+')
  if #words <= 1 then
    return M.starting_with(names(), lead)
  end
  local sub = M.subcommands()[words[1]]
  if not sub or not sub.complete then
    return {}
  end
  return M.starting_with(sub.complete(lead, words), lead)
end

return M
