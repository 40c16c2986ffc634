/** The recovery codes of a person, shown once. */
import { html } from '../html.ts'
import { copyButton } from './components.ts'
import { type ConsoleView, shell } from './view.ts'

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
