import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { permissions, rawNumber } from '@partner-payments/wire'
import { checkPage, evil, viewOf } from '../../../../test/support/console-pages.ts'
import { Refusal } from '../../kernel/api/index.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { type ConsoleLanguage, consoleLanguages, consoleTexts } from '../kit/language.ts'
import { appearancePage } from './appearance.ts'
import { bulkPage, bulksPage } from './bulk.ts'
import { checkBulkPage, type CheckPage } from './bulk-check-page.ts'
import { newBulkPage } from './bulk-new-page.ts'
import { importPage, newImportPage } from './imports.ts'
import { newSessionPage, sessionFields, sessionFilters, checkoutSessionPage, checkoutSessionsPage } from './checkout.ts'
import { itemFields } from './items.ts'
import { newLinkFields, newPaymentLinkPage, paymentLinkPage, paymentLinksPage } from './payment-links.ts'
import { visiblePlaces } from './places.ts'
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
const time = at.toISOString()
const pages = { next: '../x', first: '../x' }
const wholeQuery = (names: readonly string[], text: string) => Object.fromEntries(names.map((name) => [name, text]))
const insideOf = (language: ConsoleLanguage, current: string) =>
  viewOf(language, { places: visiblePlaces(consoleTexts[language], permissions, true), current })

type NamedPages = readonly (readonly [name: string, page: string])[]

function checkoutPages(language: ConsoleLanguage, text: string): NamedPages {
  const view = insideOf(language, 'checkout')
  const row = {
    ...{ id: 's1', amount: '49.90', currency: 'EUR', status: 'Open' as const, creditorReference: text },
    ...{ order: text, description: text, payer: text, isLate: true, createdAt: at, expiresAt: at },
  }
  const values = wholeQuery(sessionFilters, text)
  const typed = wholeQuery([...sessionFields, ...itemFields.slice(0, 6)], text)
  const session = {
    ...row,
    refunded: null,
    url: text,
    iban: text,
    bic: text,
    transactionHref: '../x',
    customerHref: '../x',
    linkHref: '../x',
    payerEmail: text,
    ...{ items: [{ name: text, quantity: 2, amount: rawNumber('49.90') }], late: lateRowsOf(text) },
  }
  const refund = {
    ...{ reference: text, amount: '9.90', currency: 'EUR', status: 'Failed', reason: text, errorKey: text },
    ...{ createdAt: at, payoutHref: '../x', isLate: true },
  }
  const form = { idempotencyKey: text, values: {} }
  const rows = [refund, { ...refund, payoutHref: undefined }]
  const payments = ['part-1', 'late-1'].map((name) => ({ name, left: '20.00', payer: text }))
  const refunds = { rows, pages, currency: 'EUR', form, payments }
  const typedRefund = wholeQuery(refundFields, text)
  const wrong = { ...refunds, form: { ...form, values: typedRefund } }
  const preview = {
    ...{ sessionId: 's1', creditorReference: text, currency: 'EUR', idempotencyKey: text, leftAfter: '0.00' },
    values: { ...typedRefund, amount: '9.90' },
  }
  const paid = { ...session, status: 'Completed' as const, refunded: '9.90', refunds }
  const may = { expire: true, simulate: true, choose: true }
  const none = { expire: false, simulate: false, choose: false }
  return [
    ['sessions', checkoutSessionsPage(view, { rows: [row], values, problems: values, pages, mayWrite: true })],
    ['no sessions', checkoutSessionsPage(view, { rows: [], values: {}, problems: {}, pages: {}, mayWrite: false })],
    ['new session', newSessionPage(view, { values: {}, problems: {}, idempotencyKey: text })],
    ['refused session', newSessionPage(view, { values: typed, problems: typed, idempotencyKey: text })],
    ['session', checkoutSessionPage(view, { ...session, may, done: 'created', problems: { form: text } })],
    ['ended session', checkoutSessionPage(view, { ...session, status: 'Expired', may: none, problems: {} })],
    ['refunded session', checkoutSessionPage(view, { ...paid, may: none, done: 'refunded', problems: {} })],
    ['refused refund', checkoutSessionPage(view, { ...paid, refunds: wrong, may: none, problems: typedRefund })],
    [
      'session refunded in whole',
      checkoutSessionPage(view, {
        ...paid,
        refunds: { ...refunds, rows: [], payments: [] },
        may: none,
        problems: {},
      }),
    ],
    ['refund preview', refundPreviewPage(view, { ...preview, payer: { name: text, account: text } })],
    ['refund preview without payer', refundPreviewPage(view, preview)],
    ['added item', newSessionPage(view, { values: { ...typed, add: '1' }, problems: {}, idempotencyKey: text })],
    ['accepted money', checkoutSessionPage(view, { ...session, may, done: 'accepted', problems: {} })],
    ...linkPages(view, text),
  ]
}

/** Late payments in each state. The first two await a decision, one of them in another currency. */
const lateRowsOf = (text: string) =>
  (['Waiting', 'Waiting', 'Accepted', 'Returning', 'Returned', 'WithOperator', 'Decided'] as const).map(
    (status, index) => ({
      ...{
        id: `l${index}`,
        amount: '49.90',
        currency: index === 1 ? 'USD' : 'EUR',
        reason: 'AfterEnd' as const,
        status,
      },
      ...{ payer: text, receivedAt: at, chooseBy: at, acceptedHref: status === 'Accepted' ? '../x' : undefined },
    }),
  )

function linkPages(view: ReturnType<typeof insideOf>, text: string): NamedPages {
  const open = {
    ...{ linkId: 'k1', customerId: 'c1', url: text, currency: 'EUR', active: false, sessionExpiresInSeconds: 3600 },
    ...{ paymentsMade: 3, paymentsOpen: 1, websiteReference: text, createdAt: time, updatedAt: time },
  }
  const lineItems = [{ name: text, quantity: 1, amount: rawNumber('25.00') }]
  const row = { ...open, active: true, description: text, amount: rawNumber('25.00'), paymentsMax: 10, endsAt: time }
  const typed = wholeQuery([...newLinkFields, ...itemFields.slice(0, 3)], text)
  const one = { customerHref: '../x', mayWrite: true, problems: {} }
  const bounds = { amountMin: rawNumber('5.00'), amountMax: rawNumber('50.00') }
  const listed = { values: { active: text }, problems: { active: text }, pages, mayWrite: true }
  return [
    ['links', paymentLinksPage(view, { rows: [row, open], ...listed })],
    ['no links', paymentLinksPage(view, { rows: [], values: {}, problems: {}, pages: {}, mayWrite: false })],
    ['new link', newPaymentLinkPage(view, { values: {}, problems: {}, idempotencyKey: text })],
    ['refused link', newPaymentLinkPage(view, { values: typed, problems: typed, idempotencyKey: text })],
    ['link', paymentLinkPage(view, { ...one, link: { ...row, lineItems }, done: 'created' })],
    ['open link', paymentLinkPage(view, { ...one, link: { ...open, ...bounds }, problems: { form: text } })],
  ]
}

const unfiltered = { values: {}, problems: {} }

function reportPages(language: ConsoleLanguage, text: string): NamedPages {
  const view = insideOf(language, 'reports')
  const row = {
    id: 'r1',
    kind: 'statement' as const,
    format: 'camt.053' as const,
    from: time,
    to: time,
    currency: text,
    status: 'Ready' as const,
    progress: 100,
    createdAt: time,
    expiresAt: time,
  }
  const { currency: _currency, ...whole } = row
  const running = { ...whole, status: 'Running' as const, progress: 40 }
  const values = { status: text }
  const typed = wholeQuery([...reportFields, 'form'], text)
  const planned = wholeQuery([...scheduleFields, 'form'], text)
  const fresh = { values: {}, problems: {}, idempotencyKey: text }
  const schedule = {
    id: 'x1',
    kind: 'fees' as const,
    format: 'csv' as const,
    frequency: 'weekly' as const,
    emails: [text, text],
    timeZone: text,
    nextRunAt: time,
    createdAt: time,
  }
  const file = { ...row, bytes: 9, sha256: text }
  const one = { customer: { name: text, href: '../x' }, mayWrite: true }
  const list = { values, problems: values, pages, mayWrite: true, done: 'removed' as const }
  return [
    ['reports', reportsPage(view, { rows: [row, running], ...list })],
    ['no reports', reportsPage(view, { rows: [], values: {}, problems: {}, pages: {}, mayWrite: false })],
    ['new report', newReportPage(view, fresh)],
    ['refused report', newReportPage(view, { values: typed, problems: typed, idempotencyKey: text })],
    ['report', reportPage(view, { ...one, report: { ...file, rows: 12 } })],
    ['new report queued', reportPage(view, { ...one, report: { ...file, status: 'Queued' }, done: 'created' })],
    [
      'failed report',
      reportPage(view, { ...one, report: { ...file, status: 'Failed', failure: text }, mayWrite: false }),
    ],
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

function bulkPages(language: ConsoleLanguage, text: string): NamedPages {
  const view = insideOf(language, 'bulk-payouts')
  const row = {
    ...{ id: 'b1', mode: 'BestEffort' as const, status: 'Processing' as const, payouts: 1000, accepted: 998 },
    ...{ refused: 2, idempotencyKey: text, createdAt: time },
  }
  const items = [
    {
      ...{ position: 0, amount: '5.00', currency: 'EUR', status: 'Accepted' as const, payoutStatus: 'Sent' },
      ...{ payee: text, account: text, reference: text, payoutHref: '../x' },
    },
    { position: 1, amount: '5.00', currency: 'EUR', status: 'Refused' as const, problem: text },
  ]
  const waiting = { payouts: 2, totals: [{ amount: '5.00', currency: text }], expiresAt: at, may: true }
  return [
    [
      'bulks',
      bulksPage(view, { ...unfiltered, rows: [row], pages, mayWrite: true, unsent: [{ id: 'u1', createdAt: at }] }),
    ],
    ['no bulks', bulksPage(view, { ...unfiltered, rows: [], pages: {}, mayWrite: false })],
    ['new bulk', newBulkPage(view, { mode: undefined, problems: {} })],
    ['refused bulk', newBulkPage(view, { mode: text, problems: { file: text, mode: text, form: text } })],
    [
      'refused pain.001',
      newBulkPage(view, {
        ...{ mode: 'BestEffort', problems: { file: text } },
        mistakes: [{ line: 1, code: 'element', given: text }],
      }),
    ],
    [
      'wrong file',
      newBulkPage(view, {
        mode: text,
        problems: { file: text },
        rows: [
          { line: 2, code: 'cells' },
          { line: 3, code: 'quote' },
        ],
      }),
    ],
    ...checkPages(view, text),
    ['bulk', bulkPage(view, { ...row, items, values: { status: text }, problems: { status: text }, done: 'created' })],
    ['waiting bulk', bulkPage(view, { ...row, items, values: {}, problems: {}, waiting })],
    [
      'ended bulk',
      bulkPage(view, {
        ...row,
        mayRepeat: true,
        status: 'Completed',
        endedAt: time,
        items: [],
        values: {},
        problems: {},
      }),
    ],
  ]
}

/** Bulk files: with a line of each kind, without mistakes, without questions, empty, and with 1,000 invalid lines. */
function checkPages(view: ConsoleView, text: string): NamedPages {
  const cells = {
    ...{ payee: '', name: text, iban: text, sortCode: text, routingNumber: '', accountNumber: text },
    ...{ amount: text, currency: text, reference: text },
  }
  const read = { amount: 1250n, currency: 'EUR', reference: text, payee: { text, account: undefined } } as const
  const names = { alias: text, name: text, iban: text, domesticAccount: null, accountType: null, bic: null }
  const rest = { walletAddress: null, vasp: null, country: 'DE', address: null, createdAt: at, updatedAt: at }
  const saved = { id: 'p1', customerId: null, currency: 'EUR', ...names, ...rest } as const
  const fresh = { key: text, name: text, account: text, fields: { iban: text }, currency: 'EUR', more: {} } as const
  const refusal = new Refusal('insufficient_funds', text)
  const none = { earlier: [], scheduled: [], lines: [] }
  const told = { reference: text, remittance: text, creditorName: text, createdAt: at }
  const earlier = { id: 'x1', amount: 5n, currency: 'EUR', status: 'Sent', because: 'reference', ...told } as const
  const order = {
    id: 'o1',
    amount: 5n,
    currency: 'EUR',
    reference: text,
    creditorName: text,
    creditorAccount: text,
  } as const
  const scheduled = { ...order, dueAt: at, createdAt: at, because: 'days' } as const
  const plain = {
    mistakes: [],
    read,
    resolved: undefined,
    refusal: undefined,
    isHeld: false,
    unreachable: undefined,
    duplicates: none,
  }
  const line = (number: number, given: Partial<CheckPage['lines'][number]>) => ({
    ...plain,
    ...{ typed: { line: number, cells, file: { endToEndId: text } }, ...given },
  })
  const pay = line(2, { resolved: { kind: 'saved', payee: saved } })
  const wrong = { read: undefined, mistakes: [{ column: 'amount', code: 'amountAmbiguous' }] } as const
  const lines = [
    pay,
    line(3, { ...pay, isHeld: true, duplicates: { earlier: [earlier], scheduled: [scheduled], lines: [2] } }),
    line(4, { ...pay, refusal }),
    line(5, { ...pay, unreachable: text }),
    line(6, { resolved: { kind: 'new', payee: fresh } }),
    line(7, wrong),
    line(8, { resolved: { kind: 'question', about: 'name', options: [saved] } }),
    line(9, { resolved: { kind: 'question', about: 'several', options: [saved, saved] } }),
    line(10, { resolved: { kind: 'problem', code: 'payeeCurrency', currencies: ['USD'] } }),
    line(11, { resolved: { kind: 'problem', code: 'payeeUnknown' } }),
  ]
  const asked = { requestedBy: 'm1', requestedByName: text, requestedAt: at, answeredAt: at, source: text }
  const answer = {
    ...{ id: 'v1', name: text, iban: text, matchedName: text, reason: null, schemeReference: null, ...asked },
    result: 'CloseMatch',
  } as const
  const payee = { ...fresh, lines: [6], verification: undefined, refusal: undefined }
  const funds = [
    { currency: 'EUR', needed: 1300n, fees: 50n, available: 5n, covers: false },
    { currency: 'GBP', needed: 5n, fees: 0n, available: 5n, covers: true },
  ] as const
  const before = { id: 'b1', createdAt: at, accountName: text, same: 9, of: 10 }
  const base: CheckPage = {
    ...{
      id: 'd1',
      revision: 1,
      mode: 'BestEffort',
      expiresAt: at,
      mayWritePayees: true,
      page: 1,
      problems: {},
      seen: text,
    },
    ...{ lines, funds, earlier: [before, { ...before, same: 10 }] },
    newPayees: [payee, { ...payee, verification: answer }, { ...payee, fields: {}, refusal }],
  }
  const right = { ...base, lines: [pay], earlier: [], newPayees: [], funds: [] }
  const many = { ...base, lines: Array.from({ length: 1000 }, (_each, at_) => line(at_ + 2, wrong)), page: 3 }
  return [
    ['bulk check', checkBulkPage(view, { ...base, problems: { file: text, form: text }, done: 'corrected' })],
    ['pain.001 check', checkBulkPage(view, { ...base, messageId: text, problems: {} })],
    ['right bulk', checkBulkPage(view, { ...right, done: 'verified' })],
    ['bulk that asks', checkBulkPage(view, { ...right, lines: [lines[1] ?? pay], problems: { again: text } })],
    ['bulk that was sent', checkBulkPage(view, { ...right, earlier: [before] })],
    ['refused bulk', checkBulkPage(view, { ...right, mode: 'AllOrNothing', lines: [lines[2] ?? pay] })],
    ['bulk with some refused', checkBulkPage(view, { ...right, lines: [pay, lines[2] ?? pay] })],
    [
      'bulk without the right to save payees',
      checkBulkPage(view, { ...right, newPayees: [payee], mayWritePayees: false }),
    ],
    ['empty bulk', checkBulkPage(view, { ...right, lines: [] })],
    ['wrong bulk', checkBulkPage(view, many)],
  ]
}

function importPages(language: ConsoleLanguage, text: string): NamedPages {
  return (['payees', 'customers'] as const).flatMap((place) => {
    const view = insideOf(language, place)
    const rows = (['Create', 'Change', 'Same', 'Refused'] as const).map((effect, at_) => ({
      ...{ line: at_ + 2, label: text, effect, reason: effect === 'Refused' ? text : '', fields: [text] },
    }))
    const send = { revision: 1, seen: text }
    const shown = { id: 'i1', place, rows, problems: {} }
    return [
      [`import ${place}`, newImportPage(view, { place, problems: {} })],
      [`wrong import ${place}`, newImportPage(view, { place, problems: { file: text } })],
      [`planned import ${place}`, importPage(view, { ...shown, send, problems: { form: text } })],
      [`import of nothing ${place}`, importPage(view, { ...shown, rows: [], send })],
      [`done import ${place}`, importPage(view, shown)],
    ] as const
  })
}

function appearancePages(language: ConsoleLanguage, text: string): NamedPages {
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

const pagesOf = (language: ConsoleLanguage, text: string): NamedPages => [
  ...checkoutPages(language, text),
  ...reportPages(language, text),
  ...bulkPages(language, text),
  ...importPages(language, text),
  ...appearancePages(language, text),
]

suite('every page of collections and files', () => {
  test('escapes hostile texts, labels fields, has relative links and is small', () => {
    for (const [name, page] of consoleLanguages.flatMap((language) => pagesOf(language, evil))) checkPage(name, page)
  })

  test('offers forms only to people who may write', () => {
    const page = new Map(pagesOf('en', 'x'))
    assert.match(page.get('session') ?? '', /action="..\/checkout\/s1\/expire"/)
    assert.match(page.get('report') ?? '', /action="..\/reports\/r1\/delete"/)
    assert.doesNotMatch(page.get('failed report') ?? '', /reports\/r1\/(?:delete|content)/)
    assert.match(page.get('schedules') ?? '', /schedules\/x1\/delete/)
    assert.doesNotMatch(page.get('schedules read only') ?? '', /schedules\/x1\/delete/)
    assert.doesNotMatch(page.get('ended session') ?? '', /checkout\/s1\/expire/)
  })
})
