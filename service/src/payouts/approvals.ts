/** The verbs of approvals: what a second person sees, signs and decides. */
import { type ApprovalSnapshot, payeeDigestOf } from '@partner-payments/wire'
import { type Caller, Refusal } from '../kernel/api/index.ts'
import { amountText, isSamePerson, randomBytes } from '../kernel/index.ts'
import { type BeyondMaximum, lookBeyondMaximum } from './controls/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { PayoutsDeps } from './deps.ts'
import type * as store from './store.ts'
import { type Approval, approvalById, decisionsOf, keepPayeeSalt, type MadeDecision } from './store-waiting.ts'

export type Approvals = {
  /** The approvals of these payouts of the partner, by payout id. A payout that needs none has none. */
  readonly decisionsOf: (
    partnerId: string,
    payouts: readonly store.PayoutRow[],
  ) => Promise<ReadonlyMap<string, MadeDecision>>
  /**
   * Approves a waiting payout. A repetition by the same caller returns the payout. Refuses: not_found,
   * approver_is_creator, approver_limit_exceeded, permission_denied (no passkey), payout_not_awaiting_approval.
   */
  readonly approve: (caller: Caller, idOrReference: string) => Promise<store.PayoutRow>
  /**
   * The text that a person signs to approve a waiting payout, with what it shows. Refuses: not_found, approver_is_creator,
   * payout_not_awaiting_approval.
   */
  readonly snapshot: (caller: Caller, idOrReference: string, asked: Asked) => Promise<Snapshot>
  /** Cancels a waiting payout. Repetition and refusals as for `approve`. */
  readonly reject: (caller: Caller, idOrReference: string, reason: string) => Promise<store.PayoutRow>
}

/** The page that asks for an approval: its nonce, and until when it can be answered. */
export type Asked = { readonly nonce: string; readonly expiresAt: Date }

type Snapshot = {
  /** JSON of an `ApprovalSnapshot`. */
  readonly text: string
  readonly payout: store.PayoutRow
  readonly needsPasskey: boolean
  /** The daily maximum that an approval by this caller would exceed now. Undefined: none. */
  readonly beyond: BeyondMaximum | undefined
  /** Name of the creator. */
  readonly requestedName: string
  /** True if the creator has left, or may no longer make payouts. The payout stands: it was made by right, and this person answers for it. */
  readonly hasMakerLeft: boolean
  /** The reason why it waits. */
  readonly cause: Approval['cause']
}

type Requested = Pick<Approval, 'requestedBy' | 'requestedName'>

/** A salt of a payee's digest. */
export const newSalt = (): string => Buffer.from(randomBytes(16)).toString('base64url')

type Get = (partnerId: string, idOrReference: string) => Promise<store.PayoutRow>

export function createApprovals({ db, clock, access, mayPay, rates, life }: PayoutsDeps, get: Get): Approvals {
  const requireOtherMaker = createMakerCheck(access, db)
  const decide = async (
    caller: Caller,
    idOrReference: string,
    decision: 'approved' | 'rejected',
    move: (id: string) => Promise<boolean>,
  ): Promise<store.PayoutRow> => {
    const { partnerId, serviceAccountId } = caller
    const { id } = await get(partnerId, idOrReference)
    const approval = await approvalById(db, partnerId, id)
    if (approval?.decision === null) requireSecondPerson(caller, approval)
    if (approval?.decision === null && decision === 'approved') await requireOtherMaker(caller, approval)
    if (approval?.decision === null && decision === 'approved') requirePasskey(caller, approval)
    const isMoved = approval !== undefined && (await move(id))
    const payout = await get(partnerId, id)
    if (isMoved) return payout
    const made = await approvalById(db, partnerId, id)
    if (made?.decision === decision && made.decidedBy === serviceAccountId) return payout
    throw new Refusal('payout_not_awaiting_approval', whyNot(payout, made))
  }
  const byOf = ({ serviceAccountId: id, name, confirmation }: Caller) => ({ id, name, confirmation })
  return {
    snapshot: createSnapshot({ db, clock, access, mayPay, rates }, get),
    approve: (caller, idOrReference) =>
      decide(caller, idOrReference, 'approved', (id) => life.approve(caller.partnerId, id, byOf(caller))),
    reject: (caller, idOrReference, reason) =>
      decide(caller, idOrReference, 'rejected', (id) => life.decline(caller.partnerId, id, byOf(caller), reason)),
    decisionsOf: async (partnerId, payouts) => {
      const ids = payouts.filter(({ approvalExpiresAt }) => approvalExpiresAt !== null).map((each) => each.id)
      const rows = ids.length === 0 ? [] : await decisionsOf(db, partnerId, ids)
      return new Map(rows.map((row) => [row.payoutId, row]))
    },
  }
}

const createSnapshot =
  (
    { db, clock, access, mayPay, rates }: Pick<PayoutsDeps, 'db' | 'clock' | 'access' | 'mayPay' | 'rates'>,
    get: Get,
  ): Approvals['snapshot'] =>
  async (caller, idOrReference, { nonce, expiresAt }) => {
    const { partnerId, serviceAccountId: approverId } = caller
    const payout = await get(partnerId, idOrReference)
    const { id } = payout
    const approval = await approvalById(db, partnerId, id)
    if (approval?.decision !== null) throw new Refusal('payout_not_awaiting_approval', whyNot(payout, approval))
    requireSecondPerson(caller, approval)
    await createMakerCheck(access, db)(caller, approval)
    const salt = await keepPayeeSalt(db, partnerId, id, newSalt())
    const { amount, currency, reference, creditorName, creditorAccount } = payout
    const text = JSON.stringify({
      version: 1,
      purpose: 'approvePayout',
      partnerId,
      payoutId: id,
      reference,
      amount: amountText(amount, currency),
      currency,
      payee: payeeDigestOf(salt, creditorName, creditorAccount),
      approverId,
      expiresAt: expiresAt.toISOString(),
      nonce,
    } satisfies ApprovalSnapshot)
    const { needsPasskey, requestedName, cause } = approval
    const beyond = await lookBeyondMaximum(
      { rates },
      db,
      { payouts: [payout], by: { id: approverId, name: caller.name } },
      clock.now(),
    )
    const hasMakerLeft = !(await mayPay(db, partnerId, approval.requestedBy))
    return { text, payout, needsPasskey, requestedName, hasMakerLeft, cause, beyond }
  }

/**
 * Another credential of the creator has another id and the same name, and a second account of the same person has a
 * similar name.
 */
export function requireSecondPerson(caller: Caller, { requestedBy, requestedName }: Requested): void {
  if (caller.serviceAccountId !== requestedBy && !isSamePerson(caller.name, requestedName)) return
  throw new Refusal(
    'approver_is_creator',
    `The payout was created by ${requestedName}. Another service account must approve it.`,
  )
}

/** A person could make a key, and be the second person of their own payouts by it. */
export const createMakerCheck =
  (access: PayoutsDeps['access'], tx: Tx) =>
  async (caller: Caller, { requestedBy, requestedName }: Requested): Promise<void> => {
    const { partnerId, serviceAccountId, name } = caller
    if (await access.issuerOf(tx, partnerId, serviceAccountId))
      throw new Refusal(
        'permission_denied',
        'A service account that your team made approves no payout. A person, or a service account of the operator, approves it.',
      )
    const maker = await access.issuerOf(tx, partnerId, requestedBy)
    if (maker === undefined || (maker.id !== serviceAccountId && !isSamePerson(maker.name, name))) return
    throw new Refusal(
      'approver_is_creator',
      `The payout was created by ${requestedName}, a service account that you made. Another person must approve it.`,
    )
  }

export function requirePasskey({ confirmation }: Caller, { needsPasskey }: Pick<Approval, 'needsPasskey'>): void {
  if (!needsPasskey || confirmation?.factor === 'passkey') return
  throw new Refusal('permission_denied', 'The rule of this currency demands a person with a passkey, in the console.')
}

function whyNot({ status }: store.PayoutRow, approval: Approval | undefined): string {
  if (approval === undefined) return `The payout is ${status}, and needs no approval.`
  if (approval.decision === null) return `The time for an approval ended at ${approval.expiresAt.toISOString()}.`
  return `The payout is ${status}: it was already ${approval.decision}.`
}
