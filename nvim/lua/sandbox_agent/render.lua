-- Turns items into lines: pure functions, so that what is shown depends on nothing but the item and whether it is opened.
local M = {}

--- The tool that changes files.
M.patch_tool = 'apply_patch'

local indent = '    ' -- four spaces: nothing in there is a heading or a fence for Markdown
local max_columns = 400
local running_lines = 3 -- of output below a command that runs
local proposed_lines = 20 -- of a change that waits for an answer
local head_share = 0.75 -- of the lines of a long output

---@class sandbox_agent.Rendered
---@field lines string[]
---@field marks { [1]: integer, [2]: string }[] line (0-based) and highlight group

local symbols = {
  inProgress = '…',
  completed = '✓',
  failed = '✗',
  denied = '⊘',
  interrupted = '■',
  unknown = '?',
}

local function lines_of(text)
  local lines = vim.split((text:gsub('\r\n', '\n'):gsub('%z', '␀')), '\n', { plain = true })
  while #lines > 1 and lines[#lines] == '' do
    lines[#lines] = nil
  end
  return lines
end

--- What a terminal would show of a line in the end: programs draw over it after a carriage return.
local function settled(line)
  line = line:gsub('\27%[[%d;?]*%a', ''):match('([^\r]*)\r*$')
  return #line > max_columns and vim.fn.strcharpart(line, 0, max_columns) .. ' …' or line
end

local function bytes(count)
  if count < 10 * 1024 then
    return count .. ' bytes'
  end
  return count < 10 * 1024 * 1024 and ('%d KiB'):format(count / 1024) or ('%d MiB'):format(count / 1024 / 1024)
end

local function duration(ms)
  if not ms or ms < 100 then
    return ''
  end
  return ms < 60000 and ('  %.1f s'):format(ms / 1000) or ('  %d:%02d min'):format(ms / 60000, ms / 1000 % 60)
end

---@param out sandbox_agent.Rendered
local function put(out, line, group)
  out.lines[#out.lines + 1] = line
  if group then
    out.marks[#out.marks + 1] = { #out.lines - 1, group }
  end
end

local function put_all(out, lines, group)
  for _, line in ipairs(lines) do
    put(out, indent .. settled(line), group)
  end
end

local function diff_group(line)
  local first = line:sub(1, 1)
  if line:match('^%+%+%+ ') or line:match('^%-%-%- ') or line:match('^diff ') then
    return 'SandboxAgentOutput'
  end
  return ({ ['+'] = 'SandboxAgentDiffAdd', ['-'] = 'SandboxAgentDiffDelete', ['@'] = 'SandboxAgentDiffHunk' })[first]
    or 'SandboxAgentOutput'
end

local function put_diff(out, item, most)
  local lines = lines_of(item.diff)
  for i = 1, math.min(#lines, most) do
    put(out, indent .. settled(lines[i]), diff_group(lines[i]))
  end
  if #lines > most or (item.diffBytes or 0) > #item.diff then
    put(out, indent .. '… the rest of the diff: o', 'SandboxAgentHint')
  end
end

local function put_output(out, item, most)
  local output = item.output
  local head, tail = lines_of(output.head), output.tail and lines_of(output.tail) or {}
  local kept = #output.head + #(output.tail or '')
  if #tail == 0 and #head <= most and output.totalBytes <= kept then
    return put_all(out, head, 'SandboxAgentOutput')
  end
  if #tail == 0 then
    tail, head = head, vim.list_slice(head, 1, math.floor(most * head_share))
    tail = vim.list_slice(tail, math.max(#head + 1, #tail - (most - #head) + 1))
  end
  put_all(out, vim.list_slice(head, 1, math.floor(most * head_share)), 'SandboxAgentOutput')
  put(out, indent .. ('… the whole output, %s: o'):format(bytes(output.totalBytes)), 'SandboxAgentHint')
  put_all(out, vim.list_slice(tail, math.max(1, #tail - math.floor(most * (1 - head_share)) + 1)), 'SandboxAgentOutput')
end

local function put_running(out, live)
  local lines = live and live.output ~= '' and lines_of(live.output) or {}
  put_all(out, vim.list_slice(lines, math.max(1, #lines - running_lines + 1)), 'SandboxAgentOutput')
end

--- The patch that a call would apply; nil where there is none, or only a part of it came with the item.
---@param arguments? string JSON
---@return string?
function M.patch(arguments)
  local ok, decoded = pcall(vim.json.decode, arguments or '')
  local patch = ok and type(decoded) == 'table' and decoded.patch
  return type(patch) == 'string' and patch or nil
end

--- What a call would change, which is to be seen before it is allowed.
local function put_proposal(out, item, most)
  local patch = M.patch(item.arguments)
  local lines = patch and lines_of(patch) or {}
  for i = 1, math.min(#lines, most) do
    put(out, indent .. settled(lines[i]), diff_group(lines[i]))
  end
  if not patch or #lines > most then
    put(out, indent .. (patch and '… the rest of the change: o' or '… what it would change: o'), 'SandboxAgentHint')
  end
end

---@param approval sandboxagent.Approval
---@param keys table<string, string>
---@param question string
local function put_approval(out, approval, keys, question)
  put(out, indent .. question .. ' ' .. settled(approval.reason or ''), 'SandboxAgentApproval')
  if approval.subject and approval.subject ~= '' then
    for _, line in ipairs(vim.list_slice(lines_of(approval.subject), 1, 20)) do
      put(out, indent .. '  ' .. settled(line), 'SandboxAgentApprovalSubject')
    end
  end
  local always = approval.pattern and approval.pattern ~= '' and (' always (%s)'):format(approval.pattern) or ' always'
  local answers = {}
  for _, choice in ipairs({
    { 'allow', ' allow' },
    { 'allow_always', always },
    { 'deny', ' deny' },
    { 'deny_feedback', ' deny and say why' },
  }) do
    local offered = choice[1] ~= 'allow_always' or vim.list_contains(approval.options or {}, 'allowAlways')
    if keys[choice[1]] and offered then
      answers[#answers + 1] = keys[choice[1]] .. choice[2]
    end
  end
  put(out, indent .. table.concat(answers, ' · '), 'SandboxAgentHint')
end

local function tool_header(item, opened)
  local subject = item.text and item.text ~= '' and lines_of(item.text) or { '' }
  local first = settled(subject[1]) .. (#subject > 1 and ' …' or '')
  local exit = item.exitCode and item.exitCode ~= 0 and ('  exit %d'):format(item.exitCode) or ''
  return ('%s %s  %s  %s%s%s'):format(
    opened and '▾' or '▸',
    item.tool or 'tool',
    first,
    symbols[item.status] or '',
    exit,
    duration(item.durationMs)
  )
end

---@class sandbox_agent.RenderContext
---@field live? sandbox_agent.Live
---@field approval? sandboxagent.Approval
---@field opened boolean
---@field most integer lines of output that an opened tool call shows
---@field keys table<string, string> keys by action, for hints

local render = {}

function render.userMessage(out, item)
  local how = item.queued and ' (waits)' or item.steered and ' (to the running turn)' or ''
  put(out, '## You' .. how, 'SandboxAgentUser')
  for _, line in ipairs(lines_of(item.text or '')) do
    put(out, line)
  end
  for _, context in ipairs(item.context or {}) do
    local name = context.image and context.image.name
      or context.uri and not vim.startswith(context.uri, 'data:') and vim.fs.basename(context.uri)
      or context.kind
    local where = context.range and (':%d-%d'):format(context.range.start.line + 1, context.range['end'].line + 1) or ''
    put(out, ('↳ %s%s%s'):format(name, where, context.unsaved and ' (unsaved)' or ''), 'SandboxAgentHint')
  end
end

function render.agentMessage(out, item, context)
  local text = item.text or ''
  if item.status == 'inProgress' and context.live then
    text = table.concat(context.live.text)
  end
  if text ~= '' then
    for _, line in ipairs(item.status == 'inProgress' and vim.split(text, '\n', { plain = true }) or lines_of(text)) do
      put(out, line)
    end
    if item.status ~= 'inProgress' and (item.textBytes or 0) > #text then
      put(out, ('… the whole answer, %s: o'):format(bytes(item.textBytes)), 'SandboxAgentHint')
    end
  elseif item.status == 'inProgress' then
    local thought = context.live and lines_of(context.live.reasoning) or {}
    put(out, settled(thought[#thought] or '') .. '…', 'SandboxAgentReasoning')
  end
end

function render.reasoning(out, item, context)
  local lines = lines_of(item.text or '')
  local first = lines[1]:gsub('^%*+(.-)%*+$', '%1')
  put(out, (context.opened and '▾ ' or '▸ ') .. 'thought  ' .. settled(first), 'SandboxAgentReasoning')
  if context.opened then
    put_all(out, lines, 'SandboxAgentReasoning')
  end
end

function render.notice(out, item, context)
  for _, line in ipairs(lines_of(item.text or item.error or '')) do
    put(out, '> ' .. line, 'SandboxAgentNotice')
  end
  if context.approval then
    put_approval(out, context.approval, context.keys, 'May it go on?')
  end
end

function render.toolCall(out, item, context)
  local bad = vim.list_contains({ 'failed', 'denied', 'interrupted', 'unknown' }, item.status)
  put(out, tool_header(item, context.opened), bad and 'SandboxAgentToolFailed' or 'SandboxAgentTool')
  if context.approval then
    if item.tool == M.patch_tool then
      put_proposal(out, item, context.opened and context.most or proposed_lines)
    end
    put_approval(out, context.approval, context.keys, 'May this run?')
  end
  if item.error and item.error ~= '' then
    put_all(out, lines_of(item.error), 'SandboxAgentToolFailed')
  end
  if item.status == 'inProgress' then
    return put_running(out, context.live)
  end
  if item.background and not item.stoppedBy then
    put(out, indent .. 'went on in the background', 'SandboxAgentHint')
  end
  if not context.opened then
    return
  end
  if item.diff and item.diff ~= '' then
    put_diff(out, item, context.most)
  elseif item.output and item.output.totalBytes > 0 then
    put_output(out, item, context.most)
  else
    put(out, indent .. '(no output)', 'SandboxAgentHint')
  end
end

--- The lines of an item, with a blank one at the end; none for an item that has nothing to show.
---@param item sandboxagent.Item
---@param context sandbox_agent.RenderContext
---@return sandbox_agent.Rendered
function M.item(item, context)
  local out = { lines = {}, marks = {} }
  local draw = render[item.kind]
  if draw then
    draw(out, item, context)
  end
  if #out.lines > 0 then
    put(out, '')
  end
  return out
end

--- Why a turn failed, and what to do about it; one short line when the turn before failed for the same reason.
---@param turn integer
---@param failure sandbox_agent.Failure
---@param before? sandbox_agent.Failure of the turn before
---@return sandbox_agent.Rendered
function M.failure(turn, failure, before)
  local out = { lines = {}, marks = {} }
  local again = before and before.message == failure.message
  local why = again and ' for the same reason.' or ': ' .. table.concat(lines_of(failure.message), ' ')
  put(out, ('✗ Turn %d failed%s'):format(turn, why), 'SandboxAgentToolFailed')
  if not again and failure.remedy and failure.remedy ~= '' then
    local remedy = failure.remedy:gsub("the editor's Set API Key command", ':SandboxAgent key OPENAI_API_KEY')
    put_all(out, lines_of(remedy), 'SandboxAgentHint')
  end
  put(out, '')
  return out
end

--- Reports whether an item has something to open.
---@param item sandboxagent.Item
---@return boolean
function M.opens(item)
  return item.kind == 'toolCall' or item.kind == 'reasoning'
end

--- Reports whether an item is open until the user closes it: the agent's plan is to be seen.
---@param item? sandboxagent.Item
---@return boolean
function M.starts_open(item)
  return item ~= nil and item.tool == 'update_plan'
end

--- The line above the oldest item when there are older ones.
---@return sandbox_agent.Rendered
function M.older()
  return { lines = { '… older: <CR>', '' }, marks = { { 0, 'SandboxAgentHint' } } }
end

return M
