/** Joining a team: an invitation, the first Admin, or a recovery, each with a new passkey or password. */
import { permissions, emailCharsMax, nameCharsMax } from '@partner-payments/wire'
import {
  type PublicAnswer,
  type PublicRequest,
  type PublicRoute,
  linkPartnerId,
  Refusal,
} from '../../kernel/api/index.ts'
import type { CancellableRecovery, Members } from '../../people/users/index.ts'
import type { FactorInput } from '../../people/sign-in/index.ts'
import { html, type Html } from '../html.ts'
import { emptyForm, field, hiddenField, input, inputs, type FieldProblems, type FormState } from '../kit/forms.ts'
import { consoleMessagePage, type ConsoleView, type RoleName, roleLabel, shell } from '../kit/frame.ts'
import { copyButton, facts, time } from '../kit/parts.ts'
import {
  readBrowser,
  readClient,
  codeCharsMax,
  refusalTexts,
  type FieldReader,
  page,
  passwordCharsMax,
  passwordCharsMin,
  readForm,
  seeOther,
  pageStatus,
  readValues,
} from '../kit/request.ts'
import { fill } from '../language.ts'
import { qrCode } from '../qr.ts'
import { type Frame, partnerCookieFor, signedInCookies, createView } from './request.ts'
import { passkeyForm, signOnError, signOnLink } from './sign-in.ts'
import { texts } from './texts/index.ts'

/** `secret` in base32. */
export type Totp = { readonly secret: string; readonly qrSvg: Html }

const groupInFours = (text: string): string => text.replaceAll(/(.{4})(?=.)/g, '$1 ')

type NewPassword = { readonly email: string; readonly totp: Totp; readonly errors: FieldProblems }

export function passwordFields(view: ConsoleView, { email, totp, errors }: NewPassword): Html {
  const { t } = view
  const typed = { values: {}, problems: errors }
  // The browser stores the password with the address, and does not send the address.
  return html`${field({ id: 'email', label: t.email, type: 'email', value: email, more: html`readonly autocomplete="username"` })}
    ${input(view, typed, {
      name: 'password',
      type: 'password',
      label: t.password,
      help: fill(t.passwordHelp, { count: String(passwordCharsMin) }),
      autocomplete: 'new-password',
      charsMax: passwordCharsMax,
      more: html`minlength="${passwordCharsMin}"`,
    })}
    <div class="scan">
      ${totp.qrSvg}
      <div>
        <h3>${t.scanTitle}</h3>
        <p>${t.scanText}</p>
        <p>
          <code class="secret" id="secret">${groupInFours(totp.secret)}</code>
          ${copyButton(view, totp.secret, t.secret)}
        </p>
      </div>
    </div>
    ${input(view, typed, {
      name: 'code',
      label: t.code,
      help: t.codeHelp,
      autocomplete: 'one-time-code',
      keys: 'numeric',
      charsMax: codeCharsMax,
      more: html`class="code" pattern="[0-9 ]*" spellcheck="false"`,
    })}`
}

export function recoveryCodesPage(view: ConsoleView, { codes }: { readonly codes: readonly string[] }): string {
  const { t, root, person } = view
  return shell(view, {
    title: t.recoveryCodes,
    card: true,
    main: html`<h1>${t.recoveryCodes}</h1>
      ${person !== undefined && html`<p class="lead">${person.partnerName}, ${person.email}</p>`}
      <p class="message warning">${t.recoveryCodesOnce}</p>
      <p>${t.recoveryCodesText}</p>
      <ol class="codes" aria-label="${t.recoveryCodes}">
        ${codes.map((code) => html`<li><code>${code}</code></li> `)}
      </ol>
      <div class="buttons">
        <a class="button primary" href="${root}home">${t.continue}</a>
        ${copyButton(view, codes.join('\n'), t.recoveryCodes)}
      </div>`,
  })
}

type Invitation = {
  readonly token: string
  readonly partnerName: string
  readonly fullName: string
  readonly email: string
  readonly roleName: RoleName | Html
  readonly invitedByName: string
  readonly expiresAt: Date
  readonly totp: Totp
  /** PublicKeyCredentialCreationOptionsJSON. */
  readonly passkeyOptions: string
  readonly errors?: FieldProblems
  /** True if people sign in at the provider of the organisation. */
  readonly sso?: boolean
  /** True for a recovery link. Its person is already a member. */
  readonly isRecovery?: boolean
}

export function joinPage(view: ConsoleView, invitation: Invitation): string {
  const { t, root } = view
  const { partnerName, errors = {}, token } = invitation
  const title = fill(invitation.isRecovery === true ? t.recoverTitle : t.joinTitle, { partner: partnerName })
  const path = invitationPath(invitation)
  return shell(view, {
    title,
    problems: errors,
    card: true,
    main: html`<h1>${title}</h1>
      ${invitationFacts(view, invitation)}
      ${passkeyForm(view, {
        action: `${root}${path}/passkey`,
        kind: 'create',
        options: invitation.passkeyOptions,
        label: invitation.isRecovery === true ? t.recoverPasskey : t.createPasskey,
        title: t.joinPasskey,
        text: t.joinPasskeyText,
        fields: [['token', token]],
      })}
      ${
        invitation.sso === true &&
        signOnLink(view, { href: `${root}join/sso?token=${encodeURIComponent(token)}`, label: 'join' })
      }
      ${passwordWay(view, invitation)}`,
  })
}

const invitationPath = ({ isRecovery }: Invitation) => (isRecovery === true ? 'recover' : 'join')

function invitationFacts(view: ConsoleView, invitation: Invitation): Html {
  const { t } = view
  const { isRecovery, invitedByName, fullName, email, roleName, expiresAt } = invitation
  return html`<p class="lead">
      ${fill(isRecovery === true ? t.recoverLead : t.joinInvited, { inviter: invitedByName })}
    </p>
    ${facts([
      [t.name, fullName],
      [t.email, email],
      [t.role, roleLabel(view, roleName)],
      [t.validUntil, time(view, expiresAt)],
    ])}`
}

function passwordWay(view: ConsoleView, invitation: Invitation): Html {
  const { t, root } = view
  const { token, email, totp, errors = {} } = invitation
  return html`<section class="way" aria-labelledby="password-title">
    <h2 id="password-title">${t.joinPassword}</h2>
    <p>${t.joinPasswordText}</p>
    <form method="post" action="${root}${invitationPath(invitation)}/password">
      ${hiddenField('token', token)} ${passwordFields(view, { email, totp, errors })}
      <button type="submit">${invitation.isRecovery === true ? t.recoverPassword : t.joinWithPassword}</button>
    </form>
  </section>`
}

function cancelRecoveryPage(view: ConsoleView, shown: CancellableRecovery & { readonly token: string }): string {
  const { t, root } = view
  const { token, begunByName: by, fullName: person, email, partnerName: partner, reason, dueAt } = shown
  return shell(view, {
    title: t.cancelRecovery,
    card: true,
    main: html`<h1>${t.cancelRecovery}</h1>
      <p class="lead">${fill(t.cancelRecoveryText, { by, person, partner })}</p>
      ${facts([
        [t.name, person],
        [t.email, email],
        [t.cancelRecoveryReason, reason],
        [t.cancelRecoveryDue, dueAt === null ? undefined : time(view, dueAt)],
      ])}
      <form method="post" action="${root}recover/cancel">
        ${hiddenField('token', token)}
        <button type="submit" class="primary danger">${t.cancelRecoverySubmit}</button>
      </form>`,
  })
}

type FirstAdmin = FormState & { readonly token: string; readonly partnerName: string }

export function firstAdminPage(view: ConsoleView, { token, partnerName, values, problems }: FirstAdmin): string {
  const t = texts[view.language].firstAdmin
  return shell(view, {
    title: fill(t.title, { partner: partnerName }),
    problems,
    card: true,
    main: html`<h1>${fill(t.title, { partner: partnerName })}</h1>
      <p class="lead">${t.lead}</p>
      <form method="post" action="${view.root}first-admin">
        ${hiddenField('token', token)}
        ${inputs(view, { values, problems }, [
          { name: 'fullName', label: view.t.fullName, autocomplete: 'name', charsMax: nameCharsMax },
          { name: 'email', label: view.t.email, type: 'email', autocomplete: 'username', charsMax: emailCharsMax },
        ])}
        <div class="buttons"><button type="submit" class="primary">${view.t.continue}</button></div>
      </form>`,
  })
}

const readToken = ({ query }: PublicRequest) => new URLSearchParams(query).get('token') ?? ''

type ShowPage = (request: PublicRequest, token: string, problems?: FieldProblems) => Promise<PublicAnswer>

/** Creates the routes that set a passkey or a password and sign the person in. A refusal shows the page again. */
function factorRoutes(
  frame: Frame,
  way: 'join' | 'recover',
  complete: Members['join'],
  show: ShowPage,
): readonly PublicRoute[] {
  const route = (kind: FactorInput['kind'], read: (form: FieldReader) => FactorInput): PublicRoute => ({
    method: 'POST',
    path: `/console/${way}/${kind}`,
    handle: async (request): Promise<PublicAnswer> => {
      const form = readForm(request)
      try {
        const browser = readBrowser(request)
        const { token, recoveryCodes: codes } = await complete(form('token'), read(form), browser)
        const cookies = signedInCookies(token, browser)
        if (codes.length === 0) return seeOther('../home', ...cookies)
        return page(request, 200, recoveryCodesPage(createView(frame, request), { codes }), ...cookies)
      } catch (error) {
        if (error instanceof Refusal && error.code === 'not_found') throw error
        const view = createView(frame, request)
        return show(request, form('token'), signOnError(view, error) ?? refusalTexts(view.t, error))
      }
    },
  })
  return [
    { method: 'GET', path: `/console/${way}`, handle: (request) => show(request, readToken(request)) },
    route('passkey', (form) => ({ kind: 'passkey', credential: form('credential') })),
    route('password', (form) => ({ kind: 'password', password: form('password'), code: form('code') })),
  ]
}

export function joinRoutes(frame: Frame): readonly PublicRoute[] {
  const { members } = frame
  const show: ShowPage = async (request, token, errors = {}) => {
    const view = createView(frame, request)
    const invitation = await members.openInvitation(token)
    const { totpSecret, totpUri, passkeyOptions, role: roleName, partnerId, ...shown } = invitation
    const sso = await members.singleSignOn.isOn(partnerId)
    const totp = { secret: totpSecret, qrSvg: qrCode(totpUri, view.t.qrLabel) }
    const body = joinPage(view, { ...shown, token, roleName, totp, passkeyOptions, errors, sso })
    return page(request, pageStatus(errors), body, partnerCookieFor(linkPartnerId(token) ?? ''))
  }
  return factorRoutes(frame, 'join', members.join, show)
}

export function recoverRoutes(frame: Frame): readonly PublicRoute[] {
  const { recoveries } = frame.members
  const show: ShowPage = async (request, token, errors = {}) => {
    const view = createView(frame, request)
    const { totpSecret, totpUri, role: roleName, begunByName: invitedByName, ...shown } = await recoveries.opened(token)
    const totp = { secret: totpSecret, qrSvg: qrCode(totpUri, view.t.qrLabel) }
    const body = joinPage(view, { ...shown, token, roleName, totp, errors, invitedByName, isRecovery: true })
    return page(request, pageStatus(errors), body, partnerCookieFor(linkPartnerId(token) ?? ''))
  }
  return [
    ...factorRoutes(frame, 'recover', recoveries.complete, show),
    {
      method: 'GET',
      path: '/console/recover/cancel',
      handle: async (request) => {
        const token = readToken(request)
        const shown = await recoveries.cancellable(token)
        return page(request, 200, cancelRecoveryPage(createView(frame, request), { ...shown, token }))
      },
    },
    {
      method: 'POST',
      path: '/console/recover/cancel',
      handle: async (request) => {
        await recoveries.cancel(readForm(request)('token'), readClient(request))
        const view = createView(frame, request)
        return page(request, 200, consoleMessagePage(view, view.t.recoveryCancelled, view.t.recoveryCancelledText))
      },
    },
  ]
}

export function firstAdminRoutes(frame: Frame): readonly PublicRoute[] {
  const { firstAdmin, operate } = frame
  const show = async (request: PublicRequest, token: string, typed: FormState = emptyForm): Promise<PublicAnswer> => {
    const { partnerName } = await firstAdmin.partnerOf(token)
    const body = firstAdminPage(createView(frame, request), { ...typed, token, partnerName })
    return page(request, pageStatus(typed.problems), body)
  }
  const invite = async ({ requestId, ip }: PublicRequest, form: FieldReader): Promise<string> => {
    const { partnerId, partnerName: name } = await firstAdmin.partnerOf(form('token'))
    const email = form('email').trim()
    const caller = { partnerId, serviceAccountId: partnerId, name, permissions }
    const invitations = [{ email, fullName: form('fullName').trim(), role: 'Admin' }]
    // The form may be sent twice: then the address already has its invitation.
    await operate('createInvitations', { caller, requestId, ip, body: { invitations } }).catch((error: unknown) => {
      if (!(error instanceof Refusal) || !error.errors.every(({ code }) => code === 'exists')) throw error
    })
    return firstAdmin.invitationOf(form('token'), email)
  }
  return [
    {
      method: 'GET',
      path: '/console/first-admin',
      handle: (request) => show(request, readToken(request)),
    },
    {
      method: 'POST',
      path: '/console/first-admin',
      handle: async (request) => {
        const form = readForm(request)
        try {
          return seeOther(`join?token=${encodeURIComponent(await invite(request, form))}`)
        } catch (error) {
          if (error instanceof Refusal && error.code === 'not_found') throw error
          const problems = refusalTexts(createView(frame, request).t, error)
          return show(request, form('token'), { values: readValues(form, ['fullName', 'email']), problems })
        }
      },
    },
  ]
}
