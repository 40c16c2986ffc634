/** The form of a new customer, and the same form with the values of a customer. */
import type { kycFields } from '@partner-payments/wire'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { choices, field, hiddenField } from './components.ts'
import { type Problems, type Values } from './payments-request.ts'
import { customerTexts } from './texts/customers.ts'
import { paymentTexts } from './texts/payments.ts'
import { type ConsoleView, shell } from './view.ts'

export type KycField = (typeof kycFields)[number]

const personFields: readonly KycField[] = [
  'fullName',
  'dateOfBirth',
  'citizenshipCountryCode',
  'mobilePhone',
  'residenceAddress',
  'taxId',
  'personalIdentificationNumber',
]
const businessFields: readonly KycField[] = [
  'legalName',
  'legalForm',
  'tradingName',
  'registrationNumber',
  'lei',
  'dateOfIncorporation',
  'countryOfIncorporation',
  'countryOfPrincipalBusiness',
  'natureOfBusiness',
  'website',
]
const addressFields: readonly KycField[] = ['addressLine1', 'addressLine2', 'postalCode', 'city', 'addressCountryCode']
const ownerFields = [1, 2, 3, 4, 5].flatMap((at) => [
  `uboFirstName${at}` as KycField,
  `uboLastName${at}` as KycField,
]) satisfies readonly KycField[]

type Draft = {
  /** Values as typed, by the name of their field. */
  readonly values: Values
  readonly problems: Problems
  /** Absent: the customer is new. */
  readonly id?: string | undefined
  readonly idempotencyKey: string
}

export function customerFormPage(view: ConsoleView, draft: Draft): string {
  const p = paymentTexts[view.language]
  const c = customerTexts[view.language]
  const { id, values, problems } = draft
  const title = id === undefined ? c.newCustomer : c.editTitle
  const back = id === undefined ? 'customers' : `customers/${id}`
  return shell(view, {
    title,
    problems,
    card: true,
    main: html`<h1>${title}</h1>
      ${id !== undefined && html`<p class="lead">${c.editText}</p>`}
      <form method="post" action="${view.root}customers/${id === undefined ? 'new' : `${id}/edit`}">
        ${hiddenField('idempotencyKey', draft.idempotencyKey)} ${id === undefined && typeChoices(view, draft)}
        ${input(view, draft, 'email', c.email)} ${input(view, draft, 'partnerCustomerIdentifier', c.identifier)}
        ${group(view, draft, c.person, personFields, values['customerType'] !== 'Business')}
        ${group(view, draft, c.business, businessFields, values['customerType'] === 'Business')}
        ${group(view, draft, c.address, addressFields, false)} ${group(view, draft, c.owners, ownerFields, false)}
        <button type="submit" class="primary">${id === undefined ? c.create : p.save}</button>
      </form>
      <p class="foot"><a href="${view.root}${back}">${p.back}</a></p>`,
  })
}

function typeChoices({ language }: ConsoleView, { values, problems }: Draft): Html {
  const c = customerTexts[language]
  const types = ['Individual', 'Business', 'SoleTrader'] as const
  return choices({
    ...{ id: 'customerType', name: 'customerType', legend: c.customerType },
    chosen: values['customerType'],
    error: problems['customerType'],
    options: types.map((value) => ({ value, label: c.type[value], help: c.typeHelp[value] })),
  })
}

/** A group of fields. It is open if it is needed, or has a value or a problem. */
function group(view: ConsoleView, draft: Draft, title: string, names: readonly KycField[], open: boolean): Html {
  const { kyc } = customerTexts[view.language]
  const isOpen = open || names.some((name) => name in draft.problems || (draft.values[name] ?? '') !== '')
  return html`<details class="group" ${isOpen && html` open`}>
    <summary>${title}</summary>
    ${names.map((name) => input(view, draft, name, kyc[name]))}
  </details>`
}

function input({ language }: ConsoleView, { values, problems }: Draft, name: string, label: string): Html {
  const c = customerTexts[language]
  const isDay = name.startsWith('dateOf')
  const isCountry = name.startsWith('countryOf') || name === 'citizenshipCountryCode'
  const helps: Readonly<Record<string, string>> = {
    mobilePhone: c.phoneHelp,
    personalIdentificationNumber: c.pinHelp,
  }
  const help = isCountry ? c.countryHelp : helps[name]
  return field({
    ...{ id: name, name, value: values[name] ?? '', error: problems[name] },
    label: fill(paymentTexts[language].optional, { label }),
    type: isDay ? 'date' : name === 'email' ? 'email' : 'text',
    optional: true,
    more: html`autocomplete="off" ${isCountry && html`maxlength="2"`}`,
    ...(help === undefined ? {} : { help }),
  })
}
