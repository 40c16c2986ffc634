/** The pages of bank files and of reconciliation: hostile texts, labels, structure, and what they must not show. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  checkEscaped,
  checkLabels,
  checkSize,
  checkStructure,
  evil,
  viewOf,
} from '../../../../test/support/console-pages.ts'
import { type BankFileDetails, bankFileFilters, type FileEntry } from '../../rails/index.ts'
import type { ReportLine } from '../../cases/reconciliation/index.ts'
import { differenceKinds, memoKinds } from '../../cases/reconciliation/rules.ts'
import { type ConsoleLanguage, consoleLanguages } from '../kit/language.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { html } from '../html.ts'
import { filePage, type FileDetails, filesPage } from './files.ts'
import { deskTexts } from './texts.ts'
import { accountPage, accountsPage } from './reconciliation.ts'

const at = new Date('2026-11-24T14:30:00Z')
const states = ['Taking', 'Taken', 'Repeated', 'Aside', 'Made', 'Staged', 'Delivered'] as const

const fileOf = (
  text: string,
  state: BankFileDetails['state'],
  more: Partial<BankFileDetails> = {},
): BankFileDetails => ({
  ...{ direction: 'received', id: `file-${state}`, connector: text, name: text, kind: text, messageId: text, state },
  ...{ problem: text, at, sha256: text, bytes: 12n, endedAt: at, releasedAt: null, sent: null },
  ...more,
})
const nothing = {
  ...{ cases: new Map(), statements: [], hasMoreStatements: false, statement: undefined },
  ...{ entries: [], payments: [], recalls: [] },
} as const satisfies Partial<FileDetails>

/** A bank file with every section. `text` replaces each text from a bank. */
function received(text: string, kind: string): FileDetails {
  const statement = {
    ...{ id: text, kind, account: text, currency: 'EUR', statementId: text, sequence: 1n, opening: null, closing: -1n },
    ...{ openingOn: null, closingOn: '2026-11-24', entries: 2n, credits: 1n, debits: 2n },
  }
  const entry: Omit<FileEntry, 'id' | 'kind'> = {
    ...{ amount: -100n, bookedOn: '2026-11-24', valueOn: null, position: 1n, payments: 1n, isReversal: false },
    ...{ status: 'Applied', subjectId: text, subjectPartnerId: text, createdAt: at },
  }
  const kinds = ['payout', 'return', 'credit', 'reversal', 'fee', 'unknown', 'waiting', text]
  const file = fileOf(text, 'Aside', { releasedAt: at })
  const about = (id: string) => ({ partnerId: text, id, kind: 'message_differs' as const })
  return {
    ...nothing,
    ...{ file, statements: [statement, { ...statement, currency: text }], hasMoreStatements: true, statement },
    cases: new Map([file.id, text].map((id) => [id, about(text)])),
    entries: kinds.map((each, nth) => ({ ...entry, id: `${text}${nth}`, kind: each })),
    ...{ next: text, first: text },
  }
}

function sent(text: string): readonly FileDetails[] {
  const facts = { payments: 1n, controlSum: text, attempts: 2, bankStatus: text }
  const file = fileOf(text, 'Delivered', { direction: 'sent', sent: facts })
  const payment = { partnerId: text, id: text, endToEndId: text, currency: 'EUR', amount: 1n }
  const payments = ['Settled', 'Rejected', text].map((status) => ({ ...payment, status, reasonCode: text }))
  const recall = { partnerId: text, id: text, instructionId: text, status: text, reason: text, answerCode: null }
  return [
    { ...nothing, file, payments },
    { ...nothing, file, recalls: [recall] },
    { ...nothing, file: { ...file, sent: { ...facts, bankStatus: null } } },
  ]
}

/** A report with every kind of line. `text` replaces each text from a bank or a partner. */
function linesOf(text: string, unexplained: string): readonly ReportLine[] {
  const named = { connector: text, account: text, currency: 'EUR', amount: '1.00', count: '2', since: at.toISOString() }
  const records = [
    'entry_not_on_statement',
    'entry_new',
    'payment_not_booked',
    'payment_missing',
    'case',
    'case_reversed',
  ]
  const item = (record: string, kind: string) => ({ ...named, record, kind, why: text, first_seen: at.toISOString() })
  const sums = {
    bank: '9.00',
    ledger: '7.00',
    difference: '-2.00',
    explained: '-1.50',
    unexplained,
    opening: '1.00',
    closing: '10.00',
  }
  return [
    { ...named, record: 'account', at: at.toISOString(), statement_on: '2026-11-24', ...sums },
    ...Object.keys(differenceKinds).map((kind) => item('difference', kind)),
    ...[item('suspense', text), ...Object.keys(memoKinds).map((kind) => item('memo', kind))],
    { ...named, ...sums, record: 'statement', id: text, statement_on: '', credits: '1.00', debits: '', gap_before: '' },
    ...records.map((record) => ({
      ...named,
      record,
      kind: 'payout',
      id: text,
      subject: text,
      partner: text,
      status: text,
    })),
  ]
}

const taking = (text: string, mayTake = true) => ({ mayTake, waits: true, error: text, typed: () => text })

function pagesOf(language: ConsoleLanguage, text: string): readonly (readonly [string, string])[] {
  const person = { fullName: text, email: text, roleName: html`${text}`, partnerName: text }
  const view: ConsoleView = viewOf(language, { person, places: [], current: 'files' })
  const files = states.map((state) => fileOf(text, state, state === 'Aside' ? { kind: null } : { problem: null }))
  const name = { connector: text, account: text, currency: 'EUR' }
  const lines = linesOf(text, '-0.50')
  const shown = { name, lines, days: lines.slice(0, 1), at, rowsMax: 50, next: text, first: text }
  return [
    ...bankFileFilters.map((show) => {
      const given = { files, banks: [text, 'b'], bank: text, show, next: text, first: text }
      return ['files', filesPage(view, given)] as const
    }),
    ['no files', filesPage(view, { files: [], banks: [], bank: undefined, show: 'all' })],
    ...states.map(
      (state) => [`file ${state}`, filePage(view, { ...nothing, ...taking(text), file: fileOf(text, state) })] as const,
    ),
    ...['camt.053', 'camt.054'].map(
      (kind) => [kind, filePage(view, { ...received(text, kind), ...taking(text) })] as const,
    ),
    ...sent(text).map((each) => ['sent file', filePage(view, { ...each, ...taking(text) })] as const),
    ...[true, false].map((mayTake) => {
      const file = fileOf(text, 'Aside')
      const cases = new Map([[file.id, { partnerId: text, id: text, kind: 'sum_differs' as const }]])
      return ['file to take', filePage(view, { ...nothing, ...taking(text, mayTake), file, cases })] as const
    }),
    ['no accounts', accountsPage(view, { now: at, accounts: [] })],
    ['accounts', accountsPage(view, { now: at, accounts: [lines[0], undefined].map((line) => ({ name, line })) })],
    ['account', accountPage(view, { now: at, ...shown })],
    ['account now', accountPage(view, { now: at, ...shown, at: undefined, lines: linesOf(text, '0.00'), days: [] })],
    ['account without a run', accountPage(view, { now: at, ...shown, lines: [] })],
    [
      'suspense',
      accountPage(view, { now: at, ...shown, name: { ...name, account: 'suspense' }, lines: lines.slice(0, 1) }),
    ],
  ]
}

test('the pages escape hostile texts, label fields and have their structure, in every language', () => {
  for (const language of consoleLanguages)
    for (const [name, page] of pagesOf(language, evil)) {
      checkEscaped(name, page)
      checkLabels(name, page)
      checkStructure(name, page)
      checkSize(name, page)
    }
})

test('the result is Unexplained if any amount is unexplained, Explained if the whole difference is explained, and Agrees if there is none', () => {
  const view = viewOf('en', { places: [], current: 'reconciliation' })
  const name = { connector: 'a', account: 'b', currency: 'EUR' }
  for (const [difference, unexplained, result] of [
    ['-2.00', '-0.50', 'Unexplained'],
    ['0.00', '0.01', 'Unexplained'],
    ['1234.50', '0.00', 'Explained'],
    ['0.00', '0.00', 'Agrees'],
  ] as const) {
    const line = {
      record: 'account',
      currency: 'EUR',
      difference,
      unexplained,
      explained: '0.00',
      statement_on: at.toISOString().slice(0, 10),
    }
    assert.match(accountsPage(view, { now: at, accounts: [{ name, line }] }), new RegExp(`badge \\w+">${result}<`))
  }
})

test('a page shows neither the other party nor the remittance of an entry', () => {
  const view = viewOf('en', { places: [], current: 'reconciliation' })
  const name = { connector: 'a', account: 'b', currency: 'EUR' }
  const personal = { other_party: 'Hedy Lamarr', remittance: 'Hedy Lamarr', reference: 'Hedy Lamarr' }
  const lines = linesOf('text', '0.00').map((line) => ({ ...line, ...personal }))
  assert.doesNotMatch(accountPage(view, { now: at, name, lines, days: lines, at, rowsMax: 50 }), /Lamarr/)
})

test('every part of a difference has a name and an instruction', () => {
  for (const kind of [...Object.keys(differenceKinds), ...Object.keys(memoKinds)])
    for (const key of [kind, `${kind}Do`]) assert.ok(key in deskTexts.en.reconciliation, key)
})
