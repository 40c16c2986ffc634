import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { permissions, rawNumber } from '@partner-payments/wire'
import { all, checkPage, evil, viewOf } from '../../../../test/support/console-pages.ts'
import { receiving, verificationRows } from '../../../../test/support/identity-rows.ts'
import { explainHold } from '../../transactions/index.ts'
import { html } from '../html.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { type ConsoleLanguage, consoleLanguages, consoleTexts } from '../kit/language.ts'
import { customerFilters, customerFormPage, customerPage, customersPage } from './customer-pages.ts'
import { newPayoutPage, payoutPreviewPage } from './new-payout.ts'
import { noDuplicates } from './repeats.ts'
import { newOrderPage, orderFields, orderPage, ordersPage } from './orders.ts'
import { choosePayeePage } from './payee-choice.ts'
import { checkPayeePage, newPayeePage, payeeFilters, payeePage, payeesPage } from './payees.ts'
import { payoutPage } from './payout.ts'
import { confirmationDocument } from './payout-confirmation.ts'
import { payoutFilters, payoutsPage, pendingApprovalsPage } from './payouts.ts'
import { visiblePlaces } from './places.ts'
import { texts } from './texts/index.ts'
import { transactionFilters, transactionPage, transactionsPage } from './transactions.ts'

const at = new Date('2026-11-24T14:30:00Z')
const time = at.toISOString()
const href = '../x'
const pages = { next: href, first: href }
const creator = ['Added', html`<span>${evil}</span>`] as const
const sums = { capped: true, sums: [{ label: evil, amount: '12345678901234567.50', currency: 'EUR', count: 5001 }] }
const amounts = { amount: '12345678901234567.50', currency: 'EUR' }
const wholeQuery = (names: readonly string[], text: string) => Object.fromEntries(names.map((name) => [name, text]))

const insideOf = (language: ConsoleLanguage, text: string) =>
  viewOf(language, {
    person: { fullName: text, email: text, roleName: 'Admin', partnerName: text },
    places: visiblePlaces(consoleTexts[language], permissions, true),
    current: 'payouts',
  })

type NamedPages = readonly (readonly [name: string, page: string])[]

function transactionPages(language: ConsoleLanguage, text: string): NamedPages {
  const view = insideOf(language, text)
  const row = {
    ...amounts,
    reference: text,
    href,
    category: text,
    direction: 'Inward',
    status: 'Completed',
    createdAt: at,
  }
  const party = { name: text, account: text, bank: text }
  const names = ['endToEndId', 'idempotencyKey', 'description', 'hash', 'requestedBy'] as const
  const values = wholeQuery(transactionFilters, text)
  return [
    [
      'transactions',
      transactionsPage(view, {
        sums,
        rows: [{ ...row, userReference: text, party: text, customer: text }],
        values,
        problems: values,
        pages,
      }),
    ],
    ['no transactions', transactionsPage(view, { rows: [], values: {}, problems: {}, pages: {} })],
    [
      'transaction',
      transactionPage(view, {
        ...row,
        ...{ type: text, rail: text, errorKey: text, updatedAt: at, debtor: party, creditor: party, payoutHref: href },
        eventsHref: href,
        request: { href, text, at },
        exchanged: amounts,
        userReference: `own ${text}`,
        customer: { name: text, href },
        details: Object.fromEntries(names.map((name) => [name, text])) as Record<(typeof names)[number], string>,
        hold: explainHold({ kind: 'approval', by: at }),
        steps: [{ title: text, at, by: text, detail: text }],
        related: [{ ...row, relation: text }],
        proof: { fileHref: href, href, read: { records: 4, pending: 2 } },
        raw: { text },
      }),
    ],
  ]
}

/** The tabs of approvals, with a payout and a bulk, and empty. */
function waitingPages(view: ConsoleView, text: string): NamedPages {
  const held = { id: 'p1', expiresAt: at, requestedBy: text, totals: [amounts, amounts] }
  const rows = [
    { ...held, kind: 'payout', payee: text, payeeAccount: text, reference: text, userReference: `own ${text}` },
    { ...held, kind: 'bulk', payouts: 1000, createdAt: at },
    { ...held, kind: 'bulk', name: text, payouts: 1, createdAt: at },
  ] as const
  return (['mine', 'made', 'waiting'] as const).flatMap((tab) => [
    [`waiting ${tab}`, pendingApprovalsPage(view, { rows, pages, mayWrite: true, tab })] as const,
    [`none waiting ${tab}`, pendingApprovalsPage(view, { rows: [], pages: {}, mayWrite: false, tab })] as const,
  ])
}

/** Possible duplicates of a payment, and the preview rule that lists them. */
function repeated(text: string) {
  const earlier = [true, false].map((sameReference) => ({
    ...{ id: 'p0', reference: text, userReference: `own ${text}`, beneficiaryName: text, currency: 'EUR' },
    ...{ amount: rawNumber('12.50'), status: 'Completed' as const, createdAt: at.toISOString(), sameReference },
  }))
  const scheduled = earlier.map(({ id, reference: _reference, status: _status, ...order }) => ({
    ...{ ...order, standingOrderId: id, nextAttemptAt: at.toISOString() },
  }))
  const duplicate = { rule: 'duplicate', verdict: 'warning', code: 'possible_duplicate', detail: text } as const
  return { repeats: { data: earlier, scheduled }, duplicate }
}

test('the confirmation of a payout begins with the invoice number and ends with the reference of the service', () => {
  const paid = {
    ...{ id: 'p1', reference: 'txn_1', beneficiaryName: 'Ada', beneficiaryAccount: 'DE89370400440532013000' },
    ...{ amount: rawNumber('12.50'), currency: 'EUR', endToEndId: 'E-1', rail: 'Sepa' },
    ...{ createdAt: at.toISOString(), updatedAt: at.toISOString() },
  }
  const named = confirmationDocument(insideOf('en', ''), 'Example Ltd', { ...paid, userReference: 'INV-7' })
  assert.deepEqual([named.facts[0]?.[1], named.facts.at(-1)?.[1]], ['INV-7', 'txn_1'])
  assert.deepEqual(named.lead, ['Example Ltd has paid 12.50 EUR to Ada.'])
  const { facts, title } = confirmationDocument(insideOf('de', ''), 'Example Ltd', paid)
  assert.deepEqual([facts[0]?.[1], facts.at(-1)?.[1], title], ['txn_1', 'E-1', 'Zahlungsbestätigung'])
})

function payoutPages(language: ConsoleLanguage, text: string): NamedPages {
  const view = insideOf(language, text)
  const payout = {
    ...amounts,
    ...{ id: 'p1', reference: text, payee: text, payeeAccount: text, status: 'PendingApproval', createdAt: at },
  }
  const list = { rows: [payout], values: {}, problems: {}, pages, mayWrite: true }
  const values = wholeQuery(payoutFilters, text)
  const draft = {
    ...{ beneficiaryId: text, payee: text, payeeAccount: text, currency: 'EUR', amount: '12.50', reference: text },
    ...{ note: text, payOn: '2027-01-31', idempotencyKey: text },
  }
  const { repeats, duplicate } = repeated(text)
  const rules = (['passed', 'failed', 'notApplicable'] as const).map((verdict) => ({
    ...{ rule: `limit.${text}`, verdict, code: text, detail: text },
  }))
  const payee = {
    ...{ id: 'b1', name: text, alias: text, account: text, currency: 'EUR', createdAt: at },
    ...{ isWallet: false, isVerifiable: true },
  }
  const recall = {
    ...{ id: 'r1', reason: text, status: text, requestedAt: at, requestedBy: text, answerDueOn: at, answer: text },
    returned: { ...amounts, href },
  }
  return [
    ['payouts', payoutsPage(view, { ...list, values, problems: values, sums })],
    ['all payouts', payoutsPage(view, list)],
    ['no payouts', payoutsPage(view, { ...list, rows: [], pages: {} })],
    ...waitingPages(view, text),
    ...(['yes', 'own', 'no'] as const).map(
      (approve) =>
        [
          `payout ${approve}`,
          payoutPage(view, {
            ...payout,
            ...{ fee: '1.00', feeCurrency: 'EUR', sold: amounts, payeeHref: href, transactionHref: href },
            ...{ requestedBy: text, rail: text, errorKey: text, endToEndId: text, idempotencyKey: text, updatedAt: at },
            approval: { until: at, decision: text, decidedBy: text, decidedAt: at, reason: text },
            may: { cancel: approve !== 'no', approve },
            done: ({ yes: 'created', own: 'noteSaved', no: 'cancelled' } as const)[approve],
            repeats: approve === 'no' ? noDuplicates : repeats,
            note: { text: approve === 'own' ? '' : text, updatedBy: text, updatedAt: at, mayWrite: approve !== 'no' },
            recalls: { rows: [recall], form: { idempotencyKey: text, typed: { reason: text, text } } },
            hold: explainHold({ kind: 'names', by: at }),
            steps: [{ title: text, at }],
            ...{ problems: { form: text, reason: text, text }, raw: { text } },
          }),
        ] as const,
    ),
    [
      'choose payee',
      choosePayeePage(view, {
        rows: [payee, { ...payee, id: 'b2', isWallet: true }],
        ...{ pages, title: text, path: 'payouts/new' },
        ...{ values: { search: text, currency: text }, problems: { search: text } },
      }),
    ],
    [
      'choose none',
      choosePayeePage(view, { rows: [], pages: {}, title: text, path: 'payouts/new', values: {}, problems: {} }),
    ],
    [
      'choose no match',
      choosePayeePage(view, {
        ...{ rows: [], pages: {}, title: text, path: 'payouts/new' },
        ...{ values: { search: text }, problems: {} },
      }),
    ],
    [
      'new payout',
      newPayoutPage(view, {
        ...draft,
        problems: { amount: text, reference: text, note: text, payOn: text, form: text },
      }),
    ],
    ...[true, false].flatMap((accepted) =>
      [true, false].map(
        (isLater) =>
          [
            `preview ${accepted} ${isLater}`,
            payoutPreviewPage(view, {
              ...draft,
              ...{ accepted, needsApproval: accepted, rules: [duplicate, ...rules], repeats },
              paidOn: isLater ? '2026-12-07' : undefined,
              ...{
                problems: accepted || isLater ? { again: text } : ({} as Record<string, string>),
                fee: '0.00',
                total: '12.50',
              },
              ...{ rail: text, cutOffAt: at, valueDate: at, arrivesOn: at },
            }),
          ] as const,
      ),
    ),
  ]
}

function payeePages(language: ConsoleLanguage, text: string): NamedPages {
  const view = insideOf(language, text)
  const payee = {
    ...{ id: 'b1', name: text, alias: text, account: text, currency: 'EUR', createdAt: at },
    ...{ isWallet: false, isVerifiable: true },
  }
  const results = ['Match', 'CloseMatch', 'NoMatch', 'NotPossible'] as const
  const account = { account: text, accountType: text }
  const parts = { streetName: text, buildingNumber: text, postalCode: text, city: text, state: text, country: text }
  const typed = { name: text, ...account, currency: text, bic: text, alias: text, customerId: text, ...parts }
  const draft = { ...typed, idempotencyKey: text }
  const may = { write: true, pay: true, readPayouts: true }
  const values = wholeQuery(payeeFilters, text)
  const wallet = { ...payee, isWallet: true, isVerifiable: false }
  return [
    ['payees', payeesPage(view, { rows: [payee, wallet], values, problems: values, pages, may, done: 'deleted' })],
    ['no payees', payeesPage(view, { rows: [], values: {}, problems: {}, pages: {}, may })],
    ['new payee', newPayeePage(view, draft, { ...typed, form: text })],
    ['check wallet', checkPayeePage(view, draft, undefined)],
    ...results.flatMap((result) => {
      const verification = { result, matchedName: text, reason: text, answeredAt: at }
      const customer = { name: text, href }
      const own = { name: text, alias: text, ...parts }
      const lacking = { address: parts, missingFields: [text] }
      const more = { bic: text, vasp: text, ...lacking, customer, updatedAt: at, typed: own }
      const problems = { ...own, form: text }
      const done = result === 'Match' ? ('saved' as const) : ('changed' as const)
      return [
        [`check payee ${result}`, checkPayeePage(view, draft, verification)] as const,
        [
          `payee ${result}`,
          payeePage(view, { ...payee, ...more, verification, may, done, problems, creator }),
        ] as const,
      ]
    }),
    ['payee unverified', payeePage(view, { ...payee, updatedAt: at, may, problems: {} })],
    ['payee wallet', payeePage(view, { ...wallet, updatedAt: at, may, problems: {} })],
  ]
}

function customerPages(language: ConsoleLanguage, text: string): NamedPages {
  const view = insideOf(language, text)
  const row = {
    ...{
      id: 'c1',
      serviceId: text,
      name: text,
      email: text,
      type: 'Individual' as const,
      identifier: text,
      createdAt: at,
    },
  }
  const values = wholeQuery(customerFilters, text)
  const formValues = wholeQuery(['email', 'fullName', 'legalName', 'city', 'uboFirstName1'], text)
  const states = ['Valid', 'Unchecked', 'Invalid', 'Missing'] as const
  const fields = states.map((state) => ({ field: text, value: text, state, code: text }))
  const balance = { currency: text, posted: '-1.00', reserved: '0.00', available: '-1.00' }
  const may = { write: true, openAccount: true, transactions: true, payouts: true, payees: true, wallets: true }
  const changes = [
    { field: `kyc.${text}`, before: text, after: text },
    { field: text, withheld: true },
    { field: text },
  ]
  const capabilities = [
    { name: 'OpenAccount' as const, allowed: true, reasons: [] },
    receiving,
    { name: 'Pay' as const, allowed: false, reasons: ['verification_invalid' as const, 'account_blocked' as const] },
  ]
  const customer = {
    ...row,
    capabilities,
    identity: verificationRows(text, href, at),
    verification: { state: 'Invalid' as const, checkedOn: at, fields },
    may,
    raw: { text },
  }
  return [
    [
      'customers',
      customersPage(view, { rows: [row], values, problems: values, pages, mayWrite: true, done: 'erased' }),
    ],
    ['no customers', customersPage(view, { rows: [], values: {}, problems: {}, pages: {}, mayWrite: true })],
    ['new customer', customerFormPage(view, { values: formValues, problems: formValues, idempotencyKey: text })],
    ['edit customer', customerFormPage(view, { values: {}, problems: {}, id: 'c1', idempotencyKey: text })],
    [
      'customer',
      customerPage(view, {
        ...customer,
        ibans: [{ country: text, iban: text }],
        balances: [balance],
        changes: [
          { at, by: text, fields: changes },
          { at, fields: [] },
        ],
        ...{ moreChanges: href, done: 'changed', problems: { form: text } },
      }),
    ],
    [
      'new customer page',
      customerPage(view, { ...customer, identity: { rows: [] }, ibans: [], balances: [], changes: [], problems: {} }),
    ],
  ]
}

function orderPages(language: ConsoleLanguage, text: string): NamedPages {
  const view = insideOf(language, text)
  const day = '2027-01-31'
  const schedule = {
    frequency: 'Monthly' as const,
    startsOn: day,
    time: '06:00:00',
    businessDays: 'Following' as const,
  }
  const row = {
    ...{ id: 'o1', beneficiaryId: 'b1', payee: text, payeeHref: href, amount: rawNumber(amounts.amount) },
    ...{ currency: 'EUR', status: 'Active' as const, onDuplicate: 'Allow' as const, payoutsMade: 2, schedule },
    ...{ nextAttemptAt: time, createdAt: time, updatedAt: time },
  }
  const values = wholeQuery(orderFields, text)
  const draft = { beneficiaryId: text, payee: text, currency: 'EUR', idempotencyKey: text }
  const execution = { date: day, status: 'Failed' as const, attempts: 3, problem: text, payoutHref: href }
  const order = {
    ...row,
    ...{ nextDates: [{ date: day, executesAt: time }], executions: [execution], pages, mayWrite: true, problems: {} },
  }
  const { nextAttemptAt: _next, ...last } = order
  const ended = { ...last, status: 'Ended' as const, endReason: 'Cancelled' as const, endedAt: time }
  const none = { nextDates: [], executions: [], pages: {} }
  const limited = { ...schedule, endsOn: day, dayOfMonth: 31, count: 24 }
  return [
    [
      'orders',
      ordersPage(view, { rows: [row], values: { status: text }, problems: { status: text }, pages, mayWrite: true }),
    ],
    ['no orders', ordersPage(view, { rows: [], values: {}, problems: {}, pages: {}, mayWrite: false })],
    ['new order', newOrderPage(view, { ...draft, values: {}, problems: {}, repeats: noDuplicates })],
    [
      'refused order',
      newOrderPage(view, {
        ...draft,
        values,
        problems: { ...values, form: text, again: text },
        repeats: repeated(text).repeats,
      }),
    ],
    ['order', orderPage(view, { ...order, reference: text, schedule: limited, done: 'created', creator })],
    ['paused order', orderPage(view, { ...order, status: 'Paused', problems: { form: text } })],
    ['ended order', orderPage(view, { ...ended, ...none })],
    ['order read only', orderPage(view, { ...order, mayWrite: false })],
  ]
}

const pagesOf = (language: ConsoleLanguage, text: string): NamedPages => [
  ...transactionPages(language, text),
  ...payoutPages(language, text),
  ...payeePages(language, text),
  ...customerPages(language, text),
  ...orderPages(language, text),
]

suite('every page of payments and customers', () => {
  const shown = consoleLanguages.flatMap((language) => pagesOf(language, evil))

  test('escapes hostile texts, labels fields, has relative links and is small', () => {
    assert.equal(shown.length, 2 * 51)
    const fields = shown.reduce((sum, [name, page]) => sum + checkPage(name, page), 0)
    assert.ok(fields > 200, `only ${fields} fields were read`)
  })

  test('shows amounts exactly, in the format of the language', () => {
    const page = (language: ConsoleLanguage) => new Map(pagesOf(language, 'x')).get('transactions') ?? ''
    assert.ok(page('en').includes('12,345,678,901,234,567.50'))
    assert.ok(page('de').includes('12.345.678.901.234.567,50'))
  })

  test('offers only the actions that the person may take', () => {
    const page = (name: string) => new Map(pagesOf('en', 'x')).get(name) ?? ''
    const hrefs = (name: string) => all(page(name), /href="\.\.\/payouts\/p1\/(approve)"/g)
    assert.deepEqual(hrefs('payout yes'), ['approve'])
    assert.deepEqual(hrefs('payout own'), [])
    assert.ok(page('payout own').includes(texts.en.payments.approvalOwn))
    assert.deepEqual(all(page('payout no'), /popovertarget="(cancel-payout)"/g), [])
    const forms = (name: string) => all(page(name), /action="\.\.\/standing-orders\/o1\/(\w+)"/g)
    assert.deepEqual(forms('order'), ['pause', 'cancel'])
    assert.deepEqual(forms('paused order'), ['resume', 'cancel'])
    assert.deepEqual([...forms('ended order'), ...forms('order read only')], [])
    assert.deepEqual(all(page('preview false'), /<button[^>]*class="(primary)"/g), [])
  })
})

test('the preview is worded in the language of the page', () => {
  const english = 'It waits for the approval of a second person.'
  const draft = {
    ...{
      beneficiaryId: 'b',
      amount: '1.00',
      currency: 'EUR',
      reference: 'R',
      note: '',
      payOn: '',
      idempotencyKey: 'k',
    },
  }
  const hold = explainHold({ kind: 'approval', by: null })
  const above = [{ kind: 'above', amount: rawNumber('1000.00'), currency: 'EUR' }] as const
  const preview = (language: 'en' | 'de', amounts: readonly (typeof above)[number][] = []) =>
    payoutPreviewPage(viewOf(language), {
      ...{ ...draft, payee: 'P', payeeAccount: 'A', accepted: true, needsApproval: true, problems: {} },
      ...{ fee: '0.00', total: '1.00', repeats: noDuplicates },
      rules: [{ rule: 'approval', verdict: 'passed', detail: english, hold, amounts: [...amounts] }],
    })
  assert.match(preview('en', above), /It waits for the approval/)
  assert.match(preview('de', above), /Freigabe nötig über 1\.000,00 EUR/)
  assert.doesNotMatch(preview('de', above), /lang="en">It waits/)
  assert.match(preview('en'), /It waits for the approval/)
  assert.match(preview('de'), /Eine zweite Person Ihres Teams muss die Auszahlung freigeben/)
  assert.match(preview('de'), /lang="en">It waits for the approval/)
})
