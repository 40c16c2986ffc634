/**
 * Idempotency of every write by its key. An operation that creates something stores its answer in the same transaction,
 * so that both exist or neither. Every other operation (`keepsAnswer`) reserves the key first and stores the answer
 * after the effect. If its process dies in between, a repeated request reserves the key again.
 *
 * Table: idempotency.keys. Invariants: a key of a partner and an operation has one answer, forever. Answers are sealed,
 * because they contain signing secrets and personal data. Payouts and deposits keep their keys on their own rows.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { createHash } from 'node:crypto'
import {
  CustomerRef,
  isRawNumber,
  storesAnswer,
  createdIds,
  type Operation,
  type OperationId,
  operationIds,
  operations,
  type Operations,
  ownJsonExactly,
  type ResponseOf,
} from '@partner-payments/wire'
import type { Audit } from '../audit/index.ts'
import {
  type AllHandlers,
  type OperationAnswer,
  type OperationCall,
  type Handler,
  Refusal,
} from '../kernel/api/index.ts'
import { after, type Clock, minuteMs, type Sealer, secondMs } from '../kernel/index.ts'
import { type Database, KeyTaken, oncePerKey, requestInProgress, type Tx } from '../postgres/index.ts'
import * as store from './store.ts'

export { sealedAnswers } from './store.ts'

type HeaderOperationId =
  | 'createReport'
  | { [K in OperationId]: Operations[K] extends { readonly idempotency: 'header' } ? K : never }[OperationId]

export type Idempotency = {
  /**
   * Creates the handler of an operation. `work` gets the transaction of the key, or undefined if the request has no
   * key. If `work` throws, the key remains unused. The handler refuses: idempotency_key_reused, request_in_progress,
   * and what `work` refuses.
   */
  readonly handler: <K extends HeaderOperationId>(
    operation: K,
    work: (call: OperationCall<K>, tx: Tx | undefined) => Promise<CreationResult<K>>,
  ) => Handler<K>
  /** Wraps the handlers of operations that store their answers after the effect. */
  readonly keepAnswers: (handlers: AllHandlers) => AllHandlers
  /**
   * Erases the answers that contain data of a customer. Versions before 0.1.0 stored answers without a customer: `made`
   * lists the resources of those. The keys stay in use: a repeated request is refused (idempotency_key_reused).
   */
  readonly eraseAnswers: (
    tx: Tx,
    partnerId: string,
    customerId: string,
    made: readonly CreatedResource[],
  ) => Promise<void>
}

/** Resource that a request created. `createdAt`: a time within the transaction of the key. */
export type CreatedResource = {
  readonly operation: HeaderOperationId
  readonly createdAt: Date
  readonly created: string
}

type CreationResult<K extends OperationId> = {
  readonly body: ResponseOf<K>
  /** Identifies the resource in the refusal of another request with the same key. */
  readonly created: string
  /** Customer whose data the answer contains. Erasing the customer erases the answer. */
  readonly customerId?: string | null
  /** False: the resource existed before the request. */
  readonly isNew?: boolean
}

type KeptAnswer<K extends OperationId> = {
  readonly requestFingerprint: string
  readonly reference: string
  readonly body: ResponseOf<K>
}

type AnyCall = OperationCall<OperationId>
type AnyHandler = (call: AnyCall) => Promise<OperationAnswer<unknown>>

/** A duplicate waits no longer than a statement waits for a lock (`lock_timeout`). */
const waitMsMax = 5 * secondMs
const pollMs = 50
/**
 * Longer than a request runs. After that, a key without an answer belongs to a process that has ended: the request may
 * run again.
 */
const runMsMax = minuteMs

/** Finds the customer whose data an answer may contain: the one named in the answer or in the path. */
function customerIdIn({ params = {} }: Operation, body: unknown): string | null {
  const named = (body as { readonly customerId?: unknown } | undefined)?.customerId
  if (typeof named === 'string') return named
  const guid = (body as { readonly guid?: unknown } | undefined)?.guid
  return typeof guid === 'string' && Object.values(params).includes(CustomerRef) ? guid : null
}

const requestPath = ({ path }: Operation, { params }: AnyCall): string =>
  path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => String((params as Readonly<Record<string, string>>)[name]))

const pointer = '/headers/Idempotency-Key'
export const replayHeaders = { 'idempotent-replayed': 'true' } as const

export function createIdempotency(deps: {
  readonly db: Database
  readonly clock: Clock
  readonly sealer: Sealer
  readonly audit: Pick<Audit, 'made'>
}): Idempotency {
  const { db, clock, sealer, audit } = deps

  const find = async <K extends OperationId>(key: store.IdempotencyKey): Promise<KeptAnswer<K> | undefined> => {
    const row = await store.readAnswer(db, key)
    if (row === undefined) return undefined
    if (row.answerSealed === null) return undefined
    const kept = ownJsonExactly<KeptAnswer<K>>(sealer.open(row.answerSealed, store.answerContext(key)))
    if (kept.requestFingerprint === noFingerprint) throw erasedAnswer(kept.reference)
    return kept
  }

  /** Runs a request that has reserved its key, and stores its answer. Releases the key if the request fails. */
  const runTaken = async (
    work: AnyHandler,
    call: AnyCall,
    key: store.IdempotencyKey,
    takenAt: Date,
  ): Promise<KeptAnswer<OperationId>> => {
    const operation: Operation = operations[key.operation as OperationId]
    try {
      const { body, customerId = customerIdIn(operation, body) } = await work(call)
      const reference = `the answer of ${operation.method} ${requestPath(operation, call)}`
      const answer = { requestFingerprint: fingerprintOf(call), reference, body } as KeptAnswer<OperationId>
      const answerSealed = sealer.seal(JSON.stringify(answer), store.answerContext(key))
      await store.completeReservedKey(db, key, { takenAt, answerSealed, customerId })
      return answer
    } catch (error) {
      // If the database cannot be reached, a later request reserves the abandoned key.
      await store.releaseKey(db, key, takenAt).catch(() => undefined)
      throw error
    }
  }

  const keep =
    (operation: OperationId, work: AnyHandler): AnyHandler =>
    async (call) => {
      const { caller, idempotencyKey } = call
      if (idempotencyKey === undefined) return work(call)
      const key = { partnerId: caller.partnerId, operation, idempotencyKey }
      const { row, replayed } = await oncePerKey<KeptAnswer<OperationId>>({
        requestFingerprint: fingerprintOf(call),
        pointer,
        find: () => find(key),
        make: async () => {
          for (let waitedMs = 0; waitedMs < waitMsMax; waitedMs += pollMs) {
            const now = clock.now()
            const abandonedBefore = after(now, -runMsMax)
            if (await store.reserveKey(db, key, { now, abandonedBefore })) return runTaken(work, call, key, now)
            if (await find(key)) throw new KeyTaken()
            await pause(pollMs)
          }
          throw requestInProgress()
        },
      })
      return replayed ? { body: row.body, headers: replayHeaders } : { body: row.body }
    }

  return {
    eraseAnswers: createEraseAnswers(sealer),
    keepAnswers: (handlers) =>
      Object.fromEntries(
        operationIds.map((id) => {
          const handler = handlers[id] as unknown as AnyHandler
          return [id, storesAnswer(operations[id]) ? keep(id, handler) : handler]
        }),
      ) as unknown as AllHandlers,
    handler: (operation, work) => async (call) => {
      const { caller, idempotencyKey } = call
      const make = async (tx: Tx) => {
        const made = await work(call, tx)
        const ids = made.isNew === false ? [] : createdIds(operations[operation], made.body)
        audit.made(tx, { ...call, operation, ids })
        return made
      }
      // A resource and the audit record of its creation commit together, with or without a key.
      if (idempotencyKey === undefined) {
        const isMaking = typeof (operations[operation] as Operation).makes === 'object'
        return { body: (await (isMaking ? db.transaction(make) : work(call, undefined))).body }
      }
      const key = { partnerId: caller.partnerId, operation, idempotencyKey }
      const requestFingerprint = fingerprintOf(call)
      const { row, replayed } = await oncePerKey<KeptAnswer<typeof operation>>({
        requestFingerprint,
        pointer,
        find: () => find(key),
        make: () =>
          db.transaction(async (tx) => {
            // Claimed first: a concurrent duplicate waits here before it starts the work.
            if (!(await store.claimKey(tx, key, clock.now()))) throw new KeyTaken()
            const { body, created, customerId = null } = await make(tx)
            const answer = { requestFingerprint, reference: created, body }
            store.saveAnswer(tx, key, sealer.seal(JSON.stringify(answer), store.answerContext(key)), customerId)
            return answer
          }),
      })
      return replayed ? { body: row.body, headers: replayHeaders } : { body: row.body }
    },
  }
}

/** A request claims its key up to some minutes before it creates something, because it may wait for a lock. */
const requestMsMax = 10 * minuteMs
const answersPerPageMax = 100
/** No request has this fingerprint. */
const noFingerprint = ''

/** Refuses even the same request, because its answer was erased. */
const erasedAnswer = (reference: string) =>
  new Refusal(
    'idempotency_key_reused',
    `The key belongs to a request that created ${reference}. Its answer was erased with the customer. Use a new key for a new request.`,
    { errors: [{ pointer, code: 'exists', message: `was used for ${reference}` }] },
  )

function createEraseAnswers(sealer: Sealer): Idempotency['eraseAnswers'] {
  const openReference = (key: store.IdempotencyKey, answerSealed: Uint8Array): string =>
    ownJsonExactly<{ reference: string }>(sealer.open(answerSealed, store.answerContext(key))).reference
  const erase = (tx: Tx, key: store.IdempotencyKey, reference: string) => {
    const erased = { requestFingerprint: noFingerprint, reference, body: null }
    return store.replaceAnswer(tx, key, sealer.seal(JSON.stringify(erased), store.answerContext(key)))
  }
  const eraseCreated = async (tx: Tx, partnerId: string, { operation, createdAt, created }: CreatedResource) => {
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
    await store.releaseRunningKeys(tx, partnerId, 'eraseCustomer')
    for (let isMore = true; isMore;) {
      const page = await store.answersOfCustomer(tx, partnerId, customerId, answersPerPageMax)
      for (const { answerSealed, ...row } of page) {
        const key = { partnerId, ...row }
        await erase(tx, key, openReference(key, answerSealed))
      }
      isMore = page.length === answersPerPageMax
    }
    for (const one of made) await eraseCreated(tx, partnerId, one)
  }
}

/** Returns the same hash for requests that differ only in the order and spacing of their fields, or in the place of the key. */
function fingerprintOf({ params, body = {} }: { readonly params: unknown; readonly body?: unknown }): string {
  return createHash('sha256')
    .update(JSON.stringify(sortFields([params, { ...(body as object), idempotencyKey: undefined }])))
    .digest('hex')
}

function sortFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortFields)
  if (typeof value !== 'object' || value === null || isRawNumber(value)) return value
  const fields = Object.entries(value).map(([name, field]) => [name, sortFields(field)] as const)
  return Object.fromEntries(fields.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
