import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { permissions } from '@partner-payments/wire'
import {
  checkEscaped,
  checkLabels,
  checkSize,
  checkStructure,
  evil,
  viewOf,
} from '../../../../test/support/console-pages.ts'
import { html } from '../html.ts'
import { type ConsoleLanguage, consoleLanguages, consoleTexts } from '../kit/language.ts'
import { auditFilters, auditHeadsPage, auditPage, auditRecordPage, type RecordProof } from './audit.ts'
import { eventPage, eventsPage } from './events.ts'
import { visiblePlaces } from './places.ts'
import { periodFilters, requestFilters, requestPage, requestProblemsPage, requestsPage } from './request-log.ts'
import { issuedPage, newServiceAccountPage, serviceAccountPage, serviceAccountsPage } from './service-accounts.ts'
import { simulationsByName, simulationNames, simulationPage, simulationsPage } from './simulations.ts'
import { newWebhookPage, secretPage, webhookPage, webhooksPage } from './webhooks.ts'

const at = new Date('2026-11-24T14:30:00Z')
const time = at.toISOString()
const pages = { next: '../x', first: '../x' }

const creator = ['Added', html`<span>${evil}</span>`] as const

const unfiltered = { values: {}, problems: {} }

function pagesOf(language: ConsoleLanguage, text: string): readonly (readonly [string, string])[] {
  const view = viewOf(language, {
    places: visiblePlaces(consoleTexts[language], permissions, true),
    current: 'webhooks',
  })
  const row = { id: 'w1', url: text, events: [text], status: 'Disabled' as const, createdAt: at }
  const attempt = { startedAt: at, status: 500, error: text, responseBody: text }
  const delivery = {
    ...{ eventId: text, eventType: text, reference: text, status: 'Held' as const, createdAt: at },
    ...{ attempts: [attempt, { startedAt: at }], idempotencyKey: text },
  }
  const one = {
    ...row,
    ...{ note: text, signature: text, creator, reason: 'Failing' as const, failingSince: at, isCapped: true },
    counts: { delivered: 100_000, pending: 2, held: 3 },
    ...{ deliveries: [delivery], values: { status: text }, problems: { status: text }, pages, mayWrite: true },
    idempotencyKey: text,
    test: { delivered: false, durationMs: 12, error: text, responseBody: text },
  }
  const empty = {
    ...row,
    test: { delivered: true, durationMs: 12, status: 204 },
    deliveries: [],
    values: {},
    problems: {},
    pages: {},
    mayWrite: false,
  }
  const types = [
    { name: text, description: text },
    { name: 'other', description: text },
  ]
  const values = { url: text, description: text }
  const draft = { values, problems: {}, events: [text], idempotencyKey: text, types }
  return [
    [
      'webhooks',
      webhooksPage(view, { ...unfiltered, rows: [row], pages, mayWrite: true, hasGuests: true, done: 'deleted' }),
    ],
    ['no webhooks', webhooksPage(view, { ...unfiltered, rows: [], pages: {}, mayWrite: false, hasGuests: false })],
    ['new webhook', newWebhookPage(view, draft)],
    ['refused webhook', newWebhookPage(view, { ...draft, problems: { url: text, events: text, form: text } })],
    ['secret', secretPage(view, { id: 'w1', url: text, secret: text })],
    ['public key', secretPage(view, { id: 'w1', url: text, secret: undefined })],
    ['webhook', webhookPage(view, { ...one, done: 'redelivered' })],
    ['webhook read only', webhookPage(view, { ...one, ...empty })],
  ]
}

function serviceAccountPages(language: ConsoleLanguage, text: string): readonly (readonly [string, string])[] {
  const view = viewOf(language, {
    places: visiblePlaces(consoleTexts[language], permissions, true),
    current: 'service-accounts',
  })
  const account = {
    ...{ serviceAccountId: text, name: text, apiKey: text, permissions: [text], allowedAddresses: [text] },
    ...{ status: 'Active' as const, impersonation: false, replaces: text, issuedById: text, issuedByFullName: text },
    ...{ createdAt: time, expiresAt: time, revokedAt: null, lastUsedAt: time },
  }
  const ended = {
    ...account,
    status: 'Revoked' as const,
    impersonation: true,
    replaces: null,
    revokedAt: time,
    lastUsedAt: null,
  }
  const open = { ...account, allowedAddresses: [], expiresAt: null }
  const names = ['name', 'allowedAddresses', 'expiresOn', 'publicKeyPem']
  const problems = Object.fromEntries([...names, 'form'].map((name) => [name, text]))
  const values = Object.fromEntries(names.map((name) => [name, text]))
  const granted = permissions
  const draft = { values, problems: {}, permissions: ['payouts:write', text], granted, idempotencyKey: text }
  const one = { account, granted, mayWrite: true, idempotencyKey: text, values: {}, problems: {}, creator }
  return [
    [
      'accounts',
      serviceAccountsPage(view, {
        rows: [account, ended, open],
        values: { status: text },
        pages,
        mayWrite: true,
        problems: {},
      }),
    ],
    ['no accounts', serviceAccountsPage(view, { ...unfiltered, rows: [], pages: {}, mayWrite: false })],
    ['new account', newServiceAccountPage(view, draft)],
    ['refused account', newServiceAccountPage(view, { ...draft, problems: { ...problems, permissions: text } })],
    ['account', serviceAccountPage(view, { ...one, done: 'changed' })],
    ['account without limits', serviceAccountPage(view, { ...one, account: open })],
    ['refused change', serviceAccountPage(view, { ...one, values, problems: { ...problems, overlapHours: text } })],
    ['revoked account', serviceAccountPage(view, { ...one, account: ended, done: 'revokedNow' })],
    ['issued', issuedPage(view, { id: text, apiKey: text, apiSecret: text })],
  ]
}

function auditPages(language: ConsoleLanguage, text: string): readonly (readonly [string, string])[] {
  const view = viewOf(language, { places: visiblePlaces(consoleTexts[language], permissions, true), current: 'audit' })
  const row = {
    ...{
      id: 'a1',
      at,
      actor: { kind: text, name: text, staff: text },
      action: text,
      summary: text,
      isMade: true,
      steps: [text],
    },
    subjects: [{ text, href: '../x' }, { text }],
  }
  const steps = { ...row, id: 'a2', actor: { kind: 'bank' }, action: undefined, subjects: [] }
  const head = { from: at, to: at, firstSequence: 1, lastSequence: 9, root: text, publicKey: text }
  const proofs: readonly RecordProof[] = [
    { state: 'none' },
    { state: 'unread', href: '../x' },
    { state: 'pending' },
    { state: 'proved', reference: text, sequence: 5, head, fileHref: '../x' },
  ]
  const values = Object.fromEntries(auditFilters.map((name) => [name, text]))
  const choices = { people: [[text, text] as const], actions: [[text, text] as const] }
  return [
    ['audit', auditPage(view, { rows: [row, steps], choices, values, problems: values, pages })],
    ['no audit', auditPage(view, { rows: [], choices, values: {}, problems: {}, pages: {} })],
    ...proofs.map((proof) => {
      const shown = { ...row, ip: text, reason: text, requestId: text, proof, raw: { text } }
      return [`audit record ${proof.state}`, auditRecordPage(view, shown)] as const
    }),
    ['heads', auditHeadsPage(view, { ...unfiltered, rows: [{ ...head, json: text }], pages })],
    ['no heads', auditHeadsPage(view, { ...unfiltered, rows: [], pages: {} })],
  ]
}

function eventPages(language: ConsoleLanguage, text: string): readonly (readonly [string, string])[] {
  const view = viewOf(language, { places: visiblePlaces(consoleTexts[language], permissions, true), current: 'events' })
  const row = { id: 'e1', type: text, reference: text, occurredAt: at }
  const values = { types: text, reference: text }
  const types = [text]
  const delivery = {
    ...{ subscriptionId: 'w1', eventId: 'd1', url: text, status: 'Pending' as const, idempotencyKey: text },
    ...{ attempts: [{ startedAt: at, error: text }], nextAttemptAt: at },
  }
  const one = { ...row, data: { text }, transactionHref: '../x', problems: { form: text } }
  return [
    ['events', eventsPage(view, { rows: [{ ...row, sequence: 1 }], types, values, problems: values, pages })],
    ['no events', eventsPage(view, { rows: [], types, values: {}, problems: {}, pages: {} })],
    ['event', eventPage(view, { ...one, deliveries: [delivery], mayWrite: true, done: 'redelivered' })],
    ['event read only', eventPage(view, { ...one, deliveries: [delivery], mayWrite: false })],
    ['event without deliveries', eventPage(view, { ...one, deliveries: [], mayWrite: true })],
  ]
}

function requestLogPages(language: ConsoleLanguage, text: string): readonly (readonly [string, string])[] {
  const view = viewOf(language, {
    places: visiblePlaces(consoleTexts[language], permissions, true),
    current: 'requests',
  })
  const row = {
    ...{ id: 'r1', at, method: 'POST', operation: text, status: 401, code: text, serviceAccountName: text },
    ...{ durationMs: 1234, verified: false, replayed: false },
  }
  const plain = { ...row, status: 200, operation: undefined, code: undefined, verified: true, replayed: true }
  const failed = { ...row, status: 500 }
  const problem = {
    ...{ code: text, status: 400, title: text, cure: text, explained: '../x', count: 10_000 },
    ...{ operations: [text, text], lastDay: '2026-11-24' },
  }
  const choices = { operations: [[text, text]], codes: [[text, text]], accounts: [[text, text]] } as const
  const values = Object.fromEntries(requestFilters.map((name) => [name, text]))
  const days = Object.fromEntries(periodFilters.map((name) => [name, text]))
  const about = {
    ...{ requestId: text, ip: text, accountHref: '../x', raw: { text } },
    ...{ subjects: [{ text, href: '../x' }, { text }], created: [{ text, href: '../x' }] },
  }
  const refused = { ...row, ...about, path: text, summary: text, problem, pointer: text, staff: text, userAgent: text }
  return [
    ['requests', requestsPage(view, { rows: [row, plain, failed], values, problems: values, pages, choices })],
    ['no requests', requestsPage(view, { rows: [], values: {}, problems: {}, pages: {}, choices })],
    ['problems', requestProblemsPage(view, { rows: [problem], values: days, problems: days, pages: {} })],
    ['no problems', requestProblemsPage(view, { ...unfiltered, rows: [], pages: {} })],
    ['request refused', requestPage(view, { ...refused, doctor: '../x' })],
    ['request', requestPage(view, { ...plain, ...about, subjects: [], created: [] })],
  ]
}

function simulationPages(language: ConsoleLanguage, text: string): readonly (readonly [string, string])[] {
  const view = viewOf(language, {
    places: visiblePlaces(consoleTexts[language], permissions, true),
    current: 'simulations',
  })
  const may = { transactions: true, events: true }
  return [
    ['simulations', simulationsPage(view)],
    ...simulationNames.map((name) => {
      const names = [...simulationsByName[name].fields.map((field) => field.name), 'form']
      const values = Object.fromEntries(names.map((each) => [each, text]))
      const form = { name, values, problems: values, idempotencyKey: text, result: text, may }
      return [`simulation ${name}`, simulationPage(view, form)] as const
    }),
  ]
}

test('a request shows the signature debugger and the problem only if there is one', () => {
  const page = new Map(requestLogPages('en', 'x'))
  assert.match(page.get('request refused') ?? '', /Check a signature/)
  assert.doesNotMatch(page.get('request') ?? '', /Check a signature|Cause and cure/)
  assert.match(page.get('no requests') ?? '', /GET \/v1\/requests/)
})

test('production has no simulations', () => {
  const named = (sandbox: boolean) => visiblePlaces(consoleTexts.en, permissions, sandbox).map(({ name }) => name)
  assert.ok(named(true).includes('simulations'))
  assert.ok(!named(false).includes('simulations'))
})

const allPages = (language: ConsoleLanguage, text: string) => [
  ...pagesOf(language, text),
  ...serviceAccountPages(language, text),
  ...auditPages(language, text),
  ...eventPages(language, text),
  ...requestLogPages(language, text),
  ...simulationPages(language, text),
]

suite('every page for developers', () => {
  test('escapes hostile texts, labels fields, has relative links and is small', () => {
    for (const [name, page] of consoleLanguages.flatMap((language) => allPages(language, evil))) {
      checkEscaped(name, page)
      checkLabels(name, page)
      checkStructure(name, page)
      checkSize(name, page)
    }
  })

  test('offers forms only to people who may write', () => {
    const page = new Map(pagesOf('en', 'x'))
    assert.match(page.get('webhook') ?? '', /action="..\/webhooks\/w1\/redeliver"/)
    const accounts = new Map(serviceAccountPages('en', 'x'))
    assert.match(accounts.get('account') ?? '', /service-accounts\/x\/rotate"/)
    assert.doesNotMatch(accounts.get('revoked account') ?? '', /method="post" action="..\/service-accounts/)
    const events = new Map(eventPages('en', 'x'))
    assert.match(events.get('event') ?? '', /action="..\/events\/e1\/redeliver"/)
    assert.doesNotMatch(events.get('event read only') ?? '', /redeliver"/)
    assert.doesNotMatch(page.get('webhook read only') ?? '', /method="post" action="..\/webhooks/)
  })
})
