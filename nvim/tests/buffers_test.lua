-- Loaded buffers and what changes on disk below them: unsaved text, undo, marks, forms of files, writes without questions.
local T = dofile(vim.env.HARNESS)

local buffers = require('sandbox_agent.buffers')

--- Opens a file of a fresh workspace that the plugin knows.
local function open(content)
  local dir = T.folder({ ['f.txt'] = content })
  require('sandbox_agent.sessions')
  require('sandbox_agent.server').add_folder(vim.uri_from_fname(dir))
  vim.cmd.edit('f.txt')
  return dir .. '/f.txt', vim.api.nvim_get_current_buf()
end

local clock = os.time()

--- Writes a file as somebody else, whose write cannot be overlooked.
local function elsewhere(path, content)
  T.file(path, content)
  clock = clock + 2
  vim.uv.fs_utime(path, clock, clock)
  buffers.refresh_all()
end

--- Writes the buffer; a question of Neovim's would fail it, since there is nobody to answer.
local function write()
  local said = vim.fn.execute('write')
  T.lacks(said, 'WARNING')
end

T.test('an unmodified buffer gets the smallest edit: marks and extmarks stay with their text', function()
  local path, buf = open('one\ntwo\nthree\nfour\n')
  vim.api.nvim_buf_set_mark(buf, 'm', 4, 1, {})
  local ns = vim.api.nvim_create_namespace('test')
  local extmark = vim.api.nvim_buf_set_extmark(buf, ns, 1, 2, {})
  vim.api.nvim_win_set_cursor(0, { 3, 2 })
  elsewhere(path, 'zero\none\ntwo!\nthree\nfour\n')
  T.eq('zero\none\ntwo!\nthree\nfour', T.text(buf))
  T.eq(false, vim.bo.modified)
  T.eq({ 5, 1 }, vim.api.nvim_buf_get_mark(buf, 'm'))
  T.eq({ 2, 2 }, vim.api.nvim_buf_get_extmark_by_id(buf, ns, extmark, {}))
  T.eq({ 4, 2 }, vim.api.nvim_win_get_cursor(0))
  vim.cmd('silent undo')
  T.eq('one\ntwo\nthree\nfour', T.text(buf))
  T.eq(true, vim.bo.modified, 'it differs from the file now')
  vim.cmd('silent redo')
  T.eq('zero\none\ntwo!\nthree\nfour', T.text(buf))
  vim.cmd('silent checktime')
  write()
  T.eq('zero\none\ntwo!\nthree\nfour\n', T.content(path))
end)

T.test('unsaved text and an edit on disk are both there; one undo takes back the edit only; :w asks nothing', function()
  local path, buf = open('a\nb\nc\nd\n')
  vim.api.nvim_buf_set_lines(buf, 0, 1, false, { 'mine' })
  elsewhere(path, 'a\nb\nC\nd\nE\n')
  T.eq('mine\nb\nC\nd\nE', T.text(buf))
  T.eq(true, vim.bo.modified)
  vim.cmd('silent undo')
  T.eq('mine\nb\nc\nd', T.text(buf))
  vim.cmd('silent redo')
  elsewhere(path, 'a\nb\nC\nd\nE\nF\n')
  T.eq('mine\nb\nC\nd\nE\nF', T.text(buf))
  write()
  T.eq('mine\nb\nC\nd\nE\nF\n', T.content(path))
  T.eq(false, vim.bo.modified)
  vim.api.nvim_buf_set_lines(buf, 1, 2, false, { 'more' })
  write()
end)

--- Makes a conflict in the current buffer, and chooses what becomes of it.
local function conflict(choice)
  local path, buf = open('a\n-\nb\n-\nc\n-\nd\n')
  vim.api.nvim_buf_set_lines(buf, 2, 3, false, { 'mine' })
  vim.api.nvim_buf_set_lines(buf, 6, 7, false, { 'mine too' })
  local asked
  T.stub(vim.ui, 'select', function(items, opts, done)
    T.eq(nil, asked, 'asked once')
    asked = opts.prompt
    for _, item in ipairs(items) do
      if opts.format_item(item) == choice then
        return done(item)
      end
    end
    done(nil)
  end)
  elsewhere(path, 'A\n-\ntheirs\n-\nc\n-\nd\n')
  T.eq('A\n-\nmine\n-\nc\n-\nmine too', T.text(buf), 'what does not conflict is in, the rest as it was')
  T.wait(function()
    return asked
  end, 'the question')
  T.has(asked, 'f.txt')
  return path, buf
end

T.test('a conflict: keep mine, and the write asks nothing', function()
  local path, buf = conflict('Keep mine')
  T.eq('A\n-\nmine\n-\nc\n-\nmine too', T.text(buf))
  write()
  T.eq('A\n-\nmine\n-\nc\n-\nmine too\n', T.content(path))
end)

T.test('a conflict: take theirs changes only what met, and one undo takes it back', function()
  local path, buf = conflict('Take theirs')
  T.eq('A\n-\ntheirs\n-\nc\n-\nmine too', T.text(buf))
  T.eq(true, vim.bo[buf].modified)
  vim.cmd('silent undo')
  T.eq('A\n-\nmine\n-\nc\n-\nmine too', T.text(buf))
  vim.cmd('silent redo')
  write()
  T.eq('A\n-\ntheirs\n-\nc\n-\nmine too\n', T.content(path))
end)

T.test('a conflict: merged in a tab, as by :SandboxAgent merge; no answer changes nothing', function()
  local path, buf = conflict('Merge them in a tab')
  local function in_diff()
    local wins = vim.api.nvim_tabpage_list_wins(0)
    return { #wins, vim.wo[wins[1]].diff, vim.wo[wins[2]].diff }
  end
  T.eq({ 2, true, true }, in_diff())
  vim.api.nvim_win_set_cursor(0, { 3, 0 })
  vim.cmd('3diffget')
  write()
  T.eq('A\n-\ntheirs\n-\nc\n-\nmine too\n', T.content(path))
  vim.cmd.tabclose()
  T.eq(buf, vim.api.nvim_get_current_buf())

  local _, other = conflict('nothing of this')
  T.eq('A\n-\nmine\n-\nc\n-\nmine too', T.text(other))
  vim.cmd('SandboxAgent merge')
  T.eq({ 2, true, true }, in_diff())
  vim.cmd.tabclose()
  vim.cmd('bwipeout!')
end)

T.test('a conflict in a buffer that the user is not in: one line tells, the question waits for the user', function()
  local path, buf = open('a\nb\n')
  vim.api.nvim_buf_set_lines(buf, 1, 2, false, { 'mine' })
  local asked
  T.stub(vim.ui, 'select', function(_, _, done)
    asked = true
    done(nil)
  end)
  local said = T.messages()
  vim.cmd('new')
  elsewhere(path, 'a\ntheirs\n')
  T.eq(1, #said)
  T.has(said[1], 'met your unsaved text, which stays')
  elsewhere(path, 'a\ntheirs again\n')
  T.eq({ 1, nil }, { #said, asked }, 'told once')
  vim.cmd('close')
  T.wait(function()
    return asked
  end, 'the question')
  T.eq('a\nmine', T.text(buf))
  vim.cmd('bwipeout!')
end)

T.test('Neovim itself asks nothing when it finds the change first', function()
  local path, buf = open('a\nb\nc\n')
  vim.api.nvim_buf_set_lines(buf, 0, 1, false, { 'mine' })
  T.file(path, 'a\nb\ntheirs\n')
  vim.uv.fs_utime(path, os.time() + 9, os.time() + 9)
  T.lacks(vim.fn.execute('checktime'), 'W12')
  T.wait(function()
    return T.text(buf) == 'mine\nb\ntheirs'
  end, 'the merge')
end)

T.test('forms of files stay what they are', function()
  for _, form in ipairs({
    { 'a\r\nb\r\n', 'a\r\nB\r\n', 'a\nB', { fileformat = 'dos' } },
    { '\239\187\191a\nb\n', '\239\187\191a\nB\n', 'a\nB', { bomb = true } },
    { 'a\nb', 'a\nB', 'a\nB', { endofline = false } },
    { 'a\nb', 'a\nB\n', 'a\nB', { endofline = true } },
    { 'a\nb\228\n', 'A\nb\228\n', 'A\nbä', { fileencoding = 'latin1' } },
    { '\255\254a\0\n\0', '\255\254b\0\n\0', 'b', { fileencoding = 'utf-16le', bomb = true } },
    { 'a\nb\0c\n', 'A\nb\0c\n', 'A\nb\0c', {} },
    { 'a\n', 'a\n\n\n', 'a\n\n', {} },
    { 'a\n', '', '', {} },
  }) do
    local path, buf = open(form[1])
    vim.bo[buf].fixendofline = false
    elsewhere(path, form[2])
    T.eq(form[3], T.text(buf), vim.inspect(form))
    for option, value in pairs(form[4]) do
      T.eq(value, vim.bo[buf][option], option)
    end
    T.eq(false, vim.bo[buf].modified)
    if form[2] ~= '' then
      write()
      T.eq(form[2], T.content(path), 'written')
    end
    vim.cmd.bwipeout()
  end
end)

T.test('workspace/applyEdit: one undo block, refused for another version', function()
  local path, buf = open('a\nb\nc\n')
  local ready
  require('sandbox_agent.server').request('models', {}, function()
    ready = true
  end)
  T.wait(function()
    return ready
  end, 'the server')
  local documents = require('sandbox_agent.documents')
  local uri = vim.uri_from_fname(path)
  local function edit(version)
    return require('sandbox_agent.workspace_edit').apply({
      edit = {
        documentChanges = {
          {
            textDocument = { uri = uri, version = version },
            edits = {
              { range = { start = { line = 0, character = 0 }, ['end'] = { line = 0, character = 1 } }, newText = 'A' },
              { range = { start = { line = 2, character = 1 }, ['end'] = { line = 2, character = 1 } }, newText = '!' },
            },
          },
        },
      },
    })
  end
  vim.api.nvim_buf_set_lines(buf, 1, 2, false, { 'mine' })
  T.eq(false, edit(documents.get(buf).version).applied, 'the server does not know of this change yet')
  documents.flush()
  local version = documents.get(buf).version
  T.eq(false, edit(version - 1).applied)
  T.eq({ applied = true }, edit(version))
  T.eq('A\nmine\nc!', T.text(buf))
  T.eq(documents.get(buf).version, vim.api.nvim_buf_get_changedtick(buf), 'the server knows')
  vim.cmd('silent undo')
  T.eq('a\nmine\nc', T.text(buf))
  vim.cmd('bwipeout!')
end)

T.test('workspace/applyEdit: positions in UTF-16, many edits, the end of the text', function()
  local function apply(buf, ...)
    local edits = {}
    for i, e in ipairs({ ... }) do
      local range = { start = { line = e[1], character = e[2] }, ['end'] = { line = e[3], character = e[4] } }
      edits[i] = { range = range, newText = e[5] }
    end
    local edit = { changes = { [vim.uri_from_bufnr(buf)] = edits } }
    T.eq({ applied = true }, require('sandbox_agent.workspace_edit').apply({ edit = edit }))
    return T.text(buf)
  end
  local _, buf = open('a😀b\nc\n')
  T.eq('a😀B\nc', apply(buf, { 0, 3, 0, 4, 'B' }))
  T.eq('a😀B\nc\nd', apply(buf, { 2, 0, 2, 0, 'd\r\n' }))
  T.eq('1\n2\na😀B\nc\nd', apply(buf, { 0, 0, 0, 0, '1\n' }, { 0, 0, 0, 0, '2\n' }))
  T.eq('1\nd', apply(buf, { 1, 0, 4, 0, '' }))
  T.eq('1', apply(buf, { 0, 1, 9, 9, '' }))
  T.eq(false, vim.bo[buf].endofline)
  vim.cmd('bwipeout!')
end)

T.test('end to end: what the user types while a turn runs and an edit of the agent in one buffer', function()
  local dir = T.folder({ ['NOTES.md'] = '# Notes\r\n\r\n- a\r\n' })
  vim.cmd.edit('NOTES.md')
  local buf = vim.api.nvim_get_current_buf()
  local session = T.ask('append "- b" to NOTES.md')
  T.status(session, 'waitingApproval')
  vim.api.nvim_buf_set_lines(buf, 0, 1, false, { '# My notes' })
  vim.cmd('SandboxAgent approve')
  T.done(session, 1)
  T.eq('# Notes\r\n\r\n- a\r\n', T.content(dir .. '/NOTES.md'), 'nothing is written under what was typed')
  T.eq('# My notes\n\n- a\n- b', T.text(buf))
  T.eq({ true, 'dos' }, { vim.bo[buf].modified, vim.bo[buf].fileformat })
  vim.api.nvim_buf_call(buf, function()
    vim.cmd('silent undo')
    T.eq('# My notes\n\n- a', T.text(buf))
    vim.cmd('silent redo')
    write()
  end)
  T.eq('# My notes\r\n\r\n- a\r\n- b\r\n', T.content(dir .. '/NOTES.md'))
end)

T.test('end to end: what was unsaved when the user asked, and an edit of the agent in one buffer', function()
  local dir = T.folder({ ['NOTES.md'] = '# Notes\r\n\r\n- a\r\n' })
  vim.cmd.edit('NOTES.md')
  local buf = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_lines(buf, 0, 1, false, { '# My notes' })
  vim.api.nvim_buf_set_mark(buf, 'm', 3, 2, {})
  local session = T.ask('append "- b" to NOTES.md', { approval = 'never', model = 'demo' })
  T.done(session, 1)
  T.eq('# My notes\n\n- a\n- b', T.text(buf), T.text(session.view.buf))
  T.eq('# Notes\r\n\r\n- a\r\n', T.content(dir .. '/NOTES.md'), 'nothing is written under unsaved text')
  T.eq({ 3, 2 }, vim.api.nvim_buf_get_mark(buf, 'm'))
  vim.api.nvim_buf_call(buf, function()
    vim.cmd('silent undo')
    T.eq('# My notes\n\n- a', T.text(buf))
    vim.cmd('silent redo')
    write()
  end)
  T.eq('# My notes\r\n\r\n- a\r\n- b\r\n', T.content(dir .. '/NOTES.md'))
end)

T.test(
  'end to end: a buffer that is not modified is no unsaved text, also when its file has changed unnoticed',
  function()
    local dir = T.folder({ ['NOTES.md'] = '# Old\n' })
    vim.cmd.edit('NOTES.md')
    T.file(dir .. '/NOTES.md', '# New\n\n- a\n')
    local session = T.ask('append "- b" to NOTES.md', { approval = 'never', model = 'demo' })
    T.done(session, 1)
    T.eq('# New\n\n- a\n- b\n', T.content(dir .. '/NOTES.md'))
  end
)

T.run()
