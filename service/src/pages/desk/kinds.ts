/**
 * The kinds of cases at the desk, each with its runbook and the facts of its report that the page shows. A kind without
 * a row does not compile.
 */
import type { CaseKind, CaseReport, ReportedMoney } from '../../cases/index.ts'
import type { DecidedKind } from '../../people/staff/index.ts'
import { account, calendarDay, freeText, links, money, moneyText, time } from '../kit/parts.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { deskTexts, type Runbook } from './texts.ts'

type ReportPart =
  | 'payer'
  | 'account'
  | 'texts'
  | 'amounts'
  | 'bank'
  | 'rule'
  | 'reconciliation'
  | 'safeguarding'
  | 'lacks'
  | 'reference'
type KindDetails = {
  readonly runbook: Runbook
  readonly parts: readonly ReportPart[]
  /** A decision that must be made first, on another page: about the hit, or about the payer's data. */
  readonly awaits?: 'hit' | 'payer'
}

const ofBank = { runbook: 'bank-difference', parts: ['payer', 'account', 'texts', 'amounts', 'bank'] } as const
const ofFile = { runbook: 'bank-files', parts: ['account', 'bank'] } as const

const kinds: Readonly<Record<CaseKind, KindDetails>> = {
  unknown_payment: ofBank,
  contradiction: ofBank,
  amount_differs: ofBank,
  credit_reversed: ofBank,
  bank_fee: ofBank,
  doubled: ofBank,
  unknown_debit: ofBank,
  foreign_currency: ofBank,
  entry_unclear: ofBank,
  announced_missing: ofBank,
  recall_letter: { runbook: 'recall-overdue', parts: ['bank'] },
  file_unreadable: ofFile,
  file_refused: ofFile,
  message_differs: ofFile,
  statement_gap: ofFile,
  statement_overlap: ofFile,
  sum_differs: ofFile,
  payment_missing: ofFile,
  payee_mismatch: ofFile,
  unexplained: { runbook: 'bank-difference', parts: ['account', 'reconciliation'] },
  safeguarding: { runbook: 'safeguarding', parts: ['safeguarding'] },
  account_blocked: ofBank,
  customer_not_verified: ofBank,
  payer_data_missing: { runbook: 'bank-difference', parts: ['payer', 'account', 'texts', 'lacks'], awaits: 'payer' },
  sanctions_hold: {
    runbook: 'screening-hit',
    parts: ['payer', 'account', 'texts', 'reference', 'amounts'],
    awaits: 'hit',
  },
  monitoring_alert: { runbook: 'monitoring-alert', parts: ['rule'] },
}

export const caseRunbook = (kind: CaseKind): Runbook => kinds[kind].runbook

/** Returns the decision that must be made first, if any. */
export const precedingDecision = (kind: CaseKind): KindDetails['awaits'] => kinds[kind].awaits

/** Returns the name of a kind in the reader's language. */
export const kindName = ({ language }: ConsoleView, kind: DecidedKind): string => deskTexts[language].kindNames[kind]

/** Returns the name of the actor: the name of a person, or a translated name for a component of the service. */
export function actorText({ language }: ConsoleView, actor: string): string {
  const names: Readonly<Record<string, string>> = deskTexts[language].actors
  const connector = /^bank (?<connector>.+)$/.exec(actor)?.groups?.['connector']
  return connector === undefined ? (names[actor] ?? actor) : fill(deskTexts[language].actors.bank, { connector })
}

/** Translates a note written by the service. A person's note is not translated. */
export function noteText({ language }: ConsoleView, note: string): string {
  const written: Readonly<Record<string, string>> = deskTexts.en.serviceNotes
  const words: Readonly<Record<string, string>> = deskTexts[language].serviceNotes
  const known = Object.keys(written).find((name) => written[name] === note)
  return (known && words[known]) ?? note
}

/** Returns the names of the people who decided. `second`: null if one person decided alone. */
export const decidersText = (view: ConsoleView, first: string | null, second: string | null): string => {
  const name = actorText(view, first ?? '')
  return second === null ? name : fill(deskTexts[view.language].cases.twoDeciders, { name, second })
}

type Facts = readonly (readonly [label: string, value: Html | string | undefined])[]

const reportedMoney = (view: ConsoleView, given: ReportedMoney | undefined): Html | undefined =>
  given && money(view, given.amount, given.currency)
const reportedText = (value: string | null | undefined): Html | string | undefined =>
  value ? freeText(value) : undefined
const inCurrency = (view: ConsoleView, amount: string | null | undefined, currency = ''): string | undefined =>
  amount === null || amount === undefined ? undefined : moneyText(view, amount, currency)

/** Returns the path of a payment's page. */
type HrefOf = (reference: string) => string

const parts: Readonly<Record<ReportPart, (view: ConsoleView, report: CaseReport, hrefOf: HrefOf) => Facts>> = {
  payer: (view, { debtor }) => {
    const d = deskTexts[view.language].cases
    return [
      [d.payer, reportedText(debtor?.name)],
      [d.payerAccount, debtor && account(view, debtor.account)],
      [d.payerCountry, reportedText(debtor?.countryCode)],
      [d.onBehalfOf, reportedText(debtor?.onBehalfOf)],
    ]
  },
  account: (view, { account: at }) => [[deskTexts[view.language].cases.atAccount, at ? account(view, at) : undefined]],
  texts: (view, { remittance, endToEndId, transactionHash }) => {
    const d = deskTexts[view.language].cases
    return [
      [d.purpose, reportedText(remittance)],
      [d.endToEndId, reportedText(endToEndId)],
      [d.transaction, reportedText(transactionHash)],
    ]
  },
  amounts: (view, { money: came, expected, instructed }) => {
    const d = deskTexts[view.language].cases
    return [
      [d.booked, reportedMoney(view, came)],
      [d.expected, reportedMoney(view, expected)],
      [d.instructed, reportedMoney(view, instructed)],
    ]
  },
  bank: (view, { details }) => [[deskTexts[view.language].cases.bankSays, reportedText(details)]],
  reference: (view, { reference }) => [[deskTexts[view.language].cases.reference, reportedText(reference)]],
  rule: (view, { rule, count, sum, currency, references = [] }, hrefOf) => {
    const d = deskTexts[view.language].cases
    return [
      [d.rule, rule && html`<a href="${view.root}rules/${rule.id}">${rule.name}</a>`],
      [d.version, rule && String(rule.version)],
      [d.pattern, rule && ruleKindText(view, rule.kind)],
      [d.found, count === undefined ? undefined : String(count)],
      [d.sum, inCurrency(view, sum, currency)],
      [d.references, links(references.map((text) => ({ text, href: hrefOf(text) })))],
    ]
  },
  reconciliation: (view, { bank, ledger, difference, unexplained, currency }) => {
    const d = deskTexts[view.language].cases
    return [
      [d.bankSum, inCurrency(view, bank, currency)],
      [d.ledgerSum, inCurrency(view, ledger, currency)],
      [d.difference, inCurrency(view, difference, currency)],
      [d.unexplainedSum, inCurrency(view, unexplained, currency)],
    ]
  },
  safeguarding: (view, { day, requirement, resource, difference, currency, missingStatements = [] }) => {
    const d = deskTexts[view.language].cases
    return [
      [d.day, day && html`<a href="${view.root}safeguarding/${day}/${currency ?? ''}">${calendarDay(view, day)}</a>`],
      [d.requirement, inCurrency(view, requirement, currency)],
      [d.resource, inCurrency(view, resource, currency)],
      [d.difference, inCurrency(view, difference, currency)],
      [d.missing, links(missingStatements.map((text) => ({ text })))],
    ]
  },
  lacks: (view, { payer }) => {
    const d = deskTexts[view.language].cases
    return [
      [d.lacks, payer?.lacks.map((each) => lackName(d, each)).join(', ')],
      [d.answerBy, payer?.answerBy ? time(view, new Date(payer.answerBy)) : undefined],
    ]
  },
}

function lackName(d: (typeof deskTexts)['en']['cases'], each: string): string {
  const names: Readonly<Record<string, string>> = {
    name: d.lacksName,
    account: d.lacksAccount,
    address: d.lacksAddress,
    ownership: d.lacksOwnership,
  }
  return names[each] ?? each
}

/** Returns the name of a kind of rule, without its explanation. */
export function ruleKindText({ language }: ConsoleView, kind: string): string {
  const words: Readonly<Record<string, string>> = deskTexts[language].rules
  return (words[kind] ?? kind).split(':', 1)[0] ?? kind
}

/** Lists the facts of the report that a decision needs. The raw report has all facts. */
export const reportFacts = (view: ConsoleView, kind: CaseKind, report: CaseReport, hrefOf: HrefOf): Facts =>
  kinds[kind].parts.flatMap((part) => parts[part](view, report, hrefOf))
