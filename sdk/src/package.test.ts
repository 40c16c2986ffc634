/** The built package that partners install: JavaScript with type declarations. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const build = fileURLToPath(new URL('../../scripts/build-sdk.ts', import.meta.url))
const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
const types = join(dirname(createRequire(import.meta.url).resolve('@types/node/package.json')), '..')

const partner = mkdtempSync(join(tmpdir(), 'partner-payments-sdk-'))
const installed = join(partner, 'node_modules/@partner-payments/sdk')
before(() => {
  mkdirSync(dirname(installed), { recursive: true })
  execFileSync(process.execPath, [build, installed], { stdio: 'pipe' })
  symlinkSync(types, join(partner, 'node_modules/@types'))
  writeFileSync(join(partner, 'package.json'), '{"type":"module"}')
})
after(() => rmSync(partner, { recursive: true, force: true }))

const text = (path: string) => readFileSync(join(installed, path), 'utf8')

test('runs as JavaScript, without type stripping', () => {
  writeFileSync(
    join(partner, 'main.js'),
    `import { createClient, operations } from '@partner-payments/sdk'
     console.log(typeof createClient, Object.keys(operations).length > 0)`,
  )
  const out = execFileSync(process.execPath, ['--no-strip-types', join(partner, 'main.js')], { encoding: 'utf8' })
  assert.equal(out, 'function true\n')
})

test('has no dependencies besides Node', () => {
  const manifest = JSON.parse(text('package.json')) as Record<string, unknown>
  assert.equal(manifest.dependencies, undefined)
  const files = readdirSync(installed, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.js'))
  assert.ok(files.length >= 10)
  const imported = files.flatMap((path) => [...text(path).matchAll(/from '([^']+)'/g)].map(([, name]) => name ?? ''))
  assert.ok(imported.length >= 10)
  for (const name of imported) assert.match(name, /^(\.{1,2}\/.+\.js|node:crypto)$/)
})

test('the declarations compile in strict mode and reject invalid calls', () => {
  const check = (body: string) => {
    writeFileSync(
      join(partner, 'main.ts'),
      `import { type Client, createClient } from '@partner-payments/sdk'
       declare const options: Parameters<typeof createClient>[0]
       const client: Client = createClient(options)
       ${body}`,
    )
    const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--types', 'node']
    try {
      execFileSync(process.execPath, [compiler, ...flags, 'main.ts'], { cwd: partner, encoding: 'utf8', stdio: 'pipe' })
      return ''
    } catch (error) {
      return (error as { readonly stdout: string }).stdout
    }
  }
  assert.equal(check("export const amount: string = (await client.getTransaction('R')).amount"), '')
  assert.match(
    check("await client.createFiatPayout({ amount: '1' })"),
    /missing .*: beneficiaryId, currency, idempotencyKey/,
  )
  assert.match(check("await client.listPayouts({ status: 'Gone' })"), /error TS2322/)
})
