import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { permissions } from '@partner-payments/wire'
import {
  checkEscaped,
  checkLabels,
  checkPlain,
  checkSize,
  checkStructure,
  evil,
  viewOf,
} from '../../../../test/support/console-pages.ts'
import { type ConsoleLanguage, consoleLanguages, consoleTexts } from '../kit/language.ts'
import { appearancePage } from './appearance.ts'
import { bulkPage, bulkPreviewPage, bulksPage, newBulkPage } from './bulk.ts'
import {
  newSessionPage,
  sessionFields,
  sessionFilters,
  sessionOfCheckoutPage,
  sessionsOfCheckoutPage,
} from './checkout.ts'
import { placesOf } from './places.ts'
import { refundFields, refundPreviewPage } from './refunds.ts'
import {
  newReportPage,
  newSchedulePage,
  reportFields,
  reportPage,
  reportsPage,
  scheduleFields,
  schedulesPage,
} from './reports.ts'

const at = new Date('2026-11-24T14:30:00Z')
const pages = { next: '../x', first: '../x' }
const wholeQuery = (names: readonly string[], text: string) => Object.fromEntries(names.map((name) => [name, text]))
const insideOf = (language: ConsoleLanguage, current: string) =>
  viewOf(language, { places: placesOf(consoleTexts[language], permissions, true), current })

type Named = readonly (readonly [name: string, page: string])[]

function checkoutPages(language: ConsoleLanguage, text: string): Named {
  const view = insideOf(language, 'checkout')
  const row = {
    ...{ id: 's1', amount: '49.90', currency: 'EUR', status: 'Open' as const, creditorReference: text },
    ...{ createdAt: at, expiresAt: at },
  }
  const values = wholeQuery(sessionFilters, text)
  const typed = wholeQuery(sessionFields, text)
  const session = {
    ...row,
    refunded: null,
    url: text,
    iban: text,
    bic: text,
    transactionHref: '../x',
    customerHref: '../x',
  }
  const refund = {
    ...{ reference: text, amount: '9.90', currency: 'EUR', status: 'Failed', reason: text, errorKey: text },
    ...{ createdAt: at, payoutHref: '../x' },
  }
  const form = { idempotencyKey: text, values: {} }
  const rows = [refund, { ...refund, payoutHref: undefined }]
  const parts = [{ id: 'p1', amount: '20.00', payer: text }]
  const refunds = { rows, pages, currency: 'EUR', left: '40.00', form, parts }
  const typedRefund = wholeQuery(refundFields, text)
  const wrong = { ...refunds, form: { ...form, values: typedRefund } }
  const preview = {
    ...{ sessionId: 's1', creditorReference: text, currency: 'EUR', idempotencyKey: text, leftAfter: '0.00' },
    values: { ...typedRefund, amount: '9.90' },
  }
  const paid = { ...session, status: 'Completed' as const, refunded: '9.90', refunds }
  const may = { expire: true, simulate: true }
  const none = { expire: false, simulate: false }
  return [
    ['sessions', sessionsOfCheckoutPage(view, { rows: [row], values, problems: values, pages, mayWrite: true })],
    ['no sessions', sessionsOfCheckoutPage(view, { rows: [], values: {}, problems: {}, pages: {}, mayWrite: false })],
    ['new session', newSessionPage(view, { values: {}, problems: {}, idempotencyKey: text })],
    ['refused session', newSessionPage(view, { values: typed, problems: typed, idempotencyKey: text })],
    ['session', sessionOfCheckoutPage(view, { ...session, may, done: 'created', problems: { form: text } })],
    ['ended session', sessionOfCheckoutPage(view, { ...session, status: 'Expired', may: none, problems: {} })],
    ['refunded session', sessionOfCheckoutPage(view, { ...paid, may: none, done: 'refunded', problems: {} })],
    ['refused refund', sessionOfCheckoutPage(view, { ...paid, refunds: wrong, may: none, problems: typedRefund })],
    [
      'session refunded in whole',
      sessionOfCheckoutPage(view, { ...paid, refunds: { ...refunds, rows: [], left: null }, may: none, problems: {} }),
    ],
    ['refund preview', refundPreviewPage(view, { ...preview, payer: { name: text, account: text } })],
    ['refund preview without payer', refundPreviewPage(view, preview)],
  ]
}

const unfiltered = { values: {}, problems: {} }

function reportPages(language: ConsoleLanguage, text: string): Named {
  const view = insideOf(language, 'reports')
  const row = {
    ...{ id: 'r1', kind: 'statement' as const, format: 'camt.053' as const, from: at, to: at, currency: text },
    ...{ status: 'Ready' as const, progress: 100, createdAt: at },
  }
  const running = { ...row, status: 'Running' as const, progress: 40, currency: undefined }
  const values = { status: text }
  const typed = wholeQuery([...reportFields, 'form'], text)
  const planned = wholeQuery([...scheduleFields, 'form'], text)
  const fresh = { values: {}, problems: {}, idempotencyKey: text }
  const schedule = {
    ...{ id: 'x1', kind: 'fees' as const, format: 'csv' as const, frequency: 'weekly' as const, emails: [text, text] },
    ...{ timeZone: text, nextAt: at },
  }
  const one = { ...row, customer: { id: text, href: '../x' }, bytes: 9, sha256: text, expiresAt: at, mayWrite: true }
  const list = { values, problems: values, pages, mayWrite: true, done: 'removed' as const }
  return [
    ['reports', reportsPage(view, { rows: [row, running], ...list })],
    ['no reports', reportsPage(view, { rows: [], values: {}, problems: {}, pages: {}, mayWrite: false })],
    ['new report', newReportPage(view, fresh)],
    ['refused report', newReportPage(view, { values: typed, problems: typed, idempotencyKey: text })],
    ['report', reportPage(view, { ...one, rows: 12 })],
    ['new report queued', reportPage(view, { ...one, status: 'Queued', done: 'created' })],
    ['failed report', reportPage(view, { ...one, status: 'Failed', failure: text, mayWrite: false })],
    [
      'schedules',
      schedulesPage(view, { ...unfiltered, rows: [schedule], pages, mayWrite: true, done: 'scheduleCreated' }),
    ],
    ['schedules read only', schedulesPage(view, { ...unfiltered, rows: [schedule], pages: {}, mayWrite: false })],
    ['no schedules', schedulesPage(view, { ...unfiltered, rows: [], pages: {}, mayWrite: true })],
    ['new schedule', newSchedulePage(view, fresh)],
    ['refused schedule', newSchedulePage(view, { values: planned, problems: planned, idempotencyKey: text })],
  ]
}

function bulkPages(language: ConsoleLanguage, text: string): Named {
  const view = insideOf(language, 'bulk-payouts')
  const row = {
    ...{ id: 'b1', mode: 'BestEffort' as const, status: 'Processing' as const, payouts: 1000, accepted: 998 },
    ...{ refused: 2, createdAt: at },
  }
  const shown = [
    { line: 2, column: 'amount' as const, code: 'amount' as const },
    { line: 3, code: 'cells' as const },
  ]
  const line = { payee: text, amount: '12.50', currency: 'EUR', reference: text }
  const items = [
    { position: 0, amount: '5.00', currency: 'EUR', status: 'Accepted' as const, reference: text, payoutHref: '../x' },
    { position: 1, amount: '5.00', currency: 'EUR', status: 'Refused' as const, problem: text },
  ]
  const preview = { mode: row.mode, csv: text, idempotencyKey: text, payouts: 2, sums: [line] }
  const waiting = { payouts: 2, totals: [{ amount: '5.00', currency: text }], expiresAt: at, may: true }
  return [
    ['bulks', bulksPage(view, { ...unfiltered, rows: [row], pages, mayWrite: true })],
    ['no bulks', bulksPage(view, { ...unfiltered, rows: [], pages: {}, mayWrite: false })],
    ['new bulk', newBulkPage(view, { mode: undefined, problems: {} })],
    ['refused bulk', newBulkPage(view, { mode: text, problems: { file: text, mode: text, form: text } })],
    ['wrong file', newBulkPage(view, { mode: text, problems: { file: text }, inFile: { shown, count: 20_000 } })],
    ['bulk preview', bulkPreviewPage(view, { ...preview, first: [line, { ...line, payee: undefined }] })],
    ['bulk', bulkPage(view, { ...row, items, values: { status: text }, problems: { status: text }, done: 'created' })],
    ['waiting bulk', bulkPage(view, { ...row, items, values: {}, problems: {}, waiting })],
    ['ended bulk', bulkPage(view, { ...row, status: 'Completed', endedAt: at, items: [], values: {}, problems: {} })],
  ]
}

function appearancePages(language: ConsoleLanguage, text: string): Named {
  const view = insideOf(language, text)
  const shown = { shownName: text, accents: { light: '#2449c8', dark: '#a9c1ff' }, values: {}, problems: {} }
  const wrong = { name: text, accentColour: text, accentColourDark: text, logo: text }
  return [
    ['appearance', appearancePage(view, { ...shown, hasLogo: true, isSaved: true, mayWrite: true })],
    ['appearance of a reader', appearancePage(view, { ...shown, hasLogo: false, isSaved: false, mayWrite: false })],
    [
      'wrong appearance',
      appearancePage(view, {
        ...shown,
        ...{ values: wrong, problems: wrong, hasLogo: false, isSaved: false, mayWrite: true },
      }),
    ],
  ]
}

const pagesOf = (language: ConsoleLanguage, text: string): Named => [
  ...checkoutPages(language, text),
  ...reportPages(language, text),
  ...bulkPages(language, text),
  ...appearancePages(language, text),
]

suite('every page of collections and files', () => {
  test('escapes hostile texts, labels fields, has relative links and stays small', () => {
    for (const [name, page] of consoleLanguages.flatMap((language) => pagesOf(language, evil))) {
      checkEscaped(name, page)
      checkLabels(name, page)
      checkStructure(name, page)
      checkPlain(name, page)
      checkSize(name, page)
    }
  })

  test('offers forms only to who may write', () => {
    const page = new Map(pagesOf('en', 'x'))
    assert.match(page.get('session') ?? '', /action="..\/checkout\/s1\/expire"/)
    assert.match(page.get('report') ?? '', /action="..\/reports\/r1\/delete"/)
    assert.doesNotMatch(page.get('failed report') ?? '', /reports\/r1\/(?:delete|content)/)
    assert.match(page.get('schedules') ?? '', /schedules\/x1\/delete/)
    assert.doesNotMatch(page.get('schedules read only') ?? '', /schedules\/x1\/delete/)
    assert.doesNotMatch(page.get('ended session') ?? '', /checkout\/s1\/expire/)
  })
})
