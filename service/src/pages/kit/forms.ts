/** Forms: fields, choices, and dialogs that ask before a form is sent. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { type ConsoleView, shell } from './frame.ts'

/** The values of a form or of filters, by the names of their fields. An empty field is absent. */
export type FieldValues = Readonly<Record<string, string>>

/** Characters of the largest amount with groups, decimals and blanks. */
export const amountCharsMax = 20

/** The text of each refusal, by the name of its field. `form`: the refusal of the form as a whole. */
export type FieldProblems = Readonly<Record<string, string>>

type Field = {
  readonly id: string
  readonly label: string
  /** Absent: the browser does not send the field. */
  readonly name?: string
  readonly type?: 'text' | 'email' | 'password' | 'date' | 'file' | 'area'
  readonly value?: string | undefined
  readonly help?: string | undefined
  readonly error?: string | undefined
  /** Further attributes of the input. */
  readonly more?: Html
  readonly optional?: boolean
}

/** Renders a field from its parts. Pages declare an `input`. */
export function field({ id, label, name, type = 'text', value, help, error, more, optional = false }: Field): Html {
  const notes = describedBy(id, help, error)
  const attributes = html`id="${id}" ${name !== undefined && html` name="${name}"`} ${!optional && html` required`}
  ${notes !== '' && html` aria-describedby="${notes}"`} ${error !== undefined && html` aria-invalid="true"`} ${more}`
  return html`<div class="field${error !== undefined && ' wrong'}">
    <label for="${id}">${label}</label>
    ${noteLines(id, help, error)}
    ${
      type === 'area'
        ? html`<textarea ${attributes}>${value}</textarea>`
        : html`<input type="${type}" ${attributes} ${value !== undefined && html` value="${value}"`} />`
    }
  </div>`
}

const describedBy = (id: string, help: string | undefined, error: string | undefined): string =>
  [error !== undefined && `${id}-error`, help !== undefined && `${id}-help`].filter(Boolean).join(' ')

const noteLines = (id: string, help: string | undefined, error: string | undefined): Html =>
  html`${help !== undefined && html`<p class="help" id="${id}-help">${help}</p>`}
  ${error !== undefined && html`<p class="error" id="${id}-error">${error}</p>`}`

export const hiddenField = (name: string, value: string): Html =>
  html`<input type="hidden" name="${name}" value="${value}" />`

type FieldGroup = {
  readonly id: string
  readonly legend: string
  readonly help?: string | undefined
  readonly error?: string | undefined
  readonly body: Html | readonly Html[]
}

/** Renders a group of fields with one legend, one help and one refusal. */
export function fieldGroup({ id, legend, help, error, body }: FieldGroup): Html {
  const notes = describedBy(id, help, error)
  return html`<fieldset
    class="field${error !== undefined && ' wrong'}"
    ${notes !== '' && html` aria-describedby="${notes}"`}
  >
    <legend>${legend}</legend>
    ${noteLines(id, help, error)} ${body}
  </fieldset>`
}

type Choice = {
  readonly type: 'radio' | 'checkbox'
  readonly id: string
  readonly name: string
  readonly value: string
  readonly label: string
  readonly help?: string | undefined
  readonly isChosen: boolean
}

/** Renders a radio button or a checkbox as a card with its label and its meaning. */
export const choiceCard = ({ type, id, name, value, label, help, isChosen }: Choice): Html =>
  html`<div class="choice">
    <input
      type="${type}"
      id="${id}"
      name="${name}"
      value="${value}"
      ${type === 'radio' && html` required`}
      ${help !== undefined && html` aria-describedby="${id}-about"`}
      ${isChosen && html` checked`}
    />
    <label for="${id}">${label}</label>
    ${help !== undefined && html`<p class="help" id="${id}-about">${help}</p>`}
  </div>`

type ChoiceOption = { readonly value: string; readonly label: string; readonly help: string }

type Choices = {
  readonly id: string
  readonly name: string
  readonly legend: string
  readonly chosen: string | undefined
  readonly error?: string | undefined
  readonly options: readonly ChoiceOption[]
}

/** Renders radio buttons with the meaning of each. The first button has `id`, for the link in the error summary. */
export const radioButtons = ({ id, name, legend, chosen, error, options }: Choices): Html =>
  fieldGroup({
    id,
    legend,
    error,
    body: options.map((option, at) =>
      choiceCard({
        ...option,
        type: 'radio',
        id: at === 0 ? id : `${id}-${at}`,
        name,
        isChosen: option.value === chosen,
      }),
    ),
  })

type Boxes = {
  readonly id: string
  readonly name: string
  readonly legend: string
  readonly chosen: readonly string[]
  readonly help?: string
  readonly error?: string | undefined
  readonly options: Options
}

/** Renders checkboxes. The browser submits each checked value as `name`. The first checkbox has `id`. */
export const checkboxes = ({ id, name, legend, chosen, help, error, options }: Boxes): Html =>
  fieldGroup({
    id,
    legend,
    help,
    error,
    body: options.map(([value, label], at) =>
      choiceCard({
        type: 'checkbox',
        id: at === 0 ? id : `${id}-${value}`,
        name,
        value,
        label,
        isChosen: chosen.includes(value),
      }),
    ),
  })

type Check = {
  readonly name: string
  readonly label: string
  readonly id?: string
  /** Absent: the browser sends `yes` for a checked box. */
  readonly value?: string
  readonly isChecked?: boolean
}

/** Renders one checkbox in a line. */
export const checkbox = ({ name, label, id = name, value = 'yes', isChecked = false }: Check): Html =>
  html`<p class="check">
    <input type="checkbox" id="${id}" name="${name}" value="${value}" ${isChecked && html` checked`} />
    <label for="${id}">${label}</label>
  </p>`

/** Value and text of each option, for a `select`. */
export type Options = readonly (readonly [value: string, text: string])[]

export const toSelectOptions = (words: Readonly<Record<string, string>>): Options => Object.entries(words)

type Select = {
  readonly id: string
  readonly name: string
  readonly label: string
  readonly value: string | undefined
  readonly options: Options
  /** Text of the empty choice. Absent: one of the options has to be chosen. */
  readonly any?: string | undefined
  readonly error?: string | undefined
}

/** Renders a select from its parts. Pages declare an `input` with options. */
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
export type FormState = { readonly values: FieldValues; readonly problems: FieldProblems }

/** A form in which nothing was typed yet. */
export const emptyForm: FormState = { values: {}, problems: {} }

/** A form as it was typed. A second submission with the same key has no second effect. */
export type Draft = FormState & { readonly idempotencyKey: string }

/** Declares a field of a form. Its name selects the id, the value and the refusal. */
export type Input = {
  readonly name: string
  readonly label: string
  readonly help?: string | undefined
  /** Absent: the name. */
  readonly id?: string
  readonly type?: Field['type']
  /** The label of an optional field says so, unless it is `unmarked`. */
  readonly optional?: boolean | 'unmarked'
  readonly charsMax?: number | undefined
  /** Kind of keyboard that a phone shows. */
  readonly keys?: 'decimal' | 'numeric' | 'url'
  /** Absent: the browser does not autofill the field. */
  readonly autocomplete?: 'name' | 'username' | 'email' | 'one-time-code' | 'new-password' | 'current-password'
  /** Makes the field a select. */
  readonly options?: Options
  /** Text of the empty choice of a select. */
  readonly any?: string | undefined
  /** Makes the field a group of radio buttons. */
  readonly choices?: readonly ChoiceOption[]
  /** Initial value of the field. */
  readonly value?: string | undefined
  readonly more?: Html
}

/** Renders a field with its value and its refusal. */
export function input({ t }: ConsoleView, { values, problems }: FormState, given: Input): Html {
  const { name, id = name, type = 'text', optional = false, charsMax, keys, autocomplete = 'off', help, more } = given
  const label = optional === true ? fill(t.optional, { label: given.label }) : given.label
  const [value, error] = [values[name] ?? given.value ?? '', problems[name]]
  if (given.choices !== undefined)
    return radioButtons({ id, name, legend: label, chosen: value, error, options: given.choices })
  if (given.options !== undefined)
    return select({ id, name, label, value, error, options: given.options, any: given.any })
  return field({
    id,
    name,
    label,
    type,
    help,
    error,
    // The browser shows no value of a file, and no page shows a password again.
    value: type === 'file' || type === 'password' ? undefined : value,
    optional: optional !== false,
    more: html`${type !== 'file' && html`autocomplete="${autocomplete}"`}
    ${charsMax !== undefined && html` maxlength="${charsMax}"`} ${keys !== undefined && html` inputmode="${keys}"`}
    ${more}`,
  })
}

/** Renders fields in their order, with parts of the page between them. */
export const inputs = (view: ConsoleView, typed: FormState, given: readonly (Input | Html)[]): Html =>
  html`${given.map((each) => ('html' in each ? each : input(view, typed, each)))}`

type FormPage = Partial<Draft> & {
  readonly title: string
  readonly lead?: string | undefined
  readonly problems: FieldProblems
  /** Precedes the form. */
  readonly before?: Html | undefined
  /** Path below the root of the pages. */
  readonly action: string
  /** Values of hidden fields, which are sent with the form. */
  readonly hidden?: Readonly<Record<string, string>>
  readonly fields: Html | readonly (Input | Html)[]
  readonly submit: string
  readonly back?: { readonly path: string; readonly text: string }
}

/** Renders the page of a form: title, fields as they were typed, button, and the link back. */
export function formPage(view: ConsoleView, form: FormPage): string {
  const { title, lead, problems, values = {}, idempotencyKey, fields, back } = form
  return shell(view, {
    title,
    problems,
    card: true,
    main: html`<h1>${title}</h1>
      ${lead !== undefined && html`<p class="lead">${lead}</p>`} ${form.before}
      <form method="post" action="${view.root}${form.action}">
        ${hiddenFields({ ...form.hidden, ...(idempotencyKey !== undefined && { idempotencyKey }) })}
        ${'html' in fields ? fields : inputs(view, { values, problems }, fields)}
        <button type="submit" class="primary">${form.submit}</button>
      </form>
      ${back !== undefined && html`<p class="foot"><a href="${view.root}${back.path}">${back.text}</a></p>`}`,
  })
}

export const hiddenFields = (values: Readonly<Record<string, string>> = {}): readonly Html[] =>
  Object.entries(values).map(([name, value]) => hiddenField(name, value))

/** Renders a form with one button. `about` names the row of a table for screen readers. */
export const postButton = (
  action: string,
  label: string,
  { look = '', about, hidden = {} }: { look?: string; about?: string; hidden?: Readonly<Record<string, string>> } = {},
): Html =>
  html`<form method="post" action="${action}">
    ${hiddenFields(hidden)}
    <button type="submit" ${look !== '' && html` class="${look}"`}>
      ${label}${about !== undefined && html`<span class="away"> ${about}</span>`}
    </button>
  </form>`

type DialogButton = { readonly id: string; readonly label: string; readonly about: string; readonly tone?: 'danger' }

/** Renders the button that opens a dialog. `about` names the row of a table for screen readers. */
export const dialogButton = ({ id, label, about, tone }: DialogButton): Html =>
  html`<button type="button" class="small ${tone ?? ''}" popovertarget="${id}" aria-haspopup="dialog">
    ${label}<span class="away"> ${about}</span>
  </button>`

type ConfirmationDialog = {
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
 * Renders a dialog that says what a form does before the person sends it. The dialog is a native popover: a button opens it without a script,
 * Escape or a click outside closes it.
 */
export const confirmationDialog = ({
  id,
  title,
  action,
  about,
  effects = [],
  fields,
  submit,
  look,
  cancel,
}: ConfirmationDialog): Html =>
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

type ConfirmedForm = Omit<ConfirmationDialog, 'cancel' | 'about'> &
  Pick<DialogButton, 'tone'> & {
    /** Names the subject of the form for screen readers. */
    readonly about: string
    /** Text of the button that opens the dialog. Absent: that of the button that sends the form. */
    readonly label?: string
    /** Precedes the effects. */
    readonly shown?: Html
  }

/** Renders a button and the dialog that it opens, which asks before its form is sent. */
export const confirmedForm = (
  { t }: ConsoleView,
  { about, label, tone = 'danger', shown, ...own }: ConfirmedForm,
): Html =>
  html`<p class="buttons">${dialogButton({ id: own.id, label: label ?? own.submit, about, tone })}</p>
    ${confirmationDialog({ ...own, about: shown, cancel: t.cancel })}`
