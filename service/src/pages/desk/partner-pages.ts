/** The partners, and one partner on one page: its rules, blocks and credentials, with the forms that change them. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { asking, field, hiddenField, openDialog, select } from '../kit/forms.ts'
import { call, empty, facts, freeText, identifier, message, table, time } from '../kit/parts.ts'
import { pager } from '../kit/lists.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import type { Section, SectionField } from './partner-sections.ts'
import { partnerNames, partnerTexts } from './partner-texts.ts'

export type PartnerRow = { readonly id: string; readonly name: string; readonly createdAt: Date }

type PartnersShown = { readonly partners: readonly PartnerRow[]; readonly next?: string | undefined }

export function partnersPage(view: ConsoleView, { partners, next }: PartnersShown): string {
  const p = partnerTexts[view.language]
  const add = 'npm run -s operator -- partner create --name NAME'
  return shell(view, {
    title: p.partners,
    main: html`<h1>${p.partners}</h1>
      <p class="lead">${p.partnersText}</p>
      <form method="get" action="${view.root}partners/find" class="filters">
        ${field({ id: 'id', name: 'id', label: p.partnerId, more: html`maxlength="36"` })}
        <button type="submit">${p.openById}</button>
      </form>
      ${
        partners.length === 0
          ? empty({ title: p.noPartners, text: p.noPartnersText, more: call(view, add, p.addCall) })
          : table({
              caption: p.partners,
              columns: [[p.partners, 'head'], p.partnerId, p.created],
              rows: partners.map(({ id, name, createdAt }) => [
                html`<a href="${view.root}partners/${id}">${freeText(name)}</a>`,
                identifier(view, id, p.partnerId),
                time(view, createdAt, 'date'),
              ]),
            })
      }
      ${pager(view, { next, first: undefined })}`,
  })
}

type Value = string | number | bigint | boolean | Date | null | undefined | readonly string[]
/** A row as the command prints it. */
type Printed = Readonly<Record<string, Value>>

export type ShownSection = {
  readonly section: Section
  readonly rows: readonly Printed[]
  /** The commands that the reader's role may run. */
  readonly may: ReadonlySet<string>
}

type PartnerShown = {
  readonly partner: PartnerRow
  readonly sections: readonly ShownSection[]
  readonly said?: 'done' | 'waits' | undefined
  readonly error?: string | undefined
  /** The refused command, and its values. */
  readonly refused?: string | undefined
  readonly typed: (name: string) => string
}

export function partnerPage(view: ConsoleView, shown: PartnerShown): string {
  const p = partnerTexts[view.language]
  const { partner, said, error } = shown
  return shell(view, {
    title: partner.name,
    wide: true,
    problems: { form: error },
    main: html`<h1>${partner.name}</h1>
      ${said !== undefined && message(said === 'done' ? 'good' : 'neutral', p[said])}
      ${facts([
        [p.partnerId, identifier(view, partner.id, p.partnerId)],
        [p.created, time(view, partner.createdAt)],
      ])}
      ${shown.sections.map((section) => sectionPart(view, shown, section))}`,
  })
}

function sectionPart(view: ConsoleView, shown: PartnerShown, { section, rows, may }: ShownSection): Html {
  const [p, names] = [partnerTexts[view.language], partnerNames[view.language]]
  const { removal, columns } = section
  const removes = removal !== undefined && may.has(removal.command)
  const title = p[section.id]
  const labelOf = (column: string) => names[column as keyof typeof names]
  return html`<section aria-labelledby="${section.id}-title">
    <h2 id="${section.id}-title">${title}</h2>
    ${
      rows.length === 0
        ? html`<p>${p.none}</p>`
        : table({
            caption: title,
            columns: [
              ...columns.map((column, at) => (at === 0 ? ([labelOf(column), 'head'] as const) : labelOf(column))),
              ...(removes ? [[p.actions, 'actions'] as const] : []),
            ],
            rows: rows.map((row, at) => [
              ...columns.map((column) => cell(view, row[column])),
              ...(removes ? [remover(view, section, row, at)] : []),
            ]),
          })
    }
    ${removes && rows.map((row, at) => removalDialog(view, shown, section, row, at))}
    ${section.changes
      .filter(({ command }) => may.has(command))
      .map(({ command, fields }) => changeForm(view, shown, section, command, fields))}
  </section>`
}

const timeForm = /^\d{4}-\d\d-\d\dT/

/** A value as a command prints it: a time, a list, a word. */
function cell(view: ConsoleView, value: Value): Html | string {
  if (value === null || value === undefined) return '–'
  if (value instanceof Date) return time(view, value)
  if (typeof value === 'object') return value.length > 6 ? String(value.length) : freeText(value.join(', '))
  const text = String(value)
  return timeForm.test(text) && !Number.isNaN(Date.parse(text)) ? time(view, new Date(text)) : freeText(text)
}

const wordsOf = ({ columns }: Section, row: Printed): string =>
  columns
    .map((column) => row[column])
    .filter((value) => typeof value === 'string')
    .slice(0, 3)
    .join(' ')

const remover = (view: ConsoleView, section: Section, row: Printed, at: number): Html =>
  openDialog({
    ...{ id: `${section.id}-remove-${at}`, label: partnerTexts[view.language].remove, about: wordsOf(section, row) },
    tone: 'danger',
  })

function removalDialog(view: ConsoleView, { partner }: PartnerShown, section: Section, row: Printed, at: number): Html {
  const p = partnerTexts[view.language]
  const { removal } = section
  if (removal === undefined) return html``
  const id = `${section.id}-remove-${at}`
  const title = p[removal.command as keyof typeof p]
  return asking({
    ...{ id, title, action: `${view.root}partners/${partner.id}/change` },
    about: html`<p>${wordsOf(section, row)}</p>
      ${hiddenField('command', removal.command)} ${hiddenField(removal.option, String(row[removal.column]))}
      ${field({ id: `${id}-note`, name: 'note', label: p.note, more: html`maxlength="500"` })}`,
    ...{ submit: title, look: 'danger', cancel: p.back },
  })
}

function changeForm(
  view: ConsoleView,
  { partner, refused, typed }: PartnerShown,
  section: Section,
  command: string,
  fields: readonly SectionField[],
): Html {
  const [p, names] = [partnerTexts[view.language], partnerNames[view.language]]
  const isRefused = refused === command
  const prefix = `${section.id}-${command.replaceAll(' ', '-')}`
  const title = p[command as keyof typeof p]
  const inputs = fields.map(({ option, choices, optional = false }) => {
    const name = option.replaceAll(/-(.)/g, (_dash, letter: string) => letter.toUpperCase())
    const label = names[name as keyof typeof names]
    const value = isRefused ? typed(option) : ''
    const id = `${prefix}-${option}`
    if (choices !== undefined)
      return select({
        ...{ id, name: option, label, value, options: choices.map((each) => [each, each] as const) },
        ...(optional ? { any: p.choose } : {}),
      })
    return field({ id, name: option, label: optional ? fill(p.optional, { label }) : label, value, optional })
  })
  return html`<details class="more" ${isRefused && html` open`}>
    <summary>${title}</summary>
    <form method="post" action="${view.root}partners/${partner.id}/change">
      ${hiddenField('command', command)}
      <div class="grid">${inputs}</div>
      ${field({
        ...{ id: `${prefix}-note`, name: 'note', label: p.note, value: isRefused ? typed('note') : '' },
        more: html`maxlength="500"`,
      })}
      <button type="submit" class="primary">${title}</button>
    </form>
  </details>`
}
