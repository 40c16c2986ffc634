/** Guest links: the list, the form that creates one, and the page that a guest opens first. */
import { guestLinks as wire, type ResponseOf, emailCharsMax, nameCharsMax } from '@partner-payments/wire'
import { notFound, type PublicAnswer, type PublicRequest } from '../../kernel/api/index.ts'
import { newId, uuidPattern } from '../../kernel/index.ts'
import { html, type Html } from '../html.ts'
import { hiddenField, inputs, toSelectOptions, type FieldProblems, type FieldValues } from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { type ListRows, listPage } from '../kit/lists.ts'
import { badge, apiCall, facts, time, type Tone } from '../kit/parts.ts'
import { readCompletedForm, page, queryText, readForm, seeOther, pageStatus } from '../kit/request.ts'
import { fill } from '../language.ts'
import {
  callOf,
  type Frame,
  may,
  type Person,
  refusalProblems,
  readList,
  type Routes,
  placeRoutes,
  sessionCookieFor,
  createView,
} from './request.ts'
import { texts } from './texts/index.ts'

type GuestLink = ResponseOf<'listGuestLinks'>['data'][number]

type GuestList = ListRows<GuestLink> & {
  readonly mayWrite: boolean
  readonly idempotencyKey: string
  /** The values of a refused form. */
  readonly typed: FieldValues
  readonly done?: 'sent' | 'revoked' | undefined
}

const createCall = `POST /v1/users/guest-links
{ "email": "joan@example.com", "fullName": "Joan Clarke", "access": "read", "expiresInHours": 24 }`

const tones: Readonly<Record<GuestLink['status'], Tone>> = {
  Pending: 'neutral',
  Open: 'good',
  Expired: 'neutral',
  Revoked: 'bad',
  Ended: 'neutral',
}

function guestsPage(view: ConsoleView, guests: GuestList): string {
  const g = texts[view.language].guests
  const { rows, mayWrite, done } = guests
  return listPage(view, guests, {
    title: g.title,
    path: 'webhooks/guests',
    lead: g.lead,
    done: done && g[done],
    columns: [
      [g.guest, 'head'],
      g.access,
      g.status,
      g.madeBy,
      g.expires,
      g.lastUsed,
      ...(mayWrite ? [[g.actions, 'actions'] as const] : []),
    ],
    cells: rows.map((row) => [
      html`<span class="name">${row.fullName}</span> <span class="soft">${row.email}</span>`,
      g.accesses[row.access],
      badge(tones[row.status], g.statuses[row.status]),
      html`<span class="free">${row.madeByFullName}</span>`,
      time(view, row.expiresAt),
      row.lastUsedAt === null ? g.never : time(view, row.lastUsedAt),
      ...(mayWrite ? [revocation(view, row)] : []),
    ]),
    none: { title: g.empty, text: g.emptyText, more: apiCall(view, createCall, g.call) },
    after: html`${mayWrite && newLink(view, guests)}
      <p class="foot"><a href="${view.root}webhooks">${g.back}</a></p>`,
  })
}

function revocation(view: ConsoleView, { guestLinkId, status, fullName }: GuestLink): Html | string {
  if (status !== 'Pending' && status !== 'Open') return ''
  return html`<form method="post" action="${view.root}webhooks/guests/revoke">
    ${hiddenField('id', guestLinkId)}
    <button type="submit" class="small danger">
      ${texts[view.language].guests.revoke}<span class="away"> ${fullName}</span>
    </button>
  </form>`
}

function newLink(view: ConsoleView, { typed, problems, idempotencyKey }: GuestList): Html {
  const g = texts[view.language].guests
  return html`<section aria-labelledby="new-title">
    <h2 id="new-title">${g.newLink}</h2>
    <form class="card" method="post" action="${view.root}webhooks/guests">
      ${hiddenField('idempotencyKey', idempotencyKey)}
      ${inputs(view, { values: typed, problems }, [
        { name: 'fullName', label: g.name, charsMax: nameCharsMax },
        { name: 'email', label: g.email, type: 'email', charsMax: emailCharsMax },
        { name: 'access', label: g.access, value: 'read', options: toSelectOptions(g.accesses) },
        html`<p class="help">${g.accessHelp}</p>`,
        {
          name: 'expiresInHours',
          label: g.hours,
          help: g.hoursHelp,
          value: '24',
          keys: 'numeric',
          charsMax: hoursCharsMax,
        },
      ])}
      <button type="submit" class="primary">${g.send}</button>
    </form>
  </section>`
}

/** Maximum digits of the number of hours. Numbers above the limit fit, so that they are refused instead of cut off. */
const hoursCharsMax = 4

type GuestInvitation = {
  readonly token: string
  readonly partnerName: string
  readonly fullName: string
  readonly madeByName: string
  readonly access: GuestLink['access']
  readonly expiresAt: Date
}

/** Renders a page with a button, so that a mail scanner that follows the link does not consume it. */
function openGuestPage(view: ConsoleView, opening: GuestInvitation): string {
  const g = texts[view.language].guests
  const { token, partnerName, fullName: guest, madeByName: maker, access, expiresAt } = opening
  const title = fill(g.openTitle, { partner: partnerName })
  return shell(view, {
    title,
    card: true,
    main: html`<h1>${title}</h1>
      <p class="lead">${fill(g.openText, { maker, guest })}</p>
      ${facts([
        [g.openAccess, g.accesses[access]],
        [g.expires, time(view, expiresAt)],
      ])}
      <p>${g.openOnce}</p>
      <form method="post" action="${view.root}guest">
        ${hiddenField('token', token)}
        <button type="submit" class="primary">${g.open}</button>
      </form>`,
  })
}

type RefusedForm = { readonly typed: FieldValues; readonly problems: FieldProblems }

async function showList(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  refused?: RefusedForm,
): Promise<PublicAnswer> {
  const { data, shown } = await readList(request, person, [], (query) =>
    operate('listGuestLinks', { ...callOf(person, request), query: queryText(query) }),
  )
  const guests = {
    ...shown,
    rows: data,
    mayWrite: may(person, 'users:write'),
    idempotencyKey: newId(),
    typed: refused?.typed ?? {},
    problems: refused?.problems ?? {},
    done: readCompletedForm(request, ['sent', 'revoked']),
  }
  return page(request, pageStatus(guests.problems), guestsPage(person.view, guests))
}

async function create(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const given = readForm(request)
  const hours = given('expiresInHours').trim()
  const body = {
    email: given('email').trim(),
    fullName: given('fullName').trim(),
    access: given('access'),
    // The operation refuses a text that is not a number of hours.
    expiresInHours: /^\d{1,4}$/.test(hours) ? Number(hours) : wire.guestLinkHoursMax + 1,
  }
  try {
    const idempotencyKey = given('idempotencyKey') || newId()
    await frame.operate('createGuestLink', { ...callOf(person, request), body, idempotencyKey })
  } catch (error) {
    const { language } = person.view
    const g = texts[language].guests
    const own = { email: g.emailWrong, fullName: g.nameWrong, expiresInHours: g.hoursWrong }
    const problems = refusalProblems(texts[language].payments, error, ['access', ...Object.keys(own)], own)
    return showList(frame, request, person, { typed: { ...body, expiresInHours: hours }, problems })
  }
  return seeOther('guests?done=sent')
}

async function revoke({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const guestLinkId = readForm(request)('id')
  if (!uuidPattern.test(guestLinkId)) throw notFound('page')
  await operate('revokeGuestLink', { ...callOf(person, request), params: { guestLinkId } })
  return seeOther('../guests?done=revoked')
}

export const guestRoutes: Routes = (frame) => {
  const route = placeRoutes(frame, frame.withPerson, 'webhooks/guests')
  return [
    route('GET', '', 'users:read', showList),
    route('POST', '', 'users:write', create),
    route('POST', '/revoke', 'users:write', revoke),
    {
      method: 'GET',
      path: '/console/guest',
      handle: async (request) => {
        const token = new URLSearchParams(request.query).get('token') ?? ''
        const { link, partnerName } = await frame.guestLinks.shown(token)
        return page(request, 200, openGuestPage(createView(frame, request), { ...link, token, partnerName }))
      },
    },
    {
      method: 'POST',
      path: '/console/guest',
      handle: async (request) => {
        const token = await frame.guestLinks.open(readForm(request)('token'), request.ip)
        return seeOther('webhooks', sessionCookieFor(token))
      },
    },
  ]
}
