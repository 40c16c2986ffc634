/** The page that checks a bulk file: inputs for invalid lines, new payees, sums, and possible duplicates. */
import { amountText } from '../../kernel/index.ts'
import type { CheckedBulk, CheckedLine, CheckedPayee, LineColumn, TypedLine } from '../../payouts/bulk/index.ts'
import { html, type Html } from '../html.ts'
import { checkbox, confirmedForm, emptyForm, hiddenField, input, inputs, type FieldProblems } from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import {
  accountText,
  badge,
  freeText,
  heading,
  formatAccount,
  message,
  money,
  moneyText,
  section,
  summaryStrip,
  table,
  timeText,
  nameCheckTones,
} from '../kit/parts.ts'
import { fill } from '../language.ts'
import { columnName, usedColumns } from './bulk-file.ts'
import { payAgainBox } from './repeats.ts'
import { texts } from './texts/index.ts'

export type BulkMode = 'AllOrNothing' | 'BestEffort'

/** The uploaded content of a bulk. */
export type BulkDraft = {
  readonly mode: BulkMode
  readonly lines: readonly TypedLine[]
  /** The id of the pain.001. Absent: the file was CSV. */
  readonly messageId?: string
  /** Absent: the file had no name. */
  readonly name?: string
}

export const draftDone = ['corrected', 'replaced', 'verified'] as const

export type CheckPage = CheckedBulk & {
  readonly id: string
  readonly revision: number
  readonly mode: BulkMode
  readonly messageId?: string | undefined
  readonly expiresAt: Date
  readonly mayWritePayees: boolean
  /** Page number of the list of all payouts, from 1. */
  readonly page: number
  readonly done?: (typeof draftDone)[number] | undefined
  readonly problems: FieldProblems
}

/** Maximum invalid lines in one form. Keeps the page small and the form body below its size limit. */
const correctedAtOnce = 25
const shownPayeesMax = 100
const shownDuplicatesMax = 50
/** Maximum possible duplicates that are listed for a line. Those with the same reference come first. */
const namedDuplicatesMax = 2
const linesPerPage = 100

/** The state of a line: the first state that applies. Only a `wrong` line blocks the bulk. */
type LineState = 'wrong' | 'refused' | 'unreachable' | 'held' | 'pay'

export const needsCorrection = ({ mistakes, resolved }: CheckedLine): boolean =>
  mistakes.length > 0 || resolved?.kind === 'question' || resolved?.kind === 'problem'

function lineState(line: CheckedLine): LineState {
  if (needsCorrection(line)) return 'wrong'
  if (line.refusal !== undefined) return 'refused'
  if (line.unreachable !== undefined) return 'unreachable'
  return line.isHeld ? 'held' : 'pay'
}

export const isPossibleDuplicate = ({ duplicates }: CheckedLine): boolean =>
  [duplicates.earlier, duplicates.scheduled, duplicates.lines].some((found) => found.length > 0)

/** Lists payees whose bank has not verified the name yet. */
export const unverifiedPayees = (payees: readonly CheckedPayee[]): readonly CheckedPayee[] =>
  payees.filter(({ fields, verification }) => fields.iban !== undefined && verification === undefined)

const formatCount = ({ language }: ConsoleView, n: number): string => n.toLocaleString(language)

export function checkBulkPage(view: ConsoleView, given: CheckPage): string {
  const b = texts[view.language].bulk
  const path = `${view.root}bulk-payouts/drafts/${given.id}`
  const { lines, newPayees, problems, done } = given
  const wrong = lines.filter(needsCorrection)
  return shell(view, {
    title: b.title,
    wide: true,
    problems,
    main: html`${done !== undefined && message('good', b[done])} ${heading(b.title, undefined)}
      <p class="lead">${b.titleText} ${fill(b.kept, { time: timeText(view, given.expiresAt) })}</p>
      ${given.messageId !== undefined && html`<p>${fill(b.fromPain001, { id: given.messageId })}</p>`}
      ${summary(view, given)} ${wrong.length > 0 && correction(view, { path, given, wrong })}
      ${newPayees.length > 0 && payeesPart(view, path, newPayees)} ${repeatedPart(view, given)}
      ${sendPart(view, path, given)} ${allPart(view, path, given)}
      ${confirmedForm(view, {
        id: 'discard',
        title: b.discardTitle,
        action: `${path}/discard`,
        about: b.bulk,
        effects: [b.discardEffect],
        submit: b.discard,
      })}
      <p class="foot"><a href="${view.root}bulk-payouts/new">${b.otherFile}</a></p>`,
  })
}

function summary(view: ConsoleView, { lines, funds, mode }: CheckPage): Html {
  const b = texts[view.language].bulk
  const sums = funds.map(({ currency, needed, fees }) =>
    money(view, amountText(needed - fees, currency), currency, 'main'),
  )
  return html`${summaryStrip([
    [b.payouts, formatCount(view, lines.length)],
    [b.sums, html`<span class="lines">${sums}</span>`],
    [b.mode, b.modes[mode]],
  ])}
  ${
    funds.length > 0 &&
    section(
      'funds',
      b.fundsTitle,
      table({
        caption: b.fundsTitle,
        columns: [
          [texts[view.language].payments.currency, 'head'],
          [b.fees, 'number'],
          [b.needed, 'number'],
          [b.available, 'number'],
          b.state,
        ],
        rows: funds.map(({ currency, needed, fees, available, covers }) => [
          currency,
          money(view, amountText(fees, currency), currency),
          money(view, amountText(needed, currency), currency),
          money(view, amountText(available, currency), currency),
          covers
            ? badge('good', b.enough)
            : badge(
                'bad',
                fill(b.short, {
                  amount: moneyText(
                    view,
                    amountText(needed > available ? needed - available : needed, currency),
                    currency,
                  ),
                }),
              ),
        ]),
      }),
    )
  }`
}

type Correction = { readonly path: string; readonly given: CheckPage; readonly wrong: readonly CheckedLine[] }

/** Renders inputs for the invalid lines, and the upload of a corrected file. Valid lines are not in the form and stay unchanged. */
function correction(view: ConsoleView, { path, given, wrong }: Correction): Html {
  const b = texts[view.language].bulk
  const shown = wrong.slice(0, correctedAtOnce)
  const used = usedColumns(given.lines.map(({ typed }) => typed))
  const counts = { count: formatCount(view, wrong.length), right: formatCount(view, given.lines.length - wrong.length) }
  const part = html`<p>${fill(b.wrongText, counts)}</p>
    ${wrong.length > shown.length && html`<p>${fill(b.wrongShown, { ...counts, shown: formatCount(view, shown.length) })}</p>`}
    <form method="post" action="${path}/correct">
      ${hiddenField('revision', String(given.revision))} ${shown.map((line) => lineFields(view, line, used))}
      <button type="submit" class="primary">${b.saveAgain}</button>
    </form>
    ${given.messageId === undefined && replacement(view, path, given, counts)}`
  return section('wrong', fill(b.wrongTitle, { count: counts.count }), part)
}

/** Renders the upload of a corrected file. Offered for CSV uploads only, because CSV cannot represent every element of a pain.001. */
function replacement(
  view: ConsoleView,
  path: string,
  given: CheckPage,
  counts: Readonly<Record<'count' | 'right', string>>,
): Html {
  const b = texts[view.language].bulk
  return html`<h3 class="more">${b.orFile}</h3>
    <p>${fill(b.orFileText, counts)}</p>
    <p><a href="${path}/wrong.csv" download>${b.wrongFile}</a></p>
    <form method="post" action="${path}/replace" enctype="multipart/form-data">
      ${hiddenField('revision', String(given.revision))}
      ${input(
        view,
        { values: {}, problems: given.problems },
        {
          name: 'file',
          type: 'file',
          label: b.correctedFile,
          more: html`accept=".csv,text/csv"`,
        },
      )}
      <button type="submit">${b.addCorrected}</button>
    </form>`
}

function lineFields(view: ConsoleView, line: CheckedLine, used: readonly LineColumn[]): Html {
  const b = texts[view.language].bulk
  const { typed, mistakes, resolved } = line
  const name = (column: string) => `l${typed.line}.${column}`
  const problems = Object.fromEntries(mistakes.map(({ column, code }) => [name(column), b.mistake[code]]))
  const whole = payeeText(view, line)
  const columns = new Set([...used, ...mistakes.map(({ column }) => column)])
  const values = Object.fromEntries([...columns].map((column) => [name(column), typed.cells[column]]))
  const cells = [...columns].map(
    (column) => ({ name: name(column), label: columnName(view.language, column), optional: 'unmarked' }) as const,
  )
  return html`<fieldset class="card" id="line-${typed.line}">
    <legend>${fill(b.lineOf, { line: String(typed.line) })}</legend>
    ${whole !== undefined && html`<p class="error">${whole}</p>`}
    <div class="grid">
      ${resolved?.kind === 'question' && questionField(view, line, name('choice'))}
      ${inputs(view, { values, problems }, cells)}
    </div>
    ${checkbox({ name: name('leave'), label: b.leaveOut })}
  </fieldset>`
}

/** Describes what is wrong with the payee of a line. */
function payeeText(view: ConsoleView, { resolved, typed }: CheckedLine): string | undefined {
  const b = texts[view.language].bulk
  const given = typed.cells.name || typed.cells.payee
  if (resolved?.kind === 'question')
    return fill(b.question[resolved.about], { given, name: resolved.options[0]?.name ?? '' })
  if (resolved?.kind !== 'problem') return undefined
  return fill(b.payeeProblem[resolved.code], { currencies: (resolved.currencies ?? []).join(', ') })
}

function questionField(view: ConsoleView, { resolved, typed }: CheckedLine, name: string): Html | undefined {
  const b = texts[view.language].bulk
  if (resolved?.kind !== 'question') return undefined
  const ours = resolved.options.map(
    (payee) =>
      [
        payee.id,
        fill(b.ours, { name: payee.name, account: formatAccount(payee.iban ?? payee.domesticAccount ?? '') }),
      ] as const,
  )
  const asNew = resolved.about === 'name' ? [['new', fill(b.asNew, { name: typed.cells.name })] as const] : []
  return input(view, emptyForm, {
    name,
    label: b.resultColumns.name,
    value: typed.choice,
    any: b.choose,
    options: [...ours, ...asNew],
  })
}

function payeesPart(view: ConsoleView, path: string, payees: readonly CheckedPayee[]): Html {
  const b = texts[view.language].bulk
  const p = texts[view.language].payments
  const shown = payees.slice(0, shownPayeesMax)
  const open = unverifiedPayees(payees).length
  const check = ({ fields, verification }: CheckedPayee): Html => {
    if (verification === undefined) return badge('neutral', fields.iban === undefined ? b.noIban : b.notAsked)
    const { result, matchedName } = verification
    return html`${badge(nameCheckTones[result], p.resultShort[result])}
    ${matchedName !== null && html`<span class="soft">${p.matchedName}: ${matchedName}</span>`}`
  }
  const part = html`<p>${b.newText}</p>
    ${payees.length > shown.length && html`<p>${fill(b.newShown, { shown: formatCount(view, shown.length), count: formatCount(view, payees.length) })}</p>`}
    ${table({
      caption: b.resultColumns.name,
      columns: [[p.payee, 'head'], p.account, p.currency, b.nameCheck, [b.lines, 'number']],
      rows: shown.map((payee) => [
        html`${payee.name}
        ${payee.refusal !== undefined && html`<span class="error">${refusalText(view, payee.refusal)}</span>`}`,
        html`<code class="account">${formatAccount(accountText(payee.fields))}</code>`,
        payee.currency,
        check(payee),
        payee.lines.slice(0, namedLinesMax).join(', ') + (payee.lines.length > namedLinesMax ? ', …' : ''),
      ]),
    })}
    ${
      open > 0 &&
      html`<form method="post" action="${path}/verify" class="more">
        <button type="submit">${fill(b.verify, { count: formatCount(view, open) })}</button>
      </form>`
    }`
  return section('new-payees', fill(b.newTitle, { count: formatCount(view, payees.length) }), part)
}

const namedLinesMax = 5

/** Returns the text of a refusal in the language of the page, or the English text of the service. */
export function refusalText(
  view: ConsoleView,
  {
    code,
    detail,
    errors,
  }: { readonly code: string; readonly detail: string; readonly errors: readonly { readonly message: string }[] },
): string {
  const known: Readonly<Record<string, string>> = texts[view.language].payments.refusal
  return known[code] ?? errors[0]?.message ?? detail
}

function repeatedPart(view: ConsoleView, { lines, earlier }: CheckPage): Html | undefined {
  const b = texts[view.language].bulk
  const repeated = lines.filter(isPossibleDuplicate)
  if (repeated.length === 0 && earlier.length === 0) return undefined
  const files = earlier.map(({ id, createdAt, accountName, same, of }) => {
    const text = fill(same === of ? b.earlierWhole : b.earlier, {
      same: formatCount(view, same),
      of: formatCount(view, of),
      name: accountName,
    })
    return html`<li>
      ${text} <a href="${view.root}bulk-payouts/${id}">${fill(b.openEarlier, { time: timeText(view, createdAt) })}</a>
    </li> `
  })
  const rows = repeated
    .slice(0, shownDuplicatesMax)
    .map(({ typed, read, duplicates }) => [
      String(typed.line),
      typed.cells.name || typed.cells.payee,
      read === undefined ? '' : money(view, amountText(read.amount, read.currency), read.currency),
      html`<span class="lines">
        ${duplicates.earlier
          .slice(0, namedDuplicatesMax)
          .map(
            ({ id, createdAt, remittance, reference }) =>
              html`<a href="${view.root}payouts/${id}"
                >${fill(b.paidBefore, { time: timeText(view, createdAt), reference: remittance ?? reference })}</a
              >`,
          )}
        ${duplicates.scheduled
          .slice(0, namedDuplicatesMax)
          .map(
            ({ id, dueAt, reference }) =>
              html`<a href="${view.root}standing-orders/${id}"
                >${fill(b.paidByOrder, { time: timeText(view, dueAt), reference: reference ?? '' }).trim()}</a
              >`,
          )}
        ${duplicates.lines.map((line) => html`<span>${fill(b.repeatsLine, { line: String(line) })}</span>`)}
      </span>`,
    ])
  const part = html`${
    files.length > 0 &&
    html`<ul class="effects">
      ${files}
    </ul>`
  }
  ${
    rows.length > 0 &&
    html`<p>${b.duplicatesText}</p>
      ${table({
        caption: b.states.again,
        columns: [[b.line, 'head'], b.resultColumns.name, [b.resultColumns.amount, 'number'], b.states.again],
        rows,
      })}`
  }`
  return section('repeated', fill(b.duplicatesTitle, { count: formatCount(view, Math.max(repeated.length, 1)) }), part)
}

/** Reports whether a refused line blocks the whole bulk. */
export const isBulkBlocked = (mode: BulkMode, lines: readonly CheckedLine[]): boolean =>
  mode === 'AllOrNothing' && lines.some(({ refusal }) => refusal !== undefined)

function sendPart(view: ConsoleView, path: string, given: CheckPage): Html {
  const b = texts[view.language].bulk
  const { lines, mode, newPayees, earlier, revision, seen, problems } = given
  const wrong = lines.filter(needsCorrection).length
  const refused = lines.filter(({ refusal }) => refusal !== undefined).length
  const leaveOut = html`<form method="post" action="${path}/leave-out">
    ${hiddenField('revision', String(revision))}
    <button type="submit">${b.leftOut}</button>
  </form>`
  if (lines.length === 0) return html`<p>${b.nothingLeft}</p>`
  if (wrong > 0) return html`<p class="more">${fill(b.blockedWrong, { count: formatCount(view, wrong) })}</p>`
  if (isBulkBlocked(mode, lines))
    return html`${message('bad', fill(b.blockedRefused, { count: formatCount(view, refused) }))}
      <div class="buttons">${leaveOut}</div>`
  if (newPayees.length > 0 && !given.mayWritePayees) return message('bad', b.noWritePayees)
  const repeated = lines.filter(isPossibleDuplicate).length
  const asks = repeated > 0 || earlier.length > 0
  const error = problems['again']
  return html`${
      refused > 0 &&
      html`<p>${fill(b.someRefused, { count: formatCount(view, refused) })}</p>
        <div class="buttons">${leaveOut}</div>`
    }
    <form method="post" action="${path}/send" class="more">
      ${hiddenField('revision', String(revision))} ${hiddenField('seen', seen)}
      ${asks && payAgainBox(repeated > 0 ? fill(b.again, { count: formatCount(view, repeated) }) : b.againFile, error)}
      <button type="submit" class="primary">
        ${lines.length === 1 ? b.sendOne : fill(b.send, { count: formatCount(view, lines.length) })}
      </button>
    </form>`
}

const stateTones = { pay: 'good', held: 'warning', wrong: 'bad', refused: 'bad', unreachable: 'bad' } as const

function allPart(view: ConsoleView, path: string, given: CheckPage): Html | undefined {
  const b = texts[view.language].bulk
  const p = texts[view.language].payments
  if (given.lines.length === 0) return undefined
  const pages = Math.ceil(given.lines.length / linesPerPage)
  const at = Math.min(Math.max(1, given.page), pages)
  const shown = given.lines.slice((at - 1) * linesPerPage, at * linesPerPage)
  const part = html`${table({
    caption: b.payouts,
    columns: [[b.line, 'head'], p.payee, p.reference, b.state, [p.amount, 'number']],
    rows: shown.map((line) => [
      String(line.typed.line),
      payeeCell(view, line),
      html`${freeText(line.typed.cells.reference)}
      ${
        line.typed.file?.endToEndId !== undefined &&
        html`<span class="soft">${p.endToEndId}: ${line.typed.file.endToEndId}</span>`
      }`,
      stateCell(view, line),
      amountCell(view, line),
    ]),
  })}
  ${
    pages > 1 &&
    html`<p class="more buttons">
      ${at > 1 && html`<a class="button" href="${path}?page=1#all">${view.t.firstPage}</a>`}
      ${at < pages && html`<a class="button" href="${path}?page=${at + 1}#all">${view.t.nextPage}</a>`}
    </p>`
  }`
  return section('all', b.allTitle, part)
}

function payeeCell(view: ConsoleView, { typed, resolved }: CheckedLine): Html | string {
  const b = texts[view.language].bulk
  if (resolved?.kind === 'saved') {
    const { id, name, iban, domesticAccount } = resolved.payee
    return html`<a href="${view.root}payees/${id}">${name}</a>
      <span class="soft">${formatAccount(iban ?? domesticAccount ?? '')}</span>`
  }
  if (resolved?.kind === 'new')
    return html`${resolved.payee.name} ${badge('neutral', b.newPayee)}
      <span class="soft">${formatAccount(accountText(resolved.payee.fields))}</span>`
  return typed.cells.name || typed.cells.payee
}

function stateCell(view: ConsoleView, line: CheckedLine): Html {
  const b = texts[view.language].bulk
  const state = lineState(line)
  const reason = line.refusal === undefined ? line.unreachable : refusalText(view, line.refusal)
  return html`${badge(stateTones[state], b.states[state])}
  ${isPossibleDuplicate(line) && badge('warning', b.states.again)}
  ${reason !== undefined && html`<span class="soft">${reason}</span>`}`
}

const amountCell = (view: ConsoleView, { read, typed }: CheckedLine): Html | string =>
  read === undefined
    ? `${typed.cells.amount} ${typed.cells.currency}`
    : money(view, amountText(read.amount, read.currency), read.currency)
