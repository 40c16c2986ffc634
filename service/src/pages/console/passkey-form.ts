/** The form of a passkey, for a new one and for signing in. It needs the script, and a browser that knows passkeys. */
import { html, type Html } from '../html.ts'
import { hiddenField } from './components.ts'
import type { ConsoleView } from './view.ts'

type PasskeyForm = {
  readonly action: string
  readonly kind: 'create' | 'get'
  /** JSON for `navigator.credentials`. */
  readonly options: string
  readonly label: string
  readonly title: string
  readonly text: string
  readonly fields: readonly (readonly [name: string, value: string])[]
}

export function passkeyForm({ t }: ConsoleView, form: PasskeyForm): Html {
  return html`<section class="way" data-passkey hidden aria-labelledby="passkey-title">
    <h2 id="passkey-title">${form.title}</h2>
    <p>${form.text}</p>
    <form
      method="post"
      action="${form.action}"
      data-kind="${form.kind}"
      data-options="${form.options}"
      data-cancelled="${t.passkeyCancelled}"
      data-exists="${t.passkeyExists}"
      data-failed="${t.passkeyFailed}"
    >
      ${form.fields.map(([name, value]) => hiddenField(name, value))} ${hiddenField('credential', '')}
      <p class="error" role="alert"></p>
      <button type="submit" class="primary">
        <svg viewBox="0 0 20 20" aria-hidden="true" focusable="false">
          <path d="M12.5 2.5a5 5 0 0 0-4.7 6.7L2.5 14.5v3h3v-2h2v-2h2l1.3-1.3a5 5 0 1 0 1.7-9.7zM13.5 6.5h.01" />
        </svg>
        ${form.label}
      </button>
    </form>
  </section>`
}
