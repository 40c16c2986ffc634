/** The audit log: its records, its signed heads, and the page of one record. */
import {
  type AuditHeadContent,
  type OperationId,
  ownJson,
  type ResponseOf,
  referenceCharsMax,
} from '@partner-payments/wire'
import { ifFound, notFound, type PublicAnswer, type PublicRequest } from '../../kernel/api/index.ts'
import { idTime } from '../../kernel/index.ts'
import { deskTexts } from '../desk/texts.ts'
import { html, type Html } from '../html.ts'
import { type Options, toSelectOptions } from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { type ListRows, listPage, tabs } from '../kit/lists.ts'
import {
  copyButton,
  facts,
  identifier,
  type Link,
  links,
  message,
  rawJson,
  summaryStrip,
  time,
  wordFor,
} from '../kit/parts.ts'
import { readId, pathWithQuery, page, queryText, readQuery, pageStatus } from '../kit/request.ts'
import { fill } from '../language.ts'
import { withOption, findOperation, subjectLinks } from './request-log.ts'
import { callOf, type Frame, type Person, readList, type Routes, placeRoutes, sendProof } from './request.ts'
import { texts } from './texts/index.ts'

export const auditFilters: readonly string[] = ['kind', 'actorId', 'action', 'subject', 'createdFrom', 'createdTo']

type AuditRow = {
  readonly id: string
  readonly at: Date
  readonly actor: { readonly kind: string; readonly name?: string | undefined; readonly staff?: string | undefined }
  /** The id of an operation or of a command. Absent: the record has the steps of a payment. */
  readonly action?: string | undefined
  /** True if the record identifies what a request created. */
  readonly isMade: boolean
  /** Steps of a payment, in words. */
  readonly steps: readonly string[]
  readonly subjects: readonly Link[]
}

const auditTabs = (view: ConsoleView, current: 'records' | 'heads'): Html => {
  const a = texts[view.language].audit
  return tabs({
    label: a.views,
    items: [
      { text: a.records, href: `${view.root}audit`, current: current === 'records' },
      { text: a.heads, href: `${view.root}audit/heads`, current: current === 'heads' },
    ],
  })
}

const actorText = ({ language }: ConsoleView, { kind, name, staff }: AuditRow['actor']): string => {
  const a = texts[language].audit
  const kinds: Readonly<Record<string, string>> = a.actorKinds
  const shown = name ?? kinds[kind] ?? kind
  return staff === undefined ? shown : fill(a.impersonated, { name: shown, staff })
}

/**
 * Returns the text of an audited action: an operation, an action of the service, or a command. Undefined for actions of
 * earlier versions.
 */
export function auditActionText({ language }: ConsoleView, action: string): string | undefined {
  const { audit, serviceActs } = texts[language]
  const own: Readonly<Record<string, string>> = serviceActs
  const commands: Readonly<Record<string, readonly [string, string]>> = deskTexts[language].acts
  return audit.acts[action as OperationId] ?? own[action] ?? commands[action.replace(/^operator /, '')]?.[0]
}

const actionPart = (view: ConsoleView, { action, isMade, steps }: AuditRow): Html => {
  const a = texts[view.language].audit
  return html`<span class="lines">
    <span
      >${action === undefined ? a.stepsOfPayment : (auditActionText(view, action) ?? html`<code>${action}</code>`)}</span
    >
    ${isMade && html`<span class="soft">${a.made}</span>`}
    ${steps.length > 0 && html`<span class="soft">${steps.join(', ')}</span>`}
  </span>`
}

type AuditList = ListRows<AuditRow> & { readonly choices: { readonly people: Options; readonly actions: Options } }

export function auditPage(view: ConsoleView, { rows, choices, ...shown }: AuditList): string {
  const a = texts[view.language].audit
  return listPage(view, shown, {
    title: view.t.audit,
    path: 'audit',
    lead: a.lead,
    tabs: auditTabs(view, 'records'),
    filters: [
      { name: 'kind', label: a.kind, options: toSelectOptions(a.kinds), value: 'Act' },
      { name: 'actorId', label: a.actor, options: choices.people },
      { name: 'action', label: a.action, options: choices.actions },
      { name: 'subject', label: a.thing, charsMax: referenceCharsMax },
      { name: 'createdFrom', label: a.from, type: 'date' },
      { name: 'createdTo', label: a.until, type: 'date' },
    ],
    columns: [[a.at, 'head'], a.actor, a.action, a.subject],
    cells: rows.map((row) => [
      html`<a href="${view.root}audit/${row.id}">${time(view, row.at)}</a>`,
      actorText(view, row.actor),
      actionPart(view, row),
      links(row.subjects) ?? '',
    ]),
    none: { title: a.empty, text: a.emptyText },
  })
}

type AuditHead = {
  readonly from: Date
  readonly to: Date
  readonly firstSequence: number
  readonly lastSequence: number
  readonly root: string
  readonly publicKey: string
}

export type RecordProof =
  /** The service has no proofs for records of this kind. */
  | { readonly state: 'none' }
  /** The person has not opened the proof, which costs more than the rest of the page. */
  | { readonly state: 'unread'; readonly href: string }
  | { readonly state: 'pending' }
  | {
      readonly state: 'proved'
      readonly reference: string
      readonly sequence: number
      readonly head: AuditHead
      readonly fileHref: string
    }

type AuditRecordView = AuditRow & {
  readonly ip?: string | undefined
  readonly reason?: string | undefined
  readonly requestId?: string | undefined
  readonly proof: RecordProof
  readonly raw: unknown
}

export function auditRecordPage(view: ConsoleView, record: AuditRecordView): string {
  const a = texts[view.language].audit
  const { id, at, actor, action, ip, reason, requestId } = record
  const copied = (text: string | undefined, what: string) => text && identifier(view, text, what)
  return shell(view, {
    title: `${a.record}: ${action === undefined ? a.stepsOfPayment : (auditActionText(view, action) ?? action)}`,
    main: html`<h1>${a.record}</h1>
      ${summaryStrip([
        [a.at, time(view, at)],
        [a.actor, actorText(view, actor)],
        [a.action, actionPart(view, record)],
      ])}
      ${facts([
        [a.operation, findOperation(action ?? '') && html`<code>${action}</code>`],
        [a.subject, links(record.subjects)],
        [a.ip, ip],
        [a.reason, reason],
        [
          a.requestId,
          requestId &&
            html`${identifier(view, requestId, a.requestId)}
              <a href="${pathWithQuery(`${view.root}requests`, { requestId })}">${a.toRequest}</a>`,
        ],
        [a.recordId, copied(id, a.recordId)],
      ])}
      <section aria-labelledby="proof">
        <h2 id="proof">${a.proof}</h2>
        ${proofPart(view, record.proof)}
      </section>
      ${rawJson(view, record.raw)}
      <p class="foot"><a href="${view.root}audit">${a.toLog}</a></p>`,
  })
}

function proofPart(view: ConsoleView, proof: RecordProof): Html {
  const a = texts[view.language].audit
  if (proof.state === 'none') return html`<p>${a.noProof}</p>`
  if (proof.state === 'unread') return html`<p><a class="button" href="${proof.href}">${a.showProof}</a></p>`
  if (proof.state === 'pending') return message('neutral', a.proofPending)
  const { head, sequence, reference, fileHref } = proof
  return html`${message('good', a.proofText)}
    ${facts([
      [a.sequence, String(sequence)],
      [a.period, html`${time(view, head.from)} – ${time(view, head.to)}`],
      [a.root, identifier(view, head.root, a.root)],
      [a.publicKey, identifier(view, head.publicKey, a.publicKey)],
    ])}
    <p>${fill(a.proofOfPayment, { reference })}</p>
    <p><a class="button" href="${fileHref}">${a.saveProof}</a></p>`
}

export function auditHeadsPage(
  view: ConsoleView,
  { rows, ...shown }: ListRows<AuditHead & { readonly json: string }>,
): string {
  const a = texts[view.language].audit
  return listPage(view, shown, {
    title: a.heads,
    heading: view.t.audit,
    path: 'audit/heads',
    lead: a.headsLead,
    tabs: auditTabs(view, 'heads'),
    columns: [[a.period, 'head'], a.recordsOfHead, a.root, a.publicKey, [view.t.actions, 'actions']],
    cells: rows.map(({ from, to, firstSequence, lastSequence, root, publicKey, json }) => [
      html`<span>${time(view, from)} – ${time(view, to)}</span>`,
      `${firstSequence}–${lastSequence}`,
      html`<code title="${root}">${root.slice(0, 8)}…</code>`,
      html`<code title="${publicKey}">…${publicKey.slice(-9)}</code>`,
      copyButton(view, json, fill(a.copyHead, { time: from.toISOString() })),
    ]),
    none: { title: a.headsEmpty, text: a.headsEmptyText },
  })
}

type AuditRecord = ResponseOf<'listAuditRecords'>['data'][number]

type TransactionProof = ResponseOf<'getTransactionProof'>

const stepsAction = 'transaction.steps'

function auditRow(person: Person, record: AuditRecord): AuditRow {
  const { id, at, actor, action, subject, details } = record
  const words = texts[person.view.language].payments.step
  const steps = action === stepsAction && Array.isArray(details?.['steps']) ? details['steps'] : []
  return {
    id,
    at: new Date(at),
    actor: { kind: actor.kind, name: actor.name, staff: actor.impersonatedBy },
    action: action === stepsAction ? undefined : action,
    isMade: details?.['made'] === true,
    steps: steps.map((step) => wordFor(words, String(step))),
    subjects: subjectLinks(person, action, subject),
  }
}

/** Filter value that shows every kind of record. */
const everyKind = 'All'

/** Lists the members of the team and the service accounts. */
async function listActors({ operate }: Frame, request: PublicRequest, person: Person): Promise<Options> {
  const call = { ...callOf(person, request), query: queryText({ limit: '100' }) }
  const [users, accounts] = await Promise.all([operate('listUsers', call), operate('listServiceAccounts', call)])
  return [
    ...users.data.map(({ userId, fullName }) => [userId, fullName] as const),
    ...accounts.data.map(({ serviceAccountId, name }) => [serviceAccountId, name] as const),
  ]
}

async function showList(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view } = person
  const [people, { data, shown }] = await Promise.all([
    listActors(frame, request, person),
    readList(request, person, auditFilters, ({ kind = 'Act', ...query }) =>
      frame.operate('listAuditRecords', {
        ...callOf(person, request),
        query: queryText({ ...query, kind: kind === everyKind ? undefined : kind }),
      }),
    ),
  ])
  const { actorId, action } = shown.values
  const { audit, serviceActs } = texts[view.language]
  const choices = {
    people: withOption(people, actorId),
    actions: withOption(toSelectOptions({ ...audit.acts, ...serviceActs }), action),
  }
  const rows = data.map((record) => auditRow(person, record))
  const records = { ...shown, rows, choices }
  return page(request, pageStatus(shown.problems), auditPage(view, records))
}

/** The start of the last day of the year 9999. An id with a later time is not the id of a record. */
const lastMs = Date.UTC(9999, 11, 31)

/** Finds a record by its id among the records of its millisecond, which the id contains. Refuses: not_found. */
async function findRecord({ operate }: Frame, request: PublicRequest, person: Person): Promise<AuditRecord> {
  const id = readId(request)
  const at = idTime(id).getTime()
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

/** Returns the reference of the payment whose proof contains the record. */
const provedReference = ({ caller }: Person, { action, subject }: AuditRecord): string | undefined =>
  action === stepsAction && caller.permissions.includes('transactions:read') ? subject['reference'] : undefined

const readHead = (content: string) => {
  const { from, to, firstSequence, lastSequence, root } = ownJson<AuditHeadContent>(content)
  return { from: new Date(from), to: new Date(to), firstSequence, lastSequence, root }
}

function recordProof(view: Person['view'], id: string, reference: string, proof: TransactionProof): RecordProof {
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
    head: { ...readHead(head.content), publicKey: head.publicKey },
  }
}

async function showOne(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view } = person
  const record = await findRecord(frame, request, person)
  const reference = provedReference(person, record)
  const isAsked = readQuery(request, ['proof'])['proof'] !== undefined
  const call = { ...callOf(person, request), params: { reference: reference ?? '' } }
  // The transaction of an erased customer may be unreadable; its records stay.
  const read =
    reference !== undefined && isAsked ? await ifFound(frame.operate('getTransactionProof', call)) : undefined
  const proof: RecordProof =
    reference === undefined || (isAsked && read === undefined)
      ? { state: 'none' }
      : read === undefined
        ? { state: 'unread', href: `${view.root}audit/${record.id}?proof=1#proof` }
        : recordProof(view, record.id, reference, read)
  const { actor, reason, requestId } = record
  const shown = { ...auditRow(person, record), ip: actor.ip, reason, requestId, proof, raw: record }
  return page(request, 200, auditRecordPage(view, shown))
}

async function saveProof(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const reference = provedReference(person, await findRecord(frame, request, person))
  if (reference === undefined) throw notFound('proof')
  return sendProof(frame, request, person, reference)
}

async function showHeads({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { data, shown } = await readList(request, person, [], (query) =>
    operate('listAuditHeads', { ...callOf(person, request), query: queryText(query) }),
  )
  const rows = data.map((head) => ({
    ...readHead(head.content),
    publicKey: head.publicKey,
    json: JSON.stringify(head),
  }))
  return page(request, 200, auditHeadsPage(person.view, { ...shown, rows }))
}

export const auditRoutes: Routes = (frame) => {
  const route = placeRoutes(frame, frame.withMoney, 'audit')
  return [
    route('GET', '', 'users:read', showList),
    route('GET', '/heads', 'users:read', showHeads),
    route('GET', '/{id}', 'users:read', showOne),
    route('GET', '/{id}/proof', 'users:read', saveProof),
  ]
}
