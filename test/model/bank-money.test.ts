/**
 * Random bank notifications about credits, deposits and payouts, with wrong amounts and currencies, repeated and in any
 * order. The oracle adds up the notifications without the code of the service: the accounts at the bank must have that
 * sum, and suspense the sum of the open cases.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { operatorPartnerId } from '../../service/src/cases/index.ts'
import { newId, type Money } from '../../service/src/kernel/index.ts'
import { formatCreditorReference } from '../../service/src/iso20022/index.ts'
import { instructionIdOf } from '../../service/src/payouts/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import type { BankNotification, Connector } from '../../service/src/rails/index.ts'
import { processBankNotifications, submitDuePayouts } from '../../service/src/banks/settlement/index.ts'
import { addPartner, ip, pay, stepMsDefault } from '../support/composition.ts'
import { drawing } from '../support/drawing.ts'
import { checkLedger } from './ledger-audit.ts'
import { useModules } from '../support/fixture.ts'

const service = await useModules()
await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))

/**
 * `iban`: money without a deposit. `awaited`: money that a deposit awaits. `stranger`: money for an account that is not
 * ours.
 */
const credits = ['iban', 'awaited', 'stranger'] as const
const payments = ['payout', 'deposit'] as const
type Subject = (typeof credits)[number] | (typeof payments)[number]
const expectedMinor = 400_107n

const money = fc.oneof(
  { weight: 3, arbitrary: fc.constant('exact' as const) },
  { weight: 1, arbitrary: fc.constant('unsaid' as const) },
  {
    weight: 4,
    arbitrary: fc.record({
      amount: fc.constantFrom(0n, 700n, expectedMinor - 100n, expectedMinor, expectedMinor + 250n),
      currency: fc.constantFrom('EUR' as const, 'EUR' as const, 'GBP' as const),
    }),
  },
)
const times = fc.constantFrom(1, 1, 2)
const told = fc.oneof(
  fc.record({
    subject: fc.constantFrom(...credits),
    kind: fc.constantFrom('credit.booked' as const, 'credit.reversed' as const),
    money,
    times,
  }),
  fc.record({
    subject: fc.constant('payout' as const),
    kind: fc.constantFrom('payout.settled' as const, 'payout.rejected' as const, 'payout.returned' as const),
    money,
    times,
  }),
  fc.record({ subject: fc.constant('deposit' as const), kind: fc.constant('deposit.settled' as const), money, times }),
)
type DrawnReport = typeof told extends fc.Arbitrary<infer T> ? T : never
type Cash = Map<string, bigint>

const add = (cash: Cash, { currency, amount }: Money, sign: 1n | -1n) =>
  cash.set(currency, (cash.get(currency) ?? 0n) + sign * amount)

/**
 * Counts each notification once, as money that arrives at the bank or leaves it. A payout that ends before its
 * settlement counts as paid and returned.
 */
function createOracle() {
  const cash: Cash = new Map()
  const instructed: Money = { currency: 'EUR', amount: expectedMinor }
  let payout: 'sent' | 'settled' | 'failed' | 'returned' | 'returned unsettled' = 'sent'
  let isPaid = false
  const ended = (said: Money | undefined, how: 'failed' | 'returned'): void => {
    const own = said ?? instructed
    const fits = own.currency === 'EUR' && own.amount > 0n
    if (fits && payout === 'sent') {
      add(cash, own, 1n)
      add(cash, instructed, -1n)
      payout = how === 'failed' ? 'failed' : 'returned unsettled'
    } else if (fits && payout === 'settled' && how === 'returned') {
      add(cash, own, 1n)
      payout = 'returned'
    } else if (said !== undefined) add(cash, said, 1n)
  }
  const settled = (said: Money | undefined): void => {
    const own = said ?? instructed
    const fits = own.currency === 'EUR' && own.amount > 0n
    if (fits && payout === 'sent') {
      add(cash, own, -1n)
      payout = 'settled'
    } else if (fits && payout === 'returned unsettled') {
      add(cash, own, -1n)
      add(cash, instructed, 1n)
      payout = 'returned'
    } else if (said !== undefined) add(cash, said, -1n)
  }
  return {
    cash,
    count: ({ kind }: DrawnReport, said: Money | undefined): void => {
      if (kind === 'payout.settled') settled(said)
      else if (kind === 'payout.rejected') ended(said, 'failed')
      else if (kind === 'payout.returned') ended(said, 'returned')
      else if (kind === 'credit.reversed') add(cash, said ?? instructed, -1n)
      else if (kind === 'deposit.settled') {
        const own = said ?? (isPaid ? undefined : instructed)
        if (own !== undefined) add(cash, own, 1n)
        isPaid ||= own !== undefined && own.amount > 0n
      } else add(cash, said ?? instructed, 1n)
    },
  }
}

const debtor = { account: 'DE1', bic: 'COBADEFFXXX', name: 'Payer', countryCode: 'DE', address: null }

/**
 * A partner with a payout that the bank has, a deposit that it has accepted, and a deposit that a credit can refer to.
 */
async function prepare() {
  const partner = await addPartner(service, 10_000_000n)
  const { partnerId, customer, caller } = partner
  const remittance = formatCreditorReference(newId().replaceAll('-', '').slice(-20).toUpperCase())
  await service.deposits.open(
    {
      partnerId,
      operation: 'simulateDeposit',
      type: 'CustomerDeposit',
      creditorReference: remittance,
      customerRef: customer.id,
      amount: expectedMinor,
      currency: 'EUR',
      idempotencyKey: null,
      websiteReference: null,
      customFields: null,
      ip,
      expiresAfterMs: 1e9,
      variant: '',
    },
    () => Promise.resolve(),
  )
  const { payout } = await pay(service, partner, '4001.07')
  await submitDuePayouts(service.settlement)
  const body = { customerId: customer.id, amount: 4001.07, currency: 'EUR', outcome: 'completed' } as const
  const { reference } = await service.simulations.deposit(caller, body, ip)
  // The bank accepts the deposit. The test reports its settlement.
  for (let step = 0; step < 3; step += 1) {
    service.clock.advance(stepMsDefault)
    await processBankNotifications(service.settlement)
  }
  const deposit = await service.db.row<{ id: string }>(
    sql`select id from deposits.deposits where partner_id = ${partnerId} and reference = ${reference}`,
  )
  const iban = (await service.accounts.create(partnerId, customer.id)).ibans[0].iban
  await service.db.run(sql`delete from rails.sandbox_notifications where partner_id = ${partnerId}`)
  const subjects = new Map<Subject, { readonly id: string; readonly account: string; readonly remittance?: string }>([
    ['iban', { id: newId(), account: iban }],
    ['awaited', { id: newId(), account: iban, remittance }],
    ['stranger', { id: newId(), account: 'DE00NONE' }],
    ['payout', { id: instructionIdOf(payout), account: '' }],
    ['deposit', { id: deposit?.id ?? '', account: '' }],
  ])
  return { partnerId, subjects }
}
type PreparedBank = Awaited<ReturnType<typeof prepare>>

function notificationOf(
  { partnerId, subjects }: PreparedBank,
  { subject, kind }: DrawnReport,
  said: Money | undefined,
) {
  const { id: subjectId, account, remittance = null } = subjects.get(subject) ?? assert.fail(subject)
  const moved = said ?? { currency: 'EUR', amount: expectedMinor }
  const reported = said === undefined ? {} : { money: said }
  const failure = { errorKey: 'BankRejection', details: 'No.', reasonCode: null }
  const facts = {
    'credit.booked': { account, money: moved, debtor, remittance, endToEndId: null },
    'credit.reversed': { money: moved, details: 'Taken back.' },
    'payout.settled': reported,
    'payout.rejected': { ...reported, ...failure },
    'payout.returned': { ...reported, ...failure },
    'deposit.settled': reported,
  }[kind]
  const isCredit = kind === 'credit.booked' || kind === 'credit.reversed'
  return {
    partnerId: isCredit ? operatorPartnerId : partnerId,
    subjectId,
    kind,
    id: newId(),
    ...facts,
  } as BankNotification
}

/** The bank has one id for a credit: it is not booked twice. */
const isSameCredit = ({ subjects }: PreparedBank, { subject, kind }: DrawnReport, each: BankNotification): boolean =>
  each.kind === kind && each.subjectId === subjects.get(subject)?.id

async function say(notification: BankNotification): Promise<void> {
  let acknowledged = 0
  const connector: Connector = {
    ...service.bank,
    notifications: () => Promise.resolve([notification]),
    acknowledge: ({ length }) => {
      acknowledged += length
      return Promise.resolve()
    },
  }
  await processBankNotifications({ ...service.settlement, connectors: [connector] })
  assert.equal(acknowledged, 1, `${notification.kind} is processed at once`)
}

type Total = { readonly name: string; readonly currency: string; readonly posted: bigint }
const totals = async (partnerIds: readonly string[]) =>
  service.db.rows<Total>(sql`
    select name, currency, sum(posted)::bigint as posted from ledger.accounts
    where partner_id = any(${partnerIds}::uuid[]) group by name, currency order by name, currency`)

const standOf = (rows: readonly Total[], name: string, currency: string) =>
  rows.find((row) => row.name === name && row.currency === currency)?.posted ?? 0n

/** Checks that the balance of the partner is the sum of its transactions. */
async function checkTransactions(partnerId: string, rows: readonly Total[]): Promise<void> {
  const sums = await service.db.rows<{ currency: string; posted: bigint }>(sql`
    select currency, sum(case direction when 'Inward' then amount else -amount end)::bigint as posted
    from transactions.transactions where partner_id = ${partnerId} and status = 'Completed' group by currency`)
  for (const { currency, posted } of sums)
    assert.equal(standOf(rows, 'balance', currency), posted, `balance in ${currency}`)
}

test('the ledger books the money of each notification exactly once, for any amount, currency, order and repetition', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(told, { minLength: 1, maxLength: 8 }), async (story) => {
      const prepared = await prepare()
      const owners = [prepared.partnerId, operatorPartnerId]
      const earlier = await totals(owners)
      const { cash, count } = createOracle()
      const notifications: BankNotification[] = []
      for (const one of story) {
        const said =
          one.money === 'unsaid'
            ? undefined
            : one.money === 'exact'
              ? ({ currency: 'EUR', amount: expectedMinor } as const)
              : one.money
        const isKnown = (each: BankNotification) => one.kind === 'credit.booked' && isSameCredit(prepared, one, each)
        const known = notifications.find(isKnown)
        const notification = known ?? notificationOf(prepared, one, said)
        notifications.push(notification)
        if (known === undefined) count(one, said)
        for (let time = 0; time < one.times; time += 1) await say(notification)
      }
      for (const notification of notifications) await say(notification)
      const later = await totals(owners)
      for (const currency of ['EUR', 'GBP']) {
        const grown = standOf(later, 'settlement.sandbox', currency) - standOf(earlier, 'settlement.sandbox', currency)
        assert.equal(-grown, cash.get(currency) ?? 0n, `${currency} at the bank`)
      }
      const own = await totals([prepared.partnerId])
      await checkTransactions(prepared.partnerId, own)
      const open = (await service.cases.list(undefined, 10_000)).filter((row) => row.partnerId === prepared.partnerId)
      for (const currency of ['EUR', 'GBP'])
        assert.equal(
          standOf(own, 'suspense', currency),
          open.reduce((sum, row) => (row.currency === currency ? sum + (row.booked ?? 0n) : sum), 0n),
          `${currency} in suspense`,
        )
      await checkLedger(service.db, prepared.partnerId)
    }),
    drawing(t, 40),
  )
})

test('a second return or settlement of a payout opens a case for its money, but a repetition does not', async () => {
  const prepared = await prepare()
  const { partnerId } = prepared
  const said = { currency: 'EUR', amount: expectedMinor } as const
  const tell = (kind: 'payout.settled' | 'payout.returned') =>
    notificationOf(prepared, { subject: 'payout', kind, money: 'exact', times: 1 }, said)
  const casesOf = async () =>
    (await service.cases.list(undefined, 10_000)).filter((row) => row.partnerId === partnerId).map((row) => row.booked)
  const [settled, returned] = [tell('payout.settled'), tell('payout.returned')]
  for (const each of [settled, returned, settled, returned]) await say(each)
  assert.deepEqual(await casesOf(), [])
  for (const each of [tell('payout.returned'), tell('payout.settled')]) await say(each)
  assert.deepEqual(await casesOf(), [expectedMinor, -expectedMinor])
  await checkLedger(service.db, partnerId)
})

for (const isSettledFirst of [true, false])
  test(`each difference in the return of a case's money opens a case, if its ${isSettledFirst ? 'settlement' : 'failure'} is reported first`, async () => {
    const prepared = await prepare()
    const credited = { currency: 'EUR', amount: expectedMinor } as const
    const booking = notificationOf(
      prepared,
      { subject: 'stranger', kind: 'credit.booked', money: 'exact', times: 1 },
      credited,
    )
    await say(booking)
    const opened = (await service.cases.list(undefined, 10_000)).find((row) => row.notificationId === booking.id)
    const key = { partnerId: operatorPartnerId, id: opened?.id ?? '' }
    const proposing = { ...key, action: 'return', staff: 'Ada', note: 'Not ours.' } as const
    const { proposalId } = await service.db.transaction((tx) => service.decisions.propose(tx, proposing))
    await service.db.transaction((tx) => service.decisions.approve(tx, { ...key, staff: 'Grace' }))
    const before = standOf(await totals([operatorPartnerId]), 'settlement.sandbox', 'EUR')
    const about = { partnerId: operatorPartnerId, subjectId: proposalId ?? '' }
    const failure = { errorKey: 'BankRejection', details: 'Account closed.', reasonCode: 'AC04' } as const
    const euros = (amount: bigint) => ({ currency: 'EUR', amount }) as const
    const settled = { kind: 'payout.settled', ...about, id: newId(), money: euros(400_100n) } as const
    const returned = { kind: 'payout.returned', ...about, id: newId(), ...failure, money: euros(399_000n) } as const
    const told = isSettledFirst ? [settled, returned] : [returned, settled]
    for (const one of [...told, ...told]) await say(one)
    // A second return is separate money.
    await say({ ...returned, id: newId() })
    const after = standOf(await totals([operatorPartnerId]), 'settlement.sandbox', 'EUR')
    assert.equal(after - before, 400_100n - 2n * 399_000n)
    await checkLedger(service.db, operatorPartnerId)
  })
