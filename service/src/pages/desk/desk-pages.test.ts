import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  checkEscaped,
  checkLabels,
  checkSize,
  checkStructure,
  checkTranslated,
  evil,
  viewOf,
} from '../../../../test/support/console-pages.ts'
import type { SafeguardingContent } from '../../reports/safeguarding/index.ts'
import { partKinds } from '../../reports/safeguarding/rules.ts'
import {
  actionsFor,
  caseActions,
  type CaseKind,
  caseKinds,
  type CaseReport,
  type CaseRow,
  operatorPartnerId,
} from '../../cases/index.ts'
import { decidedKinds, staffRoles, type QueueItemKind, waitingReasons } from '../../people/staff/index.ts'
import { isCommand } from '../../operator/declarations.ts'
import { formOptions } from '../../operator/parse.ts'
import type { HitView } from '../../screening/index.ts'
import { type ConsoleLanguage, consoleLanguages } from '../kit/language.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { html } from '../html.ts'
import { casePage } from './case-page.ts'
import { changesPage, devicePage } from './commands.ts'
import { connectorsPage } from './connectors.ts'
import { countriesPage } from './countries.ts'
import { decidersPage } from './deciders.ts'
import { findPage, type SearchResult } from './find.ts'
import { hitPage, hitResultsPage, hitsPage } from './hits.ts'
import { secretPage } from './acts.ts'
import { partnersPage } from './partners.ts'
import { sections } from './partner-rules.ts'
import { type PrintedPayout, payoutPage } from './payouts.ts'
import { queuePage, queueTabs } from './queue.ts'
import { dayPage, daysPage } from './safeguarding.ts'
import { staffPage } from './staff.ts'
import { deskTexts } from './texts.ts'
import { waitingItemPage } from './things.ts'

const at = new Date('2026-11-24T14:30:00Z')

function optionsOf(command: string) {
  assert.ok(isCommand(command), command)
  return formOptions(command)
}
const refusedForm = (command: string, text: string) => ({ command, error: text, form: () => text })

/** A safeguarding record with every kind of part. `text` replaces each text from a bank or a partner. */
function dayOf(text: string, status: SafeguardingContent['status']): SafeguardingContent {
  const account = { connector: text, account: text, dueOn: '2026-11-24' }
  const sums = { resource: '7.00', difference: '-3.00', own: '-3.00', timing: '0.00', discrepancy: '0.00' }
  const unknown = { resource: null, difference: null, own: null, timing: null, discrepancy: null }
  return {
    ...{ form: 1, day: '2026-11-24', currency: 'EUR', version: 2, previous: text, status, isOver: true },
    ...{ cutAt: at.toISOString(), computedAt: at.toISOString() },
    requirement: { total: '10.00', balances: '9.00', reserved: '1.00', suspense: '1.00' },
    ...(status === 'incomplete' ? unknown : sums),
    accounts: [
      { ...account, statement: { id: text, name: text, on: '2026-11-24', closing: '7.00' } },
      { ...account, statement: null },
    ],
    parts: Object.entries(partKinds).flatMap(([group, kinds]) =>
      Object.keys(kinds).map((kind) => ({
        ...{ group: group as 'own', kind, connector: text, account: text, amount: '-1.00', count: 2, why: text },
      })),
    ),
    entries: [{ kind: 'in_transit', account: text, id: text, bookedOn: '2026-11-24', amount: '1.00' }],
    changedRows: [{ partnerId: text, account: text, difference: '-0.01' }],
  }
}

test('every kind of part of a safeguarding record has a text at the desk', () => {
  for (const kind of Object.values(partKinds).flatMap(Object.keys))
    assert.ok(kind === 'unexplained' || kind in deskTexts.en.safeguarding, kind)
})

const none = { partners: [], payouts: [], deposits: [], files: [], cases: [], customers: [], payees: [] }

function foundOf(text: string): SearchResult {
  const owner = { partnerId: text, partnerName: text }
  const money = { currency: 'EUR', amount: 1234n } as const
  const payout = { ...owner, id: text, reference: text, endToEndId: text, status: text, money, createdAt: at }
  return {
    partners: [owner],
    payouts: [null, text].map((caseId) => ({ ...payout, caseId })),
    deposits: [null, text].map((customerId) => ({ ...payout, customerId })),
    cases: [{ ...owner, id: text, kind: 'bank_fee', openedAt: at }],
    payees: [null, text].map((customerId) => ({
      ...owner,
      id: text,
      customerId,
      createdAt: at,
      removedAt: customerId === null ? null : at,
    })),
    files: [null, text].map((messageId) => ({
      ...{ direction: 'received', id: text, connector: text, name: text, kind: text, messageId },
      ...{ state: 'Taken', problem: null, at },
    })),
    customers: [null, at].map((closedAt) => ({ ...owner, id: text, iban: closedAt && text, closedAt })),
    ...{ hasMore: true, searched: 1000 },
  }
}

function countryPages(view: ConsoleView, text: string, mayDecide: boolean): readonly (readonly [string, string])[] {
  const options = optionsOf('screening country set')
  const refusal = refusedForm('screening country set', text)
  return [
    ...[undefined, mayDecide ? { ...refusal, field: 'for' } : refusal].map(
      (refused) =>
        [
          `countries ${refused === undefined ? '' : 'refused'}`,
          countriesPage(view, {
            rules: [{ country: 'IR', side: 'payouts', action: 'refuse' }],
            changes: [
              {
                ...{
                  id: 'change',
                  command: text,
                  partnerId: undefined,
                  options: [[text, text]],
                  note: text,
                  by: text,
                  at,
                },
                ...{ approvedBy: null, isOwn: false, mayDecide },
              },
            ],
            ...{ mayWrite: mayDecide, said: 'waits', options, refused },
          }),
        ] as const,
    ),
    ['no countries', countriesPage(view, { rules: [], changes: [], mayWrite: mayDecide, options })],
  ]
}

function pagesOf(language: ConsoleLanguage, text: string, mayDecide: boolean): readonly (readonly [string, string])[] {
  const person = { fullName: text, email: text, roleName: html`${text}`, partnerName: text }
  const view = viewOf(language, { person, places: [], current: 'queue' })
  const aCase = { row: rowOf('unknown_payment', text), proposed: 'match', lastNote: text } as const
  const unowned = { row: openRow('monitoring_alert', text), proposed: undefined, lastNote: null }
  return [
    ...queuePages(view, text, [aCase, unowned]),
    ...thingPages(view, text),
    ...casePages(view, text, mayDecide),
    ...deciderPages(view, text, mayDecide),
    ...hitPages(view, text, mayDecide),
    ['days', daysPage(view, { days: [dayOf(text, 'excess'), dayOf(text, 'incomplete')], next: text, first: text })],
    ['no days', daysPage(view, { days: [] })],
    ...(['balanced', 'excess', 'shortfall', 'unexplained', 'incomplete'] as const).map((status) => {
      const versions = [{ version: 1, computedAt: at, status }]
      return [`day ${status}`, dayPage(view, { content: dayOf(text, status), digest: text, versions })] as const
    }),
    ...countryPages(view, text, mayDecide),
    ['find', findPage(view, { typed: text })],
    ['find refused', findPage(view, { typed: text, isRefused: true })],
    ['found', findPage(view, { typed: text, found: foundOf(text) })],
    ['found nothing', findPage(view, { typed: text, found: { ...none, hasMore: false, searched: null } })],
    ...payoutPages(view, text, mayDecide),
    ...staffPages(view, text, mayDecide),
  ]
}

const openRow = (kind: CaseKind, text: string): CaseRow => ({
  ...{ partnerId: text, id: text, kind, connector: text, notificationId: text, subject: text, report: '{}' },
  ...{
    currency: null,
    booked: null,
    openedAt: at,
    resolvedAt: null,
    resolution: null,
    resolvedBy: null,
    approvedBy: null,
    note: null,
  },
  ...{ disposition: null, proposalId: null, proposal: null, proposedBy: null, proposedAt: null, returningSince: null },
  ...{ ownerId: null, ownerName: null, ownedSince: null },
})
/** A case with money, an owner and a proposal. */
const rowOf = (kind: CaseKind, text: string, booked = 12_34n): CaseRow => ({
  ...openRow(kind, text),
  ...{ currency: 'EUR', booked, ownerId: text, ownerName: text, ownedSince: at },
  ...{ proposalId: text, proposal: '{}', proposedBy: text, proposedAt: at },
})

/** A case report with every fact that a page shows. */
function reportedBy(text: string): CaseReport {
  const money = { amount: '12.34', currency: 'EUR' }
  return {
    ...{ account: text, remittance: text, endToEndId: text, transactionHash: text, details: text, reference: text },
    debtor: { account: text, bic: text, name: text, countryCode: text, address: text, onBehalfOf: text },
    ...{ money, expected: money, instructed: money, count: 3, sum: '7.00', currency: 'EUR', references: [text, text] },
    ...{ rule: { id: 'rule', version: 1, name: text, kind: 'velocity' }, customerId: text, day: '2026-11-24' },
    ...{ bank: '1.00', ledger: '2.00', difference: '1.00', unexplained: '1.00', requirement: '9.00', resource: null },
    ...{ missingStatements: [text], payer: { lacks: ['name', text], answerBy: at.toISOString() } },
  }
}

/**
 * The pages of each kind of case: open with incoming, outgoing and no money, with each action chosen, proposed, and
 * resolved.
 */
function casePages(view: ConsoleView, text: string, mayDecide: boolean): readonly (readonly [string, string])[] {
  const candidate = { ...{ partnerId: text, id: text, status: text, money: text }, score: 75, agreed: [text] }
  const money = { amount: 12_34n, currency: 'EUR' } as const
  const standing = {
    ...{ waiting: 6n, left: 1n, ended: 1n, sums: [money] },
    payments: [text, undefined].map((payoutId) => ({
      ...{ ...money, reference: text, createdAt: at, payoutId, payee: payoutId },
    })),
  }
  const common = {
    ...{ report: reportedBy(text), partnerName: text, options: optionsOf('case propose'), typed: () => text },
    ...{
      decisions: [{ at, actor: text, kind: text, note: text, stopped: 2, alreadySent: 1 }],
      hits: [{ partnerId: text, id: text, listedName: text }],
    },
    ...{
      file: { id: text, name: text },
      people: [{ id: 'another', fullName: text, role: 'finance' as const }],
      readerId: text,
    },
    candidates: (['payout', 'deposit', 'owner'] as const).map((kind) => ({ ...candidate, kind, on: at })),
    related: [{ ...openRow('contradiction', text) }, { ...openRow('doubled', text), resolution: 'gone' as const }],
    refunds: [true, false].map((isPaid) => ({ payoutId: text, status: text, money: text, isPaid })),
    ...{ mayRecall: mayDecide, mayDecide, roles: staffRoles, error: text },
  }
  return caseKinds.flatMap((kind) => {
    const alert = kind === 'monitoring_alert' ? standing : null
    const rows = [rowOf(kind, text), rowOf(kind, text, -1n), openRow(kind, text)]
    return rows.flatMap((row) => {
      const actions = actionsFor(row, text)
      const shown = { ...common, row, actions, standing: alert, proposal: null }
      return [
        [`${kind} choice`, casePage(view, { ...shown, chosen: undefined })] as const,
        ...actions.map(
          (chosen) => [`${kind} ${chosen}`, casePage(view, { ...shown, chosen, said: 'rejected' })] as const,
        ),
        ...[true, false].map((isOwn) => {
          const proposal = { id: text, action: actions[0] ?? caseActions[0], note: text, disposition: 'fraud', isOwn }
          return [
            `${kind} proposed`,
            casePage(view, { ...shown, chosen: undefined, proposal, said: 'proposed' }),
          ] as const
        }),
        [
          `${kind} ended`,
          casePage(view, {
            ...{ ...shown, chosen: undefined, said: 'approved' },
            row: {
              ...row,
              partnerId: operatorPartnerId,
              resolution: 'refused',
              resolvedBy: text,
              approvedBy: text,
              disposition: 'fraud',
              note: text,
            },
          }),
        ] as const,
      ]
    })
  })
}

function deciderPages(view: ConsoleView, text: string, mayChange: boolean): readonly (readonly [string, string])[] {
  const deciders = decidedKinds.map((kind, nth) => ({
    ...{ kind, roles: nth % 2 === 0 ? staffRoles : (['admin'] as const) },
    ...(nth % 3 === 0 ? { setBy: text, setAt: at } : { setBy: null, setAt: null }),
  }))
  const shown = { deciders, mayChange, options: optionsOf('decider set') }
  return [
    ['deciders', decidersPage(view, { ...shown, chosen: undefined, said: 'waits' })],
    ['deciders of a kind', decidersPage(view, { ...shown, chosen: 'screening_hit' })],
    [
      'deciders refused',
      decidersPage(view, { ...shown, chosen: 'monitoring_alert', refused: refusedForm('decider set', text) }),
    ],
  ]
}

type Cases = Parameters<typeof queuePage>[1]['cases']
function queuePages(view: ConsoleView, text: string, cases: Cases): readonly (readonly [string, string])[] {
  const waiting = thingsOf(text)
  const names = new Map([[text, text]])
  const counts = caseKinds.map((kind, nth) => ({ kind, count: nth * 100 }))
  const open = counts
  const shown = { cases: [], tab: 'all', kind: undefined, mine: false, waiting: [], names, now: at, open } as const
  return [
    ['queue', queuePage(view, { ...shown, cases, waiting, next: text, first: text })],
    ['queue of a kind', queuePage(view, { ...shown, kind: 'doubled', mine: true, open: [] })],
    ...queueTabs.map((tab) => [`empty queue ${tab}`, queuePage(view, { ...shown, tab })] as const),
    ...(['late', 'failed'] as const).map((each) => [each, queuePage(view, { ...shown, waiting: each })] as const),
  ]
}

function hitPages(view: ConsoleView, text: string, mayDecide: boolean): readonly (readonly [string, string])[] {
  const typed = () => text
  const decisions = [{ at, actor: text, kind: text, what: text, found: 'birth_differs', note: text }]
  const row = { partnerId: text, id: text, openedAt: at, proposedBy: text }
  const aHit = { ...row, name: text, listedName: text, source: 'un', score: 97, proposal: 'clear' } as const
  const hits = [text, null].map((owner) => ({ ...aHit, owner, equal: owner === null ? 1 : 12 }))
  return [
    ['hits', hitsPage(view, { hits, next: text })],
    ['no hits', hitsPage(view, { hits: [], next: null })],
    [
      'hit',
      hitPage(view, {
        ...aHit,
        ...{ subjectKind: text, subjectId: text, role: text, compared: comparedOf(text) },
        ...{
          status: text,
          decidedBy: text,
          approvedBy: text,
          disposition: 'licensed',
          hasEnded: false,
          decisions,
          mayDecide,
          typed,
        },
        ...{ refused: { error: text, field: 'disposition' as const }, options: optionsOf('screening decide') },
        ...{ equal: [aHit], partnerName: text, roles: staffRoles, said: 'proposed', thing: thingOf(text) },
      }),
    ],
    [
      'hits decided',
      hitResultsPage(view, {
        results: [true, false].map((isDone) => ({ id: text, partnerId: text, said: text, isDone })),
      }),
    ],
  ]
}

const comparedOf = (text: string): HitView => {
  const money = { amount: 1_00n, currency: 'EUR' } as const
  const decision = {
    kind: 'decided',
    outcome: 'clear',
    disposition: null,
    actor: text,
    note: text,
    decidedAt: at,
  } as const
  return {
    entry: { source: 'un', entryId: text, reference: text, kind: 'person', publishedAt: at, generation: 1 },
    fields: [{ field: 'names', party: [text], listed: [text], verdict: 'agrees' }],
    words: [{ word: text, listed: null, how: 'additional', likeness: 0, weight: 100 }],
    payments: [{ kind: 'payout', id: text, reference: text, since: at, ...money }],
    ...{ morePayments: true, sums: [money], endsBy: 'persons' },
    earlier: [true, false].map((sameSubject) => ({ ...decision, hitId: text, name: text, sameSubject })),
  }
}

/** More items of each reason than the queue shows, with and without an owner. */
const thingsOf = (text: string) =>
  waitingReasons.flatMap((why) =>
    Array.from({ length: 21 }, (_none, nth) => ({
      ...{ partnerId: text, kind: kindOf(why), subject: text, why, since: at, detail: text },
      ...(why === 'hit' ? { proposal: { outcome: 'clear' as const, by: text } } : {}),
      owner: nth === 0 ? { id: text, fullName: text } : null,
      lastNote: nth === 0 ? text : null,
    })),
  )
const kindOf = (why: (typeof waitingReasons)[number]): QueueItemKind =>
  why === 'poolLow' ? 'pool' : why === 'connectorFails' ? 'connector' : why.startsWith('deposit') ? 'deposit' : 'payout'

const thingOf = (text: string) => ({
  key: { partnerId: text, kind: 'pool', subject: text } as const,
  waits: thingsOf(text).slice(0, 1),
  owner: { id: text, fullName: text },
  steps: [{ sequence: 1, kind: 'remarked', actor: text, note: text, at } as const],
  people: [{ id: 'another', fullName: text, role: 'finance' as const }],
  readerId: text,
})

/** The pages of items that await a person, and of connectors. */
function thingPages(view: ConsoleView, text: string): readonly (readonly [string, string])[] {
  const typed = () => text
  const state = { since: at, answeredAt: at, failedAt: at, failures: 5, problem: text, heldBack: true, inFlight: 3 }
  const file = { direction: 'sent', id: text, connector: text, name: text, kind: text, messageId: text } as const
  const sent = { ...file, state: 'Made', problem: text, at } as const
  const connector = {
    ...{ id: 'bank', byFiles: true, state, trouble: 'heldBack' as const, troubleSince: at },
    waits: { notification: at, payout: at, recall: at, file: at },
    files: { received: sent, sent, aside: sent },
  } as const
  const quiet = {
    ...{ id: 'quiet', byFiles: false, trouble: undefined, troubleSince: null },
    state: { ...state, answeredAt: null, failedAt: null, problem: null, failures: 0, heldBack: false },
    waits: { notification: null, payout: null, recall: null, file: null },
    files: { received: null, sent: null, aside: null },
  } as const
  return [
    ['thing', waitingItemPage(view, thingOf(text), { typed, error: text })],
    ['item that has ended', waitingItemPage(view, { ...thingOf(text), waits: [] }, { typed })],
    ['unknown item', waitingItemPage(view, { ...thingOf(text), waits: [], steps: [] }, { typed })],
    ['connectors', connectorsPage(view, { connectors: [connector, quiet], hrefOf: () => 'waiting' })],
    ['no connectors', connectorsPage(view, { connectors: [], hrefOf: () => 'waiting' })],
  ]
}

/** The pages of a payout in each status, at a file-based bank and at another one. */
function payoutPages(view: ConsoleView, text: string, mayAct: boolean): readonly (readonly [string, string])[] {
  const bank = {
    ...{
      status: text,
      attempt: 1,
      schemeApplied: text,
      reasonCode: text,
      fileId: text,
      settledAt: at,
      missingSince: at,
    },
    ...{ file: { messageId: text, name: text, state: text }, recall: { status: text } },
  }
  return ['Pending', 'Processing', 'Sent', 'Completed', text].flatMap((status) =>
    [bank, undefined].map((each) => {
      const payout: PrintedPayout = {
        ...{
          partnerId: text,
          payoutId: text,
          instructionId: text,
          endToEndId: text,
          reference: text,
          userReference: each ? text : null,
          status,
          since: at,
        },
        ...{ amount: '12.34', currency: 'EUR', sold: text, connector: text, attempts: 2, beneficiary: text },
        ...{
          errorKey: text,
          errorDetails: text,
          timeline: [{ step: text, createdAt: at, reason: text, bankText: text }],
          partnerReads: text,
          runbook: text,
        },
        hold: each ? 'names' : undefined,
      }
      const approval = each && { decision: text, by: text, at }
      const aCase = { ...openRow('contradiction', text), currency: 'EUR', booked: 100n } as const
      const cases = each ? [aCase] : []
      const shown = {
        payout,
        bank: each,
        approval,
        cases,
        ...{ partnerName: text, beneficiaryId: each ? text : null, customerId: each ? text : null, acts: undefined },
        held: {
          alerts: [openRow('monitoring_alert', text)],
          hits: [{ partnerId: text, id: text, name: text, listedName: text, status: text, openedAt: at }],
        },
        thing: thingOf(text),
        mayAct,
        options: optionsOf('payment end'),
        said: html`${text}`,
        error: text,
        typed: () => text,
      } as const
      return [`payout ${status}`, payoutPage(view, shown)] as const
    }),
  )
}

/** The pages of commands, changes and staff. */
function staffPages(view: ConsoleView, text: string, mayDecide: boolean): readonly (readonly [string, string])[] {
  return [
    ['no changes', changesPage(view, { changes: [] })],
    ...[true, false].map((isOwn) => {
      const change = { id: text, command: text, partnerId: text, note: text, by: text, at }
      const changes = [null, text].map((approvedBy, nth) => ({
        ...change,
        options: [[text, text] as const, [text, undefined] as const],
        id: `change-${nth}`,
        approvedBy,
        isOwn,
        mayDecide,
      }))
      return ['changes', changesPage(view, { changes, error: text })] as const
    }),
    ['device', devicePage(view, { code: text, error: true, tokens: [], sessions: [] })],
    [
      'device of a command',
      devicePage(view, {
        ...{ code: text, request: { origin: text, requestedAt: at }, said: text },
        tokens: [null, [text]].map((commands) => ({ id: text, origin: text, commands, expiresAt: at })),
        sessions: [true, false].map((isThis) => ({ id: text, ip: text, userAgent: text, lastUsedAt: at, isThis })),
      }),
    ],
    ...[true, false].map((isAdmin) => {
      const people = (['support', 'compliance', 'finance', 'admin'] as const).map((role) => ({
        ...{ id: `id-${role}`, fullName: text, email: text, role, createdAt: at, isSelf: role === 'admin' },
        factors: role === 'support' ? [] : (['passkey', 'password'] as const),
      }))
      const refused = refusedForm('staff invite', text)
      return ['staff', staffPage(view, { people, isAdmin, optionsOf, said: html`${text}`, refused })] as const
    }),
    [
      'secret',
      secretPage(view, { act: text, result: { consoleUrl: text, expiresAt: at, permissions: [text] }, back: text }),
    ],
    [
      'secrets',
      secretPage(view, { act: 'partner rotate', result: [{ apiKey: text, other: { a: text, b: null } }], back: text }),
    ],
    ['no partners', partnersPage(view, { partners: [], mayAdd: mayDecide })],
    [
      'partners',
      partnersPage(view, { partners: [{ id: text, name: text, createdAt: at }], mayAdd: mayDecide, next: text }),
    ],
  ]
}

test('pages of the desk escape hostile texts, label fields and have their structure, in every language', () => {
  for (const language of consoleLanguages)
    for (const mayDecide of [true, false])
      for (const [name, page] of pagesOf(language, evil, mayDecide)) {
        checkEscaped(name, page)
        checkLabels(name, page)
        checkStructure(name, page)
        checkSize(name, page)
      }
})

test('every column, option, command and section with a form has a text', () => {
  const names: Readonly<Record<string, string>> = deskTexts.en.options
  for (const { id, list, columns, changes, removal } of sections) {
    const named = [
      ...columns.map((column) => [list, column] as const),
      ...changes.flatMap((command) => optionsOf(command).map(({ name }) => [command, name] as const)),
    ]
    for (const [of, name] of named) {
      const camel = name.replaceAll(/-(.)/g, (_dash, letter: string) => letter.toUpperCase())
      assert.ok(`${of} ${name}` in names || camel in names, `${of} ${name}`)
    }
    for (const name of [id, ...changes, ...(removal === undefined ? [] : [removal.command])])
      assert.ok(name in deskTexts.en.partners, name)
  }
})

test('German has the placeholders of every text of the desk', () => {
  checkTranslated(deskTexts.en, deskTexts.de)
})
