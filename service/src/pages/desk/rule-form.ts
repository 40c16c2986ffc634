/** The form of a rule of monitoring: the fields of every kind, and the JSON that the command reads. */
import { currencyScopes, moments, ruleFields, type RuleKind, ruleKinds, severities } from '../../monitoring/index.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { field, hiddenField, select } from '../kit/forms.ts'
import type { Form } from '../kit/request.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { type RuleTexts, ruleTexts } from './rule-texts.ts'

const directions = ['Inward', 'Outward'] as const
const lists = ['countries', 'partners'] as const
const numbers = ['hours', 'days', 'count', 'payers', 'customers', 'percent'] as const
const texts = ['name', 'kind', 'currency', 'counts', 'severity', 'when', 'direction', 'sum', 'threshold'] as const
const ofKinds = ['hours', 'days', 'count', 'payers', 'customers', 'sum', 'threshold', 'percent', 'countries'] as const

/** The rule of a form, as JSON. What is typed wrongly stays as text, so that the command refuses it by its pointer. */
export function ruleOf(form: Form): string {
  const typed = (name: string) => form(name).trim()
  const given = <T>(names: readonly string[], read: (text: string) => T) =>
    names.flatMap((name) => (typed(name) === '' ? [] : [[name, read(typed(name))] as const]))
  return JSON.stringify(
    Object.fromEntries([
      ...given(texts, (text) => text),
      ...given(numbers, (text) => (/^\d{1,9}$/.test(text) ? Number(text) : text)),
      ...given(lists, (text) => text.split(/[\s,;]+/).filter((each) => each !== '')),
    ]),
  )
}

/** The fields of a stored rule. */
export type RuleValues = Readonly<Record<string, string | number | readonly string[] | null>>

/** The values of a stored rule, as its form shows them. */
export const typedOf =
  (name: string, settings: RuleValues): Form =>
  (field) => {
    const value = field === 'name' ? name : settings[field]
    return typeof value === 'object' && value !== null ? value.join(', ') : String(value ?? '')
  }

/** The field that a refusal points to. Undefined: none of the form. */
export const fieldOf = (error: string): string | undefined => /^\/(?<name>[a-z]+)\b/.exec(error)?.groups?.['name']

type Shown = {
  readonly action: string
  /** The version that the form begins with. Absent: it is a new rule. */
  readonly version?: number
  readonly typed: Form
  readonly error: string | undefined
  readonly title: string
  readonly text?: string
  readonly save: string
}

export function ruleForm(view: ConsoleView, { action, version, typed, error, title, text, save }: Shown): Html {
  const d = ruleTexts[view.language]
  const wrong = error === undefined ? undefined : fieldOf(error)
  const common = (name: string) => ({
    ...{ id: `rule-${name}`, name, label: d[name as keyof RuleTexts], value: typed(name) },
    error: name === wrong ? error : undefined,
  })
  const choice = (name: string, values: readonly string[], any?: string) =>
    select({
      ...common(name),
      options: values.map((each) => [each, d[each as keyof RuleTexts]]),
      ...(any === undefined ? {} : { any }),
    })
  return html`<details class="more" ${error !== undefined && html` open`}>
    <summary>${title}</summary>
    ${text !== undefined && html`<p>${text}</p>`}
    <form method="post" action="${action}">
      ${version !== undefined && hiddenField('version', String(version))}
      ${field({ ...common('name'), more: html`maxlength="100"` })} ${choice('kind', ruleKinds, d.choose)}
      <div class="grid">
        ${field({ ...common('currency'), more: html`maxlength="4" autocapitalize="characters"` })}
        ${choice('counts', currencyScopes, d.OwnCurrency)} ${choice('severity', severities, d.medium)}
        ${choice('when', moments, d.after)} ${choice('direction', directions, d.choose)}
      </div>
      <div class="grid">
        ${ofKinds.map((name) => field({ ...common(name), optional: true, help: kindsOf(d, name) }))}
      </div>
      ${field({ ...common('partners'), optional: true, help: d.partnersHelp })}
      <button type="submit" class="primary">${save}</button>
    </form>
  </details>`
}

/** The kinds that have a field. */
function kindsOf(d: RuleTexts, name: string): string {
  const short = (kind: RuleKind) => d[kind].split(':', 1)[0] ?? kind
  const kinds = ruleKinds.flatMap((kind) => {
    if (ruleFields[kind].includes(name)) return [short(kind)]
    return ruleFields[kind].includes(`[${name}]`) ? [fill(d.optional, { kind: short(kind) })] : []
  })
  return fill(d.neededBy, { kinds: kinds.join(', ') })
}
