/** The list of customers. */
import { html } from '../html.ts'
import { listPage } from './list-page.ts'
import { call, time } from './components.ts'
import { freeText, identifier, optionsOf, type Pages } from './lists.ts'
import { type Problems, type Values } from './payments-request.ts'
import { customerTexts } from './texts/customers.ts'
import { paymentTexts } from './texts/payments.ts'
import { type ConsoleView } from './view.ts'

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

export const customerFilters: readonly string[] = [
  'namePrefix',
  'email',
  'verificationState',
  'customerType',
  'partnerCustomerIdentifier',
  'serviceId',
  'createdFrom',
  'createdTo',
]

const customerCall = `POST /v1/customers
{ "email": "ada@example.com", "kyc": { "fullName": "Ada Lovelace" } }`

export function customersPage(view: ConsoleView, { rows, mayWrite, done, ...shown }: Customers): string {
  const c = customerTexts[view.language]
  const p = paymentTexts[view.language]
  return listPage(view, shown, {
    title: view.t.customers,
    path: 'customers',
    lead: c.text,
    done: done && c[done],
    create: mayWrite && { text: c.newCustomer, href: `${view.root}customers/new` },
    filters: [
      { name: 'namePrefix', label: c.namePrefix, help: c.namePrefixHelp },
      { name: 'email', label: c.email },
      { name: 'verificationState', label: c.verificationState, options: optionsOf(c.states) },
      { name: 'customerType', label: c.customerType, options: optionsOf(c.type) },
    ],
    more: [
      { name: 'partnerCustomerIdentifier', label: c.identifier },
      { name: 'serviceId', label: c.serviceId },
      { name: 'createdFrom', label: p.createdFrom, type: 'date' },
      { name: 'createdTo', label: p.createdTo, type: 'date' },
    ],
    columns: [[p.customer, 'head'], c.customerType, c.identifier, c.serviceId, p.created],
    cells: rows.map(({ id, serviceId, name, email, type, identifier: own, createdAt }) => [
      html`<a href="${view.root}customers/${id}">${name ?? c.unnamed}</a>
        ${email !== undefined && html`<span class="soft">${email}</span>`}`,
      c.type[type],
      freeText(own),
      identifier(view, serviceId, c.serviceId),
      time(view, createdAt, 'date'),
    ]),
    none: { title: c.empty, text: c.emptyText, more: call(view, customerCall, c.call) },
  })
}
