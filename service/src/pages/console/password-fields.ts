/** The fields of a new password and its authenticator app. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { copyButton, field } from './components.ts'
import type { ConsoleView } from './view.ts'

/** The service checks the same length. */
export const passwordCharsMin = 12

/** `secret` in base32. */
export type Totp = { readonly secret: string; readonly qrSvg: Html }

export type PasswordErrors = { readonly password?: string; readonly code?: string; readonly form?: string }

const inFours = (text: string): string => text.replaceAll(/(.{4})(?=.)/g, '$1 ')

type Given = { readonly email: string; readonly totp: Totp; readonly errors: PasswordErrors }

export function passwordFields(view: ConsoleView, { email, totp, errors }: Given): Html {
  const { t } = view
  return html`${field({ id: 'email', label: t.email, type: 'email', value: email, more: html`readonly autocomplete="username"` })}
    ${field({
      id: 'password',
      name: 'password',
      type: 'password',
      label: t.password,
      help: fill(t.passwordHelp, { count: String(passwordCharsMin) }),
      error: errors.password,
      more: html`autocomplete="new-password" minlength="${passwordCharsMin}" maxlength="1000"`,
    })}
    <div class="scan">
      ${totp.qrSvg}
      <div>
        <h3>${t.scanTitle}</h3>
        <p>${t.scanText}</p>
        <p>
          <code class="secret" id="secret">${inFours(totp.secret)}</code>
          ${copyButton(view, totp.secret, t.secret)}
        </p>
      </div>
    </div>
    ${field({
      id: 'code',
      name: 'code',
      label: t.code,
      help: t.codeHelp,
      error: errors.code,
      more: html`class="code" autocomplete="one-time-code" inputmode="numeric" pattern="[0-9 ]*" maxlength="7"
      spellcheck="false"`,
    })}`
}
