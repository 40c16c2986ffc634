/** Shows what was read from a file of a bank: accounts with their balances, entries, payments and recalls, with links to what each belongs to. */
import { operatorPartnerId } from '../../cases/index.ts'
import { amountText, isCurrency } from '../../kernel/index.ts'
import type { BankFileFacts, FileEntry, FilePayment, FileRecall, FileStatement } from '../../rails/index.ts'
import { account, badge, calendarDay, freeText, identifier, message, money, table } from '../kit/parts.ts'
import { hiddenField } from '../kit/forms.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { fileTexts } from './file-texts.ts'

export type ShownCase = { readonly partnerId: string; readonly id: string; readonly kind: string }
/** Cases by what they are about: a file, an entry or a payment. */
export type CasesAbout = ReadonlyMap<string, ShownCase>

export type FileShown = {
  readonly file: BankFileFacts
  readonly cases: CasesAbout
  readonly statements: readonly FileStatement[]
  readonly hasMoreStatements: boolean
  /** The statement whose entries are shown. */
  readonly statement: FileStatement | undefined
  readonly entries: readonly FileEntry[]
  readonly payments: readonly FilePayment[]
  readonly recalls: readonly FileRecall[]
  readonly next?: string | undefined
  readonly first?: string | undefined
}

export function contents(view: ConsoleView, shown: FileShown): Html | false {
  const d = fileTexts[view.language]
  const { file, statements, statement } = shown
  if (file.sent !== null) return shown.recalls.length > 0 ? recallsTable(view, shown) : paymentsTable(view, shown)
  if (statements.length > 0)
    return html`${statementsTable(view, shown)} ${statement && entriesTable(view, shown, statement)}`
  return file.state === 'Taken' && html`<p>${d.noContents}</p>`
}

const moneyOf = (view: ConsoleView, amount: bigint, currency: string): Html | string =>
  isCurrency(currency) ? money(view, amountText(amount, currency), currency) : `${amount} ${currency}`

function statementsTable(view: ConsoleView, { file, statements, hasMoreStatements }: FileShown): Html {
  const d = fileTexts[view.language]
  const balance = (amount: bigint | null, currency: string) =>
    amount === null ? d.notStated : moneyOf(view, amount, currency)
  return html`<h2>${d.statements}</h2>
    ${hasMoreStatements && message('warning', d.moreStatements)}
    ${table({
      caption: d.statements,
      columns: [
        [d.statement, 'head'],
        d.account,
        d.day,
        [d.opening, 'number'],
        [d.credits, 'number'],
        [d.debits, 'number'],
        [d.closing, 'number'],
        [d.entries, 'number'],
      ],
      rows: statements.map((each) => [
        freeText(each.sequence === null ? each.statementId : `${each.statementId}, ${d.sequence} ${each.sequence}`),
        account(view, each.account),
        each.closingOn === null ? '' : calendarDay(view, each.closingOn),
        balance(each.opening, each.currency),
        moneyOf(view, each.credits, each.currency),
        moneyOf(view, each.debits, each.currency),
        balance(each.closing, each.currency),
        html`<a href="${view.root}files/${file.id}?statement=${each.id}"
          >${fill(d.showEntries, { count: String(each.entries) })}<span class="away"> ${each.statementId}</span></a
        >`,
      ]),
    })}`
}

function entriesTable(view: ConsoleView, { entries, cases }: FileShown, statement: FileStatement): Html {
  const d = fileTexts[view.language]
  const { currency, statementId, kind } = statement
  const title = fill(d.entriesOf, { statement: statementId })
  const outcome = ({ kind: matched, payments }: FileEntry): string => {
    const word = (d as Readonly<Record<string, string>>)[matched] ?? matched
    return payments === 1n ? word : fill(d.ofPayments, { word, count: String(payments) })
  }
  return html`<h2>${title}</h2>
    ${kind !== 'camt.053' && html`<p>${d.announcedText}</p>`}
    ${
      entries.length === 0
        ? html`<p>${d.noEntries}</p>`
        : table({
            caption: title,
            columns: [
              [d.outcome, 'head'],
              [d.amount, 'number'],
              d.bookedOn,
              d.inLedger,
              d.payout,
              d.partner,
              d.case,
              d.entry,
            ],
            rows: entries.map((each) => [
              outcome(each),
              moneyOf(view, each.amount, currency),
              calendarDay(view, each.bookedOn),
              badge(each.status === 'Applied' ? 'good' : 'warning', d[each.status]),
              each.kind === 'payout' || each.kind === 'return' ? findPayout(view, each.subjectId) : '',
              partnerLink(view, each.subjectPartnerId),
              caseLink(view, cases, [each.id, each.subjectId]),
              identifier(view, each.id, d.entry),
            ]),
          })
    }`
}

function paymentsTable(view: ConsoleView, { payments, cases }: FileShown): Html {
  const d = fileTexts[view.language]
  if (payments.length === 0)
    return html`<h2>${d.paymentsOf}</h2>
      <p>${d.noPayments}</p>`
  return html`<h2>${d.paymentsOf}</h2>
    ${table({
      caption: d.paymentsOf,
      columns: [
        [d.endToEndId, 'head'],
        [d.amount, 'number'],
        d.status,
        d.code,
        d.payout,
        d.partner,
        d.case,
        d.instruction,
      ],
      rows: payments.map((each) => [
        identifier(view, each.endToEndId, d.endToEndId),
        moneyOf(view, each.amount, each.currency),
        badge(toneOf(each.status), each.status),
        freeText(each.reasonCode ?? ''),
        findPayout(view, each.id),
        partnerLink(view, each.partnerId),
        caseLink(view, cases, [each.id]),
        identifier(view, each.id, d.instruction),
      ]),
    })}`
}

function recallsTable(view: ConsoleView, { recalls, cases }: FileShown): Html {
  const d = fileTexts[view.language]
  return html`<h2>${d.recalls}</h2>
    ${table({
      caption: d.recalls,
      columns: [[d.recall, 'head'], d.status, d.reason, d.answer, d.payout, d.partner, d.case],
      rows: recalls.map((each) => [
        identifier(view, each.id, d.recall),
        badge(toneOf(each.status), each.status),
        freeText(each.reason),
        freeText(each.answerCode ?? ''),
        findPayout(view, each.instructionId),
        partnerLink(view, each.partnerId),
        caseLink(view, cases, [each.id, each.instructionId]),
      ]),
    })}`
}

const toneOf = (status: string): 'good' | 'bad' | 'neutral' =>
  ['Settled', 'Accepted'].includes(status)
    ? 'good'
    : ['Rejected', 'Refused', 'Returned'].includes(status)
      ? 'bad'
      : 'neutral'

/** The search takes ids in a form, and not in an address. */
export function findPayout(view: ConsoleView, id: string | null): Html | string {
  if (id === null) return ''
  return html`<form method="post" action="${view.root}find">
    ${hiddenField('q', id)}<button type="submit" class="small">
      ${fileTexts[view.language].findPayout}<span class="away"> ${id}</span>
    </button>
  </form>`
}

export function partnerLink(view: ConsoleView, id: string | null): Html | string {
  const d = fileTexts[view.language]
  return id === null || id === operatorPartnerId
    ? ''
    : html`<a href="${view.root}partners/${id}">${d.openPartner}<span class="away"> ${d.partner} ${id}</span></a>`
}

function caseLink(view: ConsoleView, cases: CasesAbout, subjects: readonly (string | null)[]): Html | string {
  const found = subjects.map((id) => (id === null ? undefined : cases.get(id))).find((each) => each !== undefined)
  return found === undefined ? '' : html`<a href="${view.root}cases/${found.partnerId}/${found.id}">${found.kind}</a>`
}
