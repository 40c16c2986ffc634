/** The audit log of a partner: its records, the page of one with its proof, and the signed heads. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { listPage, type Listed } from './list-page.ts'
import { call, copyButton, message, time } from './components.ts'
import { facts, identifier, type Link, links, rawJson, strip, tabs } from './lists.ts'
import { linkOf } from './payments-request.ts'
import { auditTexts } from './texts/audit.ts'
import { type ConsoleView, shell } from './view.ts'

export const auditFilters: readonly string[] = ['createdFrom', 'createdTo']

export type AuditRow = {
  readonly id: string
  readonly at: Date
  readonly actor: { readonly kind: string; readonly name?: string | undefined; readonly staff?: string | undefined }
  /** The id of an operation or of a command. Absent: the steps of a payment. */
  readonly action?: string | undefined
  /** English sentence about the operation. */
  readonly summary?: string | undefined
  /** Steps of a payment, in words. */
  readonly steps: readonly string[]
  readonly subjects: readonly Link[]
}

const auditTabs = (view: ConsoleView, current: 'records' | 'heads'): Html => {
  const a = auditTexts[view.language]
  return tabs({
    label: a.views,
    items: [
      { text: a.records, href: `${view.root}audit`, current: current === 'records' },
      { text: a.heads, href: `${view.root}audit/heads`, current: current === 'heads' },
    ],
  })
}

const actorText = ({ language }: ConsoleView, { kind, name, staff }: AuditRow['actor']): string => {
  const a = auditTexts[language]
  const kinds: Readonly<Record<string, string>> = a.actorKinds
  const shown = name ?? kinds[kind] ?? kind
  return staff === undefined ? shown : fill(a.impersonated, { name: shown, staff })
}

const actionPart = ({ language }: ConsoleView, { action, summary, steps }: AuditRow): Html => {
  const a = auditTexts[language]
  return html`<span class="lines">
    <span>${action === undefined ? a.stepsOfPayment : html`<code>${action}</code>`}</span>
    ${summary !== undefined && html`<span class="soft" lang="en">${summary}</span>`}
    ${steps.length > 0 && html`<span class="soft">${steps.join(', ')}</span>`}
  </span>`
}

export function auditPage(view: ConsoleView, { rows, ...shown }: Listed<AuditRow>): string {
  const a = auditTexts[view.language]
  return listPage(view, shown, {
    title: view.t.audit,
    path: 'audit',
    lead: a.lead,
    tabs: auditTabs(view, 'records'),
    filters: [
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
    none: { title: a.empty, text: a.emptyText, more: call(view, 'GET /v1/audit', a.call) },
  })
}

type Head = {
  readonly from: Date
  readonly to: Date
  readonly firstSequence: number
  readonly lastSequence: number
  readonly root: string
  readonly publicKey: string
}

export type RecordProof =
  /** The service has no proof of such a record. */
  | { readonly state: 'none' }
  /** The proof was not asked for. Reading it costs more than the rest of the page. */
  | { readonly state: 'unread'; readonly href: string }
  | { readonly state: 'pending' }
  | {
      readonly state: 'proved'
      readonly reference: string
      readonly sequence: number
      readonly head: Head
      readonly fileHref: string
    }

type Shown = AuditRow & {
  readonly ip?: string | undefined
  readonly reason?: string | undefined
  readonly requestId?: string | undefined
  readonly proof: RecordProof
  readonly raw: unknown
}

export function auditRecordPage(view: ConsoleView, record: Shown): string {
  const a = auditTexts[view.language]
  const { id, at, actor, action, ip, reason, requestId } = record
  const copied = (text: string | undefined, what: string) => text && identifier(view, text, what)
  return shell(view, {
    title: `${a.record}: ${action ?? a.stepsOfPayment}`,
    main: html`<h1>${a.record}</h1>
      ${strip([
        [a.at, time(view, at)],
        [a.actor, actorText(view, actor)],
        [a.action, actionPart(view, record)],
      ])}
      ${facts([
        [a.subject, links(record.subjects)],
        [a.ip, ip],
        [a.reason, reason],
        [
          a.requestId,
          requestId &&
            html`${identifier(view, requestId, a.requestId)}
              <a href="${linkOf(`${view.root}requests`, { requestId })}">${a.toRequest}</a>`,
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
  const a = auditTexts[view.language]
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
  { rows, ...shown }: Listed<Head & { readonly json: string }>,
): string {
  const a = auditTexts[view.language]
  return listPage(view, shown, {
    title: a.heads,
    heading: view.t.audit,
    path: 'audit/heads',
    lead: a.headsLead,
    tabs: auditTabs(view, 'heads'),
    columns: [[a.period, 'head'], a.recordsOfHead, a.root, a.publicKey, [view.t.actions, 'actions']],
    cells: rows.map(({ from, to, firstSequence, lastSequence, root, publicKey, json }) => [
      html`${time(view, from)} – ${time(view, to)}`,
      `${firstSequence}–${lastSequence}`,
      html`<code title="${root}">${root.slice(0, 8)}…</code>`,
      html`<code title="${publicKey}">…${publicKey.slice(-9)}</code>`,
      copyButton(view, json, fill(a.copyHead, { time: from.toISOString() })),
    ]),
    none: { title: a.headsEmpty, text: a.headsEmptyText, more: call(view, 'GET /v1/audit/heads', a.headsCall) },
  })
}
