/**
 * The hashes of the audit log, and the proof that a record is under a signed head. A partner can verify a proof with this file alone.
 * Tree and paths: `merkle.ts`. Signature: Ed25519 (RFC 8032).
 */
import { createPublicKey, verify } from 'node:crypto'
import { findApprovalFaults, type SignedApproval } from './approvals.ts'
import { isInTree, leafHash, sha256 } from './merkle.ts'

const linkPrefix = Buffer.of(2)

/** The hash before the first record of a partner. */
export const chainStart: Buffer = Buffer.alloc(32)
/** Chains a record to all earlier records. The sequence is hashed as 8 bytes, big-endian. */
export function chainHash(previous: Uint8Array, sequence: bigint, leaf: Uint8Array): Buffer {
  const place = Buffer.alloc(8)
  place.writeBigUInt64BE(sequence)
  return sha256(linkPrefix, previous, place, leaf)
}

/** Content of a head. Its exact text is signed. */
export type AuditHeadContent = {
  readonly version: 1
  readonly partnerId: string
  /** The start of the records' period: a day in UTC, or less in a sandbox. */
  readonly from: string
  readonly to: string
  readonly firstSequence: number
  readonly lastSequence: number
  /** Root of the tree of these records, in hexadecimal, as all hashes. */
  readonly root: string
  /** Hash of the chain after the last record. */
  readonly chain: string
  /** SHA-256 of the text of the previous head. Null: this is the first head. */
  readonly previous: string | null
}
/** The service's statement in a proof: the records of the transaction, with and without a signed head. */
export type AuditStatementContent = {
  readonly version: 1
  readonly partnerId: string
  readonly reference: string
  readonly at: string
  /** Ids, in the order of the proof. */
  readonly records: readonly string[]
  readonly pending: readonly string[]
}
export type AuditHead = { readonly content: string; readonly signature: string; readonly publicKey: string }
export type AuditProof = {
  readonly partnerId: string
  readonly reference: string
  readonly records: readonly {
    readonly content: string
    readonly sequence: number
    readonly path: readonly string[]
    readonly head: number
  }[]
  readonly heads: readonly AuditHead[]
  /** Null: the partner has no signed head yet. */
  readonly statement: AuditHead | null
  /** Number of records without a signed head. */
  readonly pending: number
}

/** Base64 of the key in the form of SPKI (RFC 8410). */
const readKey = (publicKey: string) =>
  createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' })

/** Reports whether the key of a head has signed its text. */
export function isHeadSigned({ content, signature, publicKey }: AuditHead): boolean {
  try {
    return verify(null, Buffer.from(content), readKey(publicKey), Buffer.from(signature, 'base64'))
  } catch {
    return false
  }
}

/** Returns the hash by which the next head refers to this head. */
export const headHash = (content: string): string => sha256(Buffer.from(content)).toString('hex')

/**
 * Lists the faults of a proof, as sentences. Empty: the proof is valid. `trustedKey`: the public key that you have kept. Without it
 * the proof is only consistent, because the author of a proof could also create a key.
 */
export function findProofFaults(proof: AuditProof, trustedKey?: string): readonly string[] {
  const faults = [...findStatementFaults(proof, trustedKey)]
  const heads = proof.heads.map((head, index) => {
    if (!isHeadSigned(head)) faults.push(`The signature of head ${index} is wrong.`)
    if (trustedKey !== undefined && head.publicKey !== trustedKey)
      faults.push(`Head ${index} is signed by another key.`)
    const content = JSON.parse(head.content) as AuditHeadContent
    if (content.partnerId !== proof.partnerId) faults.push(`Head ${index} is of another partner.`)
    return content
  })
  if (proof.records.length === 0) faults.push('The proof has no records.')
  let before = 0
  for (const { content, sequence, path, head: at } of proof.records) {
    const head = heads[at]
    const said = JSON.parse(content) as {
      readonly partnerId?: unknown
      readonly subject?: { readonly reference?: unknown }
      readonly details?: { readonly approval?: SignedApproval }
    }
    if (said.partnerId !== proof.partnerId || said.subject?.reference !== proof.reference)
      faults.push(`Record ${sequence} is of another transaction.`)
    const approval = said.details?.approval
    if (approval !== undefined)
      faults.push(...findApprovalFaults(approval, proof).map((fault) => `Record ${sequence}: ${fault}`))
    if (sequence <= before) faults.push(`Record ${sequence} is out of order.`)
    before = sequence
    const hashes = path.map((hash) => Buffer.from(hash, 'hex'))
    const isProved =
      head !== undefined &&
      isInTree(
        Buffer.from(head.root, 'hex'),
        leafHash(content),
        sequence - head.firstSequence,
        head.lastSequence - head.firstSequence + 1,
        hashes,
      )
    if (!isProved) faults.push(`Record ${sequence} is not under its head.`)
  }
  return faults
}

/** Reads the approvals in the records of a proof, with the names of the approvers. */
export function approvalsOf(
  proof: AuditProof,
): readonly { readonly name: string | undefined; readonly approval: SignedApproval }[] {
  return proof.records.flatMap(({ content }) => {
    const { actor, details } = JSON.parse(content) as {
      readonly actor?: { readonly name?: string }
      readonly details?: { readonly approval?: SignedApproval }
    }
    return details?.approval === undefined ? [] : [{ name: actor?.name, approval: details.approval }]
  })
}

/** Lists faults of the signed statement, and records that it names but the proof omits. */
function findStatementFaults(proof: AuditProof, trustedKey: string | undefined): readonly string[] {
  const { statement } = proof
  // Early versions did not sign statements.
  if (!statement) return ['The proof has no statement of its records: request it again.']
  if (!isHeadSigned(statement)) return ['The signature of the statement is wrong.']
  if (statement.publicKey !== (trustedKey ?? proof.heads[0]?.publicKey))
    return ['The statement is signed by another key.']
  const stated = JSON.parse(statement.content) as AuditStatementContent
  if (stated.partnerId !== proof.partnerId || stated.reference !== proof.reference)
    return ['The statement is of another transaction.']
  const ids = proof.records.map(({ content }) => (JSON.parse(content) as { readonly id?: unknown }).id)
  const isWhole = ids.length === stated.records.length && ids.every((id, index) => id === stated.records[index])
  if (!isWhole || proof.pending !== stated.pending.length)
    return ['The records of the proof differ from those in the statement.']
  return []
}
