/**
 * The signed approval of a payout: strong customer authentication that is linked to amount and payee (Article 5 of Regulation (EU)
 * 2018/389). A passkey signs a challenge that is the SHA-256 of a snapshot of the payout. A partner can verify it with this file alone
 * (Web Authentication Level 3, section 7.2).
 */
import { createPublicKey, hash, verify } from 'node:crypto'
import { isInTree, leafHash } from './merkle.ts'

const sha256 = (data: string | Uint8Array): Buffer => hash('sha256', data, 'buffer')

/** Content of a snapshot. Its exact text is hashed. */
export type ApprovalSnapshot = {
  readonly version: 1
  readonly purpose: 'approvePayout'
  readonly partnerId: string
  readonly payoutId: string
  /** Reference of the payout's transaction. */
  readonly reference: string
  /** The number in major units of the currency. */
  readonly amount: string
  readonly currency: string
  /** Digest of the payee (`payeeDigest`), because a name in the log could not be erased. */
  readonly payee: string
  /** The person who approves. */
  readonly approverId: string
  readonly expiresAt: string
  readonly nonce: string
}

/** Content of a snapshot of the payouts of a bulk that are pending approval, which a person approves together. */
export type BulkApprovalSnapshot = {
  readonly version: 1
  readonly purpose: 'approveBulkPayout'
  readonly partnerId: string
  readonly bulkId: string
  readonly count: number
  /** The sum in each currency, in major units, in the order of the codes. */
  readonly totals: readonly { readonly amount: string; readonly currency: string }[]
  /** Root of the tree of the payouts in hexadecimal (RFC 9162). A leaf is the text of a `BulkApprovalItem`, in the order of references. */
  readonly payouts: string
  readonly approverId: string
  readonly expiresAt: string
  readonly nonce: string
}
/** A payout in the tree of a bulk, with fields of `ApprovalSnapshot`. */
export type BulkApprovalItem = Pick<ApprovalSnapshot, 'reference' | 'amount' | 'currency' | 'payee'>

export const bulkItemText = ({ reference, amount, currency, payee }: BulkApprovalItem): string =>
  JSON.stringify([reference, amount, currency, payee])

/** An approval with its evidence. `code`: the person typed a one-time code on the page of the snapshot, which proves less. */
export type SignedApproval = {
  readonly snapshot: string
  /** The position of the payout in a snapshot of a bulk. Absent: the snapshot is of this payout alone. */
  readonly inBulk?: BulkApprovalItem & {
    readonly index: number
    /** Hashes in hexadecimal, the lowest first. */
    readonly path: readonly string[]
  }
  readonly factor: 'passkey' | 'code'
  readonly passkey?: {
    readonly origin: string
    /** Base64 of SPKI (RFC 5280). All others are base64 too. */
    readonly publicKey: string
    readonly authenticatorData: string
    /** JSON of the browser, which contains the challenge. */
    readonly clientData: string
    readonly signature: string
  }
}

export const approvalChallenge = (snapshot: string): Buffer => sha256(snapshot)

/** Computes the hexadecimal digest that commits to a payee. Its salt is stored with the payout and erased with it. */
export const payeeDigest = (salt: string, name: string, account: string): string =>
  sha256(JSON.stringify([salt, name, account])).toString('hex')

const flags = { userPresent: 0x01, userVerified: 0x04 } as const

/** Lists faults in the evidence of an approval, as sentences. Empty: the person has signed this snapshot. */
export function findApprovalFaults(
  { snapshot, factor, passkey, inBulk }: SignedApproval,
  of: { readonly partnerId: string; readonly reference: string },
): readonly string[] {
  const faults: string[] = []
  const said = JSON.parse(snapshot) as ApprovalSnapshot | BulkApprovalSnapshot
  const isOfPayout =
    said.purpose === 'approvePayout' ? said.reference === of.reference : isInBulk(said, inBulk, of.reference)
  if (said.partnerId !== of.partnerId || !isOfPayout) faults.push('The approval is of another payout.')
  if (factor === 'code') return faults
  if (passkey === undefined) return [...faults, 'The approval has no signature.']
  const bytes = (text: string) => Buffer.from(text, 'base64')
  const clientData = bytes(passkey.clientData)
  const data = bytes(passkey.authenticatorData)
  const client = JSON.parse(clientData.toString('utf8')) as Readonly<Record<string, unknown>>
  if (client['type'] !== 'webauthn.get') faults.push('The signature of the approval was not made by a passkey.')
  if (client['challenge'] !== approvalChallenge(snapshot).toString('base64url'))
    faults.push('The passkey has signed another snapshot.')
  if (client['origin'] !== passkey.origin) faults.push('The passkey was used on another site.')
  if (!data.subarray(0, 32).equals(sha256(new URL(passkey.origin).hostname)))
    faults.push('The passkey belongs to another site.')
  const flag = data[32] ?? 0
  if ((flag & flags.userPresent) === 0 || (flag & flags.userVerified) === 0)
    faults.push('The passkey has not verified its user.')
  if (!isSignedByPasskey(passkey.publicKey, Buffer.concat([data, sha256(clientData)]), bytes(passkey.signature)))
    faults.push('The signature of the approval is wrong.')
  return faults
}

/** Reports whether the payout is a leaf of the tree in the snapshot of a bulk. */
function isInBulk(
  { purpose, count, payouts }: BulkApprovalSnapshot,
  item: SignedApproval['inBulk'],
  reference: string,
): boolean {
  if (purpose !== 'approveBulkPayout' || item?.reference !== reference) return false
  const path = item.path.map((each) => Buffer.from(each, 'hex'))
  return isInTree(Buffer.from(payouts, 'hex'), leafHash(bulkItemText(item)), item.index, count, path)
}

/** Reads the payout of an approval, as it was signed. `approverId`: the person. */
export function readApprovedPayout({
  snapshot,
  inBulk,
}: SignedApproval): BulkApprovalItem & Pick<ApprovalSnapshot, 'approverId'> {
  const said = JSON.parse(snapshot) as ApprovalSnapshot
  return { ...said, ...inBulk }
}

function isSignedByPasskey(publicKey: string, signed: Uint8Array, signature: Uint8Array): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' })
    return verify(key.asymmetricKeyType === 'ed25519' ? null : 'sha256', signed, key, signature)
  } catch {
    return false
  }
}
