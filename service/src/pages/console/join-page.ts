/** The page of an invitation: join with a passkey, or with a password and an authenticator app. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { hiddenField, time } from './components.ts'
import { passkeyForm } from './passkey-form.ts'
import { passwordFields, type PasswordErrors, type Totp } from './password-fields.ts'
import { signOnWay } from './single-sign-on.ts'
import { type ConsoleView, roleOf, type RoleName, shell } from './view.ts'

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
  readonly errors?: PasswordErrors
  /** True if the provider of the organisation signs people in. */
  readonly sso?: boolean
  /** The link of a recovery: its person is a member. */
  readonly isRecovery?: boolean
}

export function joinPage(view: ConsoleView, invitation: Invitation): string {
  const { t, root } = view
  const { partnerName, errors = {}, token } = invitation
  const title = fill(invitation.isRecovery === true ? t.recoverTitle : t.joinTitle, { partner: partnerName })
  const path = pathOf(invitation)
  return shell(view, {
    title,
    problems: errors,
    card: true,
    main: html`<h1>${title}</h1>
      ${facts(view, invitation)}
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
        signOnWay(view, { href: `${root}join/sso?token=${encodeURIComponent(token)}`, label: 'join' })
      }
      ${passwordWay(view, invitation)}`,
  })
}

const pathOf = ({ isRecovery }: Invitation) => (isRecovery === true ? 'recover' : 'join')

function facts(
  view: ConsoleView,
  { isRecovery, invitedByName, fullName, email, roleName, expiresAt }: Invitation,
): Html {
  const { t } = view
  return html`<p class="lead">
      ${fill(isRecovery === true ? t.recoverLead : t.joinInvited, { inviter: invitedByName })}
    </p>
    <dl class="facts">
      <div>
        <dt>${t.name}</dt>
        <dd>${fullName}</dd>
      </div>
      <div>
        <dt>${t.email}</dt>
        <dd>${email}</dd>
      </div>
      <div>
        <dt>${t.role}</dt>
        <dd>${roleOf(view, roleName)}</dd>
      </div>
      <div>
        <dt>${t.validUntil}</dt>
        <dd>${time(view, expiresAt)}</dd>
      </div>
    </dl>`
}

function passwordWay(view: ConsoleView, invitation: Invitation): Html {
  const { t, root } = view
  const { token, email, totp, errors = {} } = invitation
  return html`<section class="way" aria-labelledby="password-title">
    <h2 id="password-title">${t.joinPassword}</h2>
    <p>${t.joinPasswordText}</p>
    <form method="post" action="${root}${pathOf(invitation)}/password">
      ${hiddenField('token', token)} ${passwordFields(view, { email, totp, errors })}
      <button type="submit">${invitation.isRecovery === true ? t.recoverPassword : t.joinWithPassword}</button>
    </form>
  </section>`
}
