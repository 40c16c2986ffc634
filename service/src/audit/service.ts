/** The operations of the audit log. */
import {
  type AuditProof,
  type AuditStatementContent,
  type OperationId,
  ownJson,
  inclusionPath,
  type RecordKind,
  CustomerRef,
  operationIds,
  operations,
  type Operation,
  operationAudit,
} from '@partner-payments/wire'
import {
  type Caller,
  type Cursors,
  type Page,
  parseTime,
  type AllHandlers,
  type OperationAnswer,
  type OperationCall,
} from '../kernel/api/index.ts'
import { type Clock, firstIdOf, newId, nilId, type Sealer } from '../kernel/index.ts'
import { toAct, type RecordedAction, normalizeId } from './rules.ts'
import type { Database, Tx } from '../postgres/index.ts'
import { signAsPartner, signBy, recordsPerSubtree } from './chain.ts'
import * as store from './store.ts'

export type AuditActor = {
  readonly kind: 'partner' | 'worker' | 'bank' | 'time' | 'operator'
  readonly id?: string
  readonly name?: string
  readonly impersonatedBy?: string
  readonly ip?: string
}
export type NewRecord = {
  readonly partnerId: string
  /** The id of the record, if the caller has created one. */
  readonly id?: string | undefined
  readonly actor: AuditActor
  readonly action: RecordedAction
  readonly subject: Readonly<Record<string, string>>
  readonly details?: Readonly<Record<string, unknown>>
  readonly reason?: string | undefined
  readonly requestId?: string | undefined
  /**
   * True if a member of the team caused the steps of a payment. Such steps are acts; steps by programs and workers are
   * not.
   */
  readonly byPerson?: boolean | undefined
}
export type AuditRecord = Omit<NewRecord, 'partnerId' | 'id' | 'byPerson' | 'action'> & {
  readonly id: string
  readonly action: string
  readonly at: string
}
export type HeadView = {
  readonly id: string
  readonly content: string
  readonly signature: string
  readonly publicKey: string
}

type PageQuery = { readonly limit?: string; readonly cursor?: string }
type PeriodQuery = { readonly createdFrom?: string; readonly createdTo?: string }
type RecordQuery = {
  readonly kind?: RecordKind
  readonly actorId?: string
  readonly action?: string
  readonly subject?: string
}

/** The ids of the objects that a request has created, and its caller. */
type CreationRecord = {
  readonly caller: Pick<Caller, 'partnerId' | 'serviceAccountId' | 'name' | 'requestId'>
  readonly operation: OperationId
  readonly ids: readonly string[]
  readonly requestId?: string | undefined
  readonly ip?: string
}

/** The name of the person or service account that sent a request, and when. */
type Maker = { readonly name: string; readonly at: Date }

export type Audit = {
  /** Adds records in the caller's transaction. They are sent with the commit. */
  readonly append: (tx: Tx, records: readonly NewRecord[]) => void
  /** Adds a record for each object that a request creates, in the same transaction. */
  readonly made: (tx: Tx, making: CreationRecord) => void
  /** Finds who created an object. Undefined if no request did, or if an earlier version recorded only the request. */
  readonly makerOfThing: (partnerId: string, thingId: string) => Promise<Maker | undefined>
  /** Finds who sent the newest request of an operation about an object. Undefined if there is none. */
  readonly lastOnThing: (partnerId: string, thingId: string, action: OperationId) => Promise<Maker | undefined>
  /** Adds a record in its own transaction. `customerRef`: the customer under whom `about` finds it. */
  readonly record: (record: NewRecord, customerRef?: string) => Promise<void>
  /** Lists the records of requests about a customer, by any of its identifiers. Newest first, older than the cursor. */
  readonly about: (
    tx: Tx,
    partnerId: string,
    customerRefs: readonly string[],
    page: { readonly beforeId: string | null; readonly rowsMax: number },
  ) => Promise<readonly AuditRecord[]>
  /** Finds the actor and the request of a record. Undefined if there is no such record. */
  readonly makerOf: (
    partnerId: string,
    recordId: string,
  ) => Promise<Pick<AuditRecord, 'actor' | 'requestId'> | undefined>
  /** Lists records, newest first. Refuses: validation_failed (cursor). */
  readonly list: (partnerId: string, query: PageQuery & PeriodQuery & RecordQuery) => Promise<Page<AuditRecord>>
  /** Lists signed heads, newest first. Refuses: validation_failed (cursor). */
  readonly heads: (partnerId: string, query: PageQuery) => Promise<Page<HeadView>>
  /**
   * Signs a text with the key of the partner's heads, in the caller's transaction. Holds the lock of the chain until
   * the transaction ends.
   */
  readonly sign: (
    tx: Tx,
    partnerId: string,
    text: string,
  ) => Promise<{ readonly publicKey: string; readonly signature: Buffer }>
  /**
   * Proves the records with these ids, with a signed statement that the list is complete. `pending`: the number of
   * records without a signed head yet.
   */
  readonly proof: (
    partnerId: string,
    reference: string,
    recordIds: readonly string[],
  ) => Promise<AuditProof & { readonly pending: number }>
}

export type AuditDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly cursors: Cursors
  readonly sealer: Sealer
}

export function createAudit(deps: AuditDeps): Audit {
  const { db, clock, cursors } = deps
  const append: Audit['append'] = (tx, records) => {
    if (records.length === 0) return
    const at = clock.now().toISOString()
    const rows = records.map(({ id = newId(), byPerson, ...record }) => {
      const { partnerId, ...said } = record
      const content = JSON.stringify({ id, partnerId, at, ...said })
      return { partnerId, id, content, act: toAct(record, byPerson) }
    })
    store.insertRecords(
      tx,
      rows.map(({ act: _act, ...row }) => row),
    )
    const acts = rows.flatMap(({ partnerId, id: recordId, act }) => (act ? [{ partnerId, recordId, ...act }] : []))
    if (acts.length === 0) return
    store.insertActs(
      tx,
      acts.map(({ things: _things, ...act }) => act),
    )
    store.insertThings(
      tx,
      acts.flatMap(({ partnerId, recordId, things }) => things.map((thing) => ({ partnerId, thing, recordId }))),
    )
  }
  return {
    append,
    record: (record, customerRef) =>
      db.transaction(async (tx) => {
        const recordId = record.id ?? newId()
        append(tx, [{ ...record, id: recordId }])
        if (customerRef === undefined) return
        store.insertSubject(tx, { partnerId: record.partnerId, subject: customerRef.toLowerCase(), recordId })
      }),
    made: (tx, { caller, operation, ids, requestId = caller.requestId, ip }) => {
      const { partnerId, serviceAccountId, name } = caller
      const actor = { kind: 'partner', id: serviceAccountId, name, ...(ip === undefined ? {} : { ip }) } as const
      const about = { partnerId, actor, action: operation, details: { made: true }, requestId }
      append(
        tx,
        ids.map((id) => ({ ...about, subject: { id } })),
      )
    },
    makerOfThing: async (partnerId, thingId) => {
      const row = await store.creationRecord(db, partnerId, normalizeId(thingId))
      if (row === undefined) return undefined
      const { actor, at } = toRecord(row)
      return { name: actor.name ?? '', at: new Date(at) }
    },
    lastOnThing: async (partnerId, thingId, action) => {
      const filter = { kind: 'Act', actorId: null, action, thing: normalizeId(thingId) } as const
      const [row] = await store.listRecords(db, partnerId, { from: nilId, before: null }, filter, 1)
      if (row === undefined) return undefined
      const { actor, at } = toRecord(row)
      return { name: actor.name ?? '', at: new Date(at) }
    },
    about: async (tx, partnerId, customerRefs, { beforeId, rowsMax }) =>
      (await store.recordsAbout(tx, partnerId, customerRefs, beforeId, rowsMax)).map(toRecord),
    makerOf: async (partnerId, recordId) => {
      const content = (await store.recordContents(db, partnerId, [recordId])).get(recordId)
      return content === undefined ? undefined : ownJson<AuditRecord>(content)
    },
    list: async (partnerId, { createdFrom, createdTo, kind, actorId, action, subject, ...query }) => {
      const list = `audit:${partnerId}`
      const request = cursors.read(list, query)
      const end = createdTo === undefined ? null : firstIdOf(parseTime(createdTo))
      const before = request.afterId !== null && (end === null || request.afterId < end) ? request.afterId : end
      const from = createdFrom === undefined ? nilId : firstIdOf(parseTime(createdFrom))
      const filter = {
        ...{ kind: kind ?? null, actorId: actorId ?? null, action: action ?? null },
        thing: subject === undefined ? null : normalizeId(subject),
      }
      const rows = await store.listRecords(db, partnerId, { from, before }, filter, request.limit + 1)
      return cursors.page(list, request, rows.map(toRecord))
    },
    heads: async (partnerId, query) => {
      const list = `audit-heads:${partnerId}`
      const request = cursors.read(list, query)
      const before = request.afterId === null ? null : BigInt(request.afterId)
      const rows = await store.listHeads(db, partnerId, before, request.limit + 1)
      return cursors.page(
        list,
        request,
        rows.map((row) => ({ id: String(row.lastSequence), ...toHead(row) })),
      )
    },
    sign: (tx, partnerId, text) => signAsPartner(deps, tx, partnerId, text),
    proof: (partnerId, reference, recordIds) => prove(deps, partnerId, reference, recordIds),
  }
}

function toRecord({ content }: store.RecordRow): AuditRecord {
  const { partnerId: _partnerId, ...record } = ownJson<AuditRecord & { readonly partnerId: string }>(content)
  return record
}

const toHead = ({ content, signature, publicKey }: Pick<store.SignedHead, 'content' | 'signature' | 'publicKey'>) => ({
  content,
  signature: signature.toString('base64'),
  publicKey,
})

async function prove(deps: AuditDeps, partnerId: string, reference: string, recordIds: readonly string[]) {
  const { db } = deps
  const rows = recordIds.length === 0 ? [] : await store.readSequencedRecords(db, partnerId, recordIds)
  const heads: store.SignedHead[] = []
  const records: AuditProof['records'][number][] = []
  for (const { content, sequence } of rows) {
    if (sequence === null) continue
    let at = heads.findIndex((head) => head.firstSequence <= sequence && sequence <= head.lastSequence)
    if (at < 0) {
      const head = await store.findCoveringHead(db, partnerId, sequence)
      if (head === undefined) continue
      at = heads.push(head) - 1
    }
    const head = heads[at]
    if (head === undefined) continue
    const path = await merklePath(db, partnerId, head, sequence)
    records.push({ content, sequence: Number(sequence), path, head: at })
  }
  const proved = records.map(({ content }) => ownJson<AuditRecord>(content).id)
  const pending = recordIds.filter((id) => !proved.includes(id))
  const statement = await signStatement(deps, { version: 1, partnerId, reference, records: proved, pending })
  return { partnerId, reference, records, heads: heads.map(toHead), statement, pending: pending.length }
}

/** Signs the list of records, so that a proof that omits one is detected. Null if the partner has no key yet. */
async function signStatement(
  { db, clock, sealer }: AuditDeps,
  stated: Omit<AuditStatementContent, 'at'>,
): Promise<AuditProof['statement']> {
  const { partnerId } = stated
  const key = await store.signingKey(db, partnerId)
  if (key === undefined) return null
  const content = JSON.stringify({ ...stated, at: clock.now().toISOString() } satisfies AuditStatementContent)
  return toHead({ content, signature: signBy(sealer, partnerId, key, content), publicKey: key.publicKey })
}

/** Builds the Merkle path of a record from the leaves of its subtree and the roots of all subtrees of the day. */
async function merklePath(db: Database, partnerId: string, head: store.SignedHead, sequence: bigint) {
  const { firstSequence, lastSequence } = head
  const position = Number(sequence - firstSequence)
  const subtree = Math.floor(position / recordsPerSubtree)
  const from = firstSequence + BigInt(subtree * recordsPerSubtree)
  const until = from + BigInt(recordsPerSubtree) - 1n
  const leaves = await store.listLeaves(db, partnerId, from, until < lastSequence ? until : lastSequence)
  const roots = await store.listSubtrees(db, partnerId, firstSequence)
  const low = inclusionPath(leaves, position % recordsPerSubtree)
  const high = inclusionPath(
    roots.map(({ hash }) => hash),
    subtree,
  )
  return [...low, ...high].map((hash) => Buffer.from(hash).toString('hex'))
}

// Records requests as their operations declare it (`audit` in the operations table): by default the requests that change something and the reads of
// sensitive data. A record is committed before the handler runs, so that no such request takes effect without one. It states the request, not its
// outcome.

/** Finds the path parameter that identifies a customer. Records about customers are part of their personal data. */
const customerParameter = ({ params = {} }: Operation): string | undefined =>
  Object.keys(params).find((name) => params[name] === CustomerRef)

/** Returns the ids in the path. An update without ids in its path has `id` in the body. */
function requestSubject({ params, body }: OperationCall<OperationId>): Readonly<Record<string, string>> {
  const named = params as Record<string, string>
  const id = typeof body === 'object' && 'id' in body ? body.id : undefined
  return Object.keys(named).length === 0 && typeof id === 'string' ? { id } : named
}

type AnyHandler = (call: OperationCall<OperationId>) => Promise<OperationAnswer<unknown>>

export function auditedHandlers(handlers: AllHandlers, { record }: Pick<Audit, 'record'>): AllHandlers {
  const audited = operationIds.map((id): readonly [OperationId, AnyHandler] => {
    const operation: Operation = operations[id]
    const handler = handlers[id] as unknown as AnyHandler
    const audit = operationAudit(operation)
    if (audit === 'none' || audit === 'handler') return [id, handler]
    const parameter = customerParameter(operation)
    return [
      id,
      async (call) => {
        const { caller, requestId, ip } = call
        const { partnerId, serviceAccountId, name, impersonatedBy } = caller
        const impersonation = impersonatedBy === undefined ? {} : { impersonatedBy }
        const actor = { kind: 'partner', id: serviceAccountId, name, ...impersonation, ip } as const
        const subject = requestSubject(call)
        const customerRef = parameter === undefined ? undefined : subject[parameter]
        const recorded = record({ partnerId, actor, action: id, subject, requestId }, customerRef)
        if (audit === 'meanwhile') return (await Promise.all([handler(call), recorded]))[0]
        await recorded
        return handler(call)
      },
    ]
  })
  return Object.fromEntries(audited) as unknown as AllHandlers
}
