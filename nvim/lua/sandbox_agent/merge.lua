-- A three-way merge of lines, as edits of one side: what only the other side changed is brought in, what both changed stays.
local M = {}

local diff = vim.text and vim.text.diff or vim.diff ---@diagnostic disable-line: deprecated

---@class sandbox_agent.Edit replaces `count` lines from line `at` (1-based) by `lines`
---@field at integer
---@field count integer
---@field lines string[]

local function joined(lines)
  return #lines == 0 and '' or table.concat(lines, '\n') .. '\n'
end

--- The hunks that lead from a to b, as half-open ranges of lines, 1-based.
local function hunks(a, b)
  local found = {}
  local opts = { result_type = 'indices', algorithm = 'histogram', linematch = 60 }
  for _, h in
    ipairs(diff(joined(a), joined(b), opts) --[[@as integer[][] ]])
  do
    local from = h[2] == 0 and h[1] + 1 or h[1]
    local to = h[4] == 0 and h[3] + 1 or h[3]
    found[#found + 1] = { from = from, till = from + h[2], to = to, lines = vim.list_slice(b, to, to + h[4] - 1) }
  end
  return found
end

--- Whether two changes of the same text are in each other's way. An insertion is, within a change or at another insertion.
local function clash(x, y)
  local x_inserts, y_inserts = x.from == x.till, y.from == y.till
  if x_inserts and y_inserts then
    return x.from == y.from
  end
  if x_inserts then
    return y.from < x.from and x.from < y.till
  end
  if y_inserts then
    return x.from < y.from and y.from < x.till
  end
  return x.from < y.till and y.from < x.till
end

local function same(x, y)
  return x.from == y.from and x.till == y.till and vim.deep_equal(x.lines, y.lines)
end

--- The edits that bring into `ours` what `theirs` changed of `base`, last one first so that they can be applied in order, and
--- how many changes of theirs met one of ours and were left out.
---@param base string[]
---@param ours string[]
---@param theirs string[]
---@return sandbox_agent.Edit[] edits
---@return integer conflicts
function M.edits(base, ours, theirs)
  local mine = hunks(base, ours)
  local edits, conflicts, shift, i = {}, 0, 0, 1
  for _, hunk in ipairs(hunks(base, theirs)) do
    while mine[i] and mine[i].till <= hunk.from and not clash(mine[i], hunk) do
      shift = shift + #mine[i].lines - (mine[i].till - mine[i].from)
      i = i + 1
    end
    local met, known = false, false
    for k = i, #mine do
      if mine[k].from > hunk.till then
        break
      end
      known = known or same(mine[k], hunk)
      met = met or clash(mine[k], hunk)
    end
    if met then
      conflicts = conflicts + (known and 0 or 1)
    else
      table.insert(edits, 1, { at = hunk.from + shift, count = hunk.till - hunk.from, lines = hunk.lines })
    end
  end
  return edits, conflicts
end

--- Stretches of the base that one side changed, or both in each other's way.
local function regions(ours, theirs)
  local all = {}
  for side, list in pairs({ ours = ours, theirs = theirs }) do
    for _, hunk in ipairs(list) do
      all[#all + 1] = { side = side, hunk = hunk }
    end
  end
  table.sort(all, function(x, y)
    if x.hunk.from ~= y.hunk.from then
      return x.hunk.from < y.hunk.from
    end
    return x.hunk.till < y.hunk.till
  end)
  local found = {}
  for _, one in ipairs(all) do
    local hunk, last = one.hunk, found[#found]
    local joins = last and (hunk.from < last.till or (hunk.till == last.from and hunk.from == last.till))
    if not joins then
      last = { from = hunk.from, till = hunk.till, ours = {}, theirs = {} }
      found[#found + 1] = last
    end
    last.till = math.max(last.till, hunk.till)
    table.insert(last[one.side], hunk)
  end
  return found
end

--- Appends the lines from..till-1 of the base, with some hunks in there applied.
local function append(lines, base, from, till, changes)
  for _, hunk in ipairs(changes) do
    vim.list_extend(lines, base, from, hunk.from - 1)
    vim.list_extend(lines, hunk.lines)
    from = hunk.till
  end
  vim.list_extend(lines, base, from, till - 1)
end

--- What both sides made of base; where they are in each other's way, it is theirs.
---@param base string[]
---@param ours string[]
---@param theirs string[]
---@return string[]
function M.preferring_theirs(base, ours, theirs)
  local lines, from = {}, 1
  for _, region in ipairs(regions(hunks(base, ours), hunks(base, theirs))) do
    append(lines, base, from, region.from, {})
    append(lines, base, region.from, region.till, #region.theirs > 0 and region.theirs or region.ours)
    from = region.till
  end
  append(lines, base, from, #base + 1, {})
  return lines
end

return M
