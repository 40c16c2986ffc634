/** Tables and notes that the pages of partners, customers, payees and payments share. */
import type { CaseRow } from '../../cases/index.ts'
import { amountText, type Currency, type Minor } from '../../kernel/index.ts'
import type { Beneficiary } from '../../parties/beneficiaries/index.ts'
import { type Customer, customerName } from '../../parties/customers/index.ts'
import type { StaffNote, NoteSubject } from '../../people/staff/index.ts'
import type { HitSummary } from '../../screening/index.ts'
import type { TransactionWithUser } from '../../transactions/index.ts'
import { field, hiddenField } from '../kit/forms.ts'
import {
  badge,
  emptyState,
  freeText,
  identifier,
  formatAccount,
  money,
  referenceText,
  section,
  table,
  type Table,
  time,
  transactionBadge,
  wordFor,
  verificationTones,
} from '../kit/parts.ts'
import { pathWithQuery } from '../kit/request.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { decidersText, kindName } from './kinds.ts'
import { noteCharsMax } from './request.ts'
import { deskTexts } from './texts.ts'

// Paths of pages, from the root of the desk.
export const customerHref = (partnerId: string, id: string): string => `customers/${partnerId}/${id}`
export const payeeHref = (partnerId: string, id: string): string => `payees/${partnerId}/${id}`
/**
 * Returns the path of a payment. The reference is in the query, because a path does not allow all of its characters.
 */
export const paymentHref = (partner: string, reference: string): string =>
  pathWithQuery('payment', { partner, reference })

export const yesNo = ({ language }: ConsoleView, value: boolean): string =>
  value ? deskTexts[language].yesNo.yes : deskTexts[language].yesNo.no

export const minorMoney = (view: ConsoleView, amount: Minor, currency: Currency): Html =>
  money(view, amountText(amount, currency), currency)

type BoundedPart = {
  readonly id: string
  readonly title: string
  readonly text?: string | undefined
  readonly rows: number
  /** Text that is shown if there are no rows. */
  readonly none?: string
  readonly body: Html
  /** Path of the whole list. Absent if the page shows all rows. */
  readonly all?: string | undefined
}

/** Renders a section with a few rows and a link to the whole list. */
export function boundedSection(view: ConsoleView, { id, title, text, rows, none, body, all }: BoundedPart): Html {
  const d = deskTexts[view.language].parties
  return section(
    id,
    title,
    html`${text !== undefined && html`<p>${text}</p>`} ${rows === 0 ? html`<p>${none ?? d.none}</p>` : body}
    ${
      all !== undefined &&
      html`<p class="more">
        <a href="${view.root}${all}">${d.all}<span class="away"> ${title}</span></a>
      </p>`
    }`,
  )
}

/** Renders a table, or the text for an empty list. */
export const tableOrEmpty = ({ none, ...shown }: Table & { readonly none: Parameters<typeof emptyState>[0] }): Html =>
  shown.rows.length === 0 ? emptyState(none) : table(shown)

/** Renders a table with its caption as a heading. Without rows it shows the text `none`, or nothing. */
export function titledTable({ text, none, ...shown }: TitledTable): Html | undefined {
  if (shown.rows.length === 0 && none === undefined) return undefined
  return html`<h2>${shown.caption}</h2>
    ${text !== undefined && html`<p>${text}</p>`} ${shown.rows.length === 0 ? html`<p>${none}</p>` : table(shown)}`
}
type TitledTable = Table & { readonly text?: string; readonly none?: string }

/** Tones of a risk class or of a severity. */
export const levelTones = { low: 'neutral', medium: 'warning', high: 'bad' } as const

export type PagePart = { readonly id: string; readonly title: string; readonly body: Html }

/** Renders a section with a few rows, for a long page with a table of contents. */
export const boundedPart = (view: ConsoleView, given: BoundedPart): PagePart => ({
  id: given.id,
  title: given.title,
  body: boundedSection(view, given),
})

/** Renders the table of contents of a long page. */
export const pageContents = (view: ConsoleView, parts: readonly (readonly [id: string, title: string])[]): Html =>
  html`<nav class="contents" aria-label="${deskTexts[view.language].parties.contents}">
    <ul>
      ${parts.map(([id, title]) => html`<li><a href="#${id}-title">${title}</a></li> `)}
    </ul>
  </nav>`

export function customersTable(
  view: ConsoleView,
  partnerId: string,
  customers: readonly (Customer & { readonly verification: string | null })[],
): Html {
  const texts = deskTexts[view.language]
  const d = texts.parties
  return table({
    caption: d.customers,
    columns: [[d.customer, 'head'], d.type, d.verification, d.identifier, d.email, d.created],
    rows: customers.map((customer) => [
      html`<a href="${view.root}${customerHref(partnerId, customer.id)}">${freeText(customerName(customer))}</a>`,
      texts.customerTypes[customer.customerType],
      verificationBadge(view, customer.verification),
      freeText(customer.partnerCustomerIdentifier ?? undefined) || '–',
      freeText(customer.email ?? undefined) || '–',
      time(view, customer.createdAt, 'date'),
    ]),
  })
}

export const verificationBadge = ({ language }: ConsoleView, state: string | null): Html => {
  const known = state === 'Complete' || state === 'Invalid' ? state : 'Incomplete'
  return badge(verificationTones[known], deskTexts[language].verificationStates[known])
}

type ListedPayee = Pick<
  Beneficiary,
  | 'id'
  | 'customerId'
  | 'alias'
  | 'name'
  | 'iban'
  | 'domesticAccount'
  | 'walletAddress'
  | 'country'
  | 'currency'
  | 'createdAt'
>
export const payeeAccount = ({ iban, domesticAccount, walletAddress }: ListedPayee): string =>
  iban ?? domesticAccount ?? walletAddress ?? ''

export function payeesTable(view: ConsoleView, partnerId: string, payees: readonly ListedPayee[]): Html {
  const d = deskTexts[view.language].parties
  return table({
    caption: d.payees,
    columns: [[d.payee, 'head'], d.account, d.currency, d.customer, d.created],
    rows: payees.map((payee) => [
      html`<a href="${view.root}${payeeHref(partnerId, payee.id)}">${freeText(payee.name)}</a>
        ${payee.alias !== null && html`<span class="soft">${freeText(payee.alias)}</span>`}`,
      html`<code class="account">${formatAccount(payeeAccount(payee))}</code>`,
      payee.currency,
      payee.customerId === null
        ? d.own
        : html`<a href="${view.root}${customerHref(partnerId, payee.customerId)}">${d.customer}</a>`,
      time(view, payee.createdAt, 'date'),
    ]),
  })
}

export const categoryText = ({ language }: ConsoleView, category: string): string =>
  wordFor(deskTexts[language].categories, category)

export function paymentsTable(view: ConsoleView, payments: readonly TransactionWithUser[]): Html {
  const d = deskTexts[view.language].parties
  return table({
    caption: d.payments,
    columns: [[d.reference, 'head'], d.kind, d.status, [d.amount, 'number'], d.created, d.customer],
    rows: payments.map(({ row, user }) => [
      html`<a href="${view.root}${paymentHref(row.partnerId, row.reference)}"
        >${freeText(referenceText({ userReference: row.userReference ?? undefined, reference: row.reference }))}</a
      >`,
      categoryText(view, row.category),
      transactionBadge(view, row.status),
      minorMoney(view, row.amount, row.currency),
      time(view, row.createdAt),
      row.customerId === null
        ? d.own
        : html`<a href="${view.root}${customerHref(row.partnerId, row.customerId)}"
            >${freeText(user?.name ?? user?.email ?? d.customer)}</a
          >`,
    ]),
  })
}

type ListedCase = Pick<
  CaseRow,
  'partnerId' | 'id' | 'kind' | 'currency' | 'booked' | 'openedAt' | 'resolution' | 'proposedBy'
>

export function casesTable(view: ConsoleView, cases: readonly ListedCase[], title: string): Html {
  const texts = deskTexts[view.language]
  const d = texts.parties
  return table({
    caption: title,
    columns: [[d.kind, 'head'], d.opened, [d.money, 'number'], d.decision],
    rows: cases.map(({ partnerId, id, kind, currency, booked, openedAt, resolution, proposedBy }) => [
      html`<a href="${view.root}cases/${partnerId}/${id}">${kindName(view, kind)}</a>`,
      time(view, openedAt),
      currency === null || booked === null ? '–' : minorMoney(view, booked, currency),
      resolution !== null
        ? texts.resolutions[resolution]
        : html`${badge('warning', d.open)}
          ${proposedBy !== null && html`<span class="soft">${d.proposed}: ${freeText(proposedBy)}</span>`}`,
    ]),
  })
}

const hitTones = { open: 'warning', cleared: 'good', confirmed: 'bad', gone: 'neutral' } as const

export function hitsTable(view: ConsoleView, hits: readonly HitSummary[], title: string): Html {
  const texts = deskTexts[view.language]
  const d = texts.parties
  return table({
    caption: title,
    columns: [[d.kind, 'head'], d.list, [d.score, 'number'], d.opened, d.status],
    rows: hits.map(({ partnerId, id, subjectKind, source, score, openedAt, status, decidedBy, approvedBy }) => [
      html`<a href="${view.root}hits/${partnerId}/${id}">${texts.hitSubjects[subjectKind]}</a>`,
      freeText(listName(view, source)),
      String(score),
      time(view, openedAt),
      html`${badge(hitTones[status], texts.hitStatuses[status])}
      ${decidedBy !== null && html`<span class="soft">${freeText(decidersText(view, decidedBy, approvedBy))}</span>`}`,
    ]),
  })
}

/** Returns the name of a list: the initials of its publisher, or the name of a file of politically exposed persons. */
export function listName({ language }: ConsoleView, source: string): string {
  if (source === 'countries') return deskTexts[language].countries.countries
  return source.startsWith('pep:') ? `PEP ${source.slice('pep:'.length)}` : source.toUpperCase()
}

export type ListedAlert = {
  readonly partnerId: string
  readonly id: string
  readonly ruleId: string
  readonly ruleName: string
  readonly openedAt: Date
  readonly resolution: CaseRow['resolution']
}

export function alertsTable(view: ConsoleView, alerts: readonly ListedAlert[]): Html {
  const texts = deskTexts[view.language]
  const d = texts.parties
  return table({
    caption: d.alerts,
    columns: [[d.alerts, 'head'], d.opened, d.decision, d.rule],
    rows: alerts.map(({ partnerId, id, ruleId, ruleName, openedAt, resolution }) => [
      html`<a href="${view.root}cases/${partnerId}/${id}">${freeText(ruleName)}</a>`,
      time(view, openedAt),
      resolution === null ? badge('warning', d.open) : texts.resolutions[resolution],
      html`<a href="${view.root}rules/${ruleId}">${d.rule}</a>`,
    ]),
  })
}

type NoteList = { readonly about: NoteSubject; readonly notes: readonly StaffNote[] }

export const noteFields = (
  view: ConsoleView,
  { kind, partnerId, subjectId }: NoteSubject,
  { typed = '', error }: { readonly typed?: string; readonly error?: string },
): Html =>
  html`${hiddenField('kind', kind)} ${hiddenField('partner', partnerId)} ${hiddenField('id', subjectId)}
  ${field({
    ...{ id: 'note', name: 'note', label: deskTexts[view.language].parties.note, value: typed, error },
    more: html`maxlength="${String(noteCharsMax)}"`,
  })}`

/** Lists the notes about a partner, a customer or a payee, with a form to add one. */
export function notesSection(view: ConsoleView, { about, notes }: NoteList): Html {
  const d = deskTexts[view.language].parties
  return section(
    'notes',
    d.notes,
    html`<p>${d.notesText}</p>
      ${
        notes.length > 0 &&
        table({
          caption: d.notes,
          columns: [[d.when, 'head'], d.who, d.note],
          rows: notes.map(({ madeAt, authorName, note }) => [time(view, madeAt), freeText(authorName), freeText(note)]),
        })
      }
      <form method="post" action="${view.root}notes">
        ${noteFields(view, about, {})}
        <button type="submit">${d.addNote}</button>
      </form>`,
  )
}

/** Links to a partner by its name. Without a name it shows the id. */
export const partnerReference = (view: ConsoleView, partnerId: string, name: string | undefined): Html =>
  name === undefined
    ? identifier(view, partnerId, deskTexts[view.language].parties.partner)
    : html`<a href="${view.root}partners/${partnerId}">${freeText(name)}</a>`
