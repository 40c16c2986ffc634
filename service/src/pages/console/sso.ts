/** The settings of single sign-on of a partner. */
import { uuidPattern } from '../../kernel/index.ts'
import type { ResponseOf } from '@partner-payments/wire'
import {
  ifFound,
  notFound,
  type PublicAnswer,
  type PublicRequest,
  type PublicRoute,
  readCookie,
  Refusal,
  sessionCookie,
} from '../../kernel/api/index.ts'
import { isRecentSignIn } from '../../people/sign-in/index.ts'
import { html, type Html } from '../html.ts'
import { confirmedForm, hiddenField, type Input, inputs } from '../kit/forms.ts'
import { consoleMessagePage, type ConsoleView, type RoleName, shell } from '../kit/frame.ts'
import { facts, message, time, copyableText } from '../kit/parts.ts'
import {
  readBrowser,
  readCompletedForm,
  type FieldReader,
  safeNextPath,
  page,
  readForm,
  seeOther,
} from '../kit/request.ts'
import { fill } from '../language.ts'
import {
  callOf,
  type Frame,
  may,
  type Person,
  type Routes,
  signedInCookies,
  redirectToSignIn,
  createView,
} from './request.ts'
import { readAttempt, signOnFailedPage, redirectToProviderByPage, redirectToProvider } from './sign-in.ts'
import { texts } from './texts/index.ts'

const ssoRoles = ['Admin', 'Operator', 'Developer'] as const satisfies readonly RoleName[]

export const ssoFields = [
  'issuer',
  'clientId',
  'clientSecret',
  'emailDomain',
  'roleClaim',
  'required',
  ...ssoRoles,
] as const

type SsoField = (typeof ssoFields)[number]

type WaitingChange = {
  readonly id: string
  readonly by: string
  readonly isOwn: boolean
  readonly expiresAt: Date
  readonly issuer: string
  readonly clientId: string
  readonly emailDomain: string
  readonly roleClaim: string | null
  readonly roles: Readonly<Partial<Record<RoleName, readonly string[]>>> | null
  readonly required: boolean
  readonly hasNewSecret: boolean
}

type SsoPage = {
  /** Absent: no provider is set. */
  readonly current?: {
    readonly redirectUri: string
    readonly domainRecord: { readonly name: string; readonly value: string }
    readonly domainProvedAt: Date | null
  }
  /** A change that awaits the approval of a second Admin. */
  readonly waiting?: WaitingChange | undefined
  /** The values of the form. */
  readonly values: Readonly<Partial<Record<SsoField, string>>>
  readonly may: { readonly write: boolean }
  /** Error texts by field. Any other key is about the whole page. */
  readonly errors?: Readonly<Record<string, string>> | undefined
  readonly confirmation?: string | undefined
}

export function ssoPage(view: ConsoleView, shown: SsoPage): string {
  const s = texts[view.language].signOn
  const { current, may, errors = {}, confirmation } = shown
  const fields: readonly string[] = ssoFields
  const problems = Object.fromEntries(
    Object.entries(errors).map(([name, text]) => [may.write && fields.includes(name) ? `sso-${name}` : 'form', text]),
  )
  return shell(view, {
    title: s.title,
    wide: true,
    problems,
    main: html`${confirmation !== undefined && message('good', confirmation)}
      <h1>${s.title}</h1>
      <p class="lead">${s.settings.lead}</p>
      ${shown.waiting && changePart(view, shown.waiting, may.write)} ${statePart(view, current)}
      ${current?.domainProvedAt === null && domainPart(view, current.domainRecord, may.write)}
      ${providerPart(view, shown)}`,
  })
}

/** Renders every setting of a change for the second Admin, because the provider decides who becomes Admin. */
function changePart(view: ConsoleView, waiting: WaitingChange, may: boolean): Html {
  const { settings } = texts[view.language].signOn
  const { id, by, isOwn, expiresAt, roles, required } = waiting
  const form = (act: 'confirm' | 'reject', label: string, look: 'primary' | 'danger') =>
    html`<form method="post" action="${view.root}team/single-sign-on/${act}">
      ${hiddenField('id', id)}<button type="submit" class="${look}">${label}</button>
    </form>`
  return html`<section aria-labelledby="change-title" class="card">
    <h2 id="change-title">${settings.change}</h2>
    <p>${isOwn ? settings.changeOwn : fill(settings.changeText, { name: by })} ${time(view, expiresAt)}</p>
    ${facts([
      [settings.issuer, waiting.issuer],
      [settings.client, waiting.clientId],
      [settings.domain, waiting.emailDomain],
      [settings.roleClaim, waiting.roleClaim ?? '–'],
      ...ssoRoles.map((role) => [fill(settings.valuesOf, { role }), (roles?.[role] ?? []).join(', ') || '–'] as const),
      [settings.whether, required ? settings.required : settings.optional],
      ...(waiting.hasNewSecret ? [[settings.secret, settings.changeSecret] as const] : []),
    ])}
    ${may && !isOwn && form('confirm', settings.confirm, 'primary')}
    ${may && form('reject', isOwn ? settings.withdraw : settings.reject, 'danger')}
  </section>`
}

/** Renders the DNS record that proves the domain. */
function domainPart(
  view: ConsoleView,
  { name, value }: NonNullable<SsoPage['current']>['domainRecord'],
  may: boolean,
): Html {
  const { settings } = texts[view.language].signOn
  return html`<section aria-labelledby="record-title">
    <h2 id="record-title">${settings.record}</h2>
    <p>${settings.proveText}</p>
    ${facts([
      [settings.recordName, copyableText(view, name, settings.recordName)],
      [settings.recordValue, copyableText(view, value, settings.recordValue)],
    ])}
    ${
      may &&
      html`<form method="post" action="${view.root}team/single-sign-on/domain">
        <button type="submit" class="primary">${settings.prove}</button>
      </form>`
    }
  </section>`
}

function providerPart(view: ConsoleView, shown: SsoPage): Html {
  const { settings } = texts[view.language].signOn
  const { current, may } = shown
  return html`<section aria-labelledby="provider-title">
    <h2 id="provider-title">${settings.provider}</h2>
    ${current !== undefined && facts([[settings.redirect, copyableText(view, current.redirectUri, settings.redirect)]])}
    ${may.write ? form(view, shown) : html`<p>${settings.readOnly}</p>`}
    ${may.write && current !== undefined && removal(view)}
  </section>`
}

function statePart(view: ConsoleView, current: SsoPage['current']): Html {
  const { settings } = texts[view.language].signOn
  if (current === undefined) return message('neutral', settings.none)
  if (current.domainProvedAt === null) return message('warning', settings.waits)
  const [before = '', after = ''] = settings.on.split('{time}')
  return html`<p>${before}${time(view, current.domainProvedAt)}${after}</p>`
}

function form(view: ConsoleView, { values, errors = {}, current }: SsoPage): Html {
  const { settings } = texts[view.language].signOn
  const isNew = current === undefined
  const own = (name: SsoField, label: string, help?: string) => ({ id: `sso-${name}`, name, label, help })
  const plain = { charsMax: textCharsMax, more: html`spellcheck="false"` }
  const secret: Input = {
    ...own(
      'clientSecret',
      settings.secret,
      isNew ? settings.secretHelp : `${settings.secretHelp} ${settings.secretKept}`,
    ),
    type: 'password',
    autocomplete: 'new-password',
    charsMax: secretCharsMax,
    // An empty field keeps the current secret.
    optional: isNew ? false : 'unmarked',
  }
  return html`<form method="post" action="${view.root}team/single-sign-on" class="card">
    ${inputs(view, { values, problems: errors }, [
      { ...own('issuer', settings.issuer, settings.issuerHelp), keys: 'url', charsMax: issuerCharsMax },
      { ...own('clientId', settings.client), ...plain },
      secret,
      { ...own('emailDomain', settings.domain, settings.domainHelp), ...plain },
      { ...own('roleClaim', settings.roleClaim, settings.roleClaimHelp), ...plain, optional: true },
      ...ssoRoles.map((role) => ({
        ...own(role, fill(settings.valuesOf, { role }), settings.valuesHelp),
        ...plain,
        optional: true,
      })),
      {
        ...own('required', settings.whether),
        value: 'no',
        choices: [
          { value: 'no', label: settings.optional, help: settings.notRequired },
          { value: 'yes', label: settings.required, help: settings.requiredText },
        ],
      },
    ])}
    <button type="submit" class="primary">${settings.save}</button>
  </form>`
}

const [textCharsMax, secretCharsMax, issuerCharsMax] = [500, 1000, 2000]

function removal(view: ConsoleView): Html {
  const { settings } = texts[view.language].signOn
  return confirmedForm(view, {
    id: 'remove-sso',
    title: settings.remove,
    action: `${view.root}team/single-sign-on/remove`,
    about: '',
    shown: html`<p>${settings.removeText}</p>`,
    submit: settings.remove,
    look: 'danger',
  })
}

export const ssoRoutes: Routes = (frame) => [...providerRoutes(frame), ...settingRoutes(frame)]

const isRecent = ({ clock }: Frame, { session }: Person): boolean => isRecentSignIn(session.createdAt, clock.now())

function providerRoutes(frame: Frame): readonly PublicRoute[] {
  const { singleSignOn } = frame.members
  const tried = async (request: PublicRequest, work: () => Promise<PublicAnswer>): Promise<PublicAnswer> => {
    try {
      return await work()
    } catch (error) {
      return signOnFailedPage(request, createView(frame, request), error)
    }
  }
  return [
    {
      method: 'GET',
      path: '/console/sign-in/sso',
      callsChosenHost: true,
      handle: (request) => {
        const query = new URLSearchParams(request.query)
        const partnerId = query.get('partner') ?? ''
        if (!uuidPattern.test(partnerId)) return seeOther('../sign-in')
        const next = safeNextPath(query.get('next') ?? undefined)
        return tried(request, async () =>
          redirectToProvider(await singleSignOn.begin({ kind: 'sign in', partnerId, next })),
        )
      },
    },
    {
      method: 'GET',
      path: '/console/join/sso',
      callsChosenHost: true,
      handle: (request) => {
        const token = new URLSearchParams(request.query).get('token') ?? ''
        return tried(request, async () => redirectToProvider(await singleSignOn.begin({ kind: 'join', token })))
      },
    },
    {
      method: 'POST',
      path: '/console/account/sso',
      callsChosenHost: true,
      handle: (request) =>
        frame.withPerson(request, (person) =>
          isRecent(frame, person)
            ? tried(request, async () =>
                redirectToProviderByPage(
                  request,
                  person.view,
                  await singleSignOn.begin({ kind: 'connect', signed: person }),
                ),
              )
            : redirectToSignIn(request, 'account'),
        ),
    },
    {
      method: 'GET',
      path: '/console/sso/{partnerId}',
      callsChosenHost: true,
      handle: (request) =>
        tried(request, async () => {
          const { partnerId = '' } = request.params
          if (!uuidPattern.test(partnerId)) return seeOther('../sign-in')
          const session = readCookie(request.headers['cookie'], sessionCookie)
          const found = session === undefined ? undefined : await frame.members.signedIn(session)
          const signed = found?.support === undefined ? found : undefined
          const given = { attempt: readAttempt(request), query: request.query, signed }
          const browser = readBrowser(request)
          const { kind, token, next } = await singleSignOn.finish(partnerId, given, browser)
          if (token !== undefined) return seeOther(`../${safeNextPath(next)}`, ...signedInCookies(token, browser))
          const view = createView(frame, request)
          const s = texts[view.language].signOn
          const action = { href: `${view.root}account`, label: s.leadsOn }
          return kind === 'connect'
            ? page(request, 200, consoleMessagePage(view, s.connectedNow, s.text, action))
            : seeOther('../sign-in')
        }),
    },
  ]
}

type SsoSettings = ResponseOf<'getSingleSignOn'>

function settingRoutes(frame: Frame): readonly PublicRoute[] {
  const { operate } = frame
  const { singleSignOn } = frame.members
  const show = async (request: PublicRequest, person: Person, errors?: Readonly<Record<string, string>>) => {
    const found = await ifFound(operate('getSingleSignOn', callOf(person, request)))
    const { settings } = texts[person.view.language].signOn
    const confirmation = readCompletedForm(request, doneForms)
    const waiting = await singleSignOn.waiting(person.caller.partnerId)
    const body = ssoPage(
      { ...person.view, current: 'team' },
      {
        ...(found && { current: currentSettings(found) }),
        waiting: waiting && { ...waiting, by: waiting.proposedByName, isOwn: waiting.proposedBy === person.user.id },
        values: errors === undefined || request.body.length === 0 ? settingValues(found) : readTyped(readForm(request)),
        may: { write: may(person, 'users:write') },
        errors,
        confirmation: confirmation && settings[confirmation],
      },
    )
    return page(request, errors === undefined ? 200 : 400, body)
  }
  const form = (
    path: '' | '/domain' | '/remove' | '/confirm' | '/reject',
    done: DoneForm,
    act: (field: FieldReader, call: ReturnType<typeof callOf>, person: Person) => Promise<unknown>,
  ): PublicRoute => ({
    method: 'POST',
    path: `/console/team/single-sign-on${path}`,
    ...(path === '/domain' && { callsChosenHost: true }),
    handle: (request) =>
      frame.withPerson(request, async (person) => {
        if (!isRecent(frame, person)) return redirectToSignIn(request, 'team/single-sign-on')
        try {
          await act(readForm(request), callOf(person, request), person)
          const waiting = done === 'saved' ? await singleSignOn.waiting(person.caller.partnerId) : undefined
          const shown = waiting?.proposedBy === person.user.id ? 'proposed' : done
          return seeOther(`${person.view.root}team/single-sign-on?done=${shown}`)
        } catch (error) {
          return show(request, person, ssoProblems(person, error))
        }
      }),
  })
  return [
    {
      method: 'GET',
      path: '/console/team/single-sign-on',
      handle: (request) => frame.withPerson(request, (person) => show(request, person)),
    },
    form('', 'saved', (field, call) => operate('setSingleSignOn', { ...call, body: settingsBody(field) })),
    form('/domain', 'proved', (_field, call) => operate('proveSingleSignOnDomain', call)),
    form('/remove', 'removed', (_field, call) => operate('removeSingleSignOn', call)),
    form('/confirm', 'confirmed', (field, { ip }, person) => singleSignOn.confirm(person, readChangeId(field), ip)),
    form('/reject', 'rejected', (field, { ip }, person) => singleSignOn.reject(person, readChangeId(field), ip)),
  ]
}

const doneForms = ['saved', 'proposed', 'confirmed', 'rejected', 'proved', 'removed'] as const

type DoneForm = (typeof doneForms)[number]

function readChangeId(field: FieldReader): string {
  const id = field('id')
  if (!uuidPattern.test(id)) throw notFound('change of the single sign-on')
  return id
}

const splitList = (text: string): string[] =>
  text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')

function settingsBody(field: FieldReader) {
  const roles = ssoRoles
    .map((role) => [role, splitList(field(role))] as const)
    .filter(([, values]) => values.length > 0)
  const roleClaim = field('roleClaim').trim()
  const secret = field('clientSecret')
  return {
    issuer: field('issuer').trim(),
    clientId: field('clientId').trim(),
    ...(secret === '' ? {} : { clientSecret: secret }),
    emailDomain: field('emailDomain').trim(),
    roleClaim: roleClaim === '' ? null : roleClaim,
    roles: roles.length === 0 ? null : Object.fromEntries(roles),
    required: field('required') === 'yes',
  }
}

const currentSettings = ({ redirectUri, domainRecord, domainProvedAt }: SsoSettings) => ({
  redirectUri,
  domainRecord,
  domainProvedAt: domainProvedAt === null ? null : new Date(domainProvedAt),
})

const readTyped = (field: FieldReader) => Object.fromEntries(ssoFields.map((name) => [name, field(name)]))

const settingValues = (found: SsoSettings | undefined) =>
  found === undefined
    ? {}
    : {
        issuer: found.issuer,
        clientId: found.clientId,
        emailDomain: found.emailDomain,
        roleClaim: found.roleClaim ?? '',
        required: found.required ? 'yes' : 'no',
        ...Object.fromEntries(ssoRoles.map((role) => [role, (found.roles?.[role] ?? []).join(', ')])),
      }

/** Returns the error text of each refused field, by its name. `form`: the error text of the whole form. */
function ssoProblems({ view }: Person, error: unknown): Readonly<Record<string, string>> {
  if (!(error instanceof Refusal)) throw error
  const { settings } = texts[view.language].signOn
  if (error.code === 'last_admin') return { form: settings.lastAdmin }
  const isProof = error.errors.some(
    ({ pointer, message }) => pointer === '/emailDomain' && /TXT|looked up/.test(message),
  )
  const own: Readonly<Record<string, string>> = {
    issuer: settings.issuerWrong,
    emailDomain: isProof ? settings.unproved : settings.domainWrong,
    clientSecret: settings.secretMissing,
    roles: settings.rolesWrong,
    roleClaim: settings.rolesWrong,
  }
  const fields = error.errors.map(({ pointer, message }) => {
    const name = pointer.split('/')[1] ?? ''
    const target = name === 'roles' ? 'roleClaim' : isProof ? 'form' : name
    return [target, own[name] ?? message] as const
  })
  return fields.length > 0 ? Object.fromEntries(fields) : { form: error.detail }
}
