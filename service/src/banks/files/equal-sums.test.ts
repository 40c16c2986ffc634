/** Statements that list equal bookings of a day without reference and details: none is lost, and none counts twice. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import { hourMs, minuteMs } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import type { BankEntry } from '../../iso20022/index.ts'
import { addPartner, balanceOf, createTestService, type Service } from '../../../../test/support/composition.ts'
import { createRandom } from '../../../../test/support/random.ts'
import {
  type BankFolders,
  casesOf,
  createBankFolders,
  createIncomingBank,
  type EntryOptions,
  entryOf,
  euro,
  reportXml,
} from '../../../../test/support/iso-incoming.ts'

const day = '2026-01-08'
const amount = 25_00n
let service: Service
let folders: BankFolders
let bank: ReturnType<typeof createIncomingBank>
let iban: string
let partnerId: string
let files = 0
let balance = 0n
beforeEach(async () => {
  balance = 0n
  service = await createTestService({ chooseConnector: () => 'iso20022' })
  folders = await createBankFolders()
  bank = createIncomingBank(service, folders)
  const partner = await addPartner(service)
  partnerId = partner.partnerId
  iban = (await service.accounts.create(partnerId, partner.customer.id)).ibans[0].iban
})
afterEach(async () => {
  await service.close()
  await folders.remove()
})

const unnamed = (minor: bigint, { bookingDate = day, ...more }: EntryOptions): BankEntry => {
  const { bankReference: _none, ...entry } = entryOf(minor, more)
  return {
    ...entry,
    bookingDate,
    ...('bankReference' in more ? { bankReference: more.bankReference } : {}),
  } as BankEntry
}
/** A booking with the details of its payment. */
const named = (endToEndId: string, more: EntryOptions = {}, minor = amount) =>
  unnamed(minor, {
    details: [{ references: { endToEndId }, ...(minor > 0n ? { creditorAccount: { iban } } : {}) }],
    ...more,
  })
/** A booking of which only amount and day are known. */
const sum = (more: EntryOptions = {}, minor = amount) => unnamed(minor, { details: [], ...more })

const put = async (text: string) => {
  await folders.put(`${`${(files += 1)}`.padStart(4, '0')}.xml`, text)
  await bank.work()
}
const announce = (entries: readonly BankEntry[], kind: 'camt.052' | 'camt.054' = 'camt.054') =>
  put(reportXml(entries, { kind }))
/** Lists entries on the next statement, and returns how the bank sends the statement again. */
async function list(
  entries: readonly BankEntry[],
  { on = day, statementId }: { readonly on?: string; readonly statementId?: string } = {},
): Promise<() => Promise<void>> {
  const opening = balance
  for (const { amount: booked, isCredit } of entries) balance += (isCredit ? 1n : -1n) * (booked.minor ?? 0n)
  const closing = balance
  const send = () => put(reportXml(entries, { kind: 'camt.053', opening, closing, on, statementId: statementId ?? on }))
  await send()
  return send
}
const detailsAreDue = async () => {
  service.clock.advance(hourMs + minuteMs)
  await bank.work()
}
const posted = async () => (await balanceOf(service, partnerId)).posted
const kindsOfCases = async () => (await casesOf(service)).map(({ kind }) => kind).toSorted()
/** The kinds of entries of the amount; those on no statement are in parentheses. */
const entriesOf = async (minor = amount) => {
  const rows = await service.db.rows<{ kind: string; isListed: boolean }>(
    sql`select kind, statement_id is not null as is_listed from rails.iso_entries where amount = ${minor}`,
  )
  return rows.map(({ kind, isListed }) => (isListed ? kind : `(${kind})`)).toSorted()
}

test('of two equal sums on a statement, one announced, the other goes to suspense', async () => {
  await announce([named('A')])
  const repeat = await list([sum(), sum()])
  assert.deepEqual(await entriesOf(), ['credit', 'waiting'])
  await repeat()
  assert.deepEqual(await entriesOf(), ['credit', 'waiting'])
  await detailsAreDue()
  await repeat()
  assert.deepEqual(await entriesOf(), ['credit', 'unknown'])
  assert.equal(await posted(), amount)
  assert.deepEqual(
    (await casesOf(service)).filter(({ booked }) => booked !== null).map(({ booked }) => booked),
    [amount],
  )
})

test('two equal sums on a statement are the two announced credits', async () => {
  await announce([named('A'), named('B')])
  const repeat = await list([sum(), sum()])
  await repeat()
  await detailsAreDue()
  assert.deepEqual(await entriesOf(), ['credit', 'credit'])
  assert.equal(await posted(), 2n * amount)
  assert.ok(!(await kindsOfCases()).some((kind) => kind !== 'statement_overlap'))
})

test('two equal sums are two of three credits that an interim report and notifications announce', async () => {
  await announce([named('A'), named('B')], 'camt.052')
  await announce([named('A'), named('B')])
  await announce([named('C')])
  await list([sum(), sum()])
  await detailsAreDue()
  assert.deepEqual(await entriesOf(), ['(credit)', 'credit', 'credit'])
  assert.equal(await posted(), 3n * amount)
  assert.deepEqual(await kindsOfCases(), ['announced_missing'])
  // The statement of the day goes on.
  await list([sum()], { statementId: 'second' })
  assert.deepEqual(await entriesOf(), ['credit', 'credit', 'credit'])
  assert.equal(await posted(), 3n * amount)
})

test('of two equal debits on a statement, one announced, the other goes to suspense', async () => {
  await announce([named('A', {}, -amount)])
  await list([sum({}, -amount), sum({}, -amount)])
  assert.deepEqual(await entriesOf(-amount), ['unknown', 'waiting'])
  await detailsAreDue()
  assert.deepEqual(await kindsOfCases(), ['unknown_debit', 'unknown_debit'])
})

test('two equal debits on a statement are the two announced debits', async () => {
  await announce([named('A', {}, -amount), named('B', {}, -amount)])
  await list([sum({}, -amount), sum({}, -amount)])
  await detailsAreDue()
  assert.deepEqual(await entriesOf(-amount), ['unknown', 'unknown'])
  assert.deepEqual(await kindsOfCases(), ['unknown_debit', 'unknown_debit'])
})

test('an equal sum on a later statement of the day is another booking', async () => {
  await announce([named('A')])
  await list([sum()], { statementId: 'first' })
  await list([sum()], { statementId: 'second' })
  assert.deepEqual(await entriesOf(), ['credit', 'waiting'])
})

test('equal sums of another day are other bookings', async () => {
  const next = '2026-01-09'
  await announce([named('A'), named('B', { bookingDate: next })])
  await list([sum(), sum()])
  assert.deepEqual(await entriesOf(), ['(credit)', 'credit', 'waiting'])
  await list([sum({ bookingDate: next })], { on: next })
  assert.deepEqual(await entriesOf(), ['credit', 'credit', 'waiting'])
})

test('announcements after the statement name its equal sums one by one', async () => {
  const repeat = await list([sum(), sum(), sum(), sum()])
  for (const id of ['A', 'B', 'C']) await announce([named(id)])
  await announce([named('B')], 'camt.052')
  assert.deepEqual(await entriesOf(), ['credit', 'credit', 'credit', 'waiting'])
  await repeat()
  await detailsAreDue()
  assert.deepEqual(await entriesOf(), ['credit', 'credit', 'credit', 'unknown'])
  assert.equal(await posted(), 3n * amount)
})

test('a sum of two payments is the announced batch, and an equal sum is the announced payment', async () => {
  const part = (endToEndId: string, minor: bigint) => ({
    ...{ references: { endToEndId }, amount: euro(minor), creditorAccount: { iban }, charges: [] },
  })
  await announce([named('A'), unnamed(amount, { details: [part('B', 10_00n), part('C', 15_00n)] })])
  await list([sum(), sum({ batches: [{ count: 2 }] }), sum()])
  assert.deepEqual(await entriesOf(), ['credit', 'waiting'])
  assert.deepEqual([await entriesOf(10_00n), await entriesOf(15_00n)], [['credit'], ['credit']])
  assert.equal(await posted(), 2n * amount)
})

test('a batch that has the reference of an announced one, but is on the statement twice, counts twice', async () => {
  const part = (endToEndId: string, minor: bigint) => ({
    ...{ references: { endToEndId }, amount: euro(minor), creditorAccount: { iban }, charges: [] },
  })
  const batch = { bankReference: 'R' }
  await announce([unnamed(amount, { ...batch, details: [part('B', 10_00n), part('C', 15_00n)] })])
  const repeat = await list([sum(batch), sum(batch)])
  await repeat()
  assert.deepEqual(await entriesOf(), ['waiting'])
  assert.deepEqual([await entriesOf(10_00n), await entriesOf(15_00n)], [['credit'], ['credit']])
})

test('a sum is not the announced payment that the statement lists beside it', async () => {
  await announce([named('A', { bankReference: 'N1' })])
  await list([named('A', { bankReference: 'N1' }), sum()])
  assert.deepEqual(await entriesOf(), ['credit', 'waiting'])
})

test('equal sums take announced payments that the statement does not list, on any page', async () => {
  await announce([named('A'), named('B'), named('C', { bankReference: 'N1' })])
  const others = Array.from({ length: 1000 }, (_none, index) => named(`E${index}`, { bankReference: `F${index}` }, 1n))
  await list([sum(), sum(), ...others, named('A', { bankReference: 'L1' }), named('C', { bankReference: 'N1' })])
  await detailsAreDue()
  assert.deepEqual(await entriesOf(), ['credit', 'credit', 'credit', 'unknown'])
  assert.equal(await posted(), 3n * amount + 1000n)
})

test('equal sums are payments that were announced with references', async () => {
  await announce([named('A', { bankReference: 'N1' }), named('B', { bankReference: 'N2' })])
  const repeat = await list([sum(), sum(), sum()])
  await repeat()
  assert.deepEqual(await entriesOf(), ['credit', 'credit', 'waiting'])
  assert.equal(await posted(), 2n * amount)
})

test('a payment announced after a sum of its amount and day was matched with another is credited', async () => {
  await announce([named('A', { bankReference: 'N1' })])
  await list([sum()])
  await announce([named('B')])
  assert.deepEqual(await entriesOf(), ['(credit)', 'credit'])
  assert.equal(await posted(), 2n * amount)
})

test('payments announced one by one with references after their equal sums are credited once', async () => {
  await list([sum(), sum(), sum()])
  for (const id of ['A', 'B']) await announce([named(id, { bankReference: id })])
  await detailsAreDue()
  assert.deepEqual(await entriesOf(), ['credit', 'credit', 'unknown'])
  assert.equal(await posted(), 2n * amount)
})

test('equal bookings of a statement are as many entries, in any order and any words of the messages', async () => {
  const random = createRandom(20260108)
  for (let round = 0; round < 60; round += 1) {
    const on = Temporal.PlainDate.from('2026-02-01').add({ days: round }).toString()
    const count = 1 + random.number(4)
    const bookings = Array.from({ length: count }, (_none, index) => {
      const reference = random.chance(0.3) ? { bankReference: `N${round}.${index}` } : {}
      const details = named(`E${round}.${index}`, { bookingDate: on, ...reference })
      return { details, listed: random.chance(0.4) ? details : sum({ bookingDate: on }), kind: random.number(4) }
    })
    const tell = async (of: number) => {
      const told = random.shuffled(bookings.filter(({ kind }) => kind === of)).map(({ details }) => details)
      if (told.length === 0) return
      const kind = random.chance(0.5) ? 'camt.052' : 'camt.054'
      if (random.chance(0.5)) await announce(told, kind)
      else for (const one of told) await announce([one], kind)
      if (random.chance(0.3)) await announce(told, random.chance(0.5) ? 'camt.052' : 'camt.054')
    }
    await tell(0)
    await tell(1)
    const repeat = await list(random.shuffled(bookings.map(({ listed }) => listed)), { on })
    if (random.chance(0.3)) await repeat()
    await tell(2)
    if (random.chance(0.3)) await repeat()
    const rows = await service.db.rows<{ kind: string; isListed: boolean; entryKey: string }>(
      sql`select kind, statement_id is not null as is_listed, entry_key from rails.iso_entries where booked_on = ${on}::date`,
    )
    const told = JSON.stringify({ round, rows, bookings }, (_key, value: unknown) =>
      typeof value === 'bigint' ? value.toString() : value,
    )
    assert.equal(rows.length, count, told)
    assert.ok(
      rows.every(({ isListed }) => isListed),
      told,
    )
  }
})
