/**
 * Random days over real files: credits, payouts, returns, fees of the operator and charges of the bank, on files that come before or after the
 * end of the day. The oracle keeps its own sums: what the clients have at the end of the day by the balances that the ledger answers
 * then, and what the bank has by what the test wrote into its statement. Every cent between the two is named.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { addPartner, balanceOf, pay, type TestPartner } from '../../../../test/support/composition.ts'
import { entryOf, markFiled, reportXml, statusXml } from '../../../../test/support/iso-incoming.ts'
import { createSafeguarded, type SafeguardedService } from '../../../../test/support/safeguarding.ts'
import { submitDuePayouts } from '../../banks/settlement/index.ts'
import { sql } from '../../postgres/index.ts'
import { type SafeguardingContent, findContradictions } from './index.ts'

const moves = [
  'credit',
  'announced credit',
  'assigned credit',
  'payout',
  'paid payout',
  'return',
  'charge',
  'own fee',
] as const
type Move = (typeof moves)[number]
const day = fc.record({
  moves: fc.array(fc.record({ move: fc.constantFrom(...moves), cents: fc.integer({ min: 1, max: 99_999 }) }), {
    minLength: 4,
    maxLength: 10,
  }),
  /** The share of the moves after which the day ends, by the ledger and by the bank's statement. */
  cut: fc.double({ min: 0, max: 1, noNaN: true }),
  listed: fc.double({ min: 0, max: 1, noNaN: true }),
  opening: fc.constantFrom(0n, 5_00n),
  theft: fc.constantFrom('none', 'ledger', 'statement' as const),
})
type Day = typeof day extends fc.Arbitrary<infer T> ? T : never

const charges = { domain: 'ACMT', family: 'MDOP', subFamily: 'CHRG' }

/** Plays moves. `booked`: what the bank has booked, in its order. */
function createPlayer(service: SafeguardedService, partner: TestPartner) {
  const { today, db, cases, decisions, take, files } = service
  const booked: ReturnType<typeof entryOf>[] = []
  const payouts: { readonly endToEndId: string; readonly amount: bigint }[] = []
  const at = { bookingDate: today, valueDate: today }
  const announce = (entry: ReturnType<typeof entryOf>) => take(reportXml([entry], { on: today }))
  const book = (entry: ReturnType<typeof entryOf>) => {
    booked.push(entry)
    return entry
  }
  const isClear = async (cents: bigint) => (await balanceOf(service, partner.partnerId)).available >= cents
  const assign = async () => {
    const open = (await cases.list(undefined, 100)).find(({ booked: money }) => (money ?? 0n) > 0n)
    if (open === undefined) return
    const key = { partnerId: open.partnerId, id: open.id }
    const given = { ...key, action: 'credit', toPartnerId: partner.partnerId, note: 'Theirs.' } as const
    await db.transaction((tx) => decisions.propose(tx, { ...given, staff: 'ada' }))
    await db.transaction((tx) => decisions.approve(tx, { ...key, staff: 'grace' }))
  }
  const payOne = async (cents: bigint, isReported: boolean) => {
    if (!(await isClear(cents))) return
    const text = `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`
    await pay(service, partner, text)
    await submitDuePayouts(files.settlement)
    const { messageId } = await markFiled(service)
    const [sent] = await db.rows<{ endToEndId: string }>(sql`
      select end_to_end_id from rails.iso_instructions where status = 'Filed' order by created_at desc limit 1`)
    const endToEndId = sent?.endToEndId ?? ''
    if (isReported) await take(statusXml(messageId, { groupStatus: 'ACSC' }))
    const entry = book(entryOf(-cents, { ...at, details: [{ references: { endToEndId } }] }))
    if (!isReported) await announce(entry)
    payouts.push({ endToEndId, amount: cents })
  }
  const play: Readonly<Record<Move, (cents: bigint) => Promise<unknown>>> = {
    credit: async (cents) => book(entryOf(cents, at)),
    'announced credit': (cents) => announce(book(entryOf(cents, at))),
    'assigned credit': async (cents) => {
      await announce(book(entryOf(cents, at)))
      await assign()
    },
    payout: (cents) => payOne(cents, false),
    'paid payout': (cents) => payOne(cents, true),
    return: async () => {
      const last = payouts.pop()
      if (last === undefined) return
      const details = [{ references: { endToEndId: last.endToEndId }, returnReason: { code: 'AC04' } }]
      await announce(
        book(entryOf(last.amount, { ...at, details, codes: { domain: 'PMNT', family: 'ICDT', subFamily: 'RRTN' } })),
      )
    },
    charge: (cents) => announce(book(entryOf(-cents, { ...at, codes: charges }))),
    // Two persons book a credit as income of the operator.
    'own fee': async (cents) => {
      await announce(book(entryOf(cents, at)))
      const open = (await cases.list(undefined, 100)).findLast(({ booked: money }) => (money ?? 0n) > 0n)
      if (open === undefined) return
      const key = { partnerId: open.partnerId, id: open.id }
      await db.transaction((tx) => decisions.propose(tx, { ...key, action: 'fees', note: 'Ours.', staff: 'ada' }))
      await db.transaction((tx) => decisions.approve(tx, { ...key, staff: 'grace' }))
    },
  }
  return { booked, play }
}

/** Sums what the clients have now, in cents: balances, and suspense without the debits of open cases. */
async function clientsNow({ db, cases, moment }: SafeguardedService): Promise<bigint> {
  await moment()
  const rows = await db.rows<{ name: string; posted: bigint }>(
    sql`select name, posted from ledger.accounts where currency = 'EUR'`,
  )
  const sum = (name: string) =>
    rows.filter((row) => row.name === name).reduce((total, { posted }) => total + posted, 0n)
  const debits = (await cases.list(undefined, 1000)).reduce(
    (total, { booked }) => total + (booked !== null && booked < 0n ? booked : 0n),
    0n,
  )
  return sum('balance') + sum('suspense') - debits
}

const minorOf = ({ amount, isCredit }: ReturnType<typeof entryOf>): bigint =>
  (amount?.minor ?? 0n) * (isCredit ? 1n : -1n)

const cents = (text: string | null): bigint => BigInt((text ?? '').replace('.', ''))

async function playDay({ moves: planned, cut, listed, opening, theft }: Day): Promise<void> {
  const service = await createSafeguarded()
  try {
    const partner = await addPartner(service)
    const { safeguarding, today, db, take, moment } = service
    await service.designate(today)
    const { booked, play } = createPlayer(service, partner)
    const cutAfter = Math.floor(cut * (planned.length + 1))
    const listedAfter = Math.floor(listed * (planned.length + 1))
    let [clients, cutAt, onStatement] = [0n, await moment(), 0]
    for (let done = 0; done <= planned.length; done += 1) {
      if (done === listedAfter) onStatement = booked.length
      if (done === cutAfter) [clients, cutAt] = [await clientsNow(service), await moment()]
      const next = planned[done]
      if (next !== undefined) await play[next.move](BigInt(next.cents))
      await moment()
    }
    const entries = booked.slice(0, onStatement)
    const closing = opening + entries.reduce((sum, entry) => sum + minorOf(entry), 0n)
    await take(reportXml(entries, { kind: 'camt.053', sequence: 1, opening, closing, on: today }))
    if (theft === 'ledger')
      await db.run(sql`update ledger.accounts set posted = posted + 1
        where currency = 'EUR' and id = (select id from ledger.accounts where currency = 'EUR' order by id limit 1)`)
    if (theft === 'statement')
      await db.run(sql`update rails.iso_statements set closing = closing - 1 where kind = 'camt.053'`)
    const content = await contentOf(safeguarding, today, cutAt)
    if (content === undefined) return
    assert.deepEqual(findContradictions(content), [])
    assert.equal(cents(content.requirement.total), clients)
    assert.equal(cents(content.resource), closing - (theft === 'statement' ? 1n : 0n))
    const moved = await db.row<{ count: bigint }>(
      sql`select count(*) as count from ledger.accounts where currency = 'EUR'`,
    )
    const isStolen = theft === 'statement' || (theft === 'ledger' && moved?.count !== 0n)
    assert.equal(content.status === 'unexplained', isStolen, JSON.stringify(content, undefined, 1))
    if (!isStolen) assert.equal(content.discrepancy, '0.00')
  } finally {
    await service.close()
  }
}

async function contentOf(
  safeguarding: SafeguardedService['safeguarding'],
  today: string,
  cutAt: Date,
): Promise<SafeguardingContent | undefined> {
  const computed = await safeguarding.compute(today, cutAt)
  return computed.find(({ record }) => record.currency === 'EUR')?.record.content
}

test(
  'requirement and resource of a random day agree, or the difference is explained to the cent; a theft is found',
  { timeout: 600_000 },
  () => fc.assert(fc.asyncProperty(day, playDay), { numRuns: 10, endOnFailure: true }),
)
