/**
 * Proofs of who controls a self-hosted wallet (Regulation (EU) 2023/1113, articles 14(5) and 16(2)). The wallet signs a
 * message that names its address, the partner and the customer. Message and signature are the evidence.
 */
import type { BodyOf } from '@partner-payments/wire'
import { type Cursors, notFound, type Page, Refusal, refuseField, refuseInvalid } from '../../kernel/api/index.ts'
import { after, type Clock, hourMs, type Minor, newId, type Money } from '../../kernel/index.ts'
import { type Database, inTransaction, type Tx } from '../../postgres/index.ts'
import { addressProblem, checksumAddress } from '../../rails/index.ts'
import type { Rates } from '../../rates/index.ts'
import type { Customers } from '../../parties/customers/index.ts'
import * as store from './store.ts'

export type OwnershipProof = Omit<store.OwnershipProof, 'status'> & {
  readonly status: store.OwnershipProof['status'] | 'Expired'
}
/** The external wallet of a payment. `customerId` is null for the partner's own payments. */
type PaymentWallet = {
  readonly partnerId: string
  readonly customerId: string | null
  /** Lower case. */
  readonly address: string
}

export type WalletPayment = PaymentWallet & Money

export type Ownership = {
  /** Creates a proof to be signed, or a declaration of the wallet's provider. Refuses: validation_failed (address), not_found (/customerId). */
  readonly create: (partnerId: string, input: BodyOf<'createOwnershipProof'>, tx?: Tx) => Promise<OwnershipProof>
  /**
   * Stores the signature of the wallet. Refuses: not_found, ownership_proof_expired, validation_failed (not a signature of
   * this wallet, or a declared wallet).
   */
  readonly sign: (partnerId: string, id: string, signature: string, tx?: Tx) => Promise<OwnershipProof>
  /** Reads a proof of ownership. Refuses: not_found. */
  readonly get: (partnerId: string, id: string) => Promise<OwnershipProof>
  /** Lists proofs, newest first. Refuses: validation_failed (cursor, address). */
  readonly list: (
    partnerId: string,
    query: {
      readonly customerId?: string
      readonly address?: string
      readonly limit?: string
      readonly cursor?: string
    },
  ) => Promise<Page<OwnershipProof>>
  /**
   * Reports for each payment whether it lacks a required proof: it is above WALLET_PROOF_ABOVE, or has no rate, and the
   * wallet's owner is neither proved nor declared. Reads no proofs for small payments.
   */
  readonly findMissing: (tx: Tx, payments: readonly WalletPayment[]) => Promise<readonly boolean[]>
  /** Deletes the proofs of a customer whose payments are erased. */
  readonly erase: typeof store.eraseProofs
}

export type OwnershipDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly cursors: Cursors
  readonly customers: Pick<Customers, 'hold' | 'resolveId'>
  readonly partnerName: (tx: Tx, partnerId: string) => Promise<string>
  /** Returns the address whose key has signed a personal message, in lower case. */
  readonly recoverSigner: (message: string, signature: string) => Promise<string | undefined>
  /** WALLET_PROOF_ABOVE, in minor units of the euro. Undefined: payments do not need a proof. */
  readonly proofAbove: Minor | undefined
  readonly converter: Rates['converter']
}

/** Long enough for a person who does not have the wallet at hand. */
const signedWithinMs = 24 * hourMs

export function createOwnership(deps: OwnershipDeps): Ownership {
  const { db, clock, cursors, customers, partnerName, recoverSigner } = deps
  const listName = (partnerId: string) => `ownership-proofs:${partnerId}`
  const withExpiry = (proof: store.OwnershipProof): OwnershipProof =>
    proof.expiresAt !== null && proof.status === 'Requested' && proof.expiresAt <= clock.now()
      ? { ...proof, status: 'Expired' }
      : proof

  return {
    create: (partnerId, { customerId: ref, address: given, vasp }, outerTx) =>
      inTransaction(db, outerTx, async (tx) => {
        const address = readAddress(given, '/address')
        const customer = ref === undefined ? null : await customers.hold(tx, partnerId, ref, '/customerId')
        const id = newId()
        const now = clock.now()
        const expiresAt = after(now, signedWithinMs)
        const owner = { id, customerId: customer?.id ?? null, address, createdAt: now, signature: null }
        const proof: store.OwnershipProof =
          vasp === undefined
            ? {
                ...owner,
                status: 'Requested',
                message: proofMessage(await partnerName(tx, partnerId), { ...owner, expiresAt }),
                vasp: null,
                expiresAt,
                provedAt: null,
              }
            : { ...owner, status: 'Declared', message: null, vasp, expiresAt: null, provedAt: now }
        await store.insertProof(tx, partnerId, proof)
        return proof
      }),
    sign: (partnerId, id, signature, outerTx) =>
      inTransaction(db, outerTx, async (tx) => {
        const row = await store.lockProof(tx, partnerId, id)
        if (row === undefined) throw notFound('ownership proof')
        const { status, message, address } = row
        if (status === 'Proved') return row
        if (message === null)
          throw refuseField({
            pointer: '',
            code: 'invalid_value',
            message: 'cannot be signed: a provider keeps the wallet',
          })
        if (withExpiry(row).status === 'Expired') throw new Refusal('ownership_proof_expired')
        const signer = await recoverSigner(message, signature)
        if (signer !== address) throw refuseSignature(signer, address)
        const provedAt = clock.now()
        await store.proveOwnership(tx, partnerId, { id, signature: signature.toLowerCase(), provedAt })
        return { ...row, status: 'Proved', signature, provedAt }
      }),
    get: async (partnerId, id) => {
      const proof = await store.proofById(db, partnerId, id)
      if (proof === undefined) throw notFound('ownership proof')
      return withExpiry(proof)
    },
    list: async (partnerId, { customerId: ref, address, ...query }) => {
      const request = cursors.read(listName(partnerId), query)
      const customerId = ref === undefined ? undefined : await customers.resolveId(db, partnerId, ref)
      if (ref !== undefined && customerId === undefined) return { data: [], nextCursor: null, hasMore: false }
      const filter = {
        ...(customerId === undefined ? {} : { customerId }),
        ...(address === undefined ? {} : { address: readAddress(address, '/query/address') }),
      }
      const rows = await store.listProofs(db, partnerId, filter, request)
      return cursors.page(listName(partnerId), request, rows.map(withExpiry))
    },
    findMissing: async (tx, payments) => {
      const { proofAbove } = deps
      if (proofAbove === undefined || payments.length === 0) return payments.map(() => false)
      const convert = await deps.converter(tx)
      const large = payments.filter((payment) => (convert(payment, 'EUR')?.amount ?? proofAbove + 1n) > proofAbove)
      const known = large.length === 0 ? new Set() : new Set((await store.provedWallets(tx, large)).map(keyOf))
      return payments.map((payment) => large.includes(payment) && !known.has(keyOf(payment)))
    },
    erase: store.eraseProofs,
  }
}

const keyOf = ({ partnerId, customerId, address }: PaymentWallet) => `${partnerId} ${customerId} ${address}`

function readAddress(given: string, pointer: string): string {
  const problem = addressProblem(given)
  if (problem === undefined) return given.toLowerCase()
  const message =
    problem === 'form'
      ? 'must be 0x and 40 hexadecimal digits'
      : 'has a wrong checksum (EIP-55); copy the address again'
  throw refuseInvalid(pointer, message)
}

/** Writes the message to be signed. It names the address, so that a signature does not prove another wallet of the same key. */
function proofMessage(
  partnerName: string,
  {
    id,
    customerId,
    address,
    createdAt,
    expiresAt,
  }: Pick<store.OwnershipProof, 'id' | 'customerId' | 'address' | 'createdAt'> & {
    readonly expiresAt: Date
  },
): string {
  const payments = customerId === null ? '' : ` of customer ${customerId}`
  return [
    `I control the wallet ${checksumAddress(address)}.`,
    `This proves it to ${partnerName.replaceAll(/\s+/g, ' ')}, for payments${payments}. It moves no money.`,
    '',
    `Proof: ${id}`,
    `Made: ${createdAt.toISOString()}`,
    `Valid until: ${expiresAt.toISOString()}`,
  ].join('\n')
}

const refuseSignature = (signer: string | undefined, address: string): Refusal =>
  refuseField({
    pointer: '/signature',
    code: 'invalid_value',
    message:
      signer === undefined
        ? 'is not a secp256k1 signature'
        : `is of ${checksumAddress(signer)}, not of ${checksumAddress(address)}, or signs another text than \`message\``,
  })
