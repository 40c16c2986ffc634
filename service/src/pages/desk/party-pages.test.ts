/**
 * The pages of a partner, a customer, a payee, a payment, an action and the decision figures: hostile texts, labels,
 * structure and size, in every language.
 */
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
import { commandNames, getDeclaration, isCommand, commandRoles } from '../../operator/declarations.ts'
import { formOptions } from '../../operator/parse.ts'
import type { DecisionFigures } from '../../reports/decisions/index.ts'
import { type ConsoleLanguage, consoleLanguages } from '../kit/language.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { html } from '../html.ts'
import { auditActionText } from '../console/audit.ts'
import { texts as consoleTexts } from '../console/texts/index.ts'
import { actionPage, runbookActions, actionResultHref, hasForm, isActionName, actionMessage } from './acts.ts'
import { customerPage, customersPage } from './customers.ts'
import { durationText, numbersPage, readableKinds } from './numbers.ts'
import { payeesTable } from './parties.ts'
import { partnerPage, openItemsPage } from './partners.ts'
import { sections } from './partner-rules.ts'
import { payeePage, payeesPage } from './payees.ts'
import { paymentPage, paymentsPage } from './payments.ts'
import { printedCell } from './printed.ts'
import { lookResult } from './reconciliation.ts'
import { reviewsPage, unreviewedPage } from './reviews.ts'
import { deskTexts } from './texts.ts'

const at = new Date('2026-11-24T14:30:00Z')

function optionsOf(command: string) {
  assert.ok(isCommand(command), command)
  return formOptions(command)
}

/** Rows in which `text` replaces each text from a person, a bank or a partner. */
function rowsOf(text: string) {
  const customer = {
    ...{ id: text, serviceId: text, partnerCustomerIdentifier: text, email: text, customerType: 'Business' as const },
    kyc: {
      fullName: text,
      addressCountryCode: text,
      uboFirstName1: text,
      residenceAddress: text,
      registrationNumber: text,
    },
    ...{ createdAt: at, updatedAt: at },
  }
  const payee = {
    ...{ id: text, customerId: text, alias: text, name: text, iban: text, domesticAccount: null, accountType: null },
    ...{ bic: text, walletAddress: null, vasp: text, country: text, address: null, currency: 'EUR' as const },
    ...{ createdAt: at, updatedAt: at, unchangedSince: at, removedAt: null },
  }
  const transaction = {
    ...{ partnerId: text, id: text, reference: text, userReference: text, amount: 123_456_789n, currency: 'EUR' },
    ...{ category: 'Deposit', status: 'Completed', customerId: text, beneficiaryId: text, createdAt: at },
    ...{ errorKey: text, rail: text, endToEndId: text, description: text, creditor: null },
    debtor: JSON.stringify({ accountHolderName: text, iban: text }),
  }
  const timeline = [{ step: text, status: 'Completed', createdAt: at.toISOString(), reason: text, bankText: text }]
  const payment = { id: text, row: transaction, timeline, user: { id: text, name: text } }
  const cases = ([null, 'refused'] as const).map((resolution) => ({
    ...{ partnerId: text, id: text, kind: 'monitoring_alert' as const, currency: 'EUR' as const, booked: -100n },
    ...{ openedAt: at, resolution, proposedBy: text },
  }))
  const hits = (['open', 'cleared', 'confirmed', 'gone'] as const).map((status) => ({
    ...{
      partnerId: text,
      id: text,
      subjectKind: 'customer' as const,
      subjectId: text,
      source: 'un' as const,
      score: 97,
    },
    ...{ status, openedAt: at, decidedAt: at, decidedBy: text, approvedBy: text, proposal: null },
  }))
  const alerts = ([null, 'noted'] as const).map((resolution) => ({
    ...{ partnerId: text, id: text, ruleId: text, ruleName: text, openedAt: at, resolution },
  }))
  const notes = [{ id: text, authorName: text, note: text, madeAt: at }]
  const limits = [
    { scope: 'customer', scopeId: text, period: 'day', amount: '1000000.00', currency: 'EUR', allCurrencies: false },
  ]
  // Rows of the database have columns that no page shows.
  const payments = [
    payment,
    { ...payment, row: { ...transaction, customerId: null }, user: null },
  ] as unknown as Parameters<typeof paymentsPage>[1]['payments']
  return { customer, payee, payment: payments[0], payments, cases, hits, alerts, notes, limits }
}

const numbersOf = (text: string): DecisionFigures => ({
  ...{ at, months: ['2026-11', '2026-10'] },
  open: (['screening_hit', 'bank_fee'] as const).map((kind) => ({
    ...{ kind, ages: { upTo1: 1, upTo3: 2, upTo7: 3, upTo30: 4, older: 50_000 }, total: 50_010 },
  })),
  decided: [
    { month: '2026-11', kind: 'monitoring_alert', outcome: 'refused', count: 12 },
    { month: '2026-11', kind: 'screening_hit', outcome: text, count: 12 },
  ],
  times: [
    { month: null, kind: 'screening_hit', count: 2, medianMs: 30_000, ninetyMs: 90_000_000 },
    { month: '2026-11', kind: 'bank_fee', count: 2, medianMs: 30_000, ninetyMs: 900_000_000 },
  ],
  lists: [{ month: '2026-11', name: text, decided: 3, falseHits: 2 }],
  rules: [{ month: '2026-11', id: text, name: text, decided: 0, falseHits: 0 }],
  findings: [
    { month: '2026-11', kind: 'monitoring_alert', disposition: 'false_positive', count: 3 },
    { month: '2026-11', kind: 'screening_hit', disposition: 'birth_differs', count: 2 },
  ],
})

type Pages = readonly (readonly [string, string])[]

function given(view: ConsoleView, text: string, isFull: boolean) {
  const rows = rowsOf(text)
  const acts = isFull ? html`<p>${text}</p>` : undefined
  const some = <T>(all: readonly T[]): readonly T[] => (isFull ? all : [])
  const [partnerId, partnerName] = ['partner-1', text]
  const reviewed = { reviewedBy: text, reviewedAt: at, dueOn: '2026-11-24' }
  const review = { partnerId, customerId: text, risk: 'high', ...reviewed } as const
  const { payments, hits, limits, notes } = rows
  const shared = { partnerId, partnerName, acts, said: acts, payments, hits, limits, notes }
  return { ...rows, view, acts, some, partnerId, partnerName, review, shared }
}

function pagesOf(language: ConsoleLanguage, text: string, mayDecide: boolean): Pages {
  const person = { fullName: text, email: text, roleName: html`${text}`, partnerName: text }
  const view = viewOf(language, { person, places: [], current: 'partners' })
  return [
    ...customerPages(view, text, mayDecide),
    ...payeePages(view, text, mayDecide),
    ...waitingPages(view, text, mayDecide),
    ...partnerPages(view, text, mayDecide),
    ...(mayDecide ? actPages(view, text) : []),
  ]
}

function customerPages(view: ConsoleView, text: string, isFull: boolean): Pages {
  const { customer, payee, payments, cases, hits, alerts, notes, limits, some, shared, review } = given(
    view,
    text,
    isFull,
  )
  const { partnerId, partnerName } = shared
  const listed = [
    { ...customer, verification: 'Invalid' },
    { ...customer, verification: null },
  ]
  return [
    [
      'customer',
      customerPage(view, {
        ...shared,
        ...{ customer, accountState: isFull ? 'Blocked' : 'Active', alerts: some(alerts), cases: some(cases) },
        ...{ payments: some(payments), hits: some(hits), limits: some(limits), notes: some(notes) },
        payees: some([payee]),
        capabilities: {
          ...{ customerId: text, verificationState: 'Incomplete', inAll: undefined },
          capabilities: [
            { name: 'Pay', reasons: ['verification_incomplete', 'account_blocked'] },
            { name: 'Receive', reasons: [] },
          ],
          holdUpTo: [{ currency: 'EUR', max: 15_000n, held: 100n }],
          fields: some([{ field: 'dateOfBirth', state: 'Missing', code: 'field_required' }]),
        } as unknown as Parameters<typeof customerPage>[1]['capabilities'],
        proofs: some([
          { kinds: ['Document'], status: 'Approved', createdAt: at, validUntil: at, inForce: true },
        ]) as unknown as Parameters<typeof customerPage>[1]['proofs'],
        ibans: some([{ iban: text, country: text, bic: text }]),
        sums: some([{ id: text, currency: 'EUR', posted: 123_456_789n, reserved: 100n }]) as unknown as Parameters<
          typeof customerPage
        >[1]['sums'],
        review: isFull ? review : undefined,
        isOverdue: isFull,
        blocks: some([
          { id: text, changedAt: at, toState: 'Blocked', reason: 'Fraud', staff: text, note: text },
        ]) as unknown as Parameters<typeof customerPage>[1]['blocks'],
        mayIdentify: isFull,
      }),
    ],
    ['customers', customersPage(view, { partnerId, partnerName, q: text, customers: listed, next: text, first: text })],
    ['no customers', customersPage(view, { partnerId, partnerName, q: '', customers: [] })],
  ]
}

function payeePages(view: ConsoleView, text: string, isFull: boolean): Pages {
  const { payee, payment, payments, cases, acts, some, shared } = given(view, text, isFull)
  const { partnerId, partnerName } = shared
  assert.ok(payment)
  return [
    [
      'payee',
      payeePage(view, {
        ...{ ...shared, payee, customerName: text, coolingUntil: isFull ? at : null },
        check: (isFull ? { result: 'NoMatch', matchedName: text, answeredAt: at } : undefined) as unknown as Parameters<
          typeof payeePage
        >[1]['check'],
      }),
    ],
    [
      'own payee, removed',
      payeePage(view, {
        ...shared,
        payee: { ...payee, customerId: null, removedAt: at },
        customerName: undefined,
        check: undefined,
        coolingUntil: null,
      }),
    ],
    [
      'payees',
      payeesPage(view, { partnerId, partnerName, q: text, payees: [payee], customerId: text, next: text, first: text }),
    ],
    ['no payees', payeesPage(view, { partnerId, partnerName, q: text, payees: [] })],
    [
      'payment',
      paymentPage(view, {
        ...{ payment, partnerName, customerName: text, related: some(payments), cases: some(cases) },
        ...{ partnerReads: text, acts, said: acts },
      }),
    ],
    [
      'payments',
      paymentsPage(view, {
        partnerId,
        title: text,
        payments,
        back: { href: 'partners', text },
        next: text,
        first: text,
      }),
    ],
    ['no payments', paymentsPage(view, { partnerId, title: text, payments: [], back: { href: 'partners', text } })],
  ]
}

function waitingPages(view: ConsoleView, text: string, isFull: boolean): Pages {
  const { partnerId, partnerName, review } = given(view, text, isFull)
  const waiting = Array.from({ length: 51 }, () => ({ id: text, openedAt: at }))
  return [
    [
      'waiting',
      openItemsPage(view, {
        partner: { id: partnerId, name: text, createdAt: at },
        title: text,
        name: 'cases',
        table: html``,
        rows: waiting,
      }),
    ],
    [
      'reviews',
      reviewsPage(view, {
        reviews: (['low', 'medium', 'high'] as const).map((risk) => ({
          ...review,
          risk,
          name: text,
          partnerName: text,
        })),
        mayRecord: isFull,
        next: text,
        first: text,
      }),
    ],
    ['no reviews', reviewsPage(view, { reviews: [], mayRecord: isFull })],
    [
      'unreviewed',
      unreviewedPage(view, {
        partnerId,
        partnerName,
        customers: [{ customerId: text, name: undefined, createdAt: at }],
        mayRecord: isFull,
      }),
    ],
    ['numbers', numbersPage(view, numbersOf(text))],
    [
      'no numbers',
      numbersPage(view, {
        at,
        months: ['2026-11'],
        open: [],
        decided: [],
        times: [],
        lists: [],
        rules: [],
        findings: [],
      }),
    ],
  ]
}

function partnerPages(view: ConsoleView, text: string, mayDecide: boolean): Pages {
  const { customer, payee, payments, cases, hits, alerts, notes } = rowsOf(text)
  return ['limit set', undefined].map((command) => {
    const commands = sections.flatMap(({ changes, removal }) => [...changes, removal?.command ?? ''])
    const named = sections.flatMap(({ columns, removal }) => [...columns, removal?.column ?? 'id'])
    const row = Object.fromEntries(named.map((column) => [column, text]))
    const shown = sections.map((section) => ({
      ...{ section, rows: [row, { ...row, changedAt: at.toISOString(), lastUsedAt: at, permissions: [text] }] },
      may: new Set(mayDecide ? commands : []),
    }))
    const partner = { id: 'partner-1', name: text, createdAt: at }
    const refused = command === undefined ? undefined : { command, error: text, form: () => text }
    const some = <T>(rows: readonly T[]): readonly T[] => (command === undefined ? [] : rows)
    const team = [
      {
        id: text,
        fullName: text,
        email: text,
        role: 'Admin',
        lastSignInAt: null,
        factors: [],
        createdAt: at,
        updatedAt: at,
      },
    ] as const
    const webhook = {
      id: text,
      url: text,
      events: [text],
      extensionEvents: [],
      status: 'Disabled',
      disabledReason: 'Failing',
      disabledAt: at,
      createdAt: at,
    }
    const concerns = {
      ...{ isClosed: mayDecide, customers: some([{ ...customer, verification: 'Complete' }]), payees: some([payee]) },
      ...{ payments: some(payments), cases: some(cases), hits: some(hits), alerts: some(alerts), notes: some(notes) },
      changes: some([
        {
          id: 'change-1',
          command: 'limit set',
          partnerId: text,
          options: [[text, text] as const],
          note: text,
          by: text,
          at,
          approvedBy: null,
          isOwn: false,
          mayDecide,
        },
      ]),
      team: some(team),
      webhooks: some([webhook]) as unknown as Parameters<typeof partnerPage>[1]['concerns']['webhooks'],
    }
    return ['partner', partnerPage(view, { partner, sections: shown, optionsOf, refused, concerns })] as const
  })
}

const actNames = commandNames.filter((command) => commandRoles(command) !== undefined)

const actPages = (view: ConsoleView, text: string): Pages =>
  actNames
    .filter(isActionName)
    .filter((act) => hasForm(changes, act))
    .flatMap((act) => {
      const shown = {
        act,
        options: optionsOf(act),
        given: { partner: text },
        partnerName: text,
        cuts: true,
        back: 'queue',
      }
      const refused = { command: act, error: text, form: () => text }
      return [
        [`act ${act}`, actionPage(view, shown)] as const,
        [`act ${act} refused`, actionPage(view, { ...shown, partnerName: undefined, given: {}, refused })] as const,
      ]
    })

test('pages escape hostile texts, label fields, have their structure and are small, in every language', () => {
  for (const language of consoleLanguages)
    for (const mayDecide of [true, false])
      for (const [name, page] of pagesOf(language, evil, mayDecide)) {
        checkEscaped(name, page)
        checkLabels(name, page)
        checkStructure(name, page)
        checkSize(name, page)
      }
})

test('pages do not show raw values, JSON, command lines or ungrouped amounts', () => {
  for (const language of consoleLanguages)
    for (const [name, page] of pagesOf(language, 'Ada Lovelace', true)) {
      // A label or its help text describes the format of the input.
      const text = page
        .replaceAll(/<label[^>]*>[^<]*<\/label>|<p class="help"[^>]*>[^<]*<\/p>/g, '')
        .replaceAll(/<[^>]*>/g, ' ')
      assert.doesNotMatch(text, /npm run|\{"|settlement\./, name)
      assert.doesNotMatch(page, />\s*(?:false|true|null|undefined)\s*</, name)
      assert.doesNotMatch(text, /\b[A-Z][a-z]+[A-Z][a-z]+\b(?<!SoleTrader)/, `${name}: a value of the code`)
      assert.doesNotMatch(text, /\d{4,}\.\d\d|1234567/, `${name}: an amount without groups`)
      assert.doesNotMatch(text, /\d{4}-\d\d-\d\dT/, `${name}: a time of a machine`)
    }
})

test('exactly the commands that change something have a name and a sentence in every language', () => {
  for (const language of consoleLanguages) {
    const acts: Readonly<Record<string, readonly string[]>> = deskTexts[language].acts
    assert.deepEqual(Object.keys(acts).toSorted(), [...actNames].toSorted())
    for (const [act, [title = '', done = '']] of Object.entries(acts)) {
      assert.match(done, /\.$/, act)
      assert.ok(title.length > 3 && title.length < 48 && !title.endsWith('.'), `${act}: ${title}`)
      assert.doesNotMatch(`${title} ${done}`, /[{}"`]|--/, act)
    }
  }
})

test('every audit log action besides operations has words in every language', () => {
  const acts = [...Object.keys(consoleTexts.en.serviceActs), ...[...actNames].map((command) => `operator ${command}`)]
  for (const language of consoleLanguages)
    for (const act of acts)
      assert.match(auditActionText(viewOf(language), act) ?? '', /^\p{Lu}.*[^.]$/u, `${language}: ${act}`)
  assert.equal(auditActionText(viewOf('en'), 'signIn'), 'Signed in')
  assert.equal(auditActionText(viewOf('de'), 'operator limit set'), deskTexts.de.acts['limit set'][0])
  assert.equal(auditActionText(viewOf('en'), 'an act of an earlier version'), undefined)
})

test('a list of payees shows the name first, and the alias beside it', () => {
  const { payee } = rowsOf('text')
  const shown = { ...payee, name: 'Ada Lovelace', alias: 'Rent' }
  const { html: row } = payeesTable(viewOf('en'), 'p1', [shown])
  assert.match(
    row,
    /<a [^>]*><span class="free">Ada Lovelace<\/span><\/a>\s*<span class="soft"><span class="free">Rent/,
  )
})

test('every option of an action has a label in every language', () => {
  for (const language of consoleLanguages) {
    const names: Readonly<Record<string, string>> = deskTexts[language].options
    for (const command of actNames)
      for (const { name } of optionsOf(command)) {
        if (!isActionName(command) || !hasForm(changes, command)) continue
        const camel = name.replaceAll(/-(.)/g, (_dash, letter: string) => letter.toUpperCase())
        assert.ok(`${command} ${name}` in names || camel in names, `${language}: ${command} ${name}`)
      }
  }
})
const changes = {
  act: (command: string) => {
    assert.ok(isCommand(command))
    const files = Object.values(getDeclaration(command).options).filter(
      ({ kind, optional }) => kind === 'file' && !optional,
    )
    return files.length > 0 ? undefined : { cuts: false, secret: false }
  },
}

test('a page reports the effect of an action or that it waits, and ignores unknown actions', () => {
  const view = viewOf('en')
  const said = (query: string) => actionMessage(view, { query } as Parameters<typeof actionMessage>[1])?.html ?? ''
  assert.match(said('said=limit%20set'), /The limit is set/)
  assert.match(said('waits=limit%20set'), /Set limit: Another person has to approve/)
  assert.equal(said('said=%3Cscript%3E'), '')
  assert.equal(said(''), '')
  assert.equal(actionResultHref('partners/1?x=1', 'limit set', undefined), 'partners/1?x=1&said=limit%20set')
})

test('a runbook links to the actions that it names, if the role may use them', () => {
  const view = viewOf('en')
  const given = { act: changes.act, mayDecide: (command: string) => command !== 'fee set' }
  const person = { signed: { account: { role: 'finance' } } } as unknown as Parameters<
    typeof runbookActions
  >[1]['person']
  const links = runbookActions(view, { changes: given, person }, [
    'limit set',
    'fee set',
    'key reseal',
    'limit',
    'no command',
  ])
  assert.match(links?.html ?? '', /href="\.\.\/act\?command=limit%20set/)
  assert.doesNotMatch(links?.html ?? '', /fee|reseal|no%20command/)
  assert.equal(runbookActions(view, { changes: given, person }, ['ledger check']), undefined)
})

test('only a comparison with a recent statement is green', () => {
  const name = { connector: 'bank', account: 'DE1', currency: 'EUR' }
  const line = (fields: Readonly<Record<string, string>>) => ({ difference: '0.00', unexplained: '0.00', ...fields })
  const found = (fields: Readonly<Record<string, string>>, account = name) =>
    lookResult(line(fields) as Parameters<typeof lookResult>[0], account, at)
  assert.equal(lookResult(undefined, name, at), 'notLooked')
  assert.equal(found({ statement_on: '' }), 'noStatement')
  assert.equal(found({ statement_on: '2026-11-23' }), 'agrees')
  assert.equal(found({ statement_on: '2026-11-18' }), 'agreesOld')
  assert.equal(found({ statement_on: '', unexplained: '0.01' }), 'unexplained')
  assert.equal(found({ statement_on: '2026-11-23', difference: '1.00' }), 'explained')
  assert.equal(found({}, { ...name, account: 'suspense' }), 'agrees')
})

test('a printed row shows amounts, times and links for people', () => {
  const view = viewOf('de')
  const row = {
    currency: 'EUR',
    amount: '1234567.50',
    allCurrencies: false,
    account: 'settlement.sandbox',
    scope: 'customer',
    validFrom: at.toISOString(),
  }
  const text = (column: string) => {
    const cell = printedCell(view, 'partner', row, column)
    return (typeof cell === 'string' ? cell : cell.html).replaceAll(/<[^>]*>/g, '').trim()
  }
  assert.equal(text('amount'), '1.234.567,50 EUR')
  assert.equal(text('allCurrencies'), 'Nein')
  assert.equal(text('account'), 'Bei sandbox')
  assert.equal(text('scope'), 'Jeder Kunde')
  assert.match(text('validFrom'), /^24\.11\.2026, 14:30/)
  assert.equal(text('missing'), '–')
})

test('a duration is shown in the largest unit with a value of at least two', () => {
  const view = viewOf('en')
  const texts = [30_000, 3_600_000, 7_200_000, 169_200_000, 172_800_000].map((ms) => durationText(view, ms))
  assert.deepEqual(texts, ['1 min', '60 min', '2 h', '47 h', '2 d'])
})

test('compliance and admins read all figures, and other roles read the figures of the kinds that they decide', () => {
  const kinds = ['screening_hit', 'monitoring_alert', 'bank_fee'] as const
  const roles = {
    screening_hit: ['compliance', 'admin'],
    monitoring_alert: ['admin'],
    bank_fee: ['finance', 'admin'],
  } as const
  const deciders = kinds.map((kind) => ({ kind, roles: roles[kind], setBy: null, setAt: null }))
  const read = (role: Parameters<typeof readableKinds>[0]) => {
    const isShown = readableKinds(role, deciders)
    return isShown && kinds.filter(isShown)
  }
  assert.deepEqual([read('compliance'), read('admin')], [kinds, kinds])
  assert.deepEqual([read('finance'), read('support')], [['bank_fee'], undefined])
})
