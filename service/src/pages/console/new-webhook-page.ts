/** The form of a new webhook endpoint, and the page that shows a signing secret once. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { copyButton, field, hiddenField } from './components.ts'
import { type Problems } from './payments-request.ts'
import { developerTexts } from './texts/developers.ts'
import { paymentTexts } from './texts/payments.ts'
import { type ConsoleView, shell } from './view.ts'

export type WebhookDraft = {
  readonly url: string
  readonly description: string
  /** Names of the chosen event types. Empty: every event type of the interface document. */
  readonly events: readonly string[]
  readonly idempotencyKey: string
}

export type EventTypeChoice = { readonly name: string; readonly description: string }

type NewWebhook = {
  readonly draft: WebhookDraft
  readonly types: readonly EventTypeChoice[]
  readonly problems: Problems
}

export function newWebhookPage(view: ConsoleView, { draft, types, problems }: NewWebhook): string {
  const d = developerTexts[view.language]
  const p = paymentTexts[view.language]
  return shell(view, {
    title: d.newWebhook,
    problems,
    card: true,
    main: html`<h1>${d.newWebhook}</h1>
      <form method="post" action="${view.root}webhooks/new">
        ${hiddenField('idempotencyKey', draft.idempotencyKey)}
        ${field({
          ...{ id: 'url', name: 'url', label: d.url, help: d.urlHelp, value: draft.url, error: problems['url'] },
          more: html`autocomplete="off" inputmode="url" maxlength="2048"`,
        })}
        ${field({
          ...{ id: 'description', name: 'description', label: fill(p.optional, { label: d.note }), help: d.noteHelp },
          ...{ value: draft.description, error: problems['description'], optional: true },
          more: html`autocomplete="off" maxlength="255"`,
        })}
        ${eventChoices(view, draft, types, problems['events'])}
        <button type="submit" class="primary">${d.createWebhook}</button>
      </form>
      <p class="foot"><a href="${view.root}webhooks">${p.back}</a></p>`,
  })
}

function eventChoices(
  view: ConsoleView,
  { events }: WebhookDraft,
  types: readonly EventTypeChoice[],
  error: string | undefined,
): Html {
  const d = developerTexts[view.language]
  return html`<fieldset
    class="field${error !== undefined && ' wrong'}"
    aria-describedby="events-help${error !== undefined && ' events-error'}"
  >
    <legend>${d.events}</legend>
    <p class="help" id="events-help">${d.eventsHelp}</p>
    ${error !== undefined && html`<p class="error" id="events-error">${error}</p>`}
    ${types.map(({ name, description }, at) => {
      const id = at === 0 ? 'events' : `events-${at}`
      return html`<div class="choice">
        <input
          type="checkbox"
          id="${id}"
          name="events"
          value="${name}"
          aria-describedby="${id}-about"
          ${events.includes(name) && html` checked`}
        />
        <label for="${id}">${name}</label>
        <p class="help" id="${id}-about">${description}</p>
      </div>`
    })}
  </fieldset>`
}

/** `secret`: undefined where the key pair of the endpoint signs, whose private half never leaves the service. */
export function secretPage(
  view: ConsoleView,
  { id, url, secret }: { readonly id: string; readonly url: string; readonly secret: string | undefined },
): string {
  const d = developerTexts[view.language]
  return shell(view, {
    title: d.secretTitle,
    card: true,
    main: html`<h1>${d.secretTitle}</h1>
      <p class="lead">${url}</p>
      ${
        secret === undefined
          ? html`<p>${d.publicKeyShown}</p>`
          : html`<p>${d.secretOnce}</p>
              <div class="call" role="group" aria-label="${d.secret}">
                <pre tabindex="0"><code>${secret}</code></pre>
                ${copyButton(view, secret, d.secret)}
              </div>`
      }
      <p class="foot"><a href="${view.root}webhooks/${id}">${d.openWebhook}</a></p>`,
  })
}
