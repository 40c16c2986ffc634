/** The list of customers. */
import { html, type Html } from '../html.ts'
import { call, field, message, table, time } from './components.ts'
import { filters, freeText, identifier, list, optionsOf, type Pages, select } from './lists.ts'
import { type Problems, type Values } from './payments-request.ts'
import { customerTexts } from './texts/customers.ts'
import { paymentTexts } from './texts/payments.ts'
import { type ConsoleView, shell } from './view.ts'

export type CustomerRow = {
  readonly id: string
  readonly serviceId: string
  /** Absent: no name was given. */
  readonly name?: string | undefined
  readonly email?: string | undefined
  readonly type: 'Individual' | 'Business' | 'SoleTrader'
  readonly identifier?: string | undefined
  readonly createdAt: Date
}

type Customers = {
  readonly rows: readonly CustomerRow[]
  readonly values: Values
  readonly problems: Problems
  readonly pages: Pages
  readonly mayWrite: boolean
  readonly done?: 'erased' | 'erasedKept' | undefined
}

const moreFilters: readonly string[] = ['partnerCustomerIdentifier', 'serviceId', 'createdFrom', 'createdTo']
export const customerFilters: readonly string[] = [
  'namePrefix',
  'email',
  'verificationState',
  'customerType',
  ...moreFilters,
]

const customerCall = `POST /v1/customers
{ "email": "ada@example.com", "kyc": { "fullName": "Ada Lovelace" } }`

export function customersPage(view: ConsoleView, customers: Customers): string {
  const c = customerTexts[view.language]
  const { rows, values, problems, pages, mayWrite, done } = customers
  const isFiltered = Object.keys(values).length > 0
  return shell(view, {
    title: view.t.customers,
    wide: true,
    problems,
    main: html`${done !== undefined && message('good', c[done])}
      <div class="heading">
        <h1>${view.t.customers}</h1>
        ${mayWrite && html`<a class="button primary" href="${view.root}customers/new">${c.newCustomer}</a>`}
      </div>
      <p class="lead">${c.text}</p>
      ${filterForm(view, values, problems)}
      ${list(view, {
        table: customerTable(view, rows),
        isEmpty: rows.length === 0,
        isFiltered: isFiltered || pages.first !== undefined,
        none: { title: c.empty, text: c.emptyText, more: call(view, customerCall, c.call) },
        pages,
      })}`,
  })
}

function filterForm(view: ConsoleView, values: Values, problems: Problems): Html {
  const p = paymentTexts[view.language]
  const c = customerTexts[view.language]
  const input = (name: string, label: string, type: 'text' | 'date' = 'text') =>
    field({
      ...{ id: name, name, label, type, value: values[name] ?? '', error: problems[name] },
      ...(name === 'namePrefix' ? { help: c.namePrefixHelp } : {}),
      optional: true,
      more: html`autocomplete="off"`,
    })
  const choice = (name: string, label: string, words: Readonly<Record<string, string>>) =>
    select({
      ...{ id: name, name, label, value: values[name], error: problems[name] },
      options: optionsOf(words),
      any: p.any,
    })
  return filters(view, {
    path: `${view.root}customers`,
    main: [
      input('namePrefix', c.namePrefix),
      input('email', c.email),
      choice('verificationState', c.verificationState, c.states),
      choice('customerType', c.customerType, c.type),
    ],
    more: {
      fields: [
        input('partnerCustomerIdentifier', c.identifier),
        input('serviceId', c.serviceId),
        input('createdFrom', p.createdFrom, 'date'),
        input('createdTo', p.createdTo, 'date'),
      ],
      open: moreFilters.some((name) => name in values),
    },
    active: Object.keys(values).length > 0,
  })
}

function customerTable(view: ConsoleView, rows: readonly CustomerRow[]): Html {
  const p = paymentTexts[view.language]
  const c = customerTexts[view.language]
  return table({
    caption: view.t.customers,
    columns: [
      { label: p.customer, kind: 'head' },
      { label: c.customerType },
      { label: c.identifier },
      { label: c.serviceId },
      { label: p.created },
    ],
    rows: rows.map(({ id, serviceId, name, email, type, identifier: own, createdAt }) => [
      html`<a href="${view.root}customers/${id}">${name ?? c.unnamed}</a>
        ${email !== undefined && html`<span class="soft">${email}</span>`}`,
      c.type[type],
      freeText(own),
      identifier(view, serviceId, c.serviceId),
      time(view, createdAt, 'date'),
    ]),
  })
}
