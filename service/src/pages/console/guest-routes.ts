/** Guests: the list of their links, the forms that make and revoke one, and the page that a guest opens. */
import { guestLinks as wire } from '@partner-payments/wire'
import { notFound, type PublicAnswer, type PublicRequest } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import { guestsPage, openGuestPage } from './guests-page.ts'
import {
  callOf,
  type Problems,
  problemsOf,
  queryText,
  readList,
  readQuery,
  routesOf,
  statusOf,
} from './payments-request.ts'
import {
  type Frame,
  page,
  type Person,
  readForm,
  type Routes,
  seeOther,
  sessionCookieOf,
  uuid,
  viewOf,
} from './request.ts'
import { guestTexts } from './texts/guests.ts'
import { paymentTexts } from './texts/payments.ts'

type Refused = { readonly typed: Readonly<Record<string, string>>; readonly problems: Problems }

async function showList(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  refused?: Refused,
): Promise<PublicAnswer> {
  const { done } = readQuery(request, ['done'])
  const { data, shown } = await readList(request, person, [], (query) =>
    operate('listGuestLinks', { ...callOf(person, request), query: queryText(query) }),
  )
  const guests = {
    ...shown,
    rows: data.map((each) => ({
      ...each,
      expiresAt: new Date(each.expiresAt),
      lastUsedAt: each.lastUsedAt === null ? null : new Date(each.lastUsedAt),
    })),
    mayWrite: person.caller.permissions.includes('users:write'),
    idempotencyKey: newId(),
    ...{ typed: refused?.typed ?? {}, problems: refused?.problems ?? {} },
    done: (['sent', 'revoked'] as const).find((each) => each === done),
  }
  return page(request, statusOf(guests.problems), guestsPage({ ...person.view, current: 'webhooks' }, guests))
}

async function create(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const given = readForm(request)
  const hours = given('expiresInHours').trim()
  const body = {
    email: given('email').trim(),
    fullName: given('fullName').trim(),
    access: given('access'),
    // Another text is passed on, and refused by the operation.
    expiresInHours: /^\d{1,4}$/.test(hours) ? Number(hours) : wire.guestLinkHoursMax + 1,
  }
  try {
    const idempotencyKey = given('idempotencyKey') || newId()
    await frame.operate('createGuestLink', { ...callOf(person, request), body, idempotencyKey })
  } catch (error) {
    const { language } = person.view
    const g = guestTexts[language]
    const own = { email: g.emailWrong, fullName: g.nameWrong, expiresInHours: g.hoursWrong }
    const problems = problemsOf(paymentTexts[language], error, ['access', ...Object.keys(own)], own)
    return showList(frame, request, person, { typed: { ...body, expiresInHours: hours }, problems })
  }
  return seeOther('guests?done=sent')
}

async function revoke({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const guestLinkId = readForm(request)('id')
  if (!uuid.test(guestLinkId)) throw notFound('page')
  await operate('revokeGuestLink', { ...callOf(person, request), params: { guestLinkId } })
  return seeOther('../guests?done=revoked')
}

export const guestRoutes: Routes = (frame, withPerson) => {
  const route = routesOf(frame, withPerson, 'webhooks/guests')
  return [
    route('GET', '', 'users:read', showList),
    route('POST', '', 'users:write', create),
    route('POST', '/revoke', 'users:write', revoke),
    {
      method: 'GET',
      path: '/console/guest',
      handle: async (request) => {
        const token = new URLSearchParams(request.query).get('token') ?? ''
        const { link, partnerName } = await frame.guests.shown(token)
        return page(request, 200, openGuestPage(viewOf(frame, request), { ...link, token, partnerName }))
      },
    },
    {
      method: 'POST',
      path: '/console/guest',
      handle: async (request) => {
        const token = await frame.guests.open(readForm(request)('token'), request.ip)
        return seeOther('webhooks', sessionCookieOf(token))
      },
    },
  ]
}
