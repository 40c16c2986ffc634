/**
 * The rules, blocks, recoveries and credentials of a partner, as commands list them, with forms for the commands that
 * change them.
 */
import { confirmationDialog, hiddenField, dialogButton } from '../kit/forms.ts'
import { table } from '../kit/parts.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { commandFields, optionLabel, noteField, type RefusedForm } from './forms.ts'
import { isNumberColumn, type PrintedRow, printedCell, rowLabel } from './printed.ts'
import type { DeskChanges, PartnerRow } from './request.ts'
import { deskTexts } from './texts.ts'

export type SectionRows = {
  readonly section: Section
  readonly rows: readonly PrintedRow[]
  /** The commands that the reader's role may run. */
  readonly may: ReadonlySet<string>
}

export type PartnerRules = {
  readonly partner: PartnerRow
  readonly optionsOf: DeskChanges['form']
  readonly refused?: RefusedForm | undefined
}

export function sectionPart(view: ConsoleView, shown: PartnerRules, { section: own, rows, may }: SectionRows): Html {
  const p = deskTexts[view.language].partners
  const { removal, columns, list } = own
  const removes = removal !== undefined && may.has(removal.command)
  const title = p[own.id]
  const labels = columns.map((column) => optionLabel(view, list, column))
  return html`<section aria-labelledby="${own.id}-title">
    <h2 id="${own.id}-title">${title}</h2>
    ${
      rows.length === 0
        ? html`<p>${p.none}</p>`
        : table({
            caption: title,
            columns: [
              ...labels.map((label, at) =>
                at === 0
                  ? ([label, 'head'] as const)
                  : isNumberColumn(columns[at] ?? '')
                    ? ([label, 'number'] as const)
                    : label,
              ),
              ...(removes ? [[p.actions, 'actions'] as const] : []),
            ],
            rows: rows.map((row, at) => [
              ...columns.map((column) => printedCell(view, shown.partner.id, row, column)),
              ...(removes ? [removeButton(view, own, row, at)] : []),
            ]),
          })
    }
    ${removes && rows.map((row, at) => removalDialog(view, shown, own, row, at))}
    ${own.changes.filter((command) => may.has(command)).map((command) => changeForm(view, shown, own, command))}
  </section>`
}

const removeButton = (view: ConsoleView, section: Section, row: PrintedRow, at: number): Html =>
  dialogButton({
    ...{
      id: `${section.id}-remove-${at}`,
      label: deskTexts[view.language].partners.remove,
      about: rowLabel(view, section.columns, row),
    },
    tone: 'danger',
  })

function removalDialog(
  view: ConsoleView,
  { partner }: PartnerRules,
  section: Section,
  row: PrintedRow,
  at: number,
): Html {
  const p = deskTexts[view.language].partners
  const { removal } = section
  if (removal === undefined) return html``
  const id = `${section.id}-remove-${at}`
  const title = p[removal.command as keyof typeof p]
  return confirmationDialog({
    ...{ id, title, action: `${view.root}partners/${partner.id}/change` },
    about: html`<p>${rowLabel(view, section.columns, row)}</p>
      ${hiddenField('command', removal.command)} ${hiddenField(removal.option, String(row[removal.column]))}
      ${noteField(view, `${id}-note`)}`,
    ...{ submit: title, look: 'danger', cancel: p.back },
  })
}

function changeForm(
  view: ConsoleView,
  { partner, refused, optionsOf }: PartnerRules,
  section: Section,
  command: string,
): Html {
  const p = deskTexts[view.language].partners
  const own = refused?.command === command ? refused : undefined
  const typed = own?.form ?? (() => '')
  const prefix = `${section.id}-${command.replaceAll(' ', '-')}-`
  const title = p[command as keyof typeof p]
  return html`<details class="more" ${refused?.command === command && html` open`}>
    <summary>${title}</summary>
    <form method="post" action="${view.root}partners/${partner.id}/change">
      ${hiddenField('command', command)}
      <div class="grid">
        ${commandFields(view, { command, options: optionsOf(command), without: ['partner'], prefix, typed, refused: own })}
      </div>
      ${noteField(view, `${prefix}note`, { value: typed('note') })}
      <button type="submit" class="primary">${title}</button>
    </form>
  </details>`
}

export type Section = {
  readonly id:
    | 'balances'
    | 'blocks'
    | 'limits'
    | 'fees'
    | 'approvals'
    | 'coolingOffs'
    | 'gates'
    | 'recoveries'
    | 'credentials'
  readonly list: string
  readonly columns: readonly string[]
  /** The commands that have a form in the section. */
  readonly changes: readonly string[]
  /** The command that removes a row. `option` takes the value of `column`. */
  readonly removal?: { readonly command: string; readonly option: string; readonly column: string }
}

const byId = (command: string) => ({ command, option: 'id', column: 'id' })

/** The sections of a partner: the command that lists the rows, its columns, and the commands that change them. */
export const sections: readonly Section[] = [
  {
    id: 'balances',
    list: 'ledger balances',
    columns: ['account', 'currency', 'posted', 'reserved', 'available'],
    changes: [],
  },
  {
    id: 'blocks',
    list: 'account list',
    columns: ['currency', 'customerId', 'state', 'reason', 'staff', 'changedAt'],
    changes: ['account block', 'account unblock'],
  },
  {
    id: 'limits',
    list: 'limit list',
    columns: ['scope', 'scopeId', 'verificationState', 'period', 'currency', 'amount', 'allCurrencies'],
    changes: ['limit set'],
    removal: byId('limit remove'),
  },
  {
    id: 'fees',
    list: 'fee list',
    columns: ['rail', 'currency', 'fixed', 'basisPoints', 'min', 'max', 'validFrom'],
    changes: ['fee set'],
    removal: byId('fee remove'),
  },
  {
    id: 'approvals',
    list: 'approval list',
    columns: [
      ...['currency', 'allCurrencies', 'above', 'aboveDay', 'aboveBulk', 'beneficiaryHours', 'payeeMismatch'],
      ...['perPerson', 'expiresHours', 'needsPasskey'],
    ],
    changes: ['approval set'],
    removal: byId('approval remove'),
  },
  {
    id: 'coolingOffs',
    list: 'cooling-off list',
    columns: ['currency', 'hours'],
    changes: ['cooling-off set'],
    removal: byId('cooling-off remove'),
  },
  {
    id: 'gates',
    list: 'gate list',
    columns: ['verificationState', 'allowed'],
    changes: ['gate set'],
    removal: { command: 'gate remove', option: 'state', column: 'verificationState' },
  },
  {
    id: 'recoveries',
    list: 'member recovery list',
    columns: ['email', 'status', 'begunBy', 'reason', 'dueAt'],
    changes: ['member recover'],
    removal: byId('member recovery cancel'),
  },
  {
    id: 'credentials',
    list: 'service-account list',
    columns: ['name', 'status', 'permissions', 'impersonatedBy', 'lastUsedAt', 'expiresAt'],
    changes: [],
    removal: { command: 'service-account revoke', option: 'id', column: 'serviceAccountId' },
  },
]
/** Commands that the page of a partner may run. */
export const partnerCommands: ReadonlySet<string> = new Set(
  sections.flatMap(({ changes, removal }) => [...changes, ...(removal === undefined ? [] : [removal.command])]),
)
