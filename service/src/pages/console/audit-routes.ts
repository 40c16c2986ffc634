/** The audit log, made of the operations that read it: records, one record with its proof, and the signed heads. */
import { type AuditHeadContent, ownJson, type ResponseOf } from '@partner-payments/wire'
import { notFound, type PublicAnswer, type PublicRequest } from '../../kernel/api/index.ts'
import { momentOfId } from '../../kernel/index.ts'
import {
  auditFilters,
  auditHeadsPage,
  auditPage,
  auditRecordPage,
  type AuditRow,
  type RecordProof,
} from './audit-page.ts'
import { wordOf } from './payment-words.ts'
import { callOf, ifFound, queryText, readList, readQuery, routesOf, statusOf } from './payments-request.ts'
import { type Frame, headersOf, idOf, page, type Person, type Routes } from './request.ts'
import { operationOf, subjectsOf } from './subjects.ts'
import { paymentTexts } from './texts/payments.ts'

type AuditRecord = ResponseOf<'listAuditRecords'>['data'][number]
type Proof = ResponseOf<'getTransactionProof'>

const stepsAction = 'transaction.steps'

function rowOf(person: Person, record: AuditRecord): AuditRow {
  const { id, at, actor, action, subject, details } = record
  const words = paymentTexts[person.view.language].step
  const steps = action === stepsAction && Array.isArray(details?.['steps']) ? details['steps'] : []
  return {
    id,
    at: new Date(at),
    actor: { kind: actor.kind, name: actor.name, staff: actor.impersonatedBy },
    action: action === stepsAction ? undefined : action,
    summary: operationOf(action)?.summary,
    steps: steps.map((step) => wordOf(words, String(step))),
    subjects: subjectsOf(person, action, subject),
  }
}

async function showList({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view } = person
  const { data, shown } = await readList(request, person, auditFilters, (query) =>
    operate('listAuditRecords', { ...callOf(person, request), query: queryText(query) }),
  )
  const rows = data.map((record) => rowOf(person, record))
  return page(request, statusOf(shown.problems), auditPage({ ...view, current: 'audit' }, { ...shown, rows }))
}

/** The last time that PostgreSQL and the API store. A later one belongs to no record. */
const lastMs = Date.UTC(9999, 11, 31)

/** The record with an id: one of those of its millisecond, because records are listed by the time in their id. */
async function recordOf({ operate }: Frame, request: PublicRequest, person: Person): Promise<AuditRecord> {
  const id = idOf(request)
  const at = momentOfId(id).getTime()
  if (at > lastMs) throw notFound('audit record')
  const [createdFrom, createdTo] = [new Date(at).toISOString(), new Date(at + 1).toISOString()]
  let cursor: string | undefined
  do {
    const query = queryText({ createdFrom, createdTo, limit: '100', cursor })
    const { data, nextCursor } = await operate('listAuditRecords', { ...callOf(person, request), query })
    const found = data.find((record) => record.id === id)
    if (found !== undefined) return found
    cursor = nextCursor ?? undefined
  } while (cursor !== undefined)
  throw notFound('audit record')
}

/** The payment whose proof has the record. */
const provedReference = ({ caller }: Person, { action, subject }: AuditRecord): string | undefined =>
  action === stepsAction && caller.permissions.includes('transactions:read') ? subject['reference'] : undefined

const headOf = (content: string) => {
  const { from, to, firstSequence, lastSequence, root } = ownJson<AuditHeadContent>(content)
  return { from: new Date(from), to: new Date(to), firstSequence, lastSequence, root }
}

function placeOf(view: Person['view'], id: string, reference: string, proof: Proof): RecordProof {
  const proved = proof.records.find(({ content }) => ownJson<{ readonly id: string }>(content).id === id)
  const head = proved && proof.heads[proved.head]
  if (proved === undefined || head === undefined) return { state: 'pending' }
  const { sequence } = proved
  const fileHref = `${view.root}audit/${id}/proof`
  return {
    state: 'proved',
    reference,
    sequence,
    fileHref,
    head: { ...headOf(head.content), publicKey: head.publicKey },
  }
}

async function showOne(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view } = person
  const record = await recordOf(frame, request, person)
  const reference = provedReference(person, record)
  const isAsked = readQuery(request, ['proof'])['proof'] !== undefined
  const call = { ...callOf(person, request), params: { reference: reference ?? '' } }
  // The names in a payment of an erased customer are gone; its records stay.
  const read =
    reference !== undefined && isAsked ? await ifFound(frame.operate('getTransactionProof', call)) : undefined
  const proof: RecordProof =
    reference === undefined || (isAsked && read === undefined)
      ? { state: 'none' }
      : read === undefined
        ? { state: 'unread', href: `${view.root}audit/${record.id}?proof=1#proof` }
        : placeOf(view, record.id, reference, read)
  const { actor, reason, requestId } = record
  const shown = { ...rowOf(person, record), ip: actor.ip, reason, requestId, proof, raw: record }
  return page(request, 200, auditRecordPage({ ...view, current: 'audit' }, shown))
}

/** The proof as a file, as `npm run verify:proof` reads it. */
async function saveProof(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const reference = provedReference(person, await recordOf(frame, request, person))
  if (reference === undefined) throw notFound('proof')
  const proof = await frame.operate('getTransactionProof', { ...callOf(person, request), params: { reference } })
  const headers = {
    ...headersOf,
    'content-type': 'application/json; charset=utf-8',
    'content-disposition': 'attachment; filename="proof.json"',
  }
  return { status: 200, headers, body: JSON.stringify(proof) }
}

async function showHeads({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { data, shown } = await readList(request, person, [], (query) =>
    operate('listAuditHeads', { ...callOf(person, request), query: queryText(query) }),
  )
  const rows = data.map((head) => ({
    ...{ ...headOf(head.content), publicKey: head.publicKey, json: JSON.stringify(head) },
  }))
  return page(request, 200, auditHeadsPage({ ...person.view, current: 'audit' }, { ...shown, rows }))
}

export const auditRoutes: Routes = (frame, _withPerson, withMoney) => {
  const route = routesOf(frame, withMoney, 'audit')
  return [
    route('GET', '', 'users:read', showList),
    route('GET', '/heads', 'users:read', showHeads),
    route('GET', '/{id}', 'users:read', showOne),
    route('GET', '/{id}/proof', 'users:read', saveProof),
  ]
}
