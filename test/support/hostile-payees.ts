/**
 * Verification of payee on a hostile day: every answer of the scheme, a scheme that throws, does not answer until its worker has lost its lease,
 * or answers two workers; banks that check a name twice, or after the payment has ended; a rule that holds mismatches, on and off.
 */
import assert from 'node:assert/strict'
import { operatorPartnerId } from '../../service/src/cases/index.ts'
import { dayMs, hourMs, newId } from '../../service/src/kernel/index.ts'
import { createRenewals } from '../../service/src/parties/beneficiaries/index.ts'
import { instructionIdOf } from '../../service/src/payouts/index.ts'
import { type Database, sql } from '../../service/src/postgres/index.ts'
import type { BankNotification, Connector } from '../../service/src/rails/index.ts'
import { processBankNotifications } from '../../service/src/banks/settlement/index.ts'
import { createVerification, payeeScheme } from '../../service/src/parties/payee-check/index.ts'
import { setApprovalRule } from './approvals.ts'
import { ip, type Service } from './composition.ts'
import { pick } from './generated-requests.ts'
import { amountOf, type HostileDay, type Operation, payeeAccounts } from './hostile-parts.ts'

/** The first word chooses the answer (docs/sandbox.md). */
const names = [
  'Grace Hopper',
  'CloseMatch Grace Hopper',
  'NoMatch Hopper',
  'NoMatch Hopper',
  'NoMatch Hopper',
  'NotPossible Hopper',
  'Unreachable Hopper',
]
const sandbox = payeeScheme('sandbox')
type Ask = NonNullable<typeof sandbox>['ask']
const answer: Ask = (question, signal) => sandbox?.ask(question, signal) ?? assert.fail('the sandbox has a scheme')

/** A worker with a scheme of its own. */
const renewBy = ({ db, clock, log, eventOutbox }: Service, ask: Ask) => {
  const scheme = { id: 'hostile', timeoutMs: hourMs, ask }
  const verification = createVerification({ log, scheme, ownNames: () => Promise.resolve(undefined) })
  return createRenewals({ db, clock, log, verification, eventOutbox, verificationDaysMax: null })
}

/** Operations that may change what is known of a payee, or the rule: while none runs, what a payout has to do is known exactly. */
export const changing =
  (operation: Operation): Operation =>
  async (day, service, actor) => {
    day.changes.begun += 1
    day.changes.running += 1
    try {
      return await operation(day, service, actor)
    } finally {
      day.changes.running -= 1
    }
  }

const changes: Readonly<Record<string, Operation>> = {
  verifyPayee: ({ random }, { beneficiaries }, { partner: { caller } }) =>
    beneficiaries.verify(caller, { name: pick(random, names), iban: pick(random, payeeAccounts) }),
  addVerified: async ({ random }, { beneficiaries }, { partner, payees, customers }) => {
    const payee = { name: pick(random, names), iban: pick(random, payeeAccounts) }
    const owner = random() < 0.6 ? { customerId: pick(random, customers).id } : {}
    await beneficiaries.verify(partner.caller, payee)
    payees.push((await beneficiaries.create(partner.partnerId, { ...payee, ...owner, currency: 'EUR' })).id)
  },
  renameVerified: ({ random }, { beneficiaries }, { partner, payees }) =>
    beneficiaries.update(partner.partnerId, { id: pick(random, payees), name: pick(random, names) }),
  changePayeeRule: ({ random }, service, { partner: { partnerId } }) =>
    setApprovalRule(service, partnerId, { aboveAmount: 4_001_04n, payeeMismatch: random() < 0.75 }),
  renew: ({ random }, service) => {
    const isBroken = random() < 0.2
    return renewBy(service, isBroken ? () => Promise.reject(new Error('the connection broke')) : answer).renewStep()
  },
  /** The bank says twice what it found, of any payout: also of one that it has not, and after the end. */
  bankChecksPayee: async ({ random }, service, { partner: { partnerId }, payouts }) => {
    const subjectId = instructionIdOf(await service.payouts.get(partnerId, pick(random, payouts)))
    const payee = pick(random, ['match', 'close_match', 'no_match', 'unchecked'] as const)
    const told: BankNotification = { kind: 'payout.payee_checked', partnerId, subjectId, id: newId(), payee }
    const notifications = () => Promise.resolve([told, told])
    const connector: Connector = { ...service.bank, notifications, acknowledge: () => Promise.resolve() }
    await processBankNotifications({ ...service.settlement, connectors: [connector] })
  },
}

export const payeeOperations: Readonly<Record<string, Operation>> = {
  ...Object.fromEntries(Object.entries(changes).map(([name, operation]) => [name, changing(operation)])),
  /** The answer comes when a later operation says so: its worker may have lost its lease to another one. */
  renewLate: (day, service) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const late: Ask = async (question, signal) => {
      await promise
      return answer(question, signal)
    }
    day.late.push({ arrive: resolve, ended: renewBy(service, late).renewStep() })
    return Promise.resolve()
  },
  answerLate: changing(async ({ random, late }) => {
    if (late.length === 0) return
    const [chosen] = late.splice(Math.floor(random() * late.length), 1)
    chosen?.arrive()
    await chosen?.ended
  }),
  payVerified: async (day, { db, payouts, payoutControls }, actor) => {
    const { partner, payees } = actor
    const { partnerId } = partner
    const { begun, running } = day.changes
    const beneficiaryId = pick(day.random, payees.slice(-5))
    const rules = await payoutControls.approvalRules.list(db, partnerId)
    const known = await db.row<{ check: string | null }>(
      sql`select payee_check as check from beneficiaries.beneficiaries where partner_id = ${partnerId} and id = ${beneficiaryId}`,
    )
    const body = { amount: amountOf(day), currency: 'EUR', beneficiaryId, idempotencyKey: newId() } as const
    const { payout } = await payouts.create(partner.caller, body, ip)
    actor.payouts.push(payout.id)
    // A late answer arrives by an operation that counts, or at the end.
    if (running > 0 || day.changes.begun !== begun) return
    const approval = await db.row<{ cause: string }>(
      sql`select cause from payouts.approvals where partner_id = ${partnerId} and payout_id = ${payout.id}`,
    )
    const isHeld = rules.some(({ payeeMismatch }) => payeeMismatch) && /no_match|close_match/.test(known?.check ?? '')
    if ((approval?.cause === 'payee') !== isHeld)
      day.faults.push(`payout ${payout.id} has the approval ${approval?.cause}, its payee ${known?.check}`)
  },
}

/** Late answers arrive, what is due is asked again, and the time of each approval ends. */
export async function finishPayees({ services: [service], late }: HostileDay): Promise<void> {
  const { db, clock, payoutLife } = service
  // Another worker has asked before: the answers that come now are dropped.
  for (let rounds = 0; rounds < 8; rounds += 1) {
    clock.advance(dayMs)
    await renewBy(service, answer).renewStep()
  }
  for (const { arrive } of late) arrive()
  await Promise.all(late.map(({ ended }) => ended))
  while ((await payoutLife.expireApprovalsStep()) > 0);
  const waiting = await db.rows(sql`select id from payouts.payouts where status = 'PendingApproval'`)
  assert.deepEqual(waiting, [], 'no payout waits for ever for an approval')
  const due = await db.rows(
    sql`select beneficiary_id from beneficiaries.renewals where due_at is not null or lease_id is not null`,
  )
  assert.deepEqual(due, [], 'no name waits for ever for an answer')
}

/** Checks that nothing has left against a name without another person, and that each wait was told. Returns how many payouts waited, and left. */
export async function checkPayees(db: Database, partnerId: string): Promise<readonly [held: number, left: number]> {
  if (partnerId === operatorPartnerId) return [0, 0]
  const rows = await db.rows<{
    id: string
    isOwn: boolean
    hasLeft: boolean
    isApproved: boolean
    asked: bigint
    told: bigint
  }>(sql`
    select payout.id, payout.customer_id is null as is_own, timeline @> '[{"step": "Accepted"}]' as has_left,
      coalesce(approval.decision = 'approved' and approval.decided_by <> approval.requested_by, false) as is_approved,
      (select count(*) from events.events as event where event.partner_id = ${partnerId}
        and event.reference = payout.reference and type = 'partner.customer.withdrawal.requested') as asked,
      (select count(*) from events.events as event where event.partner_id = ${partnerId}
        and event.reference = payout.reference and type = 'transaction.status.changed') as told
    from payouts.approvals as approval
      join payouts.payouts as payout on payout.partner_id = ${partnerId} and payout.id = approval.payout_id
      join transactions.transactions as transaction on transaction.partner_id = ${partnerId} and transaction.id = payout.transaction_id
    where approval.partner_id = ${partnerId} and approval.cause = 'payee'`)
  for (const { id, isOwn, hasLeft, isApproved, asked } of rows) {
    assert.ok(isApproved || !hasLeft, `payout ${id} has left to another name, and no second person released it`)
    assert.equal(asked, isOwn ? 0n : 1n, `the partner is told once that payout ${id} waits`)
  }
  const silent = rows.filter(({ hasLeft, told }) => !hasLeft && told !== 1n)
  assert.deepEqual(silent, [], 'the end of each wait is told once')
  const repeated = await db.rows(sql`
    select data::jsonb ->> 'verificationId' as id from events.events
    where partner_id = ${partnerId} and type = 'beneficiary.verification.worsened' group by 1 having count(*) > 1`)
  assert.deepEqual(repeated, [], 'a worse answer is told once')
  const forgotten = await db.rows(sql`
    select payee.id, payee.name from beneficiaries.beneficiaries as payee
      join beneficiaries.renewals as renewal on renewal.partner_id = ${partnerId} and renewal.beneficiary_id = payee.id
    where payee.partner_id = ${partnerId} and payee.removed_at is null and payee.payee_check is null
      and (select result from beneficiaries.verifications as verification
        where verification.partner_id = ${partnerId} and verification.iban = payee.iban and verification.name = payee.name
        order by id desc limit 1) <> 'NotPossible'`)
  assert.deepEqual(forgotten, [], 'what the scheme answered about the present name of a payee is known')
  return [rows.length, rows.filter(({ hasLeft }) => hasLeft).length]
}
