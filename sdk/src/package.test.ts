/** The package that partners install: `npm pack` in a copy of the checkout, installed into an empty project. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { nodes, run } from '../../test/support/npm.ts'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const require = createRequire(import.meta.url)
const compiler = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc')
const types = join(dirname(require.resolve('@types/node/package.json')), '..')

const folder = mkdtempSync(join(tmpdir(), 'partner-payments-sdk-'))
const checkout = join(folder, 'checkout')
const partner = join(folder, 'partner')
const installed = join(partner, 'node_modules/@partner-payments/sdk')

let manifestBefore = ''
for (const path of ['package.json', 'tsconfig.json', 'scripts', 'sdk', 'wire/package.json', 'service/package.json'])
  cpSync(join(repository, path), join(checkout, path), {
    recursive: true,
    filter: (source) => basename(source) !== 'dist' && basename(source) !== 'node_modules',
  })
symlinkSync(join(repository, 'node_modules'), join(checkout, 'node_modules'), 'junction')
manifestBefore = readFileSync(join(checkout, 'sdk/package.json'), 'utf8')
run('npm', ['pack', '--offline', '--pack-destination', folder], join(checkout, 'sdk'))
mkdirSync(partner)
writeFileSync(join(partner, 'package.json'), '{}')
const [tarball = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
run('npm', ['install', '--offline', '--no-audit', '--no-fund', join(folder, tarball)], partner)
symlinkSync(types, join(partner, 'node_modules/@types'), 'junction')
after(() => rmSync(folder, { recursive: true, force: true }))

const files = () =>
  readdirSync(installed, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => statSync(join(installed, path)).isFile())
const text = (path: string) => readFileSync(join(installed, path), 'utf8')

/** Uses the client over HTTP, signs and verifies a delivery, and prints the results. */
const program = `
const { createServer } = require('node:http')
const { generateKeyPairSync } = require('node:crypto')
const { NotFoundError, createClient, operations, signTestWebhook, verifyWebhook } = sdk
async function main() {
  const server = createServer((request, response) => {
    if (request.url.startsWith('/v1/payouts')) return
    if (request.url.startsWith('/v1/transactions')) return response.writeHead(404).end('{"code":"not_found"}')
    if (Math.abs(Number(request.headers.timestamp) * 1000 - Date.now()) > 300000)
      return response.writeHead(401).end('{"code":"timestamp_out_of_window"}')
    const first = !request.url.includes('cursor')
    response.end(JSON.stringify({ data: [{ guid: first ? 'a' : 'b' }], hasMore: first, nextCursor: first ? 'c' : null }))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const client = createClient({
    baseUrl: 'http://127.0.0.1:' + server.address().port,
    apiKey: 'k',
    apiSecret: 's',
    privateKeyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    now: () => Date.now() - 3600000,
  })
  const guids = []
  for await (const { guid } of client.customers.listAll()) guids.push(guid)
  const error = await client.transactions.get('R').catch((thrown) => thrown)
  const late = await client.payouts.list({}, { timeoutMs: 50, retries: 1 }).catch((thrown) => thrown)
  server.closeAllConnections()
  server.close()
  const secret = 'whsec_' + Buffer.alloc(24, 1).toString('base64')
  const { headers, body } = signTestWebhook({ secret, payload: { eventType: 'x', amount: '1.10' } })
  const { amount } = verifyWebhook(secret, headers, body).data
  console.log(guids.join(), error instanceof NotFoundError, late.name, late.attempts, amount, Object.keys(operations).length > 0)
}
main()
`
const programs = {
  'main.mjs': `import * as sdk from '@partner-payments/sdk'
import { createRequire } from 'node:module'
const require = createRequire(import.meta.url)
${program}`,
  'main.cjs': `const sdk = require('@partner-payments/sdk')
${program}`,
}

for (const { node, version } of nodes()) {
  for (const [name, code] of Object.entries(programs)) {
    test(`an empty project runs ${name} with Node ${version}`, () => {
      writeFileSync(join(partner, name), code)
      assert.equal(run(node, [name], partner), 'a,b true ApiTimeoutError 2 1.10 true\n')
    })
  }
}

test('the package contains only the two builds with their types, the manifest, the README and the license', () => {
  const allowed =
    /^(?:package\.json|README\.md|LICENSE|dist\/(?:esm|cjs)\/[\w/-]+\.(?:js|d\.ts)|dist\/cjs\/package\.json)$/
  assert.ok(files().length > 50, String(files().length))
  for (const path of files()) {
    assert.match(path, allowed)
    assert.doesNotMatch(path, /test\.(?:js|d\.ts)$/)
    assert.doesNotMatch(text(path), /PRIVATE KEY/, path)
  }
  for (const path of ['LICENSE', 'README.md']) assert.ok(files().includes(path), path)
  assert.equal(text('LICENSE'), readFileSync(join(repository, 'LICENSE'), 'utf8'))
})

test('the manifest names the package, its license and its entry points, and needs no other package', () => {
  const manifest = JSON.parse(text('package.json')) as Record<string, unknown>
  const entry = (build: string) => ({ types: `./dist/${build}/index.d.ts`, default: `./dist/${build}/index.js` })
  assert.equal(manifest.name, '@partner-payments/sdk')
  assert.match(String(manifest.version), /^\d+\.\d+\.\d+$/)
  assert.equal(manifest.license, 'Apache-2.0')
  assert.deepEqual(manifest.exports, {
    '.': { import: entry('esm'), require: entry('cjs') },
    './package.json': './package.json',
  })
  for (const name of ['private', 'scripts', 'dependencies', 'peerDependencies']) assert.equal(manifest[name], undefined)
  const imported = files()
    .filter((path) => path.endsWith('.js'))
    .flatMap((path) => [...text(path).matchAll(/(?:from |require\()["']([^"']+)["']/g)].map(([, name]) => name ?? ''))
  assert.ok(imported.length >= 40, String(imported.length))
  for (const name of imported) assert.match(name, /^(\.{1,2}\/.+\.js|node:crypto)$/)
})

test('the declarations use no type that TypeScript 5.0 does not have: Uint8Array is generic since 5.7', () => {
  const declarations = files().filter((path) => path.endsWith('.d.ts'))
  assert.ok(declarations.length > 20, String(declarations.length))
  for (const path of declarations) assert.doesNotMatch(text(path), /Uint8Array</, path)
})

test('npm pack leaves the manifest of the repository unchanged', () => {
  assert.equal(readFileSync(join(checkout, 'sdk/package.json'), 'utf8'), manifestBefore)
})

test('npm pack restores the manifest that an interrupted npm pack has left', () => {
  const build = join(checkout, 'scripts/build-sdk.ts')
  run(process.execPath, [build, 'prepack'], checkout)
  assert.notEqual(readFileSync(join(checkout, 'sdk/package.json'), 'utf8'), manifestBefore)
  run(process.execPath, [build, 'prepack'], checkout)
  run(process.execPath, [build, 'postpack'], checkout)
  assert.equal(readFileSync(join(checkout, 'sdk/package.json'), 'utf8'), manifestBefore)
})

const prelude = `import { type Client, createClient } from '@partner-payments/sdk'
declare const options: Parameters<typeof createClient>[0]
const client: Client = createClient(options)
`
const payout = "amount: '1', currency: 'EUR', beneficiaryId: 'b'"
const validCalls = `${prelude}
export async function main(): Promise<string> {
  for await (const { guid } of client.customers.listAll()) guid.trim()
  await client.payouts.create({ ${payout} }, { idempotencyKey: 'k' })
  return (await client.transactions.get('R')).amount
}`
const invalidCalls = `${prelude}
export const calls = [
  client.payouts.create({ ${payout} }),
  client.beneficiaries.create({ name: 'n' }),
  client.payouts.list({ status: 'Gone' }),
]`

for (const extension of ['mts', 'cts']) {
  test(`the declarations compile in strict mode in a .${extension} file, and reject invalid calls`, () => {
    writeFileSync(join(partner, `valid.${extension}`), validCalls)
    writeFileSync(join(partner, `invalid.${extension}`), invalidCalls)
    const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--types', 'node']
    const args = [compiler, ...flags, `valid.${extension}`, `invalid.${extension}`]
    const { stdout } = spawnSync(process.execPath, args, { cwd: partner, encoding: 'utf8' })
    const errors = stdout.split('\n').filter((line) => line.includes('error TS'))
    assert.equal(errors.length, 3, stdout)
    for (const line of errors) assert.match(line, /^invalid/)
    assert.match(errors[0] ?? '', /'idempotencyKey' is missing/)
    assert.match(errors[1] ?? '', /'currency' is missing/)
    assert.match(errors[2] ?? '', /TS2322/)
  })
}
