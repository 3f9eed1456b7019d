-- The subcommands that show what a session may do and reach: rules, MCP servers, ports.
local output = require('sandbox_agent.output')
local prompt = require('sandbox_agent.prompt')
local say = require('sandbox_agent.say')
local server = require('sandbox_agent.server')
local sessions = require('sandbox_agent.sessions')

---@type table<string, sandbox_agent.Subcommand>
local M = {}

local function take_back(params, rule)
  local removal = {
    op = 'remove',
    pattern = rule.pattern,
    scope = rule.scope,
    requestId = prompt.request_id(),
  }
  server.request('rules', vim.tbl_extend('force', params, removal), function(err)
    if err then
      return say.error(err)
    end
    say.info(('%s asks again.'):format(rule.pattern))
  end)
end

M.rules = {
  run = function()
    local session, folder = sessions.current(), sessions.folder()
    server.add_folder(folder)
    local params = { sessionId = session and session.id, workspaceFolder = folder }
    server.request('rules', vim.tbl_extend('force', params, { op = 'list' }), function(err, result)
      if err then
        return say.error(err)
      end
      if #result.rules == 0 then
        return say.info('Nothing is allowed for always here.')
      end
      local opts = {
        prompt = 'Allowed for always; choose one to take it back',
        kind = 'sandbox_agent.rules',
        format_item = function(rule)
          return ('%s  %s  in this %s'):format(rule.tool, rule.pattern:gsub('%c', ' '), rule.scope)
        end,
      }
      vim.ui.select(result.rules, opts, function(rule)
        if rule then
          take_back(params, rule)
        end
      end)
    end)
  end,
}

---@param lines string[]
---@param one sandboxagent.MCPServer
local function put_server(lines, one)
  local function put(text)
    lines[#lines + 1] = (text:gsub('%c', ' '))
  end
  put(('%s  %s  %s'):format(one.name, one.state, one.target))
  if one.reason then
    put('  ' .. one.reason .. ' ' .. (one.remedy or ''))
  end
  for _, tool in ipairs(one.tools) do
    put(('  %s  %s'):format(tool.name, tool.title or tool.description or ''))
  end
  for _, left_out in ipairs(one.leftOut or {}) do
    put('  left out: ' .. left_out)
  end
end

M.mcp = {
  run = function(context)
    server.request('mcp', { start = context.bang or nil }, function(err, result)
      if err then
        return say.error(err)
      end
      if #result.servers == 0 then
        return say.info('No MCP server is configured.')
      end
      local lines = {}
      for _, one in ipairs(result.servers) do
        put_server(lines, one)
      end
      output.text('sandbox-agent-mcp://servers', lines)
    end)
  end,
}

M.preview = {
  session = true,
  argument = 'port',
  run = function(context)
    local port = tonumber(context.args[1])
    if not port then
      return say.warn('The port is a number, such as 8080.')
    end
    server.request('preview', { sessionId = context.session.id, port = port }, function(err, result)
      if err then
        return say.error(err)
      end
      local lines = { result.url }
      for _, header in ipairs(result.headers or {}) do
        lines[#lines + 1] = ('%s: %s'):format(header.name, header.value)
      end
      if result['until'] then
        lines[#lines + 1] = 'until ' .. result['until']
      end
      output.text(('sandbox-agent-preview://%s/%d'):format(context.session.id, port), lines)
    end)
  end,
}

return M
