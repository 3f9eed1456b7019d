-- Puts what was rendered into a buffer, with its colours.
local M = {}

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

return M
