/** The page of one customer: verification of each field, accounts, balances, changes, export and erasure. */
import { decimalText, type ResponseOf } from '@partner-payments/wire'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { asking, badge, call, message, openDialog, table, time } from './components.ts'
import { identityPart, type Verifications } from './customer-identity.ts'
import type { CustomerRow } from './customers-page.ts'
import { account, freeText, identifier, money, rawJson, strip } from './lists.ts'
import { wordOf } from './payment-words.ts'
import { linkOf, type Problems } from './payments-request.ts'
import { identityTexts } from './texts/identity.ts'
import { customerTexts } from './texts/customers.ts'
import { paymentTexts } from './texts/payments.ts'
import { type ConsoleView, shell } from './view.ts'

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
  /** Absent: the service itself. */
  readonly by?: string | undefined
  readonly fields: readonly {
    readonly field: string
    readonly before?: string | undefined
    readonly after?: string | undefined
    readonly withheld?: boolean | undefined
  }[]
}

type Customer = CustomerRow & {
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
  readonly problems: Problems
  readonly raw: unknown
}

const eraseId = 'erase-customer'
const stateTones = { Complete: 'good', Incomplete: 'warning', Invalid: 'bad' } as const
const fieldTones = { Valid: 'good', Unchecked: 'neutral', Invalid: 'bad', Missing: 'warning' } as const

export function customerPage(view: ConsoleView, customer: Customer): string {
  const p = paymentTexts[view.language]
  const c = customerTexts[view.language]
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
      ${strip([
        [c.verification, badge(stateTones[verification.state], c.states[verification.state])],
        [c.customerType, c.type[type]],
        [c.serviceId, identifier(view, serviceId, c.serviceId)],
        ...(own === undefined ? [] : [[c.identifier, html`<span class="free">${own}</span>`] as const]),
        [p.created, time(view, createdAt, 'date')],
      ])}
      ${links(view, customer)} ${section('capabilities-title', c.capabilities, capabilityTable(view, customer))}
      ${section('verification-title', c.verification, fieldTable(view, customer))}
      ${section('identity-title', identityTexts[view.language].title, identityPart(view, customer, customer.identity))}
      ${customer.ibans !== undefined && section('account-title', c.account, accountPart(view, customer))}
      ${customer.balances !== undefined && section('balances-title', c.balances, balanceTable(view, customer.balances))}
      ${section('changes-title', c.changes, changeTable(view, customer))}
      ${section('data-title', c.dataTitle, dataPart(view, customer))} ${rawJson(view, customer.raw)}`,
  })
}

const section = (id: string, title: string, body: Html): Html =>
  html`<section aria-labelledby="${id}">
    <h2 id="${id}">${title}</h2>
    ${body}
  </section>`

function links(view: ConsoleView, { id, may }: Customer): Html {
  const c = customerTexts[view.language]
  const link = (path: string, text: string) =>
    html`<a class="button" href="${linkOf(`${view.root}${path}`, { customerId: id })}">${text}</a>`
  return html`<p class="buttons">
    ${may.transactions && link('transactions', c.transactions)} ${may.payouts && link('payouts', c.payouts)}
    ${may.payees && link('payees', c.payees)} ${may.wallets && link('wallets', view.t.wallets)}
  </p>`
}

function fieldTable(view: ConsoleView, { verification: { fields, checkedOn } }: Customer): Html {
  const c = customerTexts[view.language]
  return html`<p class="soft">${c.verificationText} ${c.checkedOn} ${time(view, checkedOn, 'date')}</p>
    ${
      fields.length > 0 &&
      table({
        caption: c.verification,
        columns: [[c.field, 'head'], c.state, c.value, c.cure],
        rows: fields.map(({ field, value, state, code }) => [
          wordOf(c.kyc, field),
          badge(fieldTones[state], c.fieldStates[state]),
          freeText(value),
          freeText(code && wordOf(c.cures, code)),
        ]),
      })
    }`
}

function capabilityTable({ language }: ConsoleView, { capabilities }: Customer): Html {
  const c = customerTexts[language]
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
            return fill(identityTexts[language].holdUpTo, { max: text(amount), held: text(held) })
          }),
          ...(inAll === undefined
            ? []
            : [fill(identityTexts[language].holdUpToInAll, { max: `${decimalText(inAll.amount)} ${inAll.currency}` })]),
        ].join(' '),
      ),
    ]),
  })
}

function accountPart(view: ConsoleView, { id, ibans = [], may }: Customer): Html {
  const p = paymentTexts[view.language]
  const c = customerTexts[view.language]
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
  const p = paymentTexts[view.language]
  const c = customerTexts[view.language]
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

function changeTable(view: ConsoleView, { changes, moreChanges }: Customer): Html {
  const c = customerTexts[view.language]
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
  const c = customerTexts[language]
  const names = { ...c.kyc, email: c.email, partnerCustomerIdentifier: c.identifier, customerType: c.customerType }
  const name = wordOf(names, field.replace(/^kyc\./, ''))
  if (withheld === true) return `${name}: ${c.withheld}`
  return before === undefined ? `${name}: ${after ?? '–'}` : `${name}: ${before} → ${after ?? '–'}`
}

function dataPart(view: ConsoleView, { id, name, may }: Customer): Html {
  const c = customerTexts[view.language]
  const shownName = name ?? c.unnamed
  return html`<p class="soft">${c.exportText}</p>
    ${call(view, `GET /v1/customers/${id}/export`, c.exportCall)}
    ${
      may.write &&
      html`<p class="buttons">${openDialog({ id: eraseId, label: c.erase, about: shownName, tone: 'danger' })}</p>
        ${asking({
          id: eraseId,
          title: fill(c.eraseTitle, { name: shownName }),
          action: `${view.root}customers/${id}/erase`,
          effects: [c.eraseEffects, c.eraseKept, c.eraseFinal],
          fields: html`<p class="check">
            <input type="checkbox" id="nothing-owed" name="nothingOwed" value="true" />
            <label for="nothing-owed">${c.nothingOwed}</label>
          </p>`,
          ...{ submit: c.erase, cancel: view.t.cancel },
        })}`
    }`
}
