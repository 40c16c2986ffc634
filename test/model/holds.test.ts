/**
 * Each operation that moves the money of a customer, in each state of the customer. Only a bank's report or a decision
 * moves money on hold. A new operation with an amount, and a new place that books entries, need a row here.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { operations, rawNumber } from '@partner-payments/wire'
import { Refusal } from '../../service/src/kernel/api/index.ts'
import { operatorPartnerId } from '../../service/src/cases/index.ts'
import { hourMs, minuteMs, newId } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { processBankNotifications, sendDueRecalls, submitDuePayouts } from '../../service/src/banks/settlement/index.ts'
import { createSessionsInParts } from '../support/checkout.ts'
import { balanceOf, ip, pay, stepMsDefault, type TestPartner } from '../support/composition.ts'
import { useModules } from '../support/fixture.ts'
import { addTrader, convert, quote } from '../support/fx.ts'
import { ledgerFindings } from '../support/integrity.ts'
import { createPaidSessions } from '../support/refunds.ts'
import { decideAll, listedName, sampleList, screenAll, sendCredit } from '../support/screening/held.ts'
import { checkLedger } from './ledger-audit.ts'

const ofCustomer = ['clear', 'open hit', 'confirmed', 'blocked', 'gate closed', 'account closed'] as const
/** An open hit of the partner itself holds its own money; a confirmed one also holds that of its customers. */
const ofPartner = ['partner open', 'partner confirmed'] as const
const states = [...ofCustomer, ...ofPartner] as const
type State = (typeof states)[number]
/** `waits`: accepted and reserved, but not sent to the bank. `case`: booked to suspense with a case. */
type Outcome = 'booked' | 'sent' | 'waits' | 'case' | 'refused'

type Scene = Awaited<ReturnType<typeof sceneOf>>
/** `held` in every state that holds money, else `clear`. */
const outcomes = (clear: Outcome, held: Outcome) => ({
  ...(Object.fromEntries(states.map((state) => [state, held])) as Readonly<Record<State, Outcome>>),
  clear,
  'partner open': clear,
})
const blocked = outcomes('booked', 'refused')
const withThePartner = { ...blocked, 'partner open': 'refused' } as const
const waiting = { 'open hit': 'waits', confirmed: 'waits', 'partner confirmed': 'waits' } as const
const paid = { ...outcomes('sent', 'refused'), ...waiting }
const received = outcomes('booked', 'case')
/** Entries that do not depend on the state of a customer. */
const always = outcomes('booked', 'booked')
const partnersOwn = { ...always, 'partner open': 'refused', 'partner confirmed': 'refused' } as const

type Row = {
  /** The operations of the API that move money in this way. Empty: only a bank or the operator does. */
  readonly operations: readonly (keyof typeof operations)[]
  readonly run: (scene: Scene) => Promise<Outcome>
  readonly expected: Readonly<Record<State, Outcome>>
}

const rows: Readonly<Record<string, Row>> = {
  'a transfer to another customer': {
    operations: ['createAccountTransfer'],
    run: ({ transfer, held, other }) => transfer({ fromCustomerId: held, toCustomerId: other }),
    expected: blocked,
  },
  'a transfer from another customer': {
    operations: ['createAccountTransfer'],
    run: ({ transfer, held, other }) => transfer({ fromCustomerId: other, toCustomerId: held }),
    expected: blocked,
  },
  'a transfer to the partner': {
    operations: ['createAccountTransfer'],
    run: ({ transfer, held }) => transfer({ fromCustomerId: held }),
    expected: withThePartner,
  },
  'a transfer from the partner': {
    operations: ['createAccountTransfer'],
    run: ({ transfer, held }) => transfer({ toCustomerId: held }),
    expected: withThePartner,
  },
  // Blocks and gates restrict the partner. A hold by screening also restricts the operator.
  'a transfer by the operator': {
    operations: [],
    run: ({ transfer, held, other }) => transfer({ fromCustomerId: held, toCustomerId: other }, false),
    expected: { ...blocked, blocked: 'booked', 'gate closed': 'booked', 'account closed': 'booked' },
  },
  'a conversion': {
    operations: ['createFxConversion'],
    run: ({ converted, held }) => converted(held),
    expected: blocked,
  },
  'a conversion of the partner': {
    operations: ['createFxConversion'],
    run: ({ converted }) => converted(undefined),
    expected: partnersOwn,
  },
  'a payout': { operations: ['createFiatPayout', 'createBulkPayout'], run: ({ payout }) => payout(), expected: paid },
  'a payout of the partner': {
    operations: ['createFiatPayout'],
    run: ({ ownPayout }) => ownPayout(),
    expected: { ...outcomes('sent', 'sent'), 'partner open': 'waits', 'partner confirmed': 'waits' },
  },
  'a payout of tokens': { operations: ['createTokenPayout'], run: ({ tokens }) => tokens(), expected: paid },
  'a payment of a standing order': { operations: ['createStandingOrder'], run: ({ order }) => order(), expected: paid },
  'a simulated withdrawal': {
    operations: ['simulateWithdrawal'],
    run: ({ withdrawal }) => withdrawal(),
    expected: paid,
  },
  'a refund to the payer': {
    operations: ['createCheckoutRefund'],
    run: ({ refund }) => refund(),
    // The money returns to its payer, whatever the capabilities of the customer.
    expected: { ...paid, 'gate closed': 'sent' },
  },
  'a payout with a quote': {
    operations: ['createFxPayout'],
    run: ({ payoutByQuote }) => payoutByQuote(),
    expected: paid,
  },
  'a credit by the bank': {
    operations: ['createCheckoutSession', 'simulateCredit'],
    run: ({ credit }) => credit(),
    expected: received,
  },
  'a part of a session': {
    operations: ['createCheckoutSession', 'simulateCheckoutSession'],
    run: ({ part }) => part(),
    expected: received,
  },
  // `acceptLatePayment` and `returnLatePayment` identify money that has arrived, without an amount.
  'accepted late money': {
    operations: [],
    run: ({ acceptLate }) => acceptLate(),
    expected: { ...blocked, 'open hit': 'case' },
  },
  'returned late money': { operations: [], run: ({ returnLate }) => returnLate(), expected: blocked },
  'a simulated deposit': { operations: ['simulateDeposit'], run: ({ deposit }) => deposit(), expected: received },
  // People decide about the money of a case, by a licence or a court order, once they have decided the hit.
  'the credit of a case': {
    operations: [],
    run: ({ creditOfCase }) => creditOfCase(),
    expected: { ...always, 'open hit': 'refused' },
  },
  // The bank has already returned the money, which is then held on the balance.
  'the return after a recall': { operations: [], run: ({ recalled }) => recalled(), expected: always },
  // Segregation does not move money between owners.
  'segregation of the balance': { operations: [], run: ({ segregated }) => segregated(), expected: always },
  'the cover of a segregation': {
    operations: [],
    run: ({ transfer, held }) => transfer({ toCustomerId: held }, false),
    expected: { ...withThePartner, blocked: 'booked', 'gate closed': 'booked', 'account closed': 'booked' },
  },
}

/** Operations with an amount that do not move money, or not the euros of a customer. */
const withoutRow: Readonly<Record<string, string>> = {
  createFxQuote: 'a quote moves no money',
  createPaymentLink: 'a link moves no money; its sessions are paid',
  previewFiatPayout: 'a preview moves no money',
  previewFxPayout: 'a preview moves no money',
  simulateWalletDeposit: 'tokens are deposits: test/chain',
}

/** The files that book entries, each with the reason why it cannot bypass a hold. */
const bookings: Readonly<Record<string, string>> = {
  'cases/decisions.ts': 'decision: persons decide a case',
  'cases/returns.ts': 'decision: persons return the money of a case',
  'cases/service.ts': 'decision: opens and ends a case, in suspense',
  'ledger/entries.ts': 'the gate',
  'ledger/funds-check.ts': 'judges funds',
  'accounts/transfers.ts': 'asks: the rows of transfers',
  'checkout/late.ts': 'asks: the rows of late money',
  'deposits/progress.ts': 'bank: the row of credits',
  'deposits/reversals.ts': 'bank: the bank takes a credit back, and staff what a bank has taken',
  'deposits/service.ts': 'decision: the operator credits the partner itself, and staff takes back a wrong credit',
  'fx/conversions.ts': 'asks: the row of conversions',
  'payouts/accept.ts': 'judges funds; waits: the rows of payouts',
  'payouts/advance.ts': 'bank: a payout ends or comes back',
  'banks/settlement/wrong-debits.ts': 'bank: staff takes back what a bank has taken',
}

// The sandbox bank also transfers tokens: the operation is the same on a chain.
const service = await useModules({ chooseConnector: () => 'sandbox' })
const sessions = createSessionsInParts(() => service)
const paidSessionOf = createPaidSessions(() => service)
const scenes = new Map<State, Scene>()

before(async () => {
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
  for (const state of states) scenes.set(state, await sceneOf(state))
  await service.screening.lists.load(await sampleList(), 'Sam Staff')
  await screenAll(service)
  for (const [state, { enter }] of scenes) await enter(state)
})

/** Two payments that arrive after the end of a session, and the decision about each. */
async function lateMoneyOf(partner: TestPartner) {
  const { partnerId } = partner
  const opened = await sessions.open({}, partner)
  const { id } = opened.session
  await service.checkout.expire(partnerId, id)
  for (const amount of ['3.00', '4.00']) await sessions.send(opened, amount)
  const idAt = async (index: number) =>
    (await service.checkout.get(partnerId, id)).latePayments[index]?.id ?? assert.fail('no late money')
  const posted = async () => (await balanceOf(service, partnerId)).posted
  return {
    acceptLate: async (): Promise<Outcome> => {
      const before = await posted()
      await service.checkout.acceptLate(partnerId, id, await idAt(0))
      return (await posted()) > before ? 'booked' : 'case'
    },
    returnLate: async (): Promise<Outcome> => {
      await service.checkout.returnLate(partnerId, id, await idAt(1))
      return 'booked'
    },
  }
}

/** A partner with two customers, who have 1,000.00 each. `held` is the customer whose state is tested. */
async function sceneOf(state: State) {
  const partner = await addTrader(service, ['EUR', 'USD'])
  const { partnerId, customer, caller, beneficiary, ownBeneficiary } = partner
  // The partner has a listed owner if the state is a hit of the partner.
  if (state === 'partner open' || state === 'partner confirmed')
    await service.db.transaction((tx) =>
      service.access.setOwners(tx, partnerId, { legalName: null, owners: ['Grace Hopper', listedName] }),
    )
  const float = { debit: 'settlement.sandbox', currency: 'EUR', amount: 10_000_00n } as const
  await service.db.transaction((tx) => service.deposits.creditPartner(tx, partnerId, float))
  const kyc = { fullName: state === 'open hit' || state === 'confirmed' ? listedName : 'Ada Lovelace' }
  await service.customers.update(partnerId, customer.id, { kyc: { ...kyc, citizenshipCountryCode: 'GB' } })
  const other = await service.customers.create(partnerId, {
    email: 'joan@example.com',
    kyc: { fullName: 'Joan Clarke', citizenshipCountryCode: 'GB' },
  })
  const held = customer.id
  const { iban } = (await service.accounts.create(partnerId, held)).ibans[0]
  const maker = { caller, ip, requestId: newId() }
  const move = (amount: string, parties: { fromCustomerId?: string; toCustomerId?: string }, byPartner = true) => {
    const body = { amount: rawNumber(amount), currency: 'EUR' as const, ...parties }
    return service.accounts.transfer(partnerId, body, byPartner ? maker : undefined)
  }
  for (const toCustomerId of [held, other.id]) await move('1000.00', { toCustomerId })
  const usdc = { debit: 'settlement.sandbox', currency: 'USDC', amount: 100_000000n, ownerId: held } as const
  await service.db.transaction((tx) => service.deposits.creditPartner(tx, partnerId, usdc))
  const quoteOf = async (customerId: string | undefined) => {
    await service.rates.prepare()
    return (await quote(service, partner, customerId === undefined ? {} : { customerId })).row.id
  }
  const session = await paidSessionOf(partner, held)
  const parts = await sessions.inParts(partner)
  const lateMoney = await lateMoneyOf(partner)
  const settled = (await pay(service, partner, '2.00')).payout
  for (let round = 0; round < 5; round += 1) {
    await submitDuePayouts(service.settlement)
    await sessions.settle()
  }
  const usd = { routingNumber: '021000021', accountNumber: '123456', currency: 'USD', customerId: held } as const
  const address = '0x52908400098527886E0F7030069857D2E4169EE7'
  const payee = { name: 'Grace Hopper', walletAddress: address, currency: 'USDC', customerId: held } as const
  const wallet = (await service.beneficiaries.create(partnerId, payee)).id
  const inDollars = await service.beneficiaries.create(partnerId, { name: 'Grace Hopper', ...usd })

  const ended = async (payoutId: string): Promise<Outcome> => {
    for (let round = 0; round < 3; round += 1) {
      service.clock.advance(minuteMs)
      await submitDuePayouts(service.settlement)
    }
    const { status } = await service.payouts.get(partnerId, payoutId)
    return status === 'Pending' ? 'waits' : status === 'Sent' ? 'sent' : 'refused'
  }
  const change = (newState: 'Blocked' | 'Closed') =>
    service.db.transaction((tx) =>
      service.accounts.changeState(tx, {
        ...{ partnerId, account: { customerRef: held }, state: newState, reason: 'CourtOrder' },
        ...{ note: 'Order 17', staff: 'Ada' },
      }),
    )
  const simulated = { amount: 1_00n, currency: 'EUR', outcome: 'completed', idempotencyKey: null } as const
  const heldSums = () => service.ledger.partySumsAt(service.db, partnerId, held, undefined)
  const postedBy = async () => (await balanceOf(service, partnerId)).posted
  const openCases = async () =>
    (await service.cases.list(undefined, 1000)).filter((row) => row.partnerId === partnerId && row.resolution === null)
  /** Reports whether incoming money is in a case or in the balance. */
  const arrived = async (send: () => Promise<unknown>): Promise<Outcome> => {
    const before = (await openCases()).length
    await send()
    for (let round = 0; round < 5; round += 1) {
      service.clock.advance(stepMsDefault)
      await processBankNotifications(service.settlement)
    }
    return (await openCases()).length > before ? 'case' : 'booked'
  }
  const credit = () => arrived(() => sendCredit(service, iban))
  return {
    partnerId,
    held,
    other: other.id,
    enter: async (into: State): Promise<void> => {
      if (into === 'confirmed' || into === 'partner confirmed')
        assert.ok((await decideAll(service, partnerId, 'confirm')) > 0)
      if (into === 'blocked') await change('Blocked')
      if (into === 'account closed') await change('Closed')
      const verificationState = (await service.customers.verification(partnerId, held)).state
      const gate = { partnerId, state: verificationState, allowed: [] }
      if (into === 'gate closed') await service.db.transaction((tx) => service.customers.gates.set(tx, gate))
    },
    transfer: async (parties: { fromCustomerId?: string; toCustomerId?: string }, byPartner = true) => {
      await move('1.00', parties, byPartner)
      return 'booked' as const
    },
    converted: async (customerId: string | undefined) => {
      await convert(service, partner, await quoteOf(customerId))
      return 'booked' as const
    },
    ownPayout: async () => ended((await pay(service, partner, '1.00', { beneficiaryId: ownBeneficiary.id })).payout.id),
    tokens: async () => {
      const body = { amount: rawNumber('1'), currency: 'USDC' as const, beneficiaryId: wallet, idempotencyKey: newId() }
      return ended((await service.payouts.createToken(caller, body, ip)).payout.id)
    },
    order: async () => {
      const startsOn = new Date(service.clock.now().getTime() + 24 * hourMs).toISOString().slice(0, 10)
      const schedule = { frequency: 'Daily', startsOn, businessDays: 'None', count: 1 } as const
      const body = { beneficiaryId: beneficiary.id, amount: rawNumber('1.00'), currency: 'EUR', schedule } as const
      const { id } = await service.standingOrders.create(caller, body, ip)
      await service.db.run(sql`
        update payouts.standing_orders set due_at = ${service.clock.now()} where partner_id = ${partnerId} and id = ${id}`)
      while ((await service.standingOrders.step()) > 0);
      const [made] = (await service.standingOrders.executions(partnerId, id, {})).data
      return made?.payoutId ? ended(made.payoutId) : 'refused'
    },
    refund: async () => {
      const body = { amount: rawNumber('1.00'), idempotencyKey: newId() }
      return ended((await service.checkout.refund(caller, session, body, ip)).payout.id)
    },
    withdrawal: async () => {
      const { payout } = await service.payouts.simulate(caller, { customerRef: held, ...simulated }, ip)
      return ended(payout.id)
    },
    ...lateMoney,
    part: () => arrived(() => sessions.send(parts, '49.90')),
    deposit: () =>
      arrived(() =>
        service.simulations.deposit(
          caller,
          { customerId: held, amount: rawNumber('1.00'), currency: 'EUR', outcome: 'completed' },
          ip,
        ),
      ),
    creditOfCase: async (): Promise<Outcome> => {
      const known = new Set((await openCases()).map((row) => row.id))
      if ((await credit()) === 'booked') return 'booked'
      await service.deposits.screenDue(100)
      const before = await heldSums()
      const { id = '' } = (await openCases()).find((row) => !known.has(row.id)) ?? {}
      const proposing = { partnerId, id, action: 'credit', staff: 'Sam Staff', note: 'A licence.' } as const
      await service.db.transaction((tx) => service.decisions.propose(tx, proposing))
      await service.db.transaction((tx) => service.decisions.approve(tx, { ...proposing, staff: 'Kim Staff' }))
      // A closed account gets no money: the partner gets it.
      if (state === 'account closed') assert.deepEqual(await heldSums(), before)
      return 'booked'
    },
    recalled: async (): Promise<Outcome> => {
      const before = await postedBy()
      await service.recalls.create(caller, settled.id, { reason: 'FRAD', text: 'The invoice was forged.' })
      await sendDueRecalls(service.settlement, service.bank)
      await sessions.settle()
      return (await postedBy()) > before ? 'booked' : 'refused'
    },
    segregated: async (): Promise<Outcome> => {
      const before = await heldSums()
      await service.db.transaction((tx) => service.ledger.pool(tx, partnerId, 'EUR'))
      await service.db.transaction((tx) => service.ledger.clearParties(tx, partnerId, 'EUR'))
      assert.deepEqual(await service.db.transaction((tx) => service.ledger.segregate(tx, partnerId, 'EUR')), [])
      assert.deepEqual(await heldSums(), before)
      return 'booked'
    },
    payout: async () => ended((await pay(service, partner, '1.00', { beneficiaryId: beneficiary.id })).payout.id),
    payoutByQuote: async () => {
      const body = { quoteId: await quoteOf(held), beneficiaryId: inDollars.id, idempotencyKey: newId() }
      return ended((await service.payouts.createFx(caller, body, ip)).payout.id)
    },
    credit,
  }
}

const codesOfHolds = new Set(['account_blocked', 'customer_not_verified'])
const isOfHold = ({ code, detail }: Refusal) =>
  codesOfHolds.has(code) || /waits for a decision about a name/.test(detail ?? '')

suite('the money of a customer', () => {
  for (const state of states)
    for (const [verb, { run, expected }] of Object.entries(rows))
      test(`${state}: ${verb} is ${expected[state]}`, async () => {
        const scene = scenes.get(state)
        assert.ok(scene)
        const outcome = await run(scene).catch((error: unknown) => {
          assert.ok(error instanceof Refusal && isOfHold(error), String(error))
          return 'refused' as const
        })
        assert.equal(outcome, expected[state])
        await checkLedger(service.db, scene.partnerId)
        assert.deepEqual(await ledgerFindings(service.db, scene.partnerId), [])
      })

  test('every operation that moves an amount has a row in the table, or a reason why not', () => {
    const moving = Object.entries(operations).flatMap(([id, operation]) => {
      const { method } = operation
      const body = JSON.stringify('body' in operation ? operation.body : {})
      return method !== 'GET' && /"(?:amount|quoteId|sellAmount|payments)"/.test(body) ? [id] : []
    })
    const known = [...Object.values(rows).flatMap((row) => row.operations), ...Object.keys(withoutRow)]
    assert.ok(moving.length > 10)
    assert.deepEqual(moving.toSorted(), [...new Set(known)].toSorted())
  })

  test('every source file that books entries is in the list of bookings', () => {
    const root = fileURLToPath(new URL('../../service/src/', import.meta.url))
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
      .filter((path) =>
        /ledger\.(?:enter|enterMany|settleMany|fittingUnderLock)\(|\benterMany\(/.test(
          readFileSync(join(root, path), 'utf8'),
        ),
      )
    assert.deepEqual(files.toSorted(), Object.keys(bookings).toSorted())
  })

  test('an entry without the permit for its parties is not booked', async () => {
    const scene = scenes.get('clear')
    assert.ok(scene)
    const { partnerId, held, other } = scene
    const sides = { kind: 'direct', debit: 'balance', credit: 'transfers' } as const
    const moved = { partnerId, currency: 'EUR', amount: 1n, ...sides } as const
    const { ledger, db } = service
    const enter = (permit: Parameters<typeof ledger.enter>[1]['permit'], partyId: string) =>
      db.transaction((tx) =>
        ledger.enter(tx, { id: newId(), permit, transfers: [{ ...moved, partyId, reference: 'r' }] }),
      )
    const [permit] = await ledger.clear(db, [{ transfers: [{ ...moved, partyId: held }] }])
    assert.ok(permit !== undefined && !(permit instanceof Refusal))
    await assert.rejects(enter(permit, other), /parties that were asked about/)
    await assert.rejects(enter({ parties: new Set([`${partnerId} ${held}`]) }, held), /parties that were asked about/)
    await assert.rejects(enter('waits', held), /only reserves/)
  })
})
