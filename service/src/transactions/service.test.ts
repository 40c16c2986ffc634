/** Transactions: verbs, links and the stream of changes. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import {
  addPartner,
  ip,
  pay,
  type Service,
  stepMsDefault,
  type TestPartner,
} from '../../../test/support/composition.ts'
import { until } from '../../../test/support/until.ts'
import { type OperationCall, Refusal } from '../kernel/api/index.ts'
import { AssertionFailure, newId } from '../kernel/index.ts'
import { sql } from '../postgres/index.ts'
import { createTransactions, type NewTransaction, transactionsRoutes } from './index.ts'
import { addTrader, convert, quote } from '../../../test/support/fx.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { operatorPartnerId } from '../cases/index.ts'
import { processBankNotifications, submitDuePayouts } from '../banks/settlement/index.ts'
import { classifyRelation } from './rules.ts'
import { type TransactionChanges, createExports } from './reads.ts'

suite('operations', async () => {
  const service = await useModules()
  const partner = await addPartner(service)

  const withdrawal = {
    reference: null,
    amount: 100n,
    currency: 'EUR',
    category: 'Withdrawal',
    direction: 'Outward',
    type: 'PartnerWithdraw',
    rail: 'Sepa',
    customerId: null,
    steps: ['Created'],
  } as const satisfies Partial<NewTransaction>
  const open = (fields: Partial<NewTransaction> = {}) =>
    service.db.transaction((tx) =>
      service.transactions.open(tx, { ...withdrawal, partnerId: partner.partnerId, ...fields }),
    )
  const conclude = (id: string, status: 'Completed' | 'Unsuccessful' | 'Cancelled' | 'Expired') =>
    service.db.transaction((tx) =>
      service.transactions.conclude(tx, partner.partnerId, id, { status, steps: ['Settled'] }),
    )

  test('a final status is final: no second conclusion and no earlier step is accepted, and there is one event', async () => {
    const { id, reference } = await open()
    const { partnerId } = partner
    await conclude(id, 'Completed')
    for (const status of ['Completed', 'Unsuccessful', 'Cancelled', 'Expired'] as const)
      await assert.rejects(conclude(id, status), AssertionFailure)
    await assert.rejects(
      service.db.transaction((tx) => service.transactions.moveMany(tx, [{ partnerId, id, steps: ['Sent'] }])),
      AssertionFailure,
    )
    await service.db.transaction((tx) => service.transactions.addStepAfterEnd(tx, { partnerId, id }, 'Returned'))
    const { row, timeline } = await service.transactions.get(partnerId, reference)
    assert.equal(row.status, 'Completed')
    assert.deepEqual(
      timeline.map(({ step, status }) => [step, status]),
      [
        ['Created', 'Pending'],
        ['Settled', 'Completed'],
        ['Returned', 'Completed'],
      ],
    )
    const events = await service.db.rows(sql`
    select id from events.events where partner_id = ${partnerId} and reference = ${reference}`)
    assert.equal(events.length, 1)
  })

  test('updatedAt is the time of the newest step of the timeline', async () => {
    const { id, reference } = await open()
    const { partnerId } = partner
    const times = async () => {
      const { row, timeline } = await service.transactions.get(partnerId, reference)
      return { updatedAt: row.updatedAt.toISOString(), newest: timeline.at(-1)?.createdAt, steps: timeline.length }
    }
    const steps = [
      () => service.db.transaction((tx) => service.transactions.moveMany(tx, [{ partnerId, id, steps: ['Accepted'] }])),
      () => service.db.transaction((tx) => service.transactions.moveMany(tx, [{ partnerId, id, steps: ['Sent'] }])),
      () => conclude(id, 'Completed'),
      () => service.db.transaction((tx) => service.transactions.addStepAfterEnd(tx, { partnerId, id }, 'Returned')),
    ]
    for (const [index, step] of steps.entries()) {
      service.clock.advance(1000)
      await step()
      const now = service.clock.now().toISOString()
      assert.deepEqual(await times(), { updatedAt: now, newest: now, steps: index + 2 })
    }
  })

  test('a return on a Pending transaction is an AssertionFailure', async () => {
    const { id } = await open()
    const note = service.db.transaction((tx) =>
      service.transactions.addStepAfterEnd(tx, { partnerId: partner.partnerId, id }, 'Returned'),
    )
    await assert.rejects(note, AssertionFailure)
  })

  test('of concurrent conclusions exactly one is written', async () => {
    const { id, reference } = await open()
    const outcomes = await Promise.allSettled([
      conclude(id, 'Completed'),
      conclude(id, 'Unsuccessful'),
      conclude(id, 'Expired'),
    ])
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
    assert.equal((await service.transactions.get(partner.partnerId, reference)).timeline.length, 2)
  })

  test('the list is newest first, has filters, and its pages contain each transaction once', async () => {
    const own = await addPartner(service)
    const { partnerId, customer } = own
    for (let index = 0; index < 7; index += 1) {
      service.clock.advance(1000)
      const customers = { partyType: 'Customer', customerId: customer.id, type: 'PartnerCustomerWithdraw' } as const
      await open({
        partnerId,
        reference: `R${index}`,
        idempotencyKey: `k${index % 2}`,
        ...(index < 3 ? customers : {}),
      })
    }
    const list = async (query: Parameters<Service['transactions']['list']>[1]) =>
      (await service.transactions.list(partnerId, query)).data.map(({ row }) => row.reference)
    assert.deepEqual(await list({}), ['R6', 'R5', 'R4', 'R3', 'R2', 'R1', 'R0'])
    assert.deepEqual(await list({ customerId: customer.serviceId }), ['R2', 'R1', 'R0'])
    assert.deepEqual(await list({ customerId: newId() }), [])
    assert.deepEqual(await list({ idempotencyKey: 'k1' }), ['R5', 'R3', 'R1'])
    assert.deepEqual(await list({ status: 'Completed' }), [])
    const at = (await service.transactions.get(partnerId, 'R4')).row.createdAt.toISOString()
    assert.deepEqual(await list({ createdFrom: at }), ['R6', 'R5', 'R4'])
    assert.deepEqual(await list({ createdTo: at, limit: '2' }), ['R3', 'R2'])
    const { nextCursor } = await service.transactions.list(partnerId, { limit: '5' })
    assert.deepEqual(await list({ limit: '5', cursor: nextCursor ?? '' }), ['R1', 'R0'])
    await assert.rejects(service.transactions.list(partner.partnerId, { cursor: nextCursor ?? '' }), Refusal)
  })

  test('each filter finds its transactions, and filters combine', async () => {
    const own = await addPartner(service)
    const { partnerId } = own
    const make = (reference: string, fields: Partial<NewTransaction> = {}) => open({ partnerId, reference, ...fields })
    await make('INV-1', { amount: 1050n, endToEndId: 'E1' })
    await make('INV-2', { amount: 2000n, rail: 'Swift' })
    const customers = { type: 'PartnerCustomerWithdraw', customerId: own.customer.id } as const
    await make('inv-3', { amount: 3000n, ...customers })
    await make('INW', { amount: 1050n, currency: 'GBP', rail: null })
    const list = async (query: Parameters<Service['transactions']['list']>[1]) =>
      (await service.transactions.list(partnerId, query)).data.map(({ row }) => row.reference)
    assert.deepEqual(await list({ referencePrefix: 'INV-' }), ['INV-1', 'INV-2'])
    assert.deepEqual(await list({ referencePrefix: 'IN' }), ['INV-1', 'INV-2', 'INW'])
    assert.deepEqual(await list({ referencePrefix: '%' }), [])
    assert.deepEqual(await list({ endToEndId: 'E1' }), ['INV-1'])
    assert.deepEqual(await list({ rail: 'Swift' }), ['INV-2'])
    assert.deepEqual(await list({ type: 'PartnerCustomerWithdraw' }), ['inv-3'])
    assert.deepEqual(await list({ currency: 'EUR', amountMin: '10.50', amountMax: '20' }), ['INV-2', 'INV-1'])
    assert.deepEqual(await list({ currency: 'GBP', amountMin: '10.5', amountMax: '10.50' }), ['INW'])
    assert.deepEqual(await list({ currency: 'JPY' }), [])
    assert.deepEqual(await list({ currency: 'EUR', amountMin: '10.50', referencePrefix: 'INV', rail: 'Sepa' }), [
      'INV-1',
    ])
    assert.deepEqual((await service.transactions.list(partner.partnerId, { endToEndId: 'E1' })).data, [])
  })

  test('a reader of changes misses no change that commits after a later one', async () => {
    const own = await addPartner(service)
    const { partnerId } = own
    const reader = createTransactions({ ...service, clockDifferenceMsMax: 0 })
    const start = service.clock.now()
    const setClock = (time: Date) => service.clock.advance(time.getTime() - service.clock.now().getTime())
    const since = new Date()
    const seen: string[] = []
    let cursor: string | undefined
    const readOn = async () => {
      for (;;) {
        const page = await reader.list(partnerId, {
          updatedSince: since.toISOString(),
          limit: '1',
          ...(cursor === undefined ? {} : { cursor }),
        })
        seen.push(...page.data.map(({ row }) => row.reference))
        cursor = page.nextCursor ?? assert.fail('a reader of changes always has a cursor')
        if (!page.hasMore) return
      }
    }
    const began = Promise.withResolvers<void>()
    const mayCommit = Promise.withResolvers<void>()
    const slow = service.db.transaction(async (tx) => {
      await tx.row(sql`select 1 as one`)
      // A change is made after the start of its transaction.
      setClock(new Date(Date.now() + 1))
      await service.transactions.open(tx, { ...withdrawal, partnerId, reference: 'early' })
      began.resolve()
      await mayCommit.promise
    })
    await began.promise
    service.clock.advance(1)
    await open({ partnerId, reference: 'late' })
    await readOn()
    assert.deepEqual(seen, [], 'what is committed is not shown while an earlier change is open')
    mayCommit.resolve()
    await slow
    await until('both changes are read', async () => {
      await readOn()
      return seen.length >= 2
    })
    assert.deepEqual(seen, ['early', 'late'])
    await readOn()
    assert.deepEqual(seen, ['early', 'late'], 'nothing appears twice without a change')
    setClock(start)
  })

  test('a transaction that changes again appears again after the cursor', async () => {
    const own = await addPartner(service)
    const { partnerId } = own
    const since = service.clock.now().toISOString()
    const { id } = await open({ partnerId, reference: 'one' })
    service.clock.advance(1000)
    await open({ partnerId, reference: 'two' })
    const list = async (cursor?: string) => {
      const page = await service.transactions.list(partnerId, { updatedSince: since, ...(cursor ? { cursor } : {}) })
      return { references: page.data.map(({ row }) => row.reference), cursor: page.nextCursor ?? '', ...page }
    }
    const first = await list()
    assert.deepEqual([first.references, first.hasMore], [['one', 'two'], false])
    assert.deepEqual((await list(first.cursor)).references, [])
    service.clock.advance(1000)
    await service.db.transaction((tx) =>
      service.transactions.conclude(tx, partnerId, id, { status: 'Completed', steps: ['Settled'] }),
    )
    const next = await list(first.cursor)
    assert.deepEqual(next.references, ['one'])
    const foreign = service.transactions.list(partner.partnerId, { updatedSince: since, cursor: next.cursor })
    await assert.rejects(foreign, Refusal)
    const other = service.transactions.list(partnerId, { cursor: next.cursor })
    await assert.rejects(other, Refusal, 'the cursor of changes is none of the other lists')
  })
})

suite('related transactions', async () => {
  const service = await useModules()
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))

  type Partner = Pick<TestPartner, 'partnerId' | 'caller'>
  type Read = 'listRelatedTransactions' | 'getTransactionTimeline'
  const call = ({ caller }: Partner, reference: string) =>
    ({ caller, params: { reference } }) as unknown as OperationCall<Read>
  const related = async (partner: Partner, reference: string) =>
    (await transactionsRoutes(service.transactions, service.holdOf).listRelatedTransactions(call(partner, reference)))
      .body
  const timeline = async (partner: Partner, reference: string) =>
    (await transactionsRoutes(service.transactions, service.holdOf).getTransactionTimeline(call(partner, reference)))
      .body

  async function settled(steps = 4): Promise<void> {
    await submitDuePayouts(service.settlement)
    for (let step = 0; step < steps; step += 1) {
      service.clock.advance(stepMsDefault)
      await processBankNotifications(service.settlement)
    }
  }

  test('a returned payout and its return are related only to each other', async () => {
    const partner = await addPartner(service, 10_000_000n)
    const { payout } = await pay(service, partner, '4001.05', { reference: 'INV-9' })
    await pay(service, partner, '1.00')
    await settled()
    const forth = await related(partner, payout.reference)
    const [back] = forth.data
    assert.deepEqual(
      forth.data.map(({ relation, status, direction }) => [relation, status, direction]),
      [['Return', 'Completed', 'Inward']],
    )
    assert.equal(JSON.stringify(back?.amount), '4001.05')
    const { data } = await related(partner, back?.reference ?? '')
    assert.deepEqual(
      data.map(({ relation, reference }) => [relation, reference]),
      [['Original', 'INV-9']],
    )
    assert.equal('fx' in forth, false)
  })

  test('each step has its position, its actor, and the code of the bank', async () => {
    const partner = await addPartner(service, 10_000_000n)
    const { payout } = await pay(service, partner, '4001.05')
    await settled()
    const { status, data } = await timeline(partner, payout.reference)
    assert.equal(status, 'Completed')
    assert.deepEqual(
      data.map(({ sequence, step, actor }) => [sequence, step, actor]),
      [
        [1, 'Created', 'Partner'],
        [2, 'Reserved', 'Partner'],
        [3, 'Accepted', 'Service'],
        [4, 'Sent', 'Service'],
        [5, 'Settled', 'Bank'],
        [6, 'Returned', 'Bank'],
      ],
    )
    assert.match(data.at(-1)?.reason?.code ?? '', /^[A-Z0-9]{4}$/)
    assert.ok((data.at(-1)?.reason?.text.length ?? 0) > 10)
    assert.ok(data.slice(0, -1).every((entry) => !('reason' in entry)))
  })

  test('a refusal has its code in the timeline, and the documented transaction has only documented fields', async () => {
    const partner = await addPartner(service, 10_000_000n)
    const { payout } = await pay(service, partner, '4001.02')
    await settled()
    const last = (await timeline(partner, payout.reference)).data.at(-1)
    assert.deepEqual([last?.step, last?.actor, last?.reason?.code], ['Failed', 'Service', 'AC01'])
    const { params } = call(partner, payout.reference)
    const documented = await transactionsRoutes(service.transactions, service.holdOf).getTransaction({
      caller: partner.caller,
      params,
    } as unknown as OperationCall<'getTransaction'>)
    for (const entry of documented.body.timeline)
      assert.deepEqual(Object.keys(entry).toSorted(), ['createdAt', 'status', 'step'])
  })

  test('a cancelled payout is cancelled by the partner', async () => {
    const partner = await addPartner(service, 10_000_000n)
    const { payout } = await pay(service, partner, '5.00')
    await service.payouts.cancel(partner.partnerId, payout.id)
    const { data } = await timeline(partner, payout.reference)
    assert.deepEqual([data.at(-1)?.step, data.at(-1)?.actor], ['Cancelled', 'Partner'])
  })

  test('a reversed deposit is linked to its reversal', async () => {
    const partner = await addPartner(service)
    const { ibans } = await service.accounts.create(partner.partnerId, partner.customer.id)
    const creditId = newId()
    const money = { currency: 'EUR', amount: 500n } as const
    const debtor = { account: 'DE1', bic: 'COBADEFFXXX', name: 'Payer', countryCode: 'DE', address: null }
    const credit = { account: ibans[0].iban, money, debtor, remittance: null, endToEndId: null }
    await service.db.transaction(async (tx) => service.bank.sendCredit(tx, operatorPartnerId, creditId, credit))
    await settled()
    const [deposit] = (await service.transactions.list(partner.partnerId, {})).data
    assert.ok(deposit)
    const { reference } = deposit.row
    await service.db.transaction(async (tx) =>
      service.bank.reverseCredit(tx, operatorPartnerId, creditId, { money, details: 'The bank cancelled it.' }),
    )
    await settled()
    assert.deepEqual(
      (await related(partner, reference)).data.map(({ relation }) => relation),
      ['Reversal'],
    )
    assert.ok((await timeline(partner, reference)).data.every(({ actor }) => actor === 'Bank'))
  })

  test('a conversion refers to its quote, and both of its steps have the partner as actor', async () => {
    await service.rates.setByHand({ pair: { base: 'EUR', quote: 'USD', rate: { digits: 125n, scale: 2 } } })
    const trader = await addTrader(service)
    const { row } = await quote(service, trader, {})
    const converted = await convert(service, trader, row.id)
    const { fx, data } = await related(trader, converted.row.reference)
    assert.deepEqual([fx?.quoteId, fx?.userCurrency, data], [row.id, row.buyCurrency, []])
    const { data: steps } = await timeline(trader, converted.row.reference)
    assert.ok(steps.length === 3 && steps.every(({ actor }) => actor === 'Partner'))
  })

  test("404 for another partner's reference, and an empty list for a payment without related payments", async () => {
    const partner = await addPartner(service, 1000n)
    const { payout } = await service.payouts.create(
      partner.caller,
      { amount: 1, currency: 'EUR', beneficiaryId: partner.ownBeneficiary.id, idempotencyKey: newId() },
      ip,
    )
    assert.deepEqual((await related(partner, payout.reference)).data, [])
    const other = await addPartner(service)
    for (const read of [related, timeline])
      await assert.rejects(
        read(other, payout.reference),
        (error) => error instanceof Refusal && error.code === 'not_found',
      )
  })

  test('the relation depends on the kind of the transaction', () => {
    const of = (category: 'Deposit' | 'Withdrawal', type: 'PartnerWithdraw' | 'CustomerRefund') =>
      classifyRelation({ reference: 'b', category, type }, 'a')
    assert.equal(of('Deposit', 'CustomerRefund'), 'Return')
    assert.equal(of('Withdrawal', 'CustomerRefund'), 'Refund')
    assert.equal(of('Withdrawal', 'PartnerWithdraw'), 'Reversal')
    assert.equal(classifyRelation({ reference: 'a', category: 'Deposit', type: 'PartnerDeposit' }, 'a'), 'Original')
  })
})

suite('the stream of changes', async () => {
  const service = await useModules()

  const rows = 1_200
  const start = new Date('2026-01-01T00:00:00Z')

  /** A partner with many transactions. Groups of three have changed at the same time. */
  async function addBusyPartner(): Promise<string> {
    const { partnerId } = await addPartner(service)
    await service.db.run(sql`
    insert into transactions.transactions (partner_id, id, reference, amount, currency, category, direction, method,
      party_type, type, status, timeline, created_at, updated_at)
    select ${partnerId}::uuid, ('0198e000-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid, 'r' || number, 100, 'EUR',
      'Withdrawal', 'Outward', 'Fiat', 'Partner', 'PartnerWithdraw', 'Completed', '[]'::jsonb, ${start}::timestamptz,
      ${start}::timestamptz + (number / 3) * interval '1 second'
    from generate_series(1, ${rows}::integer) as series (number)`)
    return partnerId
  }

  async function referencesOf({ pages, closed }: TransactionChanges, linesMax = Infinity) {
    const seen: { reference: string; cursor: string }[] = []
    for await (const page of pages()) {
      for (const { cursor, transaction } of page) seen.push({ reference: transaction.row.reference, cursor })
      if (seen.length >= linesMax) break
    }
    closed()
    return seen.slice(0, linesMax)
  }

  test('the stream has every transaction once, the oldest change first, and continues after any line', async () => {
    const partnerId = await addBusyPartner()
    const whole = await referencesOf(await service.transactions.changes(partnerId, {}))
    const names = whole.map(({ reference }) => reference)
    assert.deepEqual(
      names,
      Array.from({ length: rows }, (_, index) => `r${index + 1}`),
    )
    for (const at of [1, 2, 499, 500, 501, rows - 1]) {
      const [...head] = await referencesOf(await service.transactions.changes(partnerId, {}), at)
      const cursor = head.at(-1)?.cursor ?? ''
      const tail = await referencesOf(await service.transactions.changes(partnerId, { cursor }))
      assert.deepEqual(
        [...head, ...tail].map(({ reference }) => reference),
        names,
        `cut behind line ${at}`,
      )
    }
    const end = whole.at(-1)?.cursor ?? ''
    assert.deepEqual(await referencesOf(await service.transactions.changes(partnerId, { cursor: end })), [])
    const since = new Date(start.getTime() + 399_000)
    const late = await referencesOf(await service.transactions.changes(partnerId, { since }))
    assert.deepEqual(
      late.map(({ reference }) => reference),
      ['r1197', 'r1198', 'r1199', 'r1200'],
    )
  })

  test('the cursor of a stream line continues a list of changes, and a list cursor continues a stream', async () => {
    const partnerId = await addBusyPartner()
    const head = await referencesOf(await service.transactions.changes(partnerId, {}), 10)
    const updatedSince = start.toISOString()
    const list = await service.transactions.list(partnerId, {
      updatedSince,
      cursor: head.at(-1)?.cursor ?? '',
      limit: '2',
    })
    assert.deepEqual(
      list.data.map(({ row }) => row.reference),
      ['r11', 'r12'],
    )
    const tail = await referencesOf(await service.transactions.changes(partnerId, { cursor: list.nextCursor ?? '' }), 1)
    assert.equal(tail[0]?.reference, 'r13')
  })

  test('a cursor of another partner or list is refused, and does not count as a reader', async () => {
    const partnerId = await addBusyPartner()
    const other = await addPartner(service)
    const [line] = await referencesOf(await service.transactions.changes(partnerId, {}), 1)
    const refused = (error: unknown) => error instanceof Refusal && error.errors[0]?.pointer === '/query/after'
    for (let times = 0; times < 5; times += 1)
      await assert.rejects(service.transactions.changes(other.partnerId, { cursor: line?.cursor ?? '' }), refused)
    const { nextCursor } = await service.transactions.list(partnerId, { limit: '1' })
    await assert.rejects(service.transactions.changes(partnerId, { cursor: nextCursor ?? '' }), refused)
  })

  test('of concurrent readers two are admitted, and another reader when one has ended', async () => {
    const { partnerId } = await addPartner(service)
    const { changes } = createExports({ ...service, clockDifferenceMsMax: 0 })
    const started = await Promise.allSettled(Array.from({ length: 5 }, () => changes(partnerId, {})))
    const open = started.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    const refusals = started.flatMap((each) => (each.status === 'rejected' ? [each.reason as Refusal] : []))
    assert.deepEqual(
      [open.length, refusals.map(({ code }) => code)],
      [2, ['rate_limited', 'rate_limited', 'rate_limited']],
    )
    assert.equal(refusals[0]?.headers['retry-after'], '5')
    const { partnerId: another } = await addPartner(service)
    await changes(another, {})
    open[0]?.closed()
    await changes(partnerId, {})
    await assert.rejects(changes(partnerId, {}), Refusal)
  })

  test('a stream that runs during payments ends with the changes that were certain at its start', async () => {
    const partner = await addPartner(service, 1_000_000n)
    await pay(service, partner, '1.00', { reference: 'first' })
    const changes = await service.transactions.changes(partner.partnerId, {})
    const seen: string[] = []
    for await (const page of changes.pages()) {
      for (const { transaction } of page) seen.push(transaction.row.reference)
      await pay(service, partner, '1.00', { reference: newId() })
      assert.ok(seen.length < 10, 'the stream does not run after the payments')
    }
    assert.ok(seen.includes('first'))
  })

  test('each line is JSON with the documented transaction', async () => {
    const partner = await addPartner(service, 1_000_000n)
    const { payout } = await pay(service, partner, '12.50')
    const call = { caller: partner.caller, query: {} } as unknown as OperationCall<'exportTransactions'>
    const { stream } = await transactionsRoutes(service.transactions, service.holdOf).exportTransactions(call)
    assert.ok(stream)
    let text = ''
    for await (const part of stream.read()) text += Buffer.from(part).toString()
    stream.closed()
    const lines = text.split('\n')
    assert.equal(lines.pop(), '')
    const last = JSON.parse(lines.at(-1) ?? '') as { cursor: string; transaction: Record<string, unknown> }
    assert.deepEqual(Object.keys(last), ['cursor', 'transaction'])
    assert.deepEqual([last.transaction['reference'], last.transaction['amount']], [payout.reference, 12.5])
    assert.match(lines.at(-1) ?? '', /"amount":12\.50,/)
  })
})
