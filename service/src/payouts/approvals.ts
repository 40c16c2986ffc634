/** The operations of approvals: what a second person sees, signs and decides. */
import {
  type ApprovalSnapshot,
  type BulkApprovalItem,
  type BulkApprovalSnapshot,
  bulkItemText,
  leafHash,
  ownJson,
  payeeDigest,
  type SignedApproval,
  merkleTree,
} from '@partner-payments/wire'
import { type Caller, Refusal } from '../kernel/api/index.ts'
import {
  amountText,
  type Currency,
  isSamePerson,
  type Minor,
  present,
  randomBytes,
  type Money,
} from '../kernel/index.ts'
import { type BeyondMaximum, findExceededMaximum } from './controls/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import type { PayoutsDeps } from './deps.ts'
import { type PayoutRow, payoutsByIds } from './store.ts'
import * as store from './store-approvals.ts'

export type Approvals = {
  /** Reads the approvals of payouts, by payout id. A payout that needs no approval is absent. */
  readonly decisionsOf: (
    partnerId: string,
    payouts: readonly PayoutRow[],
  ) => Promise<ReadonlyMap<string, store.ApprovalRecord>>
  /**
   * Approves a waiting payout. Repeating it as the same caller returns the payout. Refuses: not_found,
   * approver_is_creator, approver_limit_exceeded, permission_denied (no passkey), payout_not_awaiting_approval.
   */
  readonly approve: (caller: Caller, idOrReference: string) => Promise<PayoutRow>
  /**
   * Returns the text that a person signs to approve a waiting payout, with its data. Refuses: not_found,
   * approver_is_creator, payout_not_awaiting_approval.
   */
  readonly snapshot: (caller: Caller, idOrReference: string, asked: ApprovalPage) => Promise<PayoutSnapshot>
  /** Cancels a waiting payout. Repetition and refusals as for `approve`. */
  readonly reject: (caller: Caller, idOrReference: string, reason: string) => Promise<PayoutRow>
}

/** Page that requests an approval: its nonce and its expiry. */
export type ApprovalPage = { readonly nonce: string; readonly expiresAt: Date }

type PayoutSnapshot = {
  /** JSON of an `ApprovalSnapshot`. */
  readonly text: string
  readonly payout: PayoutRow
  readonly needsPasskey: boolean
  /** The daily maximum that an approval by this caller would exceed now. Undefined: none. */
  readonly beyond: BeyondMaximum | undefined
  /** Name of the creator. */
  readonly requestedName: string
  /**
   * True: the creator has left, or may no longer create payouts. The payout stays valid, and the approver is
   * responsible for it.
   */
  readonly hasMakerLeft: boolean
  /** Reason why the payout waits. */
  readonly cause: store.Approval['cause']
}

type ApprovalRequester = Pick<store.Approval, 'requestedBy' | 'requestedName'>

/** Creates a salt for a payee's digest. */
const newSalt = (): string => Buffer.from(randomBytes(16)).toString('base64url')

type GetPayout = (partnerId: string, idOrReference: string) => Promise<PayoutRow>

export function createApprovals({ db, clock, access, mayPay, rates, life }: PayoutsDeps, get: GetPayout): Approvals {
  const requireOtherMaker = createMakerCheck(access, db)
  const decide = async (
    caller: Caller,
    idOrReference: string,
    decision: 'approved' | 'rejected',
    move: (id: string) => Promise<boolean>,
  ): Promise<PayoutRow> => {
    const { partnerId, serviceAccountId } = caller
    const { id } = await get(partnerId, idOrReference)
    const approval = await store.approvalById(db, partnerId, id)
    if (approval?.decision === null) requireSecondPerson(caller, approval)
    if (approval?.decision === null && decision === 'approved') await requireOtherMaker(caller, approval)
    if (approval?.decision === null && decision === 'approved') requirePasskey(caller, approval)
    const isMoved = approval !== undefined && (await move(id))
    const payout = await get(partnerId, id)
    if (isMoved) return payout
    const made = await store.approvalById(db, partnerId, id)
    if (made?.decision === decision && made.decidedBy === serviceAccountId) return payout
    throw new Refusal('payout_not_awaiting_approval', notWaitingText(payout, made))
  }
  const byOf = ({ serviceAccountId: id, name, confirmation }: Caller) => ({ id, name, confirmation })
  return {
    snapshot: createSnapshot({ db, clock, mayPay, rates, requireOtherMaker }, get),
    approve: (caller, idOrReference) =>
      decide(caller, idOrReference, 'approved', (id) => life.approve(caller.partnerId, id, byOf(caller))),
    reject: (caller, idOrReference, reason) =>
      decide(caller, idOrReference, 'rejected', (id) => life.decline(caller.partnerId, id, byOf(caller), reason)),
    decisionsOf: async (partnerId, payouts) => {
      const ids = payouts.filter(({ approvalExpiresAt }) => approvalExpiresAt !== null).map((each) => each.id)
      const rows = ids.length === 0 ? [] : await store.decisionsOf(db, partnerId, ids)
      return new Map(rows.map((row) => [row.payoutId, row]))
    },
  }
}

const createSnapshot =
  (
    {
      db,
      clock,
      mayPay,
      rates,
      requireOtherMaker,
    }: Pick<PayoutsDeps, 'db' | 'clock' | 'mayPay' | 'rates'> & {
      readonly requireOtherMaker: ReturnType<typeof createMakerCheck>
    },
    get: GetPayout,
  ): Approvals['snapshot'] =>
  async (caller, idOrReference, { nonce, expiresAt }) => {
    const { partnerId, serviceAccountId: approverId } = caller
    const payout = await get(partnerId, idOrReference)
    const { id } = payout
    const approval = await store.approvalById(db, partnerId, id)
    if (approval?.decision !== null) throw new Refusal('payout_not_awaiting_approval', notWaitingText(payout, approval))
    requireSecondPerson(caller, approval)
    await requireOtherMaker(caller, approval)
    const salt = await store.storePayeeSalt(db, partnerId, id, newSalt())
    const { amount, currency, reference, creditorName, creditorAccount } = payout
    const text = JSON.stringify({
      version: 1,
      purpose: 'approvePayout',
      partnerId,
      payoutId: id,
      reference,
      amount: amountText(amount, currency),
      currency,
      payee: payeeDigest(salt, creditorName, creditorAccount),
      approverId,
      expiresAt: expiresAt.toISOString(),
      nonce,
    } satisfies ApprovalSnapshot)
    const { needsPasskey, requestedName, cause } = approval
    const beyond = await findExceededMaximum(
      { rates },
      db,
      { payouts: [payout], by: { id: approverId, name: caller.name } },
      clock.now(),
    )
    const hasMakerLeft = !(await mayPay(db, partnerId, approval.requestedBy))
    return { text, payout, needsPasskey, requestedName, hasMakerLeft, cause, beyond }
  }

/**
 * Refuses approval by the creator of the payout. Another credential of the creator has a different id and the same name. A second account
 * of the same person has a similar name.
 */
function requireSecondPerson(caller: Caller, { requestedBy, requestedName }: ApprovalRequester): void {
  if (caller.serviceAccountId !== requestedBy && !isSamePerson(caller.name, requestedName)) return
  throw new Refusal(
    'approver_is_creator',
    `The payout was created by ${requestedName}. Another service account must approve it.`,
  )
}

/** A person could create an API key, and use it to approve their own payouts. */
const createMakerCheck =
  (access: PayoutsDeps['access'], tx: Tx) =>
  async (caller: Caller, { requestedBy, requestedName }: ApprovalRequester): Promise<void> => {
    const { partnerId, serviceAccountId, name } = caller
    if (await access.issuerOf(tx, partnerId, serviceAccountId))
      throw new Refusal(
        'permission_denied',
        'A service account that your team created cannot approve payouts. A person, or a service account of the operator, must approve it.',
      )
    const maker = await access.issuerOf(tx, partnerId, requestedBy)
    if (maker === undefined || (maker.id !== serviceAccountId && !isSamePerson(maker.name, name))) return
    throw new Refusal(
      'approver_is_creator',
      `The payout was created by ${requestedName}, a service account that you created. Another person must approve it.`,
    )
  }

function requirePasskey({ confirmation }: Caller, { needsPasskey }: Pick<store.Approval, 'needsPasskey'>): void {
  if (!needsPasskey || confirmation?.factor === 'passkey') return
  throw new Refusal(
    'permission_denied',
    'The approval rule of this currency requires a person with a passkey. Approve the payout in the console.',
  )
}

function notWaitingText({ status }: PayoutRow, approval: store.Approval | undefined): string {
  if (approval === undefined) return `The payout is ${status}, and needs no approval.`
  if (approval.decision === null) return `The time for an approval ended at ${approval.expiresAt.toISOString()}.`
  return `The payout is ${status}: it was already ${approval.decision}.`
}

// Approvals of the payouts of a bulk as a whole. One signature covers their number, their sums and the root of a hash
// tree, so that each payout is proved without the others. The payouts move one by one, each with its place in the tree:
// if the process ends in between, some payouts are approved and the others still wait.

/** Payouts of a bulk that wait for an approval, in the order of their references. */
export type BulkAwaitingApproval = {
  readonly payouts: readonly PayoutRow[]
  /** Sums by currency, in the order of the codes. */
  readonly totals: readonly Money[]
  /** Earliest expiry among the payouts. */
  readonly expiresAt: Date
  readonly needsPasskey: boolean
  /** Accounts that requested them, usually one. */
  readonly requesters: readonly Requester[]
}
type Requester = { readonly requestedBy: string; readonly requestedName: string }

export type BulkDecision = {
  readonly decided: number
  /** Payouts whose approval was refused, while the others were decided. */
  readonly refused: readonly { readonly payoutId: string; readonly refusal: Refusal }[]
}

export type BulkApprovals = {
  /** Reads the waiting payouts of a bulk. Undefined: none waits. */
  readonly waitingOfBulk: (partnerId: string, bulkId: string) => Promise<BulkAwaitingApproval | undefined>
  /** Lists the newest bulks with waiting payouts. */
  readonly bulksThatWait: (partnerId: string) => Promise<readonly string[]>
  /** Returns the text that a person signs for all waiting payouts. Refuses: approver_is_creator, payout_not_awaiting_approval. */
  readonly snapshotOfBulk: (caller: Caller, bulkId: string, asked: ApprovalPage) => Promise<BulkSnapshot>
  /**
   * Approves all waiting payouts, if their number is as given. Refuses: approver_is_creator, approver_limit_exceeded,
   * payout_not_awaiting_approval, permission_denied.
   */
  readonly approveBulk: (caller: Caller, bulkId: string, payouts: number) => Promise<BulkDecision>
  /** Cancels all waiting payouts. Refusals as for `approveBulk`. */
  readonly rejectBulk: (caller: Caller, bulkId: string, payouts: number, reason: string) => Promise<BulkDecision>
}

type BulkSnapshot = BulkAwaitingApproval & {
  /** True: one of the requesters has left, or may no longer create payouts. */
  readonly hasMakerLeft: boolean
  /** JSON of a `BulkApprovalSnapshot`. */
  readonly text: string
  readonly beyond: BeyondMaximum | undefined
}

const bulksShownMax = 100

type Deps = Pick<PayoutsDeps, 'db' | 'clock' | 'access' | 'life' | 'mayPay' | 'rates'>

export function createBulkApprovals(deps: Deps): BulkApprovals {
  const { db, access, life } = deps
  const requireOtherMaker = createMakerCheck(access, db)
  const waitingFor = async (caller: Caller, bulkId: string): Promise<BulkAwaitingApproval> => {
    const waiting = await readWaiting(deps, caller.partnerId, bulkId)
    if (waiting === undefined)
      throw new Refusal('payout_not_awaiting_approval', 'No payout of the bulk awaits approval.')
    for (const requester of waiting.requesters) requireSecondPerson(caller, requester)
    return waiting
  }
  const forCount = async (caller: Caller, bulkId: string, payouts: number): Promise<BulkAwaitingApproval> => {
    const waiting = await waitingFor(caller, bulkId)
    const { length } = waiting.payouts
    if (length !== payouts)
      throw new Refusal(
        'payout_not_awaiting_approval',
        `${length} payouts of the bulk await approval, not ${payouts}. Read the bulk again.`,
      )
    return waiting
  }
  const requireOtherMakers = async (caller: Caller, { requesters }: BulkAwaitingApproval) => {
    for (const requester of requesters) await requireOtherMaker(caller, requester)
  }
  return {
    waitingOfBulk: (partnerId, bulkId) => readWaiting(deps, partnerId, bulkId),
    bulksThatWait: async (partnerId) =>
      (await store.bulksAwaitingApproval(db, partnerId, bulksShownMax)).map(({ bulkId }) => bulkId),
    snapshotOfBulk: async (caller, bulkId, asked) => {
      const waiting = await waitingFor(caller, bulkId)
      await requireOtherMakers(caller, waiting)
      const { root } = merkleTree((await readItems(deps, waiting)).map((item) => leafHash(bulkItemText(item))))
      const text = snapshotText(caller, bulkId, waiting, root, asked)
      const may = await Promise.all(
        waiting.requesters.map(({ requestedBy }) => deps.mayPay(db, caller.partnerId, requestedBy)),
      )
      return {
        ...waiting,
        text,
        hasMakerLeft: may.includes(false),
        beyond: await findExceededByAll(deps, caller, waiting),
      }
    },
    approveBulk: async (caller, bulkId, payouts) => {
      const waiting = await forCount(caller, bulkId, payouts)
      await requireOtherMakers(caller, waiting)
      requirePasskey(caller, waiting)
      const beyond = await findExceededByAll(deps, caller, waiting)
      if (beyond !== undefined) throw refuseTooMuch(beyond)
      const evidenceOf = await createEvidence(deps, caller, waiting)
      const { serviceAccountId: id, name, partnerId } = caller
      return decideAll(waiting, (payout, index) =>
        life.approve(partnerId, payout.id, { id, name, confirmation: evidenceOf(index) }),
      )
    },
    rejectBulk: async (caller, bulkId, payouts, reason) => {
      const waiting = await forCount(caller, bulkId, payouts)
      const { serviceAccountId: id, name, confirmation, partnerId } = caller
      const by = { id, name, confirmation }
      return decideAll(waiting, (payout) => life.decline(partnerId, payout.id, by, reason, bulkId))
    },
  }
}

async function readWaiting(
  { db, clock }: Deps,
  partnerId: string,
  bulkId: string,
): Promise<BulkAwaitingApproval | undefined> {
  const open = await store.openApprovalsOfBulk(db, partnerId, bulkId, clock.now())
  const rows = await payoutsByIds(
    db,
    partnerId,
    open.map(({ payoutId }) => payoutId),
  )
  const approvals = new Map(open.map((approval) => [approval.payoutId, approval]))
  const payouts = rows
    .filter(({ status }) => status === 'PendingApproval')
    .toSorted((one, other) => (one.reference < other.reference ? -1 : 1))
  const own = payouts.map(({ id }) => present(approvals.get(id), `no approval for payout ${id}`))
  const [first] = own
  if (first === undefined) return undefined
  const sums = new Map<Currency, Minor>()
  for (const { currency, amount } of payouts) sums.set(currency, (sums.get(currency) ?? 0n) + amount)
  return {
    payouts,
    totals: [...sums]
      .map(([currency, amount]) => ({ currency, amount }))
      .toSorted((a, b) => (a.currency < b.currency ? -1 : 1)),
    expiresAt: own.reduce((soonest, { expiresAt }) => (expiresAt < soonest ? expiresAt : soonest), first.expiresAt),
    needsPasskey: own.some(({ needsPasskey }) => needsPasskey),
    requesters: [...new Map(own.map((each) => [`${each.requestedBy} ${each.requestedName}`, each])).values()],
  }
}

/** Lists the leaves of the Merkle tree. The salts of the payees are created when a tree is first needed. */
async function readItems({ db }: Deps, { payouts }: BulkAwaitingApproval): Promise<readonly BulkApprovalItem[]> {
  const [first] = payouts
  if (first === undefined) return []
  const wanted = payouts.map(({ id: payoutId }) => ({ payoutId, salt: newSalt() }))
  const salts = await store.storePayeeSalts(db, first.partnerId, wanted)
  return payouts.map(({ id, reference, amount, currency, creditorName, creditorAccount }) => ({
    reference,
    amount: amountText(amount, currency),
    currency,
    payee: payeeDigest(present(salts.get(id), `no payee salt for payout ${id}`), creditorName, creditorAccount),
  }))
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

const snapshotText = (
  { partnerId, serviceAccountId: approverId }: Caller,
  bulkId: string,
  { payouts, totals }: BulkAwaitingApproval,
  root: Uint8Array,
  { nonce, expiresAt }: ApprovalPage,
): string =>
  JSON.stringify({
    version: 1,
    purpose: 'approveBulkPayout',
    partnerId,
    bulkId,
    count: payouts.length,
    totals: totals.map(({ amount, currency }) => ({ amount: amountText(amount, currency), currency })),
    payouts: hex(root),
    approverId,
    expiresAt: expiresAt.toISOString(),
    nonce,
  } satisfies BulkApprovalSnapshot)

/**
 * Creates the evidence of each payout: what the person has signed, and the payout's place in it. Undefined without a
 * signature.
 */
async function createEvidence(
  deps: Deps,
  { confirmation }: Caller,
  waiting: BulkAwaitingApproval,
): Promise<(index: number) => SignedApproval | undefined> {
  if (confirmation === undefined) return () => undefined
  const items = await readItems(deps, waiting)
  const { root, paths } = merkleTree(items.map((item) => leafHash(bulkItemText(item))))
  if (ownJson<BulkApprovalSnapshot>(confirmation.snapshot).payouts !== hex(root))
    throw new Refusal(
      'payout_not_awaiting_approval',
      'The payouts that await approval have changed since they were signed. Read and sign them again.',
    )
  return (index) => {
    const [item, path] = [items[index], paths[index]]
    return item && path && { ...confirmation, inBulk: { ...item, index, path: path.map(hex) } }
  }
}

/** Finds the daily maximum that the approval of all payouts together would exceed. */
const findExceededByAll = (
  deps: Deps,
  { serviceAccountId: id, name }: Caller,
  { payouts }: BulkAwaitingApproval,
): Promise<BeyondMaximum | undefined> =>
  findExceededMaximum(deps, deps.db, { payouts, by: { id, name } }, deps.clock.now())

function refuseTooMuch({ currency, most, left, resetsAt, counted }: BeyondMaximum): Refusal {
  const money = (amount: Minor) => `${amountText(amount, currency)} ${currency}`
  return new Refusal(
    'approver_limit_exceeded',
    `One person approves at most ${money(most)} on a day. ${money(left)} is left for you until ${resetsAt.toISOString()}. Another person must approve the bulk.${counted}`,
  )
}

/** Decides each payout. Payouts whose status has changed in the meantime are not counted. */
async function decideAll(
  { payouts }: BulkAwaitingApproval,
  move: (payout: PayoutRow, index: number) => Promise<boolean>,
): Promise<BulkDecision> {
  const outcomes = await Promise.allSettled(payouts.map(move))
  const refused: { readonly payoutId: string; readonly refusal: Refusal }[] = []
  let decided = 0
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.status === 'fulfilled') decided += outcome.value ? 1 : 0
    else if (outcome.reason instanceof Refusal)
      refused.push({ payoutId: present(payouts[index], `no payout for outcome ${index}`).id, refusal: outcome.reason })
    else throw outcome.reason
  }
  return { decided, refused }
}

// Lists what waits for an approval, newest first: single payouts, and each bulk as one. Both share one cursor.

type MadeBy = store.RequesterFilter

/** `id`: of the payout, or of the bulk. */
export type WaitingApproval = {
  readonly id: string
  readonly expiresAt: Date
  /** Accounts that requested it, usually one. */
  readonly requestedNames: readonly string[]
  readonly requestedBy: readonly string[]
} & (
  | { readonly kind: 'payout'; readonly payout: PayoutRow }
  | {
      readonly kind: 'bulk'
      readonly payouts: number
      readonly totals: readonly Money[]
      readonly createdAt: Date
    }
)

export type WaitingApprovals = (
  partnerId: string,
  page: { readonly made: MadeBy; readonly afterId: string | null; readonly rowsMax: number },
) => Promise<readonly WaitingApproval[]>

export const createWaitingApprovals =
  ({ db }: { readonly db: Database }): WaitingApprovals =>
  async (partnerId, page) => {
    const keys = await store.keysAwaitingApproval(db, partnerId, page)
    const idsOf = (isBulk: boolean) => keys.filter((key) => key.isBulk === isBulk).map(({ id }) => id)
    const found = await findPendingApprovals(db, partnerId, { payoutIds: idsOf(false), bulkIds: idsOf(true) })
    // Omits payouts that were decided between the two statements.
    return keys.flatMap(({ id }) => found.get(id) ?? [])
  }

/** Finds which of these payouts and bulks wait, by id. */
export async function findPendingApprovals(
  tx: Tx,
  partnerId: string,
  { payoutIds, bulkIds }: { readonly payoutIds: readonly string[]; readonly bulkIds: readonly string[] },
): Promise<ReadonlyMap<string, WaitingApproval>> {
  const alone = await store.singlePayoutsAwaitingApproval(tx, partnerId, payoutIds)
  const bulks = toBulks(await store.waitingBulkSums(tx, partnerId, bulkIds))
  return new Map<string, WaitingApproval>([
    ...alone.map((row): [string, WaitingApproval] => {
      const { requestedBy, requestedName, expiresAt, ...payout } = row
      const requested = { requestedNames: [requestedName], requestedBy: [requestedBy] }
      return [row.id, { kind: 'payout', id: row.id, expiresAt, ...requested, payout }]
    }),
    ...bulks,
  ])
}

/** Merges the rows of each bulk, which has one for each currency. */
function toBulks(rows: readonly store.BulkSum[]): readonly [string, WaitingApproval][] {
  return [...Map.groupBy(rows, ({ bulkId }) => bulkId)].flatMap(([id, sums]): [string, WaitingApproval][] => {
    const [first] = sums
    if (first === undefined) return []
    const earliest = (name: 'expiresAt' | 'createdAt') =>
      sums.reduce((least, sum) => (sum[name] < least ? sum[name] : least), first[name])
    const totals = sums.map(({ currency, amount }): { currency: Currency; amount: Minor } => ({ currency, amount }))
    const payouts = sums.reduce((total, { payouts: count }) => total + Number(count), 0)
    const requestedNames = [...new Set(sums.flatMap((sum) => sum.requestedNames))]
    const times = { expiresAt: earliest('expiresAt'), createdAt: earliest('createdAt') }
    const requestedBy = [...new Set(sums.flatMap((sum) => sum.requestedBy))]
    return [[id, { kind: 'bulk', id, payouts, totals, requestedNames, requestedBy, ...times }]]
  })
}
