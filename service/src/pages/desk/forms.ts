/**
 * Forms of commands. Their fields are generated from the declaration of the command, and each form runs it for the
 * person.
 */
import { uuidPattern } from '../../kernel/index.ts'
import { notFound, type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { permissions } from '@partner-payments/wire'
import { checkboxes, field, select } from '../kit/forms.ts'
import { permissionFields } from '../console/permission-fields.ts'
import type { Tone } from '../kit/parts.ts'
import { type FieldReader, readForm } from '../kit/request.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { deskTexts } from './texts.ts'
import {
  type DeskChanges,
  type DeskFrame,
  type DeskPlace,
  FieldRefusal,
  type FormOption,
  noteCharsMax,
  readNote,
  type Person,
  staffRoute,
} from './request.ts'

type FormValues = Readonly<Record<string, string>>
type Names = Readonly<Record<string, string>>

/** Returns the label of an option or column. `of`: the command, which may have its own label for it. */
export const optionLabel = (view: ConsoleView, of: string, name: string): string => {
  const names: Names = deskTexts[view.language].options
  return (
    names[`${of} ${name}`] ?? names[name.replaceAll(/-(.)/g, (_dash, letter: string) => letter.toUpperCase())] ?? name
  )
}
/** Options whose values have the same labels as the values of another option. */
const sameValues: Names = { allow: 'allowed', roles: 'role' }
export const valueLabel = (view: ConsoleView, option: string, value: string): string =>
  (deskTexts[view.language].values as Names)[`${sameValues[option] ?? option} ${value}`] ??
  (option === 'kind' ? (deskTexts[view.language].kindNames as Names)[value] : undefined) ??
  value

type FieldState = {
  readonly value: string
  /** Absent: the name of the option. */
  readonly id?: string
  readonly error?: string | undefined
  readonly help?: string
  /** True if no value is preselected. */
  readonly unchosen?: boolean
}

/** Renders the form field for an option, based on its declaration. */
export function optionField(view: ConsoleView, command: string, option: FormOption, given: FieldState): Html {
  const { name, kind, required, values, isList, otherwise, charsMax } = option
  const { kindHelp, options: words } = deskTexts[view.language]
  const { id = name, error, help = (kindHelp as Names)[kind], unchosen = false } = given
  const value = given.value || (otherwise ?? '')
  const label = optionLabel(view, command, name)
  const { none, optional, choose } = words
  const options = values?.map((each) => [each, valueLabel(view, name, each)] as const)
  if (isList && options !== undefined) {
    const chosen = value.split(',')
    const shown = kind === 'permissions' ? options.filter(([each]) => each === 'all') : options
    const own = kind === 'permissions' ? `${id}-all` : id
    return html`${checkboxes({ id: own, name, legend: label, chosen, error, options: shown })}
    ${kind === 'permissions' && permissionFields(view, { held: permissions, chosen, error })}`
  }
  if (options !== undefined)
    return select({
      ...{ id, name, label, value, error, options },
      ...(unchosen ? { any: choose } : required || otherwise !== undefined ? {} : { any: none }),
    })
  const isOptional = !required && otherwise === undefined
  return field({
    ...{ id, name, label: isOptional ? fill(optional, { label }) : label, value, optional: !required, error },
    ...(help === undefined ? {} : { help }),
    type: kind === 'day' ? 'date' : kind === 'email' ? 'email' : 'text',
    more: html`maxlength="${String(charsMax)}" ${kind === 'integer' && html`inputmode="numeric"`}`,
  })
}

type CommandFields = {
  readonly command: string
  readonly options: readonly FormOption[]
  /** Options that get no field, such as an id in the path. */
  readonly without?: readonly string[]
  /** Prefix of the field ids on a page with several forms. */
  readonly prefix?: string
  /** The option without a preselected value. */
  readonly unchosen?: string
  readonly typed: FieldReader
  readonly refused?: RefusedForm | undefined
}

export const commandFields = (
  view: ConsoleView,
  { command, options, without = [], prefix = '', unchosen, typed, refused }: CommandFields,
) =>
  options
    .filter(({ name }) => !without.includes(name))
    .map((option) =>
      optionField(view, command, option, {
        ...{ id: `${prefix}${option.name}`, value: typed(option.name), unchosen: option.name === unchosen },
        error: refused?.field === option.name ? refused.error : undefined,
      }),
    )

/** Renders the field for the note, which is stored in the audit log. */
export const noteField = (view: ConsoleView, id: string, given: Partial<Parameters<typeof field>[0]> = {}): Html =>
  field({
    ...{
      id,
      name: 'note',
      label: deskTexts[view.language].options.note,
      more: html`maxlength="${String(noteCharsMax)}"`,
    },
    ...given,
  })

/** Tones of the message about a form: the command has run, or awaits a second person. */
export const outcomeTones = { done: 'good', waits: 'warning' } as const satisfies Readonly<Record<string, Tone>>

/** Reads from the URL whether the command of the last form has run or awaits a second person. */
export function readOutcome({ query }: PublicRequest): keyof typeof outcomeTones | undefined {
  const fields = new URLSearchParams(query)
  return fields.has('waits') ? 'waits' : fields.has('done') ? 'done' : undefined
}

export type RefusedForm = {
  readonly command: string
  readonly error: string
  readonly field?: string | undefined
  readonly form: FieldReader
}

type CommandForm = {
  readonly place: DeskPlace
  readonly path: string
  /** The command, or a function that reads it from the form. Refuses: not_found. */
  readonly command: string | ((form: FieldReader) => string)
  /** Reads options from the path. Default: the id. Refuses: not_found. */
  readonly key?: (request: PublicRequest) => FormValues | Promise<FormValues>
  /** Derives options from other fields of the form. Refuses: validation_failed. */
  readonly more?: (form: FieldReader, person: Person) => FormValues
  readonly withoutNote?: true
  readonly answer: (
    ran: Awaited<ReturnType<DeskChanges['run']>>,
    request: PublicRequest,
    person: Person,
  ) => PublicAnswer
  /** Shows the page again with the refusal and what was typed. */
  readonly again: (request: PublicRequest, person: Person, refused: RefusedForm) => Promise<PublicAnswer>
}

function readId({ params }: PublicRequest): FormValues {
  const { id } = params
  if (id !== undefined && !uuidPattern.test(id)) throw notFound('page')
  return id === undefined ? {} : { id }
}

/** Reads the text of a refusal and the option that it concerns. */
function readRefusal(view: ConsoleView, command: string, error: Refusal): Pick<RefusedForm, 'error' | 'field'> {
  if (error instanceof FieldRefusal) return { error: error.detail, field: error.field }
  const { option, cure } = /^--(?<option>[a-z-]+) (?<cure>.*)$/s.exec(error.detail)?.groups ?? {}
  if (option === undefined || cure === undefined) return { error: error.detail }
  const label = optionLabel(view, command, option)
  const { missing } = deskTexts[view.language].options
  return { error: cure === 'is required' ? fill(missing, { label }) : `${label} ${cure}`, field: option }
}

/** Creates the route of a form that runs a command. */
export const commandRoute = (frame: DeskFrame, { place, path, key = readId, ...form }: CommandForm): PublicRoute =>
  staffRoute(frame, place, 'POST', path, async (request, person) => {
    const keys = await key(request)
    const typed = readForm(request)
    const { changes } = frame
    const command = typeof form.command === 'string' ? form.command : form.command(typed)
    try {
      const asked = Object.fromEntries(changes.form(command).map(({ name }) => [name, typed(name).trim()]))
      const more = form.more?.(typed, person)
      const note: FormValues = form.withoutNote ? {} : { note: readNote(typed) }
      const options = { ...asked, ...more, ...keys, ...note }
      return form.answer(await changes.run(person.signed.account, command, options), request, person)
    } catch (error) {
      if (!(error instanceof Refusal) || error.code === 'permission_denied') throw error
      return form.again(request, person, { command, ...readRefusal(person.view, command, error), form: typed })
    }
  })
