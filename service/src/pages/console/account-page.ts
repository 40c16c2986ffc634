/** The pages about how a person signs in: the passkeys and the password, and a new password with its authenticator app. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { empty, hiddenField, message, table, time } from './components.ts'
import { passkeyForm } from './passkey-form.ts'
import { passwordFields, type PasswordErrors, type Totp } from './password-fields.ts'
import { connection } from './single-sign-on.ts'
import { accountTexts } from './texts/account.ts'
import { type ConsoleView, shell } from './view.ts'

type Account = {
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
  /** The time at which the account was connected with the provider. Null: it is not. Undefined: there is no provider. */
  readonly sso?: Date | null | undefined
  readonly error?: string
  /** Says what the last form did. */
  readonly confirmation?: string
}

export function accountPage(view: ConsoleView, account: Account): string {
  const t = accountTexts[view.language]
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
            ? empty({ title: t.passkeysEmpty, text: t.addPasskeyText })
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
      ${account.sso !== undefined && connection(view, { since: account.sso, action: `${view.root}account/sso` })}`,
  })
}

function passkeyTable(view: ConsoleView, { passkeys }: Account): Html {
  const t = accountTexts[view.language]
  return table({
    caption: t.passkeys,
    columns: [[t.addedAt, 'head'], t.lastUsed, t.storedIn, [view.t.actions, 'actions']],
    rows: passkeys.map(({ id, createdAt, lastUsedAt, backedUp }) => [
      time(view, createdAt),
      lastUsedAt === null ? view.t.never : time(view, lastUsedAt),
      backedUp ? t.synced : t.oneDevice,
      html`<form method="post" action="${view.root}account/passkey/remove">
        ${hiddenField('id', id)}
        <button type="submit" class="small danger">
          ${t.remove}<span class="away"> ${fill(t.passkeyOf, { time: createdAt.toISOString() })}</span>
        </button>
      </form>`,
    ]),
  })
}

function passwordState(view: ConsoleView, { passwordSince, recoveryCodesLeft }: Account): Html {
  const t = accountTexts[view.language]
  if (passwordSince === null) return html`<p>${t.passwordNone}</p>`
  const [before = '', after = ''] = fill(t.passwordSet, { count: String(recoveryCodesLeft) }).split('{time}')
  return html`<p>${before}${time(view, passwordSince)}${after}</p>`
}

type NewPassword = {
  readonly nonce: string
  readonly email: string
  readonly totp: Totp
  readonly errors?: PasswordErrors
}

export function newPasswordPage(view: ConsoleView, { nonce, email, totp, errors = {} }: NewPassword): string {
  const t = accountTexts[view.language]
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
