/** The sign-in of a person: factors, sessions, and the forms that change and end them. */
import { uuidPattern } from '../../kernel/index.ts'
import type { ResponseOf } from '@partner-payments/wire'
import { type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import type { Factors, Members } from '../../people/users/index.ts'
import { describeDevice, isRecentSignIn } from '../../people/sign-in/index.ts'
import { html, type Html } from '../html.ts'
import { hiddenField, postButton, type FieldProblems } from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { badge, browserName, emptyState, heading, message, table, time, timeText } from '../kit/parts.ts'
import { readClient, readCompletedForm, refusalTexts, page, readForm, seeOther } from '../kit/request.ts'
import { fill } from '../language.ts'
import { qrCode } from '../qr.ts'
import { passwordFields, recoveryCodesPage, type Totp } from './join.ts'
import { callOf, may, type Person, type Routes, redirectToSignIn } from './request.ts'
import { connectionPart, passkeyForm } from './sign-in.ts'
import { texts } from './texts/index.ts'

type AccountPage = {
  readonly passkeys: readonly {
    readonly id: string
    readonly createdAt: Date
    readonly lastUsedAt: Date | null
    readonly backedUp: boolean
  }[]
  readonly passwordSince: Date | null
  readonly recoveryCodesLeft: number
  readonly nonce: string
  /** PublicKeyCredentialCreationOptionsJSON. */
  readonly passkeyOptions: string
  /** When the account was connected with the provider. Null: not connected. Undefined: the partner has no provider. */
  readonly sso?: Date | null | undefined
  readonly error?: string
  /** Confirmation of the last form. */
  readonly confirmation?: string | undefined
}

export function accountPage(view: ConsoleView, account: AccountPage): string {
  const t = texts[view.language].account
  const { error, confirmation } = account
  return shell(view, {
    title: t.title,
    wide: true,
    problems: { form: error },
    main: html`${confirmation !== undefined && message('good', confirmation)}
      <h1>${t.title}</h1>
      <p class="lead">${t.lead}</p>
      <section aria-labelledby="passkeys-title">
        <h2 id="passkeys-title">${t.passkeys}</h2>
        ${
          account.passkeys.length === 0
            ? emptyState({ title: t.passkeysEmpty, text: t.addPasskeyText })
            : passkeyTable(view, account)
        }
        ${passkeyForm(view, {
          action: `${view.root}account/passkey`,
          kind: 'create',
          options: account.passkeyOptions,
          label: t.addPasskey,
          title: t.addPasskey,
          text: t.addPasskeyText,
          fields: [['nonce', account.nonce]],
        })}
      </section>
      <section aria-labelledby="password-title">
        <h2 id="password-title">${t.password}</h2>
        ${passwordState(view, account)}
        <p class="buttons">
          <a class="button" href="${view.root}account/password"
            >${account.passwordSince === null ? t.setPassword : t.changePassword}</a
          >
        </p>
      </section>
      ${account.sso !== undefined && connectionPart(view, { since: account.sso, action: `${view.root}account/sso` })}`,
  })
}

function passkeyTable(view: ConsoleView, { passkeys }: AccountPage): Html {
  const t = texts[view.language].account
  return table({
    caption: t.passkeys,
    columns: [[t.addedAt, 'head'], t.lastUsed, t.storedIn, [view.t.actions, 'actions']],
    rows: passkeys.map(({ id, createdAt, lastUsedAt, backedUp }) => [
      time(view, createdAt),
      lastUsedAt === null ? view.t.never : time(view, lastUsedAt),
      backedUp ? t.synced : t.oneDevice,
      postButton(`${view.root}account/passkey/remove`, t.remove, {
        look: 'small danger',
        about: fill(t.passkeyOf, { time: timeText(view, createdAt) }),
        hidden: { id },
      }),
    ]),
  })
}

function passwordState(view: ConsoleView, { passwordSince, recoveryCodesLeft }: AccountPage): Html {
  const t = texts[view.language].account
  if (passwordSince === null) return html`<p>${t.passwordNone}</p>`
  const [before = '', after = ''] = fill(t.passwordSet, { count: String(recoveryCodesLeft) }).split('{time}')
  return html`<p>${before}${time(view, passwordSince)}${after}</p>`
}

type NewPassword = {
  readonly nonce: string
  readonly email: string
  readonly totp: Totp
  readonly errors?: FieldProblems
}

export function newPasswordPage(view: ConsoleView, { nonce, email, totp, errors = {} }: NewPassword): string {
  const t = texts[view.language].account
  return shell(view, {
    title: t.password,
    problems: errors,
    card: true,
    main: html`<h1>${t.title}</h1>
      <h2>${t.password}</h2>
      <p>${t.passwordText}</p>
      <form method="post" action="${view.root}account/password">
        ${hiddenField('nonce', nonce)} ${passwordFields(view, { email, totp, errors })}
        <button type="submit" class="primary">${t.setPassword}</button>
      </form>`,
  })
}

type Session = {
  readonly id: string
  readonly createdAt: Date
  readonly lastUsedAt: Date
  readonly device: string
  readonly ip: string
  readonly isCurrent: boolean
  readonly expiresAt: Date
}

type SupportSession = Pick<ResponseOf<'getServiceAccount'>, 'serviceAccountId' | 'name' | 'createdAt' | 'expiresAt'>

type Sessions = {
  readonly sessions: readonly Session[]
  /** Open sessions of the operator's staff. */
  readonly support: readonly SupportSession[]
  readonly mayEnd: boolean
}

export function sessionsPage(view: ConsoleView, { sessions, support, mayEnd }: Sessions): string {
  const { t, root } = view
  const hasOthers = sessions.some(({ isCurrent }) => !isCurrent)
  return shell(view, {
    title: t.sessions,
    wide: true,
    main: html`${heading(t.sessions, hasOthers && postButton(`${root}sessions/end-others`, t.endOthers))}
      <p class="lead">${t.sessionsText}</p>
      ${table({
        caption: t.sessions,
        columns: [[t.device, 'head'], t.address, t.signedInAt, t.lastUsed, t.endsAt, [t.actions, 'actions']],
        rows: sessions.map((session) => sessionRow(view, session)),
      })}
      ${support.length > 0 && supportTable(view, support, mayEnd)}`,
  })
}

function supportTable(view: ConsoleView, support: readonly SupportSession[], mayEnd: boolean): Html {
  const s = texts[view.language].support
  const end = ({ serviceAccountId, name }: SupportSession) =>
    postButton(`${view.root}service-accounts/${serviceAccountId}/revoke`, s.endOne, {
      look: 'small danger',
      about: name,
    })
  return html`<h2>${s.sessions}</h2>
    <p>${s.sessionsText}</p>
    ${table({
      caption: s.sessions,
      columns: [[s.staff, 'head'], s.begun, s.ends, ...(mayEnd ? [[s.actions, 'actions'] as const] : [])],
      rows: support.map((session) => [
        html`<span class="name">${session.name}</span>`,
        time(view, session.createdAt),
        session.expiresAt === null ? '' : time(view, session.expiresAt),
        ...(mayEnd ? [end(session)] : []),
      ]),
    })}`
}

function sessionRow(view: ConsoleView, { id, createdAt, lastUsedAt, device, ip, isCurrent, expiresAt }: Session) {
  const { t, root } = view
  const about = fill(t.ofDevice, { device: describeDevice(device, t.deviceWords), ip })
  return [
    html`<span class="name">${browserName(view, device)}</span> ${isCurrent && badge('good', t.thisSession)}`,
    html`<span class="address free">${ip}</span>`,
    time(view, createdAt),
    time(view, lastUsedAt),
    time(view, expiresAt),
    isCurrent
      ? postButton(`${root}sign-out`, t.signOut, { look: 'small', about })
      : postButton(`${root}sessions/end`, t.endSession, { look: 'small danger', about, hidden: { id } }),
  ]
}

type Handle = (request: PublicRequest, person: Person) => Promise<PublicAnswer>

export const accountRoutes: Routes = ({ factors, clock, members, withPerson }) => {
  const recent =
    (handle: Handle): PublicRoute['handle'] =>
    (request) =>
      withPerson(request, async (person) => {
        const isRecent = isRecentSignIn(person.session.createdAt, clock.now())
        return isRecent ? handle(request, person) : redirectToSignIn(request, 'account')
      })
  const { show, showPassword } = createAccountPages(factors, members)
  return [
    { method: 'GET', path: '/console/account', handle: recent((request, person) => show(request, person)) },
    {
      method: 'POST',
      path: '/console/account/passkey',
      handle: recent(async (request, person) => {
        const form = readForm(request)
        const t = texts[person.view.language].account
        try {
          const given = { kind: 'passkey', credential: form('credential') } as const
          await factors.add(person, form('nonce'), given, readClient(request))
          return seeOther('../account?done=added')
        } catch (error) {
          return show(request, person, { error: refusesField(error, '/nonce') ? t.pageOver : t.passkeyRefused })
        }
      }),
    },
    {
      method: 'POST',
      path: '/console/account/passkey/remove',
      handle: recent(async (request, person) => {
        try {
          await factors.removePasskey(person, readForm(request)('id'), readClient(request))
          return seeOther('../../account?done=removed')
        } catch (error) {
          if (!refusesField(error, '/id')) throw error
          return show(request, person, { error: texts[person.view.language].account.lastFactor })
        }
      }),
    },
    {
      method: 'GET',
      path: '/console/account/password',
      handle: recent((request, person) => showPassword(request, person)),
    },
    {
      method: 'POST',
      path: '/console/account/password',
      handle: recent(async (request, person) => {
        const form = readForm(request)
        try {
          const given = { kind: 'password', password: form('password'), code: form('code') } as const
          const codes = await factors.add(person, form('nonce'), given, readClient(request))
          return page(request, 200, recoveryCodesPage({ ...person.view, current: 'account' }, { codes }))
        } catch (error) {
          const isOver = refusesField(error, '/nonce')
          const errors = isOver
            ? { form: texts[person.view.language].account.pageOver }
            : refusalTexts(person.view.t, error)
          return showPassword(request, person, form('nonce'), errors)
        }
      }),
    },
  ]
}

function createAccountPages(factors: Factors, { singleSignOn }: Pick<Members, 'singleSignOn'>) {
  const show = async (request: PublicRequest, person: Person, said: { error?: string } = {}) => {
    const t = texts[person.view.language].account
    const { passkeyOptions, nonce } = await factors.enrolment(person)
    const done = readCompletedForm(request, ['added', 'removed'])
    const shown = {
      ...(await factors.list(person)),
      passkeyOptions,
      nonce,
      sso: await singleSignOn.connectedSince(person),
      confirmation: done && { added: t.passkeyAdded, removed: t.passkeyRemoved }[done],
      ...said,
    }
    const body = accountPage({ ...person.view, current: 'account' }, shown)
    return page(request, said.error === undefined ? 200 : 400, body)
  }
  const showPassword = async (request: PublicRequest, person: Person, nonce?: string, errors?: FieldProblems) => {
    const { view, user } = person
    const again = nonce === undefined ? undefined : await factors.enrolmentAgain(person, nonce)
    const enrolment = again ?? (await factors.enrolment(person))
    const totp = { secret: enrolment.totpSecret, qrSvg: qrCode(enrolment.totpUri, view.t.qrLabel) }
    const shown = { nonce: enrolment.nonce, email: user.email, totp, ...(errors && { errors }) }
    return page(request, errors === undefined ? 200 : 400, newPasswordPage({ ...view, current: 'account' }, shown))
  }
  return { show, showPassword }
}

/** Reports whether a refusal concerns this field. Throws every other error. */
function refusesField(error: unknown, pointer: string): boolean {
  if (!(error instanceof Refusal)) throw error
  return error.errors.some((refused) => refused.pointer === pointer)
}

export const sessionRoutes: Routes = ({ signIn, operate, withPerson }) => [
  {
    method: 'GET',
    path: '/console/sessions',
    handle: (request) =>
      withPerson(request, async (person) => {
        const { session, view, caller } = person
        const { id: ownId, partnerId, memberId } = session
        const sessions = (await signIn.sessions(partnerId, memberId)).map(({ userAgent, ...session }) => ({
          ...session,
          device: userAgent,
          isCurrent: session.id === ownId,
        }))
        const call = { ...callOf(person, request), query: 'status=Active&limit=100' }
        const accounts = may(person, 'users:read') ? (await operate('listServiceAccounts', call)).data : []
        const support = accounts.filter(({ impersonation }) => impersonation)
        const mayEnd = caller.impersonatedBy === undefined && may(person, 'users:write')
        return page(request, 200, sessionsPage({ ...view, current: 'sessions' }, { sessions, support, mayEnd }))
      }),
  },
  {
    method: 'POST',
    path: '/console/sessions/end',
    handle: (request) =>
      withPerson(request, async ({ session: { partnerId, memberId } }) => {
        const id = readForm(request)('id')
        if (uuidPattern.test(id)) await signIn.end(partnerId, memberId, id)
        return seeOther('../sessions')
      }),
  },
  {
    method: 'POST',
    path: '/console/sessions/end-others',
    handle: (request) =>
      withPerson(request, async ({ session: { id, partnerId, memberId } }) => {
        await signIn.endOthers(partnerId, memberId, id)
        return seeOther('../sessions')
      }),
  },
]
