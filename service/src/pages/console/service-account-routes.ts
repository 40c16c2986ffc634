/** Service accounts: the list, a new one, the page of one, and the forms that change, rotate and revoke it. */
import { type ResponseOf, serviceAccounts as wire } from '@partner-payments/wire'
import { type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { minuteMs, newId } from '../../kernel/index.ts'
import {
  callOf,
  dayStart,
  permitted,
  type Problems,
  problemsOf,
  queryText,
  readList,
  readQuery,
  routesOf,
  statusOf,
} from './payments-request.ts'
import {
  type Form,
  type Frame,
  headersOf,
  idOf,
  page,
  type Person,
  readForm,
  type Routes,
  seeOther,
  signInAgain,
} from './request.ts'
import { type AccountDraft, newServiceAccountPage } from './service-account-form.ts'
import { issuedPage, type ServiceAccountRow, serviceAccountPage, serviceAccountsPage } from './service-accounts-page.ts'
import { paymentTexts } from './texts/payments.ts'
import { serviceAccountTexts } from './texts/service-accounts.ts'

/** A key lives longer than a session: who sits down at an open browser makes none. A form that was opened in time is taken. */
const openMsMax = 5 * minuteMs
const sendMsMax = 20 * minuteMs

const dateOf = (text: string | null): Date | null => (text === null ? null : new Date(text))
const rowOf = (account: ResponseOf<'getServiceAccount'>): ServiceAccountRow => ({
  ...account,
  createdAt: new Date(account.createdAt),
  expiresAt: dateOf(account.expiresAt),
  revokedAt: dateOf(account.revokedAt),
  lastUsedAt: dateOf(account.lastUsedAt),
})

const viewOf = ({ view }: Person) => ({ ...view, current: 'service-accounts' })
const mayWriteOf = ({ caller }: Person) => caller.permissions.includes('users:write')
const addressesOf = (text: string): string[] =>
  text
    .split(/[\s,]+/)
    .map((each) => each.trim())
    .filter((each) => each !== '')

/** Returns the texts of the refusals. A problem of one address or permission is a problem of its field. */
function problemsIn({ view: { language } }: Person, error: unknown): Problems {
  const [p, s] = [paymentTexts[language], serviceAccountTexts[language]]
  const texts = { ...p, refusal: { ...p.refusal, ...s.refusal } }
  const own = {
    publicKeyPem: s.publicKeyWrong,
    allowedAddresses: s.addressWrong,
    permissions: s.permissionsWrong,
    expiresOn: s.expiresWrong,
  }
  return problemsOf(texts, atFields(error), ['name', 'overlapHours', ...Object.keys(own)], own)
}

/** Points at the field of the page: a list is one field, and the end is a day. */
function atFields(error: unknown): unknown {
  if (!(error instanceof Refusal)) return error
  const errors = error.errors.map((each) => {
    const name = each.pointer.split('/')[1] ?? ''
    return { ...each, pointer: `/${name === 'expiresAt' ? 'expiresOn' : name}` }
  })
  return new Refusal(error.code, error.detail, { errors })
}

async function showList({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { data, shown } = await readList(request, person, ['status'], (query) =>
    operate('listServiceAccounts', { ...callOf(person, request), query: queryText(query) }),
  )
  const accounts = { ...shown, rows: data.map(rowOf), mayWrite: mayWriteOf(person) }
  return page(request, statusOf(shown.problems), serviceAccountsPage(viewOf(person), accounts))
}

type Refused = {
  readonly typed: Readonly<Record<string, string>>
  readonly chosen: readonly string[] | undefined
  readonly problems: Problems
}

async function showOne(frame: Frame, request: PublicRequest, person: Person, refused?: Refused): Promise<PublicAnswer> {
  const call = { ...callOf(person, request), params: { serviceAccountId: idOf(request) } }
  const account = rowOf(await frame.operate('getServiceAccount', call))
  const { done } = readQuery(request, ['done'])
  const body = serviceAccountPage(viewOf(person), {
    ...{ account, mayWrite: mayWriteOf(person), held: person.caller.permissions, idempotencyKey: newId() },
    chosen: refused?.chosen,
    ...{ typed: refused?.typed ?? {}, problems: refused?.problems ?? {} },
    done: (['changed', 'revokedNow'] as const).find((each) => each === done),
  })
  return page(request, refused === undefined ? 200 : 400, body)
}

const showNew = (request: PublicRequest, person: Person, draft: AccountDraft, problems: Problems = {}): PublicAnswer =>
  page(
    request,
    statusOf(problems),
    newServiceAccountPage(viewOf(person), { draft, held: person.caller.permissions, problems }),
  )

/** The boxes that are checked. */
const permissionsIn = ({ body }: PublicRequest): string[] =>
  new URLSearchParams(body.toString('utf8')).getAll('permissions')

function draftOf(given: Form): AccountDraft {
  return {
    name: given('name').trim(),
    permissions: [],
    allowedAddresses: given('allowedAddresses').trim(),
    expiresOn: given('expiresOn').trim(),
    publicKeyPem: given('publicKeyPem').trim(),
    idempotencyKey: given('idempotencyKey') || newId(),
  }
}

/** The answer has the secret, because no later request can show it: as data for the script, or as a page. */
function issued(request: PublicRequest, person: Person, made: ResponseOf<'createServiceAccount'>): PublicAnswer {
  const { serviceAccountId, apiKey, apiSecret } = made
  if (readForm(request)('answer') !== 'data')
    return page(request, 200, issuedPage(viewOf(person), { id: serviceAccountId, apiKey, apiSecret }))
  const { partnerId } = person.caller
  const body = JSON.stringify({ partnerId, serviceAccountId, apiKey, apiSecret })
  return { status: 200, headers: { ...headersOf, 'content-type': 'application/json; charset=utf-8' }, body }
}

async function create({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const draft = { ...draftOf(readForm(request)), permissions: permissionsIn(request) }
  const { name, publicKeyPem, permissions, expiresOn, idempotencyKey } = draft
  const body = {
    ...{ name, publicKeyPem, permissions, allowedAddresses: addressesOf(draft.allowedAddresses) },
    expiresAt: expiresOn === '' ? null : dayStart(expiresOn),
  }
  try {
    return issued(
      request,
      person,
      await operate('createServiceAccount', { ...callOf(person, request), body, idempotencyKey }),
    )
  } catch (error) {
    return showNew(request, person, { ...draft, idempotencyKey: newId() }, problemsIn(person, error))
  }
}

async function rotate({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const given = readForm(request)
  const hours = given('overlapHours').trim()
  // Another text is passed on, and refused by the operation.
  const overlapHours = hours === '' ? null : /^\d{1,4}$/.test(hours) ? Number(hours) : wire.overlapHoursMax + 1
  const made = await operate('rotateServiceAccount', {
    ...{ ...callOf(person, request), params: { serviceAccountId: idOf(request) } },
    body: { publicKeyPem: given('publicKeyPem').trim(), overlapHours },
    idempotencyKey: given('idempotencyKey') || newId(),
  })
  return issued(request, person, made)
}

async function change({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const given = readForm(request)
  const expiresOn = given('expiresOn').trim()
  await operate('updateServiceAccount', {
    ...{ ...callOf(person, request), params: { serviceAccountId: idOf(request) } },
    body: {
      name: given('name').trim(),
      permissions: permissionsIn(request),
      allowedAddresses: addressesOf(given('allowedAddresses')),
      expiresAt: expiresOn === '' ? null : dayStart(expiresOn),
    },
  })
  return seeOther(`../${idOf(request)}?done=changed`)
}

async function revoke({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  await operate('revokeServiceAccount', { ...callOf(person, request), params: { serviceAccountId: idOf(request) } })
  return seeOther(`../${idOf(request)}?done=revokedNow`)
}

export const serviceAccountRoutes: Routes = (frame, withPerson) => {
  const route = routesOf(frame, withPerson, 'service-accounts')
  type Act = (request: PublicRequest, person: Person) => PublicAnswer | Promise<PublicAnswer>
  /** Lets people act whose sign-in is recent. */
  const recent = (msMax: number, asked: string | undefined, act: Act) =>
    permitted(withPerson, 'users:write', async (request, person) =>
      frame.clock.now().getTime() - person.session.createdAt.getTime() < msMax
        ? act(request, person)
        : signInAgain(request, asked),
    )
  /** A form of one account. A refusal shows its page again. */
  const form = (name: string, act: (frame: Frame, ...of: Parameters<Act>) => Promise<PublicAnswer>): PublicRoute => ({
    method: 'POST',
    path: `/console/service-accounts/{id}/${name}`,
    handle: recent(sendMsMax, 'service-accounts', async (request, person) => {
      try {
        return await act(frame, request, person)
      } catch (error) {
        const typed = Object.fromEntries(new URLSearchParams(request.body.toString('utf8')))
        const chosen = name === 'change' ? permissionsIn(request) : undefined
        return showOne(frame, request, person, { typed, chosen, problems: problemsIn(person, error) })
      }
    }),
  })
  return [
    route('GET', '', 'users:read', showList),
    {
      method: 'GET',
      path: '/console/service-accounts/new',
      handle: recent(openMsMax, 'service-accounts/new', (request, person) =>
        showNew(
          request,
          person,
          draftOf(() => ''),
        ),
      ),
    },
    {
      method: 'POST',
      path: '/console/service-accounts/new',
      handle: recent(sendMsMax, 'service-accounts/new', (request, person) => create(frame, request, person)),
    },
    route('GET', '/{id}', 'users:read', showOne),
    form('change', change),
    form('rotate', rotate),
    form('revoke', revoke),
  ]
}
