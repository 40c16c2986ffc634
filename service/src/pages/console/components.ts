/** The components of the console: fields, messages, badges, tables, dialogs, times. `design.ts` shows each in its states. */
import { html, type Html } from '../html.ts'
import type { ConsoleView } from './view.ts'

export type Tone = 'good' | 'warning' | 'bad' | 'neutral'

/** A status: a word with a shape, which the colour repeats. */
export const badge = (tone: Tone, text: string): Html => html`<span class="badge ${tone}">${text}</span>`

/** Says what happened after a form. The frame of the page reads it to screen readers. */
export const message = (tone: Tone, text: string): Html => html`<p class="message ${tone}" role="status">${text}</p>`

type Field = {
  readonly id: string
  readonly label: string
  /** Absent: the browser does not send the field. */
  readonly name?: string
  readonly type?: 'text' | 'email' | 'password' | 'date'
  readonly value?: string
  readonly help?: string
  readonly error?: string | undefined
  /** Further attributes of the input. */
  readonly more?: Html
  readonly optional?: boolean
}

export function field(given: Field): Html {
  const { id, label, name, type = 'text', value, help, error, more, optional = false } = given
  const notes = [error !== undefined && `${id}-error`, help !== undefined && `${id}-help`].filter(Boolean).join(' ')
  return html`<div class="field${error !== undefined && ' wrong'}">
    <label for="${id}">${label}</label>
    ${help !== undefined && html`<p class="help" id="${id}-help">${help}</p>`}
    ${error !== undefined && html`<p class="error" id="${id}-error">${error}</p>`}
    <input
      id="${id}"
      type="${type}"
      ${name !== undefined && html` name="${name}"`}
      ${value !== undefined && html` value="${value}"`}
      ${!optional && html` required`}
      ${notes !== '' && html` aria-describedby="${notes}"`}
      ${error !== undefined && html` aria-invalid="true"`}
      ${more}
    />
  </div>`
}

export const hiddenField = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}" />`

type Choices = {
  readonly id: string
  readonly name: string
  readonly legend: string
  readonly chosen: string | undefined
  readonly error?: string | undefined
  readonly options: readonly { readonly value: string; readonly label: string; readonly help: string }[]
}

/** Radio buttons with what each choice means. The first one has the id, for the link of the error summary. */
export function choices({ id, name, legend, chosen, error, options }: Choices): Html {
  const items = options.map(({ value, label, help }, at) => {
    const own = at === 0 ? id : `${id}-${at}`
    return html`<div class="choice">
      <input
        type="radio"
        id="${own}"
        name="${name}"
        value="${value}"
        required
        aria-describedby="${own}-help"
        ${value === chosen && html` checked`}
      />
      <label for="${own}">${label}</label>
      <p class="help" id="${own}-help">${help}</p>
    </div>`
  })
  return html`<fieldset
    class="field${error !== undefined && ' wrong'}"
    ${error !== undefined && html` aria-describedby="${id}-error"`}
  >
    <legend>${legend}</legend>
    ${error !== undefined && html`<p class="error" id="${id}-error">${error}</p>`} ${items}
  </fieldset>`
}

/** The script shows the button where the browser can copy. `what` names the copied thing for screen readers. */
export const copyButton = ({ t }: ConsoleView, text: string, what: string): Html =>
  html`<button type="button" class="small" data-copy="${text}" data-copied="${t.copied}" hidden>
    <span>${t.copy}</span><span class="away"> ${what}</span>
  </button>`

/** A time in the zone of the reader, with UTC in its title. `seconds`: a time at which something ends soon. */
export function time({ language, zone }: ConsoleView, at: Date, form: 'date' | 'time' | 'seconds' = 'time'): Html {
  const show = (timeZone: string, withTime: boolean) =>
    new Intl.DateTimeFormat(language, {
      dateStyle: 'medium',
      ...(withTime ? { timeStyle: form === 'seconds' ? 'medium' : 'short' } : {}),
      timeZone,
    }).format(at)
  const utc = `${show('UTC', true)} UTC`
  const text = form === 'date' ? show('UTC', false) : utc
  return zone === undefined
    ? html`<time datetime="${at.toISOString()}" title="${utc}" data-local="${form}">${text}</time>`
    : html`<time datetime="${at.toISOString()}" title="${utc}">${show(zone, form !== 'date')}</time>`
}

/** A day of the calendar, `YYYY-MM-DD`. It is the same day in every zone. */
export const calendarDay = ({ language }: ConsoleView, day: string): Html =>
  html`<time datetime="${day}"
    >${new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(`${day}T00:00:00Z`))}</time
  >`

/** A label, or one with a kind: `number` is right-aligned, `actions` has no visible heading, `head` names the row. */
type Column = string | readonly [label: string, kind: 'head' | 'number' | 'actions']
export type Table = {
  readonly caption: string
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly (Html | string)[])[]
}

/**
 * A table that becomes a list of cards on a narrow page, and scrolls in its own box where it is too wide. The roles keep it
 * a table in browsers that drop it for cards.
 */
export function table({ caption, columns, rows }: Table): Html {
  const named = columns.map((column) => (typeof column === 'string' ? ([column] as const) : column))
  const heads = named.map(([label, kind]) =>
    kind === 'actions'
      ? html`<th scope="col" role="columnheader"><span class="away">${label}</span></th>`
      : html`<th scope="col" role="columnheader" class="${kind ?? ''}">${label}</th>`,
  )
  const cellOf = (part: Html | string, at: number): Html => {
    const [label = '', kind] = named[at] ?? []
    return kind === 'head'
      ? html`<th scope="row" role="rowheader">${part}</th>`
      : html`<td role="cell" class="${kind ?? ''}" data-label="${label}">${part}</td>`
  }
  return html`<div class="table">
    <table role="table">
      <caption class="away">
        ${caption}
      </caption>
      <thead role="rowgroup">
        <tr role="row">
          ${heads}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map(
          (row) =>
            html`<tr role="row">
              ${row.map(cellOf)}
            </tr> `,
        )}
      </tbody>
    </table>
  </div>`
}

type Opener = { readonly id: string; readonly label: string; readonly about: string; readonly tone?: 'danger' }

/** `about` names the row of a table for screen readers. */
export const openDialog = ({ id, label, about, tone }: Opener): Html =>
  html`<button type="button" class="small ${tone ?? ''}" popovertarget="${id}" aria-haspopup="dialog">
    ${label}<span class="away"> ${about}</span>
  </button>`

type Asking = {
  readonly id: string
  readonly title: string
  readonly action: string
  /** Precedes the effects. */
  readonly about?: Html | undefined
  readonly effects?: readonly string[]
  readonly fields?: Html | undefined
  readonly submit: string
  /** Class of the button. */
  readonly look?: string
  readonly cancel: string
}

/**
 * A dialog that asks before a form is sent: it says what the form does, and has a way out. It is native, and a popover: `openDialog` opens it
 * without a script; Escape and a click outside close it.
 */
export const asking = ({ id, title, action, about, effects = [], fields, submit, look, cancel }: Asking): Html =>
  html`<dialog id="${id}" popover aria-labelledby="${id}-title">
    <h2 id="${id}-title" tabindex="-1" autofocus>${title}</h2>
    <form method="post" action="${action}">
      ${about}
      ${
        effects.length > 0 &&
        html`<ul class="effects">
          ${effects.map((effect) => html`<li>${effect}</li>`)}
        </ul>`
      }
      ${fields}
      <div class="buttons">
        <button type="submit" class="${look ?? 'primary danger'}">${submit}</button>
        <button type="button" popovertarget="${id}" popovertargetaction="hide">${cancel}</button>
      </div>
    </form>
  </dialog>`

type Empty = { readonly title: string; readonly text: string; readonly more?: Html }

/** An empty list says what will be here. */
export const empty = ({ title, text, more }: Empty): Html =>
  html`<div class="empty">
    <p class="empty-title">${title}</p>
    <p>${text}</p>
    ${more}
  </div>`

/** A call of the API, with a button that copies it. */
export const call = (view: ConsoleView, text: string, what: string): Html =>
  html`<div class="call" role="group" aria-label="${what}">
    <pre><code>${text}</code></pre>
    ${copyButton(view, text, what)}
  </div>`
