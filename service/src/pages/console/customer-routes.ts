/** Customers: the list, the page of a customer, and the forms that create, change and erase one and open its account. */
import { decimalText, identity, kycFields, type ResponseOf } from '@partner-payments/wire'
import { ifFound, type PublicAnswer, type PublicRequest } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import type { FieldProblems, FieldValues } from '../kit/forms.ts'
import {
  pathWithQuery,
  page,
  queryText,
  readForm,
  readCompletedForm,
  readQuery,
  seeOther,
  pageStatus,
} from '../kit/request.ts'
import {
  customerFilters,
  customerFormPage,
  customerPage,
  type CustomerRow,
  customersPage,
  isUndecided,
} from './customer-pages.ts'
import { customerImporter } from './import-customers.ts'
import { importRoutes } from './imports.ts'
import { callOf, type Frame, may, type Person, refusalProblems, readList, type Routes, placeRoutes } from './request.ts'
import { texts } from './texts/index.ts'

type Customer = ResponseOf<'getCustomer'>

const pin = 'personalIdentificationNumber'
const baseFields = ['email', 'partnerCustomerIdentifier'] as const
const formFields: readonly string[] = ['customerType', ...baseFields, ...kycFields]
const idOf = ({ params }: PublicRequest) => params['id'] ?? ''

const customerRow = ({ guid, serviceId, email, partnerCustomerIdentifier, createdAt, kyc }: Customer): CustomerRow => ({
  id: guid,
  serviceId,
  email,
  type: kyc.customerType,
  identifier: partnerCustomerIdentifier,
  name: kyc.legalName ?? kyc.fullName ?? kyc.tradingName,
  createdAt: new Date(createdAt),
})

async function showList({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view } = person
  const { data, shown } = await readList(request, person, customerFilters, (query) =>
    operate('listCustomers', { ...callOf(person, request), query: queryText(query) }),
  )
  const customers = {
    ...shown,
    rows: data.map(customerRow),
    mayWrite: may(person, 'customers:write'),
    done: readCompletedForm(request, ['erased', 'erasedKept']),
  }
  return page(request, pageStatus(shown.problems), customersPage(view, customers))
}
async function showOne(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  problems: FieldProblems = {},
): Promise<PublicAnswer> {
  const { view } = person
  const call = { ...callOf(person, request), params: { id: idOf(request) } }
  const { changes: cursor } = readQuery(request, ['changes'])
  const raw = await operate('getCustomer', call)
  const [verification, proofs, { capabilities }, history, opened, balances] = await Promise.all([
    operate('getCustomerVerification', call),
    operate('listIdentityVerifications', { ...call, query: queryText({ limit: '10' }) }),
    operate('getCustomerCapabilities', call),
    operate('listCustomerChanges', { ...call, query: queryText({ limit: '10', cursor }) }),
    may(person, 'accounts:read') ? ifFound(operate('getCustomerAccount', call)) : undefined,
    may(person, 'accounts:read') ? operate('listCustomerBalances', call) : undefined,
  ])
  const shown = {
    ...customerRow(raw),
    verification: verificationView(raw, verification),
    identity: {
      rows: proofs.data,
      form: may(person, 'customers:write') && !proofs.data.some(isUndecided) ? { idempotencyKey: newId() } : undefined,
    },
    capabilities,
    ibans: may(person, 'accounts:read') ? (opened?.ibans ?? []) : undefined,
    balances: balances?.data.map(balanceRow),
    changes: history.data.map(({ changedAt, actor, changes }) => ({
      at: new Date(changedAt),
      by: actor?.name,
      fields: changes,
    })),
    moreChanges: history.nextCursor === null ? undefined : pathWithQuery(raw.guid, { changes: history.nextCursor }),
    may: {
      write: may(person, 'customers:write'),
      openAccount: may(person, 'accounts:write'),
      transactions: may(person, 'transactions:read'),
      payouts: may(person, 'payouts:read'),
      payees: may(person, 'beneficiaries:read'),
      wallets: may(person, 'wallets:read'),
    },
    done: readCompletedForm(request, ['created', 'changed', 'accountOpened']),
    problems,
    raw,
  }
  return page(request, pageStatus(problems), customerPage(view, shown))
}
export const customerRoutes: Routes = (frame) => {
  const { operate } = frame
  const route = placeRoutes(frame, frame.withMoney, 'customers')
  /**
   * Runs the action of a form on a customer's page and redirects. If it is refused, shows the page again with the
   * refusal.
   */
  const orProblem = async (
    request: PublicRequest,
    person: Person,
    act: () => Promise<string>,
  ): Promise<PublicAnswer> => {
    try {
      return seeOther(await act())
    } catch (error) {
      return showOne(frame, request, person, refusalProblems(texts[person.view.language].payments, error, []))
    }
  }
  return [
    route('GET', '', 'customers:read', showList),
    ...importRoutes(customerImporter)(frame),
    ...customerFormRoutes(frame),
    route('GET', '/{id}', 'customers:read', showOne),
    route('POST', '/{id}/account', 'accounts:write', (_frame, request, person) =>
      orProblem(request, person, async () => {
        await operate('createCustomerAccount', { ...callOf(person, request), params: { id: idOf(request) } })
        return `../${idOf(request)}?done=accountOpened`
      }),
    ),
    route('POST', '/{id}/verifications', 'customers:write', (_frame, request, person) =>
      orProblem(request, person, async () => {
        const given = readForm(request)
        const chosen = identity.identityKinds.filter((kind) => given(kind) === 'true')
        const call = { ...callOf(person, request), params: { id: idOf(request) } }
        const body = chosen.length > 0 ? { kinds: chosen } : {}
        const idempotencyKey = given('idempotencyKey') || newId()
        await operate('createIdentityVerification', { ...call, idempotencyKey, body })
        return `../${idOf(request)}#identity-title`
      }),
    ),
    route('POST', '/{id}/erase', 'customers:write', (_frame, request, person) =>
      orProblem(request, person, async () => {
        const body = readForm(request)('nothingOwed') === 'true' ? { nothingOwed: true } : {}
        const call = { ...callOf(person, request), params: { id: idOf(request) } }
        const { state } = await operate('eraseCustomer', { ...call, body })
        return `../../customers?done=${state === 'Retained' ? 'erasedKept' : 'erased'}`
      }),
    ),
  ]
}

function verificationView({ kyc }: Customer, found: ResponseOf<'getCustomerVerification'>) {
  const values: Readonly<Record<string, string | undefined>> = kyc
  return {
    state: found.state,
    checkedOn: new Date(found.checkedOn),
    fields: found.fields.map(({ field, state, code }) => ({ field, state, code, value: values[field] })),
  }
}

type CustomerBalance = ResponseOf<'listCustomerBalances'>['data'][number]
const balanceRow = ({ currency, posted, reserved, available }: CustomerBalance) => ({
  currency,
  posted: decimalText(posted),
  reserved: decimalText(reserved),
  available: decimalText(available),
})

/** Returns the values of a customer by the fields of the form. */
const customerValues = ({ email, partnerCustomerIdentifier, kyc }: Customer): FieldValues =>
  Object.fromEntries(
    Object.entries({ ...kyc, email, partnerCustomerIdentifier }).flatMap(([name, value]) =>
      value === undefined || !formFields.includes(name) ? [] : [[name, value] as const],
    ),
  )

const readTyped = (request: PublicRequest): FieldValues => {
  const given = readForm(request)
  return Object.fromEntries(formFields.map((name) => [name, given(name).trim()] as const))
}

/** The forms that create and change a customer. A change sends only changed fields, and null for an emptied one. */
const customerFormRoutes: Routes = (frame) => {
  const { operate } = frame
  type Form = {
    readonly values: FieldValues
    readonly id?: string
    readonly problems?: FieldProblems
    readonly key?: string
  }
  const show = (request: PublicRequest, { view }: Person, { values, id, problems = {}, key }: Form): PublicAnswer => {
    const draft = { values, id, problems, idempotencyKey: key || newId() }
    return page(request, pageStatus(problems), customerFormPage(view, draft))
  }
  const create = async (_frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const values = readTyped(request)
    const key = readForm(request)('idempotencyKey') || newId()
    const given = (names: readonly string[]) =>
      Object.fromEntries(names.flatMap((name) => (values[name] ? [[name, values[name]] as const] : [])))
    const kyc = given(kycFields)
    const body = {
      ...given([...baseFields, 'customerType']),
      ...(Object.keys(kyc).length > 0 ? { kyc } : {}),
    }
    try {
      const { guid } = await operate('createCustomer', { ...callOf(person, request), idempotencyKey: key, body })
      return seeOther(`../customers/${guid}?done=created`)
    } catch (error) {
      const problems = refusalProblems(texts[person.view.language].payments, error, formFields, {
        email: person.view.t.emailWrong,
      })
      return show(request, person, { values, problems, key })
    }
  }
  const change = async (_frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const call = { ...callOf(person, request), params: { id: idOf(request) } }
    const typed = readTyped(request)
    const before = customerValues(await operate('getCustomer', call))
    const changed = (names: readonly string[]) =>
      Object.fromEntries(
        names.flatMap((name) => {
          const value = typed[name] ?? ''
          const isSame = value === (before[name] ?? '') || (name === pin && value === '')
          return isSame ? [] : [[name, value === '' ? null : value] as const]
        }),
      )
    const kyc = changed(kycFields)
    const body = { ...changed(baseFields), ...(Object.keys(kyc).length > 0 ? { kyc } : {}) }
    if (Object.keys(body).length === 0) return seeOther(`../${call.params.id}`)
    try {
      await operate('updateCustomer', { ...call, body })
      return seeOther(`../${call.params.id}?done=changed`)
    } catch (error) {
      const problems = refusalProblems(texts[person.view.language].payments, error, formFields, {
        email: person.view.t.emailWrong,
      })
      return show(request, person, { values: typed, id: call.params.id, problems })
    }
  }
  const edit = async (_frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const call = { ...callOf(person, request), params: { id: idOf(request) } }
    return show(request, person, { values: customerValues(await operate('getCustomer', call)), id: call.params.id })
  }
  const route = placeRoutes(frame, frame.withMoney, 'customers')
  return [
    route('GET', '/new', 'customers:write', (_frame, request, person) =>
      show(request, person, { values: { customerType: 'Individual' } }),
    ),
    route('POST', '/new', 'customers:write', create),
    route('GET', '/{id}/edit', 'customers:write', edit),
    route('POST', '/{id}/edit', 'customers:write', change),
  ]
}
