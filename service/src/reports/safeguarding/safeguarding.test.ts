/** Safeguarding over real files of a bank: what a day finds, its signature, corrections, thefts and concurrent workers. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { isHeadSigned } from '@partner-payments/wire'
import { operatorPartnerId } from '../../cases/index.ts'
import { dayMs } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import { addPartner, pay, type TestPartner } from '../../../../test/support/composition.ts'
import { entryOf, markFiled, reportXml, statusXml } from '../../../../test/support/iso-incoming.ts'
import { createSafeguarded, designated, type SafeguardedService } from '../../../../test/support/safeguarding.ts'
import { submitDuePayouts } from '../../banks/settlement/index.ts'
import { contentDigest, findContradictions, safeguardingCsv, safeguardingPdf, readSignedCsv } from './index.ts'

let service: SafeguardedService
let partner: TestPartner
beforeEach(async () => {
  service = await createSafeguarded()
  partner = await addPartner(service)
})
afterEach(() => service.close())

/** A credit that is assigned to the partner by two persons, as client money without a payment. */
async function credited(amount: bigint): Promise<ReturnType<typeof entryOf>> {
  const entry = entryOf(amount, { bookingDate: service.today })
  await service.take(reportXml([entry], { on: service.today }))
  const { cases, db, decisions } = service
  const [opened] = await cases.list(undefined, 1)
  assert.ok(opened)
  const key = { partnerId: opened.partnerId, id: opened.id }
  const given = { action: 'credit', toPartnerId: partner.partnerId, note: 'Theirs.' } as const
  await db.transaction((tx) => decisions.propose(tx, { ...key, ...given, staff: 'ada' }))
  await db.transaction((tx) => decisions.approve(tx, { ...key, staff: 'grace' }))
  await service.moment()
  return entry
}

type Statement = {
  readonly sequence?: number
  readonly opening?: bigint
  readonly closing: bigint
  readonly on?: string
}
const statement = (entries: readonly ReturnType<typeof entryOf>[], { on = service.today, ...more }: Statement) =>
  service.take(reportXml(entries, { kind: 'camt.053', sequence: 1, opening: 0n, statementId: `S${on}`, on, ...more }))

async function computed(day = service.today, at?: Date) {
  const [only, ...others] = await service.safeguarding.compute(day, at)
  assert.ok(only)
  assert.equal(others.length, 0)
  assert.deepEqual(findContradictions(only.record.content), [])
  return only
}
const partsOf = ({ record }: Awaited<ReturnType<typeof computed>>) =>
  Object.fromEntries(
    record.content.parts.filter(({ amount }) => amount !== '0.00').map(({ kind, amount }) => [kind, amount]),
  )
const safeguardingCases = async () =>
  (await service.cases.list(undefined, 100)).filter(({ kind }) => kind === 'safeguarding')

test('a day with a complete statement balances, and the record is signed', async () => {
  await service.designate(service.today)
  const entry = await credited(100_00n)
  await statement([entry], { closing: 100_00n })
  const { record, isNew } = await computed()
  const { content, text, signature, publicKey, digest } = record
  assert.equal(isNew, true)
  assert.equal(content.status, 'balanced')
  assert.deepEqual([content.requirement.total, content.resource, content.difference], ['100.00', '100.00', '0.00'])
  assert.equal(content.accounts[0]?.statement?.name, `S${service.today}`)
  assert.equal(digest, contentDigest(text))
  assert.ok(isHeadSigned({ content: text, signature: signature.toString('base64'), publicKey }))
  assert.deepEqual(await safeguardingCases(), [])
  const records = await service.audit.list(operatorPartnerId, {})
  assert.ok(
    records.data.some(({ action, details }) => action === 'safeguarding.computed' && details?.['digest'] === digest),
  )
})

test('an entry before the end of the day that is on no statement yet is listed as in transit', async () => {
  await service.designate(service.today)
  const first = await credited(100_00n)
  await credited(7_00n)
  const cut = await service.moment()
  await credited(30_00n)
  await statement([first], { closing: 100_00n })
  const day = await computed(service.today, cut)
  assert.equal(day.record.status, 'balanced')
  assert.equal(day.record.content.requirement.total, '107.00')
  assert.deepEqual(partsOf(day), { in_transit: '-7.00' })
  assert.deepEqual(
    day.record.content.entries.map(({ kind, amount }) => [kind, amount]),
    [['in_transit', '7.00']],
  )
})

test('an entry that the statement reports after the end of the day is booked late', async () => {
  await service.designate(service.today)
  const first = await credited(100_00n)
  const cut = await service.moment()
  const late = entryOf(7_00n, { bookingDate: service.today })
  await statement([first, late], { closing: 107_00n })
  const day = await computed(service.today, cut)
  assert.deepEqual([day.record.status, partsOf(day)], ['balanced', { booked_late: '7.00' }])
})

test('a payment that the bank has paid but not booked is listed', async () => {
  await service.designate(service.today)
  const entry = await credited(100_00n)
  await pay(service, partner, '10.00')
  await submitDuePayouts(service.files.settlement)
  const { messageId } = await markFiled(service)
  await statement([entry], { closing: 100_00n })
  const before = await computed()
  assert.deepEqual(
    [before.record.content.requirement.total, before.record.content.requirement.reserved],
    ['100.00', '10.00'],
  )
  await service.take(statusXml(messageId, { groupStatus: 'ACSC' }))
  const after = await computed()
  assert.deepEqual([after.record.status, partsOf(after)], ['balanced', { settled_not_booked: '10.00' }])
  assert.equal(after.record.content.requirement.total, '90.00')
})

test('charges without a decided case are a shortfall, and two people close its case', async () => {
  await service.designate(service.today)
  const entry = await credited(100_00n)
  const charge = entryOf(-2_50n, {
    bookingDate: service.today,
    codes: { domain: 'ACMT', family: 'MDOP', subFamily: 'CHRG' },
  })
  await statement([entry, charge], { closing: 97_50n })
  const { record } = await computed()
  assert.deepEqual([record.status, record.content.own], ['shortfall', '-2.50'])
  const [opened] = await safeguardingCases()
  assert.ok(opened)
  const { db, decisions } = service
  const key = { partnerId: opened.partnerId, id: opened.id }
  const note = { ...key, action: 'note', note: 'Paid in.' } as const
  await db.transaction((tx) => decisions.propose(tx, { ...note, staff: 'ada' }))
  assert.equal((await safeguardingCases()).length, 1)
  await assert.rejects(
    db.transaction((tx) => decisions.approve(tx, { ...key, staff: 'Ada' })),
    /another person/,
  )
  await db.transaction((tx) => decisions.approve(tx, { ...key, staff: 'grace' }))
  assert.deepEqual(await safeguardingCases(), [])
})

test('earlier money on the account, and fees, are an excess without a case', async () => {
  await service.designate(service.today)
  const entry = await credited(100_00n)
  await statement([entry], { opening: 50_00n, closing: 150_00n })
  const { record } = await computed()
  assert.deepEqual([record.status, record.content.own], ['excess', '50.00'])
  assert.deepEqual(await safeguardingCases(), [])
})

test('a missing statement does not count as zero, and the record is corrected when the statement arrives', async () => {
  await service.designate(service.today)
  const entry = await credited(100_00n)
  const first = await computed()
  assert.deepEqual([first.record.status, first.record.content.resource], ['incomplete', null])
  assert.equal((await safeguardingCases()).length, 1)
  await statement([entry], { closing: 100_00n })
  const second = await computed()
  assert.deepEqual([second.record.version, second.record.status], [2, 'balanced'])
  assert.equal(second.record.content.previous, first.record.digest)
  const third = await computed()
  assert.deepEqual([third.isNew, third.record.version], [false, 2])
  assert.equal((await safeguardingCases()).length, 1, 'no case closes itself')
  const versions = await service.safeguarding.versions(service.db, service.today, 'EUR')
  assert.deepEqual(
    versions.map(({ version }) => version),
    [2, 1],
  )
})

test('money at a connector without a designated account is a shortfall', async () => {
  await service.designate(service.today)
  await addPartner(service, 40_00n)
  await statement([], { closing: 0n })
  const day = await computed()
  assert.deepEqual([day.record.status, partsOf(day)], ['shortfall', { not_designated: '-40.00' }])
})

test('one cent stolen from an account row is found, with the row', async () => {
  await service.designate(service.today)
  const entry = await credited(100_00n)
  await statement([entry], { closing: 100_00n })
  await service.db.run(
    sql`update ledger.accounts set posted = posted - 1 where partner_id = ${partner.partnerId} and name = 'balance'`,
  )
  for (const at of [undefined, await service.moment()]) {
    const { record } = await computed(service.today, at)
    assert.equal(record.status, 'unexplained')
    assert.deepEqual(record.content.changedRows, [
      { partnerId: partner.partnerId, account: 'balance', difference: '-0.01' },
    ])
  }
})

test('a reduced transfer is found', async () => {
  await service.designate(service.today)
  const entry = await credited(100_00n)
  await statement([entry], { closing: 100_00n })
  await service.db.run(sql`update ledger.transfers set amount = amount - 1 where partner_id = ${partner.partnerId}`)
  const { record } = await computed()
  assert.equal(record.status, 'unexplained')
  assert.ok(
    record.content.changedRows.some(({ account, difference }) => account === 'balance' && difference === '0.01'),
  )
})

const yesterday = () => new Date(service.clock.now().getTime() - dayMs).toISOString().slice(0, 10)

test('a missing cent on a statement is found in either direction', async () => {
  await service.designate(service.today)
  const entry = await credited(100_00n)
  await statement([entry], { closing: 99_99n })
  assert.equal((await computed()).record.status, 'incomplete', 'the connector puts a wrong statement aside')
  await statement([entry], { closing: 100_00n, on: yesterday() })
  const stolen = entryOf(-1n, { bookingDate: service.today })
  await statement([stolen], { sequence: 2, opening: 100_00n, closing: 99_99n })
  const debited = await computed()
  assert.deepEqual([debited.record.status, partsOf(debited)], ['shortfall', { undecided_debits: '-0.01' }])
  const changed = sql`update rails.iso_statements set closing = closing - 1, opening = opening - 1 where sequence = 2`
  await service.db.run(changed)
  const gap = await computed()
  assert.equal(gap.record.status, 'unexplained')
  assert.deepEqual(partsOf(gap), { statement_gap: '-0.01', undecided_debits: '-0.01' })
  await service.db.run(sql`update rails.iso_statements set opening = opening + 1 where sequence = 2`)
  const sum = await computed()
  assert.deepEqual([sum.record.status, partsOf(sum)['sum_differs']], ['unexplained', '-0.01'])
})

test('two workers create one record of a day once its statement has arrived', async () => {
  const { safeguarding, db, clock } = service
  const day = yesterday()
  await safeguarding.step()
  await service.designate(day)
  await safeguarding.step()
  const read = () => safeguarding.list(db, { from: day, before: service.today, rowsMax: 10 })
  const isTooLate = clock.now().getUTCHours() >= 12
  assert.equal((await read()).length, isTooLate ? 1 : 0, 'it waits until noon')
  await statement([], { closing: 0n, on: day })
  await Promise.all([safeguarding.step(), safeguarding.step(), safeguarding.step()])
  const [record, ...others] = await read()
  assert.deepEqual([record?.status, record?.version, others.length], ['balanced', isTooLate ? 2 : 1, 0])
  await safeguarding.step()
  assert.equal((await safeguarding.versions(db, day, 'EUR')).length, isTooLate ? 2 : 1)
})

test('a designation that ended, an unknown account and a future day are refused', async () => {
  const { safeguarding, db, today } = service
  type Given = Parameters<typeof safeguarding.designate>[1]
  const given: Given = { ...designated, from: today, until: null, staff: 'Ada' }
  const set = (more: Partial<Given>) => db.transaction((tx) => safeguarding.designate(tx, { ...given, ...more }))
  await assert.rejects(safeguarding.compute(today), /No account is designated/)
  await assert.rejects(set({ account: 'DE00' }), /is not an account of a configured bank/)
  await assert.rejects(set({ from: '2026-02-30' }), /from must be a day/)
  await assert.rejects(set({ until: today }), /until must be a day after/)
  await set({ from: '2026-01-01', until: today })
  await assert.rejects(safeguarding.compute(today), /No account is designated/)
  await assert.rejects(safeguarding.compute('2999-01-01'), /has not begun/)
  await assert.rejects(safeguarding.compute('yesterday'), /must be a day/)
})

test('the CSV contains the signed text that proves it, and the PDF has the same bytes each time', async () => {
  await service.designate(service.today)
  const entry = await credited(1234_56n)
  await statement([entry], { closing: 1234_56n })
  const { record } = await computed()
  const signed = [{ content: record.text, signature: record.signature.toString('base64'), publicKey: record.publicKey }]
  const csv = safeguardingCsv(signed)
  assert.match(csv, /sum,.*resource,,,,,1234.56/)
  assert.deepEqual(readSignedCsv(csv), signed)
  assert.equal(readSignedCsv(csv.replace('1234.56', '1234.57')), undefined)
  assert.equal(readSignedCsv('line\r\n'), undefined)
  // A spreadsheet would take the signature for a formula, so that it has an apostrophe in the file.
  const plus = signed.map((record) => ({ ...record, signature: `+${record.signature.slice(1)}` }))
  assert.match(safeguardingCsv(plus), /signature,.*,'\+/)
  assert.deepEqual(readSignedCsv(safeguardingCsv(plus)), plus)
  const bytes = async () => Buffer.concat(await Array.fromAsync(safeguardingPdf(signed)))
  const pdf = await bytes()
  assert.equal(pdf.subarray(0, 5).toString(), '%PDF-')
  assert.ok(pdf.equals(await bytes()))
})
