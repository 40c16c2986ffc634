/**
 * The connector to an EVM chain (README.md). Instructions and notifications are rows of this database; `step` calls the
 * nodes: it reads blocks, sends transactions and ends final transfers.
 */
import { ownJson } from '@partner-payments/wire'
import { Unreachable } from '../../kernel/api/index.ts'
import { after, type Currency, type Minor, newId, partnerKey, secondMs } from '../../kernel/index.ts'
import {
  type BankNotification,
  type CallOptions,
  callTimeoutMsMax,
  checksumAddress,
  type Connector,
  type InstructionKey,
  untilAborted,
} from '../../rails/index.ts'
import type { ChainDeps } from './deps.ts'
import * as store from './store-chain.ts'
import { createSubmit, storedAnswers } from './submit.ts'
import { type Block, loadEvm } from './node.ts'
import {
  bookingId,
  departureId,
  replacementRefusal,
  nextFees,
  firstFees,
  numberLogs,
  type NumberedLog,
  type RefusedTransfer,
  revertRefusal,
  reorgRefusal,
} from './rules.ts'
import { groupByShard, type Tx } from '../../postgres/index.ts'

export type ChainConnector = Connector & {
  readonly chainId: number
  readonly network: string
  readonly tokens: readonly Currency[]
  /** Does one round of work with the nodes and returns its amount; 0 means idle. */
  readonly step: () => Promise<number>
}

/** The nodes are asked about each instruction before it is signed. */
const limits = { instructionsPerCallMax: 20, callsMax: 2, callTimeoutMs: callTimeoutMsMax } as const
const stepMsMax = 60_000

export function createChainConnector(deps: ChainDeps): ChainConnector {
  const { db, rules, log } = deps
  const { id } = rules
  const submit = createSubmit(deps)
  const follow = createFollower(deps)
  const scan = createScan(deps)

  /** Sends the stored instructions. If that fails, the next step sends them. */
  const sendNow = async (call: CallOptions) => {
    try {
      await follow.send(call)
    } catch (error) {
      log.warn({ err: error, connector: id }, 'transactions not sent; will retry')
    }
  }

  return {
    id,
    limits,
    forecast: (_payment, at) => {
      const valueDate = at.toISOString().slice(0, 10)
      // The fees of the chain decide when a block includes the transaction.
      return { possible: true, method: 'Wallet', cutOffAt: null, submitsAt: at, valueDate, arrivesOn: null }
    },
    chainId: rules.chainId,
    network: rules.network,
    tokens: Object.keys(rules.tokens) as Currency[],
    instruct: async (instructions, options) => {
      if (instructions.length === 0) return []
      const call = options ?? { signal: AbortSignal.timeout(limits.callTimeoutMs) }
      return untilAborted(
        submit(instructions, call, () => sendNow(call)),
        call,
      )
    },
    find: async (keys, options) => {
      const found = await untilAborted(storedAnswers(db, id, keys), options)
      return keys.map(({ partnerId, id: instructionId }: InstructionKey) =>
        found.get(partnerKey(partnerId, instructionId)),
      )
    },
    notifications: async (notificationsMax, options) =>
      (await untilAborted(store.chainNotifications(db, id, notificationsMax), options)).map(toNotification),
    acknowledge: async (notifications, options) => {
      const deletions = groupByShard(db, notifications).map((group) => store.deleteChainNotifications(db, id, group))
      await untilAborted(Promise.all(deletions), options)
    },
    notificationsDue: (after) => store.chainNotificationsDue(id, after),
    oldestNotification: () => store.oldestChainNotification(db, id),
    step: async () => {
      const call = { signal: AbortSignal.timeout(stepMsMax) }
      const { readTo, blocks } = await scan(call)
      const ended = readTo < 0 ? 0 : await follow.step(readTo, call)
      if (call.signal.aborted) throw new Unreachable('downstream_timeout', `the chain of ${id} does not answer in time`)
      return blocks + ended
    },
  }
}

type StoredMoney = { readonly money: { readonly currency: Currency; readonly amount: string } }

function toNotification({ payload, ...row }: store.NotificationRow): BankNotification {
  const { money, ...facts } = ownJson<StoredMoney>(payload)
  return { ...row, ...facts, money: { ...money, amount: BigInt(money.amount) } } as BankNotification
}

// Signs and sends transfers, replaces a transaction that no block includes, and reports the outcomes. A nonce is only used
// for one transfer, so that crashes cannot cause a second payment.

const transfersPerStepMax = 200
/** A node may have forgotten a transaction or not received it: it is sent again after this time. */
const sendAgainMs = 10 * secondMs
/** A lagging node may not have the receipt yet, so that a payment only fails at this multiple of the final depth. */
const displacedDepthFactor = 2

type TransferFollower = {
  /** Sends transfers that were not sent yet. */
  readonly send: (call: CallOptions) => Promise<number>
  /** Sends transfers, and ends those that are final in the blocks up to `head`. Returns the number of ended transfers. */
  readonly step: (head: number, call: CallOptions) => Promise<number>
}

function createFollower(deps: ChainDeps): TransferFollower {
  const { db, rules, chain } = deps
  const attempts = createAttempts(deps)
  const end = createEndTransfer(deps)

  const openOf = () => store.listOpenTransfers(db, rules.id, transfersPerStepMax)
  const sendAll = async (transfers: readonly store.PendingTransfer[], call: CallOptions) => {
    const lowest = transfers[0]?.nonce
    let sent = 0
    for (const transfer of transfers) sent += await attempts.send(transfer, transfer.nonce === lowest, call)
    return sent
  }

  const conclude = async (transfer: store.PendingTransfer, head: number, call: CallOptions): Promise<number> => {
    const final = head - rules.confirmations + 1
    for (const { hash } of (await store.listAttempts(db, transfer)).toReversed()) {
      const receipt = await chain.receipt(hash, call)
      if (receipt === undefined) continue
      if (receipt.blockNumber > final) return 0
      const { succeeded, blockNumber: minedBlock } = receipt
      return end(transfer, succeeded ? 'Settled' : 'Failed', { hash, minedBlock, reason: revertRefusal })
    }
    const deep = head - displacedDepthFactor * rules.confirmations + 1
    if (deep < 0 || BigInt(await chain.transactionCount(transfer.sender, deep, call)) <= transfer.nonce) return 0
    deps.log.error(
      { connector: rules.id, nonce: String(transfer.nonce), transferId: transfer.id },
      'another transaction used the nonce of a payment',
    )
    return end(transfer, 'Failed', { hash: null, minedBlock: deep, reason: replacementRefusal })
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

/** Ends a transfer once, and reports the end unless it was already reported. */
const createEndTransfer =
  ({ db, clock, rules }: ChainDeps) =>
  (
    transfer: store.PendingTransfer,
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
      const { kind, ...payload } = toTransferReport(transfer, status, hash, reason)
      const { partnerId, id: subjectId } = transfer
      store.insertNotification(
        tx,
        rules.id,
        { partnerId, id: newId(), subjectId, kind, payload: JSON.stringify(payload) },
        now,
      )
      return ended
    })

type TransferReport = {
  readonly kind: BankNotification['kind']
  readonly money: { readonly currency: string; readonly amount: string }
}

/** Reports the end of a transfer. A payment that the chain dropped after it was reported as settled is returned. */
function toTransferReport(
  {
    currency,
    amount,
    reported,
  }: { readonly currency: string; readonly amount: Minor; readonly reported: store.TransferEnd | null },
  status: store.TransferEnd,
  hash: string | null,
  reason: RefusedTransfer,
): TransferReport {
  const money = { currency, amount: String(amount) }
  if (status === 'Settled')
    return { kind: 'payout.settled', money, ...(hash === null ? {} : { transactionHash: hash }) } as TransferReport
  return reported === 'Settled'
    ? { kind: 'payout.returned', money, ...reorgRefusal }
    : { kind: 'payout.rejected', money, ...reason }
}

/** Creates, signs and sends the transactions of transfers. Each is stored before it is sent to a node. */
function createAttempts({ db, clock, log, rules, chain, signer }: ChainDeps) {
  const make = async (
    transfer: store.PendingTransfer,
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

  /** Creates the next attempt if it is due. Returns whether this worker created one. */
  const makeDue = async (
    transfer: store.PendingTransfer,
    last: store.TransferAttempt | undefined,
    isLowest: boolean,
    call: CallOptions,
  ) => {
    if (last === undefined) return make(transfer, 1, firstFees(await chain.fees(call), rules.feeMax))
    // Transactions with higher nonces only wait for the lowest one.
    if (!isLowest || after(last.madeAt, rules.stuckAfterMs) > clock.now()) return false
    const fees = nextFees({ max: last.feeMax, priority: last.feePriority }, await chain.fees(call), rules.feeMax)
    if (fees === undefined) return false
    log.warn(
      { connector: rules.id, nonce: String(transfer.nonce), attempt: last.attempt + 1 },
      'transaction replaced with higher fees',
    )
    return make(transfer, last.attempt + 1, fees)
  }

  return {
    send: async (transfer: store.PendingTransfer, isLowest: boolean, call: CallOptions): Promise<number> => {
      const before = (await store.listAttempts(db, transfer)).at(-1)
      const isNew = await makeDue(transfer, before, isLowest, call)
      const last = isNew ? (await store.listAttempts(db, transfer)).at(-1) : before
      if (last === undefined) return 0
      const isDue = isNew || transfer.sentAt === null || after(transfer.sentAt, sendAgainMs) <= clock.now()
      if (!isDue) return 0
      await chain.send(last.signed, call)
      await store.markSent(db, transfer, last.hash, clock.now())
      return 1
    },
  }
}

// Reads the blocks of a chain: finds transfers to our addresses, and earlier blocks that the chain has dropped. A step
// commits its results with the new position, and only if the position has not changed since: one of two workers commits.

const blocksPerStepMax = 100
/**
 * The number of block hashes stored beyond the confirmations. After a deeper reorganisation, reading starts at the
 * oldest one.
 */
const historyBlocks = 512

type ScanResult = {
  /** The last block that is read; -1 if the nodes are behind, or another worker has committed. */
  readonly readTo: number
  /** The number of blocks read in this step. */
  readonly blocks: number
}

type Movement = Omit<store.CreditRow, 'status' | 'bookings'>
type ChainPart = {
  readonly cursor: store.ChainCursor
  readonly head: number
  /** The last read block that the chain still has. */
  readonly fork: number
  readonly blocks: readonly Block[]
  readonly movements: readonly Movement[]
}

function createScan(deps: ChainDeps) {
  const { db, log, rules, chain } = deps
  const { id: connector } = rules
  const read = createBlockReader(deps)

  return async (call: CallOptions): Promise<ScanResult> => {
    const head = await chain.head(call)
    const cursor = (await store.readCursor(db, connector)) ?? (await startCursor(deps, head, call))
    // Nodes whose head is lower than before are not trusted.
    if (head < cursor.headSeen) {
      log.warn(
        { connector, head, headSeen: cursor.headSeen },
        'chain nodes are behind their earlier head; crediting pauses',
      )
      return { readTo: -1, blocks: 0 }
    }
    const fork = await findFork(deps, cursor, call)
    if (fork < cursor.blockNumber)
      log.warn({ connector, depth: cursor.blockNumber - fork, from: fork + 1 }, 'chain was reorganised')
    if (fork === head && fork === cursor.blockNumber && head === cursor.headSeen) return { readTo: head, blocks: 0 }
    const to = Math.min(head, fork + blocksPerStepMax)
    const part = { cursor, head, fork, ...(await read(fork, to, call)) }
    const isCommitted = await db.transaction((tx) => commitPart(tx, deps, part))
    return { readTo: isCommitted ? Math.max(to, fork) : -1, blocks: isCommitted ? part.blocks.length : 0 }
  }
}

/** Starts at the head of the chain: addresses are only issued once the connector has started. */
async function startCursor(
  { db, rules, chain }: ChainDeps,
  head: number,
  call: CallOptions,
): Promise<store.ChainCursor> {
  const [block] = await chain.blocks(head, head, call)
  if (block === undefined) throw new Unreachable('downstream_unreachable', 'the chain has no head')
  const cursor = { blockNumber: head, blockHash: block.hash, headSeen: head }
  await db.transaction(async (tx) => {
    await store.insertCursor(tx, rules.id, cursor)
    store.insertBlocks(tx, rules.id, [block])
  })
  return (await store.readCursor(db, rules.id)) ?? cursor
}

/** Finds the newest read block that the nodes still have. */
async function findFork(
  { db, rules, chain, log }: ChainDeps,
  cursor: store.ChainCursor,
  call: CallOptions,
): Promise<number> {
  const isThere = async ({ number, hash }: { readonly number: number; readonly hash: string }) =>
    (await chain.blocks(number, number, call))[0]?.hash === hash
  if (await isThere({ number: cursor.blockNumber, hash: cursor.blockHash })) return cursor.blockNumber
  const known = await store.listReadBlocks(db, rules.id)
  for (const block of known) if (block.number < cursor.blockNumber && (await isThere(block))) return block.number
  log.error({ connector: rules.id, blocks: known.length }, 'chain reorganisation is deeper than the stored blocks')
  return Math.max(0, (known.at(-1)?.number ?? cursor.blockNumber) - 1)
}

function createBlockReader({ db, rules, chain, signer, ownersOf, operatorId }: ChainDeps) {
  /** Finds the movements on our addresses, with their owners. */
  const movementsOf = async (logs: readonly NumberedLog[]): Promise<readonly Movement[]> => {
    if (logs.length === 0) return []
    const sender = (await signer())?.address
    const owners = await ownersOf(db, [...new Set(logs.flatMap(({ from, to }) => [from, to]))])
    const touching = logs.filter(({ from, to }) =>
      [from, to].some((address) => owners.has(address) || address === sender),
    )
    const payments = await store.ownHashes(db, [...new Set(touching.map(({ transactionHash }) => transactionHash))])
    return touching.flatMap((log) => {
      const { id, from, to, amount, currency, transactionHash } = log
      const place = { currency, transactionHash, blockNumber: BigInt(log.blockNumber) }
      const isOurs = from === sender || owners.has(from)
      const receiver = owners.get(to) ?? (to === sender && !isOurs ? operatorId : undefined)
      // A transfer from our address to the sending account only collects tokens there.
      const isPayment = from === sender && payments.has(transactionHash)
      const giver = !isOurs || isPayment || to === sender ? undefined : (owners.get(from) ?? operatorId)
      return [
        ...(receiver === undefined
          ? []
          : [{ ...place, partnerId: receiver, id, amount, account: to, counterparty: from }]),
        ...(giver === undefined
          ? []
          : [{ ...place, partnerId: giver, id: departureId(id), amount: -amount, account: from, counterparty: to }]),
      ]
    })
  }

  return async (fork: number, to: number, call: CallOptions): Promise<Pick<ChainPart, 'blocks' | 'movements'>> => {
    if (to <= fork) return { blocks: [], movements: [] }
    const blocks = await chain.blocks(fork + 1, to, call)
    const logs = await chain.transfers(fork + 1, to, call)
    const [last] = await chain.blocks(to, to, call)
    const hashes = new Map(blocks.map(({ number, hash }) => [number, hash]))
    const isChain = blocks.every(({ parentHash }, index) => index === 0 || parentHash === blocks[index - 1]?.hash)
    const isOfThese = logs.every(({ blockNumber, blockHash }) => hashes.get(blockNumber) === blockHash)
    // The chain was reorganised between two calls; the next step reads again.
    if (!isChain || !isOfThese || last?.hash !== hashes.get(to))
      throw new Unreachable('downstream_unreachable', `the blocks of ${rules.id} changed while they were read`)
    return { blocks, movements: await movementsOf(numberLogs(rules.id, logs)) }
  }
}

/** Commits the results of a step. Returns false if another worker has moved the position. */
async function commitPart(
  tx: Tx,
  deps: ChainDeps,
  { cursor, head, fork, blocks, movements }: ChainPart,
): Promise<boolean> {
  const { clock, rules } = deps
  const { id: connector, confirmations, depositMin } = rules
  const locked = await store.lockCursor(tx, connector)
  if (locked?.blockNumber !== cursor.blockNumber || locked.blockHash !== cursor.blockHash) return false
  const now = clock.now()
  if (fork < cursor.blockNumber) await undoAbove(tx, deps, fork)
  store.deleteBlocks(tx, connector, { first: head - confirmations - historyBlocks, last: fork })
  if (blocks.length > 0) store.insertBlocks(tx, connector, blocks)
  for (const movement of movements) {
    const isSmall = movement.amount > 0n && movement.amount < (depositMin[movement.currency] ?? 1n)
    store.putCredit(tx, connector, { ...movement, status: isSmall ? 'Small' : 'Seen' }, now)
  }
  const readTo = blocks.at(-1)?.number ?? fork
  // A vanished movement may be in a block that is not read yet.
  if (readTo >= head) await reverseDropped(tx, deps, readTo, now)
  for (const credit of await store.creditsUpTo(tx, connector, 'Seen', Math.min(readTo, head - confirmations + 1)))
    bookCredit(tx, connector, credit, now)
  const blockHash = blocks.at(-1)?.hash ?? (await hashAt(tx, connector, fork)) ?? cursor.blockHash
  store.moveCursor(tx, connector, { blockNumber: readTo, blockHash, headSeen: Math.max(head, locked.headSeen) })
  return true
}

const hashAt = async (tx: Tx, connector: string, number: number): Promise<string | undefined> =>
  (await store.listReadBlocks(tx, connector)).find((block) => block.number === number)?.hash

/** Forgets movements that were not final, which are read again. Booked ones are doubted until the new blocks are read. */
async function undoAbove(tx: Tx, { clock, rules }: ChainDeps, fork: number): Promise<void> {
  for (const credit of await store.creditsAbove(tx, rules.id, fork))
    if (credit.status === 'Booked') store.setCredit(tx, credit, { status: 'Doubted', bookings: credit.bookings })
    else if (credit.status !== 'Doubted' && credit.bookings === 0) store.deleteCredit(tx, credit)
    else if (credit.status !== 'Doubted') store.setCredit(tx, credit, { status: 'Reversed', bookings: credit.bookings })
  for (const key of await store.transfersEndedAbove(tx, rules.id, fork))
    await store.reopenTransfer(tx, key, clock.now())
}

async function reverseDropped(
  tx: Tx,
  { rules: { id: connector }, log }: ChainDeps,
  readTo: number,
  now: Date,
): Promise<void> {
  for (const credit of await store.creditsUpTo(tx, connector, 'Doubted', readTo)) {
    log.error(
      { connector, creditId: credit.id, partnerId: credit.partnerId },
      'reversed a credit that the chain dropped',
    )
    store.setCredit(tx, credit, { status: 'Reversed', bookings: credit.bookings })
    reportCredit(tx, connector, credit, credit.bookings, 'taken back', now)
  }
}

function bookCredit(tx: Tx, connector: string, credit: store.CreditRow, now: Date): void {
  const bookings = credit.bookings + 1
  store.setCredit(tx, credit, { status: 'Booked', bookings })
  reportCredit(tx, connector, credit, bookings, 'booked', now)
}

const droppedTransfer = {
  errorKey: 'BankRejection',
  details: 'The chain dropped the block with the transfer.',
  reasonCode: null,
} as const

/** Reports tokens that left without an instruction as an unknown payout, which opens a case. */
function reportCredit(
  tx: Tx,
  connector: string,
  { partnerId, id, amount, currency, account, counterparty, transactionHash }: store.CreditRow,
  booking: number,
  what: 'booked' | 'taken back',
  now: Date,
): void {
  const money = { currency, amount: String(amount < 0n ? -amount : amount) }
  // A chain only has addresses: the payer's name is unknown.
  const debtor = { account: checksumAddress(counterparty), bic: '', name: '', countryCode: '', address: null }
  const credit = { account, debtor, remittance: null, endToEndId: null, transactionHash }
  const [kind, facts] =
    what === 'booked'
      ? amount > 0n
        ? ['credit.booked', { money, ...credit }]
        : ['payout.settled', { money, transactionHash }]
      : amount > 0n
        ? ['credit.reversed', { money, details: droppedTransfer.details }]
        : ['payout.returned', { money, ...droppedTransfer }]
  const subjectId = bookingId(id, booking)
  store.insertNotification(
    tx,
    connector,
    { partnerId, id: newId(), subjectId, kind: String(kind), payload: JSON.stringify(facts) },
    now,
  )
}
