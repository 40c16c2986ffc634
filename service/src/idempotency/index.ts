/**
 * Idempotency of every write by its key. For an operation that creates something, the transaction that carries it out also stores
 * its answer, so that either both exist or neither. For every other one (`keepsAnswer`) the key is taken first and the answer
 * stored after the effect; a process that ends between both leaves a key that the repeated request takes again.
 *
 * Table: idempotency.keys. Invariants: a key of a partner and an operation has one answer, for ever. The answer is sealed,
 * because answers contain signing secrets and personal data. Payouts and deposits keep their keys on their own rows.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { createHash } from 'node:crypto'
import {
  CustomerRef,
  isRawNumber,
  keepsAnswer,
  madeIn,
  type Operation,
  type OperationId,
  operationIds,
  operations,
  type Operations,
  ownJsonExactly,
  type ResponseOf,
} from '@partner-payments/wire'
import type { Audit } from '../audit/index.ts'
import { type AllHandlers, type Answer, type Call, type Handler, Refusal } from '../kernel/api/index.ts'
import { after, type Clock, minuteMs, type Sealer, secondMs } from '../kernel/index.ts'
import { type Database, KeyTaken, once, requestInProgress, type Tx } from '../postgres/index.ts'
import * as store from './store.ts'
import { answerContext } from './store.ts'

export { sealedAnswers } from './store.ts'

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
  /** The handlers, of which those that keep their answers afterwards do so under the key of their request. */
  readonly keeping: (handlers: AllHandlers) => AllHandlers
  /**
   * Erases the answers with data of a customer, and answers that created the resources in `made` and that versions before
   * 0.1.0 stored without a customer. Their keys stay taken, so that a repetition creates nothing: it is refused
   * (idempotency_key_reused).
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
  /** False: it was there before, so that the request has made nothing. */
  readonly isNew?: boolean
}

/** Content that is sealed under a key. */
type KeptAnswer<K extends OperationId> = {
  readonly requestFingerprint: string
  readonly reference: string
  readonly body: ResponseOf<K>
}

type AnyCall = Call<OperationId>
type AnyHandler = (call: AnyCall) => Promise<Answer<unknown>>

/** A duplicate waits as long as one that waits for a lock does (`lock_timeout`). */
const waitMsMax = 5 * secondMs
const pollMs = 50
/** Longer than a request runs. A key without an answer is then of a process that has ended, and the request may run again. */
const runMsMax = minuteMs

/** The customer whose data an answer may contain: the one that the answer or the path names. */
function customerOf({ params = {} }: Operation, body: unknown): string | null {
  const named = (body as { readonly customerId?: unknown } | undefined)?.customerId
  if (typeof named === 'string') return named
  const guid = (body as { readonly guid?: unknown } | undefined)?.guid
  return typeof guid === 'string' && Object.values(params).includes(CustomerRef) ? guid : null
}

const targetOf = ({ path }: Operation, { params }: AnyCall): string =>
  path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => String((params as Readonly<Record<string, string>>)[name]))

const pointer = '/headers/Idempotency-Key'
const replayHeaders = { 'idempotent-replayed': 'true' } as const

export function createIdempotency(deps: {
  readonly db: Database
  readonly clock: Clock
  readonly sealer: Sealer
  readonly audit: Pick<Audit, 'made'>
}): Idempotency {
  const { db, clock, sealer, audit } = deps

  const find = async <K extends OperationId>(key: store.Key): Promise<KeptAnswer<K> | undefined> => {
    const row = await store.answerOf(db, key)
    if (row === undefined) return undefined
    if (row.answerSealed === null) return undefined
    const kept = ownJsonExactly<KeptAnswer<K>>(sealer.open(row.answerSealed, answerContext(key)))
    if (kept.requestFingerprint === noFingerprint) throw erasedAnswer(kept.reference)
    return kept
  }

  /** Runs a request that has taken its key, and keeps its answer. The key of one that fails is free again. */
  const runTaken = async (
    work: AnyHandler,
    call: AnyCall,
    key: store.Key,
    takenAt: Date,
  ): Promise<KeptAnswer<OperationId>> => {
    const operation: Operation = operations[key.operation as OperationId]
    try {
      const { body, customerId = customerOf(operation, body) } = await work(call)
      const reference = `the answer of ${operation.method} ${targetOf(operation, call)}`
      const answer = { requestFingerprint: fingerprintOf(call), reference, body } as KeptAnswer<OperationId>
      const answerSealed = sealer.seal(JSON.stringify(answer), answerContext(key))
      await store.keepAnswer(db, key, { takenAt, answerSealed, customerId })
      return answer
    } catch (error) {
      // If the database is away, the key is taken again as abandoned.
      await store.freeKey(db, key, takenAt).catch(() => undefined)
      throw error
    }
  }

  const keep =
    (operation: OperationId, work: AnyHandler): AnyHandler =>
    async (call) => {
      const { caller, idempotencyKey } = call
      if (idempotencyKey === undefined) return work(call)
      const key = { partnerId: caller.partnerId, operation, idempotencyKey }
      const { row, replayed } = await once<KeptAnswer<OperationId>>({
        requestFingerprint: fingerprintOf(call),
        pointer,
        find: () => find(key),
        make: async () => {
          for (let waitedMs = 0; waitedMs < waitMsMax; waitedMs += pollMs) {
            const now = clock.now()
            const abandonedBefore = after(now, -runMsMax)
            if (await store.takeKey(db, key, { now, abandonedBefore })) return runTaken(work, call, key, now)
            if (await find(key)) throw new KeyTaken()
            await pause(pollMs)
          }
          throw requestInProgress()
        },
      })
      return replayed ? { body: row.body, headers: replayHeaders } : { body: row.body }
    }

  return {
    forget: createForget(sealer),
    keeping: (handlers) =>
      Object.fromEntries(
        operationIds.map((id) => {
          const handler = handlers[id] as unknown as AnyHandler
          return [id, keepsAnswer(operations[id]) ? keep(id, handler) : handler]
        }),
      ) as unknown as AllHandlers,
    handler: (operation, work) => async (call) => {
      const { caller, idempotencyKey } = call
      const make = async (tx: Tx) => {
        const made = await work(call, tx)
        const ids = made.isNew === false ? [] : madeIn(operations[operation], made.body)
        audit.made(tx, { ...call, operation, ids })
        return made
      }
      // A thing and the record of who made it commit together, also without a key.
      if (idempotencyKey === undefined) {
        const isMaking = typeof (operations[operation] as Operation).makes === 'object'
        return { body: (await (isMaking ? db.transaction(make) : work(call, undefined))).body }
      }
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
            const { body, created, customerId = null } = await make(tx)
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
    await store.freeRunning(tx, partnerId, 'eraseCustomer')
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
