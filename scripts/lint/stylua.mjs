// Formats Lua files, or with --check names those that are not formatted: stylua.mjs [--check] FILE|FOLDER...
import { readFileSync, writeFileSync, statSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { formatCode, Config, IndentType, QuoteStyle, LuaVersion, CallParenType, OutputVerification } from '@johnnymorganz/stylua';

const generated = /Code generated .* DO NOT EDIT/;

function* luaFiles(path) {
  if (!statSync(path).isDirectory()) {
    yield path;
    return;
  }
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const below = join(path, entry.name);
    if (entry.isDirectory()) yield* luaFiles(below);
    else if (entry.name.endsWith('.lua')) yield below;
  }
}

function style() {
  const config = Config.new();
  config.column_width = 120;
  config.indent_type = IndentType.Spaces;
  config.indent_width = 2;
  config.quote_style = QuoteStyle.AutoPreferSingle;
  config.call_parentheses = CallParenType.Always;
  config.syntax = LuaVersion.LuaJIT;
  return config;
}

const args = process.argv.slice(2);
const check = args.includes('--check');
let bad = 0;
for (const path of args.filter((a) => a !== '--check')) {
  for (const file of luaFiles(path)) {
    const source = readFileSync(file, 'utf8');
    if (generated.test(source.slice(0, 200))) continue;
    const formatted = formatCode(source, style(), undefined, OutputVerification.Full);
    if (formatted === source) continue;
    if (check) {
      console.error(`${file}: not formatted; run: node scripts/lint/stylua.mjs nvim`);
      bad++;
    } else {
      writeFileSync(file, formatted);
    }
  }
}
process.exit(bad ? 1 : 0);
