/** The operator's commands for pools of IBANs from a bank's file. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { addPartner } from '../support/composition.ts'
import { useOperator } from '../support/fixture.ts'
import { ibansFrom } from '../support/ibans.ts'

const operator = await useOperator({ settings: { IBAN_POOLS: 'DE', IBAN_ISSUERS: 'LT:10000' } })
const { service, folder } = operator
const partner = await addPartner(service)

type PrintedObject = Readonly<Record<string, unknown>>
const printed = (...args: readonly string[]) => operator.printed('ibans', ...args)
async function fileOf(name: string, content: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, content)
  return path
}
const by = ['--staff', 'Sam Staff']
const importing = (file: string, ...more: readonly string[]) => ['import', '--file', file, ...by, ...more]

test('imported IBANs are issued by a running service, are listed and can be withdrawn', async () => {
  const [first = '', ...others] = ibansFrom(1, 4)
  const file = await fileOf('ing.csv', `\u{FEFF}iban,bic\r\n${first},INGDDEFFXXX\r\n${others.join('\r\n')}`)
  const about = { pool: 'ing', country: 'DE', bad: 0, inUse: true, badLines: [] }
  const args = importing(file, '--pool', 'ing', '--connector', 'sandbox')
  assert.deepEqual(await printed(...args), { ...about, lines: 4, imported: 4, isRepetition: false })
  assert.deepEqual(await printed(...args), { ...about, lines: 0, imported: 0, isRepetition: true })
  const { ibans: given } = await service.accounts.create(partner.partnerId, partner.customer.id)
  assert.deepEqual([given[1]?.iban, given[1]?.bic], [first, 'INGDDEFFXXX'])
  const [listed] = (await printed('list')) as unknown as readonly PrintedObject[]
  const shown = { name: 'ing', partnerId: null, country: 'DE', currency: 'EUR', connector: 'sandbox' }
  for (const [name, value] of Object.entries({ ...shown, total: 4, free: 3, given: 1, isLow: true }))
    assert.equal(listed?.[name], value, name)
  const one = ['withdraw', '--pool', 'ing', ...by]
  assert.deepEqual(await printed(...one, '--iban', others[0] ?? ''), { pool: 'ing', withdrawn: 1 })
  assert.deepEqual(await printed(...one), { pool: 'ing', withdrawn: 2 })
})

test('a file with bad lines is refused with its report, and its good lines are imported on request', async () => {
  const [first = '', second = ''] = ibansFrom(100, 2)
  const text = `${first}\n${'X'.repeat(300_000)}\n${second.replace(/^DE\d\d/, 'DE00')}\n${first}\n`
  const file = await fileOf('bad.csv', text)
  const { code, stdout, stderr } = await operator.run('ibans', ...importing(file, '--pool', 'bad'))
  assert.equal(code, 1)
  assert.match(stderr, /bad\.csv has 3 wrong lines, and nothing was imported\. .* --skip-bad$/m)
  assert.equal(stderr.trimEnd().split('\n').length, 1)
  const report = JSON.parse(stdout) as { readonly imported: number; readonly badLines: readonly PrintedObject[] }
  assert.equal(report.imported, 0)
  const reasons = [
    [2, 'not_an_iban'],
    [3, 'check_digits'],
    [4, 'double_in_file'],
  ]
  const reasonsOf = (lines: unknown) => (lines as readonly PrintedObject[]).map(({ line, reason }) => [line, reason])
  assert.deepEqual(reasonsOf(report.badLines), reasons)
  const imported = await printed(...importing(file, '--pool', 'bad', '--skip-bad', '--partner', partner.partnerId))
  assert.deepEqual([imported.imported, imported.bad, reasonsOf(imported.badLines)], [1, 3, reasons])
})

test('wrong arguments are refused in one line, and nothing is imported', async () => {
  const file = await fileOf('good.csv', ibansFrom(200, 1).join('\n'))
  const before = await printed('list')
  const cases: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [['import', '--file', file, '--pool', 'new'], /--staff is required/],
    [importing(file, '--pool', 'New Pool'), /--pool must be a name of 1 to 32/],
    [importing(file, '--pool', 'new', '--connector', 'none'), /--connector must be one of sandbox/],
    [importing(file, '--pool', 'new', '--partner', '01900000-0000-7000-8000-000000000000'), /No such partner/],
    [importing(join(folder, 'none.csv'), '--pool', 'new'), /none\.csv: ENOENT/],
    [importing(file, '--pool', 'ing', '--partner', partner.partnerId), /The pool ing is shared/],
    [importing(file, '--pool', 'ing', '--currency', 'GBP'), /The pool ing has the currency EUR/],
    [['withdraw', '--pool', 'new', '--staff', 'Sam'], /No such pool: new/],
  ]
  for (const [args, says] of cases) assert.match(await operator.refused('ibans', ...args), says)
  assert.deepEqual(await printed('list'), before)
})

test('the audit log of the operator, or of the partner of a pool, records each action', async () => {
  const { audit } = service
  const { partnerId } = partner
  const query = { limit: '100' }
  const actionsOf = async (id: string) => (await audit.list(id, query)).data.map(({ action }) => action).toSorted()
  assert.deepEqual(
    await actionsOf('00000000-0000-8000-8000-000000000000'),
    ['import', 'import', 'withdraw', 'withdraw'].map((verb) => `operator ibans ${verb}`),
  )
  assert.deepEqual(
    (await actionsOf(partnerId)).filter((action) => action.startsWith('operator ibans')),
    ['operator ibans import'],
  )
})
