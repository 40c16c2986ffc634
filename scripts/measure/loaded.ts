/**
 * Prints for each module how many files of `service/src` its service loads, and how many verbs each of its public interfaces has.
 * `all` follows type imports too; `run` follows what Node loads. An argument names another checkout:
 * `node scripts/measure/loaded.ts ../other`.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

const root = resolve(process.argv[2] ?? '.')
const modules = join(root, 'service/src/modules')
const read = (path: string): string => readFileSync(path, 'utf8')

/** The files that a file imports or exports from. `import { type A }` is loaded by Node, `import type { A }` is not. */
function importsOf(path: string, followTypes: boolean): readonly string[] {
  const statements = read(path).matchAll(
    /^(?:import|export)\s(type\s)?[^'";]*?from\s+'(\.[^']+)'|^import\s+'(\.[^']+)'/gm,
  )
  return [...statements].flatMap(([, type, from, bare]) =>
    type === undefined || followTypes ? [join(dirname(path), from ?? bare ?? '')] : [],
  )
}

function loadedBy(path: string, followTypes: boolean): number {
  const seen = new Set([path])
  // The set grows while it is read.
  for (const file of seen) for (const next of importsOf(file, followTypes)) seen.add(next)
  return [...seen].filter((file) => !relative(join(root, 'service/src'), file).startsWith('..')).length
}

/** The source of a module without its tests. Declarations are found by their names, which a module has once. */
const sourceOf = (folder: string): string =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts'))
    .map((entry) => read(join(entry.parentPath, entry.name)))
    .join('\n')
    .replace(/\/\*\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')

/** The text of a type, from its `=` to the next declaration. */
const declarationOf = (source: string, name: string): string | undefined =>
  new RegExp(
    `^(?:export )?type ${name}(?:<[^=]*>)? =([\\s\\S]*?)^(?=export|type|const|function|async|import)`,
    'm',
  ).exec(source)?.[1]

/** The members of the object types that a declaration writes out. */
function membersOf(declaration: string): readonly (readonly [name: string, value: string])[] {
  const members: (readonly [string, string])[] = []
  let depth = 0
  for (const line of declaration.split('\n')) {
    const member = /^\s*readonly (\w+)\??:\s*(.*)$/.exec(line)
    if (depth === 1 && member) members.push([member[1] ?? '', member[2] ?? ''])
    depth += (line.match(/[{(]/g)?.length ?? 0) - (line.match(/[})]/g)?.length ?? 0)
  }
  return members
}

function outsideBraces(text: string): string {
  let depth = 0
  let outside = ''
  for (const char of text) {
    if (char === '}') depth -= 1
    if (depth === 0) outside += char
    if (char === '{') depth += 1
  }
  return outside
}

/** The verbs of an interface: its members, those of the interfaces that it joins, and those of rule sets that it holds. */
function verbsOf(source: string, name: string): readonly string[] {
  const declaration = declarationOf(source, name)
  if (declaration === undefined) return []
  const outside = outsideBraces(declaration)
  // A function type has no verbs: its names are those of arguments and answers.
  const joined = outside.includes('=>')
    ? []
    : [...outside.matchAll(/\b[A-Z]\w+/g)].flatMap(([part]) => verbsOf(source, part))
  const omitted = new Set([...outside.matchAll(/'(\w+)'/g)].map(([, verb]) => verb))
  const own = membersOf(declaration).flatMap(([member, value]) => {
    const held = /^([A-Z]\w+)(?:<|$)/.exec(value)?.[1]
    const verbs = held === undefined ? [] : verbsOf(source, held)
    return verbs.length === 0 ? [member] : verbs.map((verb) => `${member}.${verb}`)
  })
  return [...joined.filter((verb) => !omitted.has(verb)), ...own]
}

/** The types that the `createX` functions in the public interface of a module return. */
function interfacesOf(folder: string, source: string): readonly string[] {
  const created = [...read(join(folder, 'index.ts')).matchAll(/\bcreate[A-Z]\w+/g)].map(([name]) => name)
  return created.flatMap((name) => {
    const returned = new RegExp(`(?:function ${name}\\(|const ${name} = \\()[\\s\\S]*?\\): (\\w+)`).exec(source)?.[1]
    return returned === undefined ? [] : [returned]
  })
}

const count = readdirSync(join(root, 'service/src'), { recursive: true, withFileTypes: true }).filter(
  ({ name }) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
).length
console.log(`${count} files in service/src without tests\n`)
console.log('module             all  run  lines  public interfaces with their verbs')
for (const module of readdirSync(modules).toSorted()) {
  const folder = join(modules, module)
  const source = sourceOf(folder)
  const service = join(folder, existsSync(join(folder, 'service.ts')) ? 'service.ts' : 'index.ts')
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    ({ name }) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
  )
  const lines = files.reduce(
    (sum, { parentPath, name }) => sum + read(join(parentPath, name)).split('\n').length - 1,
    0,
  )
  const interfaces = interfacesOf(folder, source).map((name) => `${name} ${verbsOf(source, name).length}`)
  const numbers = [loadedBy(service, true), loadedBy(service, false), lines].map((n) => String(n).padStart(5)).join('')
  console.log(`${module.padEnd(17)}${numbers}  ${interfaces.join(', ')}`)
}
