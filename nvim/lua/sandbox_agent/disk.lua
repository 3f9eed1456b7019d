-- Reads the file of a buffer as the buffer would show it: its line ends, byte order mark and encoding are taken off.
local M = {}

local max_bytes = 16 * 1024 * 1024

local function content(path)
  local stat = vim.uv.fs_stat(path)
  if not stat or stat.type ~= 'file' or stat.size > max_bytes then
    return nil
  end
  local file = io.open(path, 'rb')
  local bytes = file and file:read('*a')
  if file then
    file:close()
  end
  return bytes
end

local function decoded(buf, bytes)
  local encoding = vim.bo[buf].fileencoding
  if encoding ~= '' and encoding ~= 'utf-8' then
    bytes = vim.iconv(bytes, encoding, 'utf-8')
  end
  if bytes and vim.bo[buf].bomb then
    return bytes:sub(1, 3) == '\239\187\191' and bytes:sub(4) or nil
  end
  return bytes
end

--- What tells whether the buffer's file was changed, at the cost of a look.
---@param buf integer
---@return string
function M.stamp(buf)
  local stat = vim.uv.fs_stat(vim.api.nvim_buf_get_name(buf))
  return stat and ('%d.%09d %d'):format(stat.mtime.sec, stat.mtime.nsec, stat.size) or ''
end

--- The lines of the buffer's file in the buffer's own form, and whether the last one has an end. nil when there is no such
--- file, it is too large, or it is in another form now: then only a reload by Neovim itself can show it.
---@param buf integer
---@return string[]? lines
---@return boolean? eol
function M.read(buf)
  local bytes = content(vim.api.nvim_buf_get_name(buf))
  local text = bytes and decoded(buf, bytes)
  if not text then
    return nil
  end
  local format = vim.bo[buf].fileformat
  local lines = vim.split(text, format == 'mac' and '\r' or '\n', { plain = true })
  local eol = lines[#lines] == '' and #lines > 1
  if eol then
    lines[#lines] = nil
  end
  for i, line in ipairs(lines) do
    if format ~= 'dos' then
      break
    end
    local ended = line:sub(-1) == '\r'
    if not ended and (i < #lines or eol) then
      return nil
    end
    lines[i] = ended and line:sub(1, -2) or line
  end
  return lines, eol
end

return M
