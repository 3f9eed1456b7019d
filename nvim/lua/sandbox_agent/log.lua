-- The plugin's own log: what went wrong inside it, for a report.
local M = {}

local max_bytes = 512 * 1024

---@return string
function M.path()
  return vim.fs.joinpath(vim.fn.stdpath('log') --[[@as string]], 'sandbox_agent.log')
end

--- The folder where the server and the worker log.
---@return string
function M.server_folder()
  local state = vim.env.XDG_STATE_HOME
  if not state or state == '' then
    state = vim.fs.joinpath(vim.env.HOME or '~', '.local', 'state')
  end
  return vim.fs.joinpath(state, 'sandbox-agent', 'log')
end

---@param text string
function M.write(text)
  local path = M.path()
  local stat = vim.uv.fs_stat(path)
  if stat and stat.size > max_bytes then
    vim.uv.fs_rename(path, path .. '.1')
  end
  local file = io.open(path, 'a')
  if file then
    file:write(os.date('%Y-%m-%dT%H:%M:%S '), text, '\n')
    file:close()
  end
end

return M
