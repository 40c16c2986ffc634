/**
 * Follows transfers to their end: signs and sends them, replaces one that no block includes, and reports the outcome. A
 * nonce is never used for anything else, so that no order of crashes pays twice.
 */
import { after, type Minor, newId, secondMs } from '../../kernel/index.ts'
import type { BankNotification, CallOptions } from '../../rails/index.ts'
import type { ChainDeps } from './deps.ts'
import { loadEvm } from './load.ts'
import {
  displacedTransfer,
  feesOfNext,
  firstFees,
  type RefusedTransfer,
  revertedTransfer,
  vanishedTransfer,
} from './rules.ts'
import { insertNotification } from './store-chain.ts'
import * as store from './store-chain.ts'

const transfersPerStepMax = 200
/** A node may have forgotten a transaction, or never received it. */
const sendAgainMs = 10 * secondMs
/**
 * A node that lags shows no receipt. Before a payment is given up, the chain must be this many times as deep as for a
 * final one.
 */
const displacedDepthFactor = 2

export type Follow = {
  /** Sends the transfers that were not sent yet. */
  readonly send: (call: CallOptions) => Promise<number>
  /** Sends them, and ends those that the blocks up to `head` decide. Returns how many ended. */
  readonly step: (head: number, call: CallOptions) => Promise<number>
}

export function createFollow(deps: ChainDeps): Follow {
  const { db, rules, chain } = deps
  const attempts = createAttempts(deps)
  const end = createEnd(deps)

  const openOf = () => store.openTransfers(db, rules.id, transfersPerStepMax)
  const sendAll = async (transfers: readonly store.Transfer[], call: CallOptions) => {
    const lowest = transfers[0]?.nonce
    let sent = 0
    for (const transfer of transfers) sent += await attempts.send(transfer, transfer.nonce === lowest, call)
    return sent
  }

  const conclude = async (transfer: store.Transfer, head: number, call: CallOptions): Promise<number> => {
    const final = head - rules.confirmations + 1
    for (const { hash } of (await store.attemptsOf(db, transfer)).toReversed()) {
      const receipt = await chain.receipt(hash, call)
      if (receipt === undefined) continue
      if (receipt.blockNumber > final) return 0
      const { succeeded, blockNumber: minedBlock } = receipt
      return end(transfer, succeeded ? 'Settled' : 'Failed', { hash, minedBlock, reason: revertedTransfer })
    }
    const deep = head - displacedDepthFactor * rules.confirmations + 1
    if (deep < 0 || BigInt(await chain.transactionCount(transfer.sender, deep, call)) <= transfer.nonce) return 0
    deps.log.error(
      { connector: rules.id, nonce: String(transfer.nonce), transferId: transfer.id },
      'another transaction used the nonce of a payment',
    )
    return end(transfer, 'Failed', { hash: null, minedBlock: deep, reason: displacedTransfer })
  }

  return {
    send: async (call) => sendAll(await openOf(), call),
    step: async (head, call) => {
      const transfers = await openOf()
      const [first] = transfers
      if (first === undefined || head < 0) return 0
      const mined = BigInt(await chain.transactionCount(first.sender, head, call))
      let ended = 0
      for (const transfer of transfers.filter(({ nonce }) => nonce < mined))
        ended += await conclude(transfer, head, call)
      await sendAll(
        transfers.filter(({ nonce }) => nonce >= mined),
        call,
      )
      return ended
    },
  }
}

/** Ends a transfer once, and reports an unreported end. */
const createEnd =
  ({ db, clock, rules }: ChainDeps) =>
  (
    transfer: store.Transfer,
    status: store.TransferEnd,
    {
      hash,
      minedBlock,
      reason,
    }: { readonly hash: string | null; readonly minedBlock: number; readonly reason: RefusedTransfer },
  ) =>
    db.transaction(async (tx) => {
      const now = clock.now()
      const ended = await store.endTransfer(tx, transfer, { status, minedBlock, hash }, now)
      if (ended === 0 || transfer.reported === status) return ended
      const { kind, ...payload } = reportOf(transfer, status, hash, reason)
      const { partnerId, id: subjectId } = transfer
      insertNotification(
        tx,
        rules.id,
        { partnerId, id: newId(), subjectId, kind, payload: JSON.stringify(payload) },
        now,
      )
      return ended
    })

type Report = {
  readonly kind: BankNotification['kind']
  readonly money: { readonly currency: string; readonly amount: string }
}

/** Reports as returned a payment that was reported as settled, and that the chain then dropped for good. */
function reportOf(
  {
    currency,
    amount,
    reported,
  }: { readonly currency: string; readonly amount: Minor; readonly reported: store.TransferEnd | null },
  status: store.TransferEnd,
  hash: string | null,
  reason: RefusedTransfer,
): Report {
  const money = { currency, amount: String(amount) }
  if (status === 'Settled')
    return { kind: 'payout.settled', money, ...(hash === null ? {} : { transactionHash: hash }) } as Report
  return reported === 'Settled'
    ? { kind: 'payout.returned', money, ...vanishedTransfer }
    : { kind: 'payout.rejected', money, ...reason }
}

/** The signed transactions of a transfer. Each is stored before a node sees it. */
function createAttempts({ db, clock, log, rules, chain, signer }: ChainDeps) {
  const make = async (
    transfer: store.Transfer,
    attempt: number,
    fees: { readonly max: bigint; readonly priority: bigint },
  ) => {
    const key = await signer()
    const contract = rules.tokens[transfer.currency]
    if (key?.address !== transfer.sender || contract === undefined) return false
    const { recipient, amount, gas } = transfer
    const evm = await loadEvm()
    const { signed, hash } = await evm.signTransfer(
      {
        chainId: rules.chainId,
        contract,
        recipient,
        amount,
        nonce: Number(transfer.nonce),
        gas,
        feeMax: fees.max,
        feePriority: fees.priority,
      },
      key.sign,
    )
    const row = { attempt, hash, signed, feeMax: fees.max, feePriority: fees.priority, madeAt: clock.now() }
    return (await store.insertAttempt(db, transfer, row)) === 1
  }

  /** Makes the attempt that is due. Returns whether this worker made a new one. */
  const makeDue = async (
    transfer: store.Transfer,
    last: store.Attempt | undefined,
    isLowest: boolean,
    call: CallOptions,
  ) => {
    if (last === undefined) return make(transfer, 1, firstFees(await chain.fees(call), rules.feeMax))
    // Only the lowest nonce can be what the others wait for.
    if (!isLowest || after(last.madeAt, rules.stuckAfterMs) > clock.now()) return false
    const fees = feesOfNext({ max: last.feeMax, priority: last.feePriority }, await chain.fees(call), rules.feeMax)
    if (fees === undefined) return false
    log.warn(
      { connector: rules.id, nonce: String(transfer.nonce), attempt: last.attempt + 1 },
      'transaction replaced with higher fees',
    )
    return make(transfer, last.attempt + 1, fees)
  }

  return {
    send: async (transfer: store.Transfer, isLowest: boolean, call: CallOptions): Promise<number> => {
      const before = (await store.attemptsOf(db, transfer)).at(-1)
      const isNew = await makeDue(transfer, before, isLowest, call)
      const last = isNew ? (await store.attemptsOf(db, transfer)).at(-1) : before
      if (last === undefined) return 0
      const isDue = isNew || transfer.sentAt === null || after(transfer.sentAt, sendAgainMs) <= clock.now()
      if (!isDue) return 0
      await chain.send(last.signed, call)
      await store.noteSent(db, transfer, last.hash, clock.now())
      return 1
    },
  }
}
