/** The pages of customers: the list, the page of a customer with its verification, and the form that creates or changes one. */
import { decimalText, type kycFields, type ResponseOf } from '@partner-payments/wire'
import { html, type Html } from '../html.ts'
import {
  confirmationDialog,
  checkbox,
  type Draft,
  formPage,
  hiddenField,
  type Input,
  inputs,
  dialogButton,
  toSelectOptions,
  type FieldProblems,
} from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { type ListRows, listPage } from '../kit/lists.ts'
import {
  account,
  badge,
  freeText,
  identifier,
  message,
  money,
  rawJson,
  section,
  summaryStrip,
  table,
  time,
  type Tone,
  wordFor,
  verificationTones,
} from '../kit/parts.ts'
import { pathWithQuery } from '../kit/request.ts'
import { fill } from '../language.ts'
import { importLinks } from './imports.ts'
import { texts } from './texts/index.ts'

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

type CustomerList = ListRows<CustomerRow> & {
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

export function customersPage(view: ConsoleView, { rows, mayWrite, done, ...shown }: CustomerList): string {
  const c = texts[view.language].customers
  const p = texts[view.language].payments
  return listPage(view, shown, {
    title: view.t.customers,
    path: 'customers',
    lead: c.text,
    done: done && c[done],
    create: mayWrite && { text: c.newCustomer, href: `${view.root}customers/new` },
    links: importLinks(view, 'customers', shown.values, mayWrite),
    filters: [
      { name: 'namePrefix', label: c.namePrefix, help: c.namePrefixHelp },
      { name: 'email', label: c.email },
      { name: 'verificationState', label: c.verificationState, options: toSelectOptions(c.states) },
      { name: 'customerType', label: c.customerType, options: toSelectOptions(c.type) },
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
    none: { title: c.empty, text: c.emptyText },
  })
}

type IdentityVerification = ResponseOf<'getIdentityVerification'>

type CheckKind = IdentityVerification['kinds'][number]

type Verifications = {
  readonly rows: readonly IdentityVerification[]
  /** Absent: the person may not start a verification, or one is undecided. */
  readonly form?: { readonly idempotencyKey: string } | undefined
}

const kindsByType: Readonly<Record<'Individual' | 'Business' | 'SoleTrader', readonly CheckKind[]>> = {
  Individual: ['Document', 'Address'],
  SoleTrader: ['Document', 'Address', 'Company'],
  Business: ['Company', 'Address'],
}

const tones: Readonly<Record<IdentityVerification['status'], Tone>> = {
  Pending: 'neutral',
  Open: 'warning',
  Processing: 'neutral',
  Approved: 'good',
  Declined: 'bad',
  Lapsed: 'warning',
  Expired: 'warning',
  Failed: 'bad',
}

export const isUndecided = ({ status }: Pick<IdentityVerification, 'status'>): boolean =>
  status === 'Pending' || status === 'Open' || status === 'Processing'

function identityPart(
  view: ConsoleView,
  { id, type }: { readonly id: string; readonly type: keyof typeof kindsByType },
  { rows, form }: Verifications,
): Html {
  const t = texts[view.language].identity
  return html`<p class="soft">${t.text}</p>
    ${rows.length > 0 ? verificationTable(view, rows) : html`<p class="calm">${t.none}</p>`}
    ${
      form !== undefined &&
      html`<details class="more">
        <summary>${t.start}</summary>
        <p class="soft">${t.startText}</p>
        <form method="post" action="${view.root}customers/${id}/verifications">
          ${hiddenField('idempotencyKey', form.idempotencyKey)}
          ${kindsByType[type].map((kind, index) =>
            checkbox({ id: `kind-${kind}`, name: kind, value: 'true', label: t.kinds[kind], isChecked: index === 0 }),
          )}
          <button type="submit">${t.start}</button>
        </form>
      </details>`
    }`
}

function verificationTable(view: ConsoleView, rows: readonly IdentityVerification[]): Html {
  const t = texts[view.language].identity
  const { created } = texts[view.language].payments
  return table({
    caption: t.title,
    columns: [[t.kind, 'head'], t.status, t.found, created],
    rows: rows.map((row) => [
      row.kinds.map((kind) => t.kinds[kind]).join(', '),
      badge(tones[row.status], t.statuses[row.status]),
      resultPart(view, row),
      time(view, new Date(row.createdAt)),
    ]),
  })
}

/** Renders the link to an open verification, or the provider's result. */
function resultPart(view: ConsoleView, { status, url, reason, evidence, validUntil }: IdentityVerification): Html {
  const t = texts[view.language].identity
  const { kyc } = texts[view.language].customers
  if (url !== undefined)
    return html`<a class="button" rel="noreferrer" href="${url}">${t.open}</a> <span class="soft">${t.openText}</span>`
  if (status === 'Pending') return html`${t.waiting}`
  const fields = evidence?.fields.map(({ field, outcome }) => `${wordFor(kyc, field)}: ${t.outcomes[outcome]}`)
  const lines = [reason && t.reasons[reason], fields?.join(', ')].filter((line) => line !== undefined && line !== '')
  return html`${freeText(lines.join(' '))}
  ${validUntil !== undefined && html`<span class="soft">${t.validUntil} ${time(view, new Date(validUntil), 'date')}</span>`}`
}

type FieldRow = {
  readonly field: string
  readonly value?: string | undefined
  readonly state: 'Valid' | 'Unchecked' | 'Invalid' | 'Missing'
  readonly code?: string | undefined
}

type BalanceRow = {
  readonly currency: string
  readonly posted: string
  readonly reserved: string
  readonly available: string
}

type ChangeRow = {
  readonly at: Date
  /** Absent: the service made the change. */
  readonly by?: string | undefined
  readonly fields: readonly {
    readonly field: string
    readonly before?: string | undefined
    readonly after?: string | undefined
    readonly withheld?: boolean | undefined
  }[]
}

type CustomerView = CustomerRow & {
  readonly verification: {
    readonly state: 'Complete' | 'Incomplete' | 'Invalid'
    readonly checkedOn: Date
    readonly fields: readonly FieldRow[]
  }
  readonly identity: Verifications
  readonly capabilities: ResponseOf<'getCustomerCapabilities'>['capabilities']
  /** Absent: the person may not read accounts. Empty: no account is open. */
  readonly ibans?: readonly { readonly country: string; readonly iban: string }[] | undefined
  readonly balances?: readonly BalanceRow[] | undefined
  readonly changes: readonly ChangeRow[]
  readonly moreChanges?: string | undefined
  readonly may: {
    readonly write: boolean
    readonly openAccount: boolean
    readonly transactions: boolean
    readonly payouts: boolean
    readonly payees: boolean
    readonly wallets: boolean
  }
  readonly done?: 'created' | 'changed' | 'accountOpened' | undefined
  readonly problems: FieldProblems
  readonly raw: unknown
}

const eraseId = 'erase-customer'

const fieldTones = { Valid: 'good', Unchecked: 'neutral', Invalid: 'bad', Missing: 'warning' } as const

export function customerPage(view: ConsoleView, customer: CustomerView): string {
  const p = texts[view.language].payments
  const c = texts[view.language].customers
  const {
    id,
    serviceId,
    name = c.unnamed,
    type,
    identifier: own,
    createdAt,
    may,
    done,
    problems,
    verification,
  } = customer
  return shell(view, {
    title: name,
    wide: true,
    problems,
    main: html`${done !== undefined && message('good', c[done])}
      <div class="heading">
        <h1>${name}</h1>
        ${may.write && html`<a class="button" href="${view.root}customers/${id}/edit">${c.edit}</a>`}
      </div>
      ${summaryStrip([
        [c.verification, badge(verificationTones[verification.state], c.states[verification.state])],
        [c.customerType, c.type[type]],
        [c.serviceId, identifier(view, serviceId, c.serviceId)],
        ...(own === undefined ? [] : [[c.identifier, html`<span class="free">${own}</span>`] as const]),
        [p.created, time(view, createdAt, 'date')],
      ])}
      ${customerLinks(view, customer)} ${section('capabilities', c.capabilities, capabilityTable(view, customer))}
      ${section('verification', c.verification, fieldTable(view, customer))}
      ${section('identity', texts[view.language].identity.title, identityPart(view, customer, customer.identity))}
      ${customer.ibans !== undefined && section('account', c.account, accountPart(view, customer))}
      ${customer.balances !== undefined && section('balances', c.balances, balanceTable(view, customer.balances))}
      ${section('changes', c.changes, changeTable(view, customer))}
      ${section('data', c.dataTitle, dataPart(view, customer))} ${rawJson(view, customer.raw)}`,
  })
}

function customerLinks(view: ConsoleView, { id, may }: CustomerView): Html {
  const c = texts[view.language].customers
  const link = (path: string, text: string) =>
    html`<a class="button" href="${pathWithQuery(`${view.root}${path}`, { customerId: id })}">${text}</a>`
  return html`<p class="buttons">
    ${may.transactions && link('transactions', c.transactions)} ${may.payouts && link('payouts', c.payouts)}
    ${may.payees && link('payees', c.payees)} ${may.wallets && link('wallets', view.t.wallets)}
  </p>`
}

function fieldTable(view: ConsoleView, { verification: { fields, checkedOn } }: CustomerView): Html {
  const c = texts[view.language].customers
  return html`<p class="soft">${c.verificationText} ${c.checkedOn} ${time(view, checkedOn, 'date')}</p>
    ${
      fields.length > 0 &&
      table({
        caption: c.verification,
        columns: [[c.field, 'head'], c.state, c.value, c.cure],
        rows: fields.map(({ field, value, state, code }) => [
          wordFor(c.kyc, field),
          badge(fieldTones[state], c.fieldStates[state]),
          freeText(value),
          freeText(code && wordFor(c.cures, code)),
        ]),
      })
    }`
}

function capabilityTable({ language }: ConsoleView, { capabilities }: CustomerView): Html {
  const c = texts[language].customers
  return table({
    caption: c.capabilities,
    columns: [[c.capabilities, 'head'], c.allowedNow, c.why],
    rows: capabilities.map(({ name, allowed, reasons, holdUpTo = [], holdUpToInAll: inAll }) => [
      c.capability[name],
      badge(allowed ? 'good' : 'warning', allowed ? c.allowed : c.notAllowed),
      freeText(
        [
          ...reasons.map((reason) => c.capabilityReasons[reason]),
          ...holdUpTo.map(({ currency, amount, held }) => {
            const text = (value: typeof amount) => `${decimalText(value)} ${currency}`
            return fill(texts[language].identity.holdUpTo, { max: text(amount), held: text(held) })
          }),
          ...(inAll === undefined
            ? []
            : [
                fill(texts[language].identity.holdUpToInAll, { max: `${decimalText(inAll.amount)} ${inAll.currency}` }),
              ]),
        ].join(' '),
      ),
    ]),
  })
}

function accountPart(view: ConsoleView, { id, ibans = [], may }: CustomerView): Html {
  const p = texts[view.language].payments
  const c = texts[view.language].customers
  if (ibans.length > 0)
    return table({
      caption: c.account,
      columns: [[c.country, 'head'], p.account],
      rows: ibans.map(({ country, iban }) => [country, account(view, iban)]),
    })
  return html`<p class="calm">${c.noAccount}</p>
    ${
      may.openAccount &&
      html`<form method="post" action="${view.root}customers/${id}/account" class="more">
        <button type="submit">${c.openAccount}</button>
      </form>`
    }`
}

function balanceTable(view: ConsoleView, balances: readonly BalanceRow[]): Html {
  const p = texts[view.language].payments
  const c = texts[view.language].customers
  if (balances.length === 0) return html`<p class="calm">${c.noBalances}</p>`
  return html`<p class="soft">${c.balancesText}</p>
    ${table({
      caption: c.balances,
      columns: [
        [p.currency, 'head'],
        [c.posted, 'number'],
        [c.reserved, 'number'],
        [c.available, 'number'],
      ],
      rows: balances.map(({ currency, posted, reserved, available }) => [
        currency,
        money(view, posted, currency),
        money(view, reserved, currency),
        money(view, available, currency),
      ]),
    })}`
}

function changeTable(view: ConsoleView, { changes, moreChanges }: CustomerView): Html {
  const c = texts[view.language].customers
  if (changes.length === 0) return html`<p class="calm">${c.noChanges}</p>`
  return html`${table({
    caption: c.changes,
    columns: [[c.changedAt, 'head'], c.changedBy, c.changedFields],
    rows: changes.map(({ at, by, fields }) => [
      time(view, at),
      html`<span class="free">${by ?? c.byService}</span>`,
      html`<ul class="plain-list">
        ${fields.map((each) => html`<li class="free">${changeText(view, each)}</li>`)}
      </ul>`,
    ]),
  })}
  ${moreChanges !== undefined && html`<p class="more"><a class="button" href="${moreChanges}">${view.t.nextPage}</a></p>`}`
}

function changeText(
  { language }: ConsoleView,
  { field, before, after, withheld }: ChangeRow['fields'][number],
): string {
  const c = texts[language].customers
  const names = { ...c.kyc, email: c.email, partnerCustomerIdentifier: c.identifier, customerType: c.customerType }
  const name = wordFor(names, field.replace(/^kyc\./, ''))
  if (withheld === true) return `${name}: ${c.withheld}`
  return before === undefined ? `${name}: ${after ?? '–'}` : `${name}: ${before} → ${after ?? '–'}`
}

function dataPart(view: ConsoleView, { id, name, may }: CustomerView): Html {
  const c = texts[view.language].customers
  const shownName = name ?? c.unnamed
  return html`<p class="soft">${c.exportText}</p>
    ${
      may.write &&
      html`<p class="buttons">${dialogButton({ id: eraseId, label: c.erase, about: shownName, tone: 'danger' })}</p>
        ${confirmationDialog({
          id: eraseId,
          title: fill(c.eraseTitle, { name: shownName }),
          action: `${view.root}customers/${id}/erase`,
          effects: [c.eraseEffects, c.eraseKept, c.eraseFinal],
          fields: checkbox({ id: 'nothing-owed', name: 'nothingOwed', value: 'true', label: c.nothingOwed }),
          submit: c.erase,
          cancel: view.t.cancel,
        })}`
    }`
}

type KycField = (typeof kycFields)[number]

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

/** `id`: undefined for a new customer. */
type CustomerDraft = Draft & { readonly id?: string | undefined }

export function customerFormPage(view: ConsoleView, draft: CustomerDraft): string {
  const p = texts[view.language].payments
  const c = texts[view.language].customers
  const { id, values } = draft
  const isBusiness = values['customerType'] === 'Business'
  const types = ['Individual', 'Business', 'SoleTrader'] as const
  const type: Input = {
    name: 'customerType',
    label: c.customerType,
    choices: types.map((value) => ({ value, label: c.type[value], help: c.typeHelp[value] })),
  }
  return formPage(view, {
    ...draft,
    ...(id === undefined
      ? { title: c.newCustomer, action: 'customers/new', submit: c.create }
      : { title: c.editTitle, lead: c.editText, action: `customers/${id}/edit`, submit: p.save }),
    fields: [
      ...(id === undefined ? [type] : []),
      { name: 'email', label: c.email, type: 'email', optional: true },
      { name: 'partnerCustomerIdentifier', label: c.identifier, optional: true },
      group(view, draft, c.person, personFields, !isBusiness),
      group(view, draft, c.business, businessFields, isBusiness),
      group(view, draft, c.address, addressFields, false),
      group(view, draft, c.owners, ownerFields, false),
    ],
    back: { path: id === undefined ? 'customers' : `customers/${id}`, text: p.back },
  })
}

/** Renders a group of fields, which is open if it is required or has a value or a problem. */
function group(
  view: ConsoleView,
  draft: CustomerDraft,
  title: string,
  names: readonly KycField[],
  open: boolean,
): Html {
  const isOpen = open || names.some((name) => name in draft.problems || (draft.values[name] ?? '') !== '')
  return html`<details class="group" ${isOpen && html` open`}>
    <summary>${title}</summary>
    ${inputs(
      view,
      draft,
      names.map((name) => kycInput(view, name)),
    )}
  </details>`
}

function kycInput({ language }: ConsoleView, name: KycField): Input {
  const c = texts[language].customers
  const isCountry = name.startsWith('countryOf') || name === 'citizenshipCountryCode'
  const helps: Readonly<Record<string, string>> = {
    mobilePhone: c.phoneHelp,
    personalIdentificationNumber: c.pinHelp,
  }
  return {
    name,
    label: c.kyc[name],
    help: isCountry ? c.countryHelp : helps[name],
    type: name.startsWith('dateOf') ? 'date' : 'text',
    optional: true,
    charsMax: isCountry ? countryCodeChars : undefined,
  }
}

const countryCodeChars = 2
