/** Checkout sessions: the list, the form of a new one, and the page of one with the link for the payer. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { asking, badge, call, copyButton, field, hiddenField, message, openDialog, table, time } from './components.ts'
import {
  account,
  facts,
  filters,
  identifier,
  list,
  money,
  moneyText,
  optionsOf,
  type Pages,
  select,
  strip,
} from './lists.ts'
import { linkOf, type Problems, type Values } from './payments-request.ts'
import { type Refunds, refundPart } from './refund-page.ts'
import { appearanceTexts } from './texts/appearance.ts'
import { checkoutTexts } from './texts/checkout.ts'
import { paymentTexts } from './texts/payments.ts'
import { refundTexts } from './texts/refunds.ts'
import { type ConsoleView, shell } from './view.ts'

type Status = 'Open' | 'Processing' | 'Completed' | 'Failed' | 'Expired'

export type SessionRow = {
  readonly id: string
  readonly amount: string
  readonly currency: string
  readonly status: Status
  readonly creditorReference: string
  readonly createdAt: Date
  readonly expiresAt: Date
}

const tones = {
  Open: 'warning',
  Processing: 'warning',
  Completed: 'good',
  Failed: 'bad',
  Expired: 'neutral',
} as const

const statusBadge = ({ language }: ConsoleView, status: Status): Html =>
  badge(tones[status], checkoutTexts[language].status[status])

const sessionCall = `POST /v1/checkout/sessions
{ "amount": 49.90, "currency": "EUR", "idempotencyKey": "…", "customer": { "email": "ada@example.com" } }`

export const sessionFilters = ['creditorReference', 'customerId', 'createdFrom', 'createdTo'] as const

type Sessions = {
  readonly rows: readonly SessionRow[]
  readonly values: Values
  readonly problems: Problems
  readonly pages: Pages
  readonly mayWrite: boolean
}

export function sessionsOfCheckoutPage(view: ConsoleView, sessions: Sessions): string {
  const c = checkoutTexts[view.language]
  const p = paymentTexts[view.language]
  const { rows, values, problems, pages, mayWrite } = sessions
  const input = (name: (typeof sessionFilters)[number], label: string, type: 'text' | 'date' = 'text') =>
    field({
      ...{ id: name, name, label, type, value: values[name] ?? '', error: problems[name] },
      optional: true,
      more: html`autocomplete="off"`,
    })
  const isFiltered = Object.keys(values).length > 0
  return shell(view, {
    title: view.t.checkout,
    wide: true,
    problems,
    main: html`<div class="heading">
        <h1>${view.t.checkout}</h1>
        <div class="buttons">
          <a class="button" href="${view.root}checkout/appearance">${appearanceTexts[view.language].open}</a>
          ${mayWrite && html`<a class="button primary" href="${view.root}checkout/new">${c.newSession}</a>`}
        </div>
      </div>
      <p class="lead">${c.lead}</p>
      ${filters(view, {
        path: `${view.root}checkout`,
        main: [
          input('creditorReference', c.creditorReference),
          input('customerId', p.customerId),
          input('createdFrom', p.createdFrom, 'date'),
          input('createdTo', p.createdTo, 'date'),
        ],
        active: isFiltered,
      })}
      ${list(view, {
        table: sessionTable(view, rows),
        isEmpty: rows.length === 0,
        isFiltered: isFiltered || pages.first !== undefined,
        none: { title: c.empty, text: c.emptyText, more: call(view, sessionCall, c.call) },
        pages,
      })}`,
  })
}

function sessionTable(view: ConsoleView, rows: readonly SessionRow[]): Html {
  const c = checkoutTexts[view.language]
  const p = paymentTexts[view.language]
  return table({
    caption: view.t.checkout,
    columns: [[c.creditorReference, 'head'], p.status, p.created, c.expires, [p.amount, 'number']],
    rows: rows.map(({ id, amount, currency, status, creditorReference, createdAt, expiresAt }) => [
      html`<a href="${view.root}checkout/${id}">${creditorReference}</a>`,
      statusBadge(view, status),
      time(view, createdAt),
      time(view, expiresAt),
      money(view, amount, currency),
    ]),
  })
}

export const sessionFields = [
  'amount',
  'currency',
  'email',
  'fullName',
  'residenceCountryCode',
  'customerId',
  'paymentMethod',
  'returnUrl',
  'websiteReference',
  'expiresInSeconds',
  'partialPayments',
] as const
type SessionField = (typeof sessionFields)[number]

type NewSession = {
  /** Values as typed. */
  readonly values: Values
  readonly idempotencyKey: string
  readonly problems: Problems
}

export function newSessionPage(view: ConsoleView, draft: NewSession): string {
  const c = checkoutTexts[view.language]
  const p = paymentTexts[view.language]
  const { values, problems, idempotencyKey } = draft
  const input = (name: SessionField, label: string, help?: string, required = false) =>
    field({
      ...{ id: name, name, value: values[name] ?? '', error: problems[name], optional: !required },
      label: required ? label : fill(p.optional, { label }),
      ...(help === undefined ? {} : { help }),
      more: html`autocomplete="off"`,
    })
  const choice = (name: SessionField, label: string, words: Readonly<Record<string, string>>, any?: string) =>
    select({
      ...{ id: name, name, label, value: values[name] ?? (any === undefined ? '3600' : ''), error: problems[name] },
      ...{ options: optionsOf(words), ...(any === undefined ? {} : { any }) },
    })
  return shell(view, {
    title: c.newSession,
    problems,
    card: true,
    main: html`<h1>${c.newSession}</h1>
      <form method="post" action="${view.root}checkout/new">
        ${hiddenField('idempotencyKey', idempotencyKey)} ${input('amount', p.amount, c.amountHelp, true)}
        ${input('currency', p.currency, p.currencyHelp, true)} ${input('email', c.email, c.emailHelp)}
        ${input('fullName', c.fullName)} ${input('residenceCountryCode', c.country, c.countryHelp)}
        ${input('customerId', p.customer, c.customerHelp)}
        ${choice('paymentMethod', c.method, c.methods, c.methodDefault)}
        ${input('returnUrl', c.returnUrl, c.returnUrlHelp)} ${input('websiteReference', c.websiteReference)}
        ${choice('expiresInSeconds', c.validity, c.validities)}
        ${choice('partialPayments', c.payments, c.inParts, c.onePayment)}
        <button type="submit" class="primary">${c.create}</button>
      </form>
      <p class="foot"><a href="${view.root}checkout">${p.back}</a></p>`,
  })
}

type PartRow = {
  readonly amount: string
  readonly status: keyof (typeof checkoutTexts)['en']['partStatus']
  readonly payer: string
  readonly receivedAt: Date
}

type Session = SessionRow & {
  readonly url: string
  readonly iban: string
  readonly bic?: string | undefined
  readonly transactionHref?: string | undefined
  readonly customerHref?: string | undefined
  readonly may: { readonly expire: boolean; readonly simulate: boolean }
  readonly done?: 'created' | 'expired' | 'refunded' | undefined
  /** Null: nothing is refunded. */
  readonly refunded: string | null
  /** Absent: the session takes one payment. */
  readonly parts?:
    | {
        readonly paid: string
        /** Null: nothing is due. */
        readonly remaining: string | null
        readonly rows: readonly PartRow[]
      }
    | undefined
  /** Absent: the session is not paid. */
  readonly refunds?: Refunds | undefined
  readonly problems: Problems
}

export function sessionOfCheckoutPage(view: ConsoleView, session: Session): string {
  const c = checkoutTexts[view.language]
  const p = paymentTexts[view.language]
  const r = refundTexts[view.language]
  const { id, amount, currency, status, creditorReference, createdAt, expiresAt, done, problems, may } = session
  const { refunded, refunds, parts } = session
  const simulation = linkOf(`${view.root}simulations/checkout`, { sessionId: id })
  return shell(view, {
    title: `${c.session} ${creditorReference}`,
    problems,
    main: html`${done !== undefined && message('good', done === 'refunded' ? r.created : c[done])}
      <div class="heading">
        <h1>${creditorReference}</h1>
        <div class="buttons">
          ${may.simulate && html`<a class="button" href="${simulation}">${c.simulate}</a>`}
          ${session.transactionHref && html`<a class="button" href="${session.transactionHref}">${c.toTransaction}</a>`}
          ${session.customerHref && html`<a class="button" href="${session.customerHref}">${c.toCustomer}</a>`}
        </div>
      </div>
      ${strip([
        [p.amount, money(view, amount, currency, 'main')],
        [p.status, statusBadge(view, status)],
        ...(parts === undefined ? [] : [[c.paid, money(view, parts.paid, currency)] as const]),
        ...(parts?.remaining ? [[c.remaining, money(view, parts.remaining, currency)] as const] : []),
        ...(refunded === null ? [] : [[r.refunded, money(view, refunded, currency)] as const]),
        [c.expires, time(view, expiresAt)],
      ])}
      ${(status === 'Open' || status === 'Processing') && linkPart(view, session.url)}
      ${facts([
        [c.iban, account(view, session.iban)],
        [p.bic, session.bic],
        [p.created, time(view, createdAt)],
        [p.id, identifier(view, id, p.id)],
      ])}
      ${parts !== undefined && partsOf(view, currency, parts.rows)}
      ${refunds !== undefined && refundPart(view, id, refunds, problems)} ${may.expire && expiry(view, session)}`,
  })
}

function partsOf(view: ConsoleView, currency: string, rows: readonly PartRow[]): Html {
  const c = checkoutTexts[view.language]
  const p = paymentTexts[view.language]
  return html`<section aria-labelledby="parts-title">
    <h2 id="parts-title">${c.parts}</h2>
    ${
      rows.length === 0
        ? html`<p>${c.noParts}</p>`
        : table({
            caption: c.parts,
            columns: [[c.payer, 'head'], p.status, p.created, [p.amount, 'number']],
            rows: rows.map(({ amount, status, payer, receivedAt }) => [
              html`<span class="free">${payer}</span>`,
              c.partStatus[status],
              time(view, receivedAt),
              money(view, amount, currency),
            ]),
          })
    }
  </section>`
}

function linkPart(view: ConsoleView, url: string): Html {
  const c = checkoutTexts[view.language]
  return html`<section aria-labelledby="link-title">
    <h2 id="link-title">${c.link}</h2>
    <p>${c.linkText}</p>
    <div class="call" role="group" aria-label="${c.link}">
      <pre tabindex="0"><code>${url}</code></pre>
      ${copyButton(view, url, c.link)}
    </div>
  </section>`
}

const expireId = 'expire-session'

function expiry(view: ConsoleView, { id, amount, currency, creditorReference, parts }: Session): Html {
  const c = checkoutTexts[view.language]
  return html`<p class="buttons">
      ${openDialog({ id: expireId, label: c.expire, about: creditorReference, tone: 'danger' })}
    </p>
    ${asking({
      ...{ id: expireId, title: c.expireTitle, action: `${view.root}checkout/${id}/expire` },
      about: html`<p><strong>${moneyText(view, amount, currency)}</strong></p>`,
      effects: [c.expireEffect, ...(parts !== undefined && parts.rows.length > 0 ? [c.expireParts] : []), c.expireLate],
      ...{ submit: c.expire, cancel: view.t.cancel },
    })}`
}
