-- One-line messages: they never need a key press to go away.
local M = {}

--- Cuts text to one line that fits the screen, so that no "Press ENTER" comes up.
---@param text string
---@return string
function M.one_line(text)
  text = vim.trim(text):gsub('%s*[\r\n]+%s*', ' ')
  local room = math.max(20, vim.o.columns - 12) -- of the last line, 'showcmd' and 'ruler' take a part
  if vim.fn.strdisplaywidth(text) <= room then
    return text
  end
  return vim.fn.strcharpart(text, 0, room - 1) .. '…'
end

local function say(text, level)
  text = text:match('^Sandbox Agent') and text or 'Sandbox Agent: ' .. text
  -- A user's own vim.notify wraps and scrolls as it likes; the built-in one would ask for ENTER.
  vim.notify(M.one_line(text), level, { title = 'Sandbox Agent' })
end

---@param text string
function M.info(text)
  say(text, vim.log.levels.INFO)
end

---@param text string
function M.warn(text)
  say(text, vim.log.levels.WARN)
end

--- Tells an error of the server, with its remedy while there is room.
---@param err sandbox_agent.Error
function M.error(err)
  local text = err.message
  if err.remedy and err.remedy ~= '' then
    text = text .. (text:find('[.!?:]$') and ' ' or '. ') .. err.remedy
  end
  say(text, vim.log.levels.WARN)
end

return M
