/** The routes of single sign-on: setting the provider, and the way of people to it and back. */
import type { ResponseOf } from '@partner-payments/wire'
import {
  notFound,
  type PublicAnswer,
  type PublicRequest,
  type PublicRoute,
  readCookie,
  Refusal,
  sessionCookie,
} from '../../kernel/api/index.ts'
import { isRecentSignIn } from '../../people/sign-in/index.ts'
import { consoleMessage } from './message-page.ts'
import {
  browserOf,
  type Form,
  type Frame,
  nextOf,
  page,
  type Person,
  readForm,
  type Routes,
  seeOther,
  signedInCookies,
  signInAgain,
  uuid,
  viewOf,
} from './request.ts'
import { attemptOf, failedPage, onToProvider, toProvider } from './single-sign-on.ts'
import { ssoFields, ssoPage, ssoRoles } from './sso-page.ts'
import { signOnTexts } from './texts/single-sign-on.ts'

export const ssoRoutes: Routes = (frame, withPerson) => [
  ...wayRoutes(frame, withPerson),
  ...settingRoutes(frame, withPerson),
]

const isRecent = ({ clock }: Frame, { session }: Person): boolean => isRecentSignIn(session.createdAt, clock.now())

function wayRoutes(frame: Frame, withPerson: Parameters<Routes>[1]): readonly PublicRoute[] {
  const { singleSignOn } = frame.members
  const tried = async (request: PublicRequest, work: () => Promise<PublicAnswer>): Promise<PublicAnswer> => {
    try {
      return await work()
    } catch (error) {
      return failedPage(request, viewOf(frame, request), error)
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
        if (!uuid.test(partnerId)) return seeOther('../sign-in')
        const next = nextOf(query.get('next') ?? undefined)
        return tried(request, async () => toProvider(await singleSignOn.begin({ kind: 'sign in', partnerId, next })))
      },
    },
    {
      method: 'GET',
      path: '/console/join/sso',
      callsChosenHost: true,
      handle: (request) => {
        const token = new URLSearchParams(request.query).get('token') ?? ''
        return tried(request, async () => toProvider(await singleSignOn.begin({ kind: 'join', token })))
      },
    },
    {
      method: 'POST',
      path: '/console/account/sso',
      callsChosenHost: true,
      handle: (request) =>
        withPerson(request, (person) =>
          isRecent(frame, person)
            ? tried(request, async () =>
                onToProvider(request, person.view, await singleSignOn.begin({ kind: 'connect', signed: person })),
              )
            : signInAgain(request, 'account'),
        ),
    },
    {
      method: 'GET',
      path: '/console/sso/{partnerId}',
      callsChosenHost: true,
      handle: (request) =>
        tried(request, async () => {
          const { partnerId = '' } = request.params
          if (!uuid.test(partnerId)) return seeOther('../sign-in')
          const session = readCookie(request.headers['cookie'], sessionCookie)
          const found = session === undefined ? undefined : await frame.members.signedIn(session)
          const signed = found?.support === undefined ? found : undefined
          const given = { attempt: attemptOf(request), query: request.query, signed }
          const browser = browserOf(request)
          const { kind, token, next } = await singleSignOn.finish(partnerId, given, browser)
          if (token !== undefined) return seeOther(`../${nextOf(next)}`, ...signedInCookies(token, browser))
          const view = viewOf(frame, request)
          const s = signOnTexts[view.language]
          const action = { href: `${view.root}account`, label: s.leadsOn }
          return kind === 'connect'
            ? page(request, 200, consoleMessage(view, s.connectedNow, s.text, action))
            : seeOther('../sign-in')
        }),
    },
  ]
}

type Settings = ResponseOf<'getSingleSignOn'>

function settingRoutes(frame: Frame, withPerson: Parameters<Routes>[1]): readonly PublicRoute[] {
  const { operate } = frame
  const { singleSignOn } = frame.members
  const callOf = ({ caller }: Person, { requestId, ip }: PublicRequest) => ({ caller, requestId, ip })
  const read = async (request: PublicRequest, person: Person): Promise<Settings | undefined> => {
    try {
      return await operate('getSingleSignOn', callOf(person, request))
    } catch (error) {
      if (error instanceof Refusal && error.code === 'not_found') return undefined
      throw error
    }
  }
  const show = async (request: PublicRequest, person: Person, errors?: Readonly<Record<string, string>>) => {
    const found = await read(request, person)
    const { settings } = signOnTexts[person.view.language]
    const done = new URLSearchParams(request.query).get('done')
    const confirmation = doneForms.find((each) => each === done)
    const waiting = await singleSignOn.waiting(person.caller.partnerId)
    const body = ssoPage(
      { ...person.view, current: 'team' },
      {
        ...(found && { current: currentOf(found) }),
        waiting: waiting && { ...waiting, by: waiting.proposedByName, isOwn: waiting.proposedBy === person.user.id },
        values: errors === undefined || request.body.length === 0 ? valuesOf(found) : typedIn(readForm(request)),
        may: { write: person.caller.permissions.includes('users:write') },
        errors,
        confirmation: confirmation && settings[confirmation],
      },
    )
    return page(request, errors === undefined ? 200 : 400, body)
  }
  const form = (
    path: '' | '/domain' | '/remove' | '/confirm' | '/reject',
    done: Done,
    act: (field: Form, call: ReturnType<typeof callOf>, person: Person) => Promise<unknown>,
  ): PublicRoute => ({
    method: 'POST',
    path: `/console/team/single-sign-on${path}`,
    ...(path === '/domain' && { callsChosenHost: true }),
    handle: (request) =>
      withPerson(request, async (person) => {
        if (!isRecent(frame, person)) return signInAgain(request, 'team/single-sign-on')
        try {
          await act(readForm(request), callOf(person, request), person)
          const waiting = done === 'saved' ? await singleSignOn.waiting(person.caller.partnerId) : undefined
          const shown = waiting?.proposedBy === person.user.id ? 'proposed' : done
          return seeOther(`${person.view.root}team/single-sign-on?done=${shown}`)
        } catch (error) {
          return show(request, person, errorsOf(person, error))
        }
      }),
  })
  return [
    {
      method: 'GET',
      path: '/console/team/single-sign-on',
      handle: (request) => withPerson(request, (person) => show(request, person)),
    },
    form('', 'saved', (field, call) => operate('setSingleSignOn', { ...call, body: bodyOf(field) })),
    form('/domain', 'proved', (_field, call) => operate('proveSingleSignOnDomain', call)),
    form('/remove', 'removed', (_field, call) => operate('removeSingleSignOn', call)),
    form('/confirm', 'confirmed', (field, { ip }, person) => singleSignOn.confirm(person, changeIdOf(field), ip)),
    form('/reject', 'rejected', (field, { ip }, person) => singleSignOn.reject(person, changeIdOf(field), ip)),
  ]
}

const doneForms = ['saved', 'proposed', 'confirmed', 'rejected', 'proved', 'removed'] as const
type Done = (typeof doneForms)[number]

function changeIdOf(field: Form): string {
  const id = field('id')
  if (!uuid.test(id)) throw notFound('change of the single sign-on')
  return id
}

const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')

function bodyOf(field: Form) {
  const roles = ssoRoles.map((role) => [role, listOf(field(role))] as const).filter(([, values]) => values.length > 0)
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

const currentOf = ({ redirectUri, domainRecord, domainProvedAt }: Settings) => ({
  redirectUri,
  domainRecord,
  domainProvedAt: domainProvedAt === null ? null : new Date(domainProvedAt),
})

const typedIn = (field: Form) => Object.fromEntries(ssoFields.map((name) => [name, field(name)]))

const valuesOf = (found: Settings | undefined) =>
  found === undefined
    ? {}
    : {
        ...{ issuer: found.issuer, clientId: found.clientId, emailDomain: found.emailDomain },
        ...{ roleClaim: found.roleClaim ?? '', required: found.required ? 'yes' : 'no' },
        ...Object.fromEntries(ssoRoles.map((role) => [role, (found.roles?.[role] ?? []).join(', ')])),
      }

/** Returns the text of each field's refusal, by its name. `form`: a refusal of the form as a whole. */
function errorsOf({ view }: Person, error: unknown): Readonly<Record<string, string>> {
  if (!(error instanceof Refusal)) throw error
  const { settings } = signOnTexts[view.language]
  if (error.code === 'last_admin') return { form: settings.lastAdmin }
  const isProof = error.errors.some(
    ({ pointer, message }) => pointer === '/emailDomain' && /TXT|looked up/.test(message),
  )
  const texts: Readonly<Record<string, string>> = {
    issuer: settings.issuerWrong,
    emailDomain: isProof ? settings.unproved : settings.domainWrong,
    clientSecret: settings.secretMissing,
    roles: settings.rolesWrong,
    roleClaim: settings.rolesWrong,
  }
  const fields = error.errors.map(({ pointer, message }) => {
    const name = pointer.split('/')[1] ?? ''
    const target = name === 'roles' ? 'roleClaim' : isProof ? 'form' : name
    return [target, texts[name] ?? message] as const
  })
  return fields.length > 0 ? Object.fromEntries(fields) : { form: error.detail }
}
