-- Puts what was rendered into a buffer, with its colours.
local M = {}

-- A conversation with more bytes is shown without Markdown's colours. Neovim 0.10 parses while the user waits.
local highlight_bytes = vim.fn.has('nvim-0.11') == 1 and 512 * 1024 or 96 * 1024

local ns = vim.api.nvim_create_namespace('sandbox_agent')

local function mark(buf, row, out)
  for _, m in ipairs(out.marks) do
    vim.api.nvim_buf_set_extmark(buf, ns, row + m[1], 0, {
      end_row = row + m[1],
      end_col = #out.lines[m[1] + 1],
      hl_group = m[2],
      priority = 200, -- above Markdown's
    })
  end
end

--- Replaces `height` lines from a row (0-based), leaving alone how both begin: of a long answer, only the end is new.
---@param buf integer
---@param row integer
---@param height integer
---@param out sandbox_agent.Rendered
function M.replace(buf, row, height, out)
  vim.api.nvim_buf_clear_namespace(buf, ns, row, row + height)
  local old = vim.api.nvim_buf_get_lines(buf, row, row + height, false)
  local same = 0
  while same < height and old[same + 1] == out.lines[same + 1] do
    same = same + 1
  end
  vim.api.nvim_buf_set_lines(buf, row + same, row + height, false, vim.list_slice(out.lines, same + 1))
  mark(buf, row, out)
end

--- Colours Markdown, unless the conversation is so long that it would cost the user's patience.
---@param buf integer
---@param coloured? boolean whether it is; nil: not known
---@return boolean coloured
function M.colour(buf, coloured)
  local small = vim.api.nvim_buf_get_offset(buf, vim.api.nvim_buf_line_count(buf)) < highlight_bytes
  if small == (coloured or false) then
    return small
  end
  if small then
    pcall(vim.treesitter.start, buf, 'markdown')
  else
    pcall(vim.treesitter.stop, buf)
  end
  return small
end

return M
