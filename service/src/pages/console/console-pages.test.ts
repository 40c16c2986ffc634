import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { permissions } from '@partner-payments/wire'
import {
  all,
  attribute,
  checkEscaped,
  checkLabels,
  checkPlain,
  checkSize,
  checkStructure,
  checkTranslated,
  evil,
  tags,
  textsIn,
  viewOf,
} from '../../../../test/support/console-pages.ts'
import { consoleMessagePage, type ConsoleView, type RoleName } from '../kit/frame.ts'
import { type ConsoleLanguage, consoleLanguages, consoleTexts, readReaderPreferences } from '../kit/language.ts'
import { calendarDay, time } from '../kit/parts.ts'
import { qrCode } from '../qr.ts'
import { accountPage, newPasswordPage, sessionsPage } from './account.ts'
import { approvalPage } from './approvals.ts'
import type { BalancePlot } from './balance-plot.ts'
import { designPage } from './design.ts'
import { findPage } from './find.ts'
import { homePage } from './home.ts'
import { inboxPage, notificationsPage } from './inbox.ts'
import { firstAdminPage, joinPage, recoveryCodesPage } from './join.ts'
import { visiblePlaces } from './places.ts'
import { enterSupportPage, findPartnerPage, signInPage } from './sign-in.ts'
import { ssoFields, ssoPage } from './sso.ts'
import { teamPage } from './team.ts'
import { texts } from './texts/index.ts'

const at = new Date('2026-11-24T14:30:00Z')
const plot: BalancePlot = {
  currency: 'EUR',
  days: [
    { day: '2026-11-22', available: '0.00' },
    { day: '2026-11-23', available: '1234567.50' },
    { day: '2026-11-24', available: '1000.00' },
  ],
  ...{ heights: [0, 1, 0], highest: '1234567.50', lowest: '0.00', floor: '0.00', fromZero: true },
  change: { kind: 'more', amount: '1000.00' },
}
const roles: readonly RoleName[] = ['Admin', 'Developer', 'Operator']

function fullTeam(view: ConsoleView, text: string, mayWrite: boolean): string {
  const named = { fullName: text, email: text, invitedByName: text, expiresAt: at, invitedAt: at }
  const member = { id: text, fullName: text, email: text, joinedAt: at, factors: ['passkey', 'password'] as const }
  return teamPage(view, {
    members: [
      ...roles.map((roleName) => ({ ...member, id: roleName, roleName, lastSignInAt: at, isSelf: false })),
      { ...member, roleName: 'Admin', lastSignInAt: null, isSelf: true, factors: [] },
    ],
    invitations: (['Pending', 'Accepted', 'Expired', 'Revoked'] as const).map((status, index) => ({
      ...named,
      id: `${text}${index}`,
      roleName: 'Operator',
      status,
    })),
    may: { write: mayWrite, reset: mayWrite },
    next: text,
    grantable: roles,
    errors: { email: text, fullName: text, role: text, form: text },
    typed: { email: text, fullName: text, role: text },
    confirmation: text,
  })
}

const approvalOf = (view: ConsoleView, text: string, passkeyOptions: string | undefined, beyond = {}): string =>
  approvalPage(view, {
    ...beyond,
    ...{ words: texts[view.language].approvals, path: `payouts/${text}`, label: text },
    facts: [
      [text, text, 'sum'],
      [text, text],
    ],
    ...{ requestedName: text, hasMakerLeft: true, nonce: text, needsPasskey: false, passkeyOptions },
    errors: passkeyOptions === undefined ? { code: text, reason: text } : { form: text, reason: text },
  })

/** The pages of approvals, of the first Admin, and of a person's sign-in settings. */
function signedInPages(inside: (current: string) => ConsoleView, text: string): readonly (readonly [string, string])[] {
  const errors = { password: text, code: text, form: text }
  const totp = { secret: 'JBSWY3DPEHPK3PXP', qrSvg: qrCode('otpauth://totp/a', text) }
  return [
    [
      'first admin',
      firstAdminPage(inside('home'), {
        token: text,
        partnerName: text,
        values: { fullName: text, email: text },
        problems: { form: text, fullName: text, email: text },
      }),
    ],
    ['approval', approvalOf(inside('payouts'), text, text)],
    ['approval by code', approvalOf(inside('payouts'), text, undefined)],
    [
      'approval beyond the maximum',
      approvalOf(inside('payouts'), text, text, {
        beyond: { currency: text, most: '1234.50', left: '0.50', resetsAt: at },
      }),
    ],
    [
      'account',
      accountPage(inside('account'), {
        passkeys: [true, false].map((backedUp) => ({
          id: text,
          createdAt: at,
          lastUsedAt: backedUp ? at : null,
          backedUp,
        })),
        passwordSince: at,
        recoveryCodesLeft: 3,
        nonce: text,
        passkeyOptions: text,
        error: text,
        confirmation: text,
      }),
    ],
    ['new password', newPasswordPage(inside('account'), { nonce: text, email: text, totp, errors })],
  ]
}

/**
 * The inbox with an entry in each state, an empty inbox, and the notification settings with every kind and every error.
 */
function inboxPages(
  inside: (current: string) => ConsoleView,
  language: ConsoleLanguage,
  text: string,
): readonly (readonly [string, string])[] {
  const entry = { id: text, title: text, lines: [[text, text] as const, [text, at] as const], occurredAt: at }
  const states = [true, false].flatMap((isRead) => [true, false].map((isOver) => ({ ...entry, isRead, isOver })))
  const t = texts[language].inbox
  const words = { title: consoleTexts[language].notifications, lead: t.notificationsLead, kinds: t.kinds }
  const kinds = (['approvals', 'payments', 'refunds', 'recalls', 'webhooks', 'keys', 'team', 'rules'] as const).map(
    (kind) => ({ kind, when: 'daily' as const, isFixed: kind === 'team' }),
  )
  const choices = { language: null, zone: 'Pacific/Apia', dailyHour: 8, kinds }
  const problems = { approvals: text, zone: text, dailyHour: text, language: text }
  const named = kinds.map(({ kind }) => words.kinds[kind])
  assert.ok(named.every((each) => each !== undefined))
  return [
    ['inbox', inboxPage(inside('inbox'), { entries: states, pages: { next: text, first: text } })],
    ['empty inbox', inboxPage(inside('inbox'), { entries: [], pages: {} })],
    ['notifications', notificationsPage(inside('notifications'), { words, choices, problems, done: true })],
  ]
}

/** The pages of single sign-on: before the domain is proved with every refusal, and after it. */
function signOnPages(inside: (current: string) => ConsoleView, text: string): readonly (readonly [string, string])[] {
  const current = { redirectUri: text, domainRecord: { name: text, value: text } }
  const values = Object.fromEntries(ssoFields.map((name) => [name, text]))
  const errors = { ...values, form: text }
  const waiting = { current: { ...current, domainProvedAt: null }, values, may: { write: true, reset: true }, errors }
  const proved = { current: { ...current, domainProvedAt: at }, values: {}, may: { write: false }, confirmation: text }
  const roles = { Admin: [text] }
  const change = { id: text, by: text, expiresAt: at, issuer: text, clientId: text, emailDomain: text, roleClaim: text }
  const changes = [true, false].map((isOwn) => ({ ...change, isOwn, roles, required: isOwn, hasNewSecret: isOwn }))
  return [
    ...changes.map(
      (each) => ['a change of single sign-on', ssoPage(inside('team'), { ...waiting, waiting: each })] as const,
    ),
    ['no single sign-on', ssoPage(inside('team'), { values: {}, may: { write: true } })],
    ['single sign-on', ssoPage(inside('team'), waiting)],
    ['proved single sign-on', ssoPage(inside('team'), proved)],
  ]
}

function supportPages(inside: (current: string) => ConsoleView, text: string): readonly (readonly [string, string])[] {
  const shown = { staff: text, reason: text, expiresAt: at }
  const session = { serviceAccountId: text, name: text, createdAt: at.toISOString(), expiresAt: at.toISOString() }
  const own = { ...{ id: text, createdAt: at, lastUsedAt: at, expiresAt: at }, device: text, ip: text }
  return [
    ['support', enterSupportPage(inside('home'), text)],
    [
      'home in a support session',
      homePage({ ...inside('home'), support: shown }, { balances: [], plots: [], waiting: [] }),
    ],
    [
      'sessions',
      sessionsPage(inside('sessions'), {
        ...{ support: [session], mayEnd: true },
        sessions: [true, false].map((isCurrent) => ({ ...own, isCurrent })),
      }),
    ],
  ]
}

/** Every page with every section. `text` replaces each text that a person or another system enters. */
function pagesOf(language: ConsoleLanguage, text: string, mayWrite = true): ReadonlyMap<string, string> {
  const view = viewOf(language)
  const person = { fullName: text, email: text, roleName: 'Admin' as const, partnerName: text }
  const places = visiblePlaces(consoleTexts[language], permissions, true)
  const inside = (current: string) => viewOf(language, { person, places, hasSearch: true, current })
  const errors = { password: text, code: text, form: text }
  const totp = { secret: 'JBSWY3DPEHPK3PXP', qrSvg: qrCode('otpauth://totp/a', text) }
  const named = { fullName: text, email: text, invitedByName: text, expiresAt: at, invitedAt: at }
  return new Map([
    [
      'join',
      joinPage(view, {
        ...named,
        token: text,
        partnerName: text,
        roleName: 'Operator',
        totp,
        passkeyOptions: text,
        sso: true,
        errors,
      }),
    ],
    ['recovery codes', recoveryCodesPage(view, { codes: [text, 'AAAA-BBBB'] })],
    [
      'sign-in',
      signInPage(view, {
        partner: text,
        partnerName: text,
        passkeyOptions: text,
        email: text,
        error: text,
        next: text,
        sso: true,
      }),
    ],
    ['find partner', findPartnerPage(view, { sent: true })],
    [
      'home',
      homePage(inside('home'), {
        balances: [
          {
            currency: text,
            available: '1234567.50',
            reserved: '0.00',
            own: '12345678901234567.123456',
            segregated: true,
          },
        ],
        plots: [{ ...plot, currency: text }],
        waiting: [{ href: text }, {}].map((link) => ({ title: text, count: text, ...link })),
      }),
    ],
    ['empty home', homePage(inside('home'), { balances: [], plots: [], waiting: [] })],
    ['team', fullTeam(inside('team'), text, mayWrite)],
    ...supportPages(inside, text),
    ...signedInPages(inside, text),
    ...signOnPages(inside, text),
    ...inboxPages(inside, language, text),
    [
      'find',
      findPage(
        { ...inside('home'), found: text },
        {
          text,
          found: [{ kind: 'payout', href: 'payouts/a', name: text, about: text, amount: '1.50', currency: text }],
          lists: [{ text, href: '../x' }],
        },
      ),
    ],
    ['found nothing', findPage(inside('home'), { text, found: [], lists: [] })],
    ['message', consoleMessagePage(view, text, text, { href: text, label: text })],
    ['design', designPage(inside('home'))],
  ])
}

suite('the texts of the console', () => {
  test('every language has every text, with the same placeholders, and translates it', () => {
    const same = checkTranslated(consoleTexts.en, consoleTexts.de)
    const cognates = [
      'team',
      'name',
      'code',
      'roleAdmin',
      'roleOperator',
      'person',
      'factorPasskey',
      'status',
      'webhooks',
      'wallets',
    ]
    assert.deepEqual(same.toSorted(), cognates.toSorted())
  })

  test('every page has texts in both languages, with the same placeholders', () => {
    const subjects = Object.keys(texts.en) as (keyof typeof texts.en)[]
    assert.ok(subjects.length > 20)
    for (const subject of subjects) {
      const same = checkTranslated(texts.en[subject], texts.de[subject])
      assert.ok(same.length < textsIn(texts.en[subject]).size / 2, `${subject}: ${same.join(', ')}`)
    }
  })

  test("the language is the chosen one, then the browser's first supported language, else English", () => {
    const read = (cookie: string, accepted?: string) =>
      readReaderPreferences({ headers: { cookie, 'accept-language': accepted } })
    assert.equal(read('__Host-language=de', 'en').language, 'de')
    assert.equal(read('__Host-language=fr', 'fr, de;q=0.5, en;q=0.1').language, 'de')
    assert.equal(read('', 'fr').language, 'en')
    assert.equal(read('').language, 'en')
  })

  test("dates follow the browser's language variant, and times the chosen zone", () => {
    const at = new Date('2026-12-05T23:30:00Z')
    const shown = (cookie: string, accepted: string) => {
      const reader = readReaderPreferences({ headers: { cookie, 'accept-language': accepted } })
      const view = { ...viewOf(reader.language), ...reader }
      return [
        time(view, at).html.replaceAll(/<[^>]*>/g, ''),
        calendarDay(view, '2026-12-05').html.replaceAll(/<[^>]*>/g, ''),
      ]
    }
    assert.deepEqual(shown('__Host-browser-zone=Europe%2FBerlin', 'en-GB,en;q=0.9'), [
      '6 Dec 2026, 00:30',
      '5 Dec 2026',
    ])
    const chosen = '__Host-zone=America%2FNew_York; __Host-browser-zone=Europe%2FBerlin'
    assert.deepEqual(shown(chosen, 'en-US'), ['Dec 5, 2026, 6:30 PM', 'Dec 5, 2026'])
    assert.deepEqual(shown('__Host-zone=Europe%2FBerlin', 'de'), ['06.12.2026, 00:30', '05.12.2026'])
    assert.deepEqual(shown('__Host-zone=No/Such; __Host-browser-zone=%', 'en-!!'), [
      'Dec 5, 2026, 11:30 PM UTC',
      'Dec 5, 2026',
    ])
  })
})

suite('every page of the console', () => {
  const pages = consoleLanguages.flatMap((language) => [...pagesOf(language, evil)])

  test('escapes hostile texts, and has no inline code or style', () => {
    assert.equal(pages.length, 54)
    for (const [name, page] of pages) checkEscaped(name, page)
  })

  test('shows amounts exactly, in the format of the language', () => {
    const home = (language: ConsoleLanguage) => pagesOf(language, evil).get('home') ?? ''
    for (const amount of ['1,234,567.50', '0.00', '12,345,678,901,234,567.123456'])
      assert.ok(home('en').includes(amount), amount)
    assert.ok(home('de').includes('12.345.678.901.234.567,123456'))
  })

  test('labels every field, and describes it by elements that exist', () => {
    const fields = pages.reduce((sum, [name, page]) => sum + checkLabels(name, page), 0)
    assert.ok(fields >= 50, `only ${fields} fields were read`)
  })

  test('has relative links only, one heading of the first level, captions and scopes', () => {
    for (const [name, page] of pages) checkStructure(name, page)
  })

  test('contains no texts for developers', () => {
    for (const [name, page] of pages) if (name !== 'design') checkPlain(name, page)
  })

  test('is below 60 KB compressed with its style sheet and its script', () => {
    for (const [name, page] of pages) checkSize(name, page)
  })
})

suite('the team', () => {
  test('has no form without the permission, and names who may change it', () => {
    const page = pagesOf('en', 'a', false).get('team') ?? ''
    assert.deepEqual(
      tags(page, 'form').map((tag) => attribute(tag, 'action')),
      ['../find', '../sign-out'],
    )
    assert.ok(page.includes(consoleTexts.en.teamReadOnly))
  })

  test("offers no action on one's own account, and only roles that the person may grant", () => {
    const person = { fullName: 'a', email: 'a', roleName: 'Developer' as const, partnerName: 'a' }
    const member = { fullName: 'a', email: 'a', joinedAt: at, lastSignInAt: null, factors: ['passkey'] as const }
    const shown = (reset: boolean) => ({
      members: [
        { ...member, id: 'self', roleName: 'Developer' as const, isSelf: true },
        { ...member, id: 'admin', roleName: 'Admin' as const, isSelf: false },
        { ...member, id: 'other', roleName: 'Developer' as const, isSelf: false },
      ],
      invitations: [],
      may: { write: true, reset },
      next: null,
      grantable: ['Developer' as const],
    })
    const page = teamPage(viewOf('en', { person }), shown(false))
    const dialogs = (text: string) => all(text, /<dialog\s+id="([^"]*)"/g)
    assert.deepEqual(dialogs(page), ['role-of-other', 'remove-other'])
    const ofAdmin = teamPage(viewOf('en', { person }), shown(true))
    assert.deepEqual(dialogs(ofAdmin), ['role-of-other', 'remove-other', 'reset-other'])
    assert.deepEqual([...new Set(all(page, /type="radio"[^>]*value="([^"]*)"/g))], ['Developer'])
  })
})

test('only the sandbox has a banner, "Sandbox" in the title, and simulations', () => {
  const person = { fullName: 'Ada', email: 'a', roleName: 'Admin' as const, partnerName: 'Acme' }
  const home = (sandbox: boolean) =>
    homePage(viewOf('en', { sandbox, person }), { balances: [], plots: [], waiting: [] })
  assert.match(home(true), /<title>Sandbox: Home · Acme<\/title>/)
  assert.match(home(true), /<p class="band">/)
  assert.match(home(true), /href="..\/simulations"/)
  assert.match(home(false), /<title>Home · Acme<\/title>/)
  assert.ok(!/class="band"|simulations|Sandbox/.test(home(false)))
})

test('a refused form says so in the title, and links from the summary to each field', () => {
  const page = pagesOf('en', 'wrong').get('join') ?? ''
  assert.match(page, /<title>Sandbox: Error: Join wrong<\/title>/)
  assert.deepEqual(all(page, /<a href="#(\w+)">wrong<\/a>/g), ['password', 'code'])
  for (const id of ['password', 'code']) {
    const input = tags(page, 'input').find((tag) => attribute(tag, 'id') === id) ?? ''
    assert.equal(attribute(input, 'aria-invalid'), 'true')
    assert.equal(attribute(input, 'aria-describedby'), `${id}-error ${id}-help`)
  }
})

test('a time is shown in the zone of the reader, or in UTC until the script changes it', () => {
  const known = time(viewOf('en', { zone: 'Europe/Berlin' }), at).html
  assert.match(known, />Nov 24, 2026, 3:30\sPM<\/time>$/)
  assert.match(known, /title="Nov 24, 2026, 2:30\sPM UTC"/)
  const unknown = time(viewOf('de'), at).html
  assert.match(unknown, /datetime="2026-11-24T14:30:00.000Z" title="24.11.2026, 14:30 UTC" data-local="time"/)
})
