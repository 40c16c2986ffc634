/**
 * Chains records and signs the days. A record is chained in the order of ids, once every transaction that may still
 * insert an earlier one has ended. Guarantees and limits: README.md.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { type AuditHeadContent, chainStart, headHash, leafHash, chainHash, merkleRoot } from '@partner-payments/wire'
import { after, assert, type Clock, firstIdOf, type Log, idTime, newId, type Sealer } from '../kernel/index.ts'
import { type Database, oldestTransactionStart, type SealedColumn, type Tx } from '../postgres/index.ts'
import * as store from './store.ts'

export type ChainDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly sealer: Sealer
  readonly partnerIds: (tx: Tx) => Promise<readonly string[]>
  /** The largest clock difference between the processes and the database. */
  readonly clockDifferenceMsMax: number
  readonly headPeriodMs: number
}

/** Number of records in a subtree, whose root is stored. */
export const recordsPerSubtree = 1_024

/** A period that one head signs. It begins at a multiple of its length since 1970: a day at midnight UTC. */
type SignedPeriod = { readonly from: Date; readonly to: Date }
function findPeriod(id: string, periodMs: number): SignedPeriod {
  const from = Math.floor(idTime(id).getTime() / periodMs) * periodMs
  return { from: new Date(from), to: new Date(from + periodMs) }
}

/** Maximum number of partners that one statement looks up. */
const partnersPerLookMax = 1000

/**
 * Creates the step that chains and signs. The step returns how many partners have more work. If a partner failed, it
 * throws after it has processed all partners.
 */
export function createChainStep(deps: ChainDeps): () => Promise<number> {
  return async () => {
    const { db, headPeriodMs } = deps
    const end = firstIdOf(after(await oldestTransactionStart(db), -deps.clockDifferenceMsMax))
    const periodStart = firstIdOf(findPeriod(end, headPeriodMs).from)
    // One statement finds the few of a thousand partners with work.
    const toVisit = new Set(await store.listPartnersWithWork(db, { before: end, periodStart }))
    const begun = new Set(await store.listChainedPartners(db))
    const partnerIds = await deps.partnerIds(db)
    const others = partnerIds.filter((id) => !begun.has(id))
    const size = db.sharded ? 1 : partnersPerLookMax
    let behind = 0
    const failures: unknown[] = []
    const attempt = async (work: Promise<number>) => {
      behind += await work.catch((error: unknown) => {
        failures.push(error)
        return 0
      })
    }
    for (let from = 0; from < others.length; from += size)
      await attempt(beginChains(db, others.slice(from, from + size), end))
    for (const id of partnerIds) if (toVisit.has(id)) await attempt(advancePartner(deps, id, end))
    if (failures.length > 0) throw new Error(`audit logs not chained: ${failures.length}`, { cause: failures[0] })
    return behind
  }
}

/** Creates the chains of partners that have records. Returns their number. */
async function beginChains(db: Database, partnerIds: readonly string[], end: string): Promise<number> {
  const logged = await store.listPartnersWithRecords(db, partnerIds, end)
  for (const partnerId of logged) await store.createChain(db, partnerId, chainStart)
  return logged.length
}

/** Advances the chain of a partner. Returns 1 if it may have more work, otherwise 0. */
const advancePartner = (deps: ChainDeps, partnerId: string, end: string): Promise<number> =>
  deps.db.transaction(async (tx) => {
    const chain = await store.claimChain(tx, partnerId)
    return chain !== undefined && (await advanceChain(deps, tx, partnerId, chain, end)) ? 1 : 0
  })

/** Chains the next records of a period, or signs the period if there are none. */
async function advanceChain(
  deps: ChainDeps,
  tx: Tx,
  partnerId: string,
  chain: store.ChainRow,
  end: string,
): Promise<boolean> {
  const behind = { after: chain.recordId, before: end }
  const { ids, leaves } = await store.readUnchainedLeaves(tx, partnerId, behind, store.recordsPerLinkMax)
  const first = chain.sequence > chain.headSequence ? chain.recordId : ids[0]
  if (first === undefined) return false
  const period = findPeriod(first, deps.headPeriodMs)
  const periodEnd = firstIdOf(period.to)
  const isOver = periodEnd <= end
  const ofPeriod = ids.filter((id) => id < periodEnd)
  if (ofPeriod.length > 0) {
    store.saveChain(tx, partnerId, addLink(tx, partnerId, chain, ofPeriod, leaves))
    return ids.length === store.recordsPerLinkMax || isOver
  }
  if (!isOver) return false
  await closePeriod(deps, tx, partnerId, chain, period)
  return true
}

/**
 * Appends one link to the chain. `leaves` begins with the leaves of its records, and may continue with those of later
 * records.
 */
function addLink(
  tx: Tx,
  partnerId: string,
  chain: store.ChainRow,
  ids: readonly string[],
  leaves: Buffer,
): store.ChainRow {
  let { sequence, hash, recordId } = chain
  for (const [index, id] of ids.entries()) {
    sequence += 1n
    hash = chainHash(hash, sequence, store.leafAt(leaves, index))
    if (id > recordId) recordId = id
  }
  store.insertLink(tx, partnerId, { sequence, hash, ids, leaves: leaves.subarray(0, ids.length * store.leafBytes) })
  return { ...chain, sequence, hash, recordId }
}

/**
 * Chains late records, which appeared after the loop had passed their ids, so that the period is complete. Then signs
 * the period.
 */
async function closePeriod(
  deps: ChainDeps,
  tx: Tx,
  partnerId: string,
  chain: store.ChainRow,
  { from: start, to: end }: SignedPeriod,
): Promise<void> {
  const range = { from: firstIdOf(start), before: firstIdOf(end) }
  const late = await store.listUnlinkedRecords(tx, partnerId, range, store.recordsPerLinkMax)
  if (late.length > 0) {
    deps.log.warn({ partnerId, from: start, records: late.length }, 'late audit records: check the clocks')
    // Each late record has a link of its own, by which it is found: its id lies within a stretch that was chained
    // before.
    const chained = late.reduce(
      (soFar, { id, content }) => addLink(tx, partnerId, soFar, [id], leafHash(content)),
      chain,
    )
    return store.saveChain(tx, partnerId, chained)
  }
  const firstSequence = chain.headSequence + 1n
  const lastSequence = chain.sequence
  const subtrees: Uint8Array[] = []
  for (let from = firstSequence; from <= lastSequence; from += BigInt(recordsPerSubtree)) {
    const until = from + BigInt(recordsPerSubtree) - 1n
    const leaves = await store.listLeaves(tx, partnerId, from, until < lastSequence ? until : lastSequence)
    subtrees.push(merkleRoot(leaves))
  }
  const [previous] = await store.listHeads(tx, partnerId, null, 1)
  const content: AuditHeadContent = {
    version: 1,
    partnerId,
    from: start.toISOString(),
    to: end.toISOString(),
    firstSequence: Number(firstSequence),
    lastSequence: Number(lastSequence),
    root: Buffer.from(merkleRoot(subtrees)).toString('hex'),
    chain: chain.hash.toString('hex'),
    previous: previous === undefined ? null : headHash(previous.content),
  }
  const text = JSON.stringify(content)
  const { keyId, signature } = await signText(deps, tx, partnerId, text)
  store.insertSubtrees(
    tx,
    subtrees.map((hash, position) => ({ partnerId, firstSequence, position, hash })),
  )
  store.insertHead(tx, { partnerId, firstSequence, lastSequence, content: text, signature, keyId })
  store.saveChain(tx, partnerId, { ...chain, headSequence: lastSequence })
}

/** Signs a text with the key of a partner's heads. Locks the chain, and creates it if there is none. */
export async function signAsPartner(
  deps: Pick<ChainDeps, 'clock' | 'sealer'>,
  tx: Tx,
  partnerId: string,
  text: string,
) {
  await store.createChain(tx, partnerId, chainStart)
  await store.lockChain(tx, partnerId)
  return signText(deps, tx, partnerId, text)
}

/** Signs a text. The caller holds the lock of the chain, so that only one first key of a partner is created. */
async function signText(
  { clock, sealer }: Pick<ChainDeps, 'clock' | 'sealer'>,
  tx: Tx,
  partnerId: string,
  text: string,
) {
  const known = await store.signingKey(tx, partnerId)
  const key = known ?? newKey(sealer, partnerId)
  if (known === undefined) await store.insertKey(tx, partnerId, key, clock.now())
  return { keyId: key.id, publicKey: key.publicKey, signature: signBy(sealer, partnerId, key, text) }
}

export function signBy(sealer: Sealer, partnerId: string, key: store.KeyRow, text: string): Buffer {
  const signature = sign(null, Buffer.from(text), openKey(sealer, partnerId, key))
  assert(signature.length === 64, 'a signature of Ed25519 has 64 bytes')
  return signature
}

function openKey(sealer: Sealer, partnerId: string, key: store.KeyRow): KeyObject {
  const der = Buffer.from(sealer.open(key.privateKeySealed, keyContext(partnerId, key.id)), 'base64')
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
}

const publicText = (key: KeyObject): string => key.export({ format: 'der', type: 'spki' }).toString('base64')

/** Reports whether the public key of a row belongs to its private key, which only the master key can seal. */
export function isOwnKey(sealer: Sealer, partnerId: string, key: store.KeyRow): boolean {
  try {
    return publicText(createPublicKey(openKey(sealer, partnerId, key))) === key.publicKey
  } catch {
    return false
  }
}

function newKey(sealer: Sealer, partnerId: string): store.KeyRow {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const id = newId()
  const secret = privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64')
  return {
    id,
    publicKey: publicText(publicKey),
    privateKeySealed: sealer.seal(secret, keyContext(partnerId, id)),
  }
}

// The sealed keys that sign heads.

/** Returns the context that binds a sealed key to its row. */
const keyContext = (partnerId: string, id: string): readonly string[] => ['audit.keys', partnerId, id]

export const sealedAuditKeys: SealedColumn = {
  table: 'audit.keys',
  column: 'private_key_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => keyContext(partnerId, cell('id')),
}
