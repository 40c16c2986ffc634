/** Erasure of customers, also with concurrent requests. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import { addPartner, pay, type Service } from '../../../../test/support/composition.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { dayMs, minuteMs, newId, nilId } from '../../kernel/index.ts'
import { sql, type Tx } from '../../postgres/index.ts'
import { retainedUntil } from './erasure-rules.ts'
import { convert, quote } from '../../../../test/support/fx.ts'
import { sendCredit, depositState } from '../../../../test/support/screening/held.ts'
import { until } from '../../../../test/support/until.ts'
import { reportWork } from '../../../../test/support/reports.ts'
import { inTurn } from '../../../../test/support/in-turn.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { refused } from '../../../../test/support/refusals.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { processBankNotifications } from '../../banks/settlement/index.ts'

suite('erasure', async () => {
  const service = await useModules()

  const kyc = {
    fullName: 'Ada Lovelace',
    dateOfBirth: '1990-12-10',
    city: 'London',
    taxId: 'T-1',
    mobilePhone: '+44 7400 123456',
    website: 'ada.example.com',
  }

  const erase = (partnerId: string, ref: string, nothingOwed = false) =>
    service.personalData.erasures.erase(partnerId, ref, nothingOwed)

  async function runErasures(): Promise<void> {
    while ((await service.personalData.erasures.step()) > 0);
  }

  /** Reads all plain text of a customer in the tables of customers. */
  const rowOf = (partnerId: string, id: string) =>
    service.db.row<{ email: string | null; identifier: string | null; tokens: bigint; changes: bigint }>(sql`
    select email, partner_customer_identifier as identifier,
      (select count(*) from customers.name_tokens where partner_id = ${partnerId} and customer_id = ${id}) as tokens,
      (select count(*) from customers.changes where partner_id = ${partnerId} and customer_id = ${id}) as changes
    from customers.customers where partner_id = ${partnerId} and id = ${id}`)

  function inFiveYears(): Date {
    const time = service.clock.now()
    time.setUTCFullYear(time.getUTCFullYear() + 5)
    return time
  }

  test('an erased customer cannot be found at once, and its identity is retained even without payments', async () => {
    const { partnerId, caller } = await addPartner(service)
    const { customers, accounts, beneficiaries, checkout, wallets } = service
    const made = await customers.create(partnerId, { email: 'a@example.com', partnerCustomerIdentifier: 'p-1', kyc })
    const { ibans } = await accounts.create(partnerId, made.id)
    const payee = { name: 'Grace Hopper', iban: 'DE89370400440532013000', currency: 'EUR', customerId: made.id }
    const { id: beneficiaryId } = await beneficiaries.create(partnerId, payee)
    const { row, serviceId, retainedFields } = await erase(partnerId, made.serviceId)
    assert.deepEqual([row.customerId, serviceId, row.retainedUntil], [made.id, made.serviceId, inFiveYears()])
    assert.deepEqual(retainedFields, ['city', 'dateOfBirth', 'fullName', 'taxId'])
    assert.deepEqual(await rowOf(partnerId, made.id), { email: null, identifier: null, tokens: 0n, changes: 1n })
    for (const ref of [made.id, made.serviceId]) {
      await assert.rejects(customers.get(partnerId, ref), refused('not_found'))
      await assert.rejects(customers.update(partnerId, ref, { email: 'b@example.com' }), refused('not_found'))
      await assert.rejects(customers.history(partnerId, ref, {}), refused('not_found'))
      await assert.rejects(customers.verification(partnerId, ref), refused('not_found'))
      await assert.rejects(service.personalData.exports.open(partnerId, ref), refused('not_found'))
      await assert.rejects(accounts.create(partnerId, ref), refused('not_found'))
      await assert.rejects(wallets.create(partnerId, { customerId: ref, currency: 'USDC' }), refused('not_found'))
      await assert.rejects(beneficiaries.create(partnerId, { ...payee, customerId: ref }), refused('not_found'))
    }
    const order = { amount: rawNumber('1.00'), currency: 'EUR', idempotencyKey: newId() }
    await assert.rejects(checkout.create(caller, { ...order, customerId: made.id }), refused('not_found'))
    await assert.rejects(beneficiaries.get(partnerId, beneficiaryId), refused('not_found'))
    assert.equal(
      (await customers.list(partnerId, { namePrefix: 'Ada Love' })).data.filter(({ id }) => id === made.id).length,
      0,
    )
    const owners = await accounts.ownersOf(
      service.db,
      ibans.map(({ iban }) => iban),
    )
    assert.equal(owners.size, 0)
    await runErasures()
    assert.equal((await erase(partnerId, made.id)).row.phase, 'retained')
    service.clock.advance(5 * 366 * dayMs)
    await runErasures()
    const repeated = await erase(partnerId, made.id)
    assert.deepEqual([repeated.row.phase, repeated.retainedFields], ['done', []])
    assert.deepEqual(repeated.row.completedAt, service.clock.now())
    assert.equal((await rowOf(partnerId, made.id))?.changes, 0n)
  })

  test("the customer's reports and schedules and the partner's unsent files are deleted, and nothing else", async () => {
    const { caller, partnerId, customer } = await addPartner(service)
    const other = await addPartner(service)
    const { reports, uploads } = service
    const report = {
      kind: 'statement',
      format: 'csv',
      from: '2020-01-01T00:00:00Z',
      to: '2020-02-01T00:00:00Z',
    } as const
    const schedule = { kind: 'statement', format: 'csv', frequency: 'daily', emails: [] as string[] } as const
    const customerId = customer.id
    const about = await reports.create(partnerId, { ...report, customerId })
    const ready = await reports.create(partnerId, { ...report, customerId })
    await service.db
      .run(sql`update reports.reports set status = 'Ready', rows = 0, bytes = 0, sha256 = '', content_attempt = 1
      where partner_id = ${partnerId} and id = ${ready.id}`)
    const all = await reports.create(partnerId, report)
    await reports.createSchedule(partnerId, { ...schedule, customerId })
    const daily = await reports.createSchedule(partnerId, schedule)
    const kinds = ['Bulk', 'Payees', 'Customers'] as const
    const files = await Promise.all(kinds.map((kind) => uploads.keep({ caller }, kind, { lines: ['Ada Lovelace'] })))
    const sent = await uploads.keep({ caller }, 'Bulk', {})
    const lease = await uploads.lease({ caller }, { id: sent, revision: 1 })
    await uploads.finish({ caller }, lease ?? assert.fail('it is leased'), newId())
    const stranger = await uploads.keep(other, 'Bulk', {})
    await erase(partnerId, customerId)
    for (const { id } of [about, ready]) await assert.rejects(reports.content(partnerId, id), refused('not_found'))
    const ids = (rows: { readonly data: readonly { readonly id: string }[] }) => rows.data.map(({ id }) => id)
    assert.deepEqual(ids(await reports.list(partnerId, {})), [all.id])
    assert.deepEqual(ids(await reports.listSchedules(partnerId, {})), [daily.id])
    for (const [index, id] of files.entries())
      await assert.rejects(uploads.find({ caller }, kinds[index] ?? 'Bulk', id), refused('not_found'))
    assert.ok((await uploads.find({ caller }, 'Bulk', sent)).resultId, 'it still leads to its bulk')
    await uploads.find(other, 'Bulk', stranger)
  })

  test('nothing is retained of a customer without identity data and payments', async () => {
    const { partnerId } = await addPartner(service)
    const made = await service.customers.create(partnerId, { email: 'e@example.com', kyc: { website: 'example.com' } })
    const { row, retainedFields } = await erase(partnerId, made.id)
    assert.deepEqual([row.retainedUntil, retainedFields], [null, []])
    await runErasures()
    assert.equal((await erase(partnerId, made.id)).row.phase, 'done')
  })

  test('names, dates, addresses and identifiers of payments are retained, and erased when the retention ends', async () => {
    const partner = await addPartner(service, 10_000n)
    const { partnerId, customer } = partner
    const { customers, payouts } = service
    await customers.update(partnerId, customer.id, { kyc })
    const { payout } = await pay(service, partner, '1.00')
    await payouts.cancel(partnerId, payout.id)
    const { row, retainedFields } = await erase(partnerId, customer.id)
    assert.deepEqual(retainedFields, ['citizenshipCountryCode', 'city', 'dateOfBirth', 'fullName', 'taxId'])
    assert.deepEqual(row.retainedUntil, inFiveYears())
    await runErasures()
    assert.equal((await erase(partnerId, customer.id)).row.phase, 'retained')
    assert.equal((await payouts.get(partnerId, payout.id)).creditorName, 'Grace Hopper')
    assert.ok(((await rowOf(partnerId, customer.id))?.changes ?? 0n) > 0n)
    const { data } = await service.transactions.list(partnerId, { customerId: customer.id })
    assert.deepEqual(
      data.map(({ row: { reference } }) => reference),
      [payout.reference],
    )
    service.clock.advance(5 * 366 * dayMs)
    await runErasures()
    const ended = await erase(partnerId, customer.id)
    assert.deepEqual([ended.row.phase, ended.retainedFields], ['done', []])
    assert.deepEqual(
      [
        (await payouts.get(partnerId, payout.id)).creditorName,
        (await payouts.get(partnerId, payout.id)).creditorAccount,
      ],
      ['', ''],
    )
    const found = await service.transactions.get(partnerId, payout.reference)
    assert.deepEqual([found.row.creditor, found.row.customerId], [null, customer.id])
    assert.equal((await rowOf(partnerId, customer.id))?.changes, 0n)
  })

  test('409 while the customer has a pending payment or money; 404 for the customer of another partner', async () => {
    const partner = await addPartner(service, 10_000n)
    const stranger = await addPartner(service)
    const { partnerId, customer } = partner
    const { payout } = await pay(service, partner, '1.00')
    await assert.rejects(erase(partnerId, customer.id), refused('customer_not_erasable', new RegExp(payout.reference)))
    await assert.rejects(erase(stranger.partnerId, customer.id), refused('not_found'))
    await assert.rejects(erase(partnerId, newId()), refused('not_found'))
    await service.payouts.cancel(partnerId, payout.id)
    const credit = await service.db.transaction(async (tx) => {
      const moved = { partnerId, currency: 'EUR' as const, amount: 500n, partyId: customer.id, reference: 'r' }
      const transfer = {
        ...moved,
        kind: 'direct' as const,
        debit: 'settlement.sandbox' as const,
        credit: 'balance' as const,
      }
      await service.ledger.enter(tx, { id: newId(), permit: 'bank', transfers: [transfer] })
      return moved.amount
    })
    assert.equal(credit, 500n)
    await assert.rejects(erase(partnerId, customer.id), refused('customer_not_erasable', /5\.00 EUR.*nothingOwed/))
    assert.equal((await service.customers.get(partnerId, customer.id)).email, 'ada@example.com', 'nothing was erased')
    assert.equal((await erase(partnerId, customer.id, true)).row.phase, 'details')
  })

  test('the retention begins with the end of the relationship: the request, or a later payment', () => {
    const now = new Date('2026-01-01T00:00:00Z')
    const kept = (requested: string, paid: string | null, years = 5) =>
      retainedUntil(
        { requestedAt: new Date(requested), lastPaymentAt: paid === null ? null : new Date(paid) },
        years,
        now,
      )?.toISOString()
    assert.equal(kept('2026-01-01', null), '2031-01-01T00:00:00.000Z')
    assert.equal(kept('2024-02-29T10:00:00Z', '2020-01-01'), '2029-03-01T10:00:00.000Z')
    assert.equal(kept('2024-01-01', '2024-02-29T10:00:00Z'), '2029-03-01T10:00:00.000Z')
    assert.equal(kept('2020-12-31', '2020-12-01'), undefined)
    assert.equal(kept('2026-01-01', '2025-12-31', 0), undefined)
  })

  test('erasures alternate page by page, so that a customer with many payments does not delay others', async () => {
    const [large, small] = [await addPartner(service, 1_000_000n), await addPartner(service, 10_000n)]
    /** Three pages of payments. */
    const payments = 1001
    const pages = 3
    const made = await Promise.all([
      pay(service, small, '1.00'),
      ...Array.from({ length: payments }, () => pay(service, large, '1.00')),
    ])
    await Promise.all(made.map(({ payout }) => service.payouts.cancel(payout.partnerId, payout.id)))
    await runErasures()
    for (const { partnerId, customer } of [large, small]) {
      await erase(partnerId, customer.id, true)
      service.clock.advance(1)
    }
    const phases = async () => [
      (await erase(large.partnerId, large.customer.id)).row.phase,
      (await erase(small.partnerId, small.customer.id)).row.phase,
    ]
    const stepped = async (steps: number) => {
      for (let step = 0; step < steps; step += 1) {
        service.clock.advance(1)
        assert.equal(await service.personalData.erasures.step(), 1)
      }
      return phases()
    }
    assert.deepEqual(await stepped(2), ['details', 'retained'])
    assert.deepEqual(await stepped(pages - 1), ['retained', 'retained'])
  })
})

suite('races', async () => {
  const first = await useModules()
  const second = await first.anotherProcess()
  const partner = await addPartner(first, 10_000_000n)
  await first.db.transaction((tx) => first.access.addOperator(tx, operatorPartnerId))
  await first.rates.prepare()

  const payee = { name: 'Grace Hopper', iban: 'DE89370400440532013000', currency: 'EUR' }

  async function addCustomer() {
    const { partnerId } = partner
    const customer = await first.customers.create(partnerId, { kyc: { fullName: 'Ada Lovelace' } })
    const beneficiary = await first.beneficiaries.create(partnerId, { ...payee, customerId: customer.id })
    return { customer, beneficiary }
  }

  const erase = (service: Service, id: string) => service.personalData.erasures.erase(partner.partnerId, id, true)
  const codeOf = (outcome: PromiseSettledResult<unknown>): string => {
    if (outcome.status === 'fulfilled') return 'done'
    assert.ok(outcome.reason instanceof Refusal, String(outcome.reason))
    return outcome.reason.code
  }
  const pending = async (id: string) =>
    (await first.transactions.list(partner.partnerId, { customerId: id, status: 'Pending' })).data.length
  const isErased = async (id: string) =>
    first.customers.get(partner.partnerId, id).then(
      () => false,
      () => true,
    )

  /** Returns which of the two took effect. */
  async function assertOne(id: string, [made, erased]: readonly PromiseSettledResult<unknown>[]): Promise<string> {
    assert.ok(made && erased)
    const codes = `${codeOf(made)} ${codeOf(erased)}`
    assert.ok(['done customer_not_erasable', 'not_found done'].includes(codes), codes)
    const isPaid = codes.startsWith('done')
    assert.deepEqual([await pending(id), await isErased(id)], [isPaid ? 1 : 0, !isPaid])
    return codes
  }

  const rounds = 24

  test('a payout and an erasure race: one of them takes effect', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const { customer, beneficiary } = await addCustomer()
      // Fills the cache of the beneficiary in half of the rounds.
      if (round % 4 > 1)
        await pay(first, partner, '0.01', { beneficiaryId: beneficiary.id }).then(({ payout }) =>
          first.payouts.cancel(partner.partnerId, payout.id),
        )
      const payouts = () => pay(first, partner, '1.00', { beneficiaryId: beneficiary.id })
      const calls = [payouts, () => erase(second, customer.id)] as const
      const running =
        round % 2 === 0
          ? calls.map((call) => call())
          : calls
              .toReversed()
              .map((call) => call())
              .toReversed()
      await assertOne(customer.id, await Promise.allSettled(running))
    }
  })

  const waiting = async () => {
    const row = await first.db.row<{ count: bigint }>(
      sql`select count(*) as count from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    )
    return row?.count ?? 0n
  }

  type Steps = readonly [() => Promise<unknown>, () => Promise<unknown>]

  /**
   * Starts both steps in this order while the balance is locked, so that each has read the customer before the other
   * ends.
   */
  async function behindBalance(partnerId: string, steps: Steps, isErasedFirst: boolean) {
    const order = isErasedFirst ? [1, 0] : [0, 1]
    const running: Promise<unknown>[] = []
    const begun = await first.db.transaction(async (tx) => {
      await tx.rows(sql`select id from ledger.accounts where partner_id = ${partnerId} order by id for update`)
      for (const [index, step] of order.entries()) {
        running[step] = (steps[step] ?? assert.fail())().catch((error: unknown) => Promise.reject(error as Error))
        running[step].catch(() => undefined)
        await until(`${index + 1} wait`, async () => (await waiting()) >= BigInt(index + 1))
      }
      return running
    })
    return Promise.allSettled(begun)
  }

  async function raceAtBalance(isErasedFirst: boolean) {
    const { customer, beneficiary } = await addCustomer()
    const payout = () => pay(first, partner, '1.00', { beneficiaryId: beneficiary.id })
    const steps = [payout, () => erase(second, customer.id)] as const
    return assertOne(customer.id, await behindBalance(partner.partnerId, steps, isErasedFirst))
  }

  test('a payout is refused if an erasure commits between its look-up and its write', async () => {
    const outcomes = new Set<string>()
    for (let round = 0; round < 4; round += 1) outcomes.add(await raceAtBalance(true))
    assert.ok(outcomes.has('not_found done'), [...outcomes].join())
  })

  test('an erasure is refused if a payout commits before it locks the balance', async () => {
    for (let round = 0; round < 4; round += 1) await raceAtBalance(false)
  })

  test('an erasure leaves no schedule or report that is created beside it', async () => {
    const { partnerId } = partner
    const { reports, db } = first
    const past = { from: '2020-01-01T00:00:00Z', to: '2020-02-01T00:00:00Z' } as const
    const csv = { kind: 'statement', format: 'csv' } as const
    await reports.create(partnerId, { ...csv, ...past })
    const creations = {
      schedule: (customerId: string) =>
        reports.createSchedule(partnerId, { ...csv, frequency: 'daily', emails: [], customerId }),
      report: (customerId: string) => reports.create(partnerId, { ...csv, ...past, customerId }),
    }
    const turn = (tx: Tx) =>
      tx.rows(sql`select served_at from reports.turns where partner_id = ${partnerId} for update`)
    const assertNone = async (customerId: string, create: () => Promise<unknown>) => {
      const ends = await inTurn(db, turn, [create, () => erase(second, customerId)])
      assert.equal(ends[1]?.status, 'fulfilled')
      const left = await db.rows(sql`
        select id from reports.schedules where partner_id = ${partnerId} and customer_id = ${customerId}
        union all
        select id from reports.reports
        where partner_id = ${partnerId} and customer_id = ${customerId} and status <> 'Deleted'`)
      assert.deepEqual(left, [])
    }
    for (const create of Object.values(creations)) {
      const { customer } = await addCustomer()
      await assertNone(customer.id, () => create(customer.id))
      await assert.rejects(create(customer.id), refused('not_found', '/customerId'))
    }
    const { customer } = await addCustomer()
    const { id } = await creations.schedule(customer.id)
    await db.run(sql`update reports.schedules set next_at = next_at - interval '1 day'
      where partner_id = ${partnerId} and id = ${id}`)
    await assertNone(customer.id, async () => assert.equal(await reportWork(first).scheduleStep(), 1))
  })

  test('a checkout session and an erasure race: one of them takes effect', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const { customer } = await addCustomer()
      const order = { amount: rawNumber('1.00'), currency: 'EUR', idempotencyKey: newId(), customerId: customer.id }
      const calls = [() => first.checkout.create(partner.caller, order), () => erase(second, customer.id)] as const
      const running =
        round % 2 === 0
          ? calls.map((call) => call())
          : calls
              .toReversed()
              .map((call) => call())
              .toReversed()
      await assertOne(customer.id, await Promise.allSettled<unknown>(running))
    }
  })

  test('an account and an erasure race: an erased customer does not have an open IBAN', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const { customer } = await addCustomer()
      const [made, erased] = await Promise.allSettled([
        first.accounts.create(partner.partnerId, customer.id),
        erase(second, customer.id),
      ])
      assert.equal(codeOf(erased), 'done')
      assert.ok(['done', 'not_found'].includes(codeOf(made)), codeOf(made))
      const ibans = made.status === 'fulfilled' ? made.value.ibans.map(({ iban }) => iban) : []
      assert.equal((await first.accounts.ownersOf(first.db, ibans)).size, 0)
    }
  })

  test('two processes that erase a customer give the same answer, and concurrent steps do not repeat work', async () => {
    const { customer } = await addCustomer()
    const [one, other] = await Promise.all([erase(first, customer.id), erase(second, customer.id)])
    assert.deepEqual(one, other)
    const run = async ({ personalData }: Service) => {
      while ((await personalData.erasures.step()) > 0);
    }
    await Promise.all([run(first), run(second)])
    await run(first)
    assert.equal((await erase(first, customer.id)).row.phase, 'retained')
  })

  /** Creates a partner, so that its balances and cases come from one credit. */
  async function raceWithCredit(isErasedFirst: boolean): Promise<'credited' | 'erased'> {
    const { partnerId, customer } = await addPartner(first, 100n)
    const { iban } = (await first.accounts.create(partnerId, customer.id)).ibans[0]
    const casesBefore = (await first.cases.list(undefined, 1000)).length
    await sendCredit(first, iban)
    second.clock.advance(minuteMs)
    const credit = () => processBankNotifications(second.settlement)
    const erasure = () => first.personalData.erasures.erase(partnerId, customer.id, false)
    const [, erased] = await behindBalance(partnerId, [credit, erasure], isErasedFirst)
    assert.ok(erased)
    // The first step of a credit may have waited, and the bank reports the others again.
    for (let round = 0; round < 4; round += 1) {
      second.clock.advance(minuteMs)
      await processBankNotifications(second.settlement)
    }
    const { statuses, balance } = await depositState(first, partnerId)
    const cases = (await first.cases.list(undefined, 1000)).length - casesBefore
    const outcome = codeOf(erased) === 'done' ? 'erased' : 'credited'
    assert.deepEqual(
      [statuses, balance, cases],
      outcome === 'erased' ? [[], 100n, 1] : [['Completed'], 600n, 0],
      `${outcome}: the money is the customer's, or a case`,
    )
    assert.equal(codeOf(erased), outcome === 'erased' ? 'done' : 'customer_not_erasable')
    return outcome
  }

  test('money that arrives during an erasure is credited and the erasure is refused, or the money becomes a case', async () => {
    const outcomes = new Set<string>()
    for (let round = 0; round < 6; round += 1) outcomes.add(await raceWithCredit(round % 2 === 0))
    assert.deepEqual([...outcomes].toSorted(), ['credited', 'erased'])
  })

  /** Lists transactions of an erased customer after the erasure. */
  const madeSince = (customerId: string) =>
    first.db.rows(sql`
    select made.reference from transactions.transactions as made
    join customers.customers as owner on owner.partner_id = made.partner_id and owner.id = made.customer_id
    where made.partner_id = ${partner.partnerId} and owner.id = ${customerId} and made.created_at > owner.erased_at`)

  test('a quote of a customer is converted before its erasure or not at all', async () => {
    const codes = new Set<string>()
    for (let round = 0; round < 8; round += 1) {
      const { customer } = await addCustomer()
      const { id } = (await quote(first, partner, { sellAmount: '1.00', customerId: customer.id })).row
      first.clock.advance(1)
      const steps = [() => convert(first, partner, id), () => erase(second, customer.id)] as const
      const [made, erased] = await behindBalance(partner.partnerId, steps, round % 2 === 0)
      assert.ok(made && erased)
      assert.equal(codeOf(erased), 'done')
      codes.add(codeOf(made))
      assert.deepEqual(await madeSince(customer.id), [])
      await assert.rejects(convert(first, partner, id), Refusal)
    }
    assert.deepEqual([...codes].toSorted(), ['done', 'not_found'])
  })

  test('a quote and an erasure race: an erased customer does not have an open quote', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const { customer } = await addCustomer()
      const asked = () => quote(first, partner, { sellAmount: '1.00', customerId: customer.id })
      const [made, erased] = await Promise.allSettled([asked(), erase(second, customer.id)])
      assert.equal(codeOf(erased), 'done')
      assert.ok(['done', 'not_found'].includes(codeOf(made)), codeOf(made))
      assert.deepEqual(await first.fx.quotesOf(first.db, partner.partnerId, customer.id, nilId, 10), [])
    }
  })

  test('a credit is booked as an unknown payment if its customer is erased between look-up and booking', async () => {
    const { partnerId } = partner
    const { customer } = await addCustomer()
    const account = (await first.accounts.create(partnerId, customer.id)).ibans[0].iban
    const debtor = { account: 'DE1', bic: '', name: 'Payer', countryCode: 'DE', address: null }
    const money = { currency: 'EUR', amount: 500n } as const
    const about = { partnerId: operatorPartnerId, id: newId(), subjectId: newId(), remittance: null, endToEndId: null }
    const credit = () =>
      first.deposits.processCredit('sandbox', { kind: 'credit.booked', ...about, account, money, debtor })
    const running = await first.db.transaction(async (tx) => {
      await tx.rows(
        sql`select id from customers.customers where partner_id = ${partnerId} and id = ${customer.id} for update`,
      )
      const steps: Promise<unknown>[] = []
      for (const step of [() => erase(second, customer.id), credit]) {
        steps.push(step())
        await until(`${steps.length} wait`, async () => (await waiting()) >= BigInt(steps.length))
      }
      return { steps }
    })
    const [, credited] = await Promise.all(running.steps)
    assert.deepEqual(
      [await isErased(customer.id), credited],
      [true, { applied: 'unknown', partnerId: operatorPartnerId }],
    )
  })
})
