/** Tests that the audit log, which is never erased, has no personal data from the options of commands. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { processBankNotifications } from '../../service/src/banks/settlement/index.ts'
import { operatorPartnerId } from '../../service/src/cases/index.ts'
import { hourMs, newId } from '../../service/src/kernel/index.ts'
import { commandNames, getDeclaration, commandOptions, commandRoles } from '../../service/src/operator/declarations.ts'
import { changesJob } from '../../service/src/people/staff/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { addPartner, stepMsDefault } from '../support/composition.ts'
import { useOperator } from '../support/fixture.ts'
import { joinedStaff } from '../support/staff.ts'

const { service, folder, printed } = await useOperator({ now: new Date() })
type ShownChange = { readonly options: Readonly<Record<string, unknown>> }

test('data of a payer are in no audit record, and in a change only until it is carried out, rejected or expired', async () => {
  const [cora, carl] = [
    await joinedStaff(service, folder, 'Cora Compliance', 'compliance'),
    await joinedStaff(service, folder, 'Carl Compliance', 'compliance'),
  ]
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
  const rule = { region: 'outside', currency: 'EUR', above: 0n, measure: 'ask', answerDays: 90 } as const
  await service.db.transaction((tx) => service.deposits.payers.setRule(tx, rule))
  const { partnerId, customer } = await addPartner(service)
  const { iban } = (await service.accounts.create(partnerId, customer.id)).ibans[0]
  const debtor = { account: 'GB29NWBK60161331926819', bic: 'NWBKGB2L', name: 'N/A', countryCode: 'GB', address: null }
  const credit = {
    account: iban,
    money: { currency: 'EUR', amount: 70_00n },
    remittance: null,
    endToEndId: null,
  } as const
  await service.db.transaction(async (tx) =>
    service.bank.sendCredit(tx, operatorPartnerId, newId(), { ...credit, debtor }),
  )
  service.clock.advance(stepMsDefault)
  await processBankNotifications(service.settlement)
  const [waiting] = await printed<readonly { readonly id: string }[]>('payer-data', 'waiting')
  const data = ['Ottilie Quastenflosser', 'GB94BARC10201530093459', '7 Hidden Street, Leeds, GB', '1951-02-03 Leeds']
  const options = ['name', 'account', 'address', 'identification'].flatMap((name, at) => [`--${name}`, data[at] ?? ''])
  const decide = ['payer-data', 'decide', '--partner', partnerId, '--id', waiting?.id ?? '', '--outcome', 'received']
  const propose = async () =>
    String((await printed(...decide, ...options, '--note', 'Letter of 3 May', ...cora.as))['waits'])
  const stored = async (id: string) => {
    const row = await service.db.row(sql`select options::text from staff.changes where id = ${id}`)
    return data.filter((each) => JSON.stringify(row).includes(each)).length
  }
  const expired = await propose()
  const shown = await printed('change', 'show', '--id', expired)
  for (const each of data) assert.ok(JSON.stringify(shown).includes(each), `the second person reads ${each}`)
  service.clock.advance(73 * hourMs)
  await changesJob(service).run()
  service.clock.advance(-73 * hourMs)
  const rejected = await propose()
  await changesJob(service).run()
  assert.deepEqual([await stored(expired), await stored(rejected)], [0, data.length])
  await printed('change', 'reject', '--id', rejected, '--note', 'Read the letter again', ...carl.as)
  const done = await propose()
  await printed('change', 'approve', '--id', done, ...carl.as)
  assert.deepEqual([await stored(rejected), await stored(done)], [0, 0])
  const { note, outcome } = (await printed<ShownChange>('change', 'show', '--id', done)).options
  assert.deepEqual([note, outcome], ['Letter of 3 May', 'received'])
  const records = await service.db.rows<{ readonly content: string }>(sql`select content from audit.records`)
  assert.ok(records.some(({ content }) => content.includes('operator payer-data decide')))
  for (const { content } of records) for (const each of data) assert.ok(!content.includes(each), content)
})

/** Options with free text that the audit log has, with the reason. Data of a person are `unrecorded`. */
const recorded: Readonly<Record<string, string>> = {
  name: 'the name of a partner, of a service account or of a list',
  staff: 'the person who acts',
  note: 'why, which the log is for',
  'identified-by': 'the way in which a person was identified, and no datum of the person',
  customer: 'an id',
  beneficiary: 'an id',
  reference: 'the id of a transaction',
  reason: 'a code',
  account: 'an account of the operator',
  pool: 'a name of IBANs',
  connector: 'an id',
  rule: 'a rule of monitoring',
}

test('an option with free text is not recorded, unless its text is known to be no personal data', () => {
  const found = commandNames
    .filter((command) => commandRoles(command) !== undefined)
    .flatMap((command) => Object.entries(getDeclaration(command).options))
    .filter(([, { kind, unrecorded }]) => ['text', 'name', 'email'].includes(kind) && unrecorded !== true)
  assert.deepEqual([...new Set(found.map(([name]) => name))].toSorted(), Object.keys(recorded).toSorted())
  for (const [name, { kind }] of found) assert.notEqual(kind, 'email', name)
  for (const command of ['staff invite', 'payer-data decide'] as const)
    assert.equal(commandOptions(command)['name']?.unrecorded, true, command)
})
