/** Safeguarding by the operator's commands: accounts, a day, its files, and their verification without a database. */
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { masterKeyText } from '../support/composition.ts'
import { commandsOf, untilEnd, useFolder } from '../support/fixture.ts'
import { entryOf, ownIban, reportXml } from '../support/iso-incoming.ts'
import { bankSetting, openFolders } from '../support/iso-outgoing.ts'
import { runOperator } from '../support/operator.ts'
import { createSafeguarded } from '../support/safeguarding.ts'

const folder = await useFolder()
const service = untilEnd(await createSafeguarded())
const { today } = service
const account = { iban: ownIban, bic: 'BYLADEM1001' }
const bank = bankSetting(await openFolders(folder), {
  ...account,
  reach: { Instant: 'all' },
  preferredScheme: 'Instant',
})
const env = {
  DATA_DIR: folder,
  DATABASE_URL: service.url,
  MASTER_KEY: masterKeyText,
  ISO20022_BANKS: JSON.stringify([bank]),
  RAIL: 'iso20022',
  RAIL_RULES: 'GBP=sandbox,USD=sandbox',
  REPORT_CLOCK_DIFFERENCE_MS: '0',
}
const commands = commandsOf(env)
const printed = <T>(...words: readonly string[]) => commands.printed<T>('safeguarding', ...words)
async function refused(words: readonly string[], line: RegExp, more: Readonly<Record<string, string>> = {}) {
  const { code, stderr } = await runOperator(['safeguarding', ...words], { ...env, ...more })
  assert.notEqual(code, 0)
  assert.match(stderr, line)
}

type ShownRecord = {
  readonly isNew?: boolean
  readonly status: string
  readonly version: number
  readonly resource: string
}

test('invalid arguments of a safeguarding command are refused with the reason', async () => {
  await refused(['run', '--day', today], /No account is designated/)
  await refused(
    ['accounts', 'set', '--account', 'DE00', '--currency', 'EUR', '--staff', 'Sam'],
    /is not an account of a configured bank/,
  )
  await refused(['accounts', 'set', '--account', ownIban, '--currency', 'EUR'], /--staff is required/)
  await refused(['show', '--day', today], /No safeguarding record/)
  await refused(['verify', '--from', join(folder, 'none')], /ENOENT/)
})

test('a day of safeguarding is computed once and exported, and its files are verified without a database', async () => {
  const about = ['--account', ownIban, '--currency', 'EUR', '--from', today]
  await printed('accounts', 'set', ...about, '--staff', 'Sam Staff')
  const accounts = await printed<readonly { readonly account: string; readonly setBy: string }[]>('accounts', 'list')
  assert.deepEqual(
    accounts.map(({ account, setBy }) => [account, setBy]),
    [[ownIban, 'Sam Staff']],
  )
  const entry = entryOf(12_34n, { bookingDate: today })
  await service.take(reportXml([entry], { kind: 'camt.053', sequence: 1, opening: 0n, closing: 12_34n, on: today }))
  const run = () => printed<readonly ShownRecord[]>('run', '--day', today)
  assert.deepEqual(
    [...(await run()), ...(await run())].map(({ isNew, status, version }) => [isNew, status, version]),
    [
      [true, 'balanced', 1],
      [false, 'balanced', 1],
    ],
  )
  const [shown] = await printed<readonly ShownRecord[]>('show', '--day', today, '--currency', 'EUR')
  assert.equal(shown?.resource, '12.34')
  const file = (format: string) => join(folder, `day.${format}`)
  for (const format of ['json', 'csv', 'pdf'])
    await printed('export', '--day', today, '--format', format, '--to', file(format))
  assert.equal((await readFile(file('pdf'))).subarray(0, 5).toString(), '%PDF-')
  const offline = { DATABASE_URL: 'postgres://none@127.0.0.1:1/none' }
  const keys: string[] = []
  for (const format of ['json', 'csv']) {
    const { code, stdout, stderr } = await runOperator(['safeguarding', 'verify', '--from', file(format)], {
      ...env,
      ...offline,
    })
    assert.deepEqual([code, stderr], [0, ''])
    const { records } = JSON.parse(stdout) as { readonly records: readonly { readonly publicKey: string }[] }
    keys.push(...records.map(({ publicKey }) => publicKey))
  }
  await printed('verify', '--from', file('json'), '--key', keys[0] ?? '')
  await refused(['verify', '--from', file('json'), '--key', 'another'], /signed by another key/, offline)
  for (const [format, from, to, line] of [
    ['json', '12.34', '12.33', /the signature is wrong/],
    ['csv', '12.34', '12.33', /is not an unchanged JSON or CSV export/],
  ] as const) {
    await writeFile(file('changed'), (await readFile(file(format), 'utf8')).replaceAll(from, to))
    await refused(['verify', '--from', file('changed')], line, offline)
  }
})
