/** The pages of signing in: with a passkey or a password, and the page that mails a person the links of their businesses. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { field, hiddenField, message } from './components.ts'
import { passkeyForm } from './passkey-form.ts'
import { signOnWay } from './single-sign-on.ts'
import { type ConsoleView, shell } from './view.ts'

type SignIn = {
  /** Absent: the page of staff, who belong to no partner. */
  readonly partner?: string
  readonly partnerName?: string
  /** PublicKeyCredentialRequestOptionsJSON. */
  readonly passkeyOptions: string
  readonly email?: string
  /** Never says which of the factors failed, nor whether the address is known. */
  readonly error?: string
  /** True if the provider of the organisation signs people in. */
  readonly sso?: boolean
  /** The page that the person wanted. */
  readonly next?: string
}

export function signInPage(view: ConsoleView, given: SignIn): string {
  const { t, root } = view
  const { partner, partnerName, error, next } = given
  const kept = [
    ...(partner === undefined ? [] : [['partner', partner] as const]),
    ...(next === undefined ? [] : [['next', next] as const]),
  ]
  const title = partnerName === undefined ? t.signIn : fill(t.signInTo, { partner: partnerName })
  return shell(view, {
    title,
    problems: { form: error },
    card: true,
    main: html`<h1>${title}</h1>
      ${passkeyForm(view, {
        action: `${root}sign-in/passkey`,
        kind: 'get',
        options: given.passkeyOptions,
        label: t.usePasskey,
        title: t.signInPasskey,
        text: t.signInPasskeyText,
        fields: kept,
      })}
      ${given.sso === true && signOnWay(view, { href: `${root}sign-in/sso${queryOf(kept)}`, label: 'signIn' })}
      ${passwordWay(view, given, kept)}
      ${partner !== undefined && html`<p class="foot"><a href="${root}sign-in">${t.otherPartner}</a></p>`}`,
  })
}

const queryOf = (kept: readonly (readonly [string, string])[]): string =>
  kept.length === 0 ? '' : `?${new URLSearchParams(kept.map(([name, value]) => [name, value])).toString()}`

function passwordWay({ t, root }: ConsoleView, { email }: SignIn, kept: readonly (readonly [string, string])[]): Html {
  return html`<section class="way" aria-labelledby="password-title">
    <h2 id="password-title">${t.signInPassword}</h2>
    <form method="post" action="${root}sign-in/password">
      ${kept.map(([name, value]) => hiddenField(name, value))}
      ${field({
        id: 'email',
        name: 'email',
        type: 'email',
        label: t.email,
        more: html`autocomplete="username" maxlength="254"`,
        ...(email === undefined ? {} : { value: email }),
      })}
      ${field({
        id: 'password',
        name: 'password',
        type: 'password',
        label: t.password,
        more: html`autocomplete="current-password" maxlength="1000"`,
      })}
      ${field({
        id: 'code',
        name: 'code',
        label: t.code,
        help: t.codeOrRecovery,
        more: html`class="code" autocomplete="one-time-code" autocapitalize="none" spellcheck="false" maxlength="64"`,
      })}
      <button type="submit">${t.signIn}</button>
    </form>
    <details class="help-more">
      <summary>${t.lostFactor}</summary>
      <p>${t.lostFactorText}</p>
    </details>
  </section>`
}

/** Gives the same answer for every address, so that it does not say who has an account. */
export function findPartnerPage(view: ConsoleView, { sent = false }: { readonly sent?: boolean }): string {
  const { t, root } = view
  return shell(view, {
    title: t.signIn,
    card: true,
    main: html`${sent && message('good', t.findSent)}
      <h1>${t.signIn}</h1>
      <p class="lead">${t.findText}</p>
      <form method="post" action="${root}sign-in/find">
        ${field({ id: 'email', name: 'email', type: 'email', label: t.email, more: html`autocomplete="email" maxlength="254"` })}
        <button type="submit" class="primary">${t.findSend}</button>
      </form>`,
  })
}
