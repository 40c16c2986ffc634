/** The page of one transaction: what it is, what happened, what belongs to it, its proof, and the answer of the API. */
import type { Explained } from '../../transactions/index.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { call, message, table, time } from './components.ts'
import {
  account,
  facts,
  identifier,
  links,
  money,
  rawJson,
  referenceText,
  serviceReference,
  type Step,
  steps,
  strip,
} from './lists.ts'
import { transactionBadge, wordOf } from './payment-words.ts'
import { holdTexts } from './texts/holds.ts'
import { paymentTexts } from './texts/payments.ts'
import { type ConsoleView, shell } from './view.ts'

type Party = {
  readonly name?: string | undefined
  readonly account?: string | undefined
  readonly bank?: string | undefined
}

type RelatedRow = {
  readonly reference: string
  readonly userReference?: string | undefined
  readonly href: string
  readonly relation: string
  readonly status: string
  readonly createdAt: Date
  readonly amount: string
  readonly currency: string
}

type Transaction = {
  readonly reference: string
  readonly userReference?: string | undefined
  readonly amount: string
  readonly currency: string
  readonly exchanged?: { readonly amount: string; readonly currency: string } | undefined
  readonly status: string
  readonly category: string
  readonly direction: string
  readonly type: string
  readonly rail?: string | undefined
  readonly errorKey?: string | undefined
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly debtor?: Party | undefined
  readonly creditor?: Party | undefined
  /** Absent: the transaction is of the partner itself. */
  readonly customer?: { readonly name: string; readonly href?: string | undefined } | undefined
  readonly texts: Readonly<
    Record<'endToEndId' | 'idempotencyKey' | 'description' | 'hash' | 'requestedBy', string | undefined>
  >
  /** Absent: it does not wait. */
  readonly hold?: Explained | undefined
  readonly steps: readonly Step[]
  readonly related: readonly RelatedRow[]
  /** Absent: the transaction is not a payout, or the person may not read payouts. */
  readonly payoutHref?: string | undefined
  /** The request that created the transaction. Absent: it is not in the request log, or the person may not read the log. */
  readonly request?: { readonly href: string; readonly text: string; readonly at: Date } | undefined
  /** Absent: the person may not read events. */
  readonly eventsHref?: string | undefined
  /** `read`: the proof was asked for. Reading it costs more than the rest of the page. */
  readonly proof: {
    readonly path: string
    readonly href: string
    readonly read?: { readonly records: number; readonly pending: number } | undefined
  }
  readonly raw: unknown
}

/** Shows what a payment waits for: who acts next, until when, and what helps. */
export function holdPart(view: ConsoleView, { kind, actor, by, evidence }: Explained): Html {
  const h = holdTexts[view.language]
  const words = h.kinds[kind]
  return html`<section aria-labelledby="hold-title">
    <h2 id="hold-title">${h.title}</h2>
    ${message('warning', words.reason)}
    ${facts([
      [h.actor, h.actors[actor]],
      [h.by, by === null ? h.unknown : time(view, new Date(by))],
      [h.evidence, evidence.length === 0 ? undefined : words.evidence.join(' ')],
    ])}
  </section>`
}

export function transactionPage(view: ConsoleView, transaction: Transaction): string {
  const p = paymentTexts[view.language]
  const { amount, currency, status, category, direction, createdAt, related } = transaction
  const name = referenceText(transaction)
  const { payoutHref, eventsHref } = transaction
  const kind = `${wordOf(p.category, category)}, ${wordOf(p.directions, direction)}`
  return shell(view, {
    title: `${wordOf(p.category, category)} ${name}`,
    main: html`<div class="heading">
        <h1>${name}</h1>
        <div class="buttons">
          ${eventsHref !== undefined && html`<a class="button" href="${eventsHref}">${view.t.events}</a>`}
          ${payoutHref !== undefined && html`<a class="button" href="${payoutHref}">${p.toPayout}</a>`}
        </div>
      </div>
      ${strip([
        [p.amount, money(view, amount, currency, 'main')],
        [p.status, transactionBadge(view, status)],
        [p.kind, kind],
        [p.created, time(view, createdAt)],
      ])}
      ${transaction.hold !== undefined && holdPart(view, transaction.hold)} ${details(view, transaction)}
      <section aria-labelledby="timeline-title">
        <h2 id="timeline-title">${p.timeline}</h2>
        ${steps(view, transaction.steps)}
      </section>
      ${
        related.length > 0 &&
        html`<section aria-labelledby="related-title">
          <h2 id="related-title">${p.related}</h2>
          ${relatedTable(view, related)}
        </section>`
      }
      ${proofPart(view, transaction)} ${rawJson(view, transaction.raw)}`,
  })
}

function details(view: ConsoleView, transaction: Transaction): Html {
  const p = paymentTexts[view.language]
  const { exchanged, type, rail, errorKey, debtor, creditor, updatedAt, texts, request } = transaction
  const { requestedBy, endToEndId, idempotencyKey, description, hash } = texts
  const { customer } = transaction
  const copied = (text: string | undefined, what: string) => text && identifier(view, text, what)
  return facts([
    [p.failure, errorKey && wordOf(p.errorKey, errorKey)],
    [p.description, description],
    [p.payer, party(view, debtor)],
    [p.payee, party(view, creditor)],
    [p.customer, customer && links([{ text: customer.name, href: customer.href }])],
    [p.exchanged, exchanged && money(view, exchanged.amount, exchanged.currency)],
    [p.type, wordOf(p.transactionType, type)],
    [p.rail, rail && wordOf(p.rails, rail)],
    [p.requestedBy, requestedBy],
    [
      p.request,
      request &&
        html`<span class="lines">
          <a href="${request.href}">${request.text}</a> <span class="soft">${time(view, request.at, 'seconds')}</span>
        </span>`,
    ],
    [p.serviceReference, copied(serviceReference(transaction), p.serviceReference)],
    [p.endToEndId, copied(endToEndId, p.endToEndId)],
    [p.idempotencyKey, copied(idempotencyKey, p.idempotencyKey)],
    [p.hash, copied(hash, p.hash)],
    [p.updated, time(view, updatedAt)],
  ])
}

function party(view: ConsoleView, given: Party | undefined): Html | undefined {
  if (given === undefined || Object.values(given).every((value) => value === undefined)) return undefined
  const { name, account: number, bank } = given
  return html`<span class="lines">
    ${name !== undefined && html`<span>${name}</span>`} ${number !== undefined && account(view, number)}
    ${bank !== undefined && html`<span class="soft">${bank}</span>`}
  </span>`
}

function relatedTable(view: ConsoleView, rows: readonly RelatedRow[]): Html {
  const p = paymentTexts[view.language]
  return table({
    caption: p.related,
    columns: [[p.reference, 'head'], p.relation, p.status, p.created, [p.amount, 'number']],
    rows: rows.map(({ href, relation, status, createdAt, amount, currency, ...row }) => [
      html`<a href="${href}">${referenceText(row)}</a>`,
      wordOf(p.relations, relation),
      transactionBadge(view, status),
      time(view, createdAt),
      money(view, amount, currency),
    ]),
  })
}

function proofPart(view: ConsoleView, { proof: { path, href, read } }: Transaction): Html {
  const p = paymentTexts[view.language]
  return html`<section aria-labelledby="proof">
    <h2 id="proof">${p.proof}</h2>
    ${
      read === undefined
        ? html`<p><a class="button" href="${href}">${p.showProof}</a></p>`
        : html`<p>${fill(p.proofText, { count: String(read.records) })}</p>
            ${read.pending > 0 && html`<p>${fill(p.proofPending, { count: String(read.pending) })}</p>`}
            ${call(view, `GET ${path}`, p.proofCall)}`
    }
  </section>`
}
