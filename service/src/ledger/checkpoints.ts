/**
 * Continues the checkpoints of each partner, which make past balances and statements readable without the whole
 * history. A checkpoint covers only transfers that are certain to be complete. README.md gives the proof, and says what
 * happens if it fails.
 */
import { after, firstIdOf, idAfter, type Log, nilId, secondMs } from '../kernel/index.ts'
import { type Database, oldestTransactionStart, type Tx } from '../postgres/index.ts'
import * as store from './store-history.ts'
import * as parties from './store-parties.ts'

export type CheckpointsDeps = {
  readonly db: Database
  readonly log: Log
  readonly partnerIds: (tx: Tx) => Promise<readonly string[]>
  /** Tests set smaller limits. */
  readonly limits?: CheckpointLimits
}
export type CheckpointLimits = { readonly transfersPerStretch: number; readonly clockDifferenceMsMax: number }

const limitsDefault: CheckpointLimits = {
  /** Maximum number of transfers that a past balance reads, in about a millisecond. */
  transfersPerStretch: 1000,
  /** Largest clock difference between the processes, which create the ids, and the database. NTP keeps it within a second. */
  clockDifferenceMsMax: 30 * secondMs,
}
/** Stretches that one transaction covers. It locks the rows of the partner's checkpoints for about 0.3 s. */
const stretchesPerVisitMax = 100
/**
 * Partners that one step visits. The others follow in the next steps. Every step also visits the partners that had new
 * checkpoints.
 */
const partnersPerStepMax = 200

export function createCheckpoints(deps: CheckpointsDeps) {
  const { db, partnerIds, limits = limitsDefault } = deps
  const busy = new Set<string>()
  let waiting: string[] = []

  const visit = async (partnerId: string, end: string): Promise<number> => {
    const made = await continueCheckpoints(deps, limits, partnerId, end)
    if (made < stretchesPerVisitMax && (made > 0 || busy.has(partnerId))) await verifyAccounts(deps, partnerId)
    if (made > 0) busy.add(partnerId)
    else busy.delete(partnerId)
    return made
  }
  return {
    /** Reports whether a round over all partners has ended and no partner had new checkpoints. */
    isBetweenRounds: (): boolean => waiting.length === 0 && busy.size === 0,
    /** Returns how many partners have more work now. If one fails, throws after the others are done. */
    checkpointStep: async (): Promise<number> => {
      const end = firstIdOf(after(await oldestTransactionStart(db), -limits.clockDifferenceMsMax))
      if (waiting.length === 0) waiting = [...(await partnerIds(db))]
      let behind = 0
      const failures: unknown[] = []
      for (const partnerId of new Set([...busy, ...waiting.splice(0, partnersPerStepMax)]))
        try {
          if ((await visit(partnerId, end)) === stretchesPerVisitMax) behind += 1
        } catch (error) {
          failures.push(error)
        }
      if (failures.length > 0)
        throw new Error(`could not write checkpoints of partners: ${failures.length}`, { cause: failures[0] })
      return behind
    },
  }
}

/**
 * Continues the checkpoints of a partner. Returns the number of covered stretches, or 0 if another process is working
 * on the partner.
 */
async function continueCheckpoints(
  { db }: CheckpointsDeps,
  { transfersPerStretch }: CheckpointLimits,
  partnerId: string,
  end: string,
): Promise<number> {
  // Most visits find nothing to do, and need no transaction.
  const next = await store.nextStretchEnd(db, partnerId, end, transfersPerStretch)
  if (next === undefined && !(await store.arePartyCheckpointsBehind(db, partnerId))) return 0
  return db.transaction(async (tx) => {
    let progress = await claimCheckpoints(tx, partnerId)
    if (progress === undefined) return 0
    const balances = new Map(
      (await store.balancesBefore(tx, partnerId, idAfter(progress.position, 1))).map((row) => [row.id, row]),
    )
    const totals = new Map<string, { posted: bigint; reserved: bigint }>(balances)
    let made = 0
    for (; made < stretchesPerVisitMax; made += 1) {
      const position = await store.nextStretchEnd(tx, partnerId, end, transfersPerStretch)
      if (position === undefined) break
      const stretchAfter = progress.position
      const changes = await store.changesOfStretch(tx, partnerId, stretchAfter, position)
      store.insertCheckpoints(
        tx,
        changes.map(({ accountId, lines, ...change }) => {
          const { posted, reserved } = totals.get(accountId) ?? { posted: 0n, reserved: 0n }
          const total = { posted: posted + change.posted, reserved: reserved + change.reserved }
          totals.set(accountId, total)
          return { partnerId, position, accountId, stretchAfter, lines, ...total }
        }),
      )
      progress = { ...progress, position }
      store.setProgress(tx, partnerId, progress)
    }
    return Math.max(made, await continueParties(tx, partnerId, progress))
  })
}

/** Writes the checkpoints of parties up to those of accounts. Returns the number of covered stretches. */
async function continueParties(
  tx: Tx,
  partnerId: string,
  { position, partyPosition }: store.CheckpointProgress,
): Promise<number> {
  // A process of the previous version has rebuilt the checkpoints of accounts, so those of parties also start over.
  const mustRestart = partyPosition !== null && partyPosition > position
  if (mustRestart) parties.deletePartyCheckpoints(tx, partnerId)
  const start = mustRestart ? nilId : (partyPosition ?? nilId)
  const stretches = await parties.listStretchesMissingParties(tx, partnerId, start, stretchesPerVisitMax)
  for (const stretch of stretches) parties.insertPartyCheckpoints(tx, partnerId, stretch)
  const last = stretches.at(-1)?.position
  if (last !== undefined || mustRestart) parties.setPartyPosition(tx, partnerId, last ?? null)
  return stretches.length
}

/** Locks the checkpoints of a partner for this transaction. Undefined: another process has locked them. */
async function claimCheckpoints(tx: Tx, partnerId: string): Promise<store.CheckpointProgress | undefined> {
  const found = await store.claimProgress(tx, partnerId)
  if (found !== undefined) return found
  return (await store.createProgress(tx, partnerId))
    ? { position: nilId, differs: false, partyPosition: null }
    : undefined
}

/**
 * Compares the accounts with their checkpoints and the transfers since. A difference means that a transfer appeared
 * among those that a checkpoint covers. Then all checkpoints of the partner are rebuilt. If that does not help, an
 * account row is wrong, and the checkpoints stay.
 */
async function verifyAccounts({ db, log }: CheckpointsDeps, partnerId: string): Promise<void> {
  const isWrong = (row: store.PastBalance) => row.posted !== row.postedNow || row.reserved !== row.reservedNow
  const read = async (tx: Tx) => (await store.balancesBefore(tx, partnerId, store.idMax)).filter(isWrong)
  const wrong = await read(db)
  await db.transaction(async (tx) => {
    const progress = await store.claimProgress(tx, partnerId)
    if (progress === undefined || (wrong.length === 0 && !progress.differs)) return
    if (wrong.length === 0) return store.setProgress(tx, partnerId, { ...progress, differs: false })
    const accounts = wrong.map(({ id, name, currency }) => ({ id, name, currency }))
    if (progress.differs)
      return log.error(
        { partnerId, accounts },
        'accounts differ from their transfers: their checkpoints were recreated',
      )
    log.error({ partnerId, accounts }, 'checkpoints differ from the accounts; recreating them')
    store.deleteCheckpoints(tx, partnerId)
    parties.deletePartyCheckpoints(tx, partnerId)
    parties.setPartyPosition(tx, partnerId, null)
    store.setProgress(tx, partnerId, { position: nilId, differs: true })
  })
}
