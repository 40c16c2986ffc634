/**
 * Reads the blocks of a chain: which transfers reached our addresses, and whether earlier blocks are still there. The
 * findings of a step are committed with the new position, which must be where the step began: only one of two workers
 * commits.
 */
import { Unreachable } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import { type CallOptions, checksummed } from '../../rails/index.ts'
import type { ChainDeps } from './deps.ts'
import type { Block } from './node.ts'
import { bookingIdOf, departureIdOf, numbered, type NumberedLog } from './rules.ts'
import * as store from './store-chain.ts'
import { endedAbove, ownHashes, reopen } from './store-chain.ts'

const blocksPerStepMax = 100
/** Blocks whose hashes are kept beyond the confirmations. A deeper reorganisation is read from the oldest one. */
const historyBlocks = 512

export type Scanned = {
  /** The block up to which the chain is read. */
  readonly readTo: number
  /** The blocks of this step. */
  readonly blocks: number
}

type Movement = Omit<store.CreditRow, 'status' | 'bookings'>
type Part = {
  readonly cursor: store.Cursor
  readonly head: number
  /** The last block that was read and is still there. */
  readonly fork: number
  readonly blocks: readonly Block[]
  readonly movements: readonly Movement[]
}

export function createScan(deps: ChainDeps) {
  const { db, log, rules, chain } = deps
  const { id: connector } = rules
  const read = createRead(deps)

  return async (call: CallOptions): Promise<Scanned> => {
    const head = await chain.head(call)
    const cursor = (await store.cursorOf(db, connector)) ?? (await begin(deps, head, call))
    // The nodes are behind their earlier head: their answers are not trusted now.
    if (head < cursor.headSeen) {
      log.warn({ connector, head, headSeen: cursor.headSeen }, 'chain nodes are behind: nothing is credited')
      return { readTo: -1, blocks: 0 }
    }
    const fork = await findFork(deps, cursor, call)
    if (fork < cursor.blockNumber)
      log.warn({ connector, depth: cursor.blockNumber - fork, from: fork + 1 }, 'chain was reorganised')
    if (fork === head && fork === cursor.blockNumber && head === cursor.headSeen) return { readTo: head, blocks: 0 }
    const to = Math.min(head, fork + blocksPerStepMax)
    const part = { cursor, head, fork, ...(await read(fork, to, call)) }
    const isCommitted = await db.transaction((tx) => commit(tx, deps, part))
    return { readTo: isCommitted ? Math.max(to, fork) : -1, blocks: isCommitted ? part.blocks.length : 0 }
  }
}

/** Begins at the head of the chain: no address was issued before the connector began. */
async function begin({ db, rules, chain }: ChainDeps, head: number, call: CallOptions): Promise<store.Cursor> {
  const [block] = await chain.blocks(head, head, call)
  if (block === undefined) throw new Unreachable('downstream_unreachable', 'the chain has no head')
  const cursor = { blockNumber: head, blockHash: block.hash, headSeen: head }
  await db.transaction(async (tx) => {
    await store.insertCursor(tx, rules.id, cursor)
    store.insertBlocks(tx, rules.id, [block])
  })
  return (await store.cursorOf(db, rules.id)) ?? cursor
}

/** Walks back over the read blocks to the newest one that the nodes still have. */
async function findFork(
  { db, rules, chain, log }: ChainDeps,
  cursor: store.Cursor,
  call: CallOptions,
): Promise<number> {
  const isThere = async ({ number, hash }: { readonly number: number; readonly hash: string }) =>
    (await chain.blocks(number, number, call))[0]?.hash === hash
  if (await isThere({ number: cursor.blockNumber, hash: cursor.blockHash })) return cursor.blockNumber
  const known = await store.blocksRead(db, rules.id)
  for (const block of known) if (block.number < cursor.blockNumber && (await isThere(block))) return block.number
  log.error({ connector: rules.id, blocks: known.length }, 'chain was reorganised deeper than the stored blocks')
  return Math.max(0, (known.at(-1)?.number ?? cursor.blockNumber) - 1)
}

function createRead({ db, rules, chain, signer, ownersOf, operatorId }: ChainDeps) {
  /** The logs that move money of ours, with its owner. */
  const movementsOf = async (logs: readonly NumberedLog[]): Promise<readonly Movement[]> => {
    if (logs.length === 0) return []
    const sender = (await signer())?.address
    const owners = await ownersOf(db, [...new Set(logs.flatMap(({ from, to }) => [from, to]))])
    const touching = logs.filter(({ from, to }) =>
      [from, to].some((address) => owners.has(address) || address === sender),
    )
    const payments = await ownHashes(db, [...new Set(touching.map(({ transactionHash }) => transactionHash))])
    return touching.flatMap((log) => {
      const { id, from, to, amount, currency, transactionHash } = log
      const place = { currency, transactionHash, blockNumber: BigInt(log.blockNumber) }
      const isOurs = from === sender || owners.has(from)
      const receiver = owners.get(to) ?? (to === sender && !isOurs ? operatorId : undefined)
      // A transfer from an address of ours to the sending account stays with us: it collects tokens there.
      const isPayment = from === sender && payments.has(transactionHash)
      const giver = !isOurs || isPayment || to === sender ? undefined : (owners.get(from) ?? operatorId)
      return [
        ...(receiver === undefined
          ? []
          : [{ ...place, partnerId: receiver, id, amount, account: to, counterparty: from }]),
        ...(giver === undefined
          ? []
          : [{ ...place, partnerId: giver, id: departureIdOf(id), amount: -amount, account: from, counterparty: to }]),
      ]
    })
  }

  return async (fork: number, to: number, call: CallOptions): Promise<Pick<Part, 'blocks' | 'movements'>> => {
    if (to <= fork) return { blocks: [], movements: [] }
    const blocks = await chain.blocks(fork + 1, to, call)
    const logs = await chain.transfers(fork + 1, to, call)
    const [last] = await chain.blocks(to, to, call)
    const hashes = new Map(blocks.map(({ number, hash }) => [number, hash]))
    const isChain = blocks.every(({ parentHash }, index) => index === 0 || parentHash === blocks[index - 1]?.hash)
    const isOfThese = logs.every(({ blockNumber, blockHash }) => hashes.get(blockNumber) === blockHash)
    // The chain was reorganised between two calls: the next step asks again.
    if (!isChain || !isOfThese || last?.hash !== hashes.get(to))
      throw new Unreachable('downstream_unreachable', `the blocks of ${rules.id} changed while they were read`)
    return { blocks, movements: await movementsOf(numbered(rules.id, logs)) }
  }
}

/** False: another worker has moved the position. */
async function commit(tx: Tx, deps: ChainDeps, { cursor, head, fork, blocks, movements }: Part): Promise<boolean> {
  const { clock, rules } = deps
  const { id: connector, confirmations, depositMin } = rules
  const locked = await store.lockCursor(tx, connector)
  if (locked?.blockNumber !== cursor.blockNumber || locked.blockHash !== cursor.blockHash) return false
  const now = clock.now()
  if (fork < cursor.blockNumber) await undo(tx, deps, fork)
  store.deleteBlocks(tx, connector, { first: head - confirmations - historyBlocks, last: fork })
  if (blocks.length > 0) store.insertBlocks(tx, connector, blocks)
  for (const movement of movements) {
    const isSmall = movement.amount > 0n && movement.amount < (depositMin[movement.currency] ?? 1n)
    store.putCredit(tx, connector, { ...movement, status: isSmall ? 'Small' : 'Seen' }, now)
  }
  const readTo = blocks.at(-1)?.number ?? fork
  // A vanished movement may be in a block that is not read yet.
  if (readTo >= head) await takeBack(tx, deps, readTo, now)
  for (const credit of await store.creditsUpTo(tx, connector, 'Seen', Math.min(readTo, head - confirmations + 1)))
    book(tx, connector, credit, now)
  const blockHash = blocks.at(-1)?.hash ?? (await hashAt(tx, connector, fork)) ?? cursor.blockHash
  store.moveCursor(tx, connector, { blockNumber: readTo, blockHash, headSeen: Math.max(head, locked.headSeen) })
  return true
}

const hashAt = async (tx: Tx, connector: string, number: number): Promise<string | undefined> =>
  (await store.blocksRead(tx, connector)).find((block) => block.number === number)?.hash

/**
 * Forgets movements that were not final; they are read again. Booked ones are in doubt until the new blocks are read.
 */
async function undo(tx: Tx, { clock, rules }: ChainDeps, fork: number): Promise<void> {
  for (const credit of await store.creditsAbove(tx, rules.id, fork))
    if (credit.status === 'Booked') store.setCredit(tx, credit, { status: 'Doubted', bookings: credit.bookings })
    else if (credit.status !== 'Doubted' && credit.bookings === 0) store.deleteCredit(tx, credit)
    else if (credit.status !== 'Doubted') store.setCredit(tx, credit, { status: 'Reversed', bookings: credit.bookings })
  for (const key of await endedAbove(tx, rules.id, fork)) await reopen(tx, key, clock.now())
}

async function takeBack(
  tx: Tx,
  { rules: { id: connector }, log }: ChainDeps,
  readTo: number,
  now: Date,
): Promise<void> {
  for (const credit of await store.creditsUpTo(tx, connector, 'Doubted', readTo)) {
    log.error({ connector, creditId: credit.id, partnerId: credit.partnerId }, 'credit dropped by the chain: reversed')
    store.setCredit(tx, credit, { status: 'Reversed', bookings: credit.bookings })
    report(tx, connector, credit, credit.bookings, 'taken back', now)
  }
}

function book(tx: Tx, connector: string, credit: store.CreditRow, now: Date): void {
  const bookings = credit.bookings + 1
  store.setCredit(tx, credit, { status: 'Booked', bookings })
  report(tx, connector, credit, bookings, 'booked', now)
}

const takenBack = {
  errorKey: 'BankRejection',
  details: 'The chain dropped the block with the transfer.',
  reasonCode: null,
} as const

/** Reports tokens that left without an instruction as an unknown payout, which opens a case. */
function report(
  tx: Tx,
  connector: string,
  { partnerId, id, amount, currency, account, counterparty, transactionHash }: store.CreditRow,
  booking: number,
  what: 'booked' | 'taken back',
  now: Date,
): void {
  const money = { currency, amount: String(amount < 0n ? -amount : amount) }
  // A chain has addresses only: the payer's name is unknown.
  const debtor = { account: checksummed(counterparty), bic: '', name: '', countryCode: '', address: null }
  const credit = { account, debtor, remittance: null, endToEndId: null, transactionHash }
  const [kind, facts] =
    what === 'booked'
      ? amount > 0n
        ? ['credit.booked', { money, ...credit }]
        : ['payout.settled', { money, transactionHash }]
      : amount > 0n
        ? ['credit.reversed', { money, details: takenBack.details }]
        : ['payout.returned', { money, ...takenBack }]
  const subjectId = bookingIdOf(id, booking)
  store.insertNotification(
    tx,
    connector,
    { partnerId, id: newId(), subjectId, kind: String(kind), payload: JSON.stringify(facts) },
    now,
  )
}
