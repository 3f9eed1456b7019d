-- The user's settings: defaults, what vim.g.sandbox_agent or setup() changes of them, and what is wrong with that.
local M = {}

---@class sandbox_agent.Config
---@field cmd string[] the program; `lsp` is added
---@field env table<string, string> added to the program's environment
---@field root fun(path: string): string? the workspace folder of a file ("": of none); nil: where .git is, else the current one
---@field model string of new sessions; "" is the program's default
---@field backend string of new sessions; "" is the program's default
---@field approval string of new sessions: ask, auto, never, readOnly; "" is the program's default
---@field window sandbox_agent.WindowConfig
---@field output_lines integer lines of output and diffs that an opened tool call shows
---@field refresh boolean bring what the agent changed on disk into loaded buffers
---@field notify boolean tell of approvals and ended turns of conversations that are not shown
---@field keys table<string, table<string, string|string[]|false>> maps of our own buffers by place and action
---
---@class sandbox_agent.WindowConfig
---@field position "right"|"left"|"top"|"bottom"|"tab"|"current"
---@field size number columns or lines; below 1 a part of the screen
---@field prompt_height integer lines

---@type sandbox_agent.Config
local defaults = {
  cmd = { 'sandbox-agent' },
  env = {},
  root = function() end,
  model = '',
  backend = '',
  approval = '',
  window = { position = 'right', size = 0.45, prompt_height = 4 },
  output_lines = 200,
  refresh = true,
  notify = true,
  keys = {
    transcript = {
      allow = 'a',
      allow_always = 'A',
      deny = 'd',
      deny_feedback = 'D',
      toggle = { '<Tab>', 'za' },
      unfold = 'zo',
      fold = 'zc',
      unfold_all = 'zR',
      fold_all = 'zM',
      open = '<CR>',
      whole = 'o',
      prompt = 'i',
      interrupt = '<C-c>',
      stop = 'x',
      next = ']]',
      previous = '[[',
      diff = 'gd',
      sessions = 'gs',
      close = 'q',
      help = 'g?',
    },
    prompt = { send = '<CR>', send_insert = '<C-s>', steer = 'gs', interrupt = '<C-c>', help = 'g?' },
    diff = { accept = 'a', reject = 'x', open = '<CR>', next = ']c', previous = '[c', close = 'q', help = 'g?' },
  },
}

local choices = {
  ['window.position'] = { 'right', 'left', 'top', 'bottom', 'tab', 'current' },
  approval = { '', 'ask', 'auto', 'never', 'readOnly' },
  backend = { '', 'local', 'docker', 'e2b', 'daytona' },
}

local given ---@type table? what setup() was given
local current ---@type sandbox_agent.Config?
local problems = {} ---@type string[]

local function is_key(path)
  return path:match('^keys%.%a+%.') ~= nil
end

--- Why value cannot stand at path, or nil.
local function defect(path, value, default)
  if is_key(path) then
    local ok = value == false or type(value) == 'string' or vim.islist(value)
    return not ok and 'must be a key, a list of keys or false' or nil
  end
  if type(value) ~= type(default) then
    return ('must be a %s, not a %s'):format(type(default), type(value))
  end
  if choices[path] and not vim.list_contains(choices[path], value) then
    return 'must be one of ' .. table.concat(choices[path], ', ')
  end
  if type(value) == 'number' and value <= 0 then
    return 'must be more than 0'
  end
  if path == 'cmd' and (#value == 0 or type(value[1]) ~= 'string') then
    return 'must be a list of strings'
  end
end

--- Copies what is right of `user` over `base`; what is wrong is noted and stays at its default.
local function merge(base, user, prefix)
  for key, value in pairs(user) do
    local path = prefix .. tostring(key)
    local default = base[key]
    local wrong = default == nil and 'is not a setting' or defect(path, value, default)
    if wrong then
      problems[#problems + 1] = ('%s %s'):format(path, wrong)
    elseif type(default) == 'table' and path ~= 'cmd' and path ~= 'env' and not is_key(path) then
      merge(default, value, path .. '.')
    else
      base[key] = value
    end
  end
end

local function load()
  problems = {}
  local config = vim.deepcopy(defaults)
  local user = vim.g.sandbox_agent
  if type(user) == 'function' then
    local ok, result = pcall(user)
    user = ok and result or nil
    if not ok then
      problems[1] = 'vim.g.sandbox_agent fails: ' .. tostring(result):gsub('\n.*', '')
    end
  end
  for _, source in ipairs({ user or {}, given or {} }) do
    if type(source) == 'table' then
      merge(config, source, '')
    else
      problems[#problems + 1] = 'the settings must be a table, not a ' .. type(source)
    end
  end
  return config
end

--- Changes settings; what is not given keeps its default. Calling it is not needed.
---@param user? table
function M.setup(user)
  given, current = user, nil
  M.get()
end

--- The settings in force. Wrong ones are told once, in one line.
---@return sandbox_agent.Config
function M.get()
  if not current then
    current = load()
    if #problems > 0 then
      local more = #problems > 1 and (' (and %d more)'):format(#problems - 1) or ''
      require('sandbox_agent.say').warn(('The setting %s%s: see :checkhealth sandbox_agent.'):format(problems[1], more))
    end
  end
  return current
end

--- What is wrong with the user's settings.
---@return string[]
function M.problems()
  M.get()
  return problems
end

--- Every setting with its default, for the tests of the help.
---@return sandbox_agent.Config
function M.defaults()
  return vim.deepcopy(defaults)
end

return M
