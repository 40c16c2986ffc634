/**
 * Each verb that moves the money of a customer, in each state of the customer. Money that is on hold moves by a bank's report or by a
 * decision only. A new operation with an amount, and a new place that books entries, need a row here.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { operations, rawNumber } from '@partner-payments/wire'
import { Refusal } from '../../service/src/api/index.ts'
import { operatorPartnerId } from '../../service/src/cases/index.ts'
import { minuteMs, newId } from '../../service/src/kernel/index.ts'
import { processBankNotifications, submitDuePayouts } from '../../service/src/settlement/index.ts'
import { createTestService, ip, pay, type Service, stepMsDefault } from '../support/composition.ts'
import { addTrader, convert, quote } from '../support/fx.ts'
import { findingsOf } from '../support/integrity.ts'
import { createPaidSessions } from '../support/refunds.ts'
import { decideAll, listedName, sampleList, screenAll, sendCredit } from '../support/screening/held.ts'
import { checkLedger } from './ledger-audit.ts'

const states = ['clear', 'open hit', 'confirmed', 'blocked', 'gate closed', 'account closed'] as const
type State = (typeof states)[number]
/** `waits`: accepted and reserved, and the bank is not told. `case`: booked to suspense with a case. */
type Outcome = 'booked' | 'sent' | 'waits' | 'case' | 'refused'

type Scene = Awaited<ReturnType<typeof sceneOf>>
const blocked = {
  clear: 'booked',
  'open hit': 'refused',
  confirmed: 'refused',
  blocked: 'refused',
  'gate closed': 'refused',
  'account closed': 'refused',
} as const
const paid = { ...blocked, clear: 'sent', 'open hit': 'waits', confirmed: 'waits' } as const
const received = {
  clear: 'booked',
  'open hit': 'case',
  confirmed: 'case',
  blocked: 'case',
  'gate closed': 'case',
  'account closed': 'case',
} as const

type Row = {
  /** The operations that move money as this row does. Empty: a bank or the operator does. */
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
    expected: blocked,
  },
  'a transfer from the partner': {
    operations: ['createAccountTransfer'],
    run: ({ transfer, held }) => transfer({ toCustomerId: held }),
    expected: blocked,
  },
  // Blocks and gates bind the partner. What screening holds binds the operator, too.
  'a transfer by the operator': {
    operations: [],
    run: ({ transfer, held, other }) => transfer({ fromCustomerId: held, toCustomerId: other }, false),
    expected: { ...blocked, blocked: 'booked', 'gate closed': 'booked', 'account closed': 'booked' },
  },
  'a conversion': {
    operations: ['createFxConversion'],
    run: ({ converted }) => converted(),
    expected: blocked,
  },
  'a payout': {
    operations: ['createFiatPayout', 'createBulkPayout', 'createStandingOrder', 'simulateWithdrawal'],
    run: ({ payout }) => payout(),
    expected: paid,
  },
  'a refund to the payer': {
    operations: ['createCheckoutRefund'],
    run: ({ refund }) => refund(),
    // The money goes back to who paid it, whatever the customer may do.
    expected: { ...paid, 'gate closed': 'sent' },
  },
  'a payout by quote': {
    operations: ['createFxPayout'],
    run: ({ payoutByQuote }) => payoutByQuote(),
    expected: paid,
  },
  'a credit by the bank': {
    operations: ['createCheckoutSession', 'simulateDeposit', 'simulateCredit', 'simulateCheckoutSession'],
    run: ({ credit }) => credit(),
    expected: received,
  },
}

/** Operations with an amount that move no money, or that of no customer in euros. */
const withoutRow: Readonly<Record<string, string>> = {
  createFxQuote: 'a quote moves no money',
  previewFiatPayout: 'a preview moves no money',
  previewFxPayout: 'a preview moves no money',
  createTokenPayout: 'tokens are payouts: test/chain',
  simulateWalletDeposit: 'tokens are deposits: test/chain',
}

/** The files that book entries, and why holds do not pass them by. */
const bookings: Readonly<Record<string, string>> = {
  'cases/decisions.ts': 'decision: persons decide a case',
  'cases/returns.ts': 'decision: persons return the money of a case',
  'cases/service.ts': 'decision: opens and ends a case, in suspense',
  'ledger/entries.ts': 'the gate',
  'ledger/funds-check.ts': 'judges funds',
  'modules/accounts/transfers.ts': 'asks: the rows of transfers',
  'modules/deposits/debits.ts': 'bank: staff takes back what a bank has taken',
  'modules/deposits/progress.ts': 'bank: the row of credits',
  'modules/deposits/reversals.ts': 'bank: the bank takes a credit back',
  'modules/deposits/service.ts': 'decision: the operator credits the partner itself',
  'modules/deposits/undo.ts': 'bank: staff takes back a wrong credit',
  'modules/fx/conversions.ts': 'asks: the row of conversions',
  'modules/payouts/accept.ts': 'judges funds',
  'modules/payouts/advance.ts': 'bank: a payout ends or comes back',
  'modules/payouts/write.ts': 'waits: the rows of payouts',
  'settlement/wrong-debits.ts': 'bank: staff takes back what a bank has taken',
}

let service: Service
const scenes = new Map<State, Scene>()

before(async () => {
  service = await createTestService()
  await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))
  for (const state of states) scenes.set(state, await sceneOf(state))
  await service.screening.lists.load(await sampleList(), 'Sam Staff')
  await screenAll(service)
  for (const [state, { enter }] of scenes) await enter(state)
})
after(() => service.close())

/** A partner with two customers, who have 1,000.00 each. `held` is the customer whose state is tried. */
async function sceneOf(state: State) {
  const partner = await addTrader(service, ['EUR', 'USD'])
  const { partnerId, customer, caller, beneficiary } = partner
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
  const sessionId = await createPaidSessions(() => service)(partner, held)
  const maker = { caller, ip, requestId: newId() }
  const move = (amount: string, parties: { fromCustomerId?: string; toCustomerId?: string }, byPartner = true) => {
    const body = { amount: rawNumber(amount), currency: 'EUR' as const, ...parties }
    return service.accounts.transfer(partnerId, body, byPartner ? maker : undefined)
  }
  for (const toCustomerId of [held, other.id]) await move('1000.00', { toCustomerId })
  const quoteOf = async () => {
    await service.rates.prepare()
    return (await quote(service, partner, { customerId: held })).row.id
  }
  const usd = { routingNumber: '021000021', accountNumber: '123456', currency: 'USD', customerId: held } as const
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
  return {
    partnerId,
    held,
    other: other.id,
    enter: async (into: State): Promise<void> => {
      if (into === 'confirmed') assert.ok((await decideAll(service, partnerId, 'confirm')) > 0)
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
    converted: async () => {
      await convert(service, partner, await quoteOf())
      return 'booked' as const
    },
    payout: async () => ended((await pay(service, partner, '1.00', { beneficiaryId: beneficiary.id })).payout.id),
    refund: async () => {
      const body = { amount: rawNumber('1.00'), idempotencyKey: newId() }
      return ended((await service.checkout.refund(caller, sessionId, body, ip)).payout.id)
    },
    payoutByQuote: async () => {
      const body = { quoteId: await quoteOf(), beneficiaryId: inDollars.id, idempotencyKey: newId() }
      return ended((await service.payouts.createFx(caller, body, ip)).payout.id)
    },
    credit: async (): Promise<Outcome> => {
      const suspended = async () =>
        (await service.cases.list(undefined, 1000)).filter((row) => row.partnerId === partnerId).length
      const casesBefore = await suspended()
      await sendCredit(service, iban)
      for (let round = 0; round < 5; round += 1) {
        service.clock.advance(stepMsDefault)
        await processBankNotifications(service.settlement)
      }
      return (await suspended()) > casesBefore ? 'case' : 'booked'
    },
  }
}

const codesOfHolds = new Set(['account_blocked', 'customer_not_verified'])

suite('the money of a customer', () => {
  for (const state of states)
    for (const [verb, { run, expected }] of Object.entries(rows))
      test(`${state}: ${verb} is ${expected[state]}`, async () => {
        const scene = scenes.get(state)
        assert.ok(scene)
        const outcome = await run(scene).catch((error: unknown) => {
          assert.ok(error instanceof Refusal && codesOfHolds.has(error.code), String(error))
          return 'refused' as const
        })
        assert.equal(outcome, expected[state])
        await checkLedger(service.db, scene.partnerId)
        assert.deepEqual(await findingsOf(service.db, scene.partnerId), [])
      })

  test('every operation that moves an amount has a row, or a reason', () => {
    const moving = Object.entries(operations).flatMap(([id, operation]) => {
      const { method } = operation
      const body = JSON.stringify('body' in operation ? operation.body : {})
      return method !== 'GET' && /"(?:amount|quoteId|sellAmount|payments)"/.test(body) ? [id] : []
    })
    const known = [...Object.values(rows).flatMap((row) => row.operations), ...Object.keys(withoutRow)]
    assert.ok(moving.length > 10)
    assert.deepEqual(moving.toSorted(), [...new Set(known)].toSorted())
  })

  test('every place that books entries is known', () => {
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
    const moved = {
      partnerId,
      currency: 'EUR',
      amount: 1n,
      kind: 'direct',
      debit: 'balance',
      credit: 'transfers',
    } as const
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
