/** Forms: fields, choices, and dialogs that ask before a form is sent. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { type ConsoleView, shell } from './frame.ts'

/** The values of a form or of filters, by the names of their fields. An empty field is absent. */
export type Values = Readonly<Record<string, string>>

/** Characters of an amount as persons type it: the largest one with groups, decimals and blanks. */
export const amountCharsMax = 20

/** The text of each refusal, by the name of its field. `form`: it concerns the whole. */
export type Problems = Readonly<Record<string, string>>

type Field = {
  readonly id: string
  readonly label: string
  /** Absent: the browser does not send the field. */
  readonly name?: string
  readonly type?: 'text' | 'email' | 'password' | 'date' | 'file'
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

type Boxes = {
  readonly id: string
  readonly name: string
  readonly legend: string
  readonly chosen: readonly string[]
  readonly help?: string
  readonly error?: string | undefined
  readonly options: Options
}

/** Boxes of which a person checks some or none. Each that is checked is sent under the name. The first one has the id. */
export function boxes({ id, name, legend, chosen, help, error, options }: Boxes): Html {
  const notes = [error !== undefined && `${id}-error`, help !== undefined && `${id}-help`].filter(Boolean).join(' ')
  return html`<fieldset
    class="field${error !== undefined && ' wrong'}"
    ${notes !== '' && html` aria-describedby="${notes}"`}
  >
    <legend>${legend}</legend>
    ${help !== undefined && html`<p class="help" id="${id}-help">${help}</p>`}
    ${error !== undefined && html`<p class="error" id="${id}-error">${error}</p>`}
    ${options.map(([value, text], at) => {
      const own = at === 0 ? id : `${id}-${value}`
      return html`<div class="choice">
        <input
          type="checkbox"
          id="${own}"
          name="${name}"
          value="${value}"
          ${chosen.includes(value) && html` checked`}
        />
        <label for="${own}">${text}</label>
      </div>`
    })}
  </fieldset>`
}

/** Value and text of each option, for a `select`. */
export type Options = readonly (readonly [value: string, text: string])[]

export const optionsOf = (words: Readonly<Record<string, string>>): Options => Object.entries(words)

type Select = {
  readonly id: string
  readonly name: string
  readonly label: string
  readonly value: string | undefined
  readonly options: Options
  /** Text of the empty choice. Absent: one of the options has to be chosen. */
  readonly any?: string
  readonly error?: string | undefined
}

export const select = ({ id, name, label, value, options, any, error }: Select): Html =>
  html`<div class="field${error !== undefined && ' wrong'}">
    <label for="${id}">${label}</label>
    ${error !== undefined && html`<p class="error" id="${id}-error">${error}</p>`}
    <select
      id="${id}"
      name="${name}"
      ${error !== undefined && html` aria-invalid="true" aria-describedby="${id}-error"`}
    >
      ${any !== undefined && html`<option value="">${any}</option>`}
      ${options.map(
        ([each, text]) => html`<option value="${each}" ${each === value && html` selected`}>${text}</option>`,
      )}
    </select>
  </div>`

/** The values that were typed in a form or in filters, and the refusals. */
export type Typed = { readonly values: Values; readonly problems: Problems }

/** A form as it was typed. A second submission with the same key has no second effect. */
export type Draft = Typed & { readonly idempotencyKey: string }

export type Input = {
  readonly name: string
  readonly label: string
  readonly help?: string | undefined
  readonly type?: 'text' | 'email' | 'date' | undefined
  /** The label of an optional field says so, unless it is `unmarked`. */
  readonly optional?: boolean | 'unmarked'
  readonly charsMax?: number | undefined
  /** Makes the field a choice. */
  readonly options?: Options
  /** Text of the empty choice. */
  readonly any?: string
  /** Stands in the field until something is typed. */
  readonly value?: string
  readonly more?: Html
}

/** A field with what was typed in it and its refusal. It is a choice if it has options. */
export function input({ t }: ConsoleView, { values, problems }: Typed, given: Input): Html {
  const { name, optional = false, options, any, help, type = 'text', charsMax, more } = given
  const own = {
    ...{ id: name, name, value: values[name] ?? given.value ?? '', error: problems[name] },
    label: optional === true ? fill(t.optional, { label: given.label }) : given.label,
  }
  if (options !== undefined) return select({ ...own, options, ...(any !== undefined && { any }) })
  return field({
    ...{ ...own, type, optional: optional !== false, ...(help !== undefined && { help }) },
    more: html`autocomplete="off"${charsMax !== undefined && html` maxlength="${charsMax}"`} ${more}`,
  })
}

export const inputs = (view: ConsoleView, typed: Typed, given: readonly Input[]): Html =>
  html`${given.map((each) => input(view, typed, each))}`

type FormPage = {
  readonly title: string
  readonly lead?: string | undefined
  readonly problems: Problems
  /** Stands before the form. */
  readonly before?: Html | undefined
  /** Path below the root of the pages. */
  readonly action: string
  /** Values that the form carries and does not show. */
  readonly hidden?: Readonly<Record<string, string>>
  readonly fields: Html
  readonly submit: string
  readonly back?: { readonly path: string; readonly text: string }
}

/** The page of a form: title, fields, button, and the way back. */
export const formPage = (view: ConsoleView, form: FormPage): string =>
  shell(view, {
    title: form.title,
    problems: form.problems,
    card: true,
    main: html`<h1>${form.title}</h1>
      ${form.lead !== undefined && html`<p class="lead">${form.lead}</p>`} ${form.before}
      <form method="post" action="${view.root}${form.action}">
        ${Object.entries(form.hidden ?? {}).map(([name, value]) => hiddenField(name, value))} ${form.fields}
        <button type="submit" class="primary">${form.submit}</button>
      </form>
      ${form.back !== undefined && html`<p class="foot"><a href="${view.root}${form.back.path}">${form.back.text}</a></p>`}`,
  })

/** A form of one button. `about` names the row of a table for screen readers. */
export const postButton = (
  action: string,
  label: string,
  { look = '', about, hidden = {} }: { look?: string; about?: string; hidden?: Readonly<Record<string, string>> } = {},
): Html =>
  html`<form method="post" action="${action}">
    ${Object.entries(hidden).map(([name, value]) => hiddenField(name, value))}
    <button type="submit" ${look !== '' && html` class="${look}"`}>
      ${label}${about !== undefined && html`<span class="away"> ${about}</span>`}
    </button>
  </form>`

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

type Confirmed = Omit<Asking, 'cancel' | 'about'> &
  Pick<Opener, 'tone'> & {
    /** Names what the form is about, to screen readers. */
    readonly about: string
    /** Text of the button that opens the dialog. Absent: that of the button that sends the form. */
    readonly label?: string
    /** Precedes the effects. */
    readonly shown?: Html
  }

/** A button that opens a dialog, and the dialog that asks before its form is sent. */
export const confirmed = ({ t }: ConsoleView, { about, label, tone = 'danger', shown, ...own }: Confirmed): Html =>
  html`<p class="buttons">${openDialog({ id: own.id, label: label ?? own.submit, about, tone })}</p>
    ${asking({ ...own, about: shown, cancel: t.cancel })}`
