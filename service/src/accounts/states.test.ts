/** States of accounts on a real database: what they refuse, closing, races, and the payouts that a block cancels. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import {
  addPartner,
  balanceOf,
  ip,
  pay,
  type Service,
  stepMsDefault,
  type TestPartner,
} from '../../../test/support/composition.ts'
import { addTrader, convert, quote } from '../../../test/support/fx.ts'
import { until } from '../../../test/support/until.ts'
import { useModules } from '../../../test/support/fixture.ts'
import { checkLedger } from '../../../test/model/ledger-audit.ts'
import { operatorPartnerId } from '../cases/index.ts'
import { type Currency, newId, present, secondMs } from '../kernel/index.ts'
import { type AccountState, blocksOutbound } from '../ledger/index.ts'
import { sql, type Tx } from '../postgres/index.ts'
import { processBankNotifications, submitDuePayouts } from '../banks/settlement/index.ts'
import type { AccountRef } from './index.ts'

const euros = { currency: 'EUR' } as const

suite('states', async () => {
  const service = await useModules()
  // As another process: its own pool, batches and funds check.
  const other = await service.anotherProcess()
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
  const changeIn = (tx: Tx, { partnerId }: TestPartner, state: AccountState, account: AccountRef = euros) =>
    service.accounts.changeState(tx, {
      partnerId,
      account,
      state,
      reason: 'CourtOrder',
      note: 'Order 17',
      staff: 'Ada',
    })
  /** Changes a state as the operator's command does: an unblock completes the cancellations of the block first. */
  async function change(partner: TestPartner, state: AccountState, account: AccountRef = euros) {
    const { partnerId, customer } = partner
    const of = 'currency' in account ? { ...account, customerId: null } : { currency: null, customerId: customer.id }
    if (!blocksOutbound(state)) await service.cancellations.finish(partnerId, of)
    return service.db.transaction((tx) => changeIn(tx, partner, state, account))
  }
  const accountOf = ({ customer }: TestPartner): AccountRef => ({ customerRef: customer.serviceId })
  const blocked = { code: 'account_blocked' }

  const debtor = {
    account: 'FR7630006000011234567890189',
    bic: 'AGRIFRPP',
    name: 'Payer',
    countryCode: 'FR',
    address: null,
  }

  /** Makes the sandbox bank book a credit on an account; `processed` applies its notification. */
  async function booked(account: string, amount = 500n): Promise<string> {
    const creditId = newId()
    const credit = {
      account,
      money: { currency: 'EUR', amount },
      debtor,
      remittance: 'Invoice 17',
      endToEndId: 'E2E-1',
    } as const
    await service.db.transaction(async (tx) => service.bank.sendCredit(tx, operatorPartnerId, creditId, credit))
    return creditId
  }
  async function processed(by: Service = service): Promise<void> {
    service.clock.advance(stepMsDefault)
    other.clock.advance(stepMsDefault)
    await processBankNotifications(by.settlement)
  }
  const ibanOf = async ({ partnerId, customer }: TestPartner) =>
    (await service.accounts.create(partnerId, customer.id)).ibans[0].iban
  const casesOf = async ({ partnerId }: TestPartner) =>
    (await service.cases.list(undefined, 1000)).filter((row) => row.partnerId === partnerId)
  const depositsOf = async ({ partnerId }: TestPartner) =>
    (await service.transactions.list(partnerId, { category: 'Deposit', type: 'PartnerCustomerDeposit' })).data.map(
      ({ row: { status, amount } }) => [status, amount],
    )
  /** Waits until a statement of this database waits for a lock. */
  const untilWaiting = () =>
    until('a statement waits for a lock', async () =>
      service.db.row(
        sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      ),
    )

  test('a blocked balance refuses payouts and conversions in the blocked direction, and the preview shows it', async () => {
    const partner = await addTrader(service, ['EUR', 'USD'])
    const {
      row: { id },
    } = await quote(service, partner)
    await change(partner, 'BlockedOutbound')
    await assert.rejects(pay(service, partner, '10.00'), {
      ...blocked,
      detail: 'The EUR balance is blocked for outgoing payments.',
    })
    await assert.rejects(convert(service, partner, id), blocked)
    const body = { amount: rawNumber('10.00'), currency: 'EUR', beneficiaryId: partner.beneficiary.id }
    const { verdicts } = await service.payouts.preview(partner.caller, body, ip)
    assert.deepEqual(
      verdicts.filter(({ verdict }) => verdict === 'failed').map(({ rule, code }) => [rule, code]),
      [['account', 'account_blocked']],
    )
    assert.equal((await balanceOf(service, partner.partnerId)).available, 100_000n)
    await change(partner, 'BlockedInbound')
    await pay(service, partner, '10.00')
    await convert(service, partner, id)
    const back = await quote(service, partner, { sell: 'USD', buy: 'EUR' })
    await assert.rejects(convert(service, partner, back.row.id), blocked)
    await change(partner, 'Active')
    await convert(service, partner, back.row.id)
    await checkLedger(service.db, partner.partnerId)
  })

  test("a blocked customer account refuses the customer's payouts, but not the partner's", async () => {
    const partner = await addPartner(service, 10_000n)
    await change(partner, 'Blocked', accountOf(partner))
    const detail = 'The account of the customer is blocked for outgoing payments.'
    await assert.rejects(pay(service, partner, '10.00'), { ...blocked, detail })
    await pay(service, partner, '10.00', { beneficiaryId: partner.ownBeneficiary.id })
    await change(partner, 'BlockedInbound', accountOf(partner))
    await pay(service, partner, '10.00')
  })

  test('a credit to a blocked account fails its deposit and opens a case, which returns or credits the money', async () => {
    const partner = await addPartner(service)
    const iban = await ibanOf(partner)
    await change(partner, 'BlockedInbound', accountOf(partner))
    await booked(iban, 500n)
    await booked(iban, 700n)
    await processed()
    assert.deepEqual(await balanceOf(service, partner.partnerId), { posted: 0n, reserved: 0n, available: 0n })
    const [first, second, ...more] = await casesOf(partner)
    assert.deepEqual([first?.kind, second?.kind, more.length], ['account_blocked', 'account_blocked', 0])
    assert.deepEqual(
      (await depositsOf(partner)).map(([status]) => status),
      ['Unsuccessful', 'Unsuccessful'],
    )
    const decide = async (row: typeof first, action: 'return' | 'match', named: object) => {
      const key = { partnerId: partner.partnerId, id: present(row, 'a case').id }
      const { decisions, db } = service
      await db.transaction((tx) =>
        decisions.propose(tx, { ...key, action, staff: 'Ada', note: 'As agreed.', ...named }),
      )
      return db.transaction((tx) => decisions.approve(tx, { ...key, staff: 'Grace' }))
    }
    // A decision of two persons credits the customer, block or not.
    const matched = await decide(first, 'match', { customerId: partner.customer.id })
    assert.equal(matched.resolution, 'matched')
    const { posted } = await balanceOf(service, partner.partnerId)
    assert.equal(posted, present(first?.booked ?? undefined, 'it has money'))
    assert.ok((await decide(second, 'return', {})).returningSince)
    await checkLedger(service.db, partner.partnerId)
  })

  test('an announced deposit to a blocked balance fails, and a case holds its money', async () => {
    const partner = await addPartner(service)
    await change(partner, 'Blocked')
    const deposit = { customerId: partner.customer.id, amount: rawNumber('12.00'), currency: 'EUR' }
    await service.simulations.deposit(partner.caller, { ...deposit, outcome: 'completed' }, ip)
    for (let step = 0; step < 5; step += 1) await processed()
    assert.deepEqual(await depositsOf(partner), [['Unsuccessful', 1200n]])
    assert.deepEqual(
      (await casesOf(partner)).map(({ kind, booked: money }) => [kind, money]),
      [['account_blocked', 1200n]],
    )
    await change(partner, 'Active')
    await booked(await ibanOf(partner), 100n)
    await processed()
    assert.equal((await balanceOf(service, partner.partnerId)).posted, 100n)
  })

  test('a block cancels payouts that have not begun, and begun payouts continue', async () => {
    const partner = await addPartner(service, 10_000n)
    const begun = await pay(service, partner, '10.00')
    await submitDuePayouts(service.settlement)
    const waiting = [await pay(service, partner, '20.00'), await pay(service, partner, '30.00')]
    await change(partner, 'Blocked')
    const { partnerId } = partner
    assert.equal(await service.cancellations.finish(partnerId, { ...euros, customerId: null }), 2)
    assert.equal(await service.cancellations.finish(partnerId, { ...euros, customerId: null }), 0)
    for (const { payout } of waiting) {
      assert.equal((await service.payouts.get(partnerId, payout.id)).status, 'Cancelled')
      const { timeline } = await service.transactions.get(partnerId, payout.reference)
      assert.equal(timeline.at(-1)?.step, 'Cancelled')
    }
    for (let step = 0; step < 3; step += 1) await processed()
    assert.equal((await service.payouts.get(partnerId, begun.payout.id)).status, 'Completed')
    assert.deepEqual(await balanceOf(service, partnerId), { posted: 9000n, reserved: 0n, available: 9000n })
  })

  test('only an empty balance can be closed, the close is permanent, and a later credit opens a case', async () => {
    const partner = await addPartner(service, 1000n)
    const iban = await ibanOf(partner)
    await assert.rejects(change(partner, 'Closed'), { ...blocked, detail: /not empty/ })
    const { payout } = await pay(service, partner, '10.00')
    await assert.rejects(change(partner, 'Closed', accountOf(partner)), { ...blocked, detail: /in progress/ })
    await submitDuePayouts(service.settlement)
    for (let step = 0; step < 3; step += 1) await processed()
    assert.equal((await service.payouts.get(partner.partnerId, payout.id)).status, 'Completed')
    assert.equal((await change(partner, 'Closed'))?.toState, 'Closed')
    assert.equal(await change(partner, 'Closed'), undefined)
    await assert.rejects(change(partner, 'Active'), { ...blocked, detail: /cannot be reopened/ })
    await change(partner, 'Closed', accountOf(partner))
    await assert.rejects(change(partner, 'Active', accountOf(partner)), { ...blocked, detail: /cannot be reopened/ })
    await booked(iban)
    await processed()
    const [found] = await casesOf(partner)
    assert.equal(found?.kind, 'account_blocked')
    const key = { partnerId: partner.partnerId, id: present(found, 'a case').id }
    await service.db.transaction((tx) =>
      service.decisions.propose(tx, { ...key, action: 'credit', staff: 'Ada', note: 'Why not.' }),
    )
    await assert.rejects(
      service.db.transaction((tx) => service.decisions.approve(tx, { ...key, staff: 'Grace' })),
      { ...blocked, detail: /return the money/ },
    )
    // The payment comes back after the close: its money waits as well.
    const money = { currency: 'EUR' as Currency, amount: 1000n } as const
    const report = { connector: 'sandbox', notificationId: newId(), money }
    const instructionId = payout.endToEndId.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    const failure = { errorKey: 'BankRejection', details: 'Account closed.' } as const
    const reporting = { partnerId: partner.partnerId, instructionId, report }
    assert.equal(await service.payoutLife.returned(reporting, failure), 'contradiction')
    assert.equal((await balanceOf(service, partner.partnerId)).posted, 0n)
  })

  test('a closed account gets no new IBAN or wallet and keeps those it has, and a blocked one gets both', async () => {
    const open = (partner: TestPartner, by: Service = service) => {
      const { partnerId, customer } = partner
      const wallet = { customerId: customer.id, currency: 'USDC' } as const
      return [() => by.accounts.create(partnerId, customer.id), () => by.wallets.create(partnerId, wallet)] as const
    }
    const canOpen = async ({ partnerId, customer }: TestPartner) =>
      (await service.customers.capabilities(partnerId, customer.id)).capabilities[0]?.reasons
    for (const state of ['Blocked', 'BlockedInbound', 'BlockedOutbound'] as const) {
      const partner = await addPartner(service)
      await change(partner, state, accountOf(partner))
      assert.deepEqual(await canOpen(partner), [])
      for (const make of open(partner)) await make()
    }
    const [old, partner] = [await addPartner(service), await addPartner(service)]
    const [iban, wallet] = [await open(old)[0](), await open(old)[1]()]
    for (const each of [old, partner]) await change(each, 'Closed', accountOf(each))
    assert.deepEqual([await canOpen(old), await canOpen(partner)], [['account_closed'], ['account_closed']])
    assert.deepEqual([await open(old)[0](), await open(old)[1]()], [iban, { ...wallet, isNew: false }])
    for (const make of open(partner)) await assert.rejects(make(), { ...blocked, detail: /customer is closed/ })
  })

  test('an IBAN or a wallet that is asked for during a close is refused', async () => {
    for (const which of ['accounts', 'wallets'] as const) {
      const partner = await addPartner(service)
      const { partnerId, customer } = partner
      const making = await service.db.transaction(async (tx) => {
        await changeIn(tx, partner, 'Closed', accountOf(partner))
        const asked: Promise<unknown> =
          which === 'accounts'
            ? other.accounts.create(partnerId, customer.id)
            : other.wallets.create(partnerId, { customerId: customer.id, currency: 'USDC' })
        const started = asked.then(
          () => 'made',
          (error: unknown) => (error as { readonly code?: string }).code,
        )
        await Promise.race([untilWaiting(), started])
        return { started }
      })
      assert.equal(await making.started, 'account_blocked', which)
    }
  })

  test('a payout that was checked before a block does not commit after it', async () => {
    for (const account of [euros, undefined]) {
      const partner = await addPartner(service, 10_000n)
      const paying = await service.db.transaction(async (tx) => {
        await changeIn(tx, partner, 'BlockedOutbound', account ?? accountOf(partner))
        const started = pay(other, partner, '10.00').then(
          () => 'accepted',
          (error: unknown) => (error as { readonly code?: string }).code,
        )
        await untilWaiting()
        return { started }
      })
      assert.equal(await paying.started, 'account_blocked')
      assert.deepEqual(await balanceOf(service, partner.partnerId), {
        posted: 10_000n,
        reserved: 0n,
        available: 10_000n,
      })
    }
  })

  test('a credit that was checked before a close does not commit after it', async () => {
    const partner = await addPartner(service)
    const iban = await ibanOf(partner)
    await change(partner, 'BlockedInbound')
    await change(partner, 'Active')
    await booked(iban)
    const applying = await service.db.transaction(async (tx) => {
      await changeIn(tx, partner, 'Closed')
      const started = processed(other)
      await untilWaiting()
      return { started }
    })
    await applying.started
    assert.deepEqual(await depositsOf(partner), [['Unsuccessful', 500n]])
    assert.equal((await balanceOf(service, partner.partnerId)).posted, 0n)
    assert.deepEqual(
      (await casesOf(partner)).map(({ kind }) => kind),
      ['account_blocked'],
    )
    await checkLedger(service.db, partner.partnerId)
  })

  test('payouts concurrent with a block in two processes are refused, cancelled, or sent before it', async () => {
    const partner = await addPartner(service, 1_000_000n)
    const { partnerId } = partner
    const block = async () => {
      await change(partner, 'Blocked')
      return service.cancellations.finish(partnerId, { ...euros, customerId: null })
    }
    const paying = Array.from({ length: 40 }, (_none, index) => pay(index % 2 === 0 ? service : other, partner, '1.00'))
    const [cancelled, ...outcomes] = await Promise.allSettled([block(), ...paying])
    const accepted = outcomes.filter(({ status }) => status === 'fulfilled').length
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') assert.equal(outcome.reason.code, 'account_blocked')
    assert.deepEqual(cancelled, { status: 'fulfilled', value: accepted })
    assert.deepEqual(await balanceOf(service, partnerId), { posted: 1_000_000n, reserved: 0n, available: 1_000_000n })
  })

  test('each partner lists its own state changes, newest first, without the note and the person', async () => {
    const partner = await addPartner(service)
    await change(partner, 'Blocked')
    await change(partner, 'BlockedInbound', accountOf(partner))
    await change(partner, 'Active')
    const list = async (query: object) =>
      (await service.accounts.stateChanges(partner.partnerId, query)).data.map(({ toState, currency, customerId }) => [
        toState,
        currency ?? customerId,
      ])
    const ofCustomer = ['BlockedInbound', partner.customer.id]
    assert.deepEqual(await list({}), [['Active', 'EUR'], ofCustomer, ['Blocked', 'EUR']])
    assert.deepEqual(await list({ customerId: partner.customer.serviceId }), [ofCustomer])
    assert.deepEqual(await list({ currency: 'EUR', limit: '1' }), [['Active', 'EUR']])
    assert.deepEqual(await list({ customerId: newId() }), [])
    assert.deepEqual((await service.accounts.stateChanges((await addPartner(service)).partnerId, {})).data, [])
    const notActive = await service.accounts.notActive(service.db, partner.partnerId)
    assert.deepEqual(
      notActive.map(({ customerId, staff, note }) => [customerId, staff, note]),
      [[partner.customer.id, 'Ada', 'Order 17']],
    )
    await assert.rejects(change(partner, 'Blocked', { customerRef: newId() }), { code: 'not_found' })
  })
})

suite('block commands that end before they have cancelled the payouts', async () => {
  const service = await useModules()
  // As another process: its own pool and batches.
  const other = await service.anotherProcess()
  const balance = { ...euros, customerId: null }
  const reason = { reason: 'CourtOrder', note: 'Order 17', staff: 'Ada' } as const
  const change = ({ partnerId }: TestPartner, state: AccountState, account: AccountRef = euros) =>
    service.db.transaction((tx) => service.accounts.changeState(tx, { partnerId, account, state, ...reason }))
  const statusOf = async ({ partnerId }: TestPartner, { payout }: Awaited<ReturnType<typeof pay>>) =>
    (await service.payouts.get(partnerId, payout.id)).status
  /** Lets the lease of an interrupted command expire. */
  function endLease(): void {
    for (const { clock } of [service, other]) clock.advance(10 * secondMs)
  }
  async function work(by: Service = service): Promise<number> {
    let steps = 0
    while ((await by.cancellations.step()) > 0) steps += 1
    return steps
  }
  const pays = (partner: TestPartner, count: number) =>
    Promise.all(Array.from({ length: count }, () => pay(service, partner, '1.00')))

  /** Asserts that each payout was cancelled once: one step in its timeline, and all money is available again. */
  async function assertCancelled(partner: TestPartner, paid: Awaited<ReturnType<typeof pays>>, posted: bigint) {
    for (const { payout } of paid) {
      const { timeline } = await service.transactions.get(partner.partnerId, payout.reference)
      assert.deepEqual(
        timeline.map(({ step }) => step),
        ['Created', 'Reserved', 'Cancelled'],
      )
    }
    assert.deepEqual(await balanceOf(service, partner.partnerId), { posted, reserved: 0n, available: posted })
    await checkLedger(service.db, partner.partnerId)
  }

  test('after an interrupted block and the end of its lease, a worker cancels the remaining payouts page by page', async () => {
    const partner = await addPartner(service, 30_000n)
    const blockedAt = service.clock.now()
    const paid = await pays(partner, 150)
    await change(partner, 'Blocked')
    assert.equal(await work(), 0)
    assert.deepEqual(await service.cancellations.oldestBlock(), blockedAt)
    endLease()
    // Two pages, and the look that finds none.
    assert.equal(await work(), 3)
    await assertCancelled(partner, paid, 30_000n)
    assert.equal(await service.cancellations.oldestBlock(), null)
    assert.equal(await service.cancellations.finish(partner.partnerId, balance), 0)
  })

  test("a block of a customer's account cancels the payouts of the customer, not those of the partner", async () => {
    const partner = await addPartner(service, 10_000n)
    const own = await pay(service, partner, '10.00', { beneficiaryId: partner.ownBeneficiary.id })
    const ofCustomer = await pay(service, partner, '10.00')
    const elsewhere = await addPartner(service, 10_000n)
    const ofOther = await pay(service, elsewhere, '10.00')
    await change(partner, 'BlockedOutbound', { customerRef: partner.customer.serviceId })
    endLease()
    await work()
    assert.deepEqual(
      [await statusOf(partner, own), await statusOf(partner, ofCustomer), await statusOf(elsewhere, ofOther)],
      ['Pending', 'Cancelled', 'Pending'],
    )
  })

  test('a block of incoming money, or of an account without payouts, cancels no payouts', async () => {
    const partner = await addPartner(service, 10_000n)
    const paid = await pay(service, partner, '10.00')
    await change(partner, 'BlockedInbound')
    assert.equal(await service.cancellations.oldestBlock(), null)
    const empty = await addPartner(service, 10_000n)
    await change(empty, 'Blocked')
    assert.equal(await service.cancellations.finish(empty.partnerId, balance), 0)
    assert.equal(await service.cancellations.oldestBlock(), null)
    assert.equal(await statusOf(partner, paid), 'Pending')
  })

  test('an account is not unblocked before its payouts are cancelled, and can pay again afterwards', async () => {
    const partner = await addPartner(service, 10_000n)
    const paid = await pays(partner, 3)
    await change(partner, 'Blocked')
    const refused = { code: 'account_blocked', detail: /still being cancelled/ }
    await assert.rejects(change(partner, 'Active'), refused)
    await assert.rejects(change(partner, 'BlockedInbound'), refused)
    assert.equal((await change(partner, 'BlockedOutbound'))?.toState, 'BlockedOutbound')
    assert.equal(await service.cancellations.finish(partner.partnerId, balance), 3)
    await change(partner, 'Active')
    await assertCancelled(partner, paid, 10_000n)
    const later = await pay(service, partner, '10.00')
    endLease()
    assert.equal(await work(), 0)
    assert.equal(await statusOf(partner, later), 'Pending')
  })

  test('a repeated block cancels payouts that a block by an earlier version left', async () => {
    const partner = await addPartner(service, 10_000n)
    const paid = await pays(partner, 2)
    await change(partner, 'Blocked')
    await service.db.run(sql`delete from accounts.cancellations where partner_id = ${partner.partnerId}`)
    assert.equal(await change(partner, 'Blocked'), undefined)
    assert.equal(await service.cancellations.finish(partner.partnerId, balance), 2)
    await assertCancelled(partner, paid, 10_000n)
  })

  test('with a concurrent command, two workers and an unblock, each earlier payout is cancelled once, and no later one', async () => {
    const partner = await addPartner(service, 100_000n)
    const paid = await pays(partner, 200)
    await change(partner, 'Blocked')
    endLease()
    const unblockAndPay = async () => {
      for (;;) {
        const changed = await change(partner, 'Active').catch((error: unknown) => {
          assert.equal((error as { readonly code?: string }).code, 'account_blocked')
          return undefined
        })
        if (changed !== undefined) return pays(partner, 20)
      }
    }
    const [later] = await Promise.all([
      unblockAndPay(),
      service.cancellations.finish(partner.partnerId, balance),
      work(),
      work(other),
    ])
    for (const each of later) assert.equal(await statusOf(partner, each), 'Pending')
    for (const each of paid) assert.equal(await statusOf(partner, each), 'Cancelled')
    assert.deepEqual(await balanceOf(service, partner.partnerId), {
      posted: 100_000n,
      reserved: 2_000n,
      available: 98_000n,
    })
    await checkLedger(service.db, partner.partnerId)
  })
})
