/** A start that fails prints one line that says what to change, ends with exit code 1, and leaves nothing behind. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { readConfig } from '../../service/src/app/config.ts'
import { explainFailure } from '../../service/src/app/process.ts'
import { createLog } from '../../service/src/kernel/index.ts'
import { createDatabase, sql } from '../../service/src/postgres/index.ts'
import { fakePostgres } from '../support/fake-postgres.ts'
import { useDatabase, useFolder } from '../support/fixture.ts'
import { runOperator } from '../support/operator.ts'
import { assertRefusal, type Environment, run } from '../support/program.ts'

const folder = await useFolder()
const database = await useDatabase()

const key = randomBytes(32).toString('base64')
const nowhere = 'postgres://a:b@127.0.0.1:1/x'
const usual = { DATA_DIR: join(folder, 'data'), DATABASE_URL: nowhere, PORT: '0', OPS_PORT: '0' }
const productionEnv = { MODE: 'production', MASTER_KEY: key, SMTP_URL: 'smtp://127.0.0.1:1', LOG_LEVEL: 'warn' }

/** Starts the program. */
const refused = async (env: Environment, line: RegExp | string, role = 'serve') =>
  assertRefusal(await run([role], { ...usual, ...env }), line)

/** Reads the settings as `serve` does first. The whole process is tested with one row of each table. */
function refusedSettings(env: Environment, line: RegExp | string): void {
  let stderr = ''
  try {
    readConfig({ exchangesFiles: true }, { ...usual, ...env })
  } catch (error) {
    stderr = explainFailure(error)
  }
  assertRefusal({ code: 1, stdout: '', stderr }, line)
}

const values: readonly (readonly [variable: string, value: string, line: RegExp | string])[] = [
  ['MODE', 'live', 'MODE must be one of sandbox, production (it is "live")'],
  ['PORT', '80a', 'PORT must be a whole number from 0 to 65535 (it is "80a")'],
  ['OPS_PORT', '70000', 'OPS_PORT must be a whole number from 0 to 65535 (it is "70000")'],
  ['PUBLIC_URL', 'api.example.com', 'PUBLIC_URL must be a URL of http or https (it is "api.example.com")'],
  ['DATABASE_URL', 'mysql://user:hidden@host/x', 'DATABASE_URL must begin with postgres:// or postgresql://'],
  ['MASTER_KEY', 'c2hvcnQ=', /^MASTER_KEY must be 32 bytes in Base64 [^=]*$/],
  ['LOG_LEVEL', 'loud', 'LOG_LEVEL must be one of debug, info, warn, error, silent (it is "loud")'],
  ['TIMESTAMP_WINDOW_SECONDS', '29', /^TIMESTAMP_WINDOW_SECONDS must be a whole number from 30 to 3600/],
  ['MAIL_FROM', 'no-address', 'MAIL_FROM must be `Name <address@domain>` or `address@domain` (it is "no-address")'],
  [
    'BRAND_COLOUR',
    '#ffcc00',
    /^BRAND_COLOUR has a contrast of 1\.\d\d on the light background #eef0f4, and needs 4\.5; the nearest colour that passes is #[0-9a-f]{6} /,
  ],
  ['BRAND_COLOUR_DARK', '#1d1d8f', /^BRAND_COLOUR_DARK has a contrast of 1\.\d\d on the dark/],
  ['BRAND_LOGO', 'package.json', /^BRAND_LOGO names a file that must be a PNG or an SVG file$/],
  ['BRAND_NAME', 'a<b', /^BRAND_NAME must be 1 to 40 characters/],
  ['SMTP_URL', 'smtp://user:hidden@host?pool=true', /^SMTP_URL (?!.*hidden)/],
  ['WEBHOOK_LIMITS', 'inFlightMax=0', /^WEBHOOK_LIMITS must be name=value; names are inFlightPerEndpointMax,/],
  ['WEBHOOK_RETRY_DELAYS_MS', '1000,soon', /^WEBHOOK_RETRY_DELAYS_MS must be milliseconds separated by commas/],
  ['WEBHOOK_PROXY_URL', 'socks5://user:hidden@proxy:1080', /^WEBHOOK_PROXY_URL must be `http:\/\/` (?!.*hidden)/],
  ['SIMULATIONS', 'yes', 'SIMULATIONS must be one of on, off (it is "yes")'],
  ['PROCESSES', '0', 'PROCESSES must be a whole number from 1 to 128 (it is "0")'],
  ['RATE_PER_SECONDS', '5', 'RATE_PER_SECONDS is not a variable of this service: did you mean RATE_PER_SECOND?'],
  ['MASTERKEY', key, 'MASTERKEY is not a variable of this service: did you mean MASTER_KEY?'],
  ['LOG_LEVLE', 'debug', 'LOG_LEVLE is not a variable of this service: did you mean LOG_LEVEL?'],
  [
    'WEBHOOK_RETRY_COUNT',
    '5',
    'WEBHOOK_RETRY_COUNT is not a variable of this service: see docs/generated.md#configuration',
  ],
]
const cells = 'DE:37040044:1-1000@a,DE:37040044:1001-2000@b'
const issuerSettings: readonly { readonly env: Environment; readonly line: RegExp | string }[] = [
  {
    env: { IBAN_ISSUERS: 'DE' },
    line: /^IBAN_ISSUERS must have entries such as DE:37040044, DE:37040044\/COBADEFFXXX or /,
  },
  { env: { IBAN_ISSUERS: 'DE:1' }, line: /^IBAN_ISSUERS is wrong: a bank code of DE has 0 letters and 8 digits / },
  {
    env: { IBAN_ISSUERS: 'DE:37040044:1-1001@a,DE:37040044:1001-2000@b', CELL: 'a' },
    line: /^IBAN_ISSUERS is wrong: DE:37040044: the numbers 1001-2000 overlap with 1-1001 /,
  },
  {
    env: { IBAN_ISSUERS: `${cells},GB:NWBK601613` },
    line: /^IBAN_ISSUERS must name a cell in every entry or in none /,
  },
  { env: { IBAN_ISSUERS: cells }, line: 'IBAN_ISSUERS names cells: CELL is required: one of a, b' },
  { env: { IBAN_ISSUERS: cells, CELL: 'c' }, line: 'IBAN_ISSUERS names cells: CELL must be one of a, b' },
  { env: { IBAN_ISSUERS: cells, CELL: 'A' }, line: /^CELL must be 1 to 32 lower-case letters/ },
  {
    env: { ...productionEnv, IBAN_ISSUERS: 'DE:99900001' },
    line: /^IBAN_ISSUERS must not contain DE:99900001: the sandbox invented this bank code /,
  },
]
const sandboxOnly: readonly { readonly env: Environment; readonly reason: string }[] = [
  { env: { MASTER_KEY: '' }, reason: 'MASTER_KEY is required (openssl rand -base64 32)' },
  { env: { SMTP_URL: '' }, reason: 'SMTP_URL is required: invitations are sent by mail' },
  { env: { SIMULATIONS: 'on' }, reason: 'SIMULATIONS must be off' },
  {
    env: { RAIL_RULES: 'Swift=sandbox' },
    reason: 'RAIL_RULES must not name sandbox: the sandbox bank does not move money',
  },
  { env: { RAIL: 'sandbox' }, reason: 'RAIL must not be sandbox: the sandbox bank does not move money' },
  { env: { WEBHOOK_HTTP: 'on' }, reason: 'WEBHOOK_HTTP must be off: webhooks are sent by https only' },
]
for (const { env, line } of issuerSettings)
  test(`${JSON.stringify({ IBAN_ISSUERS: env.IBAN_ISSUERS, CELL: env.CELL })} is refused`, () =>
    refusedSettings(env, line))

for (const [variable, value, line] of values)
  test(`${variable}=${value} is refused`, () => refusedSettings({ [variable]: value }, line))

test('a process refuses its settings before it starts anything', async () => {
  const [[variable, value, line] = [], issuers, production] = [values[0], issuerSettings[0], sandboxOnly[0]]
  assert.ok(variable && value && line && issuers && production)
  await refused({ [variable]: value }, line)
  await refused(issuers.env, issuers.line)
  await refused({ ...productionEnv, ...production.env }, `MODE=production: ${production.reason}`)
})

test('variables of other programs are ignored', () =>
  refused({ NODE: 'x', HOSTNAME: 'x', OPSGENIE_KEY: 'x', DATABASE_NAME: 'x', RATES: 'x' }, /ECONNREFUSED/))

test('a data folder that cannot be created or written is refused with its path', async () => {
  const file = join(folder, 'file')
  await writeFile(file, '')
  await refused({ DATA_DIR: join(file, 'below') }, /^DATA_DIR .*file\/below cannot be used: /)
  await refused({ DATA_DIR: file, MASTER_KEY: key, DATABASE_URL: '' }, /^DATA_DIR .*file cannot be used: /)
})

const as = (url: string, change: Partial<Pick<URL, 'password' | 'pathname'>>) =>
  Object.assign(new URL(url), change).href

test('an unreachable or missing database is refused, and its password is not printed', async () => {
  await refused({}, 'DATABASE_URL: the database cannot be reached: connect ECONNREFUSED 127.0.0.1:1')
  const unknown = 'postgres://a:hidden@no-such-host.invalid/x'
  await refused(
    { DATABASE_URL: unknown },
    /^DATABASE_URL: the database cannot be reached: getaddrinfo \w+ no-such-host/,
  )
  const wrong = as(database.url, { password: 'hidden' })
  await refused({ DATABASE_URL: wrong }, 'DATABASE_URL: password authentication failed for user "postgres"')
  const missing = as(database.url, { pathname: '/missing' })
  await refused({ DATABASE_URL: missing }, 'DATABASE_URL: database "missing" does not exist')
})

test('a database that accepts the connection and does not answer is refused', async () => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1')
  await new Promise((resolve) => silent.once('listening', resolve))
  const { port } = silent.address() as { port: number }
  await refused({ DATABASE_URL: `postgres://a:b@127.0.0.1:${port}/x` }, /^DATABASE_URL: the database does not answer/)
  silent.close()
})

test('a PostgreSQL older than 15 is refused with its version', async () => {
  const old = await fakePostgres('140019')
  await refused({ DATABASE_URL: old.url }, 'DATABASE_URL leads to PostgreSQL 14; 15 or newer is required')
  old.close()
})

test('separate roles require the shared database, key and address, and a migrated database', async () => {
  for (const role of ['gateway', 'api', 'worker']) {
    await refused({}, /^MASTER_KEY is required for separate roles/, role)
    const line = new RegExp(`^DATABASE_URL is required for the role ${role}`)
    await refused({ MASTER_KEY: key, DATABASE_URL: '', API_URL: 'http://127.0.0.1:1' }, line, role)
  }
  await refused({ MASTER_KEY: key }, 'API_URL is required for the role gateway', 'gateway')
  const client = createDatabase({ url: database.url, connectionsMax: 1, log: createLog('silent') })
  await client.run(sql`delete from public.schema_migrations where number = 301`)
  const lacks = /^the database lacks migration 0301-[\w-]+\.sql: run the role `migrate` first$/
  await refused({ MASTER_KEY: key, DATABASE_URL: database.url }, lacks, 'api')
  await client.run(sql`drop table public.schema_migrations`)
  await client.close()
  await refused({ MASTER_KEY: key, DATABASE_URL: database.url }, lacks, 'worker')
})

test('unknown roles, unknown arguments and unknown operator commands are refused', async () => {
  await refused(
    {},
    'unknown role server: the roles are serve, gateway, api, worker, router, migrate, operator',
    'server',
  )
  const none = /^the role \w+ takes (no arguments|only the argument --processes N, once);/
  const lines: readonly { readonly words: string; readonly line: RegExp }[] = [
    { words: 'serve --port 80', line: none },
    { words: 'serve --processes', line: none },
    { words: 'serve 2', line: none },
    { words: 'serve --processes=', line: none },
    { words: 'serve --processes 2 --processes 3', line: none },
    { words: 'worker --processes 2', line: none },
    { words: 'migrate --processes=2', line: none },
    { words: 'serve --processes 0', line: /^--processes must be a whole number from 1 to 128 \(it is "0"\)$/ },
    { words: 'api --processes=x', line: /^--processes must be a whole number from 1 to 128 \(it is "x"\)$/ },
    { words: 'gateway --processes -1', line: none },
  ]
  for (const { words, line } of lines) assertRefusal(await run(words.split(' '), usual), line)
  const dataDir = join(folder, 'untouched')
  const wrong = [[], ['partner', 'drop'], ['partner', 'create', '--nome', 'x']]
  for (const [index, words] of wrong.entries()) {
    // The first call runs in its own process.
    const env = { DATA_DIR: dataDir }
    const ending = await (index === 0 ? run(['operator', ...words], env) : runOperator(words, env))
    assert.equal(ending.code, 1)
    assert.equal(ending.stdout, '')
    assert.match(
      ending.stderr,
      /^operator(?: commands \(.+\):\n {2}operator sign-in|: --nome is not an option of partner create; did you mean --name\?)/,
    )
    assert.equal(existsSync(dataDir), false, 'an unknown command creates no database')
  }
})

for (const { env, reason } of sandboxOnly)
  test(`production refuses ${JSON.stringify(env)}`, () =>
    refusedSettings({ ...productionEnv, ...env }, `MODE=production: ${reason}`))
