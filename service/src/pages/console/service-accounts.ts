/** Service accounts: the list, the form that creates one with its key, and the page of an account with its limits and rotation. */
import {
  permissions as allPermissions,
  type Permission,
  type ResponseOf,
  serviceAccounts as wire,
  tags,
  nameCharsMax,
} from '@partner-payments/wire'
import { type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { dayMs, minuteMs, newId } from '../../kernel/index.ts'
import { html, type Html } from '../html.ts'
import {
  confirmedForm,
  type Draft,
  emptyForm,
  hiddenField,
  input,
  inputs,
  toSelectOptions,
  type FieldProblems,
  type FormState,
} from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { type ListRows, listPage } from '../kit/lists.ts'
import { badge, apiCall, copyBlock, facts, identifier, message, time } from '../kit/parts.ts'
import {
  dayStart,
  readCompletedForm,
  consoleHeaders,
  readId,
  page,
  queryText,
  readForm,
  seeOther,
  pageStatus,
  readValues,
} from '../kit/request.ts'
import { type CreatorFact, readCreatorFact, creatorFacts } from './creator.ts'
import { permissionFields } from './permission-fields.ts'
import {
  callOf,
  type Frame,
  may,
  withPermission,
  type Person,
  refusalProblems,
  readList,
  type Routes,
  placeRoutes,
  redirectToSignIn,
  textsWithRefusals,
} from './request.ts'
import { texts } from './texts/index.ts'

/** `permissions`: the checked permissions. `granted`: the permissions that the person has, and can grant. */
type AccountDraft = Draft & { readonly permissions: readonly string[]; readonly granted: readonly Permission[] }

export function newServiceAccountPage(view: ConsoleView, draft: AccountDraft): string {
  const s = texts[view.language].serviceAccounts
  const { problems } = draft
  return shell(view, {
    title: s.newAccount,
    problems,
    main: html`<h1>${s.newAccount}</h1>
      ${keyPair(view, draft, {
        action: `${view.root}service-accounts/new`,
        fields: accountFields(view, draft),
        make: s.makeKey,
        submit: s.create,
      })}
      <p class="foot"><a href="${view.root}service-accounts">${texts[view.language].payments.back}</a></p>`,
  })
}

/** Renders the fields of an account: name, permissions, allowed IP addresses and expiry. */
function accountFields(view: ConsoleView, draft: Omit<AccountDraft, 'idempotencyKey'>): Html {
  const s = texts[view.language].serviceAccounts
  const { permissions, granted, problems } = draft
  return inputs(view, draft, [
    { name: 'name', label: s.name, help: s.nameHelp, charsMax: nameCharsMax },
    permissionFields(view, { held: granted, chosen: permissions, error: problems['permissions'] }),
    {
      name: 'allowedAddresses',
      label: s.addresses,
      help: s.addressesHelp,
      charsMax: addressesCharsMax,
      more: html`spellcheck="false"`,
      optional: true,
    },
    { name: 'expiresOn', label: s.expires, help: s.expiresHelp, type: 'date', optional: true },
  ])
}

/** Maximum length of the address list, longer than any that the operation accepts. */
const addressesCharsMax = 2500
const pemCharsMax = 2000

type KeyPair = {
  readonly action: string
  readonly fields: Html
  /** The text of the button that creates a key pair, and of the button that sends a pasted key. */
  readonly make: string
  readonly submit: string
}

/**
 * Renders the form that creates or replaces a key. The script creates a key pair, sends the public key and offers the
 * credentials as a file. Without the script, the person pastes a public key and the next page shows the secret.
 */
function keyPair(view: ConsoleView, draft: Draft, { action, fields, make, submit }: KeyPair): Html {
  const s = texts[view.language].serviceAccounts
  return html`<form class="card" method="post" action="${action}" data-keypair data-failed="${s.keyFailed}">
      ${hiddenField('idempotencyKey', draft.idempotencyKey)} ${fields}
      <div data-make hidden>
        <h2>${s.keyPair}</h2>
        <p>${s.keyMade}</p>
        <p class="error" role="alert"></p>
        <button type="submit" class="primary" data-make-key formnovalidate>${make}</button>
      </div>
      <details${draft.problems['publicKeyPem'] !== undefined && html` open`}>
        <summary>${s.ownKey}</summary>
        ${input(view, draft, {
          name: 'publicKeyPem',
          type: 'area',
          label: s.publicKey,
          help: s.publicKeyHelp,
          charsMax: pemCharsMax,
          more: html`rows="6" spellcheck="false"`,
          optional: 'unmarked',
        })}
        <button type="submit">${submit}</button>
      </details>
    </form>
    <section class="card" data-issued hidden tabindex="-1" aria-labelledby="issued-title">
      <h2 id="issued-title">${s.issued}</h2>
      <p>${s.issuedOnce}</p>
      <p>${s.saveText}</p>
      <p class="buttons">
        <a class="button primary" data-save download="credentials.json" href="${action}">${s.save}</a>
        <a class="button" data-open="${view.root}service-accounts/" href="${view.root}service-accounts">${s.open}</a>
      </p>
    </section>`
}

type ServiceAccount = ResponseOf<'getServiceAccount'>

const createCall = `POST /v1/service-accounts
{ "name": "Payroll", "permissions": ["payouts:read", "payouts:write"], "publicKeyPem": "-----BEGIN PUBLIC KEY-----…" }`

const tones = { Active: 'good', Expired: 'neutral', Revoked: 'neutral' } as const

const statusBadge = (view: ConsoleView, status: ServiceAccount['status']): Html =>
  badge(tones[status], texts[view.language].serviceAccounts.statuses[status])

export function serviceAccountsPage(
  view: ConsoleView,
  { rows, mayWrite, ...shown }: ListRows<ServiceAccount> & { readonly mayWrite: boolean },
): string {
  const s = texts[view.language].serviceAccounts
  return listPage(view, shown, {
    title: s.title,
    path: 'service-accounts',
    lead: s.lead,
    create: mayWrite && { text: s.newAccount, href: `${view.root}service-accounts/new` },
    filters: [
      { name: 'status', label: s.status, options: toSelectOptions(s.statuses) },
      { name: 'show', label: s.show, options: [['ending', view.t.endingKeys]] },
    ],
    columns: [[s.name, 'head'], s.status, s.permissions, s.lastUsed, s.expires],
    cells: rows.map((row) => [
      html`<a href="${view.root}service-accounts/${row.serviceAccountId}">${row.name}</a>`,
      statusBadge(view, row.status),
      row.impersonation ? s.staff : permissionList(view, row.permissions),
      row.lastUsedAt === null ? s.never : time(view, row.lastUsedAt),
      row.expiresAt === null ? s.noEnd : time(view, row.expiresAt),
    ]),
    none: { title: s.empty, text: s.emptyText, more: apiCall(view, createCall, s.call) },
  })
}

type AccountPage = Draft & {
  readonly creator?: CreatorFact | undefined
  readonly account: ServiceAccount
  readonly mayWrite: boolean
  /** The permissions of the person, who cannot grant others. */
  readonly granted: readonly Permission[]
  /** The checked permissions of a refused form. */
  readonly chosen?: readonly string[] | undefined
  readonly done?: 'changed' | 'revokedNow' | undefined
}

export function serviceAccountPage(view: ConsoleView, shown: AccountPage): string {
  const s = texts[view.language].serviceAccounts
  const { account, problems, done } = shown
  const canChange = shown.mayWrite && account.status === 'Active'
  const at = (date: string | null) => (date === null ? undefined : time(view, date))
  const isOwn = canChange && !account.impersonation
  return shell(view, {
    title: account.name,
    wide: true,
    problems,
    main: html`${done !== undefined && message('good', s[done])}
      <h1>${account.name}</h1>
      <p>${statusBadge(view, account.status)}</p>
      ${account.impersonation && message('neutral', s.impersonation)}
      ${facts([
        [s.apiKey, identifier(view, account.apiKey, s.apiKey)],
        [s.permissions, permissionList(view, account.permissions)],
        [s.addresses, account.allowedAddresses.length === 0 ? s.anyAddress : account.allowedAddresses.join(', ')],
        [s.lastUsed, at(account.lastUsedAt) ?? s.never],
        [s.created, time(view, account.createdAt)],
        [s.issuedBy, account.issuedByFullName ?? s.byOperator],
        [s.expires, at(account.expiresAt) ?? s.noEnd],
        [s.revoked, at(account.revokedAt)],
        ...creatorFacts(shown),
        [s.replaces, account.replaces === null ? undefined : replaced(view, account.replaces)],
      ])}
      ${isOwn && changeForm(view, shown)} ${isOwn && rotation(view, shown)} ${canChange && revocation(view, account)}`,
  })
}

const replaced = (view: ConsoleView, id: string): Html => html`<a href="${view.root}service-accounts/${id}">${id}</a>`

/** Renders permissions in words by group. The title attribute lists their API names. */
function permissionList(view: ConsoleView, given: readonly string[]): Html {
  const s = texts[view.language].serviceAccounts
  if (given.length === allPermissions.length) return html`<span title="${given.join(', ')}">${s.allPermissions}</span>`
  const lines = tags.flatMap((tag) => {
    const own = given.filter((permission) => permission.startsWith(`${tag}:`))
    const isWriting = own.includes(`${tag}:write`)
    const words = own.length > 1 ? s.readsAndWrites : isWriting ? s.writes : s.reads
    return own.length === 0 ? [] : [html`<span title="${own.join(', ')}">${s.groups[tag]}: ${words}</span>`]
  })
  return html`<span class="lines">${lines}</span>`
}

function changeForm(view: ConsoleView, shown: AccountPage): Html {
  const s = texts[view.language].serviceAccounts
  const { account, granted, values, problems, chosen = account.permissions } = shown
  const before = {
    name: account.name,
    allowedAddresses: account.allowedAddresses.join(', '),
    expiresOn: account.expiresAt?.slice(0, 'YYYY-MM-DD'.length) ?? '',
  }
  return html`<section aria-labelledby="change-title">
    <h2 id="change-title">${s.change}</h2>
    <form class="card" method="post" action="${view.root}service-accounts/${account.serviceAccountId}/change">
      ${accountFields(view, { values: { ...before, ...values }, problems, permissions: chosen, granted })}
      <button type="submit" class="primary">${s.saveChange}</button>
    </form>
  </section>`
}

function rotation(view: ConsoleView, shown: AccountPage): Html {
  const s = texts[view.language].serviceAccounts
  return html`<section aria-labelledby="rotate-title">
    <h2 id="rotate-title">${s.rotate}</h2>
    <p>${s.rotateText}</p>
    ${keyPair(view, shown, {
      action: `${view.root}service-accounts/${shown.account.serviceAccountId}/rotate`,
      fields: input(view, shown, {
        name: 'overlapHours',
        label: s.overlap,
        help: s.overlapHelp,
        keys: 'numeric',
        charsMax: hoursCharsMax,
        optional: true,
      }),
      make: s.makeAndRotate,
      submit: s.rotateWith,
    })}
  </section>`
}

/** Maximum digits of the number of hours. Numbers above the limit fit, so that they are refused instead of cut off. */
const hoursCharsMax = 4

function revocation(view: ConsoleView, { serviceAccountId, name }: ServiceAccount): Html {
  const s = texts[view.language].serviceAccounts
  return confirmedForm(view, {
    id: 'revoke',
    title: s.revokeTitle,
    action: `${view.root}service-accounts/${serviceAccountId}/revoke`,
    about: name,
    shown: html`<p><strong>${name}</strong></p>`,
    effects: [s.revokeText],
    submit: s.revoke,
  })
}

/** Renders the API key and the secret of an account whose key pair was created elsewhere. */
export function issuedPage(
  view: ConsoleView,
  { id, apiKey, apiSecret }: { readonly id: string; readonly apiKey: string; readonly apiSecret: string },
): string {
  const s = texts[view.language].serviceAccounts
  return shell(view, {
    title: s.issued,
    card: true,
    main: html`<h1>${s.issued}</h1>
      <p>${s.issuedOnce}</p>
      ${secret(view, s.apiKey, apiKey)} ${secret(view, s.apiSecret, apiSecret)}
      <p class="foot"><a href="${view.root}service-accounts/${id}">${s.open}</a></p>`,
  })
}

const secret = (view: ConsoleView, label: string, text: string): Html =>
  html`<h2>${label}</h2>
    ${copyBlock(view, text, label)}`

/**
 * Maximum age of the sign-in when the form is opened. A key outlives the session, so a passer-by must not be able to
 * create one in an open browser.
 */
const openMsMax = 5 * minuteMs

const sendMsMax = 20 * minuteMs

const viewAtPlace = ({ view }: Person) => ({ ...view, current: 'service-accounts' })

const splitAddresses = (text: string): string[] =>
  text
    .split(/[\s,]+/)
    .map((each) => each.trim())
    .filter((each) => each !== '')

/** Returns the error texts by field. A problem of one address or permission is shown at the field of the list. */
function accountProblems(person: Person, error: unknown): FieldProblems {
  const s = texts[person.view.language].serviceAccounts
  const own = {
    publicKeyPem: s.publicKeyWrong,
    allowedAddresses: s.addressWrong,
    permissions: s.permissionsWrong,
    expiresOn: s.expiresWrong,
  }
  return refusalProblems(
    textsWithRefusals(person, 'serviceAccounts'),
    pointAtFields(error),
    ['name', 'overlapHours', ...Object.keys(own)],
    own,
  )
}

/** Maps each error to its field of the page: a list is one field, and the expiry is entered as a day. */
function pointAtFields(error: unknown): unknown {
  if (!(error instanceof Refusal)) return error
  const errors = error.errors.map((each) => {
    const name = each.pointer.split('/')[1] ?? ''
    return { ...each, pointer: `/${name === 'expiresAt' ? 'expiresOn' : name}` }
  })
  return new Refusal(error.code, error.detail, { errors })
}

/** Time before the expiry of a key at which it must be rotated. */
const keyMsLeft = 14 * dayMs

/** Reports whether a key must be rotated soon. */
export const needsRotation = (
  { expiresAt, impersonation }: Pick<ServiceAccount, 'expiresAt' | 'impersonation'>,
  now: Date,
): boolean => !impersonation && expiresAt !== null && Date.parse(expiresAt) < now.getTime() + keyMsLeft

/** Maximum keys that are checked for an early expiry: as many as a partner can have. */
const endingAmongMax = 100

async function showList({ operate, clock }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const call = callOf(person, request)
  const { data, shown } = await readList(request, person, ['status', 'show'], async ({ show, ...query }) => {
    if (show !== 'ending') return operate('listServiceAccounts', { ...call, query: queryText(query) })
    const all = await operate('listServiceAccounts', { ...call, query: `status=Active&limit=${endingAmongMax}` })
    return { data: all.data.filter((key) => needsRotation(key, clock.now())), nextCursor: null }
  })
  const accounts = { ...shown, rows: data, mayWrite: may(person, 'users:write') }
  return page(request, pageStatus(shown.problems), serviceAccountsPage(viewAtPlace(person), accounts))
}

type RefusedForm = FormState & { readonly chosen: readonly string[] | undefined }

async function showOne(
  frame: Frame,
  request: PublicRequest,
  person: Person,
  refused?: RefusedForm,
): Promise<PublicAnswer> {
  const call = { ...callOf(person, request), params: { serviceAccountId: readId(request) } }
  const account = await frame.operate('getServiceAccount', call)
  const body = serviceAccountPage(viewAtPlace(person), {
    ...(refused ?? emptyForm),
    creator: await readCreatorFact(frame, person, account.serviceAccountId),
    account,
    mayWrite: may(person, 'users:write'),
    granted: person.caller.permissions,
    idempotencyKey: newId(),
    done: readCompletedForm(request, ['changed', 'revokedNow']),
  })
  return page(request, refused === undefined ? 200 : 400, body)
}

const showNew = (request: PublicRequest, person: Person, draft: Omit<AccountDraft, 'granted'>): PublicAnswer => {
  const body = newServiceAccountPage(viewAtPlace(person), { ...draft, granted: person.caller.permissions })
  return page(request, pageStatus(draft.problems), body)
}

/** Returns the permissions whose checkboxes are checked. */
const permissionsIn = ({ body }: PublicRequest): string[] =>
  new URLSearchParams(body.toString('utf8')).getAll('permissions')

/** Responds with the secret, as JSON for the script or as a page. No later request can show it. */
function sendCredentials(
  request: PublicRequest,
  person: Person,
  made: ResponseOf<'createServiceAccount'>,
): PublicAnswer {
  const { serviceAccountId, apiKey, apiSecret } = made
  if (readForm(request)('answer') !== 'data')
    return page(request, 200, issuedPage(viewAtPlace(person), { id: serviceAccountId, apiKey, apiSecret }))
  const { partnerId } = person.caller
  const body = JSON.stringify({ partnerId, serviceAccountId, apiKey, apiSecret })
  return { status: 200, headers: { ...consoleHeaders, 'content-type': 'application/json; charset=utf-8' }, body }
}

async function create({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const given = readForm(request)
  const permissions = permissionsIn(request)
  const values = readValues(given, ['name', 'allowedAddresses', 'expiresOn', 'publicKeyPem'])
  const { name = '', publicKeyPem = '', allowedAddresses = '', expiresOn } = values
  const body = {
    name,
    publicKeyPem,
    permissions,
    allowedAddresses: splitAddresses(allowedAddresses),
    expiresAt: expiresOn === undefined ? null : dayStart(expiresOn),
  }
  const idempotencyKey = given('idempotencyKey') || newId()
  try {
    const created = await operate('createServiceAccount', { ...callOf(person, request), body, idempotencyKey })
    return sendCredentials(request, person, created)
  } catch (error) {
    const problems = accountProblems(person, error)
    return showNew(request, person, { values, problems, permissions, idempotencyKey: newId() })
  }
}

async function rotate({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const given = readForm(request)
  const hours = given('overlapHours').trim()
  // The operation refuses a text that is not a number of hours.
  const overlapHours = hours === '' ? null : /^\d{1,4}$/.test(hours) ? Number(hours) : wire.overlapHoursMax + 1
  const made = await operate('rotateServiceAccount', {
    ...callOf(person, request),
    params: { serviceAccountId: readId(request) },
    body: { publicKeyPem: given('publicKeyPem').trim(), overlapHours },
    idempotencyKey: given('idempotencyKey') || newId(),
  })
  return sendCredentials(request, person, made)
}

async function change({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const given = readForm(request)
  const expiresOn = given('expiresOn').trim()
  await operate('updateServiceAccount', {
    ...callOf(person, request),
    params: { serviceAccountId: readId(request) },
    body: {
      name: given('name').trim(),
      permissions: permissionsIn(request),
      allowedAddresses: splitAddresses(given('allowedAddresses')),
      expiresAt: expiresOn === '' ? null : dayStart(expiresOn),
    },
  })
  return seeOther(`../${readId(request)}?done=changed`)
}

async function revoke({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  await operate('revokeServiceAccount', { ...callOf(person, request), params: { serviceAccountId: readId(request) } })
  return seeOther(`../${readId(request)}?done=revokedNow`)
}

export const serviceAccountRoutes: Routes = (frame) => {
  const route = placeRoutes(frame, frame.withPerson, 'service-accounts')
  type Act = (request: PublicRequest, person: Person) => PublicAnswer | Promise<PublicAnswer>
  /** Runs the action if the sign-in is recent. Otherwise the person must sign in again. */
  const recent = (msMax: number, asked: string | undefined, act: Act) =>
    withPermission(frame.withPerson, 'users:write', async (request, person) =>
      frame.clock.now().getTime() - person.session.createdAt.getTime() < msMax
        ? act(request, person)
        : redirectToSignIn(request, asked),
    )
  /** Creates the route of a form on the page of an account. A refusal shows the page again. */
  const form = (name: string, act: (frame: Frame, ...of: Parameters<Act>) => Promise<PublicAnswer>): PublicRoute => ({
    method: 'POST',
    path: `/console/service-accounts/{id}/${name}`,
    handle: recent(sendMsMax, 'service-accounts', async (request, person) => {
      try {
        return await act(frame, request, person)
      } catch (error) {
        const values = Object.fromEntries(new URLSearchParams(request.body.toString('utf8')))
        const chosen = name === 'change' ? permissionsIn(request) : undefined
        return showOne(frame, request, person, { values, chosen, problems: accountProblems(person, error) })
      }
    }),
  })
  return [
    route('GET', '', 'users:read', showList),
    {
      method: 'GET',
      path: '/console/service-accounts/new',
      handle: recent(openMsMax, 'service-accounts/new', (request, person) =>
        showNew(request, person, { ...emptyForm, permissions: [], idempotencyKey: newId() }),
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
