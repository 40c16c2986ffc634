/** The list of transactions, with every filter of the API. */
import { html } from '../html.ts'
import { listPage, type Listed } from './list-page.ts'
import { call, time } from './components.ts'
import { freeText, money, optionsOf, referenceText } from './lists.ts'
import { transactionBadge, wordOf } from './payment-words.ts'
import { linkOf } from './payments-request.ts'
import { paymentTexts } from './texts/payments.ts'
import { type ConsoleView } from './view.ts'

export type TransactionRow = {
  readonly reference: string
  readonly userReference?: string | undefined
  readonly href: string
  readonly category: string
  readonly direction: string
  readonly status: string
  readonly party?: string | undefined
  /** The customer for whom it is. Absent: the partner itself, or an erased customer. */
  readonly customer?: string | undefined
  readonly createdAt: Date
  readonly amount: string
  readonly currency: string
}

/** The filters that are always shown. */
const mainFilters = ['status', 'category', 'currency', 'createdFrom', 'createdTo', 'referencePrefix'] as const
const moreFilters = [
  'amountMin',
  'amountMax',
  'type',
  'rail',
  'customerId',
  'beneficiaryId',
  'endToEndId',
  'userReference',
  'idempotencyKey',
  'updatedSince',
] as const
export const transactionFilters: readonly string[] = [...mainFilters, ...moreFilters]
const reordering = ['amountMin', 'amountMax', 'updatedSince', 'referencePrefix']

export function transactionsPage(view: ConsoleView, { rows, ...shown }: Listed<TransactionRow>): string {
  const p = paymentTexts[view.language]
  const filterOf = (name: keyof ReturnType<typeof filtersOf>) => ({ name, ...filtersOf(view)[name] })
  return listPage(view, shown, {
    title: view.t.transactions,
    path: 'transactions',
    lead: reordering.some((name) => name in shown.values) ? p.orderNote : p.transactionsText,
    filters: mainFilters.map(filterOf),
    more: moreFilters.map(filterOf),
    columns: [[p.reference, 'head'], p.kind, p.party, p.customer, p.status, p.created, [p.amount, 'number']],
    cells: rows.map(({ href, category, direction, status, party, customer, createdAt, amount, currency, ...row }) => [
      html`<a class="free" href="${href}">${referenceText(row)}</a>`,
      html`<span>${wordOf(p.category, category)} <span class="soft">${wordOf(p.directions, direction)}</span></span>`,
      freeText(party),
      freeText(customer),
      transactionBadge(view, status),
      time(view, createdAt),
      money(view, amount, currency),
    ]),
    none: {
      title: p.transactionsEmpty,
      text: p.transactionsEmptyText,
      more: call(view, 'GET /v1/transactions', p.transactionsCall),
    },
    after: html`<section aria-labelledby="export-title">
      <h2 id="export-title">${p.exportTitle}</h2>
      <p>
        <a class="button" href="${linkOf(`${view.root}exports/transactions.csv`, shown.values)}" download
          >${p.exportCsv}</a
        >
      </p>
      <p class="soft">${p.exportText}</p>
      ${call(view, 'GET /v1/exports/transactions\nPOST /v1/reports', p.exportCall)}
    </section>`,
  })
}

function filtersOf({ language }: ConsoleView) {
  const p = paymentTexts[language]
  return {
    status: { label: p.status, options: optionsOf(p.transactionStatus) },
    category: { label: p.kind, options: optionsOf(p.category) },
    type: { label: p.type, options: optionsOf(p.transactionType) },
    rail: { label: p.rail, options: optionsOf(p.rails) },
    currency: { label: p.currency, charsMax: 5 },
    createdFrom: { label: p.createdFrom, type: 'date' },
    createdTo: { label: p.createdTo, type: 'date' },
    updatedSince: { label: p.updatedSince, type: 'date' },
    referencePrefix: { label: p.referencePrefix },
    amountMin: { label: p.amountMin, help: p.amountFilterHelp },
    amountMax: { label: p.amountMax, help: p.amountFilterHelp },
    customerId: { label: p.customerId },
    beneficiaryId: { label: p.payeeId },
    endToEndId: { label: p.endToEndId },
    userReference: { label: p.userReference },
    idempotencyKey: { label: p.idempotencyKey },
  } as const
}
