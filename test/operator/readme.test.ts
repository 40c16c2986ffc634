/** README.md and docs/features.md are correct: commands exist, test filters find tests, and the example runs. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startTestService } from '../support/service.ts'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const readme = readFileSync(join(repository, 'README.md'), 'utf8')
const features = readFileSync(join(repository, 'docs/features.md'), 'utf8')
const { scripts } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>
}

test('every command exists, and every test filter finds files', () => {
  const files = globSync('{wire/src,service/src,sdk/src,test}/**/*.test.ts', { cwd: repository })
  const commands = [...`${readme}${features}`.matchAll(/`npm (?:run )?(?<script>\w+)(?: -- (?<words>[^`]+))?`/g)]
  assert.ok(commands.length > 12, `${commands.length} commands found`)
  for (const { groups: { script = '', words = '' } = {} } of commands) {
    if (script === 'ci') continue
    assert.ok(Object.hasOwn(scripts, script), `npm run ${script}`)
    for (const word of script === 'test' ? words.split(' ').filter(Boolean) : [])
      assert.ok(
        files.some((file) => file.includes(word)),
        `npm test -- ${word} finds nothing`,
      )
  }
})

test('every path of the table exists', () => {
  const rows = [...features.matchAll(/^\| .+ \| (?<where>.+) \| .*`npm .+\|$/gm)]
  assert.ok(rows.length > 10, `${rows.length} rows found`)
  for (const { groups: { where = '' } = {} } of rows)
    for (const [, path = ''] of where.matchAll(/`([^`]+)`/g))
      if (!path.startsWith('/')) assert.equal(globSync(path, { cwd: repository }).length, 1, path)
})

test('the example creates a first payout', async () => {
  const code = /```ts\n(?<code>[^]*?)```/.exec(readme)?.groups?.code ?? ''
  const folder = await mkdtemp(join(tmpdir(), 'partner-payments-readme-'))
  const service = await startTestService()
  try {
    await symlink(join(repository, 'node_modules'), join(folder, 'node_modules'), 'junction')
    await symlink(service.dataDir, join(folder, '.data'), 'junction')
    await writeFile(join(folder, 'package.json'), '{"type":"module"}')
    await writeFile(join(folder, 'first.ts'), code)
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ['first.ts'], { cwd: folder })
    assert.match(stdout, /^Pending 12\.50 \S+\n\[\n.*'Created'/s)
    assert.equal(stderr, '')
  } finally {
    await service.dispose()
    await rm(folder, { recursive: true, force: true })
  }
})
