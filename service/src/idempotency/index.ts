/**
 * Idempotency of operations whose key is in the header `Idempotency-Key`, and of `createReport`, which also takes it in its body. The transaction that carries out the operation
 * also stores its answer under the key, so that either both exist or neither.
 *
 * Table: idempotency.keys. Invariants: a key of a partner and an operation has one answer, for ever. The answer is sealed,
 * because answers contain signing secrets and personal data. Payouts and deposits keep their keys on their own rows.
 */
import { createHash } from 'node:crypto'
import { isRawNumber, type OperationId, type Operations, ownJsonExactly, type ResponseOf } from '@partner-payments/wire'
import { type Call, type Handler, Refusal } from '../api/index.ts'
import { after, type Clock, minuteMs, present, type Sealer } from '../kernel/index.ts'
import { type Database, KeyTaken, once, type Tx } from '../postgres/index.ts'
import * as store from './store.ts'
import { answerContext } from './sealed.ts'

export { sealedAnswers } from './sealed.ts'

type HeaderOperationId =
  | 'createReport'
  | { [K in OperationId]: Operations[K] extends { readonly idempotency: 'header' } ? K : never }[OperationId]

export type Idempotency = {
  /**
   * The handler of an operation. `work` gets the transaction of the key, or undefined if the request has no key. If `work`
   * throws, the key stays free. The handler refuses: idempotency_key_reused, request_in_progress, and what `work` refuses.
   */
  readonly handler: <K extends HeaderOperationId>(
    operation: K,
    work: (call: Call<K>, tx: Tx | undefined) => Promise<Created<K>>,
  ) => Handler<K>
  /**
   * Erases the answers with data of a customer, and those from before migration 0110 that created the resources in
   * `made`. Their keys stay taken, so that a repetition creates nothing: it is refused (idempotency_key_reused).
   * `createdAt`: in the transaction of the key.
   */
  readonly forget: (tx: Tx, partnerId: string, customerId: string, made: readonly Made[]) => Promise<void>
}

/** Resource that a request has created. */
export type Made = { readonly operation: HeaderOperationId; readonly createdAt: Date; readonly created: string }

type Created<K extends OperationId> = {
  readonly body: ResponseOf<K>
  /** Names what the request created, for the refusal of another request with the same key. */
  readonly created: string
  /** Customer whose data the answer contains. The answer is erased with the customer. */
  readonly customerId?: string | null
}

/** Content that is sealed under a key. */
type KeptAnswer<K extends OperationId> = {
  readonly requestFingerprint: string
  readonly reference: string
  readonly body: ResponseOf<K>
}

const pointer = '/headers/Idempotency-Key'
const replayHeaders = { 'idempotent-replayed': 'true' } as const

export function createIdempotency(deps: {
  readonly db: Database
  readonly clock: Clock
  readonly sealer: Sealer
}): Idempotency {
  const { db, clock, sealer } = deps

  const find = async <K extends OperationId>(key: store.Key): Promise<KeptAnswer<K> | undefined> => {
    const row = await store.answerOf(db, key)
    if (row === undefined) return undefined
    const sealed = present(row.answerSealed, 'a committed key has an answer')
    const kept = ownJsonExactly<KeptAnswer<K>>(sealer.open(sealed, answerContext(key)))
    if (kept.requestFingerprint === noFingerprint) throw erasedAnswer(kept.reference)
    return kept
  }

  return {
    forget: createForget(sealer),
    handler: (operation, work) => async (call) => {
      const { caller, idempotencyKey } = call
      if (idempotencyKey === undefined) return { body: (await work(call, undefined)).body }
      const key = { partnerId: caller.partnerId, operation, idempotencyKey }
      const requestFingerprint = fingerprintOf(call)
      const { row, replayed } = await once<KeptAnswer<typeof operation>>({
        requestFingerprint,
        pointer,
        find: () => find(key),
        make: () =>
          db.transaction(async (tx) => {
            // Claimed first, so that a concurrent duplicate waits here and does not begin the work.
            if (!(await store.claimKey(tx, key, clock.now()))) throw new KeyTaken()
            const { body, created, customerId = null } = await work(call, tx)
            const answer = { requestFingerprint, reference: created, body }
            store.saveAnswer(tx, key, sealer.seal(JSON.stringify(answer), answerContext(key)), customerId)
            return answer
          }),
      })
      return replayed ? { body: row.body, headers: replayHeaders } : { body: row.body }
    },
  }
}

/**
 * A request claims its key before it creates something, in the same transaction: minutes before, if it waits for a
 * lock.
 */
const requestMsMax = 10 * minuteMs
const answersPerPageMax = 100
/** A fingerprint that no request has. */
const noFingerprint = ''

/** The first answer is gone, so that not even the same request can be answered by it. */
const erasedAnswer = (reference: string) =>
  new Refusal(
    'idempotency_key_reused',
    `The key belongs to a request that created ${reference}. Its answer was erased with the customer. Use a new key for a new request.`,
    { errors: [{ pointer, code: 'exists', message: `was used for ${reference}` }] },
  )

function createForget(sealer: Sealer): Idempotency['forget'] {
  const openReference = (key: store.Key, answerSealed: Uint8Array): string =>
    ownJsonExactly<{ reference: string }>(sealer.open(answerSealed, answerContext(key))).reference
  const erase = (tx: Tx, key: store.Key, reference: string) => {
    const erased = { requestFingerprint: noFingerprint, reference, body: null }
    return store.replaceAnswer(tx, key, sealer.seal(JSON.stringify(erased), answerContext(key)))
  }
  const forgetMade = async (tx: Tx, partnerId: string, { operation, createdAt, created }: Made) => {
    const range = { from: after(createdAt, -requestMsMax), until: createdAt }
    for (let idempotencyKey = ''; ;) {
      const page = await store.answersBetween(tx, { partnerId, operation, idempotencyKey }, range, answersPerPageMax)
      for (const row of page) {
        const key = { partnerId, operation, idempotencyKey: row.idempotencyKey }
        if (openReference(key, row.answerSealed) === created) await erase(tx, key, created)
      }
      const last = page.at(-1)
      if (last === undefined || page.length < answersPerPageMax) return
      idempotencyKey = last.idempotencyKey
    }
  }
  return async (tx, partnerId, customerId, made) => {
    for (let isMore = true; isMore;) {
      const page = await store.answersOfCustomer(tx, partnerId, customerId, answersPerPageMax)
      for (const { answerSealed, ...row } of page) {
        const key = { partnerId, ...row }
        await erase(tx, key, openReference(key, answerSealed))
      }
      isMore = page.length === answersPerPageMax
    }
    for (const one of made) await forgetMade(tx, partnerId, one)
  }
}

/** Equal for requests that differ only in the order and the spacing of their fields, and in the place of the key. */
function fingerprintOf({ params, body = {} }: { readonly params: unknown; readonly body?: unknown }): string {
  return createHash('sha256')
    .update(JSON.stringify(inOrder([params, { ...(body as object), idempotencyKey: undefined }])))
    .digest('hex')
}

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder)
  if (typeof value !== 'object' || value === null || isRawNumber(value)) return value
  const fields = Object.entries(value).map(([name, field]) => [name, inOrder(field)] as const)
  return Object.fromEntries(fields.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
