/** The list of payees, and the two pages that save a new one: the form, and the answer of the bank about the name. */
import type { AccountType } from '@partner-payments/wire'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { listPage, type Listed } from './list-page.ts'
import { call, field, hiddenField, time } from './components.ts'
import { account, facts, inFours, optionsOf, select } from './lists.ts'
import { linkOf, type Problems } from './payments-request.ts'
import { type Verification, verificationPart } from './payee-verification.ts'
import { paymentTexts } from './texts/payments.ts'
import { type ConsoleView, shell } from './view.ts'

export type PayeeRow = {
  readonly id: string
  readonly name: string
  readonly alias?: string | undefined
  /** IBAN, or address of a wallet. */
  readonly account: string
  /** Absent: it was not stated. */
  readonly accountType?: AccountType | undefined
  readonly isWallet: boolean
  /** True if names of its account can be verified: it has an IBAN. */
  readonly isVerifiable: boolean
  readonly currency: string
  readonly createdAt: Date
}

type Payees = Listed<PayeeRow> & {
  readonly may: { readonly write: boolean; readonly pay: boolean }
  readonly done?: 'deleted' | undefined
}

export const payeeFilters: readonly string[] = ['namePrefix', 'currency', 'customerId', 'incompleteOn']

const payeeCall = `POST /v1/beneficiaries
{ "name": "Grace Hopper", "iban": "NL91ABNA0417164300", "currency": "EUR" }`

export function payeesPage(view: ConsoleView, { rows, may, done, ...shown }: Payees): string {
  const p = paymentTexts[view.language]
  return listPage(view, shown, {
    title: view.t.payees,
    path: 'payees',
    lead: p.payeesText,
    done: done === 'deleted' && p.payeeDeleted,
    create: may.write && { text: p.newPayee, href: `${view.root}payees/new` },
    filters: [
      { name: 'namePrefix', label: p.payeeName, help: p.namePrefixHelp },
      { name: 'currency', label: p.currency },
      { name: 'customerId', label: p.customerId },
      { name: 'incompleteOn', label: p.incompleteOn, help: p.incompleteOnHelp, type: 'date' },
    ],
    columns: [
      [p.payee, 'head'],
      p.account,
      p.currency,
      p.created,
      ...(may.pay ? [[view.t.actions, 'actions'] as const] : []),
    ],
    cells: rows.map((row) => [
      payeeNameCell(row, html`<a href="${view.root}payees/${row.id}">${row.name}</a>`),
      account(view, row.account),
      row.currency,
      time(view, row.createdAt, 'date'),
      ...(may.pay ? [row.isWallet ? '' : payLink(view, row)] : []),
    ]),
    none: { title: p.payeesEmpty, text: p.payeesEmptyText, more: call(view, payeeCall, p.payeesCall) },
  })
}

export const payeeNameCell = ({ alias }: PayeeRow, name: Html | string): Html =>
  html`<span class="name">${name}</span> ${alias !== undefined && html`<span class="soft">${alias}</span>`}`

const payLink = (view: ConsoleView, { id, name }: PayeeRow): Html =>
  html`<div class="actions">
    <a class="button small" href="${linkOf(`${view.root}payouts/new`, { beneficiaryId: id })}"
      >${paymentTexts[view.language].pay}<span class="away"> ${name}</span></a
    >
  </div>`

/** The words for the type of an account. Undefined: it has none. */
export const accountTypeText = (
  { accountTypes }: { readonly accountTypes: Readonly<Record<AccountType, string>> },
  type: string | undefined,
): string | undefined => (type === 'Checking' || type === 'Savings' ? accountTypes[type] : undefined)

/** The fields of an address, with their lengths. */
const addressChars = { streetName: 70, buildingNumber: 16, postalCode: 16, city: 35, state: 35, country: 2 } as const
export type AddressDraft = Readonly<Record<keyof typeof addressChars, string>>
export const addressFields = Object.keys(addressChars) as readonly (keyof AddressDraft)[]

/** Undefined: every field is empty. */
export function addressOf(draft: AddressDraft): Readonly<Record<string, string>> | undefined {
  const given = addressFields.map((name) => [name, draft[name].trim()] as const).filter(([, value]) => value !== '')
  if (given.length === 0) return undefined
  const { country, ...parts } = Object.fromEntries(given)
  return { ...parts, ...(country === undefined ? {} : { country: country.toUpperCase() }) }
}

export function addressForm(view: ConsoleView, draft: AddressDraft, problems: Problems): Html {
  const p = paymentTexts[view.language]
  const input = (name: keyof AddressDraft) =>
    field({
      ...{ id: name, name, value: draft[name], error: problems[name], optional: true },
      ...(name === 'country' ? { help: p.addressCountryHelp } : {}),
      label: name === 'country' ? p.addressCountry : p[name],
      more: html`autocomplete="off" maxlength="${String(addressChars[name])}"`,
    })
  return html`<fieldset class="field">
    <legend>${fill(p.optional, { label: p.address })}</legend>
    <p class="help">${p.addressHelp}</p>
    ${addressFields.map(input)}
  </fieldset>`
}

/** The fields of a payee as they are typed. */
export const payeeFields = [
  ...(['name', 'account', 'currency', 'accountType', 'bic', 'alias', 'customerId'] as const),
  ...(['streetName', 'buildingNumber', 'postalCode', 'city', 'state', 'country'] as const),
] as const
export type PayeeDraft = Readonly<Record<(typeof payeeFields)[number] | 'idempotencyKey', string>>

export function newPayeePage(view: ConsoleView, draft: PayeeDraft, problems: Problems): string {
  const p = paymentTexts[view.language]
  const input = (name: (typeof payeeFields)[number], label: string, help: string, charsMax: string, optional = false) =>
    field({
      ...{ id: name, name, help, value: draft[name], error: problems[name], optional },
      label: optional ? fill(p.optional, { label }) : label,
      more: html`autocomplete="off" maxlength="${charsMax}"`,
    })
  return shell(view, {
    title: p.newPayee,
    problems,
    card: true,
    main: html`<h1>${p.newPayee}</h1>
      <form method="post" action="${view.root}payees/new/check">
        ${hiddenField('idempotencyKey', draft.idempotencyKey)} ${input('name', p.payeeName, p.payeeNameHelp, '140')}
        ${input('account', p.account, p.payeeAccountHelp, '128')} ${input('currency', p.currency, p.currencyHelp, '5')}
        ${select({
          ...{ id: 'accountType', name: 'accountType', label: fill(p.optional, { label: p.accountType }) },
          ...{ value: draft.accountType, error: problems['accountType'], any: p.accountTypeNone },
          options: optionsOf(p.accountTypes),
        })}
        ${addressForm(view, draft, problems)} ${input('bic', p.bic, p.bicHelp, '11', true)}
        ${input('alias', p.alias, p.aliasHelp, '70', true)}
        ${input('customerId', p.customerId, p.payeeCustomerHelp, '36', true)}
        <button type="submit" class="primary">${p.checkPayee}</button>
      </form>
      <p class="foot"><a href="${view.root}payees">${p.back}</a></p>`,
  })
}

/** Shows what the bank says about the name, before the payee is saved. `verification`: absent for a wallet. */
export function checkPayeePage(view: ConsoleView, draft: PayeeDraft, verification: Verification | undefined): string {
  const p = paymentTexts[view.language]
  const isSure = verification === undefined || verification.result === 'Match'
  return shell(view, {
    title: p.checkTitle,
    card: true,
    main: html`<h1>${p.checkTitle}</h1>
      ${facts([
        [p.payeeName, draft.name],
        [p.account, html`<code class="account">${inFours(draft.account)}</code>`],
        [p.currency, draft.currency],
        [p.accountType, accountTypeText(p, draft.accountType)],
        [p.address, Object.values(addressOf(draft) ?? {}).join(', ') || undefined],
      ])}
      ${verification === undefined ? html`<p class="more">${p.walletUnverified}</p>` : verificationPart(view, verification)}
      <form method="post" action="${view.root}payees/new/save" class="buttons">
        ${Object.entries(draft).map(([name, value]) => hiddenField(name, value))}
        <button type="submit" class="primary">${isSure ? p.savePayee : p.saveAnyway}</button>
        <button type="submit" formaction="${view.root}payees/new">${p.change}</button>
      </form>`,
  })
}
