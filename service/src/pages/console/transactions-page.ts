/** The list of transactions, with every filter of the API. */
import { html, type Html } from '../html.ts'
import { call, field, table, time } from './components.ts'
import { filters, freeText, list, money, optionsOf, type Pages, select } from './lists.ts'
import { transactionBadge, wordOf } from './payment-words.ts'
import { linkOf, type Problems, type Values } from './payments-request.ts'
import { paymentTexts } from './texts/payments.ts'
import { type ConsoleView, shell } from './view.ts'

export type TransactionRow = {
  readonly reference: string
  readonly href: string
  readonly category: string
  readonly direction: string
  readonly status: string
  readonly party?: string | undefined
  readonly createdAt: Date
  readonly amount: string
  readonly currency: string
}

type Transactions = {
  readonly rows: readonly TransactionRow[]
  readonly values: Values
  readonly problems: Problems
  readonly pages: Pages
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

export function transactionsPage(view: ConsoleView, { rows, values, problems, pages }: Transactions): string {
  const p = paymentTexts[view.language]
  const isFiltered = Object.keys(values).length > 0
  return shell(view, {
    title: view.t.transactions,
    wide: true,
    problems,
    main: html`<h1>${view.t.transactions}</h1>
      <p class="lead">${reordering.some((name) => name in values) ? p.orderNote : p.transactionsText}</p>
      ${filters(view, {
        path: `${view.root}transactions`,
        main: mainFilters.map((name) => filterOf(view, name, values, problems)),
        more: {
          fields: moreFilters.map((name) => filterOf(view, name, values, problems)),
          open: moreFilters.some((name) => name in values),
        },
        active: isFiltered,
      })}
      ${list(view, {
        table: transactionTable(view, rows),
        isEmpty: rows.length === 0,
        isFiltered: isFiltered || pages.first !== undefined,
        none: {
          title: p.transactionsEmpty,
          text: p.transactionsEmptyText,
          more: call(view, 'GET /v1/transactions', p.transactionsCall),
        },
        pages,
      })}
      <section aria-labelledby="export-title">
        <h2 id="export-title">${p.exportTitle}</h2>
        <p>
          <a class="button" href="${linkOf(`${view.root}exports/transactions.csv`, values)}" download>${p.exportCsv}</a>
        </p>
        <p class="soft">${p.exportText}</p>
        ${call(view, 'GET /v1/exports/transactions\nPOST /v1/reports', p.exportCall)}
      </section>`,
  })
}

function filterOf(
  { language }: ConsoleView,
  name: (typeof transactionFilters)[number],
  values: Values,
  problems: Problems,
) {
  const p = paymentTexts[language]
  const value = values[name] ?? ''
  const error = problems[name]
  const choices: Readonly<Record<string, readonly [string, Readonly<Record<string, string>>]>> = {
    status: [p.status, p.transactionStatus],
    category: [p.kind, p.category],
    type: [p.type, p.transactionType],
    rail: [p.rail, p.rails],
  }
  const [label, words] = choices[name] ?? []
  if (label !== undefined && words !== undefined)
    return select({ id: name, name, label, value, options: optionsOf(words), any: p.any, error })
  const labels: Readonly<Record<string, string>> = {
    currency: p.currency,
    createdFrom: p.createdFrom,
    createdTo: p.createdTo,
    updatedSince: p.updatedSince,
    referencePrefix: p.referencePrefix,
    amountMin: p.amountMin,
    amountMax: p.amountMax,
    customerId: p.customerId,
    beneficiaryId: p.payeeId,
    endToEndId: p.endToEndId,
    userReference: p.userReference,
    idempotencyKey: p.idempotencyKey,
  }
  const isDay = name === 'createdFrom' || name === 'createdTo' || name === 'updatedSince'
  const more = html`autocomplete="off" ${name === 'currency' && html`maxlength="5"`}`
  const given = { id: name, name, label: labels[name] ?? name, value, error, optional: true, more }
  const help = name.startsWith('amount') ? { help: p.amountFilterHelp } : {}
  return field({ ...given, ...help, type: isDay ? 'date' : 'text' })
}

function transactionTable(view: ConsoleView, rows: readonly TransactionRow[]): Html {
  const p = paymentTexts[view.language]
  return table({
    caption: view.t.transactions,
    columns: [
      { label: p.reference, kind: 'head' },
      { label: p.kind },
      { label: p.party },
      { label: p.status },
      { label: p.created },
      { label: p.amount, kind: 'number' },
    ],
    rows: rows.map(({ reference, href, category, direction, status, party, createdAt, amount, currency }) => [
      html`<a href="${href}">${reference}</a>`,
      html`<span>${wordOf(p.category, category)} <span class="soft">${wordOf(p.directions, direction)}</span></span>`,
      freeText(party),
      transactionBadge(view, status),
      time(view, createdAt),
      money(view, amount, currency),
    ]),
  })
}
