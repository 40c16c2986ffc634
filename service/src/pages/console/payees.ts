/** Payees: the list, the form that verifies and creates a payee, and the page of a payee. */
import {
  type AccountType,
  aliasCharsMax,
  nameCharsMax,
  type PayeeAddress,
  type ResponseOf,
} from '@partner-payments/wire'
import { ifFound, type PublicAnswer, type PublicRequest, type PublicRoute } from '../../kernel/api/index.ts'
import { currencies, newId } from '../../kernel/index.ts'
import { formatAddress } from '../../rails/index.ts'
import { html, type Html } from '../html.ts'
import {
  confirmedForm,
  formPage,
  hiddenFields,
  inputs,
  type Options,
  toSelectOptions,
  type FieldProblems,
  type FormState,
  type FieldValues,
} from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { type ListRows, listPage } from '../kit/lists.ts'
import {
  account,
  accountText,
  badge,
  facts,
  heading,
  identifier,
  formatAccount,
  linkButton,
  links,
  message,
  section,
  time,
  wordFor,
  nameCheckTones,
} from '../kit/parts.ts'
import {
  readCompletedForm,
  pathWithQuery,
  page,
  queryText,
  readForm,
  readQuery,
  seeOther,
  pageStatus,
  uuidChars,
} from '../kit/request.ts'
import { fill } from '../language.ts'
import { type CustomerLink, readCustomerLinks } from './customer-link.ts'
import { type CreatorFact, readCreatorFact, creatorFacts } from './creator.ts'
import { payeeImporter } from './import-payees.ts'
import { importLinks, importRoutes } from './imports.ts'
import { callOf, type Frame, may, type Person, refusalProblems, readList, type Routes, placeRoutes } from './request.ts'
import { texts } from './texts/index.ts'

type Verification = {
  readonly result: 'Match' | 'CloseMatch' | 'NoMatch' | 'NotPossible'
  readonly matchedName?: string | undefined
  readonly reason?: string | undefined
  readonly answeredAt: Date
}

function verificationPart(view: ConsoleView, verification: Verification): Html {
  const p = texts[view.language].payments
  const { result, matchedName, reason, answeredAt } = verification
  return html`<div class="verification">
    <p>${badge(nameCheckTones[result], p.resultShort[result])}</p>
    <p>${p.result[result]} ${reason !== undefined && wordFor(p.noAnswer, reason)}</p>
    ${facts([
      [p.matchedName, matchedName],
      [p.verifiedAt, time(view, answeredAt)],
    ])}
  </div>`
}

export type PayeeRow = {
  readonly id: string
  readonly name: string
  readonly alias?: string | undefined
  /** IBAN, or address of a wallet. */
  readonly account: string
  /** Absent: not stated. */
  readonly accountType?: AccountType | undefined
  readonly isWallet: boolean
  /** True if the bank can verify the name: the account has an IBAN. */
  readonly isVerifiable: boolean
  readonly currency: string
  readonly createdAt: Date
}

type PayeeList = ListRows<PayeeRow> & {
  readonly may: { readonly write: boolean; readonly pay: boolean }
  readonly done?: 'deleted' | undefined
}

/** The currencies of the service, by their codes. */
export const currencyOptions: Options = Object.keys(currencies).map((code) => [code, code])

export const payeeFilters: readonly string[] = ['namePrefix', 'alias', 'currency', 'customerId', 'incompleteOn']

export function payeesPage(view: ConsoleView, { rows, may, done, ...shown }: PayeeList): string {
  const p = texts[view.language].payments
  return listPage(view, shown, {
    title: view.t.payees,
    path: 'payees',
    lead: p.payeesText,
    done: done === 'deleted' && p.payeeDeleted,
    create: may.write && { text: p.newPayee, href: `${view.root}payees/new` },
    links: importLinks(view, 'payees', shown.values, may.write),
    filters: [
      { name: 'namePrefix', label: p.payeeName, help: p.namePrefixHelp },
      { name: 'alias', label: p.alias, charsMax: aliasCharsMax },
      { name: 'currency', label: p.currency, options: currencyOptions },
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
    none: { title: p.payeesEmpty, text: p.payeesEmptyText },
  })
}

export const payeeNameCell = ({ alias }: PayeeRow, name: Html | string): Html =>
  html`<span class="name">${name}</span> ${alias !== undefined && html`<span class="soft">${alias}</span>`}`

const payLink = (view: ConsoleView, { id, name }: PayeeRow): Html =>
  html`<div class="actions">
    <a class="button small" href="${pathWithQuery(`${view.root}payouts/new`, { beneficiaryId: id })}"
      >${texts[view.language].payments.pay}<span class="away"> ${name}</span></a
    >
  </div>`

/** Returns the text of an account type. Undefined: the account has no type. */
const accountTypeText = (
  { accountTypes }: { readonly accountTypes: Readonly<Record<AccountType, string>> },
  type: string | undefined,
): string | undefined => (type === 'Checking' || type === 'Savings' ? accountTypes[type] : undefined)

/** The fields of an address with their maximum lengths. */
const addressChars = { streetName: 70, buildingNumber: 16, postalCode: 16, city: 35, state: 35, country: 2 } as const

type AddressDraft = Readonly<Record<keyof typeof addressChars, string>>

const addressFields = Object.keys(addressChars) as readonly (keyof AddressDraft)[]

/** Returns the address as typed. Undefined: every field is empty. */
function typedAddress(draft: AddressDraft): Readonly<Record<string, string>> | undefined {
  const given = addressFields.map((name) => [name, draft[name].trim()] as const).filter(([, value]) => value !== '')
  if (given.length === 0) return undefined
  const { country, ...parts } = Object.fromEntries(given)
  return { ...parts, ...(country === undefined ? {} : { country: country.toUpperCase() }) }
}

function addressForm(view: ConsoleView, typed: FormState): Html {
  const p = texts[view.language].payments
  const parts = addressFields.map((name) => ({
    name,
    label: name === 'country' ? p.addressCountry : p[name],
    help: name === 'country' ? p.addressCountryHelp : undefined,
    charsMax: addressChars[name],
    optional: 'unmarked' as const,
  }))
  return html`<fieldset class="field">
    <legend>${fill(view.t.optional, { label: p.address })}</legend>
    <p class="help">${p.addressHelp}</p>
    ${inputs(view, typed, parts)}
  </fieldset>`
}

/** The fields of a payee as they are typed. */
const payeeFields = [
  ...(['name', 'account', 'currency', 'accountType', 'bic', 'alias', 'customerId'] as const),
  ...(['streetName', 'buildingNumber', 'postalCode', 'city', 'state', 'country'] as const),
] as const

type PayeeDraft = Readonly<Record<(typeof payeeFields)[number] | 'idempotencyKey', string>>

/** Maximum length of an IBAN in groups, the numbers of another account, or the address of a wallet. */
const accountCharsMax = 128
const currencyCharsMax = 5
const bicCharsMax = 11

export function newPayeePage(
  view: ConsoleView,
  { idempotencyKey, ...values }: PayeeDraft,
  problems: FieldProblems,
): string {
  const p = texts[view.language].payments
  const optional = true
  return formPage(view, {
    title: p.newPayee,
    submit: p.checkPayee,
    action: 'payees/new/check',
    values,
    problems,
    idempotencyKey,
    fields: [
      { name: 'name', label: p.payeeName, help: p.payeeNameHelp, charsMax: nameCharsMax },
      { name: 'account', label: p.account, help: p.payeeAccountHelp, charsMax: accountCharsMax },
      { name: 'currency', label: p.currency, help: p.currencyHelp, charsMax: currencyCharsMax },
      {
        name: 'accountType',
        label: p.accountType,
        options: toSelectOptions(p.accountTypes),
        any: p.accountTypeNone,
        optional,
      },
      addressForm(view, { values, problems }),
      { name: 'bic', label: p.bic, help: p.bicHelp, charsMax: bicCharsMax, optional },
      { name: 'alias', label: p.alias, help: p.aliasHelp, charsMax: aliasCharsMax, optional },
      { name: 'customerId', label: p.customerId, help: p.payeeCustomerHelp, charsMax: uuidChars, optional },
    ],
    back: { path: 'payees', text: p.back },
  })
}

/** Renders the bank's verification of the name before the payee is saved. `verification`: undefined for a wallet. */
export function checkPayeePage(view: ConsoleView, draft: PayeeDraft, verification: Verification | undefined): string {
  const p = texts[view.language].payments
  const isSure = verification === undefined || verification.result === 'Match'
  return shell(view, {
    title: p.checkTitle,
    card: true,
    main: html`<h1>${p.checkTitle}</h1>
      ${facts([
        [p.payeeName, draft.name],
        [p.account, html`<code class="account">${formatAccount(draft.account)}</code>`],
        [p.currency, draft.currency],
        [p.accountType, accountTypeText(p, draft.accountType)],
        [p.address, Object.values(typedAddress(draft) ?? {}).join(', ') || undefined],
      ])}
      ${verification === undefined ? html`<p class="more">${p.walletUnverified}</p>` : verificationPart(view, verification)}
      <form method="post" action="${view.root}payees/new/save" class="buttons">
        ${hiddenFields(draft)}
        <button type="submit" class="primary">${isSure ? p.savePayee : p.saveAnyway}</button>
        <button type="submit" formaction="${view.root}payees/new">${p.change}</button>
      </form>`,
  })
}

type PayeeView = PayeeRow & {
  readonly bic?: string | undefined
  readonly vasp?: string | undefined
  readonly address?: PayeeAddress | undefined
  readonly missingFields?: readonly string[] | undefined
  readonly customer?: CustomerLink | undefined
  readonly updatedAt: Date
  readonly creator?: CreatorFact | undefined
  /** The last person or key that changed the payee. Absent: the payee is unchanged. */
  readonly changedBy?: string | undefined
  /** Absent: the current name was not verified. */
  readonly verification?: Verification | undefined
  readonly may: { readonly write: boolean; readonly pay: boolean; readonly readPayouts: boolean }
  readonly done?: 'saved' | 'changed' | undefined
  /** Values of a refused form. */
  readonly typed?: FieldValues | undefined
  readonly problems: FieldProblems
}

export function payeePage(view: ConsoleView, payee: PayeeView): string {
  const p = texts[view.language].payments
  const { id, name, isWallet, may, done, problems } = payee
  const pay = pathWithQuery(`${view.root}payouts/new`, { beneficiaryId: id })
  return shell(view, {
    title: name,
    problems,
    main: html`${done === 'saved' && message('good', p.payeeSaved)} ${done === 'changed' && message('good', p.saved)}
    ${heading(name, may.pay && !isWallet && linkButton(pay, p.newPayout, 'primary'))}
    ${payee.missingFields !== undefined && message('bad', fill(p.payeeIncomplete, { fields: payee.missingFields.join(', ') }))}
    ${details(view, payee)} ${section('verification', p.verification, verificationSection(view, payee))}
    ${
      may.readPayouts &&
      html`<p class="more">
        <a class="button" href="${pathWithQuery(`${view.root}payouts`, { beneficiaryId: id })}">${p.payoutsOfPayee}</a>
      </p>`
    }
    ${may.write && html`${changeForm(view, payee)} ${deletion(view, payee)}`}`,
  })
}

function details(view: ConsoleView, payee: PayeeView): Html {
  const p = texts[view.language].payments
  return facts([
    [p.account, account(view, payee.account)],
    [p.currency, payee.currency],
    [p.accountType, accountTypeText(p, payee.accountType)],
    [p.bank, payee.bic ?? payee.vasp],
    [p.address, payee.address && formatAddress(payee.address)],
    [p.alias, payee.alias],
    [p.customer, payee.customer && links([{ text: payee.customer.name, href: payee.customer.href }])],
    [p.id, identifier(view, payee.id, p.id)],
    [p.created, time(view, payee.createdAt)],
    ...creatorFacts(payee),
    [
      p.updated,
      html`${payee.changedBy !== undefined && html`<span class="free">${payee.changedBy}</span>, `}${time(view, payee.updatedAt)}`,
    ],
  ])
}

function verificationSection(view: ConsoleView, { id, isVerifiable, verification, may }: PayeeView): Html {
  const p = texts[view.language].payments
  if (!isVerifiable) return html`<p>${p.walletUnverified}</p>`
  return html`${verification === undefined ? html`<p>${p.verificationNone}</p>` : verificationPart(view, verification)}
  ${
    may.write &&
    html`<form method="post" action="${view.root}payees/${id}/verify" class="more">
      <button type="submit">${p.verifyNow}</button>
    </form>`
  }`
}

function changeForm(view: ConsoleView, { id, name, alias = '', address, isWallet, typed, problems }: PayeeView): Html {
  const p = texts[view.language].payments
  const values: FieldValues = typed ?? { ...address, name, alias }
  return html`<section class="card" aria-labelledby="edit-title">
    <h2 id="edit-title">${p.editPayee}</h2>
    <p>${p.editPayeeText}</p>
    <form method="post" action="${view.root}payees/${id}/change">
      ${inputs(view, { values, problems }, [
        { name: 'name', label: p.payeeName, help: p.payeeNameHelp, charsMax: nameCharsMax },
        // The operation can change a short name, but not remove it.
        { name: 'alias', label: p.alias, help: p.aliasHelp, charsMax: aliasCharsMax, optional: alias === '' },
      ])}
      ${!isWallet && addressForm(view, { values, problems })}
      <button type="submit" class="primary">${p.save}</button>
    </form>
  </section>`
}

function deletion(view: ConsoleView, { id, name }: PayeeView): Html {
  const p = texts[view.language].payments
  return confirmedForm(view, {
    id: 'delete-payee',
    title: fill(p.deletePayeeTitle, { name }),
    action: `${view.root}payees/${id}/delete`,
    about: name,
    effects: [p.deletePayeeEffect, p.deletePayeePayouts],
    submit: p.deletePayee,
  })
}

type Beneficiary = ResponseOf<'getBeneficiary'>

export const payeeRow = ({ id, name, alias, currency, createdAt, ...account }: Beneficiary): PayeeRow => ({
  id,
  name,
  alias,
  currency,
  account: accountText(account),
  accountType: account.accountType,
  isWallet: account.walletAddress !== undefined,
  isVerifiable: account.iban !== undefined,
  createdAt: new Date(createdAt),
})

const verificationView = ({
  result,
  matchedName,
  reason,
  answeredAt,
}: ResponseOf<'createBeneficiaryVerification'>) => ({
  result,
  matchedName,
  reason,
  answeredAt: new Date(answeredAt),
})

const idOf = ({ params }: PublicRequest) => params['id'] ?? ''

async function showList({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { data, shown } = await readList(request, person, payeeFilters, (query) =>
    operate('listBeneficiaries', { ...callOf(person, request), query: queryText(query) }),
  )
  const payees = {
    ...shown,
    rows: data.map(payeeRow),
    may: { write: may(person, 'beneficiaries:write'), pay: may(person, 'payouts:write') },
    done: readCompletedForm(request, ['deleted']),
  }
  return page(request, pageStatus(shown.problems), payeesPage(person.view, payees))
}

async function showOne(
  frame: Frame,
  request: PublicRequest,
  person: Person,
  problems: FieldProblems = {},
  typed?: FieldValues,
): Promise<PublicAnswer> {
  const { operate } = frame
  const call = { ...callOf(person, request), params: { id: idOf(request) } }
  const found = await operate('getBeneficiary', call)
  const { bic, vasp, address, missingFields, customerId, updatedAt } = found
  const verification =
    found.iban === undefined ? undefined : await ifFound(operate('getVerificationOfBeneficiary', call))
  const shown = {
    ...payeeRow(found),
    bic,
    vasp,
    address,
    missingFields,
    problems,
    typed,
    customer: (await readCustomerLinks(frame, request, person, [customerId])).get(customerId ?? ''),
    updatedAt: new Date(updatedAt),
    creator: await readCreatorFact(frame, person, found.id),
    changedBy: (await frame.audit.lastOnThing(person.caller.partnerId, found.id, 'updateBeneficiary'))?.name,
    verification: verification && verificationView(verification),
    may: {
      write: may(person, 'beneficiaries:write'),
      pay: may(person, 'payouts:write'),
      readPayouts: may(person, 'payouts:read'),
    },
    done: readCompletedForm(request, ['saved', 'changed']),
  }
  return page(request, pageStatus(problems), payeePage(person.view, shown))
}

export const payeeRoutes: Routes = (frame) => {
  const { operate } = frame
  const route = placeRoutes(frame, frame.withMoney, 'payees')
  /** Creates the route of a form on the page of a payee. A refusal shows the page again. */
  const form = (name: string, act: (request: PublicRequest, person: Person) => Promise<string>): PublicRoute =>
    route('POST', `/{id}/${name}`, 'beneficiaries:write', async (_frame, request, person) => {
      try {
        return seeOther(await act(request, person))
      } catch (error) {
        const given = readForm(request)
        const typed =
          name === 'change' ? { name: given('name'), alias: given('alias'), ...readAddress(request) } : undefined
        const problems = refusalProblems(texts[person.view.language].payments, error, [
          'name',
          'alias',
          ...addressFields,
        ])
        return showOne(frame, request, person, problems, typed)
      }
    })
  return [
    route('GET', '', 'beneficiaries:read', showList),
    ...importRoutes(payeeImporter)(frame),
    ...newPayeeRoutes(frame),
    route('GET', '/{id}', 'beneficiaries:read', showOne),
    form('change', async (request, person) => {
      const given = readForm(request)
      const [name, alias] = [given('name').trim(), given('alias').trim()]
      const address = typedAddress(readAddress(request))
      const body = { id: idOf(request), name, ...(alias && { alias }), ...(address && { address }) }
      await operate('updateBeneficiary', { ...callOf(person, request), body })
      return `../${body.id}?done=changed`
    }),
    form('verify', async (request, person) => {
      const call = callOf(person, request)
      const { name, iban } = await operate('getBeneficiary', { ...call, params: { id: idOf(request) } })
      await operate('createBeneficiaryVerification', { ...call, body: { name, iban } })
      return `../${idOf(request)}`
    }),
    form('delete', async (request, person) => {
      await operate('deleteBeneficiary', { ...callOf(person, request), params: { id: idOf(request) } })
      return '../../payees?done=deleted'
    }),
  ]
}

const readAddress = (request: PublicRequest): AddressDraft => {
  const given = readForm(request)
  return Object.fromEntries(addressFields.map((name) => [name, given(name).trim()])) as AddressDraft
}

const readDraft = (request: PublicRequest): PayeeDraft => {
  const given = readForm(request)
  const typed = Object.fromEntries(payeeFields.map((name) => [name, given(name).trim()])) as Omit<
    PayeeDraft,
    'idempotencyKey'
  >
  return { ...typed, currency: typed.currency.toUpperCase(), idempotencyKey: given('idempotencyKey') || newId() }
}

/** Returns the country of the account by its IBAN or its domestic numbers. Undefined: a wallet, or an empty account. */
function accountCountry(draft: PayeeDraft): string | undefined {
  const fields = accountFields(draft)
  if (fields.walletAddress !== undefined) return undefined
  if (fields.sortCode !== undefined) return 'GB'
  return fields.routingNumber === undefined ? /^[A-Z]{2}/.exec(draft.account.toUpperCase())?.[0] : 'US'
}

type AccountFields = Readonly<
  Partial<Record<'walletAddress' | 'sortCode' | 'routingNumber' | 'accountNumber' | 'iban', string | undefined>>
>

function accountFields({ account, currency }: Pick<PayeeDraft, 'account' | 'currency'>): AccountFields {
  if (account.startsWith('0x')) return { walletAddress: account }
  const [british, american] = [/^((?:\d[\s-]*){6})(\d.*)$/.exec(account), /^(\d{9})[\s/]*(.+)$/.exec(account)]
  if (currency === 'GBP' && british !== null) return { sortCode: british[1]?.trim(), accountNumber: british[2] }
  if (currency === 'USD' && american !== null) return { routingNumber: american[1], accountNumber: american[2] }
  return { iban: account }
}

/** The routes that create a payee: the form, the verification of the name, and the operation. */
const newPayeeRoutes: Routes = (frame) => {
  const { operate } = frame
  const show = (
    request: PublicRequest,
    { view }: Person,
    draft: PayeeDraft,
    problems: FieldProblems = {},
  ): PublicAnswer => page(request, pageStatus(problems), newPayeePage(view, draft, problems))
  const refused = (request: PublicRequest, person: Person, error: unknown): PublicAnswer => {
    const p = texts[person.view.language].payments
    const names = ['iban', 'walletAddress', 'sortCode', 'routingNumber', 'accountNumber']
    const own = Object.fromEntries(names.map((name) => [name, p.payeeAccountWrong]))
    const problems = refusalProblems(p, error, [...payeeFields, ...names], own)
    const account = names.map((name) => problems[name]).find((text) => text !== undefined)
    const others = Object.fromEntries(Object.entries(problems).filter(([name]) => !names.includes(name)))
    return show(request, person, readDraft(request), {
      ...(account === undefined ? {} : { account }),
      ...others,
    })
  }
  /** Finds empty address fields that payments to the account need today, each with its reason. */
  const missing = async (request: PublicRequest, person: Person, draft: PayeeDraft): Promise<FieldProblems> => {
    const [country, currency] = [accountCountry(draft), draft.currency]
    if (country === undefined || !/^[A-Z]{3}$/.test(currency)) return {}
    const call = { ...callOf(person, request), query: queryText({ country, currency }) }
    const { data } = await operate('listBeneficiaryRequirements', call)
    const today = frame.clock.now().toISOString().slice(0, 'YYYY-MM-DD'.length)
    const empty = data.flatMap(({ party, rule, field, validFrom = '', source }) => {
      const name = addressFields.find((each) => `address.${each}` === field)
      const isNeeded = party === 'Payee' && rule === 'Required' && validFrom <= today
      if (!isNeeded || name === undefined || draft[name] !== '') return []
      return [[name, fill(texts[person.view.language].payments.addressNeeded, { currency, source })] as const]
    })
    return Object.fromEntries(empty)
  }
  const check = async (_frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const draft = readDraft(request)
    const { name, account } = draft
    try {
      const problems = await missing(request, person, draft)
      if (Object.keys(problems).length > 0) return show(request, person, draft, problems)
      const verification =
        'iban' in accountFields(draft)
          ? await operate('createBeneficiaryVerification', {
              ...callOf(person, request),
              body: { name, iban: account },
            })
          : undefined
      const shown = verification && verificationView(verification)
      return page(request, 200, checkPayeePage(person.view, draft, shown))
    } catch (error) {
      return refused(request, person, error)
    }
  }
  const save = async (_frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const draft = readDraft(request)
    const { name, currency, idempotencyKey, accountType, bic, alias, customerId } = draft
    const others = Object.entries({ accountType, bic, alias, customerId })
    const given = Object.fromEntries(others.filter(([, value]) => value !== ''))
    const address = typedAddress(draft)
    const body = { name, currency, ...accountFields(draft), ...given, ...(address && { address }) }
    try {
      const { id } = await operate('createBeneficiary', { ...callOf(person, request), idempotencyKey, body })
      return seeOther(`../${id}?done=saved`)
    } catch (error) {
      return refused(request, person, error)
    }
  }
  const route = placeRoutes(frame, frame.withMoney, 'payees/new')
  return [
    route('GET', '', 'beneficiaries:write', (_frame, request, person) => {
      const { customerId = '' } = readQuery(request, ['customerId'])
      return show(request, person, { ...readDraft(request), currency: 'EUR', customerId })
    }),
    route('POST', '', 'beneficiaries:write', (_frame, request, person) => show(request, person, readDraft(request))),
    route('POST', '/check', 'beneficiaries:write', check),
    route('POST', '/save', 'beneficiaries:write', save),
  ]
}
