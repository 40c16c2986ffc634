/** Payees: the list, the page of one, and the forms that save, change, verify and delete one. */
import type { Permission, ResponseOf } from '@partner-payments/wire'
import type { PublicAnswer, PublicRequest, PublicRoute } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import { accountText } from './lists.ts'
import { payeePage } from './payee-page.ts'
import {
  addressFields,
  addressOf,
  checkPayeePage,
  type AddressDraft,
  newPayeePage,
  type PayeeDraft,
  payeeFields,
  payeeFilters,
  type PayeeRow,
  payeesPage,
} from './payees-page.ts'
import {
  callOf,
  ifFound,
  type Problems,
  problemsOf,
  queryText,
  readList,
  readQuery,
  routesOf,
  statusOf,
} from './payments-request.ts'
import { fill } from '../language.ts'
import { type Frame, page, type Person, readForm, type Routes, seeOther } from './request.ts'
import { paymentTexts } from './texts/payments.ts'

type Beneficiary = ResponseOf<'getBeneficiary'>

export const payeeRowOf = ({ id, name, alias, currency, createdAt, ...account }: Beneficiary): PayeeRow => ({
  ...{ id, name, alias, currency },
  account: accountText(account),
  accountType: account.accountType,
  isWallet: account.walletAddress !== undefined,
  isVerifiable: account.iban !== undefined,
  createdAt: new Date(createdAt),
})

const verificationOf = ({ result, matchedName, reason, answeredAt }: ResponseOf<'createBeneficiaryVerification'>) => ({
  ...{ result, matchedName, reason },
  answeredAt: new Date(answeredAt),
})

const idOf = ({ params }: PublicRequest) => params['id'] ?? ''

async function showList({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view, caller } = person
  const { done } = readQuery(request, ['done'])
  const { data, shown } = await readList(request, person, payeeFilters, (query) =>
    operate('listBeneficiaries', { ...callOf(person, request), query: queryText(query) }),
  )
  const payees = {
    ...{ ...shown, rows: data.map(payeeRowOf) },
    may: {
      write: caller.permissions.includes('beneficiaries:write'),
      pay: caller.permissions.includes('payouts:write'),
    },
    done: done === 'deleted' ? ('deleted' as const) : undefined,
  }
  return page(request, statusOf(shown.problems), payeesPage({ ...view, current: 'payees' }, payees))
}
async function showOne(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  problems: Problems = {},
  typed?: AddressDraft & { readonly name: string; readonly alias: string },
): Promise<PublicAnswer> {
  const { view, caller } = person
  const call = { ...callOf(person, request), params: { id: idOf(request) } }
  const found = await operate('getBeneficiary', call)
  const { bic, vasp, country, address, missingFields, customerId, updatedAt } = found
  const verification =
    found.iban === undefined ? undefined : await ifFound(operate('getVerificationOfBeneficiary', call))
  const { done } = readQuery(request, ['done'])
  const may = (permission: Permission) => caller.permissions.includes(permission)
  const shown = {
    ...payeeRowOf(found),
    ...{ bic, vasp, country, address, missingFields, problems, typed },
    customer:
      customerId === undefined
        ? undefined
        : { id: customerId, href: may('customers:read') ? `${view.root}customers/${customerId}` : undefined },
    updatedAt: new Date(updatedAt),
    verification: verification && verificationOf(verification),
    may: { write: may('beneficiaries:write'), pay: may('payouts:write'), readPayouts: may('payouts:read') },
    done: (['saved', 'changed'] as const).find((each) => each === done),
  }
  return page(request, statusOf(problems), payeePage({ ...view, current: 'payees' }, shown))
}
export const payeeRoutes: Routes = (frame, _withPerson, withMoney) => {
  const { operate } = frame
  const route = routesOf(frame, withMoney, 'payees')
  /** A form of one payee. A refusal shows its page again. */
  const form = (name: string, act: (request: PublicRequest, person: Person) => Promise<string>): PublicRoute =>
    route('POST', `/{id}/${name}`, 'beneficiaries:write', async (_frame, request, person) => {
      try {
        return seeOther(await act(request, person))
      } catch (error) {
        const given = readForm(request)
        const typed =
          name === 'change' ? { name: given('name'), alias: given('alias'), ...addressIn(request) } : undefined
        const problems = problemsOf(paymentTexts[person.view.language], error, ['name', 'alias', ...addressFields])
        return showOne(frame, request, person, problems, typed)
      }
    })
  return [
    route('GET', '', 'beneficiaries:read', showList),
    ...newPayeeRoutes(frame, _withPerson, withMoney),
    route('GET', '/{id}', 'beneficiaries:read', showOne),
    form('change', async (request, person) => {
      const given = readForm(request)
      const [name, alias] = [given('name').trim(), given('alias').trim()]
      const address = addressOf(addressIn(request))
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

const addressIn = (request: PublicRequest): AddressDraft => {
  const given = readForm(request)
  return Object.fromEntries(addressFields.map((name) => [name, given(name).trim()])) as AddressDraft
}

const draftOf = (request: PublicRequest): PayeeDraft => {
  const given = readForm(request)
  const typed = Object.fromEntries(payeeFields.map((name) => [name, given(name).trim()])) as Omit<
    PayeeDraft,
    'idempotencyKey'
  >
  return { ...typed, currency: typed.currency.toUpperCase(), idempotencyKey: given('idempotencyKey') || newId() }
}

const emptyDraft = {
  ...{ name: '', account: '', currency: 'EUR', accountType: '', bic: '', alias: '', customerId: '' },
  ...{ streetName: '', buildingNumber: '', postalCode: '', city: '', state: '', country: '' },
}

/** The country of the account: of its IBAN, or the one whose numbers it has. Undefined: a wallet, or no account yet. */
function countryOf(draft: PayeeDraft): string | undefined {
  const fields = accountFields(draft)
  if (fields.walletAddress !== undefined) return undefined
  if (fields.sortCode !== undefined) return 'GB'
  return fields.routingNumber === undefined ? /^[A-Z]{2}/.exec(draft.account.toUpperCase())?.[0] : 'US'
}

/** Reads the field of the account: an IBAN, a wallet, or for pounds and dollars the numbers that people of the country write. */
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

/** Saving a payee: the form, the answer of the bank about the name, and the operation. */
const newPayeeRoutes: Routes = (frame, _withPerson, withMoney) => {
  const { operate } = frame
  const show = (request: PublicRequest, { view }: Person, draft: PayeeDraft, problems: Problems = {}): PublicAnswer =>
    page(request, statusOf(problems), newPayeePage({ ...view, current: 'payees' }, draft, problems))
  const refused = (request: PublicRequest, person: Person, error: unknown): PublicAnswer => {
    const p = paymentTexts[person.view.language]
    const names = ['iban', 'walletAddress', 'sortCode', 'routingNumber', 'accountNumber']
    const own = Object.fromEntries(names.map((name) => [name, p.payeeAccountWrong]))
    const problems = problemsOf(p, error, [...payeeFields, ...names], own)
    const account = names.map((name) => problems[name]).find((text) => text !== undefined)
    const others = Object.fromEntries(Object.entries(problems).filter(([name]) => !names.includes(name)))
    return show(request, person, draftOf(request), {
      ...(account === undefined ? {} : { account }),
      ...others,
    })
  }
  /** The empty fields of the address that payments to the account need today, each with its reason. */
  const missing = async (request: PublicRequest, person: Person, draft: PayeeDraft): Promise<Problems> => {
    const [country, currency] = [countryOf(draft), draft.currency]
    if (country === undefined || !/^[A-Z]{3}$/.test(currency)) return {}
    const call = { ...callOf(person, request), query: queryText({ country, currency }) }
    const { data } = await operate('listBeneficiaryRequirements', call)
    const today = frame.clock.now().toISOString().slice(0, 'YYYY-MM-DD'.length)
    const empty = data.flatMap(({ party, rule, field, validFrom = '', source }) => {
      const name = addressFields.find((each) => `address.${each}` === field)
      const isNeeded = party === 'Payee' && rule === 'Required' && validFrom <= today
      if (!isNeeded || name === undefined || draft[name] !== '') return []
      return [[name, fill(paymentTexts[person.view.language].addressNeeded, { currency, source })] as const]
    })
    return Object.fromEntries(empty)
  }
  const check = async (_frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const draft = draftOf(request)
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
      const shown = verification && verificationOf(verification)
      return page(request, 200, checkPayeePage({ ...person.view, current: 'payees' }, draft, shown))
    } catch (error) {
      return refused(request, person, error)
    }
  }
  const save = async (_frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const draft = draftOf(request)
    const { name, currency, idempotencyKey, accountType, bic, alias, customerId } = draft
    const others = Object.entries({ accountType, bic, alias, customerId })
    const given = Object.fromEntries(others.filter(([, value]) => value !== ''))
    const address = addressOf(draft)
    const body = { name, currency, ...accountFields(draft), ...given, ...(address && { address }) }
    try {
      const { id } = await operate('createBeneficiary', { ...callOf(person, request), idempotencyKey, body })
      return seeOther(`../${id}?done=saved`)
    } catch (error) {
      return refused(request, person, error)
    }
  }
  const route = routesOf(frame, withMoney, 'payees/new')
  return [
    route('GET', '', 'beneficiaries:write', (_frame, request, person) => {
      const { customerId = '' } = readQuery(request, ['customerId'])
      return show(request, person, { ...emptyDraft, customerId, idempotencyKey: newId() })
    }),
    route('POST', '', 'beneficiaries:write', (_frame, request, person) => show(request, person, draftOf(request))),
    route('POST', '/check', 'beneficiaries:write', check),
    route('POST', '/save', 'beneficiaries:write', save),
  ]
}
