/**
 * Random days of a partner whose payments are guarded, on a real database: gates with maximum balances, verification of
 * payee with every answer of the scheme and of the bank, rules of monitoring before and after the payment, decisions by
 * two people. The balance is pooled or segregated. The oracle (guarded.ts) computes the state after each step.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rawNumber } from '@partner-payments/wire'
import fc from 'fast-check'
import type { Caller } from '../../service/src/kernel/api/index.ts'
import { operatorPartnerId } from '../../service/src/cases/index.ts'
import { amountText, newId, present, secondMs } from '../../service/src/kernel/index.ts'
import { readRule } from '../../service/src/monitoring/index.ts'
import { instructionIdOf } from '../../service/src/payouts/index.ts'
import { processBankNotifications, submitDuePayouts } from '../../service/src/banks/settlement/index.ts'
import { setApprovalRule } from '../support/approvals.ts'
import { ip, pay, stepMsDefault } from '../support/composition.ts'
import { drawing, weighted } from '../support/drawing.ts'
import * as oracle from './guarded.ts'
import { alertsOf, all, compare, type Day, prepare } from './guarded-day.ts'
import { checkLedger } from './ledger-audit.ts'
import { useModules } from '../support/fixture.ts'
import { pluck } from '../support/pluck.ts'
import { answerOrCode } from '../support/refusals.ts'

const amounts = [10_00n, 60_00n, 250_00n, oracle.rejected, oracle.refused]
const states = ['Complete', 'Incomplete', 'Invalid'] as const
const names = ['Grace Hopper', 'CloseMatch Grace Hopper', 'NoMatch Hopper', 'NotPossible Hopper', 'Unreachable Hopper']
const kyc = {
  ...{ fullName: 'Ada Lovelace', citizenshipCountryCode: 'GB', addressLine1: '12 St James Square', city: 'London' },
  ...{ dateOfBirth: '1990-12-10', lei: '' },
}
const kycOf = { Complete: kyc, Incomplete: { ...kyc, city: '' }, Invalid: { ...kyc, lei: 'X' } } as const

const pick = fc.nat(1000)
const amount = fc.constantFrom(...amounts)
const customer = fc.constantFrom(0 as const, 1 as const)
const owner = fc.constantFrom(null, 0 as const, 1 as const)
const name = fc.constantFrom(...names)
const state = fc.constantFrom(...states)
const allowed = fc.subarray([...all])
const max = fc.constantFrom(undefined, 300_00n, 5_000_00n)
const action = fc.oneof(
  weighted(2, 'kyc', { customer, state }),
  weighted(2, 'gate', { state, allowed, max }),
  weighted(1, 'ungate', { state }),
  weighted(4, 'credit', { customer, amount }),
  weighted(1, 'match', { pick }),
  weighted(2, 'transfer', { from: owner, to: owner, amount }),
  weighted(7, 'pay', { pick, amount }),
  weighted(3, 'verify', { pick, name }),
  weighted(2, 'rename', { pick, name }),
  weighted(2, 'renew', {}),
  weighted(1, 'mismatch', { holds: fc.boolean() }),
  weighted(2, 'bank', { pick, result: fc.constantFrom('match', 'close_match', 'no_match') }),
  weighted(3, 'decide', { pick, how: fc.constantFrom('approve', 'reject', 'cancel') }),
  weighted(1, 'lapse', {}),
  weighted(2, 'rule', { when: fc.constantFrom('before', 'after'), country: fc.constantFrom('FR', 'NL') }),
  weighted(1, 'ruleOff', { pick }),
  weighted(3, 'alert', { pick, how: fc.constantFrom('release', 'refuse') }),
  weighted(6, 'send', {}),
  weighted(4, 'settle', {}),
  weighted(3, 'look', {}),
)
type Action = typeof action extends fc.Arbitrary<infer A> ? A : never

const service = await useModules({ connectionsMax: 4 })
await service.db.transaction((tx) => service.access.addOperator(tx, operatorPartnerId))

const text = (minor: bigint) => rawNumber(amountText(minor, 'EUR'))
const nth = <T>(list: readonly T[], at: number): T | undefined => list[at % Math.max(1, list.length)]
const verdictOf = (answer: unknown): string => (typeof answer === 'string' ? answer : 'accepted')

function pass({ world }: Day, ms: number): void {
  service.clock.advance(ms)
  world.now += ms
}

/** Closes the breaker of the scheme by a call that is answered, because the breaker uses real time. */
const calm = ({ partner }: Day) =>
  service.beneficiaries.verify(partner.caller, { name: 'Joan Clarke', iban: 'DE89370400440532013000' })

async function twoPersons(id: string, partnerId: string, proposing: object): Promise<void> {
  const { db, decisions } = service
  const given = { partnerId, id, note: 'Read the contract.', staff: 'Ada', ...proposing } as never
  await db.transaction((tx) => decisions.propose(tx, given))
  const approve = (staff: string) => db.transaction((tx) => decisions.approve(tx, { partnerId, id, staff }))
  assert.equal(await answerOrCode(approve('Ada')), 'validation_failed', 'one person decides nothing')
  await approve('Grace')
}

async function money(day: Day, given: Extract<Action, { kind: 'credit' | 'match' | 'transfer' }>): Promise<void> {
  const { world, partner, partnerId, customers } = day
  if (given.kind === 'credit') {
    const { iban = '' } = customers[given.customer] ?? {}
    const body = { iban, amount: text(given.amount), currency: 'EUR', debtorName: 'Grace Hopper' } as const
    await service.simulations.credit(partner.caller, body)
    // The bank reports in the order of time, so that payments sent before are settled, too.
    await settle(day)
    return oracle.credit(world, given.customer, given.amount)
  }
  if (given.kind === 'match') {
    const waiting = world.suspended.filter(({ isOpen }) => isOpen)
    const open = (await service.cases.list(undefined, 10_000)).filter(
      (row) => row.partnerId === partnerId && row.kind === 'customer_not_verified',
    )
    assert.deepEqual(
      pluck(open, 'booked'),
      waiting.map((one) => one.amount),
    )
    const at = given.pick % Math.max(1, waiting.length)
    const [found, chosen] = [open[at], waiting[at]]
    if (found === undefined || chosen === undefined) return
    const customerId = customers[chosen.customer]?.id
    await twoPersons(found.id, partnerId, { action: 'match', customerId })
    return oracle.match(world, chosen)
  }
  const idOf = (of: oracle.Owner) => (of === null ? undefined : customers[of]?.id)
  const [fromCustomerId, toCustomerId] = [idOf(given.from), idOf(given.to)]
  const ends = { ...(fromCustomerId && { fromCustomerId }), ...(toCustomerId && { toCustomerId }) }
  const body = { amount: text(given.amount), currency: 'EUR', ...ends } as const
  const maker = { caller: partner.caller, ip, requestId: newId() }
  const answer = await answerOrCode(service.accounts.transfer(partnerId, body, maker))
  const expected = oracle.verdictOfTransfer(world, given.from, given.to, given.amount)
  assert.equal(verdictOf(answer), expected, `${given.from} gives ${given.to} ${given.amount}`)
  if (expected === 'accepted') oracle.transfer(world, given.from, given.to, given.amount)
}

async function settle(day: Day): Promise<void> {
  pass(day, stepMsDefault)
  while ((await processBankNotifications(service.settlement)) > 0);
  oracle.settle(day.world)
}

async function payOne({ world, partner }: Day, given: Extract<Action, { kind: 'pay' }>): Promise<void> {
  const payee = present(nth(world.payees, given.pick), 'a payee')
  const answer = await answerOrCode(pay(service, partner, amountText(given.amount, 'EUR'), { beneficiaryId: payee.id }))
  const expected = oracle.verdictOfPayout(world, payee, given.amount)
  assert.equal(verdictOf(answer), expected, `${given.amount} for ${payee.owner}`)
  if (typeof answer === 'string') return
  const { id, reference } = answer.payout
  const { status } = oracle.pay(world, payee, given.amount, { id, reference })
  assert.equal(answer.payout.status, status, `${payee.name}, last found: ${payee.check}`)
}

async function payees(
  day: Day,
  given: Extract<Action, { kind: 'verify' | 'rename' | 'renew' | 'bank' }>,
): Promise<void> {
  const { world, partner, partnerId } = day
  if (given.kind === 'renew') {
    while ((await service.renewals.renewStep()) > 0);
    await calm(day)
    return oracle.renew(world)
  }
  if (given.kind === 'bank') {
    const payout = nth(
      world.payouts.filter((each) => each.status === 'Sent' && each.bankCheck === null),
      given.pick,
    )
    if (payout === undefined) return
    const reported = { partnerId, instructionId: instructionIdOf(await service.payouts.get(partnerId, payout.id)) }
    for (const isNew of [true, false])
      assert.equal(await service.payoutLife.payeeChecked(reported, given.result as 'match'), isNew)
    return oracle.bankChecks(
      world,
      payout,
      ...(
        {
          match: ['Match', 'PayeeMatched'],
          close_match: ['CloseMatch', 'PayeeMatchedClosely'],
          no_match: ['NoMatch', 'PayeeNotMatched'],
        } as const
      )[given.result as 'match'],
    )
  }
  const payee = present(nth(world.payees, given.pick), 'a payee')
  if (given.kind === 'rename') {
    await service.beneficiaries.update(partnerId, { id: payee.id, name: given.name })
    return oracle.rename(world, payee, given.name)
  }
  const { result } = await service.beneficiaries.verify(partner.caller, { name: given.name, iban: payee.iban })
  assert.equal(result, oracle.verify(world, given.name, payee.iban))
  await calm(day)
}

async function decide(day: Day, { pick: at, how }: Extract<Action, { kind: 'decide' }>): Promise<void> {
  const { world, partner, partnerId, second } = day
  const payout = nth(world.payouts, at)
  if (payout === undefined) return
  const { payouts } = service
  const { id, status } = payout
  if (how === 'cancel') {
    const answer = await answerOrCode(payouts.cancel(partnerId, id))
    const isOpen = status === 'Pending' || status === 'PendingApproval'
    assert.equal(typeof answer !== 'string', isOpen || status === 'Cancelled', `it is cancelled as ${status}`)
    if (isOpen) oracle.move(world, payout, 'Cancelled', 'Cancelled')
    return
  }
  const act = (by: Caller) =>
    answerOrCode(how === 'approve' ? payouts.approve(by, id) : payouts.reject(by, id, 'Another name.'))
  if (status !== 'PendingApproval') return
  assert.equal(await act(partner.caller), 'approver_is_creator')
  assert.notEqual(typeof (await act(second)), 'string')
  if (how === 'approve') oracle.move(world, payout, 'Pending', 'Approval')
  else oracle.move(world, payout, 'Cancelled', 'Cancelled')
}

async function rules(day: Day, given: Extract<Action, { kind: 'rule' | 'ruleOff' | 'alert' }>): Promise<void> {
  const { db, monitoring } = service
  const { world, partnerId } = day
  if (given.kind === 'alert') {
    const alert = nth(
      world.alerts.filter(({ resolution }) => resolution === null),
      given.pick,
    )
    if (alert === undefined) return
    const { id } = present(
      (await alertsOf(day)).find((row) => row.alert === alert),
      'an alert',
    )
    const decided = answerOrCode(
      twoPersons(id, partnerId, { action: given.how, disposition: given.how === 'release' ? 'explained' : 'fraud' }),
    )
    const canRefuse = oracle.standingOf(alert).waiting > 0n
    if (given.how === 'refuse' && !canRefuse)
      return assert.equal(await decided, 'validation_failed', 'what has left or ended is not refused')
    assert.equal(await decided, undefined)
    alert.resolution = given.how === 'release' ? 'released' : 'refused'
    return
  }
  pass(day, secondMs)
  if (given.kind === 'ruleOff') {
    const rule = nth(
      world.rules.filter(({ isOn }) => isOn),
      given.pick,
    )
    if (rule !== undefined) await turnOff(rule)
    return
  }
  const pattern = { kind: 'country', direction: 'Outward', countries: [given.country], sum: '50.00' }
  const draft = readRule(
    JSON.stringify({ name: 'A rule', currency: 'EUR', when: given.when, partners: [partnerId], ...pattern }),
  )
  const { id } = await db.transaction((tx) => monitoring.setRule(tx, { draft, staff: 'Ada' }))
  await monitoring.backtest({ id, from: '2026-01-01', until: '2026-01-01', staff: 'Ada' })
  for (const staff of ['Ada', 'Grace']) await db.transaction((tx) => monitoring.turnOn(tx, { id, staff }))
  const { when, country } = given as { when: 'before' | 'after'; country: string }
  world.rules.push({ id, when, country, least: 50_00n, since: world.now, isOn: true, found: new Set() })
  pass(day, secondMs)
}

async function turnOff(rule: oracle.Rule): Promise<void> {
  for (const staff of ['Ada', 'Grace'])
    await service.db.transaction((tx) => service.monitoring.turnOff(tx, { id: rule.id, staff }))
  rule.isOn = false
}

async function mismatch({ world, partnerId }: Day, holds: boolean): Promise<void> {
  const { approvalRules } = service.payoutControls
  if (holds) await setApprovalRule(service, partnerId, { payeeMismatch: true })
  else
    for (const { id } of await approvalRules.list(service.db, partnerId))
      await service.db.transaction((tx) => approvalRules.remove(tx, partnerId, id))
  world.holdsMismatches = holds
}

async function run(day: Day, given: Action): Promise<void> {
  const { world, partnerId, customers } = day
  switch (given.kind) {
    case 'kyc': {
      const one = present(world.customers[given.customer], 'a customer')
      await service.customers.update(partnerId, customers[given.customer]?.id ?? '', { kyc: kycOf[given.state] })
      one.state = given.state
      return
    }
    case 'gate': {
      const { state: of, allowed: may, max: most } = given
      const balancesMax = most === undefined ? {} : { balancesMax: { EUR: most } }
      const gate = { partnerId, state: of, allowed: may, ...balancesMax }
      await service.db.transaction((tx) => service.customers.gates.set(tx, gate))
      world.gates.set(of, { allowed: may, max: most })
      return
    }
    case 'ungate':
      if (world.gates.delete(given.state))
        await service.db.transaction((tx) => service.customers.gates.remove(tx, partnerId, given.state))
      return
    case 'credit':
    case 'match':
    case 'transfer':
      return money(day, given)
    case 'pay':
      return payOne(day, given)
    case 'verify':
    case 'rename':
    case 'renew':
    case 'bank':
      return payees(day, given)
    case 'mismatch':
      return mismatch(day, given.holds)
    case 'decide':
      return decide(day, given)
    case 'lapse':
      pass(day, oracle.approvalMs + secondMs)
      while ((await service.payoutLife.expireApprovalsStep()) > 0);
      return oracle.lapse(world)
    case 'rule':
    case 'ruleOff':
    case 'alert':
      return rules(day, given)
    case 'send':
      // Longer than every lease, the interval between checks of waiting payments, and the time for which a process
      // caches rules.
      pass(day, 31 * secondMs)
      while ((await submitDuePayouts(service.settlement)) > 0);
      return oracle.send(world)
    case 'settle':
      return settle(day)
    case 'look':
      pass(day, secondMs)
      while ((await service.monitoring.step()) > 0);
      oracle.look(world)
      return pass(day, secondMs)
  }
}

/** The customers have money, and a rule holds payouts, because random days would rarely begin so. */
const beginning: readonly Action[] = [
  { kind: 'credit', customer: 0, amount: 4001_01n },
  { kind: 'credit', customer: 1, amount: 4001_01n },
  { kind: 'mismatch', holds: true },
  { kind: 'rule', when: 'before', country: 'FR' },
]

test('held payouts are not paid and every cent is accounted for, in any order of gates, names, rules and decisions', async (t) => {
  const ends = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 20, maxLength: 35 }), fc.boolean(), async (steps, isSegregated) => {
      const day = await prepare(service, isSegregated)
      for (const given of [...beginning, ...steps]) {
        await run(day, given)
        await compare(day)
      }
      // Nothing waits for ever: people decide the alerts, and approvals expire.
      for (let at = 0; day.world.alerts.some(({ resolution }) => resolution === null); at += 1)
        await run(day, { kind: 'alert', pick: 0, how: at % 2 === 0 ? 'refuse' : 'release' })
      for (const kind of ['lapse', 'send', 'settle'] as const) await run(day, { kind })
      for (const { status, steps: taken } of day.world.payouts) {
        const open = taken.includes('Screening') && status === 'Pending'
        assert.ok(open || ['Completed', 'Failed', 'Cancelled'].includes(status), status)
        ends.set(status, (ends.get(status) ?? 0) + 1)
      }
      await compare(day)
      await checkLedger(service.db, day.partnerId)
      for (const rule of day.world.rules) if (rule.isOn) await turnOff(rule)
    }),
    drawing(t, 4),
  )
  t.diagnostic(`payouts: ${JSON.stringify(Object.fromEntries(ends))}`)
})
