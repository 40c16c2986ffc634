/** Compares the whole log of a partner with its chain and its signed heads, in short statements of bounded size. */
import {
  type AuditHeadContent,
  chainStart,
  headHash,
  isHeadSigned,
  leafHash,
  chainHash,
  ownJson,
  merkleRoot,
} from '@partner-payments/wire'
import { idAfter, nilId, type Sealer } from '../kernel/index.ts'
import type { Database } from '../postgres/index.ts'
import { isOwnKey, recordsPerSubtree } from './chain.ts'
import * as store from './store.ts'

export type VerificationResult = {
  readonly partnerId: string
  readonly records: number
  readonly heads: number
  /** Hash of the latest head, to compare with the copy that the partner has stored. */
  readonly lastHead: string | null
  /** A sentence for each fault. Empty if the log is intact. */
  readonly faults: readonly string[]
}

const rowsPerPageMax = 1_000n
const headsPerPageMax = 100
const faultsMax = 100

export type VerifyDeps = { readonly db: Database; readonly sealer: Sealer }

export async function verifyLog({ db, sealer }: VerifyDeps, partnerId: string): Promise<VerificationResult> {
  const faults: string[] = []
  const report = (fault: string) => void (faults.length < faultsMax && faults.push(fault))
  const chain = await store.readChain(db, partnerId)
  const hashes = await verifyLinks(db, partnerId, chain, report)
  const heads = await verifyHeads(db, partnerId, chain, hashes, report)
  await verifyKeys({ db, sealer }, partnerId, heads, report)
  const before = chain === undefined ? nilId : idAfter(chain.recordId, 1)
  for (const { id } of await store.listUnlinkedRecords(db, partnerId, { from: nilId, before }, faultsMax))
    report(`The record ${id} is not in the chain.`)
  const last = heads.at(-1)
  const records = Number(chain?.sequence ?? 0n)
  return {
    partnerId,
    records,
    heads: heads.length,
    lastHead: last === undefined ? null : headHash(last.content),
    faults,
  }
}

/** Recomputes every leaf and link. Returns the hash after the last record of a link, which a head must match. */
async function verifyLinks(
  db: Database,
  partnerId: string,
  chain: store.ChainRow | undefined,
  report: (fault: string) => void,
): Promise<(sequence: bigint) => Promise<string | undefined>> {
  let hash: Uint8Array = chainStart
  let sequence = 0n
  const last = chain?.sequence ?? 0n
  while (sequence < last) {
    const rows = await store.listLinks(db, partnerId, sequence + 1n, sequence + rowsPerPageMax)
    if (rows.length === 0) break
    for (const row of rows) {
      const first = row.sequence - BigInt(row.ids.length - 1)
      if (first !== sequence + 1n) report(`The links ${sequence + 1n} to ${first - 1n} are missing.`)
      hash = await verifyLink(db, partnerId, row, hash, report)
      sequence = row.sequence
      if (!Buffer.from(hash).equals(row.hash)) report(`The chain is broken at link ${sequence}.`)
      hash = row.hash
    }
  }
  if (sequence !== last || (chain !== undefined && !chain.hash.equals(hash)))
    report(`The chain ends at link ${sequence}, and its end was recorded at link ${last}.`)
  return async (at) => {
    const [row] = await store.listLinks(db, partnerId, at, at)
    return row && Buffer.from(row.hash).toString('hex')
  }
}

/** Compares each record of a link with its leaf. Returns the hash after the last record, computed from the records. */
async function verifyLink(
  db: Database,
  partnerId: string,
  { sequence: last, ids, leaves }: store.LinkRow,
  before: Uint8Array,
  report: (fault: string) => void,
): Promise<Uint8Array> {
  const contents = await store.recordContents(db, partnerId, ids)
  let hash = before
  let sequence = last - BigInt(ids.length)
  for (const [index, id] of ids.entries()) {
    sequence += 1n
    const content = contents.get(id)
    const kept = store.leafAt(leaves, index)
    if (content === undefined) report(`The record ${id} of link ${sequence} is missing.`)
    const leaf = content === undefined ? kept : leafHash(content)
    if (!leaf.equals(kept)) report(`The record ${id} of link ${sequence} was changed.`)
    const named = content === undefined ? id : ownJson<{ readonly id?: unknown }>(content).id
    if (named !== id) report(`The record of link ${sequence} replaces another one.`)
    hash = chainHash(hash, sequence, leaf)
  }
  return hash
}

/** Verifies the heads: signatures, order, references to the previous head, and roots. */
async function verifyHeads(
  db: Database,
  partnerId: string,
  chain: store.ChainRow | undefined,
  hashAt: (sequence: bigint) => Promise<string | undefined>,
  report: (fault: string) => void,
): Promise<readonly store.SignedHead[]> {
  const heads: store.SignedHead[] = []
  for (let before: bigint | null = null; ;) {
    const page: readonly store.SignedHead[] = await store.listHeads(db, partnerId, before, headsPerPageMax)
    heads.unshift(...page.toReversed())
    before = page.at(-1)?.lastSequence ?? null
    if (page.length < headsPerPageMax) break
  }
  let previous: string | null = null
  let covered = 0n
  for (const { content, signature, publicKey, firstSequence, lastSequence } of heads) {
    const head = ownJson<AuditHeadContent>(content)
    const name = `The head from ${head.from}`
    if (!isHeadSigned({ content, signature: signature.toString('base64'), publicKey })) report(`${name} is not signed.`)
    if (head.previous !== previous) report(`${name} does not follow the head before it.`)
    if (
      firstSequence !== covered + 1n ||
      BigInt(head.firstSequence) !== firstSequence ||
      BigInt(head.lastSequence) !== lastSequence
    )
      report(`${name} leaves out records, or covers some twice.`)
    if (head.chain !== (await hashAt(lastSequence))) report(`${name} belongs to another chain.`)
    if (head.root !== (await computeRoot(db, partnerId, firstSequence, lastSequence)))
      report(`${name} is not the root of its records.`)
    previous = headHash(content)
    covered = lastSequence
  }
  // A head may have been signed since the chain was read, so the chain is read again.
  const now = covered === chain?.headSequence ? chain : await store.readChain(db, partnerId)
  const isBetween = chain === undefined || (covered >= chain.headSequence && covered <= (now?.headSequence ?? 0n))
  if (!isBetween) report('The last signed head is missing.')
  return heads
}

/** Finds keys that were made without the master key: a person who can write to the database can add rows of keys. */
async function verifyKeys(
  { db, sealer }: VerifyDeps,
  partnerId: string,
  heads: readonly store.SignedHead[],
  report: (fault: string) => void,
): Promise<void> {
  for (const keyId of new Set(heads.map((head) => head.keyId))) {
    const key = await store.keyById(db, partnerId, keyId)
    if (key === undefined || !isOwnKey(sealer, partnerId, key))
      report(`The key ${keyId} of signed heads is not sealed under a master key of the service.`)
  }
}

async function computeRoot(db: Database, partnerId: string, first: bigint, last: bigint): Promise<string | undefined> {
  const roots: Uint8Array[] = []
  for (let from = first; from <= last; from += BigInt(recordsPerSubtree)) {
    const until = from + BigInt(recordsPerSubtree) - 1n
    const leaves = await store.listLeaves(db, partnerId, from, until < last ? until : last)
    if (leaves.length === 0) return undefined
    roots.push(merkleRoot(leaves))
  }
  return Buffer.from(merkleRoot(roots)).toString('hex')
}
